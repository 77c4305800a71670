//! scratch
use evenkeel::kernel::*;
use evenkeel::signal::Signal;
use std::path::Path;
fn main() {
    tracing_subscriber::fmt().with_env_filter("debug").init();
    let t = std::time::Instant::now();
    let (k, mut ev) = Kernel::start(
        &CaptureSettings {
            frequency: 99,
            signals: Signal::ALL.to_vec(),
        },
        Path::new("/proc"),
        Path::new("/sys"),
    )
    .unwrap_or_else(|e| {
        println!("{e}");
        std::process::exit(1)
    });
    println!("start {:?}", t.elapsed());
    for (p, s) in k.programs() {
        println!("{} {:?}", p.name, s)
    }
    println!("{:?}\n{:?}", k.signals(), k.method());
    let _s = account::Statistics::on();
    std::thread::sleep(std::time::Duration::from_secs(3));
    let mut n = 0;
    let mut kinds = std::collections::BTreeMap::new();
    while let Some(r) = ev.next() {
        n += 1;
        match event::parse(&r) {
            Some(event::Event::Sample(s)) => {
                if n < 12 {
                    println!(
                        "{} {:?} k{} u{:x?}",
                        s.process.pid,
                        String::from_utf8_lossy(s.comm),
                        s.kernel_frames().len(),
                        s.user_frames().collect::<Vec<_>>()
                    );
                }
                *kinds.entry("s").or_insert(0) += 1
            }
            Some(event::Event::Exec { filename, .. }) => {
                if n < 40 {
                    println!("exec {}", String::from_utf8_lossy(filename));
                }
                *kinds.entry("x").or_insert(0) += 1
            }
            Some(_) => *kinds.entry("o").or_insert(0) += 1,
            None => *kinds.entry("none").or_insert(0) += 1,
        }
    }
    println!("{n} {kinds:?}");
    for c in 0..17 {
        print!(
            "{} ",
            (0..2)
                .map(|cpu| k.counters().load(cpu * 64 + c))
                .sum::<u64>()
        )
    }
    println!();
    for c in 32..38 {
        print!(
            "{} ",
            (0..2)
                .map(|cpu| k.counters().load(cpu * 64 + c))
                .sum::<u64>()
        )
    }
    println!();
    for r in k.run_times() {
        println!(
            "{} {} runs {:.0} ns",
            r.program,
            r.runs,
            r.time.as_nanos() as f64 / r.runs.max(1) as f64
        )
    }
    let h = k.run_queue_slots(evenkeel_abi::RunQueueReason::Wakeup);
    println!(
        "{:?}",
        h.iter().enumerate().filter(|(_, c)| **c > 0).count()
    );
}
