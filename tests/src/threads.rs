//! Where the time of each thread of a workload went, by a recording and by the kernel's own account.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use evenkeel_semconv::attribute::THREAD_NAME;

use crate::{child::Finished, received::Received};

/// What a recording says of a thread, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Recorded {
    /// Samples of it running, times their distance.
    pub on_cpu: f64,
    /// Profile `off_cpu`.
    pub off_cpu: f64,
    /// Profile `run_queue`.
    pub run_queue: f64,
    /// Profile `stolen`.
    pub stolen: f64,
}

/// What a workload printed of a thread at its end (`print_account` in `examples/workloads/account.h`).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Account {
    /// Seconds since its creation.
    pub wall: f64,
    /// Seconds on a CPU, field 1 of its schedstat.
    pub run: f64,
    /// Seconds ready but waiting for a CPU, field 2 of its schedstat.
    pub wait: f64,
    /// Switches away because it blocked.
    pub voluntary: f64,
    /// Switches away while it could have gone on.
    pub involuntary: f64,
}

impl Account {
    /// Seconds that are neither on a CPU nor waiting for one.
    pub fn blocked(&self) -> f64 {
        self.wall - self.run - self.wait
    }
}

/// The threads of a process as a recording has them, by name.
#[expect(
    clippy::cast_precision_loss,
    reason = "sums of hours in nanoseconds fit 53 bits"
)]
pub fn recorded(received: &Received, process: &str) -> BTreeMap<String, Recorded> {
    let mut threads = BTreeMap::<String, Recorded>::new();
    for kind in ["samples", "off_cpu", "run_queue", "stolen"] {
        received.each_sample(kind, |sample| {
            let name = sample.attribute(THREAD_NAME).unwrap_or_default();
            if sample.process != Some(process) {
                return;
            }
            let thread = threads.entry(name.to_owned()).or_default();
            let seconds = sample.value as f64 / 1e9;
            match kind {
                "samples" => thread.on_cpu += seconds * sample.period() as f64,
                "off_cpu" => thread.off_cpu += seconds,
                "run_queue" => thread.run_queue += seconds,
                _ => thread.stolen += seconds,
            }
        });
    }
    threads
}

/// The threads of a workload as it printed them, by name: `thread NAME WALL RUN WAIT VOLUNTARY INVOLUNTARY`.
pub fn accounts(finished: &Finished) -> Result<BTreeMap<String, Account>> {
    let mut accounts = BTreeMap::new();
    let lines = finished.stdout.lines();
    for rest in lines.filter_map(|line| line.strip_prefix("thread ")) {
        let (name, account) = account(rest).with_context(|| format!("a bad line: {rest}"))?;
        accounts.insert(name, account);
    }
    ensure!(
        !accounts.is_empty(),
        "`{}` printed no account: {:?}",
        finished.what,
        finished.stdout
    );
    Ok(accounts)
}

fn account(text: &str) -> Result<(String, Account)> {
    let mut words = text.split_whitespace();
    let name = words.next().context("no name")?.to_owned();
    let mut number =
        || -> Result<f64> { Ok(words.next().context("a number is missing")?.parse()?) };
    let account = Account {
        wall: number()? / 1e9,
        run: number()? / 1e9,
        wait: number()? / 1e9,
        voluntary: number()?,
        involuntary: number()?,
    };
    Ok((name, account))
}

/// Fails unless `seen` is within a share of `expected` and so many seconds more; says both.
pub fn ensure_near(what: &str, seen: f64, expected: f64, share: f64, more: f64) -> Result<()> {
    let bound = expected.abs() * share + more;
    println!(
        "{what}: {seen:.4} s, expected {expected:.4} s: {:+.2} %, at most {:.2} %",
        (seen / expected - 1.0) * 100.0,
        bound / expected * 100.0
    );
    ensure!(
        (seen - expected).abs() <= bound,
        "{what}: {seen:.4} s instead of {expected:.4} s, more than {bound:.4} s apart"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line is an account; a short one is none.
    #[test]
    fn accounts_are_read() {
        let (name, account) = account("mix-spin 10000000000 4000000000 1000000000 7 8").unwrap();
        assert_eq!(name, "mix-spin");
        assert_eq!(account.blocked(), 5.0);
        assert_eq!((account.voluntary, account.involuntary), (7.0, 8.0));
        assert!(super::account("mix-spin 1 2 3 4").is_err());
    }
}
