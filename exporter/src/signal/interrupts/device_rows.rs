//! Which distribution the interrupts of a device go to.

use std::collections::BTreeMap;

use evenkeel_abi::{DEVICE_ROWS, IRQ_NUMBERS, IRQ_UNNAMED};

use super::{proc_interrupts::DeviceInterrupt, queue_name::fold};

/// Name of the row that devices without one of their own share; also of interrupts that came before
/// anybody knew whose they were.
pub(super) const OTHER: &str = "other";

/// What `IRQ_ROWS` holds for the row that is shared.
const OTHER_WORD: u32 = 1;

/// The rows given out. A row is never given to another name, so that a series stays what it was.
#[derive(Debug, Default)]
pub(super) struct DeviceRows {
    /// Names of the rows after the shared one.
    names: Vec<String>,
    /// The word of `IRQ_ROWS` of each number.
    words: BTreeMap<u32, u32>,
}

impl DeviceRows {
    /// Gives a row to each interrupt that has come yet; returns the words of `IRQ_ROWS` to set.
    pub(super) fn assign(&mut self, devices: &[DeviceInterrupt<'_>]) -> Vec<(u32, u32)> {
        let mut changes = Vec::new();
        for device in devices {
            if device.count == 0 || device.handlers.is_empty() || device.irq >= IRQ_NUMBERS {
                continue;
            }
            let word = self.word(&name(&device.handlers));
            if self.words.insert(device.irq, word) != Some(word) {
                changes.push((device.irq, word));
            }
        }
        changes
    }

    fn word(&mut self, name: &str) -> u32 {
        let known = self.names.iter().position(|own| own == name);
        let row = known.or_else(|| {
            let has_room = self.names.len() + 1 < DEVICE_ROWS as usize;
            has_room.then(|| {
                self.names.push(name.to_owned());
                self.names.len() - 1
            })
        });
        // Row 0 is the shared one, and words are rows plus one.
        row.and_then(|row| u32::try_from(row + 2).ok())
            .unwrap_or(OTHER_WORD)
    }

    /// The name of a row.
    pub(super) fn name(&self, row: usize) -> &str {
        row.checked_sub(1)
            .and_then(|row| self.names.get(row))
            .map_or(OTHER, String::as_str)
    }

    /// How many rows are in use, with the shared one.
    pub(super) fn len(&self) -> usize {
        self.names.len() + 1
    }
}

const _: () = assert!(IRQ_UNNAMED == 0 && OTHER_WORD == 1);

/// One name for the handlers of a line.
fn name(handlers: &[&str]) -> String {
    let mut names: Vec<String> = handlers.iter().map(|name| fold(name)).collect();
    names.dedup();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device<'a>(irq: u32, handlers: &[&'a str]) -> DeviceInterrupt<'a> {
        DeviceInterrupt {
            irq,
            count: 1,
            handlers: handlers.to_vec(),
        }
    }

    /// The queues of a device share a row; a line that is shared has the names of all; an interrupt
    /// that never came takes no row; what has not changed is not written again.
    #[test]
    fn queues_share_a_row() {
        let mut rows = DeviceRows::default();
        let mut silent = device(33, &["virtio0-config"]);
        silent.count = 0;
        let devices = [
            device(36, &["virtio1-req.0"]),
            device(37, &["virtio1-req.1"]),
            silent,
            device(40, &["eth0-Tx-Rx-0", "eth0-Tx-Rx-1", "usb"]),
        ];
        assert_eq!(rows.assign(&devices), [(36, 2), (37, 2), (40, 3)]);
        assert_eq!(
            [0, 1, 2, 9].map(|row| rows.name(row)),
            [OTHER, "virtio1-req", "eth0-Tx-Rx, usb", OTHER]
        );
        assert_eq!((rows.len(), rows.assign(&devices)), (3, vec![]));
        // The number was given to another device.
        assert_eq!(rows.assign(&[device(36, &["nvme0q1"])]), [(36, 4)]);
    }

    /// The last row that there is gets used, those that come later share one, and a number beyond
    /// the table is never written.
    #[test]
    fn rows_are_bounded() {
        let names: Vec<String> = (0..40).map(|device| format!("dev{device}")).collect();
        let devices: Vec<_> = (0..)
            .zip(&names)
            .map(|(irq, name)| device(irq, &[name]))
            .collect();
        let mut rows = DeviceRows::default();
        let words = rows.assign(&devices);
        assert_eq!(words[30], (30, 32));
        assert!(words[31..].iter().all(|(_, word)| *word == OTHER_WORD));
        assert_eq!(rows.len(), DEVICE_ROWS as usize);
        assert_eq!(rows.assign(&[device(IRQ_NUMBERS, &["dev1"])]), []);
    }
}
