//! Means and their intervals.

/// Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom; beyond, the normal one is near
/// enough.
const T: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// A mean with the interval that holds the true mean in 95 of 100 repetitions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interval {
    /// Arithmetic mean.
    pub(crate) mean: f64,
    /// Lower end.
    pub(crate) low: f64,
    /// Upper end.
    pub(crate) high: f64,
}

impl Interval {
    /// The interval of the mean of `values`; infinitely wide for fewer than two.
    #[expect(clippy::cast_precision_loss, reason = "at most a few hundred values")]
    pub(crate) fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let freedom = values.len().saturating_sub(1);
        let half = if freedom == 0 {
            f64::INFINITY
        } else {
            let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
            let t = T.get(freedom - 1).copied().unwrap_or(1.96);
            t * (squares / freedom as f64 / count).sqrt()
        };
        Self {
            mean,
            low: mean - half,
            high: mean + half,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A textbook case: five values, t = 2.776, standard error 0.7071.
    #[test]
    fn five_values() {
        let interval = Interval::of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!((interval.mean - 3.0).abs() < 1e-12);
        assert!((interval.high - 3.0 - 1.963).abs() < 1e-3, "{interval:?}");
        assert!(
            (interval.mean - interval.low - 1.963).abs() < 1e-3,
            "{interval:?}"
        );
    }

    /// One value says nothing about how far off it may be.
    #[test]
    fn one_value_has_no_interval() {
        assert!(Interval::of(&[1.0]).high.is_infinite());
    }
}
