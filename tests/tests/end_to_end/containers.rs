//! Containers of real runtimes: the samples of what runs in them carry their ids.

use std::{fs, os::unix::fs::symlink, path::Path, time::Duration};

use anyhow::{Context as _, Result, ensure};
use evenkeel_tests::{evenkeel::Recording, needs::Need, suite::Test, workload::target_folder};
use serde_json::Value;

pub(crate) const TESTS: &[Test] = &[
    Test::new("containers::runc", NEEDS_RUNC, || sampled(&RUNC)),
    Test::new("containers::containerd", NEEDS_CONTAINERD, || {
        sampled(&CONTAINERD)
    }),
    Test::new("containers::podman", NEEDS_PODMAN, || sampled(&PODMAN)),
];

const NEEDS_RUNC: &[Need] = &[
    Need::Root,
    Need::Bpf,
    Need::Program("busybox"),
    Need::Program("runc"),
];
const NEEDS_CONTAINERD: &[Need] = &[
    Need::Root,
    Need::Bpf,
    Need::Program("busybox"),
    Need::Program("containerd"),
    Need::Program("ctr"),
];
const NEEDS_PODMAN: &[Need] = &[
    Need::Root,
    Need::Bpf,
    Need::Program("busybox"),
    Need::Program("podman"),
    Need::Program("runc"),
];

/// What runs in the container: it computes and says how much CPU time that took.
const WORK: &str = "i=0; while [ $i -lt 1500000 ]; do i=$((i+1)); done; times";

/// Starts a container of the root file system `root` that runs the script `/work`, waits for its end, and leaves its
/// id in the file `id` and its output in `out`. Runs in a folder of its own.
struct Runtime {
    name: &'static str,
    script: &'static str,
}

const RUNC: Runtime = Runtime {
    name: "runc",
    script: r#"
runc spec
sed -i 's/"terminal": true/"terminal": false/; s/"sh"$/"\/bin\/sh", "\/work"/; s/"path": "rootfs"/"path": "root"/' config.json
sed -i '/"rlimits": \[/,/\],/d' config.json
head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' > id
runc --root "$PWD/state" run "$(cat id)" < /dev/null > out
"#,
};

const CONTAINERD: Runtime = Runtime {
    name: "containerd",
    script: r#"
cat > config.toml <<END
version = 2
root = "$PWD/data"
state = "$PWD/state"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
address = "$PWD/s"
END
containerd --config config.toml > containerd.log 2>&1 &
server=$!
trap 'kill $server; wait $server' EXIT
for _ in $(seq 100); do [ -S s ] && break; sleep 0.1; done
head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' > id
ctr --address "$PWD/s" run --rm --rootfs "$PWD/root" "$(cat id)" /bin/sh /work < /dev/null > out
"#,
};

/// Neither limits that this machine may refuse to raise nor a journal are needed.
const PODMAN: Runtime = Runtime {
    name: "podman",
    script: r#"
cat > containers.conf <<END
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
END
cat > storage.conf <<END
[storage]
driver = "vfs"
graphroot = "$PWD/data"
runroot = "$PWD/run"
END
export CONTAINERS_CONF=$PWD/containers.conf CONTAINERS_STORAGE_CONF=$PWD/storage.conf
podman run --rm --cidfile id --network none --rootfs "$PWD/root" /bin/sh /work < /dev/null > out
"#,
};

/// A root file system with a shell.
fn root_file_system(root: &Path) -> Result<()> {
    for folder in ["bin", "dev", "etc", "proc", "sys", "tmp"] {
        fs::create_dir_all(root.join(folder))?;
    }
    let busybox = ["/bin/busybox", "/usr/bin/busybox"]
        .into_iter()
        .find(|path| Path::new(path).is_file())
        .context("busybox")?;
    fs::copy(busybox, root.join("bin/busybox"))?;
    symlink("busybox", root.join("bin/sh"))?;
    fs::write(root.join("work"), WORK)?;
    Ok(())
}

/// User and system time of the shell in seconds, from the first line that `times` prints: `0m1.25s 0m0.01s`.
fn own_time(output: &str) -> Option<f64> {
    let mut fields = output.lines().next()?.split_whitespace();
    let mut seconds = || {
        let (minutes, seconds) = fields.next()?.strip_suffix('s')?.split_once('m')?;
        Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
    };
    Some(seconds()? + seconds()?)
}

/// The CPU time of what ran in the container is in the samples that carry its id, and nothing else is.
fn sampled(runtime: &Runtime) -> Result<()> {
    let folder = tempfile::Builder::new()
        .prefix("ek-")
        .tempdir_in(target_folder()?)?;
    root_file_system(&folder.path().join("root"))?;
    let script = format!(
        "set -eu\ncd {}\n{}",
        folder.path().display(),
        runtime.script
    );
    let recording = Recording::make(&["--", "sh", "-c", &script], Duration::from_secs(120))?;
    let read = |name: &str| {
        fs::read_to_string(folder.path().join(name)).with_context(|| format!("{name} of the run"))
    };
    let id = read("id")?;
    let id = id.trim();
    let used = own_time(&read("out")?).context("what `times` printed")?;

    let report = recording.report(&[
        "--format",
        "json",
        "--filter",
        &format!("container.id={id}"),
    ])?;
    let report: Value = serde_json::from_str(&report.stdout)?;
    let profile = &report["profiles"]["on_cpu"];
    let samples = profile["total"].as_f64().context("samples")?;
    println!(
        "{}: {used:.2} s of CPU time in {id}, {:.2} s sampled",
        runtime.name,
        samples / 99.0
    );
    ensure!(used > 0.5, "the work took {used} s only");
    // A sample is 10 ms; what the runtime does in the container before the work is a few.
    let off = samples / 99.0 - used;
    ensure!(
        (-0.1 * used..=0.1 * used + 0.1).contains(&off),
        "{samples} samples of {used} s"
    );
    let by_process = profile["by_process"].as_array().context("by_process")?;
    ensure!(
        by_process.iter().any(|row| row["process"] == "busybox"),
        "{by_process:?}"
    );
    Ok(())
}
