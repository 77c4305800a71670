//! Distributions: OTLP histograms of both kinds, added, subtracted and read.

use evenkeel_otlp::histogram::ExponentialHistogram;

/// A distribution of non-negative values.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// OTLP ExponentialHistogram.
    Exponential(ExponentialHistogram),
    /// OTLP Histogram.
    Explicit(Explicit),
}

/// A distribution over given bounds: bucket `i` holds `(bounds[i-1], bounds[i]]`, the last one
/// everything above.
#[derive(Clone, Debug, PartialEq)]
pub struct Explicit {
    /// Upper bounds, ascending and finite.
    pub bounds: Vec<f64>,
    /// One more than bounds.
    pub counts: Vec<u64>,
    /// Sum of the values in the metric's unit; `None` where the source gave none.
    pub sum: Option<f64>,
}

/// One bucket that holds values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// Lower bound, exclusive.
    pub lower: f64,
    /// Upper bound, inclusive; equal to `lower` where there is none.
    pub upper: f64,
    /// Values in it.
    pub count: u64,
}

impl Distribution {
    /// Number of values.
    pub fn count(&self) -> u64 {
        match self {
            Self::Exponential(histogram) => histogram.count(),
            Self::Explicit(explicit) => explicit
                .counts
                .iter()
                .fold(0, |sum, count| u64::saturating_add(sum, *count)),
        }
    }

    /// Sum of the values in the metric's unit; `None` where the source gave none.
    pub fn sum(&self) -> Option<f64> {
        match self {
            Self::Exponential(histogram) => Some(histogram.sum),
            Self::Explicit(explicit) => explicit.sum,
        }
    }

    /// Adds another distribution. Returns false, and changes nothing, when kinds or bounds
    /// differ.
    #[must_use]
    pub fn add(&mut self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exponential(a), Self::Exponential(b)) => {
                a.merge(b);
                true
            }
            (Self::Explicit(a), Self::Explicit(b)) if a.bounds == b.bounds => {
                for (count, more) in a.counts.iter_mut().zip(&b.counts) {
                    *count = count.saturating_add(*more);
                }
                a.sum = a.sum.zip(b.sum).map(|(a, b)| a + b);
                true
            }
            _ => false,
        }
    }

    /// What came after an earlier state of the same cumulative stream; `None` when kinds or
    /// bounds differ or a count fell.
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        match (self, earlier) {
            (Self::Exponential(now), Self::Exponential(before)) => {
                now.subtract(before).map(Self::Exponential)
            }
            (Self::Explicit(now), Self::Explicit(before)) if now.bounds == before.bounds => {
                let counts = now
                    .counts
                    .iter()
                    .zip(&before.counts)
                    .map(|(now, before)| now.checked_sub(*before))
                    .collect::<Option<_>>()?;
                Some(Self::Explicit(Explicit {
                    bounds: now.bounds.clone(),
                    counts,
                    sum: now.sum.zip(before.sum).map(|(a, b)| (a - b).max(0.0)),
                }))
            }
            _ => None,
        }
    }

    /// The value below which the share `q` (0 to 1) of the values lies, interpolated within its
    /// bucket. Above the last explicit bound only that bound is known. `None` without values.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let explicit = match self {
            Self::Exponential(histogram) => return histogram.quantile(q),
            Self::Explicit(_) => self.bars(),
        };
        let rank = q.clamp(0.0, 1.0) * self.count() as f64;
        let mut below = 0.0;
        for bar in &explicit {
            let count = bar.count as f64;
            if rank <= below + count {
                let share = ((rank - below) / count).clamp(0.0, 1.0);
                return Some(bar.lower + (bar.upper - bar.lower) * share);
            }
            below += count;
        }
        explicit.last().map(|bar| bar.upper)
    }

    /// The buckets that hold values, in ascending order.
    pub fn bars(&self) -> Vec<Bar> {
        match self {
            Self::Exponential(histogram) => {
                let bound = |index| ExponentialHistogram::bound(histogram.scale, index);
                let zero = (histogram.zero_count > 0).then_some(Bar {
                    lower: 0.0,
                    upper: 0.0,
                    count: histogram.zero_count,
                });
                let bars = histogram.buckets().map(|(index, count)| Bar {
                    lower: bound(index),
                    upper: bound(index.saturating_add(1)),
                    count,
                });
                zero.into_iter().chain(bars).collect()
            }
            Self::Explicit(Explicit { bounds, counts, .. }) => counts
                .iter()
                .enumerate()
                .filter(|(_, count)| **count > 0)
                .map(|(index, &count)| {
                    let before = index.checked_sub(1).and_then(|index| bounds.get(index));
                    let lower = before.copied().unwrap_or(0.0);
                    Bar {
                        lower,
                        upper: bounds.get(index).copied().unwrap_or(lower),
                        count,
                    }
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explicit(counts: [u64; 3]) -> Distribution {
        Distribution::Explicit(Explicit {
            bounds: vec![1.0, 3.0],
            counts: counts.to_vec(),
            sum: Some(10.0),
        })
    }

    /// Explicit bounds: linear within a bucket, the open bucket answers with its lower bound.
    #[test]
    fn explicit_quantiles() {
        let d = explicit([0, 8, 2]);
        assert_eq!(d.quantile(0.4), Some(2.0));
        assert_eq!(d.quantile(0.99), Some(3.0));
        assert_eq!(explicit([0, 0, 0]).quantile(0.5), None);
    }

    /// Adding then taking away gives back what was there; a count that fell gives nothing.
    #[test]
    fn adds_and_subtracts() {
        let mut sum = explicit([1, 2, 3]);
        assert!(sum.add(&explicit([4, 5, 6])));
        assert_eq!(sum.count(), 21);
        let back = sum.since(&explicit([4, 5, 6])).unwrap();
        assert_eq!(back, explicit([1, 2, 3]));
        assert_eq!(explicit([0, 9, 9]).since(&explicit([1, 2, 3])), None);
    }

    /// The two kinds do not mix.
    #[test]
    fn kinds_do_not_mix() {
        let exponential = Distribution::Exponential(ExponentialHistogram::new(5));
        assert!(!explicit([1, 1, 1]).add(&exponential));
        assert_eq!(explicit([1, 1, 1]).since(&exponential), None);
    }

    /// Bars of an exponential histogram at scale 0 are (2^i, 2^(i+1)], zeros first.
    #[test]
    fn exponential_bars() {
        let d = Distribution::Exponential(ExponentialHistogram {
            scale: 0,
            zero_count: 3,
            sum: 4.0,
            offset: 1,
            counts: vec![5, 0, 7],
        });
        let bars = d
            .bars()
            .iter()
            .map(|b| (b.lower, b.upper, b.count))
            .collect::<Vec<_>>();
        assert_eq!(bars, [(0.0, 0.0, 3), (2.0, 4.0, 5), (8.0, 16.0, 7)]);
    }
}
