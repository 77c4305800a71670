//! Names of interrupts without the number of the queue: a device with 64 queues is one device.

/// Words that a driver puts before the number of a queue, compared in lower case.
const QUEUE_WORDS: &[&str] = &[
    "blk", "comp", "cq", "eq", "input", "msix", "output", "q", "queue", "req", "ring", "rx", "tx",
    "txrx", "vec", "vector",
];

/// The name of a device's interrupt, as its driver gave it, with queue numbers folded:
/// `virtio1-req.0` is `virtio1-req`, `nvme0q12` is `nvme0q`. The number of the device stays, and
/// what follows an `@` (an address on a bus) is left alone.
pub(super) fn fold(name: &str) -> String {
    let (own, address) = name.split_at(name.find('@').unwrap_or(name.len()));
    let mut folded = String::with_capacity(name.len());
    let mut rest = own;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let (before, digits_on) = rest.split_at(start);
        let length = digits_on
            .find(|letter: char| !letter.is_ascii_digit())
            .unwrap_or(digits_on.len());
        let (digits, after) = digits_on.split_at(length);
        folded.push_str(before);
        if !follows_queue_word(&folded) {
            folded.push_str(digits);
        }
        rest = after;
    }
    folded.push_str(rest);
    let without_number = folded.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if without_number.len() < folded.len()
        && let Some(stem) = without_number.strip_suffix(['.', '-'])
        && !stem.is_empty()
    {
        let stem = stem.len();
        folded.truncate(stem);
    }
    folded.push_str(address);
    folded
}

/// Whether what was read so far ends in a word for queues that is not the name's first word: the
/// number after that is the device's.
fn follows_queue_word(before: &str) -> bool {
    let word_start = before
        .rfind(|letter: char| !letter.is_ascii_alphabetic())
        .map_or(0, |index| index + 1);
    let word = before.get(word_start..).unwrap_or_default();
    word_start > 0
        && QUEUE_WORDS
            .iter()
            .any(|queue| word.eq_ignore_ascii_case(queue))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The queues of one device have one name, whatever its driver calls them.
    #[test]
    fn queues_fold() {
        for (name, folded) in [
            ("virtio1-req.0", "virtio1-req"),
            ("virtio2-input.13", "virtio2-input"),
            ("eth0-Tx-Rx-0", "eth0-Tx-Rx"),
            ("i40e-ens5f0-TxRx-63", "i40e-ens5f0-TxRx"),
            ("eth0-rx-7", "eth0-rx"),
            ("eth0-3", "eth0"),
            ("eth0-q3-tx", "eth0-q-tx"),
            ("nvme0q12", "nvme0q"),
            ("mlx5_comp3@pci:0000:03:00.0", "mlx5_comp@pci:0000:03:00.0"),
            ("mana_q1@pci:7870:00:00.0", "mana_q@pci:7870:00:00.0"),
            (
                "gve-ntfy-blk31@pci:0000:00:04.0",
                "gve-ntfy-blk@pci:0000:00:04.0",
            ),
            ("megasas0-msix12", "megasas0-msix"),
        ] {
            assert_eq!(fold(name), folded);
        }
    }

    /// Devices stay apart, and nothing is left without a name.
    #[test]
    fn devices_stay_apart() {
        for name in [
            "i8042",
            "rtc0",
            "ttyS0",
            "nvme0",
            "virtio1-config",
            "ACPI:Ged",
            "xhci-hcd:usb1",
            "ahci[0000:00:1f.2]",
            "eth0 extra name",
            "q1",
            "rx0",
            "-0",
            "7",
            "",
            "@pci:0",
            "Gerät-ä",
        ] {
            assert_eq!(fold(name), name);
        }
    }
}
