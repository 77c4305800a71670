//! Readings over time. A recording begins some time after its command and ends before it; a log gives the
//! growth over just the span that the recording covers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context as _, Result, bail, ensure};

use crate::procfs::unix_nanos;

/// `N` numbers, read again and again by a thread of its own.
#[derive(Debug)]
pub struct Log<const N: usize> {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Vec<Row<N>>>>>,
}

#[derive(Clone, Copy, Debug)]
struct Row<const N: usize> {
    unix_nanos: u64,
    values: [f64; N],
}

/// A finished [`Log`].
#[derive(Debug)]
pub struct Logged<const N: usize> {
    rows: Vec<Row<N>>,
}

impl<const N: usize> Log<N> {
    /// Starts to log what `read` gives, at once, then every `interval`, and once more at the end.
    pub fn start(
        interval: Duration,
        mut read: impl FnMut() -> Result<[f64; N]> + Send + 'static,
    ) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut rows = Vec::new();
            loop {
                let last = stopped.load(Ordering::Relaxed);
                rows.push(Row {
                    unix_nanos: unix_nanos(),
                    values: read()?,
                });
                if last {
                    return Ok(rows);
                }
                thread::sleep(interval);
            }
        });
        Self {
            stop,
            thread: Some(thread),
        }
    }

    /// Ends the log.
    pub fn finish(mut self) -> Result<Logged<N>> {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().context("the log has ended already")?;
        match thread.join() {
            Ok(rows) => Ok(Logged { rows: rows? }),
            Err(_) => bail!("the log's thread panicked"),
        }
    }
}

impl<const N: usize> Drop for Log<N> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl<const N: usize> Logged<N> {
    /// What each number grew by between two instants (Unix nanoseconds), which the log must cover.
    pub fn growth(&self, start: u64, end: u64) -> Result<[f64; N]> {
        ensure!(start < end, "an empty span");
        let (from, to) = (self.at(start)?, self.at(end)?);
        Ok(std::array::from_fn(|index| to[index] - from[index]))
    }

    /// The values at an instant, on the straight line between the rows around it.
    fn at(&self, instant: u64) -> Result<[f64; N]> {
        let after = self.rows.partition_point(|row| row.unix_nanos < instant);
        let (Some(low), Some(high)) = (after.checked_sub(1), self.rows.get(after)) else {
            bail!("the log does not cover {instant}");
        };
        let low = self.rows[low];
        #[expect(
            clippy::cast_precision_loss,
            reason = "spans of minutes in nanoseconds fit 53 bits"
        )]
        let part = (instant - low.unix_nanos) as f64 / (high.unix_nanos - low.unix_nanos) as f64;
        Ok(std::array::from_fn(|index| {
            low.values[index] + (high.values[index] - low.values[index]) * part
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values between rows lie on the line; instants outside are errors.
    #[test]
    fn growth_is_interpolated() {
        let row = |unix_nanos, value| Row {
            unix_nanos,
            values: [value, -value],
        };
        let logged = Logged {
            rows: vec![row(100, 0.0), row(200, 100.0), row(300, 300.0)],
        };
        let [up, down] = logged.growth(150, 250).unwrap();
        assert!((up - 150.0).abs() < 1e-9 && (down + 150.0).abs() < 1e-9);
        assert!(logged.growth(50, 250).is_err());
        assert!(logged.growth(150, 350).is_err());
    }

    /// The first reading is made at once and the last at the end, whatever the interval.
    #[test]
    fn covers_its_whole_life() {
        let start = unix_nanos();
        let mut readings = 0.0;
        let log = Log::start(Duration::from_millis(1), move || {
            readings += 1.0;
            Ok([readings])
        });
        thread::sleep(Duration::from_millis(20));
        let logged = log.finish().unwrap();
        assert!(logged.rows.len() >= 2 && logged.rows[0].unix_nanos >= start);
        let failing: Log<1> = Log::start(Duration::from_millis(1), || bail!("no reading"));
        assert!(failing.finish().is_err());
    }
}
