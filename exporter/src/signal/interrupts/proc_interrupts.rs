//! `/proc/interrupts` (`kernel/irq/proc.c`, `show_interrupts`): which device has which interrupt.
//!
//! ```text
//!            CPU0       CPU2
//!  36:          0     115180 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
//! RES:1145401553 2147483648   Rescheduling interrupts
//! ```
//!
//! A line of a device is number, counts, chip, number on the chip, flow, and behind two blanks the
//! names of the handlers, separated by commas. Any of the middle ones can be missing, and a chip's
//! name may begin with a digit: only the header says how many counts there are.

/// The interrupt of a device, or of several that share a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DeviceInterrupt<'a> {
    /// Its number.
    pub(super) irq: u32,
    /// How often it came since boot, on the CPUs that are online.
    pub(super) count: u64,
    /// Names of its handlers; empty when it has none now.
    pub(super) handlers: Vec<&'a str>,
}

/// The interrupts of devices. Lines of another form, as those of the CPU's own vectors, are passed
/// over.
pub(super) fn parse(text: &str) -> Vec<DeviceInterrupt<'_>> {
    let mut lines = text.lines();
    let cpus = lines.next().map_or(0, |header| {
        header
            .split_ascii_whitespace()
            .filter(|word| word.starts_with("CPU"))
            .count()
    });
    lines.filter_map(|line| device(line, cpus)).collect()
}

fn device(line: &str, cpus: usize) -> Option<DeviceInterrupt<'_>> {
    let (number, mut rest) = line.split_once(':')?;
    let irq = digits(number.trim_start())?.try_into().ok()?;
    let mut count = 0_u64;
    for _ in 0..cpus {
        let (word, after) = word(rest);
        count = count.saturating_add(digits(word)?);
        rest = after;
    }
    let handlers = handlers(rest)
        .split(", ")
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .collect();
    Some(DeviceInterrupt {
        irq,
        count,
        handlers,
    })
}

/// What follows chip, number on the chip and flow.
fn handlers(rest: &str) -> &str {
    let (_chip, rest) = word(rest);
    let (number, after) = word(rest);
    if is_flow(number) {
        return behind_handler(after);
    }
    // `1-edge` is number and flow in one.
    if !number.starts_with(|first: char| first.is_ascii_digit()) {
        return rest.trim_start();
    }
    // A single blank separates number and flow, two or more precede the names.
    let gap = after.len() - after.trim_start().len();
    match word(after) {
        (flow, names) if gap == 1 && is_flow(flow) => behind_handler(names),
        _ => after.trim_start(),
    }
}

/// What follows the name of a flow handler, which can stand behind the level: `Level   -fasteoi`.
fn behind_handler(rest: &str) -> &str {
    match word(rest) {
        (handler, names) if handler.starts_with('-') => names.trim_start(),
        _ => rest.trim_start(),
    }
}

/// `Level` and `Edge` (`CONFIG_GENERIC_IRQ_SHOW_LEVEL`) or the name of a flow handler: `-fasteoi`.
fn is_flow(word: &str) -> bool {
    word == "Level" || word == "Edge" || word.starts_with('-')
}

/// The next word and what follows it.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    text.split_at(text.find(' ').unwrap_or(text.len()))
}

fn digits(text: &str) -> Option<u64> {
    text.bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handlers_of(text: &str) -> Vec<(u32, u64, Vec<&str>)> {
        parse(text)
            .into_iter()
            .map(|device| (device.irq, device.count, device.handlers))
            .collect()
    }

    /// Holes in the numbers of CPUs, counts as wide as their column, a chip that begins with a digit,
    /// shared lines, names with blanks; lines that are no device's have no part in it.
    #[test]
    fn quirks() {
        let text = include_str!("../../../tests/cases/interrupts_quirks.txt");
        assert_eq!(
            handlers_of(text),
            [
                (1, 9, vec!["i8042"]),
                (36, 115_180, vec!["virtio1-req.0"]),
                (40, 127, vec!["eth0-Tx-Rx-0", "eth0 extra name"]),
                (41, 11, vec!["odd"]),
            ]
        );
    }

    /// The forms that other architectures and chips give a line.
    #[test]
    fn other_chips() {
        let text = "           CPU0\n\
            \x20 11:    5123     GICv3  27 Level     arch_timer\n\
            \x20 12:       1     GICv3  28 Level   -fasteoi   pmu\n\
            \x20 13:       2   xen-dyn    -event     eth0-q0-tx\n\
            \x20 14:       3   xen-dyn     Edge      xenbus\n\
            \x20 15:       4      None   16  named\n\
            \x20 16:       5   dummy   Edge word\n\
            \x20 17:4294967295   IO-APIC  17-fasteoi\n";
        assert_eq!(
            handlers_of(text),
            [
                (11, 5123, vec!["arch_timer"]),
                (12, 1, vec!["pmu"]),
                (13, 2, vec!["eth0-q0-tx"]),
                (14, 3, vec!["xenbus"]),
                (15, 4, vec!["named"]),
                (16, 5, vec!["word"]),
                (17, 4_294_967_295, vec![]),
            ]
        );
    }

    /// Text that is cut or is something else yields no number that was not in it, and never a panic.
    #[test]
    fn truncation_invents_nothing() {
        let text = include_str!("../../../tests/cases/interrupts_quirks.txt");
        let whole = parse(text);
        for length in 0..text.len() {
            for device in parse(&text[..length]) {
                let original = whole.iter().find(|known| known.irq == device.irq);
                let complete = text[..length].ends_with('\n');
                assert!(!complete || original == Some(&device), "at {length}");
            }
        }
        assert_eq!(parse(""), []);
        assert_eq!(
            parse("CPU0\n 1: x  chip 1 name\n 99999999999: 1 chip\n"),
            []
        );
    }
}
