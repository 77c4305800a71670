//! What the thread that watches has found, for whoever makes metrics of it.

use std::{mem, time::Instant};

use super::{
    budget::{Costs, Plan},
    calibration::Calibration,
    estimate::{Estimate, Watch, Weighed, length, longest, weigh},
    growth::{Counted, Growth, Looks},
    layout::Layout,
    spread::{Burst, Spread},
};

/// What the thread found, for whoever makes metrics of it.
#[derive(Debug)]
pub(super) struct Findings {
    pub(super) estimate: Estimate,
    pub(super) spread: Spread,
    /// Failing calls are seen as what they are.
    pub(super) has_errors: bool,
    /// What watching costs.
    pub(super) costs: Costs,
    /// Calls watched and sampled in spans that are over.
    pub(super) looks: Looks,
    /// Sampled calls that were too long for their burst.
    pub(super) too_long: f64,
    /// Seconds for which calls were watched in spans that are over.
    pub(super) watched: f64,
    /// Attachments so far.
    pub(super) bursts: u64,
    /// CPU seconds that all of it has cost.
    pub(super) cost: f64,
    /// What is going on.
    pub(super) plan: Option<Plan>,
    /// The longest duration that the last span could measure, seconds.
    pub(super) longest: f64,
    /// Why the thread has ended.
    pub(super) failure: Option<String>,
    /// What the programs counted.
    pub(super) counted: Counted,
    shards: usize,
    /// What was watched of the cycle so far.
    pub(super) watches: Vec<Watch>,
    /// Since when calls are watched, and since when without a break.
    under_way: Option<(f64, f64)>,
    /// Since when what was counted is not taken.
    pub(super) taken: f64,
    epoch: Instant,
}

/// The sums at a moment.
#[derive(Debug)]
pub(super) struct Sums {
    /// By [`Layout`].
    pub(super) words: Vec<f64>,
    /// Calls sampled and watched.
    pub(super) looks: Looks,
    /// Seconds for which calls were watched.
    pub(super) watched: f64,
    /// Sampled calls that were too long for their burst.
    pub(super) too_long: f64,
}

impl Findings {
    /// Nothing yet.
    pub(super) fn new(
        counted: Counted,
        layout: Layout,
        shards: usize,
        calibration: Calibration,
    ) -> Self {
        Self {
            estimate: Estimate::new(layout),
            spread: Spread::default(),
            has_errors: calibration.errors_are_right,
            costs: calibration.costs,
            looks: Looks::default(),
            too_long: 0.0,
            watched: 0.0,
            bursts: 0,
            cost: 0.0,
            plan: None,
            longest: 0.0,
            failure: None,
            counted,
            shards,
            watches: Vec::new(),
            under_way: None,
            taken: 0.0,
            epoch: Instant::now(),
        }
    }

    /// Seconds since the start.
    pub(super) fn now(&self) -> f64 {
        self.epoch.elapsed().as_secs_f64()
    }

    fn weigh(&self, growth: &Growth, watches: &[Watch]) -> Weighed {
        let skip = self.plan.map_or(1, |plan| plan.skip);
        let layout = self.estimate.layout();
        weigh(layout, growth, watches, skip, self.costs, self.shards)
    }

    /// Everything so far, what is watched now included.
    pub(super) fn sums(&self) -> Sums {
        let now = self.now();
        let mut sums = Sums {
            words: Vec::new(),
            looks: self.looks,
            watched: self.watched,
            too_long: self.too_long,
        };
        let mut watches = self.watches.clone();
        watches.extend(self.under_way.map(|(begun, attached)| Watch {
            attached,
            begun,
            ended: now,
        }));
        let so_far = (!watches.is_empty()).then(|| {
            let growth = self.counted.growth();
            let weighed = self.weigh(&growth, &watches);
            sums.looks.watched += growth.watched();
            sums.looks.sampled += growth.sampled();
            sums.watched += length(&watches);
            sums.too_long += weighed.too_long;
            weighed
        });
        sums.words = self.estimate.words(now, so_far.as_ref());
        sums
    }

    /// Calls are watched from now on, or are still watched.
    pub(super) fn begin_watch(&mut self, attached: &mut Option<f64>) {
        let begun = match attached {
            Some(_) => self.taken,
            None => self.now(),
        };
        self.under_way = Some((begun, *attached.get_or_insert(begun)));
    }

    /// They are not watched any more, or not for this cycle.
    pub(super) fn end_watch(&mut self) {
        let ended = self.now();
        self.taken = ended;
        self.watches
            .extend(self.under_way.take().map(|(begun, attached)| Watch {
                attached,
                begun,
                ended,
            }));
    }

    /// What was to be watched of the cycle was watched: takes what was counted and gives what was looked
    /// at, and for how long.
    pub(super) fn end(&mut self, plan: &Plan) -> (Looks, f64) {
        let growth = self.counted.growth();
        self.counted.take(&growth);
        let watches = mem::take(&mut self.watches);
        let weighed = self.weigh(&growth, &watches);
        let looks = Looks {
            watched: growth.watched(),
            sampled: growth.sampled(),
        };
        let watched = length(&watches);
        self.looks.watched += looks.watched;
        self.looks.sampled += looks.sampled;
        self.watched += watched;
        self.too_long += weighed.too_long;
        self.longest = longest(&watches);
        let layout = self.estimate.layout();
        self.spread.add(Burst {
            calls: weighed.calls(layout),
            slowed: weighed.slowed(layout),
            length: watched,
            gap: if plan.alarm < u64::MAX {
                0.0
            } else {
                (plan.cycle - watched).max(0.0)
            },
            skip: plan.skip,
        });
        self.estimate.end(weighed);
        (looks, watched)
    }
}
