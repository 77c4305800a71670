//! Plans and estimates together, on a host whose calls are known.

use evenkeel_otlp::scale_table::ScaleTables;

use super::{
    budget::{Budget, Costs},
    calibration::Calibration,
    estimate::{Estimate, Watch, length, weigh},
    growth::{Count, Growth, Looks},
    layout::Layout,
};
use crate::signal::syscalls::budget::Spent;

const COSTS: Costs = Costs {
    call: 150e-9,
    sample: 105e-9,
};

/// Duration of every call in nanoseconds.
const DURATION: u64 = 4_000_000;

/// A load that is on for a part of each period.
#[derive(Clone, Copy)]
struct Load {
    /// Calls a second while it is on.
    rate: f64,
    period: f64,
    on: f64,
}

impl Load {
    /// Calls from the beginning to a time.
    fn calls(self, at: f64) -> f64 {
        let periods = (at / self.period).floor();
        let rest = (at - periods * self.period).min(self.on);
        self.rate * (periods * self.on + rest)
    }

    /// Calls from one time to another.
    fn between(self, from: f64, to: f64) -> f64 {
        self.calls(to.max(from)) - self.calls(from)
    }
}

/// Calls and durations estimated for so many seconds, over what there were.
fn estimated(load: Load, seconds: f64, seed: u64) -> [f64; 2] {
    let layout = Layout::new([].into_iter());
    let calibration = Calibration {
        costs: COSTS,
        attachment: 0.0006,
        calls: 0.0,
        families_are_right: true,
        errors_are_right: true,
    };
    let mut budget = Budget::with_seed(0.01, 2, calibration, seed);
    let mut estimate = Estimate::new(layout);
    let (mut now, mut attached) = (0.0, None);
    let slot = ScaleTables::NANOSECONDS_IN_SECONDS.slot(DURATION).unwrap();
    let slot = layout.slots(0).start + slot as usize;
    while now < seconds {
        let plan = budget.plan();
        estimate.begin(now);
        let mut cycle = plan.cycle;
        // As the thread does: it looks every 50 ms.
        let mut look = 0.05;
        while look < cycle && plan.alarm < u64::MAX {
            if load.between(now, now + look) > plan.alarm as f64 {
                cycle = look;
            }
            look += 0.05;
        }
        let (mut watches, mut calls, mut measured, mut attachments) = (Vec::new(), 0, 0, 0);
        for (from, to) in [Some(plan.first), plan.second].into_iter().flatten() {
            if from > 0.0 {
                attached = None;
            }
            let (begun, ended) = (now + from, now + to.min(cycle));
            attachments += u32::from(attached.is_none());
            let began = *attached.get_or_insert(begun);
            calls += load.between(begun, ended).round() as u64;
            // Those that ended in the burst and began in it.
            let duration = DURATION as f64 / 1e9;
            let from = begun.max(began + duration) - duration;
            measured += load.between(from, ended - duration).round() as u64;
            watches.push(Watch {
                attached: began,
                begun,
                ended,
            });
            if !plan.ends_at(to) {
                attached = None;
            }
        }
        let count = |word, growth| Count {
            place: 0,
            word,
            growth,
        };
        let growth = Growth {
            looks: vec![Looks {
                watched: calls,
                sampled: calls / u64::from(plan.skip),
            }],
            counts: vec![count(layout.calls(0), calls)],
            durations: vec![
                count(slot, measured),
                count(layout.sum(0), measured * DURATION),
            ],
        };
        estimate.end(weigh(layout, &growth, &watches, plan.skip, COSTS, 1));
        budget.account(Spent {
            elapsed: cycle,
            watched: length(&watches),
            attached: length(&watches),
            looks: growth.looks[0],
            own: 0.0007,
            attachments,
        });
        now += cycle;
    }
    let words = estimate.words(now, None);
    let truth = load.calls(now);
    let durations = words[layout.sum(0)] / DURATION as f64;
    [words[layout.calls(0)] / truth, durations / truth]
}

/// Loads that come and go faster than bursts, about as fast and more slowly: over half an hour, the estimates are
/// right within what the number of bursts allows.
#[test]
fn estimates_have_no_bias() {
    for (rate, period, on) in [
        (3_000_000.0, 0.011, 0.004),
        (3_000_000.0, 0.7, 0.2),
        (3_000_000.0, 9.0, 3.0),
        (20_000.0, 0.7, 0.2),
    ] {
        let load = Load { rate, period, on };
        let runs = [1, 2, 3].map(|seed| estimated(load, 600.0, seed));
        for what in 0..2 {
            let mean = runs.iter().map(|run| run[what]).sum::<f64>() / runs.len() as f64;
            assert!(
                (mean - 1.0).abs() < 0.06,
                "{rate} a second for {on} of {period} s: {runs:?}"
            );
        }
    }
}
