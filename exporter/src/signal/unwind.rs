//! What the unwind tables hold, lack and cost.

use evenkeel_otlp::model::{Attribute, Metric, PointValue};
use evenkeel_semconv::{
    attribute::{
        self,
        value::{evenkeel_unwind_refusal as refusal, evenkeel_unwind_state as state},
    },
    metric,
};

use super::{int, metric, point};
use crate::unwind::UnwindAccount;

/// The metrics of an account; counters count from `start`, in nanoseconds of the Unix clock.
pub(super) fn metrics(account: &UnwindAccount, start: u64) -> Vec<Metric> {
    let single = |descriptor, value| metric(descriptor, vec![point(Vec::new(), start, value)]);
    let by = |descriptor, key, values: &[(&str, u64)]| {
        let points = values
            .iter()
            .map(|(name, value)| point(vec![Attribute::new(key, *name)], start, int(*value)));
        metric(descriptor, points.collect())
    };
    let fill = account.fill;
    let executables = account.executables;
    [
        single(&metric::EVENKEEL_UNWIND_TABLE_USAGE, int(fill.rows)),
        single(&metric::EVENKEEL_UNWIND_TABLE_LIMIT, int(fill.row_limit)),
        single(&metric::EVENKEEL_UNWIND_PROCESSES, int(account.processes)),
        single(
            &metric::EVENKEEL_UNWIND_BUILD_TIME,
            PointValue::Double(account.build_seconds),
        ),
        by(
            &metric::EVENKEEL_UNWIND_EXECUTABLES,
            attribute::EVENKEEL_UNWIND_STATE,
            &[
                (state::PLACED, executables.placed),
                (state::WITHOUT, executables.without),
            ],
        ),
        by(
            &metric::EVENKEEL_UNWIND_REFUSALS,
            attribute::EVENKEEL_UNWIND_REFUSAL,
            &[
                (refusal::UNUSABLE, executables.unusable),
                (refusal::EVICTED, executables.evicted),
                (refusal::NO_ROOM, executables.no_room),
                (refusal::NO_SLOT, executables.no_slot),
                (refusal::PROCESS_EVICTED, account.processes_evicted),
                (refusal::PROCESS_REFUSED, account.processes_refused),
                (refusal::REQUEST_LOST, account.requests_lost),
                (refusal::DEFERRED, account.deferred),
            ],
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}
