//! Counters of devices that come and go.
//!
//! Nobody says whether a device is the one of the last reading. So: one that was missing at the last
//! reading counts from there; one of whose counters more fell than grew began again; a counter that
//! fell from the upper half of 32 bits while the others went on is one of 32 bits that went round
//! (milliseconds of `/proc/diskstats`, drivers of network interfaces); any other that fell stands
//! still until it grows again.

use std::collections::{BTreeMap, btree_map::Entry};

use super::Moment;

/// 2^32: what a counter of 32 bits loses when it goes round.
const ROUND: u64 = 1 << 32;
/// Growth beyond this is no growth, but a fall.
const HALF_ROUND: u64 = ROUND / 2;

/// The counters of one device as they are published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Device<const N: usize> {
    raw: [u64; N],
    values: [u64; N],
    start_unix_nanos: u64,
}

impl<const N: usize> Device<N> {
    fn new(raw: [u64; N], start_unix_nanos: u64) -> Self {
        Self {
            raw,
            values: raw,
            start_unix_nanos,
        }
    }

    /// The counters, monotone since the start.
    pub(super) fn values(&self) -> [u64; N] {
        self.values
    }

    /// When they were 0.
    pub(super) fn start_unix_nanos(&self) -> u64 {
        self.start_unix_nanos
    }

    /// Takes the next reading; `seen` is when the last one was. Returns how much each counter grew
    /// and how many fell for no known reason.
    fn advance(&mut self, raw: [u64; N], seen: Moment) -> ([u64; N], u64) {
        let before = std::mem::replace(&mut self.raw, raw);
        let pairs = || before.into_iter().zip(raw);
        let grew = pairs().filter(|(before, raw)| raw > before).count();
        let fell = pairs()
            .filter(|(before, raw)| raw < before && round(*before, *raw).is_none())
            .count();
        if fell > grew {
            // A clock that was set back meanwhile must not make the two series look like one.
            let start = self.start_unix_nanos.saturating_add(1);
            *self = Self::new(raw, seen.unix_nanos.max(start));
            return (raw, 0);
        }
        let mut growth = [0; N];
        let mut stood = 0;
        for ((growth, value), (before, raw)) in growth.iter_mut().zip(&mut self.values).zip(pairs())
        {
            *growth = match raw.checked_sub(before).or_else(|| round(before, raw)) {
                Some(grown) => grown,
                None => {
                    stood += 1;
                    0
                }
            };
            *value = value.saturating_add(*growth);
        }
        (growth, stood)
    }
}

/// The growth of a counter of 32 bits that went round; `None` where it cannot have been that.
fn round(before: u64, raw: u64) -> Option<u64> {
    let grown = (raw.checked_add(ROUND)?).checked_sub(before)?;
    (before < ROUND && grown < HALF_ROUND).then_some(grown)
}

/// What became of a reading of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken<const N: usize> {
    /// Its counters grew by this much since the last reading, or since they began.
    Grown([u64; N]),
    /// There is no room for it.
    Full,
    /// The reading has a device of this name already.
    Repeated,
}

/// The devices of a reading, by name, at most so many.
#[derive(Debug)]
pub(super) struct Devices<const N: usize> {
    most: usize,
    known: BTreeMap<String, (Device<N>, u64)>,
    /// Number of the reading.
    reading: u64,
    /// When the last reading was.
    seen: Option<Moment>,
    /// Counters that fell for no known reason, since the start.
    fallen: u64,
}

impl<const N: usize> Devices<N> {
    /// No devices yet.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            known: BTreeMap::new(),
            reading: 0,
            seen: None,
            fallen: 0,
        }
    }

    /// Begins a reading.
    pub(super) fn begin(&mut self) {
        self.reading += 1;
    }

    /// Takes the counters of one device. In the first reading they count since boot.
    pub(super) fn take(&mut self, name: &str, raw: [u64; N], boot_unix_nanos: u64) -> Taken<N> {
        let reading = self.reading;
        let full = self.known.len() >= self.most;
        let (device, last) = match self.known.entry(name.to_owned()) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(_) if full => return Taken::Full,
            Entry::Vacant(entry) => {
                let start = self.seen.map_or(boot_unix_nanos, |seen| seen.unix_nanos);
                entry.insert((Device::new(raw, start), reading));
                return Taken::Grown(raw);
            }
        };
        if *last == reading {
            return Taken::Repeated;
        }
        *last = reading;
        let (growth, fallen) = device.advance(raw, self.seen.unwrap_or_default());
        self.fallen += fallen;
        Taken::Grown(growth)
    }

    /// Ends a reading: devices that are not in it are forgotten.
    pub(super) fn end(&mut self, now: Moment) {
        let reading = self.reading;
        self.known.retain(|_, (_, last)| *last == reading);
        self.seen = Some(now);
    }

    /// Whether there was a reading before this one.
    pub(super) fn is_first(&self) -> bool {
        self.seen.is_none()
    }

    /// Whether it has a device of this name.
    pub(super) fn holds(&self, name: &str) -> bool {
        self.known.contains_key(name)
    }

    /// Counters that fell for no known reason since the last call.
    pub(super) fn take_fallen(&mut self) -> u64 {
        std::mem::take(&mut self.fallen)
    }

    /// The devices of the last reading, by name.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Device<N>)> {
        self.known
            .iter()
            .map(|(name, (device, _))| (name.as_str(), device))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOT: u64 = 1_000;

    fn at(seconds: u64) -> Moment {
        Moment {
            since_boot_nanos: seconds * 1_000_000_000,
            unix_nanos: BOOT + seconds * 1_000_000_000,
        }
    }

    /// A reading of devices `a`, `b`, ... Where they stand and since when.
    fn read<const N: usize>(
        devices: &mut Devices<N>,
        seconds: u64,
        raws: &[(&str, [u64; N])],
    ) -> Vec<(String, [u64; N], u64)> {
        devices.begin();
        for (name, raw) in raws {
            devices.take(name, *raw, BOOT);
        }
        devices.end(at(seconds));
        devices
            .iter()
            .map(|(name, device)| {
                (
                    name.to_owned(),
                    device.values(),
                    device.start_unix_nanos() - BOOT,
                )
            })
            .collect()
    }

    const SECOND: u64 = 1_000_000_000;

    /// A device that is there at the first reading counts since boot, one that comes later since the
    /// reading before, one that went and came again anew; the others are untouched.
    #[test]
    fn devices_come_and_go() {
        let mut devices = Devices::new(8);
        let first = read(&mut devices, 10, &[("a", [7, 1])]);
        assert_eq!(first, [("a".into(), [7, 1], 0)]);
        let second = read(&mut devices, 20, &[("a", [9, 1]), ("b", [5, 0])]);
        assert_eq!(
            second,
            [("a".into(), [9, 1], 0), ("b".into(), [5, 0], 10 * SECOND)]
        );
        assert_eq!(read(&mut devices, 30, &[("a", [9, 1])]).len(), 1);
        let back = read(&mut devices, 40, &[("b", [6, 0]), ("a", [9, 2])]);
        assert_eq!(
            back,
            [("a".into(), [9, 2], 0), ("b".into(), [6, 0], 30 * SECOND)]
        );
        assert_eq!(devices.take_fallen(), 0);
    }

    /// A device that was replaced between two readings starts anew, without a spike, and later than
    /// before even if the clock was set back.
    #[test]
    fn a_replaced_device_starts_anew() {
        let mut devices = Devices::new(8);
        read(&mut devices, 10, &[("a", [1000, 500, 3])]);
        let replaced = read(&mut devices, 20, &[("a", [4, 0, 3])]);
        assert_eq!(replaced, [("a".into(), [4, 0, 3], 10 * SECOND)]);
        read(&mut devices, 5, &[("a", [5, 0, 3])]);
        let again = read(&mut devices, 6, &[("a", [1, 0, 0])]);
        assert_eq!(again, [("a".into(), [1, 0, 0], 10 * SECOND + 1)]);
        assert_eq!(devices.take_fallen(), 0);
    }

    /// A counter of 32 bits that goes round goes on.
    #[test]
    fn counters_of_32_bits_go_round() {
        let mut devices = Devices::new(8);
        let most = u64::from(u32::MAX);
        read(&mut devices, 10, &[("a", [10, most - 9])]);
        let round = read(&mut devices, 20, &[("a", [11, 90])]);
        assert_eq!(round, [("a".into(), [11, most + 91], 0)]);
        // Nothing else happened: it still is no new device.
        let round = read(&mut devices, 30, &[("a", [11, 100])]);
        assert_eq!(round, [("a".into(), [11, most + 101], 0)]);
        read(&mut devices, 40, &[("a", [11, most])]);
        let alone = read(&mut devices, 50, &[("a", [11, 0])]);
        assert_eq!(alone, [("a".into(), [11, 2 * (most + 1)], 0)]);
    }

    /// A counter that goes back while others go on stands still, is counted, and adds only what it
    /// grows from there.
    #[test]
    fn a_single_fall_stands_still() {
        let mut devices = Devices::new(8);
        read(&mut devices, 10, &[("a", [10, 100])]);
        let fallen = read(&mut devices, 20, &[("a", [12, 40])]);
        assert_eq!(fallen, [("a".into(), [12, 100], 0)]);
        assert_eq!(devices.take_fallen(), 1);
        let on = read(&mut devices, 30, &[("a", [12, 45])]);
        assert_eq!(on, [("a".into(), [12, 105], 0)]);
        assert_eq!(devices.take_fallen(), 0);
        // Beyond 32 bits nothing goes round.
        read(&mut devices, 40, &[("a", [13, ROUND + 5])]);
        let fallen = read(&mut devices, 50, &[("a", [14, 5])]);
        assert_eq!(fallen[0].1[1], ROUND + 5 + 105 - 45);
    }

    /// The bound holds, known devices keep their place, and room is made by those that go.
    #[test]
    fn the_bound_holds() {
        let mut devices = Devices::new(2);
        devices.begin();
        assert!(devices.is_first());
        assert_eq!(devices.take("a", [1], BOOT), Taken::Grown([1]));
        assert_eq!(devices.take("b", [1], BOOT), Taken::Grown([1]));
        assert_eq!(devices.take("c", [1], BOOT), Taken::Full);
        assert_eq!(devices.take("a", [2], BOOT), Taken::Repeated);
        devices.end(at(10));
        devices.begin();
        assert_eq!(devices.take("c", [2], BOOT), Taken::Full);
        assert_eq!(devices.take("b", [4], BOOT), Taken::Grown([3]));
        devices.end(at(20));
        devices.begin();
        assert_eq!(devices.take("c", [5], BOOT), Taken::Grown([5]));
        assert!(devices.holds("b") && devices.holds("c") && !devices.holds("a"));
    }

    /// Whatever is read, values are monotone within a start, and starts only go up.
    #[test]
    fn monotone_under_random_readings() {
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let mut devices = Devices::<3>::new(2);
        let mut last: Option<([u64; 3], u64)> = None;
        for _ in 0..2_000 {
            let raw = std::array::from_fn(|_| random() >> (random() % 64));
            let (_, values, start) = read(&mut devices, random() % 100, &[("a", raw)])
                .pop()
                .unwrap();
            if let Some((before, began)) = last {
                assert!(start >= began);
                assert!(start > began || before.iter().zip(values).all(|(b, v)| *b <= v));
            }
            last = Some((values, start));
        }
    }
}
