//! The tables by which a kernel program finds the exact exponential bucket of a duration.
//!
//! Kernel programs measure integer nanoseconds; the metric is in seconds. At scale 5 the bucket
//! bounds in nanoseconds are `1e9 * 2^(i/32)`, 32 in every octave `[2^k, 2^(k+1))`. They fall at
//! the same 32 places of each octave, so one table of normalised bounds serves all of them, and no
//! floating point is needed in the kernel.

/// Scale of the histograms that kernel programs record: 32 buckets per doubling, each 2.2 % wide.
pub const KERNEL_SCALE: i32 = 5;

/// Slots per octave at [`KERNEL_SCALE`].
const SLOTS_PER_OCTAVE: u32 = 32;

/// What a kernel program needs to map a value `v > 0` of nanoseconds to a slot:
///
/// ```text
/// shift  = clz(v)                      // leading zero bits, 0..=63
/// octave = 63 - shift
/// norm   = v << shift                  // bit 63 is set
/// cell   = (norm >> 55) & 0xff         // the 8 bits after the leading one
/// below  = first[cell]                 // 0..=32
/// slot   = octave * 32 + below + (norm > bounds[below] ? 1 : 0)
/// ```
///
/// The bucket of the OTLP ExponentialHistogram in seconds at scale 5 is `slot + slot_zero_index`;
/// `slot` of one octave's end and of the next one's begin are the same number, so indexes add up.
/// `v = 0` has no slot: it belongs to `zero_count`. Values below `2^k` use the slots `0..=32 * k`:
/// `2^41` ns (36 minutes) needs 1,313 of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScaleTables {
    /// How many bounds of an octave lie below each of its 256 equal cells. A cell holds at most
    /// one bound: the closest ones are 2.19 % of the octave's start apart, a cell is 0.39 % wide.
    pub first: [u8; 256],
    /// The bounds of an octave scaled to `[2^63, 2^64)`, ascending and rounded down: buckets
    /// include their upper bound, and an integer is above a bound exactly when it is above the
    /// integer part of it. The last entry is `u64::MAX`, which nothing exceeds.
    pub bounds: [u64; 33],
    /// OTLP bucket index of slot 0.
    pub slot_zero_index: i32,
}

impl ScaleTables {
    /// The tables for nanoseconds recorded, seconds reported, at [`KERNEL_SCALE`].
    pub const NANOSECONDS_IN_SECONDS: Self = Self {
        first: bounds_below_cells(&BOUNDS),
        bounds: BOUNDS,
        // One second is bound 28 of octave 29 and the upper bound of bucket -1.
        slot_zero_index: -1 - (29 * 32 + 28),
    };

    /// The slot of `value` nanoseconds, by the arithmetic of the kernel programs. `None` for zero.
    pub fn slot(&self, value: u64) -> Option<u32> {
        if value == 0 {
            return None;
        }
        let shift = value.leading_zeros();
        let norm = value << shift;
        let below = self.first[usize::from((norm >> 55) as u8)];
        let above = norm > self.bounds[usize::from(below)];
        Some((63 - shift) * SLOTS_PER_OCTAVE + u32::from(below) + u32::from(above))
    }
}

/// `floor(2^63 * 1e9 * 2^((k - 28) / 32) / 2^29)` for `k` in `0..32`, then the sentinel.
/// The test `bounds_are_the_integer_parts` proves each by raising it to its 32nd power.
#[rustfmt::skip]
const BOUNDS: [u64; 33] = [
    0x81ff_a7a9_549c_a6e3, 0x84d8_626d_3118_d396, 0x87c1_1235_836d_16a3,
    0x8aba_1075_8e1e_a3cf, 0x8dc3_b896_0164_a7d9, 0x90de_67ff_f600_044c,
    0x940a_7e28_259f_b382, 0x9748_5c9a_622a_db60, 0x9a98_6705_4d51_2391,
    0x9dfb_0346_51c9_9c68, 0xa170_9975_dfb0_6757, 0xa4f9_93f3_ed7b_61ca,
    0xa896_5f74_bf06_5071, 0xac47_6b0d_f43f_745f, 0xb00d_2843_e106_0dc2,
    0xb3e8_0b17_2fd5_1af7, 0xb7d8_8a12_d0dd_9ea0, 0xbbdf_1e5a_373c_e5c6,
    0xbffc_43b7_e604_a922, 0xc430_78ac_4ed4_7ae7, 0xc87c_3e7d_03cd_bec3,
    0xcce0_1944_3eb5_6ce4, 0xd15c_9000_bf21_1c1f, 0xd5f2_2ca6_0197_43e0,
    0xdaa1_7c2c_d195_55db, 0xdf6b_0ea4_3879_3a89, 0xe44f_7742_cb56_e3dd,
    0xe94f_4c78_59ce_1066, 0xee6b_2800_0000_0000, 0xf3a3_a6f2_9dd0_c333,
    0xf8f9_69d9_b5ab_f948, 0xfe6d_14c2_b511_4024, u64::MAX,
];

/// For each cell, the number of bounds that every value of the cell is above.
const fn bounds_below_cells(bounds: &[u64; 33]) -> [u8; 256] {
    let mut first = [0_u8; 256];
    let mut cell = 0;
    let mut below = 0_u8;
    while cell < 256 {
        let start = (1_u64 << 63) | ((cell as u64) << 55);
        while bounds[below as usize] < start {
            below += 1;
        }
        first[cell] = below;
        cell += 1;
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLES: ScaleTables = ScaleTables::NANOSECONDS_IN_SECONDS;

    /// Unsigned integers of any size, little-endian 32-bit digits: enough to raise to a power.
    #[derive(Clone, PartialEq, Eq)]
    struct Big(Vec<u32>);

    impl Big {
        fn from_u128(mut value: u128) -> Self {
            let mut digits = Vec::new();
            while value > 0 {
                digits.push(value as u32);
                value >>= 32;
            }
            Self(digits)
        }

        fn times(&self, other: &Self) -> Self {
            let mut digits = vec![0_u32; self.0.len() + other.0.len()];
            for (i, &a) in self.0.iter().enumerate() {
                let mut carry = 0_u64;
                for (j, &b) in other.0.iter().enumerate() {
                    let sum = u64::from(digits[i + j]) + u64::from(a) * u64::from(b) + carry;
                    digits[i + j] = sum as u32;
                    carry = sum >> 32;
                }
                digits[i + other.0.len()] = carry as u32;
            }
            while digits.last() == Some(&0) {
                digits.pop();
            }
            Self(digits)
        }

        fn to_the_32nd(&self) -> Self {
            (0..5).fold(self.clone(), |power, _| power.times(&power))
        }

        fn two_to_the(exponent: u32) -> Self {
            let mut digits = vec![0_u32; (exponent / 32) as usize];
            digits.push(1 << (exponent % 32));
            Self(digits)
        }

        fn at_most(&self, other: &Self) -> bool {
            self.0
                .len()
                .cmp(&other.0.len())
                .then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
                .is_le()
        }
    }

    /// `value <= 1e9 * 2^(power / 32)` in exact arithmetic: both sides to the 32nd power.
    fn at_most_bound(value: u64, power: i64) -> bool {
        let value = Big::from_u128(u128::from(value)).to_the_32nd();
        let second = Big::from_u128(1_000_000_000).to_the_32nd();
        let shift = Big::two_to_the(u32::try_from(power.abs()).unwrap());
        if power >= 0 {
            value.at_most(&second.times(&shift))
        } else {
            value.times(&shift).at_most(&second)
        }
    }

    /// The OTLP bucket of `value` nanoseconds in seconds, proved by exact arithmetic on both sides.
    fn assert_exact(value: u64) {
        let index = i64::from(TABLES.slot(value).unwrap()) + i64::from(TABLES.slot_zero_index);
        assert!(
            !at_most_bound(value, index),
            "{value}: bucket {index} is too high"
        );
        assert!(
            at_most_bound(value, index + 1),
            "{value}: bucket {index} is too low"
        );
    }

    /// Every bound is the integer part of the exact, irrational one (bound 28 is exact).
    #[test]
    fn bounds_are_the_integer_parts() {
        // bound <= 1e9 * 2^34 * 2^((k - 28) / 32) < bound + 1, all to the 32nd power, times 2^28.
        let second = Big::from_u128(1_000_000_000_u128 << 34).to_the_32nd();
        let scale = Big::two_to_the(28);
        for (k, &bound) in (0..).zip(&TABLES.bounds[..32]) {
            let exact = second.times(&Big::two_to_the(k));
            let bound = u128::from(bound);
            assert!(
                Big::from_u128(bound)
                    .to_the_32nd()
                    .times(&scale)
                    .at_most(&exact),
                "{k}"
            );
            let next = Big::from_u128(bound + 1).to_the_32nd().times(&scale);
            assert!(!next.at_most(&exact), "{k}");
        }
        assert_eq!(TABLES.bounds[32], u64::MAX);
    }

    /// The last value of a bucket and its neighbours fall on the right sides of the bound, for
    /// every bound between 1 ns and 2^45 ns.
    #[test]
    fn every_bound_separates_neighbours() {
        for octave in 0..45_u32 {
            for bound in &TABLES.bounds[..32] {
                let last = bound >> (63 - octave);
                for value in [last.saturating_sub(1), last, last + 1] {
                    if value > 0 {
                        assert_exact(value);
                    }
                }
            }
        }
    }

    /// Powers of two and random values of every magnitude land in their bucket.
    #[test]
    fn random_values_are_exact() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for round in 0..2_000_u32 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            assert_exact((state >> (round % 64)).max(1));
        }
        for octave in 0..64 {
            assert_exact(1 << octave);
            assert_exact(u64::MAX >> octave);
        }
    }

    /// Known places: one second closes bucket -1, zero has no slot, and the documented number of
    /// slots holds 2^41 ns.
    #[test]
    fn known_slots() {
        let index = |v| TABLES.slot(v).map(|s| s as i32 + TABLES.slot_zero_index);
        assert_eq!(TABLES.slot(0), None);
        assert_eq!(TABLES.slot(1), Some(0));
        assert_eq!(index(1_000_000_000), Some(-1));
        assert_eq!(index(1_000_000_001), Some(0));
        assert_eq!(index(2_000_000_000), Some(31));
        assert_eq!(TABLES.slot((1 << 41) - 1), Some(1312));
        assert_eq!(TABLES.slot(u64::MAX), Some(64 * 32));
    }

    /// No cell holds two bounds, which the one comparison in the kernel relies on.
    #[test]
    fn cells_hold_at_most_one_bound() {
        for pair in TABLES.bounds[..32].windows(2) {
            assert!((pair[1] >> 55) > (pair[0] >> 55));
        }
        assert!(TABLES.first.is_sorted());
        assert_eq!(TABLES.first[255], 32);
    }
}
