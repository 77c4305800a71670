//! When windows end, seconds pass and metrics are due.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use evenkeel_otlp::model::Window;

use super::{outcome::Failure, stop::Message};
use crate::capture::{Capture, WindowSummary};

const SECOND: Duration = Duration::from_secs(1);

/// A last window shorter than this is left out: at 99 samples a second it holds five a CPU.
const SHORTEST_WINDOW: Duration = Duration::from_millis(50);

/// Where windows go.
pub(super) trait Sink {
    /// A window ended.
    fn window(&mut self, window: Window, summary: WindowSummary) -> Result<(), Failure>;

    /// The metrics are due between windows.
    fn reading(&mut self, reading: Window) -> Result<(), Failure>;

    /// Windows that it was given.
    fn windows(&self) -> u64;

    /// A second passed.
    fn second(&mut self) {}
}

/// What ended the loop.
#[derive(Debug)]
pub(super) enum End {
    /// The time is over.
    Deadline,
    /// A message came.
    Message(Message),
}

/// Runs a capture until the deadline or a message. Windows that end meanwhile go to the sink; the
/// last one, begun and not over, is left to [`flush`].
pub(super) fn run(
    capture: &mut Capture,
    messages: &Receiver<Message>,
    deadline: Option<Instant>,
    metrics_interval: Option<Duration>,
    sink: &mut dyn Sink,
) -> Result<End, Failure> {
    let started = Instant::now();
    let mut next_second = started + SECOND;
    let mut next_metrics = metrics_interval.map(|interval| started + interval);
    loop {
        let wake = [
            Some(next_second),
            Some(capture.window_end()),
            deadline,
            next_metrics,
        ]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(next_second);
        match messages.recv_deadline(wake) {
            Ok(message) => return Ok(End::Message(message)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(End::Deadline),
        }
        let now = Instant::now();
        if now >= next_second {
            capture.tick();
            sink.second();
            next_second = later(next_second, SECOND, now);
        }
        if now >= capture.window_end() {
            let (window, summary) = capture.end_window()?;
            sink.window(window, summary)?;
        }
        if let (Some(due), Some(interval)) = (next_metrics, metrics_interval)
            && now >= due
        {
            sink.reading(capture.reading())?;
            next_metrics = Some(later(due, interval, now));
        }
        if deadline.is_some_and(|deadline| now >= deadline) {
            return Ok(End::Deadline);
        }
    }
}

/// The next turn after `now`; turns that a suspended host missed are left out.
fn later(due: Instant, interval: Duration, now: Instant) -> Instant {
    let next = due + interval;
    if next > now { next } else { now + interval }
}

/// Ends the window that has begun, unless there is next to nothing in it. The only window is never
/// left out: all that is known of a command that ends at once is in it.
pub(super) fn flush(capture: &mut Capture, sink: &mut dyn Sink) -> Result<(), Failure> {
    if sink.windows() == 0 || capture.window_age() >= SHORTEST_WINDOW {
        let (window, summary) = capture.end_window()?;
        sink.window(window, summary)?;
    }
    Ok(())
}
