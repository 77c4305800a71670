use std::time::{Duration, Instant};

use evenkeel_otlp::model::Value;
use evenkeel_semconv::attribute;

use super::*;
use crate::identity::{
    identification::EXITED_SERVICE_NAME,
    kernel_thread::KERNEL_SERVICE_NAME,
    kubernetes::{PodContainer, Pods},
    owner::Owner,
    service::{ServiceName, ServiceNameSource},
    test_support::{FakeProc, FakeProcess, Random},
};

const POD: &str = "0::/kubepods/burstable/pod0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0/";

fn cgroup() -> String {
    format!("{POD}{}\n", "5".repeat(64))
}

fn key(pid: u32) -> ProcessKey {
    // Fake processes start at tick 1; the rest of a key is below a tick.
    ProcessKey {
        pid,
        start_time_nanos: 10_000_000 + u64::from(pid),
    }
}

fn table(fake: &FakeProc) -> ProcessTable {
    let mut host = HostIdentity::default();
    host.insert(attribute::HOST_ID, "host", "test");
    ProcessTable::new(&fake.roots(), &host, 1000)
}

/// A live process is read once; later samples get the same one without looking.
#[test]
fn first_sight_reads_once() {
    let fake = FakeProc::new();
    fake.add(&FakeProcess {
        cgroup: "0::/system.slice/nginx.service",
        ..FakeProcess::default()
    });
    let mut table = table(&fake);
    let first = table.observe(key(100), b"io-thread");
    assert_eq!(&*first.executable_name, "worker");
    assert_eq!(
        first.executable_path.as_deref(),
        Some("/usr/bin/worker".as_ref())
    );
    assert_eq!(&*first.owner.service_name, "nginx");
    assert_eq!(first.service_name_source, ServiceNameSource::SystemdUnit);
    assert_eq!(first.parent, Some(1));
    assert!(!first.exited && !first.kernel_thread);
    fake.remove(100);
    assert!(Arc::ptr_eq(&first, &table.observe(key(100), b"other")));
    assert_eq!(table.statistics().read, 1);
}

/// The process that has the id now is not taken for the one of the sample.
#[test]
fn recycled_pid() {
    let fake = FakeProc::new();
    fake.add(&FakeProcess {
        start_ticks: 2,
        ..FakeProcess::default()
    });
    let mut table = table(&fake);
    let process = table.observe(key(100), b"old");
    assert!(process.exited && process.is_unidentified());
    assert_eq!(&*process.executable_name, "old");
    assert_eq!(&*process.owner.service_name, EXITED_SERVICE_NAME);
    assert_eq!(table.statistics().recycled, 1);
    let now = ProcessKey {
        pid: 100,
        start_time_nanos: 29_999_999,
    };
    assert_eq!(&*table.observe(now, b"").executable_name, "worker");
}

/// A process that was gone before its first sample has its name from the exec event and its
/// container and variables from its parent; one that never started a program has all from it.
#[test]
fn exited_processes_inherit() {
    let fake = FakeProc::new();
    fake.add(&FakeProcess {
        cgroup: &cgroup(),
        environ: b"OTEL_RESOURCE_ATTRIBUTES=team=t\0",
        exe: Some("/bin/bash"),
        ..FakeProcess::default()
    });
    let mut table = table(&fake);
    for (pid, exec, path, name) in [
        (
            200,
            Some("/usr/bin/python3"),
            Some("/usr/bin/python3"),
            "python3",
        ),
        (201, Some("./tool"), None, "tool"),
        (202, Some("/dev/fd/3"), None, "memory"),
        (203, None, Some("/bin/bash"), "bash"),
    ] {
        table.fork(key(100), key(pid));
        if let Some(exec) = exec {
            table.exec(key(pid), exec.as_bytes(), b"memory");
        }
        table.exit(key(pid));
        let process = table.observe(key(pid), b"thread");
        assert_eq!(&*process.executable_name, name);
        assert_eq!(process.executable_path.as_deref(), path.map(AsRef::as_ref));
        assert_eq!(
            process.owner.container_id.as_deref(),
            Some(&*"5".repeat(64))
        );
        assert_eq!(&*process.owner.service_name, name);
        assert!(
            process
                .owner
                .resource
                .attributes
                .iter()
                .any(|a| a.key == "team")
        );
        assert_eq!(process.parent, Some(100));
        assert!(process.exited && !process.is_unidentified());
    }
    assert_eq!(table.statistics().inherited, 4);
}

/// What a child inherits is what its parent ran at the fork, not what it started later.
#[test]
fn parent_that_went_on() {
    let fake = FakeProc::new();
    fake.add(&FakeProcess {
        cgroup: &cgroup(),
        exe: Some("/bin/bash"),
        ..FakeProcess::default()
    });
    let mut table = table(&fake);
    table.observe(key(100), b"bash");
    table.fork(key(100), key(200));
    fake.add(&FakeProcess {
        cgroup: &cgroup(),
        exe: Some("/bin/next"),
        ..FakeProcess::default()
    });
    table.exec(key(100), b"/bin/next", b"next");
    assert_eq!(&*table.observe(key(200), b"").executable_name, "bash");

    // Its parent was not seen before it went on: the container is sure, the program is not.
    table.fork(key(100), key(300));
    table.exec(key(100), b"/bin/last", b"last");
    let process = table.observe(key(300), b"job");
    assert_eq!(&*process.executable_name, "next");
    assert!(process.owner.container_id.is_some());
}

/// The chain of parents is followed over processes that were never sampled.
#[test]
fn grandparents() {
    let fake = FakeProc::new();
    fake.add(&FakeProcess {
        cgroup: &cgroup(),
        ..FakeProcess::default()
    });
    let mut table = table(&fake);
    for pid in 100..105 {
        table.fork(key(pid), key(pid + 1));
    }
    table.exec(key(105), b"/bin/leaf", b"leaf");
    let process = table.observe(key(105), b"");
    assert_eq!(&*process.executable_name, "leaf");
    assert!(process.owner.container_id.is_some());
    // A loop of parents, which no kernel makes, ends too.
    table.fork(key(401), key(400));
    table.fork(key(400), key(401));
    assert!(table.observe(key(400), b"x").is_unidentified());
}

/// After an exec samples get the new program, with another image; the old one stays what it was.
#[test]
fn exec_changes_the_image() {
    let fake = FakeProc::new();
    fake.add(&FakeProcess::default());
    let mut table = table(&fake);
    let before = table.observe(key(100), b"worker");
    fake.add(&FakeProcess {
        exe: Some("/usr/bin/next"),
        environ: b"OTEL_SERVICE_NAME=named\0",
        ..FakeProcess::default()
    });
    table.exec(key(100), b"/usr/bin/next", b"next");
    let after = table.observe(key(100), b"next");
    assert_eq!((before.image, after.image), (0, 1));
    assert_eq!(
        (&*before.executable_name, &*after.executable_name),
        ("worker", "next")
    );
    assert_eq!(&*after.owner.service_name, "named");
}

/// Kernel threads are the kernel's, under names that do not vary; a helper that the kernel starts
/// is a program.
#[test]
fn kernel_threads() {
    let fake = FakeProc::new();
    for (pid, comm) in [
        (2, "kthreadd"),
        (100, "kworker/0:1-events"),
        (101, "ksoftirqd/1"),
    ] {
        fake.add(&FakeProcess {
            pid,
            ppid: 2,
            comm,
            flags: 0x0020_8040,
            exe: None,
            cgroup: "0::/\n",
            ..FakeProcess::default()
        });
    }
    let mut table = table(&fake);
    let worker = table.observe(key(100), b"kworker/0:1");
    let softirq = table.observe(key(101), b"ksoftirqd/1");
    assert_eq!(
        (&*worker.executable_name, &*softirq.executable_name),
        ("kworker", "ksoftirqd")
    );
    assert!(worker.kernel_thread && worker.executable_path.is_none());
    assert!(Arc::ptr_eq(&worker.owner, &softirq.owner));
    assert_eq!(&*worker.owner.service_name, KERNEL_SERVICE_NAME);
    table.fork(key(2), key(300));
    let gone = table.observe(key(300), b"kworker/1:2");
    assert!(gone.kernel_thread && gone.exited);
    assert_eq!(&*gone.executable_name, "kworker");
    table.fork(key(100), key(301));
    table.exec(key(301), b"/sbin/modprobe", b"modprobe");
    let helper = table.observe(key(301), b"modprobe");
    assert!(!helper.kernel_thread);
    assert_eq!(&*helper.owner.service_name, "modprobe");
    let idle = table.observe(
        ProcessKey {
            pid: 0,
            start_time_nanos: 0,
        },
        b"swapper/3",
    );
    assert_eq!(&*idle.executable_name, "swapper");
}

/// Ended processes are found until two windows have ended, and not longer.
#[test]
fn ended_processes_are_kept_for_two_windows() {
    let fake = FakeProc::new();
    fake.add(&FakeProcess::default());
    let mut table = table(&fake);
    let process = table.observe(key(100), b"");
    table.exit(key(100));
    table.exit(key(100));
    fake.remove(100);
    table.end_window();
    assert!(Arc::ptr_eq(&process, &table.observe(key(100), b"")));
    table.end_window();
    assert!(table.is_empty());
    assert!(table.observe(key(100), b"late").is_unidentified());
    table.end_window();
    table.end_window();
    assert!(table.is_empty());
}

/// The expected child is marked from its birth on, with what it starts; a later child is not.
#[test]
fn expected_command_is_marked_from_birth() {
    let fake = FakeProc::new();
    let mut table = table(&fake);
    table.expect_command(50);
    table.fork(key(50), key(100));
    table.fork(key(50), key(60));
    table.fork(key(100), key(101));
    for (pid, expected) in [(100, true), (101, true), (60, false), (50, false)] {
        assert_eq!(table.observe(key(pid), b"").command_tree, expected, "{pid}");
    }
}

/// The command's children are marked whether their birth was seen or not, before the mark or
/// after, as are the children of those that lost their parent; nobody else is.
#[test]
fn command_tree() {
    let fake = FakeProc::new();
    for (pid, ppid) in [
        (100, 50),
        (101, 100),
        (102, 101),
        (103, 1),
        (50, 1),
        (104, 103),
        (51, 50),
    ] {
        fake.add(&FakeProcess {
            pid,
            ppid,
            ..FakeProcess::default()
        });
    }
    let mut table = table(&fake);
    // Known before the mark: a child, born in sight, that was adopted by init since.
    table.fork(key(100), key(103));
    let early = table.observe(key(103), b"");
    assert!(!early.command_tree);
    table.mark_command_tree(100);
    for (pid, expected) in [
        (100, true),
        (101, true),
        (102, true),
        (103, true),
        (104, true),
    ] {
        assert_eq!(table.observe(key(pid), b"").command_tree, expected, "{pid}");
    }
    for pid in [50, 51, 999] {
        assert!(!table.observe(key(pid), b"").command_tree, "{pid}");
    }
    // Born in sight of a parent that was not sampled, and of one whose parent was not.
    fake.add(&FakeProcess {
        pid: 105,
        ppid: 102,
        ..FakeProcess::default()
    });
    for (parent, child) in [(105, 300), (300, 301), (51, 302)] {
        table.fork(key(parent), key(child));
    }
    fake.add(&FakeProcess {
        pid: 300,
        ppid: 105,
        ..FakeProcess::default()
    });
    fake.add(&FakeProcess {
        pid: 301,
        ppid: 300,
        ..FakeProcess::default()
    });
    assert!(table.observe(key(301), b"").command_tree);
    assert!(!table.observe(key(302), b"").command_tree);
    table.fork(key(102), key(200));
    table.exit(key(200));
    assert!(table.observe(key(200), b"").command_tree);
    // Another process with the command's id later.
    table.exit(key(100));
    fake.add(&FakeProcess {
        start_ticks: 9,
        ..FakeProcess::default()
    });
    let other = ProcessKey {
        pid: 100,
        start_time_nanos: 95_000_000,
    };
    assert!(!table.observe(other, b"").command_tree);
}

/// New facts about the host reach processes that are known already.
#[test]
fn host_can_change() {
    let fake = FakeProc::new();
    fake.add(&FakeProcess::default());
    let mut table = table(&fake);
    table.observe(key(100), b"");
    let mut host = HostIdentity::default();
    host.insert(attribute::CLOUD_REGION, "eu-1", "metadata");
    table.set_host(&host);
    let process = table.observe(key(100), b"");
    let keys: Vec<_> = process
        .owner
        .resource
        .attributes
        .iter()
        .map(|a| &*a.key)
        .collect();
    assert!(keys.contains(&attribute::CLOUD_REGION) && !keys.contains(&attribute::HOST_ID));
    assert_eq!(&*process.owner.service_name, "worker");
}

fn pod(service: &str, source: ServiceNameSource) -> Arc<PodContainer> {
    let attributes = [("k8s.pod.name", "shop-1"), ("service.version", "2")];
    Arc::new(PodContainer {
        attributes: attributes
            .map(|(key, value)| (key.into(), value.into()))
            .into(),
        service_name: ServiceName {
            value: service.into(),
            source,
        },
    })
}

fn attribute_of(owner: &Owner, key: &str) -> Option<Value> {
    let found = owner.resource.attributes.iter().find(|a| a.key == key)?;
    Some(found.value.clone())
}

/// What the cluster tells of a container before the end of a window is on the samples of that window, and a
/// process's own word is worth more than its pod's.
#[test]
fn pods_become_known() {
    let fake = FakeProc::new();
    let cgroup = cgroup();
    for (pid, environ) in [
        (100, b"".as_slice()),
        (
            101,
            b"OTEL_SERVICE_NAME=own\0OTEL_RESOURCE_ATTRIBUTES=service.version=3,k8s.pod.name=no\0",
        ),
    ] {
        fake.add(&FakeProcess {
            pid,
            environ,
            cgroup: &cgroup,
            ..FakeProcess::default()
        });
    }
    fake.add(&FakeProcess {
        pid: 102,
        ..FakeProcess::default()
    });
    let pods = Pods::default();
    let mut table = table(&fake).with_pods(pods.clone());
    let mut sampled = [100, 101, 102].map(|pid| table.observe(key(pid), b""));
    assert_eq!(&*sampled[0].owner.service_name, "worker");
    assert!(table.end_window().is_empty());

    let source = ServiceNameSource::SystemdUnit;
    let container = "5".repeat(64).into_boxed_str();
    pods.set([(container, pod("shop", source))].into());
    let renewal = table.end_window();
    assert_eq!(renewal.changed().count(), 2);
    let old_owner = Arc::clone(&sampled[0].owner);
    sampled
        .iter_mut()
        .for_each(|process| renewal.process(process));
    assert_eq!(&*renewal.owner(&old_owner).unwrap().service_name, "shop");
    let text = |text: &str| Some(Value::from(text));
    let owners = sampled.each_ref().map(|process| &*process.owner);
    assert_eq!(&*owners[0].service_name, "shop");
    assert_eq!(sampled[0].service_name_source, source);
    assert_eq!(attribute_of(owners[0], "k8s.pod.name"), text("shop-1"));
    assert_eq!(attribute_of(owners[0], "service.version"), text("2"));
    assert_eq!(&*owners[1].service_name, "own");
    assert_eq!(attribute_of(owners[1], "k8s.pod.name"), text("shop-1"));
    assert_eq!(attribute_of(owners[1], "service.version"), text("3"));
    assert_eq!(attribute_of(owners[2], "k8s.pod.name"), None);
    for process in &sampled {
        let now = table.observe(process.key, b"");
        assert!(Arc::ptr_eq(&now.owner, &process.owner));
    }
    assert!(table.end_window().is_empty());
}

/// A process that was put into another cgroup has another owner from then on.
#[test]
fn cgroup_can_change() {
    let fake = FakeProc::new();
    let process = FakeProcess::default();
    fake.add(&process);
    let mut table = table(&fake);
    let before = table.observe(key(100), b"");
    assert_eq!(before.owner.container_id, None);
    let cgroup = cgroup();
    fake.add(&FakeProcess {
        cgroup: &cgroup,
        ..process
    });
    let renewal = table.end_window();
    assert_eq!((renewal.is_empty(), renewal.changed().count()), (true, 1));
    let after = table.observe(key(100), b"");
    assert_eq!(after.owner.container_id.as_deref(), Some(&*"5".repeat(64)));
    assert_eq!(table.statistics().cgroup_moves, 1);
    assert_eq!(table.end_window().changed().count(), 0);
}

/// However many processes there are, the end of a window reads a bounded number, and all in turn.
#[test]
fn cgroups_are_read_in_turn() {
    let fake = FakeProc::new();
    let pids = 100..700;
    for pid in pids.clone() {
        fake.add(&FakeProcess {
            pid,
            ..FakeProcess::default()
        });
    }
    let mut table = table(&fake);
    for pid in pids.clone() {
        table.observe(key(pid), b"");
    }
    table.end_window();
    let cgroup = cgroup();
    for pid in pids.clone() {
        fake.write(&format!("proc/{pid}/cgroup"), &cgroup);
    }
    let mut moved = Vec::new();
    for _ in 0..4 {
        moved.push(table.end_window().changed().count());
    }
    assert!(moved.iter().all(|moved| *moved <= 256), "{moved:?}");
    assert_eq!(moved.iter().sum::<usize>(), pids.len(), "{moved:?}");
}

/// A storm of processes costs no system call and no more memory than the bound; those that ended
/// first go first and are counted.
#[test]
fn storm_is_bounded() {
    let fake = FakeProc::new();
    fake.add(&FakeProcess {
        cgroup: &cgroup(),
        ..FakeProcess::default()
    });
    let mut table = table(&fake);
    table.observe(key(100), b"");
    let storm = 50_000;
    for pid in 1000..1000 + storm {
        table.fork(key(100), key(pid));
        table.exec(key(pid), b"/bin/true", b"true");
        table.exit(key(pid));
        assert!(table.len() <= 1000);
    }
    let statistics = table.statistics();
    assert_eq!(statistics.evicted_exited, u64::from(storm) - 999);
    assert_eq!((statistics.evicted_alive, statistics.read), (0, 1));
    assert!(table.clock.len() <= 2 * 1000);
    assert_eq!(
        &*table.observe(key(1000 + storm - 1), b"").executable_name,
        "true"
    );
    for _ in 0..2 {
        table.end_window();
    }
    assert_eq!(
        (table.len(), table.clock.len(), table.owner_count()),
        (1, 1, 1)
    );
}

/// Processes whose end was lost do not fill the table for good: those that samples find stay.
#[test]
fn lost_exits_are_bounded() {
    let fake = FakeProc::new();
    fake.add(&FakeProcess::default());
    let mut table = table(&fake);
    for pid in 1000..51_000 {
        table.fork(key(1), key(pid));
        if pid % 100 == 0 {
            table.observe(key(100), b"");
        }
        assert!(table.len() <= 1000 && table.clock.len() <= 2000);
    }
    assert!(table.statistics().evicted_alive >= 49_000);
    assert_eq!(table.statistics().read, 1);
}

/// Any order of any events leaves a table within its bounds.
#[test]
fn random_events() {
    let fake = FakeProc::new();
    fake.add(&FakeProcess::default());
    let mut table = ProcessTable::new(&fake.roots(), &HostIdentity::default(), 40);
    let mut random = Random::new(4);
    for _ in 0..50_000 {
        let mut pick = || key(u32::try_from(90 + random.below(60)).unwrap());
        let (one, other) = (pick(), pick());
        match random.below(40) {
            0..10 => table.fork(one, other),
            10..20 => table.exec(one, &random.bytes(20), &random.bytes(16)),
            20..30 => table.exit(one),
            30 => drop(table.end_window()),
            31 => table.mark_command_tree(one.pid),
            _ => {
                let process = table.observe(one, &random.bytes(16));
                assert!(!process.executable_name.is_empty());
                assert!(!process.owner.service_name.is_empty());
            }
        }
        assert!(table.len() <= 40 && table.clock.len() <= 80 && table.exited.len() <= 40);
    }
}

/// Prints what the table costs on this machine: `cargo test -- --ignored --nocapture`.
#[test]
#[ignore = "measures, asserts nothing that a busy machine would not break"]
fn cost() {
    let roots = Roots::default();
    let (host, _) = HostIdentity::detect(&roots, |_| None);
    let mut reader = ProcessReader::new(&roots.proc);
    let mut keys = Vec::new();
    for entry in std::fs::read_dir(&roots.proc).unwrap() {
        let name = entry.unwrap().file_name();
        if let Ok(pid) = name.to_string_lossy().parse()
            && let Some((_, ticks)) = reader.parent_and_start(pid)
        {
            keys.push(ProcessKey::from_ticks(pid, ticks));
        }
    }
    let mut first = Vec::new();
    for _ in 0..200 {
        let mut table = ProcessTable::new(&roots, &host, 100_000);
        for key in &keys {
            let start = Instant::now();
            let process = table.observe(*key, b"");
            if !process.kernel_thread {
                first.push(start.elapsed());
            }
        }
    }
    first.sort_unstable();
    println!(
        "first sight: {} processes, median {:?}, p99 {:?}",
        keys.len(),
        first[first.len() / 2],
        first[first.len() * 99 / 100]
    );
    let mut table = ProcessTable::new(&roots, &host, 100_000);
    for key in &keys {
        table.observe(*key, b"");
    }
    let rounds = 1_000_000 / keys.len();
    let start = Instant::now();
    for _ in 0..rounds {
        for key in &keys {
            std::hint::black_box(table.observe(*key, b"x"));
        }
    }
    println!("known: {:?}", per(start.elapsed(), rounds * keys.len()));
    let start = Instant::now();
    for pid in 0..90_000 {
        table.fork(keys[0], key(1_000_000 + pid));
        table.exec(key(1_000_000 + pid), b"/usr/bin/true", b"true");
        table.exit(key(1_000_000 + pid));
    }
    println!("fork + exec + exit: {:?}", per(start.elapsed(), 90_000));
    let start = Instant::now();
    table.end_window();
    println!(
        "end of a window with {} processes: {:?}",
        table.len(),
        start.elapsed()
    );
    let start = Instant::now();
    for pid in 0..10_000 {
        std::hint::black_box(table.observe(key(1_000_000 + pid), b"x"));
    }
    println!(
        "first sight of a process that is gone: {:?}",
        per(start.elapsed(), 10_000)
    );
}

fn per(elapsed: Duration, count: usize) -> Duration {
    elapsed / u32::try_from(count).unwrap()
}
