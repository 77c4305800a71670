//! Numbers and times written for people.

use crate::summary::Profile;

/// A count as far as a signed number goes.
pub(super) fn saturated(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Groups of three digits: `1,234,567`.
pub(super) fn grouped(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut result = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if number < 0 {
        result.push('-');
    }
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            result.push(',');
        }
        result.push(digit);
    }
    result
}

/// A length of time in the unit that gives it three significant digits or so.
pub(super) fn seconds(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        0.0 => return "0 s".to_owned(),
        v if v < 1e-6 => (value * 1e9, "ns"),
        v if v < 1e-3 => (value * 1e6, "µs"),
        v if v < 1.0 => (value * 1e3, "ms"),
        _ => (value, "s"),
    };
    format!("{} {unit}", three_digits(scaled))
}

fn three_digits(value: f64) -> String {
    match value.abs() {
        v if v < 9.995 => format!("{value:.2}"),
        v if v < 99.95 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

/// A share of a whole in percent, with one decimal.
pub(super) fn percent(part: f64, whole: f64) -> String {
    if whole > 0.0 {
        format!("{:.1}", 100.0 * part / whole)
    } else {
        "-".to_owned()
    }
}

/// A value with its unit in words: `5,994 samples, 60.5 CPU seconds`.
pub(super) fn amount(profile: &Profile, value: i64) -> String {
    let is_count = profile.sample_type.unit == "count";
    match (profile.seconds(value), is_count) {
        (Some(time), true) => {
            format!(
                "{} {}, {time:.2} CPU seconds",
                grouped(value),
                profile.sample_type.name
            )
        }
        (Some(time), false) => seconds(time),
        (None, true) => format!("{} {}", grouped(value), profile.sample_type.name),
        (None, false) => format!("{} {}", grouped(value), profile.sample_type.unit),
    }
}

/// Unix nanoseconds as `2026-10-06 21:14:03 UTC`.
pub(super) fn utc(unix_nanos: u64) -> String {
    let (y, m, d, seconds) = civil(unix_nanos);
    format!(
        "{y:04}-{m:02}-{d:02} {:02}:{:02}:{:02} UTC",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

/// Unix nanoseconds as RFC 3339 with milliseconds: `2026-10-06T21:14:03.250Z`.
pub(super) fn rfc3339(unix_nanos: u64) -> String {
    let (y, m, d, seconds) = civil(unix_nanos);
    format!(
        "{y:04}-{m:02}-{d:02}T{:02}:{:02}:{:02}.{:03}Z",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
        unix_nanos / 1_000_000 % 1000
    )
}

/// Year, month, day and second of the day of a Unix time in the proleptic Gregorian calendar
/// (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`). A date
/// library would serve nothing else here.
fn civil(unix_nanos: u64) -> (u64, u64, u64, u64) {
    let seconds = unix_nanos / 1_000_000_000;
    let days = seconds / 86_400 + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day, seconds % 86_400)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dates at the edges: epoch, leap day, end of a year, beyond 2038.
    #[test]
    fn dates() {
        assert_eq!(utc(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(951_782_400_000_000_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(utc(1_767_225_599_000_000_000), "2025-12-31 23:59:59 UTC");
        assert_eq!(
            rfc3339(4_102_444_800_250_000_000),
            "2100-01-01T00:00:00.250Z"
        );
        assert!(utc(u64::MAX).starts_with("2554-07-21"));
    }

    /// Times keep three significant digits across their whole range.
    #[test]
    fn lengths_of_time() {
        let written = [0.0, 4.2e-8, 4.123e-6, 0.0123, 0.9999, 1.5, 40.04, 4000.0].map(seconds);
        let expected = [
            "0 s", "42.0 ns", "4.12 µs", "12.3 ms", "1000 ms", "1.50 s", "40.0 s", "4000 s",
        ];
        assert_eq!(written, expected);
    }

    /// Digits are grouped from the right.
    #[test]
    fn groups() {
        assert_eq!(
            [0, 999, 1000, -1_234_567].map(grouped),
            ["0", "999", "1,000", "-1,234,567"]
        );
        assert_eq!(percent(1.0, 0.0), "-");
    }
}
