//! Bounds of explicit-bucket histograms.

/// Seconds: 1, 2.5 and 5 in every decade from one microsecond to ten seconds, as kernel latencies
/// lie far below the 5 ms at which the bounds for web requests begin.
pub const DURATION_BOUNDS: &[f64] = &[
    1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2,
    5e-2, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// Ratios from 0 to 1.
pub const RATIO_BOUNDS: &[f64] = &[
    0.0, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0,
];

/// Counts, lengths and bytes: zero, then powers of two up to 2^20 (exact on the exponential scale),
/// then powers of four up to 2^30.
pub const COUNT_BOUNDS: &[f64] = &[
    0.0,
    1.0,
    2.0,
    4.0,
    8.0,
    16.0,
    32.0,
    64.0,
    128.0,
    256.0,
    512.0,
    1024.0,
    2048.0,
    4096.0,
    8192.0,
    16384.0,
    32768.0,
    65536.0,
    131_072.0,
    262_144.0,
    524_288.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
    268_435_456.0,
    1_073_741_824.0,
];

/// The bounds for a metric of that UCUM unit.
pub fn explicit_bounds(unit: &str) -> &'static [f64] {
    match unit {
        "s" => DURATION_BOUNDS,
        "1" => RATIO_BOUNDS,
        _ => COUNT_BOUNDS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OTLP wants strictly ascending bounds.
    #[test]
    fn bounds_ascend() {
        for unit in ["s", "1", "By"] {
            assert!(
                explicit_bounds(unit)
                    .windows(2)
                    .all(|pair| pair[0] < pair[1])
            );
        }
    }
}
