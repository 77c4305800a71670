//! Charts in inline SVG.

use std::fmt::Write;

use super::{super::units, escape::text};
use crate::summary::{Bar, Distribution};

const WIDTH: f64 = 900.0;

/// A distribution of times: one bar for each doubling, with marks at p50, p90 and p99.
/// Empty without values above zero.
pub(super) fn distribution(distribution: &Distribution) -> String {
    let octaves = octaves(&distribution.bars());
    let (Some(first), Some(last)) = (octaves.first(), octaves.last()) else {
        return String::new();
    };
    let (low, high) = (first.0, last.0 + 1);
    let total = octaves.iter().map(|(_, count)| count).sum::<u64>() as f64;
    let most = octaves.iter().map(|(_, count)| *count).max().unwrap_or(1) as f64;
    let (top, bottom, left) = (24.0, 190.0, 10.0);
    let step = (WIDTH - 2.0 * left) / f64::from(high - low);
    let x = |exponent: f64| left + (exponent - f64::from(low)) * step;
    let mut svg = format!(
        "<svg class=\"chart distribution\" viewBox=\"0 0 {WIDTH} 220\" role=\"img\" \
         aria-label=\"Distribution of times\">"
    );
    // Writing to a String cannot fail, here and below.
    for &(exponent, count) in &octaves {
        let height = (count as f64 / most) * (bottom - top);
        let (from, to) = (f64::from(exponent).exp2(), f64::from(exponent + 1).exp2());
        let _ = write!(
            svg,
            "<rect class=\"bar-fill\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\">\
             <title>{} to {}: {} ({} %)</title></rect>",
            x(f64::from(exponent)) + 1.0,
            bottom - height.max(1.0),
            (step - 2.0).max(1.0),
            height.max(1.0),
            text(&units::seconds(from)),
            text(&units::seconds(to)),
            units::grouped(i64::try_from(count).unwrap_or(i64::MAX)),
            units::percent(count as f64, total),
        );
    }
    let _ = write!(
        svg,
        "<line class=\"axis\" x1=\"0\" x2=\"{WIDTH}\" y1=\"{bottom}\" y2=\"{bottom}\"/>"
    );
    // One label for each power of ten in sight.
    let decades = (f64::from(low) * 2.0_f64.log10()).ceil() as i32
        ..=(f64::from(high) * 2.0_f64.log10()).floor() as i32;
    for decade in decades {
        let value = 10.0_f64.powi(decade);
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            x(value.log2()),
            bottom + 18.0,
            text(&round_time(value)),
        );
    }
    let mut label_end = f64::NEG_INFINITY;
    for (name, q) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
        let Some(value) = distribution.quantile(q).filter(|value| *value > 0.0) else {
            continue;
        };
        let at = x(value.log2()).clamp(0.0, WIDTH);
        let label = format!("{name} {}", units::seconds(value));
        let _ = write!(
            svg,
            "<line class=\"mark\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{top}\" y2=\"{bottom}\"/>"
        );
        // Seven pixels a character at this size; a label that would overlap is left to the table.
        let width = label.chars().count() as f64 * 7.0;
        let start = at.min(WIDTH - width);
        if start > label_end {
            let _ = write!(
                svg,
                "<text x=\"{start:.1}\" y=\"{:.1}\">{}</text>",
                top - 8.0,
                text(&label)
            );
            label_end = start + width;
        }
    }
    svg.push_str("</svg>");
    svg
}

/// Powers of ten read better without decimals.
fn round_time(value: f64) -> String {
    units::seconds(value)
        .replace(".00 ", " ")
        .replace(".0 ", " ")
}

/// Counts by `floor(log2(value))`, in order; values of zero are left out.
fn octaves(bars: &[Bar]) -> Vec<(i32, u64)> {
    let mut octaves = std::collections::BTreeMap::<i32, u64>::new();
    for bar in bars.iter().filter(|bar| bar.upper > 0.0) {
        // The geometric middle; the first explicit bucket starts at zero.
        let middle = if bar.lower > 0.0 {
            (bar.lower * bar.upper).sqrt()
        } else {
            bar.upper / 2.0
        };
        let octave = middle.log2().floor().clamp(-1022.0, 1022.0) as i32;
        let entry = octaves.entry(octave).or_insert(0);
        *entry = entry.saturating_add(bar.count);
    }
    octaves.into_iter().collect()
}

/// Most bars of a timeline; more windows are averaged.
const MOST_BARS: usize = 300;

/// Shares over time, 0 to 1, one bar for each window, or for a few of them. `class` colours it.
pub(super) fn timeline(shares: &[f64], class: &str, label: &str) -> String {
    if shares.is_empty() {
        return String::new();
    }
    let chunk = shares.len().div_ceil(MOST_BARS);
    let bars = shares
        .chunks(chunk)
        .map(|part| part.iter().sum::<f64>() / part.len() as f64)
        .collect::<Vec<_>>();
    let most = shares.iter().copied().fold(0.0, f64::max);
    // A scale of its own below ten percent, or a little stolen time would be no line at all.
    let scale = if most < 0.1 {
        most.max(1e-6)
    } else {
        most.max(1.0)
    };
    let step = WIDTH / bars.len() as f64;
    let mut svg = format!(
        "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} 64\" role=\"img\" aria-label=\"{0}\"><text \
         x=\"0\" y=\"12\">{0}, at most {1} %</text>",
        text(label),
        units::percent(most, 1.0)
    );
    for (index, share) in bars.iter().enumerate() {
        let height = (share / scale).clamp(0.0, 1.0) * 44.0;
        let _ = write!(
            svg,
            "<rect class=\"{class}\" x=\"{:.2}\" y=\"{:.2}\" width=\"{:.2}\" height=\"{:.2}\">\
             <title>{} %</title></rect>",
            index as f64 * step,
            64.0 - height,
            (step - if step > 4.0 { 1.0 } else { 0.0 }).max(0.5),
            height.max(0.5),
            units::percent(*share, 1.0),
        );
    }
    svg.push_str("</svg>");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Buckets fall into the doubling that holds their middle, and zeros are left out.
    #[test]
    fn counts_by_doubling() {
        let bar = |lower, upper, count| Bar {
            lower,
            upper,
            count,
        };
        let bars = [
            bar(0.0, 0.0, 9),
            bar(1.0, 1.4, 1),
            bar(1.4, 2.0, 2),
            bar(2.0, 2.8, 4),
        ];
        assert_eq!(octaves(&bars), [(0, 3), (1, 4)]);
    }

    /// A year of windows is drawn with a bounded number of bars.
    #[test]
    fn timeline_is_bounded() {
        let svg = timeline(&vec![0.5; 100_000], "bar-fill", "busy");
        assert!(svg.matches("<rect").count() <= MOST_BARS);
        assert!(timeline(&[], "bar-fill", "busy").is_empty());
    }
}
