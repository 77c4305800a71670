//! What delivery tells about itself, through the `metrics` facade.
//!
//! Without a recorder these calls do nothing.

use super::{accounts::DropReason, queue::Finished, signal::Signal};
use evenkeel_semconv::{
    attribute::{
        EVENKEEL_EXPORT_OUTCOME, EVENKEEL_EXPORT_SIGNAL, value::evenkeel_export_outcome as outcome,
    },
    metric::{EVENKEEL_EXPORT_REQUEST_DURATION, EVENKEEL_EXPORT_RETRIES, EVENKEEL_EXPORT_WINDOWS},
};
use std::time::Duration;

/// A window was pushed.
pub(super) fn made(signal: Signal) {
    count(signal, outcome::MADE);
}

/// A window reached its end.
pub(super) fn finished(signal: Signal, finished: Finished) {
    let outcome = match finished.lost {
        None => outcome::SENT,
        Some(DropReason::Refused) => outcome::REJECTED,
        Some(DropReason::QueueFull | DropReason::TooLarge | DropReason::Shutdown) => {
            outcome::DROPPED
        }
    };
    count(signal, outcome);
}

fn count(signal: Signal, outcome: &'static str) {
    if let Some(signal) = signal.attribute() {
        metrics::counter!(
            EVENKEEL_EXPORT_WINDOWS.name,
            EVENKEEL_EXPORT_SIGNAL => signal,
            EVENKEEL_EXPORT_OUTCOME => outcome,
        )
        .increment(1);
    }
}

/// A request is about to be sent again.
pub(super) fn retried(signal: Signal) {
    if let Some(signal) = signal.attribute() {
        metrics::counter!(EVENKEEL_EXPORT_RETRIES.name, EVENKEEL_EXPORT_SIGNAL => signal)
            .increment(1);
    }
}

/// A request took this long, whatever came of it.
pub(super) fn took(signal: Signal, duration: Duration) {
    if let Some(signal) = signal.attribute() {
        metrics::histogram!(EVENKEEL_EXPORT_REQUEST_DURATION.name, EVENKEEL_EXPORT_SIGNAL => signal)
            .record(duration.as_secs_f64());
    }
}
