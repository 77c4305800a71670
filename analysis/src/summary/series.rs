//! Series of metric points, and what each says about the whole recording.

use super::Distribution;

/// A number as OTLP carries it: integers stay exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer.
    Int(i64),
    /// A double.
    Double(f64),
}

impl Number {
    /// The number as a double.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(number) => number as f64,
            Self::Double(number) => number,
        }
    }
}

/// The value of one point.
#[derive(Clone, Debug, PartialEq)]
pub enum Amount {
    /// A sum or a gauge.
    Number(Number),
    /// A histogram.
    Distribution(Distribution),
}

impl Amount {
    /// Adds; false where the two are of different kinds.
    pub(super) fn add(&mut self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => {
                *a = match (*a, *b) {
                    (Number::Int(a), Number::Int(b)) => Number::Int(a.saturating_add(b)),
                    (a, b) => Number::Double(a.as_f64() + b.as_f64()),
                };
                true
            }
            (Self::Distribution(a), Self::Distribution(b)) => a.add(b),
            _ => false,
        }
    }

    /// Takes an earlier value of the stream away, never below zero; false where kinds differ.
    fn subtract(&mut self, earlier: &Self) -> bool {
        match (self, earlier) {
            (Self::Number(a), Self::Number(b)) => {
                *a = match (*a, *b) {
                    (Number::Int(a), Number::Int(b)) => Number::Int(a.saturating_sub(b).max(0)),
                    (a, b) => Number::Double((a.as_f64() - b.as_f64()).max(0.0)),
                };
                true
            }
            (Self::Distribution(a), Self::Distribution(b)) => match a.since(b) {
                Some(grown) => {
                    *a = grown;
                    true
                }
                None => false,
            },
            _ => false,
        }
    }
}

/// How the points of a series are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// Each point says how much since the stream began: the growth counts.
    Cumulative,
    /// Each point says how much since the point before: all of them count.
    Delta,
    /// Each point says what is: the last one counts.
    Last,
}

/// One point.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    /// When the stream began (Unix nanoseconds); 0 when unknown.
    pub start: u64,
    /// When the value was true (Unix nanoseconds).
    pub time: u64,
    /// The value.
    pub amount: Amount,
}

/// The points of one series, reduced to what the whole recording needs.
#[derive(Debug)]
pub(super) struct Series {
    reading: Reading,
    /// Growth of streams that ended in a reset.
    finished: Option<Amount>,
    /// First point of the current stream.
    first: Point,
    /// Last point of the current stream.
    last: Point,
    /// Time of the first point of all streams.
    first_time: u64,
    /// Whether the current stream began after another one.
    after_reset: bool,
}

/// What a series says about the whole recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduced {
    /// The growth of a counter or distribution; the last value of a gauge.
    pub amount: Amount,
    /// The time in nanoseconds over which it grew; 0 for gauges.
    pub covered: u64,
    /// Time of the last point (Unix nanoseconds).
    pub last_time: u64,
}

impl Series {
    pub(super) fn new(reading: Reading, point: Point) -> Self {
        Self {
            reading,
            finished: None,
            first: point.clone(),
            first_time: point.time,
            last: point,
            after_reset: false,
        }
    }

    pub(super) fn reading(&self) -> Reading {
        self.reading
    }

    /// Takes the next point. Returns false when the point is ignored: not later than the last
    /// one (a repeated delivery), or of another kind.
    pub(super) fn push(&mut self, point: Point) -> bool {
        if point.time <= self.last.time {
            return false;
        }
        match self.reading {
            Reading::Last => self.last = point,
            Reading::Delta => {
                let mut amount = point.amount.clone();
                if !amount.add(&self.last.amount) {
                    return false;
                }
                self.last = Point { amount, ..point };
            }
            Reading::Cumulative => {
                if self.is_reset(&point) {
                    let after_reset = self.after_reset;
                    if let Some(grown) = self.growth(after_reset) {
                        match &mut self.finished {
                            Some(finished) => {
                                if !finished.add(&grown) {
                                    return false;
                                }
                            }
                            finished => *finished = Some(grown),
                        }
                    }
                    self.first = point.clone();
                    self.after_reset = true;
                }
                self.last = point;
            }
        }
        true
    }

    /// A stream that began after the last point is a new one (OpenTelemetry metrics data model,
    /// "Resets and gaps"). A start that moved less is jitter of a boot time computed anew, and a
    /// value that fell with it is the kernel going back (`iowait` does): no reset, or the whole
    /// value since boot would count as growth.
    fn is_reset(&self, point: &Point) -> bool {
        if point.start == 0 && self.last.start == 0 {
            return match (&point.amount, &self.last.amount) {
                (Amount::Number(now), Amount::Number(before)) => now.as_f64() < before.as_f64(),
                (Amount::Distribution(now), Amount::Distribution(before)) => {
                    now.count() < before.count()
                }
                _ => true,
            };
        }
        point.start > self.last.start && point.start >= self.last.time
    }

    /// Growth of the current stream; `None` when only its first point is known and it began
    /// before the recording.
    fn growth(&self, began_within: bool) -> Option<Amount> {
        if began_within {
            return Some(self.last.amount.clone());
        }
        if self.last.time == self.first.time {
            return None;
        }
        let mut grown = self.last.amount.clone();
        grown.subtract(&self.first.amount).then_some(grown)
    }

    /// What the series says about a recording that began at `begin` (Unix nanoseconds).
    ///
    /// A stream that began no earlier counts from its start; an older one (`system.cpu.time`
    /// since boot) from its first point. `None` when nothing can be said: one point of an older
    /// stream is not a measurement of the recording.
    pub(super) fn reduce(&self, begin: u64) -> Option<Reduced> {
        let last_time = self.last.time;
        if self.reading == Reading::Last {
            return Some(Reduced {
                amount: self.last.amount.clone(),
                covered: 0,
                last_time,
            });
        }
        let began_within = self.after_reset || (self.first.start != 0 && self.first.start >= begin);
        let current = match self.reading {
            Reading::Delta => Some(self.last.amount.clone()),
            _ => self.growth(began_within),
        };
        let from = if began_within || self.reading == Reading::Delta {
            match self.first.start {
                0 => self.first_time,
                start => start.min(self.first_time),
            }
        } else {
            self.first_time
        };
        let amount = match (self.finished.clone(), current) {
            (Some(mut finished), Some(current)) => {
                if finished.add(&current) {
                    finished
                } else {
                    current
                }
            }
            (finished, current) => finished.or(current)?,
        };
        Some(Reduced {
            amount,
            covered: last_time.saturating_sub(from),
            last_time,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(start: u64, time: u64, value: i64) -> Point {
        Point {
            start,
            time,
            amount: Amount::Number(Number::Int(value)),
        }
    }

    fn reduced(reading: Reading, begin: u64, points: &[(u64, u64, i64)]) -> Option<f64> {
        let mut points = points.iter().map(|&(s, t, v)| point(s, t, v));
        let mut series = Series::new(reading, points.next().unwrap());
        for point in points {
            assert!(series.push(point));
        }
        series.reduce(begin).map(|reduced| match reduced.amount {
            Amount::Number(number) => number.as_f64(),
            Amount::Distribution(_) => f64::NAN,
        })
    }

    /// A stream that began with the recording counts whole, even from one point.
    #[test]
    fn stream_within_the_recording() {
        let value = reduced(Reading::Cumulative, 100, &[(100, 110, 7), (100, 120, 9)]);
        assert_eq!(value, Some(9.0));
        assert_eq!(
            reduced(Reading::Cumulative, 100, &[(100, 110, 7)]),
            Some(7.0)
        );
    }

    /// A stream since boot counts from its first point; from one point nothing is known.
    #[test]
    fn stream_since_boot() {
        let points = [(1, 110, 1000), (1, 120, 1030), (1, 130, 1050)];
        assert_eq!(reduced(Reading::Cumulative, 100, &points), Some(50.0));
        assert_eq!(reduced(Reading::Cumulative, 100, &points[..1]), None);
    }

    /// A restart of the stream adds what it counted until then and after.
    #[test]
    fn reset_adds_both_streams() {
        let points = [(1, 110, 1000), (1, 120, 1030), (125, 130, 4), (125, 140, 6)];
        assert_eq!(reduced(Reading::Cumulative, 100, &points), Some(36.0));
        // The same without start times, seen by the value alone.
        let points = [(0, 110, 1000), (0, 120, 1030), (0, 130, 4)];
        assert_eq!(reduced(Reading::Cumulative, 100, &points), Some(34.0));
    }

    /// Jitter of the start time and a value that falls back are no resets.
    #[test]
    fn jitter_is_no_reset() {
        let points = [(5, 110, 1000), (6, 120, 990), (4, 130, 1010)];
        assert_eq!(reduced(Reading::Cumulative, 100, &points), Some(10.0));
        let points = [(5, 110, 1000), (6, 120, 990)];
        assert_eq!(reduced(Reading::Cumulative, 100, &points), Some(0.0));
    }

    /// Deltas add up, gauges keep the last value, a repeated point is ignored.
    #[test]
    fn other_readings() {
        let points = [(100, 110, 7), (110, 120, 9)];
        assert_eq!(reduced(Reading::Delta, 100, &points), Some(16.0));
        assert_eq!(reduced(Reading::Last, 100, &points), Some(9.0));
        let mut series = Series::new(Reading::Delta, point(100, 110, 7));
        assert!(!series.push(point(100, 110, 7)));
    }
}
