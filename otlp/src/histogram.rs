//! Base-2 exponential histograms (OpenTelemetry metrics data model, "ExponentialHistogram").

/// Most buckets that a merged or recorded histogram keeps; it halves its resolution rather than
/// exceed this. All of the kernel's 2,049 slots fit.
pub const MAX_BUCKETS: usize = 4096;

/// Scales that some `f64` needs: at -11 all positive ones share two buckets, and no finer scale
/// than 20 is in use (SDK specification, "Base2 Exponential Bucket Histogram Aggregation").
pub const SCALES: std::ops::RangeInclusive<i32> = -11..=20;

/// A distribution of non-negative values on the base-2 exponential scale.
///
/// Bucket `i` holds values in `(base^i, base^(i+1)]` with `base = 2^(2^-scale)`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExponentialHistogram {
    /// Resolution: at scale 5 a bucket is 2.2 % wide.
    pub scale: i32,
    /// Values equal to zero.
    pub zero_count: u64,
    /// Sum of all values, in the metric's unit.
    pub sum: f64,
    /// Index of the first entry of `counts`.
    pub offset: i32,
    /// Counts of consecutive buckets, without leading or trailing zeros.
    pub counts: Vec<u64>,
}

impl ExponentialHistogram {
    /// An empty histogram of that resolution.
    pub fn new(scale: i32) -> Self {
        Self {
            scale,
            ..Self::default()
        }
    }

    /// A histogram from consecutive counters, such as the kernel's slots: `slots[i]` counts bucket
    /// `first_index + i`. `sum` is in the metric's unit.
    pub fn from_slots(scale: i32, first_index: i32, slots: &[u64], sum: f64) -> Self {
        let leading = slots.iter().take_while(|&&count| count == 0).count();
        let mut histogram = Self {
            scale,
            zero_count: 0,
            sum,
            offset: first_index.saturating_add(i32::try_from(leading).unwrap_or(i32::MAX)),
            counts: slots[leading..].to_vec(),
        };
        histogram.trim();
        histogram
    }

    /// Drops empty buckets at both ends.
    pub fn trim(&mut self) {
        let used = self.counts.iter().rposition(|&count| count > 0);
        self.counts.truncate(used.map_or(0, |last| last + 1));
        let leading = self.counts.iter().take_while(|&&count| count == 0).count();
        if leading > 0 {
            self.counts.drain(..leading);
            let leading = i32::try_from(leading).unwrap_or(i32::MAX);
            self.offset = self.offset.saturating_add(leading);
        }
        if self.counts.is_empty() {
            self.offset = 0;
        }
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(self.zero_count, |sum, &count| {
            u64::saturating_add(sum, count)
        })
    }

    /// Arithmetic mean; `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum / count as f64)
    }

    /// Lower bound of bucket `index` at `scale` (the values above it belong to the bucket), which
    /// is the upper bound of the bucket before.
    pub fn bound(scale: i32, index: i64) -> f64 {
        (index as f64 * f64::from(scale.saturating_neg()).exp2()).exp2()
    }

    /// Bucket of a value above zero at `scale`. Exact but for values within a rounding error of
    /// `f64` of a bound.
    pub fn index(scale: i32, value: f64) -> i32 {
        let mut index = (value.log2() * f64::from(scale).exp2()).ceil() as i64 - 1;
        if value <= Self::bound(scale, index) {
            index -= 1;
        } else if value > Self::bound(scale, index + 1) {
            index += 1;
        }
        i32::try_from(index).unwrap_or(if index < 0 { i32::MIN } else { i32::MAX })
    }

    /// Adds a value. Negative values and those that are no number are ignored: durations and
    /// lengths have none.
    pub fn record(&mut self, value: f64) {
        self.record_many(value, 1);
    }

    /// Adds a value `count` times.
    pub fn record_many(&mut self, value: f64, count: u64) {
        if count == 0 {
            return;
        }
        if value > 0.0 && value.is_finite() {
            self.merge(&Self {
                scale: self.scale,
                zero_count: 0,
                sum: value * count as f64,
                offset: Self::index(self.scale, value),
                counts: vec![count],
            });
        } else if value == 0.0 {
            self.zero_count = self.zero_count.saturating_add(count);
        }
    }

    /// The buckets that hold values: index and count, in ascending order.
    pub fn buckets(&self) -> impl Iterator<Item = (i64, u64)> {
        let offset = i64::from(self.offset);
        self.counts
            .iter()
            .zip(0_i64..)
            .filter(|&(&count, _)| count > 0)
            .map(move |(&count, i)| (offset + i, count))
    }

    /// Halves the resolution until it is `to`; nothing happens when it is not above that. No count
    /// is lost: bucket `i` becomes bucket `floor(i / 2)`.
    pub fn downscale(&mut self, to: i32) {
        let Some(shift) = self.scale.checked_sub(to).filter(|&by| by > 0) else {
            return;
        };
        // Indexes have 32 bits: beyond that only the sign is left.
        let shift = shift.min(31);
        let offset = i64::from(self.offset);
        let first = offset >> shift;
        let mut counts = Vec::new();
        for (&count, i) in self.counts.iter().zip(offset..) {
            let slot = usize::try_from((i >> shift) - first).unwrap_or(0);
            if slot >= counts.len() {
                counts.resize(slot + 1, 0_u64);
            }
            counts[slot] = counts[slot].saturating_add(count);
        }
        self.scale = to;
        self.offset = i32::try_from(first).unwrap_or(self.offset);
        self.counts = counts;
        self.trim();
    }

    /// Adds the values of another histogram, at the coarser of the two resolutions, or coarser
    /// still where the buckets together would exceed [`MAX_BUCKETS`].
    pub fn merge(&mut self, other: &Self) {
        self.zero_count = self.zero_count.saturating_add(other.zero_count);
        self.sum += other.sum;
        if other.counts.is_empty() {
            // An empty histogram has no resolution to impose.
            return;
        }
        if self.counts.is_empty() {
            self.scale = self.scale.min(other.scale);
            self.offset = other.offset;
        }
        let mut other = other.clone();
        // Below the lowest scale indexes carry no meaning, but the loop needs room to go down.
        self.scale = self.scale.max(SCALES.start() - 64);
        other.scale = other.scale.max(SCALES.start() - 64);
        let mut scale = self.scale.min(other.scale);
        loop {
            let span = match (self.extent(scale), other.extent(scale)) {
                (Some((a, b)), Some((c, d))) => b.max(d) - a.min(c),
                (Some((a, b)), None) | (None, Some((a, b))) => b - a,
                (None, None) => 0,
            };
            if span < MAX_BUCKETS as i64 {
                break;
            }
            scale = scale.saturating_sub(1);
        }
        self.downscale(scale);
        other.downscale(scale);
        if self.counts.is_empty() {
            self.scale = scale;
            self.offset = other.offset;
            self.counts = other.counts;
            return;
        }
        let first = self.offset.min(other.offset);
        let lead = usize::try_from(i64::from(self.offset) - i64::from(first)).unwrap_or(0);
        self.counts.splice(..0, std::iter::repeat_n(0, lead));
        self.offset = first;
        let start = usize::try_from(i64::from(other.offset) - i64::from(first)).unwrap_or(0);
        if self.counts.len() < start + other.counts.len() {
            self.counts.resize(start + other.counts.len(), 0);
        }
        for (count, more) in self.counts[start..].iter_mut().zip(other.counts) {
            *count = count.saturating_add(more);
        }
    }

    /// The values that came after `earlier` of the same series; `None` when any count fell, which
    /// means that the series began anew.
    pub fn subtract(&self, earlier: &Self) -> Option<Self> {
        let scale = match (self.counts.is_empty(), earlier.counts.is_empty()) {
            (_, true) => self.scale,
            (true, false) => return None,
            (false, false) => self.scale.min(earlier.scale),
        };
        let (mut difference, mut earlier) = (self.clone(), earlier.clone());
        difference.downscale(scale);
        earlier.downscale(scale);
        difference.zero_count = difference.zero_count.checked_sub(earlier.zero_count)?;
        // Rounding may leave a little below zero when nothing was added.
        difference.sum = (difference.sum - earlier.sum).max(0.0);
        for (index, count) in earlier.buckets() {
            let slot = usize::try_from(index - i64::from(difference.offset)).ok()?;
            let current = difference.counts.get_mut(slot)?;
            *current = current.checked_sub(count)?;
        }
        difference.trim();
        Some(difference)
    }

    /// Counts per bucket of given ascending bounds, `bounds.len() + 1` of them: entry `i` counts
    /// values in `(bounds[i - 1], bounds[i]]`.
    ///
    /// An exponential bucket goes as a whole to where its geometric middle lies, so that the counts
    /// always add up and never fall from one cumulative point to the next. A value may so appear
    /// on the wrong side of a bound that is no farther than half a bucket from it (1.1 % at
    /// scale 5).
    pub fn to_explicit(&self, bounds: &[f64]) -> Vec<u64> {
        let mut counts = vec![0_u64; bounds.len() + 1];
        let zero = bounds.partition_point(|&bound| bound < 0.0);
        counts[zero] = self.zero_count;
        // Half a bucket is a whole one at the next finer scale.
        let finer = self.scale.saturating_add(1);
        for (index, count) in self.buckets() {
            let middle = Self::bound(finer, index * 2 + 1);
            let slot = bounds.partition_point(|&bound| bound < middle);
            counts[slot] = counts[slot].saturating_add(count);
        }
        counts
    }

    /// The `q`-quantile (`0.99` for the 99th percentile); `None` when empty or `q` is not within
    /// `0..=1`.
    ///
    /// It lies in the same bucket as the value of rank `ceil(q * count)`, interpolated on the
    /// logarithmic scale, so it is off by less than one bucket width: 2.2 % of the value at scale
    /// 5, `2^(2^-scale) - 1` in general.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let count = self.count();
        if count == 0 || !(0.0..=1.0).contains(&q) {
            return None;
        }
        let rank = q * count as f64;
        let mut below = self.zero_count as f64;
        if self.zero_count > 0 && rank <= below {
            return Some(0.0);
        }
        let mut value = 0.0;
        for (index, count) in self.buckets() {
            let count = count as f64;
            let share = ((rank - below) / count).clamp(0.0, 1.0);
            let exponent = (index as f64 + share) * f64::from(self.scale.saturating_neg()).exp2();
            value = exponent.exp2();
            below += count;
            if rank <= below {
                break;
            }
        }
        Some(value)
    }

    /// First and last bucket that it would have at `scale`; `None` without buckets.
    fn extent(&self, scale: i32) -> Option<(i64, i64)> {
        let last = i64::try_from(self.counts.len()).unwrap_or(i64::MAX) - 1;
        let shift = self.scale.saturating_sub(scale).clamp(0, 31);
        let offset = i64::from(self.offset);
        (last >= 0).then(|| (offset >> shift, offset.saturating_add(last) >> shift))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values over twelve orders of magnitude, a tenth of them zero.
    fn values(seed: u64, n: usize) -> Vec<f64> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as f64 / u64::MAX as f64
        };
        (0..n)
            .map(|i| match i % 10 {
                0 => 0.0,
                _ => 10_f64.powf(next() * 12.0 - 9.0),
            })
            .collect()
    }

    fn recorded(scale: i32, values: &[f64]) -> ExponentialHistogram {
        let mut histogram = ExponentialHistogram::new(scale);
        values.iter().for_each(|&value| histogram.record(value));
        histogram
    }

    /// Equal but for the rounding of sums.
    fn assert_same(a: &ExponentialHistogram, b: &ExponentialHistogram) {
        assert!(
            (a.sum - b.sum).abs() <= 1e-9 * a.sum.abs(),
            "{} {}",
            a.sum,
            b.sum
        );
        let sum = a.sum;
        assert_eq!(*a, ExponentialHistogram { sum, ..b.clone() });
    }

    /// Buckets include their upper bound and exclude the lower one, at scales of both signs.
    #[test]
    fn upper_bounds_are_inclusive() {
        for scale in [-2, 0, 3, 5] {
            for index in -40..40 {
                let upper = ExponentialHistogram::bound(scale, index + 1);
                assert_eq!(i64::from(ExponentialHistogram::index(scale, upper)), index);
                let above = upper * (1.0 + 1e-12);
                assert_eq!(
                    i64::from(ExponentialHistogram::index(scale, above)),
                    index + 1
                );
            }
        }
    }

    /// Every quantile is within one bucket width of the same rank of the sorted values.
    #[test]
    fn quantiles_are_within_a_bucket_of_the_sorted_list() {
        for (seed, scale) in [(1, 5), (2, 5), (3, 2), (4, 0)] {
            let mut list = values(seed, 1_000);
            let histogram = recorded(scale, &list);
            list.sort_by(f64::total_cmp);
            let width = ExponentialHistogram::bound(scale, 1);
            for permille in 1..=1_000_usize {
                let exact = list[(permille * list.len()).div_ceil(1_000) - 1];
                let got = histogram.quantile(permille as f64 / 1_000.0).unwrap();
                let margin = 1.0 + 1e-9;
                assert!(
                    got <= exact * width * margin && got * width * margin >= exact,
                    "scale {scale} q {permille}: {got} for {exact}"
                );
            }
        }
    }

    /// Without values there is no quantile and no mean; beyond 0..=1 there is none either.
    #[test]
    fn nothing_has_no_quantile() {
        let empty = ExponentialHistogram::new(5);
        assert_eq!(
            (empty.quantile(0.5), empty.mean(), empty.count()),
            (None, None, 0)
        );
        let one = recorded(5, &[2.0]);
        assert_eq!((one.quantile(1.5), one.quantile(f64::NAN)), (None, None));
        assert_eq!((one.quantile(1.0), one.mean()), (Some(2.0), Some(2.0)));
    }

    /// Merging is associative and the same as recording everything into one.
    #[test]
    fn merge_is_associative() {
        for seed in 0..20 {
            let parts: Vec<_> = (0..3).map(|i| values(seed * 3 + i, 200)).collect();
            let scales = [5, 5 - (seed % 3) as i32, 4];
            let [a, b, c] = [0, 1, 2].map(|i| recorded(scales[i], &parts[i]));
            let mut left = a.clone();
            left.merge(&b);
            left.merge(&c);
            let mut tail = b.clone();
            tail.merge(&c);
            let mut right = a.clone();
            right.merge(&tail);
            assert_same(&left, &right);
            let scale = *scales.iter().min().unwrap();
            assert_same(&left, &recorded(scale, &parts.concat()));
        }
    }

    /// What was merged can be subtracted again, and a fall in any count is a reset.
    #[test]
    fn subtract_undoes_merge() {
        let earlier = recorded(5, &values(7, 300));
        let added = recorded(5, &values(8, 300));
        let mut later = earlier.clone();
        later.merge(&added);
        assert_same(&later.subtract(&earlier).unwrap(), &added);
        assert_eq!(earlier.subtract(&later), None);
        assert_eq!(later.subtract(&later).unwrap().count(), 0);
        assert_eq!(ExponentialHistogram::new(5).subtract(&added), None);
    }

    /// Downscaling loses no count and equals recording at the coarser scale.
    #[test]
    fn downscale_keeps_counts() {
        for seed in 0..20 {
            let list = values(seed, 300);
            let fine = recorded(5, &list);
            for scale in (-11..5).rev() {
                let mut coarse = fine.clone();
                coarse.downscale(scale);
                assert_eq!(coarse.count(), fine.count());
                assert_same(&coarse, &recorded(scale, &list));
            }
        }
    }

    /// Kernel slots become buckets, trimmed at both ends; no slots make an empty histogram.
    #[test]
    fn slots_are_trimmed() {
        let histogram = ExponentialHistogram::from_slots(5, -957, &[0, 0, 3, 0, 1, 0], 0.5);
        assert_eq!((histogram.offset, histogram.count()), (-955, 4));
        assert_eq!(histogram.counts, [3, 0, 1]);
        let empty = ExponentialHistogram::from_slots(5, -957, &[0; 4], 0.0);
        assert_eq!(empty, ExponentialHistogram::new(5));
    }

    /// Explicit counts add up, and agree with counting the values themselves but for those within
    /// half a bucket of a bound.
    #[test]
    fn explicit_counts_add_up() {
        let list = values(11, 2_000);
        let bounds = [1e-6, 1e-3, 0.5, 1.0, 10.0];
        let counts = recorded(5, &list).to_explicit(&bounds);
        assert_eq!(counts.iter().sum::<u64>(), 2_000);
        for (i, &bound) in bounds.iter().enumerate() {
            let near = |v: f64| (v / bound).log2().abs() <= 1.0 / 64.0;
            let exact = list.iter().filter(|&&v| v <= bound).count() as u64;
            let slack = list.iter().filter(|&&v| near(v)).count() as u64;
            assert!(counts[..=i].iter().sum::<u64>().abs_diff(exact) <= slack);
        }
        // A bound that is a bucket's bound is exact.
        assert_eq!(recorded(5, &[1.0, 1.0000001]).to_explicit(&[1.0]), [1, 1]);
    }

    /// Buckets as far apart as indexes go are merged in bounded memory without losing a count.
    #[test]
    fn far_apart_buckets_stay_bounded() {
        let at = |offset| ExponentialHistogram {
            scale: 20,
            offset,
            counts: vec![1],
            ..ExponentialHistogram::default()
        };
        let mut histogram = at(i32::MIN);
        histogram.merge(&at(i32::MAX));
        assert_eq!(histogram.count(), 2);
        assert!(histogram.counts.len() <= MAX_BUCKETS);
        // Impossible scales, as a file may hold them, end too.
        let mut odd = at(i32::MAX);
        odd.scale = i32::MIN;
        odd.merge(&at(i32::MIN));
        assert!(odd.counts.len() <= MAX_BUCKETS);
        let mut low = at(i32::MIN);
        low.scale = i32::MIN;
        odd.merge(&low);
        assert!(odd.counts.len() <= MAX_BUCKETS);
    }
}
