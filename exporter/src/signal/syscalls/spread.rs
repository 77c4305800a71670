//! How far off the estimate may be, by how much bursts differ.

/// The error of the estimated number of calls.
///
/// While nobody watches, calls are taken to come as in the burst before. Two neighbouring bursts
/// whose rates differ by D say that this was off by about D / √2 for the length of the gap between
/// them. Skipping adds what drawing lots adds. What is owed to the slowdown is as uncertain as the
/// cost of a call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spread {
    calls: f64,
    variance: f64,
    slowed: f64,
    last: Option<Burst>,
}

/// Error of what is owed to the slowdown.
const SLOWDOWN_ERROR: f64 = 0.3;

/// A burst.
#[derive(Clone, Copy, Debug)]
pub(super) struct Burst {
    /// Calls that it counted, scaled by the skip.
    pub(super) calls: f64,
    /// Calls that each second of the gap is credited with beyond those of a second of the burst.
    pub(super) slowed: f64,
    /// Its length in seconds.
    pub(super) length: f64,
    /// The gap behind it in seconds.
    pub(super) gap: f64,
    /// Calls that one sample stood for.
    pub(super) skip: u16,
}

impl Spread {
    /// Adds a burst and the gap behind it.
    pub(super) fn add(&mut self, burst: Burst) {
        if burst.length <= 0.0 {
            return;
        }
        let rate = burst.calls / burst.length;
        if let Some(last) = self.last {
            let difference = rate - last.calls / last.length;
            self.variance += (last.gap * difference).powi(2) / 2.0;
        }
        let weight = 1.0 + burst.gap / burst.length;
        // A uniform skip around its mean spreads a third as much as a coin for each call.
        let skipped = f64::from(burst.skip - 1) / 3.0;
        self.variance += burst.calls * skipped * weight.powi(2);
        self.slowed += burst.slowed * burst.gap;
        self.calls += burst.calls * weight + burst.slowed * burst.gap;
        self.last = Some(burst);
    }

    /// Standard error over the number of calls; `None` before the first call.
    pub(super) fn relative_error(self) -> Option<f64> {
        let slowed = self.slowed * SLOWDOWN_ERROR;
        (self.calls > 0.0).then(|| (self.variance + slowed.powi(2)).sqrt() / self.calls)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burst(calls: f64, gap: f64, skip: u16) -> Burst {
        Burst {
            calls,
            slowed: 0.0,
            length: 0.1,
            gap,
            skip,
        }
    }

    /// All calls measured all the time: no error. Equal bursts with gaps: none but that of skipping,
    /// which falls with the number of calls. Bursts that differ: an error that falls with the number
    /// of bursts.
    #[test]
    fn error_follows_what_was_not_seen() {
        let of = |bursts: &[Burst]| {
            let mut spread = Spread::default();
            bursts.iter().for_each(|burst| spread.add(*burst));
            spread.relative_error().unwrap_or(f64::NAN)
        };
        assert_eq!(of(&[burst(5.0, 0.0, 1), burst(900.0, 0.0, 1)]), 0.0);
        assert_eq!(of(&[burst(900.0, 0.9, 1); 5]), 0.0);
        let skipped = of(&[burst(9000.0, 0.0, 16); 5]);
        assert!(
            (skipped - (5.0_f64 / 45_000.0).sqrt()).abs() < 1e-9,
            "{skipped}"
        );
        let uneven = |number: usize| {
            let both = [burst(100.0, 0.9, 1), burst(300.0, 0.9, 1)];
            of(&both.repeat(number))
        };
        // The rate is 2,000 ± 1,000 a second, known for a tenth of the time.
        assert!(
            (uneven(50) / (0.45 / 10.0) - 1.0).abs() < 0.5,
            "{}",
            uneven(50)
        );
        assert!(uneven(200) < uneven(50) * 0.6);
        let slowed = Burst {
            slowed: 9000.0,
            ..burst(900.0, 0.9, 1)
        };
        assert!((of(&[slowed; 9]) - 0.3 * 8100.0 / 17_100.0).abs() < 1e-9);
    }
}
