//! How long to watch, how long to wait and how many calls to sample, so that the cost stays in the budget.

use std::hash::{BuildHasher as _, RandomState};

use super::{calibration::Calibration, growth::Looks};

/// Samples a second and CPU that are enough: an estimate of 10 s from one CPU is then off by 0.2 %
/// at most for want of samples. Calls beyond them are skipped.
const ENOUGH_SAMPLES: f64 = 20_000.0;

/// Most calls that one sample stands for. Measuring one in 16 costs a sixteenth of 100 ns a call;
/// skipping more saves nothing beside the 150 ns that each call pays for being watched.
const LARGEST_SKIP: u16 = 16;

/// Time in which there is one burst, as long as it is long enough then.
const CYCLE: f64 = 0.5;

/// Shortest burst. The time until the other CPUs and threads see that it is on, and the
/// thread that ends it being late, are small beside it.
const SHORTEST_BURST: f64 = 0.02;

/// Longest cycle: budgets of 0.05 % on the busiest hosts.
const LONGEST_CYCLE: f64 = 30.0;

/// Shortest part of a burst. What a cycle begins or ends with would be too short is moved by so much.
const SHORTEST_PART: f64 = 0.001;

/// Most of a cycle that is a burst, unless all of it is.
const LARGEST_DUTY: f64 = 0.8;

/// Share of the budget that attaching and detaching may take.
const ATTACHING_SHARE: f64 = 0.2;

/// Time in which a debt is paid back.
const PAY_BACK: f64 = 10.0;

/// What of the newest burst goes into the mean that the next one is planned by.
const NEWEST: f64 = 0.4;

/// What of the newest measurement goes into the mean cost of a call.
const MEAN_COST: f64 = 0.1;

/// Of a continuous watch, the share of its planned cost at which it ends before its time.
const ALARM: f64 = 4.0;

/// CPU time that attaching and detaching takes on each of the other CPUs: about 37 interrupts to
/// change the kernel's code, 7 µs each in a VM (measured; the attaching thread's own time is
/// measured each time).
const OTHER_CPU: f64 = 250e-6;

/// What watching costs on this host, in seconds of CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Costs {
    /// A call that is watched.
    pub(super) call: f64,
    /// A call that is sampled, beyond that.
    pub(super) sample: f64,
}

impl Costs {
    /// What the looks on a CPU cost.
    pub(super) fn of(self, looks: Looks) -> f64 {
        looks.watched as f64 * self.call + looks.sampled as f64 * self.sample
    }
}

/// When to watch in the next cycle.
///
/// A burst begins at any time of the cycle with the same probability; what of it would be behind the
/// end is watched at the beginning instead. So each moment of the cycle is as likely to be watched
/// as any other, whatever has led to the plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan {
    /// Length of the cycle, seconds.
    pub(super) cycle: f64,
    /// When to begin and to end watching, seconds from the beginning of the cycle.
    pub(super) first: (f64, f64),
    /// When to watch again.
    pub(super) second: Option<(f64, f64)>,
    /// Calls that one sample stands for.
    pub(super) skip: u16,
    /// Calls after which a cycle that is watched as a whole ends before its time, so that a new plan is made.
    /// As it stands for nothing but itself, this gives no bias.
    pub(super) alarm: u64,
}

impl Plan {
    /// Share of the cycle that is watched.
    pub(super) fn duty(&self) -> f64 {
        let length = |(from, to): (f64, f64)| to - from;
        (length(self.first) + self.second.map_or(0.0, length)) / self.cycle
    }

    /// Whether the end of a watch is also that of the cycle, and what goes on may go on.
    pub(super) fn ends_at(&self, to: f64) -> bool {
        to >= self.cycle
    }
}

/// What a cycle cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spent {
    /// From its beginning to its end, seconds.
    pub(super) elapsed: f64,
    /// For which calls were watched.
    pub(super) watched: f64,
    /// For which the programs were attached, a little longer.
    pub(super) attached: f64,
    /// Looks on all CPUs.
    pub(super) looks: Looks,
    /// CPU time of the thread that drives the bursts.
    pub(super) own: f64,
    /// How often it attached and detached.
    pub(super) attachments: u32,
}

/// Plans bursts.
#[derive(Debug)]
pub(super) struct Budget {
    /// CPU seconds a second.
    allowed: f64,
    cpus: f64,
    costs: Costs,
    /// Calls a second while they are watched.
    calls: f64,
    /// CPU seconds of attaching and detaching once.
    attachment: f64,
    /// CPU seconds spent beyond what was allowed.
    debt: f64,
    /// CPU seconds spent in all.
    spent: f64,
    random: u64,
}

impl Budget {
    /// A share of the CPU time of a host with so many CPUs.
    pub(super) fn new(share: f64, cpus: usize, calibration: Calibration) -> Self {
        Self::with_seed(share, cpus, calibration, RandomState::new().hash_one(0))
    }

    pub(super) fn with_seed(share: f64, cpus: usize, calibration: Calibration, seed: u64) -> Self {
        let cpus = cpus.max(1) as f64;
        Self {
            allowed: share * cpus,
            cpus,
            costs: calibration.costs,
            calls: calibration.calls,
            attachment: calibration.attachment + (cpus - 1.0) * OTHER_CPU,
            debt: 0.0,
            spent: 0.0,
            random: seed | 1,
        }
    }

    /// What is known of earlier cycles decides; nothing of the one that is planned.
    pub(super) fn plan(&mut self) -> Plan {
        let target = (self.allowed - self.debt / PAY_BACK).clamp(self.allowed * 0.1, self.allowed);
        let skip = skip(self.calls / self.cpus);
        let cost = self.calls * (self.costs.call + self.costs.sample / f64::from(skip));
        if cost <= target {
            let per_call = self.costs.call + self.costs.sample / f64::from(skip);
            let alarm = self.allowed * CYCLE * ALARM / per_call.max(1e-9);
            return Plan {
                cycle: CYCLE,
                first: (0.0, CYCLE),
                second: None,
                skip,
                alarm: alarm as u64,
            };
        }
        let cycle = CYCLE.max(self.attachment / (target * ATTACHING_SHARE));
        let duty = ((target - self.attachment / cycle) / cost).min(LARGEST_DUTY);
        let burst = (duty * cycle).max(SHORTEST_BURST);
        let cycle = ((burst * cost + self.attachment) / target).min(LONGEST_CYCLE);
        self.draw(burst, cycle.max(burst / LARGEST_DUTY), skip)
    }

    /// Draws when the burst begins.
    fn draw(&mut self, burst: f64, cycle: f64, skip: u16) -> Plan {
        let begin = self.random() * cycle;
        let (before, behind) = (begin + burst - cycle, cycle - begin);
        let (first, second) = if before <= 0.0 {
            ((begin, begin + burst), None)
        } else if before < SHORTEST_PART {
            ((cycle - burst, cycle), None)
        } else if behind < SHORTEST_PART {
            ((0.0, burst), None)
        } else {
            ((0.0, before), Some((begin, cycle)))
        };
        Plan {
            cycle,
            first,
            second,
            skip,
            alarm: u64::MAX,
        }
    }

    /// Learns from a burst.
    pub(super) fn account(&mut self, spent: Spent) {
        let looks = self.costs.of(spent.looks) * ratio(spent.attached, spent.watched).max(1.0);
        let others = f64::from(spent.attachments) * (self.cpus - 1.0) * OTHER_CPU;
        let cost = looks + spent.own + others;
        self.spent += cost;
        // What was not spent long ago may not be spent at once now.
        self.debt = (self.debt + cost - self.allowed * spent.elapsed).max(-self.allowed);
        if spent.attachments > 0 {
            let attachment = (spent.own + others) / f64::from(spent.attachments);
            self.attachment += (attachment - self.attachment) * NEWEST;
        }
        if spent.watched > 0.0 {
            let calls = spent.looks.watched as f64 / spent.watched;
            // Up at once, down by and by: a load that begins must not run up a debt first.
            self.calls = calls.max(self.calls + (calls - self.calls) * NEWEST);
        }
    }

    /// What a call costs was measured again: it depends on what the branch predictors of a CPU have
    /// just learnt (150 to 290 ns here), so that only its mean says what all of them cost.
    pub(super) fn learn(&mut self, call: f64) -> Costs {
        let usual = call.clamp(self.costs.call / 4.0, self.costs.call * 4.0);
        self.costs.call += (usual - self.costs.call) * MEAN_COST;
        self.costs
    }

    /// CPU seconds spent since the start.
    pub(super) fn spent(&self) -> f64 {
        self.spent
    }

    /// A number in `[0, 1)`, from xorshift64 (Marsaglia 2003): no better one is needed here.
    fn random(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Calls that one sample has to stand for, so that there are enough and not more.
fn skip(calls_per_cpu: f64) -> u16 {
    let mut skip = 1;
    while skip < LARGEST_SKIP && calls_per_cpu / f64::from(skip) > ENOUGH_SAMPLES {
        skip *= 2;
    }
    skip
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs {
        call: 150e-9,
        sample: 105e-9,
    };

    /// Follows the plans for so many seconds of a host with two CPUs, where so many calls a second
    /// are made while they are watched. Gives the share of the host's CPU time spent, the share of
    /// the time watched and the last plan.
    fn follow(budget: &mut Budget, seconds: f64, calls: impl Fn(f64) -> f64) -> (f64, f64, Plan) {
        let (mut now, mut watched, before) = (0.0, 0.0, budget.spent());
        let mut is_attached = false;
        loop {
            let plan = budget.plan();
            let rate = calls(now);
            let is_whole = plan.duty() > 0.999;
            let elapsed = if is_whole {
                let alarm = plan.alarm as f64 / rate.max(1e-9);
                plan.cycle.min(alarm.max(0.05))
            } else {
                plan.cycle
            };
            let burst = elapsed * plan.duty();
            let made = (rate * burst) as u64;
            let attachments = u32::from(!(is_attached && is_whole));
            is_attached = is_whole;
            budget.account(Spent {
                elapsed,
                watched: burst,
                attached: burst + 0.0006,
                looks: Looks {
                    watched: made,
                    sampled: made / u64::from(plan.skip),
                },
                own: 0.0001 + f64::from(attachments) * 0.0006,
                attachments,
            });
            now += elapsed;
            watched += burst;
            if now >= seconds {
                return ((budget.spent() - before) / now / 2.0, watched / now, plan);
            }
        }
    }

    fn budget(share: f64) -> Budget {
        let calibration = Calibration {
            costs: COSTS,
            attachment: 0.0006,
            calls: 0.0,
            families_are_right: true,
            errors_are_right: true,
        };
        Budget::with_seed(share, 2, calibration, 7)
    }

    /// Few calls are all watched and measured; more of them are thinned before there are gaps.
    #[test]
    fn what_is_cheap_is_watched_all_the_time() {
        let (cost, duty, plan) = follow(&mut budget(0.01), 60.0, |_| 5_000.0);
        assert!(cost < 0.002 && duty > 0.99, "{cost} {duty}");
        assert_eq!((plan.duty(), plan.skip), (1.0, 1));
        let (cost, duty, plan) = follow(&mut budget(0.01), 60.0, |_| 100_000.0);
        assert!(cost < 0.01 && duty > 0.99, "{cost} {duty}");
        assert_eq!((plan.duty(), plan.skip), (1.0, 4));
    }

    /// Whatever the rate and the budget, the cost is within the budget and makes use of it.
    #[test]
    fn budgets_are_held() {
        for share in [0.001, 0.01, 0.05] {
            for calls in [2e5, 1e6, 4e6] {
                let (cost, duty, _) = follow(&mut budget(share), 600.0, |_| calls);
                let needed = calls * (COSTS.call + COSTS.sample / 16.0) / 2.0;
                assert!(cost < share * 1.05, "{share} {calls}: {cost}");
                if needed > share {
                    assert!(cost > share * 0.8, "{share} {calls}: {cost}, {duty}");
                }
            }
        }
    }

    /// A host that was quiet and then makes calls without pause pays the debt back: over two
    /// minutes the budget holds. The watch that meets it ends before its time.
    #[test]
    fn a_sudden_load_is_paid_back() {
        let load = |now| if now < 30.0 { 1_000.0 } else { 4e6 };
        let (cost, ..) = follow(&mut budget(0.01), 150.0, load);
        assert!(cost < 0.0105, "{cost}");
    }

    /// All of the CPUs' time as a budget means no gaps.
    #[test]
    fn a_whole_budget_has_no_gaps() {
        let (_, duty, plan) = follow(&mut budget(1.0), 20.0, |_| 5e6);
        assert!(duty > 0.98, "{duty}");
        assert_eq!(plan.skip, LARGEST_SKIP);
    }

    /// Every moment of a cycle is watched in the same share of the plans, be the bursts short or long,
    /// and each plan watches for as long as it was asked to.
    #[test]
    fn moments_are_watched_alike() {
        for duty in [0.05, 0.5, 0.8] {
            let mut budget = budget(0.01);
            let mut watched = [0_u32; 20];
            const PLANS: u32 = 20_000;
            for _ in 0..PLANS {
                let plan = budget.draw(duty, 1.0, 16);
                assert!((plan.duty() - duty).abs() < 1e-9, "{plan:?}");
                for (moment, watched) in watched.iter_mut().enumerate() {
                    let at = (moment as f64 + 0.5) / 20.0;
                    let is_in = |(from, to): (f64, f64)| (from..to).contains(&at);
                    *watched += u32::from(is_in(plan.first) || plan.second.is_some_and(is_in));
                }
            }
            for watched in watched {
                let share = f64::from(watched) / f64::from(PLANS);
                // Four standard errors.
                let error = (duty * (1.0 - duty) / f64::from(PLANS)).sqrt();
                assert!((share - duty).abs() < 4.0 * error, "{share} of {duty}");
            }
        }
    }
}
