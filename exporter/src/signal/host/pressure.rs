//! Pressure stall information (`Documentation/accounting/psi.rst`).

use evenkeel_semconv::attribute::value::{
    evenkeel_pressure_resource as resource, evenkeel_pressure_scope as scope,
};

use super::digits;

/// A series: file, `evenkeel.pressure.resource`, line,
/// `evenkeel.pressure.scope`.
pub(super) struct Line {
    pub(super) file: &'static str,
    pub(super) resource: &'static str,
    pub(super) prefix: &'static [u8],
    pub(super) scope: &'static str,
}

const SOME: &[u8] = b"some";
const FULL: &[u8] = b"full";

const fn line(
    file: &'static str,
    resource: &'static str,
    prefix: &'static [u8],
    scope: &'static str,
) -> Line {
    Line {
        file,
        resource,
        prefix,
        scope,
    }
}

/// The lines that mean something for a whole host, those of one file together. `full` of the CPU
/// is printed since Linux 5.13 for the sake of old parsers, is not defined at this level and always
/// 0; the IRQ file has only `full`.
pub(super) const LINES: [Line; 6] = [
    line("pressure/cpu", resource::CPU, SOME, scope::SOME),
    line("pressure/memory", resource::MEMORY, SOME, scope::SOME),
    line("pressure/memory", resource::MEMORY, FULL, scope::FULL),
    line("pressure/io", resource::IO, SOME, scope::SOME),
    line("pressure/io", resource::IO, FULL, scope::FULL),
    line("pressure/irq", resource::IRQ, FULL, scope::FULL),
];

/// Total stall time of a line in microseconds; `None` where the file has no such whole line.
pub(super) fn total(text: &[u8], prefix: &[u8]) -> Option<u64> {
    text.split_inclusive(|byte| *byte == b'\n')
        .filter_map(|line| line.strip_suffix(b"\n"))
        .find_map(|line| {
            let mut words = line.split(|byte| *byte == b' ');
            if words.next() != Some(prefix) {
                return None;
            }
            words.find_map(|word| digits(word.strip_prefix(b"total=")?))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"some avg10=33.57 avg60=10.38 avg300=3.39 total=22201959\n\
                          full avg10=0.00 avg60=0.00 avg300=0.00 total=17\n";

    /// Totals are found by their line; a file with one line has one.
    #[test]
    fn finds_totals() {
        assert_eq!(total(TEXT, SOME), Some(22_201_959));
        assert_eq!(total(TEXT, FULL), Some(17));
        assert_eq!(total(&TEXT[57..], SOME), None);
    }

    /// Cut or absurd texts have no total, rather than a wrong one.
    #[test]
    fn hostile_texts_have_none() {
        for text in [
            "",
            "some",
            "some\n",
            "some total=\n",
            "some total=-1\n",
            "some total=1e9\n",
            "some total=99999999999999999999\n",
            "someone total=5\n",
            "some avg10=0 total=22",
        ] {
            assert_eq!(total(text.as_bytes(), SOME), None, "{text:?}");
        }
    }
}
