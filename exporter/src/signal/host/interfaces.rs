//! `/proc/PID/net/dev` (`net/core/net-procfs.c`): what each network interface carried.
//!
//! A node of a cluster makes and destroys an interface for each container, under a new name each
//! time. Those have no series of their own: what they carry is in one sum.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use evenkeel_otlp::model::{Attribute, Metric, Point, PointValue};
use evenkeel_semconv::{
    attribute::{self, value::network_io_direction as direction},
    metric,
};

use super::{
    Losses, Moment,
    device::{Devices, Taken},
    digits, words,
};
use crate::signal::{int, metric, point};

/// Interfaces with series of their own, each of eight points.
const MAX_NAMED: usize = 128;
/// Interfaces in the sum; Kubernetes runs 250 pods on a node at most.
const MAX_FOLDED: usize = 4096;

/// `network.interface.name` of the sum over the interfaces without series of their own. No
/// interface is called so in practice.
pub(super) const FOLDED: &str = "(other)";

/// Counters of an interface: received, then transmitted.
const COUNTERS: usize = 8;
const BYTES: [usize; 2] = [0, 4];
const PACKETS: [usize; 2] = [1, 5];
const ERRORS: [usize; 2] = [2, 6];
const DROPPED: [usize; 2] = [3, 7];
/// Numbers of a line: eight for each direction, of which the first four are used.
const FIELDS: usize = 16;

/// The series of all interfaces.
#[derive(Debug)]
pub(super) struct Interfaces {
    class: PathBuf,
    named: Devices<COUNTERS>,
    folded: Devices<COUNTERS>,
    /// What the folded interfaces carried since `folded_since`, gone ones included; `None` until
    /// there was one.
    sum: Option<[u64; COUNTERS]>,
    folded_since: u64,
    /// Whether an interface leads into a container, by name, as looked up when it came.
    leads_out: BTreeMap<String, bool>,
}

/// A line of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line<'a> {
    name: &'a str,
    counters: [u64; COUNTERS],
}

impl<'a> Line<'a> {
    fn parse(line: &'a [u8]) -> Option<Self> {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let (name, numbers) = line.split_at_checked(colon)?;
        let name = std::str::from_utf8(name).ok()?.trim();
        let mut fields = [0; FIELDS];
        let mut words = words(numbers.get(1..)?);
        for field in &mut fields {
            *field = digits(words.next()?)?;
        }
        let (received, transmitted) = fields.split_at(FIELDS / 2);
        let mut used = received.iter().take(4).chain(transmitted.iter().take(4));
        (!name.is_empty()).then_some(Self {
            name,
            counters: std::array::from_fn(|_| used.next().copied().unwrap_or(0)),
        })
    }
}

impl Interfaces {
    /// Interfaces whose kinds stand below `sys_root`.
    pub(super) fn new(sys_root: &Path) -> Self {
        Self {
            class: sys_root.join("class/net"),
            named: Devices::new(MAX_NAMED),
            folded: Devices::new(MAX_FOLDED),
            sum: None,
            folded_since: 0,
            leads_out: BTreeMap::new(),
        }
    }

    /// Takes the text of the file.
    pub(super) fn take(&mut self, text: &[u8], now: Moment, boot: u64, losses: &mut Losses) {
        let first = self.named.is_first();
        self.named.begin();
        self.folded.begin();
        let mut leads_out = BTreeMap::new();
        // Two lines of headings.
        for line in text.split_inclusive(|byte| *byte == b'\n').skip(2) {
            let whole = line.strip_suffix(b"\n");
            let Some(line) = whole.and_then(Line::parse) else {
                losses.invalid += 1;
                continue;
            };
            let is_folded = match self.leads_out.remove(line.name) {
                Some(known) => known,
                None => leads_into_container(&self.class.join(line.name)),
            };
            if leads_out.len() < MAX_NAMED + MAX_FOLDED {
                leads_out.insert(line.name.to_owned(), is_folded);
            }
            let mut taken = Taken::Full;
            if !is_folded && !self.folded.holds(line.name) {
                taken = self.named.take(line.name, line.counters, boot);
                losses.series_full += u64::from(taken == Taken::Full);
            }
            if taken == Taken::Full {
                taken = self.folded.take(line.name, line.counters, boot);
                losses.series_full += u64::from(taken == Taken::Full);
                self.add(taken, first, now);
            }
            losses.invalid += u64::from(taken == Taken::Repeated);
        }
        self.leads_out = leads_out;
        self.named.end(now);
        self.folded.end(now);
        losses.out_of_range += self.named.take_fallen() + self.folded.take_fallen();
    }

    /// Adds to the sum. What interfaces carried before the first reading is not in it: those that
    /// were gone by then are not known.
    fn add(&mut self, taken: Taken<COUNTERS>, first: bool, now: Moment) {
        let Taken::Grown(growth) = taken else { return };
        let sum = self.sum.get_or_insert_with(|| {
            self.folded_since = now.unix_nanos;
            [0; COUNTERS]
        });
        if !first {
            for (sum, growth) in sum.iter_mut().zip(growth) {
                *sum = sum.saturating_add(growth);
            }
        }
    }

    /// The metrics of the last reading.
    pub(super) fn metrics(&self) -> impl Iterator<Item = Metric> {
        let of = |descriptor, name_attribute, fields| {
            let named = self
                .named
                .iter()
                .map(|(name, device)| (name, device.values(), device.start_unix_nanos()));
            let folded = self.sum.map(|sum| (FOLDED, sum, self.folded_since));
            let points = named.chain(folded).flat_map(|(name, values, start)| {
                both(name_attribute, name, values, fields, start)
            });
            metric(descriptor, points.collect())
        };
        let interface = attribute::NETWORK_INTERFACE_NAME;
        [
            of(&metric::SYSTEM_NETWORK_IO, interface, BYTES),
            // Upstream names the interface of this one by another attribute than of the rest.
            of(
                &metric::SYSTEM_NETWORK_PACKET_COUNT,
                attribute::SYSTEM_DEVICE,
                PACKETS,
            ),
            of(&metric::SYSTEM_NETWORK_ERRORS, interface, ERRORS),
            of(&metric::SYSTEM_NETWORK_PACKET_DROPPED, interface, DROPPED),
        ]
        .into_iter()
        .flatten()
    }
}

/// The points of both directions.
fn both(
    name_attribute: &'static str,
    name: &str,
    values: [u64; COUNTERS],
    fields: [usize; 2],
    start_unix_nanos: u64,
) -> [Point; 2] {
    let [received, transmitted] = fields;
    [
        (direction::RECEIVE, received),
        (direction::TRANSMIT, transmitted),
    ]
    .map(|(direction, field)| {
        let attributes = vec![
            Attribute::new(name_attribute, name),
            Attribute::new(attribute::NETWORK_IO_DIRECTION, direction),
        ];
        let value: PointValue = int(values.get(field).copied().unwrap_or(0));
        point(attributes, start_unix_nanos, value)
    })
}

/// Whether the other end of an interface is in another network namespace: it is linked to another
/// interface, but not to one that stands here below it (as VLANs and bonds are). That is how the
/// host's end of a container's `veth` looks; a network card, the loopback and a tap do not.
fn leads_into_container(interface: &Path) -> bool {
    let number = |file| {
        fs::read_to_string(interface.join(file))
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    let link: Option<(u32, u32)> = number("ifindex").zip(number("iflink"));
    if !link.is_some_and(|(own, linked)| linked != 0 && linked != own) {
        return false;
    }
    let Ok(entries) = fs::read_dir(interface) else {
        return false;
    };
    !entries.flatten().any(|entry| {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        name.starts_with(b"lower_") || name == b"device"
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const HEAD: &str = "Inter-|   Receive            |  Transmit\n face |bytes    packets errs\n";
    const BOOT: u64 = 500;

    struct Node {
        sys: tempfile::TempDir,
        interfaces: Interfaces,
        seconds: u64,
        losses: Losses,
    }

    impl Node {
        fn new() -> Self {
            let sys = tempfile::tempdir().unwrap();
            Self {
                interfaces: Interfaces::new(sys.path()),
                sys,
                seconds: 0,
                losses: Losses::default(),
            }
        }

        /// An interface with its number, that of the one it is linked to, and further entries.
        fn add(&self, name: &str, number: u32, link: u32, entries: &[&str]) {
            let folder = self.sys.path().join("class/net").join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("ifindex"), format!("{number}\n")).unwrap();
            fs::write(folder.join("iflink"), format!("{link}\n")).unwrap();
            for entry in entries {
                symlink("/nowhere", folder.join(entry)).unwrap();
            }
        }

        /// Reads lines of `name value`, all counters of an interface the same.
        fn read(&mut self, interfaces: &[(&str, u64)]) -> Vec<(String, [u64; 2], u64)> {
            let mut text = HEAD.to_owned();
            for (name, value) in interfaces {
                let values = [value.to_string().as_str(); FIELDS].join(" ");
                text.push_str(&format!("{name:>6}: {values}\n"));
            }
            self.take(&text)
        }

        /// The bytes of each interface and since when.
        fn take(&mut self, text: &str) -> Vec<(String, [u64; 2], u64)> {
            self.seconds += 1;
            let now = Moment {
                since_boot_nanos: self.seconds,
                unix_nanos: 1_000 + self.seconds,
            };
            self.interfaces
                .take(text.as_bytes(), now, BOOT, &mut self.losses);
            let Some(metric) = self.interfaces.metrics().next() else {
                return Vec::new();
            };
            metric
                .points
                .chunks(2)
                .map(|pair| {
                    let count = |point: &Point| match point.value {
                        PointValue::Int(count) => count as u64,
                        _ => panic!("bytes are whole"),
                    };
                    let name = match &pair[0].attributes[0].value {
                        evenkeel_otlp::model::Value::String(name) => name.to_string(),
                        _ => panic!("names are texts"),
                    };
                    let values = [count(&pair[0]), count(&pair[1])];
                    (name, values, pair[0].start_unix_nanos)
                })
                .collect()
        }
    }

    /// Each column arrives under its name and direction.
    #[test]
    fn columns_by_name() {
        let mut node = Node::new();
        node.take(&format!(
            "{HEAD}  eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
        ));
        let found: Vec<_> = node
            .interfaces
            .metrics()
            .map(|metric| {
                let keys: Vec<_> = metric.points[0]
                    .attributes
                    .iter()
                    .map(|own| own.key.clone())
                    .collect();
                assert!(keys.is_sorted());
                let values: Vec<_> = metric.points.iter().map(|p| p.value.clone()).collect();
                (metric.descriptor.name, values)
            })
            .collect();
        let pair = |received: i64, transmitted: i64| {
            vec![PointValue::Int(received), PointValue::Int(transmitted)]
        };
        assert_eq!(
            found,
            [
                ("system.network.io", pair(1, 9)),
                ("system.network.packet.count", pair(2, 10)),
                ("system.network.errors", pair(3, 11)),
                ("system.network.packet.dropped", pair(4, 12)),
            ]
        );
    }

    /// Cards, loopback, VLANs, bonds and taps have series of their own; what leads into containers is
    /// in the sum.
    #[test]
    fn containers_are_folded() {
        let mut node = Node::new();
        node.add("lo", 1, 1, &[]);
        node.add("eth0", 2, 2, &["device"]);
        node.add("eth0.5", 3, 2, &["lower_eth0"]);
        node.add("gre0", 4, 0, &[]);
        node.add("tap0", 5, 5, &[]);
        node.add("veth1a", 9, 2, &["upper_cni0"]);
        node.add("cali2", 10, 3, &[]);
        // A card whose driver links it to another (a function of an adapter).
        node.add("eth1", 11, 2, &["device"]);
        let all = [
            "lo", "eth0", "eth0.5", "gre0", "tap0", "veth1a", "cali2", "eth1", "odd",
        ];
        let found = node.read(&all.map(|name| (name, 7)));
        let names: Vec<_> = found.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "eth0", "eth0.5", "eth1", "gre0", "lo", "odd", "tap0", FOLDED
            ]
        );
        assert_eq!(found[0], ("eth0".into(), [7, 7], BOOT));
        assert_eq!(found[7], (FOLDED.into(), [0, 0], 1_001));
    }

    /// The sum has what containers carried from the first reading on, those that came and went
    /// between readings included as far as they were seen, and never falls.
    #[test]
    fn the_sum_outlives_its_parts() {
        let mut node = Node::new();
        for name in ["veth1", "veth2", "veth3"] {
            node.add(name, 9, 2, &[]);
        }
        let mut sum = |interfaces: &[(&str, u64)]| {
            let found = node.read(interfaces);
            assert_eq!(found.len(), 1);
            assert_eq!(found[0].2, 1_001, "one start for all");
            found[0].1[0]
        };
        assert_eq!(sum(&[("veth1", 1000)]), 0);
        assert_eq!(sum(&[("veth1", 1010), ("veth2", 5)]), 15);
        assert_eq!(sum(&[("veth2", 6)]), 16);
        // The same name, another container.
        assert_eq!(sum(&[("veth2", 2), ("veth3", 1)]), 19);
        assert_eq!(sum(&[]), 19);
        assert_eq!(node.losses, Losses::default());
    }

    /// Beyond the bound interfaces are counted and in the sum, and stay there.
    #[test]
    fn the_bound_is_counted() {
        let mut node = Node::new();
        let names: Vec<_> = (0..MAX_NAMED + 2).map(|n| format!("tun{n:03}")).collect();
        let all: Vec<_> = names.iter().map(|name| (name.as_str(), 5)).collect();
        assert_eq!(node.read(&all).len(), MAX_NAMED + 1);
        assert_eq!(node.losses.series_full, 2);
        // Room for one more, but what is in the sum already is not counted anew elsewhere.
        let later: Vec<_> = names
            .iter()
            .skip(1)
            .map(|name| (name.as_str(), 9))
            .collect();
        let found = node.read(&later);
        assert_eq!(found.len(), MAX_NAMED);
        assert_eq!(found.last().unwrap(), &(FOLDED.into(), [8, 8], 1_001));
        assert_eq!(node.losses.series_full, 2);
    }

    /// Broken lines are counted, publish nothing and spoil no other.
    #[test]
    fn broken_lines_are_counted() {
        let good = format!("{HEAD}eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n");
        for bad in [
            "\n",
            "eth1\n",
            "eth1:\n",
            ": 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n",
            "eth1: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n",
            "eth1: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 -1\n",
            "eth1: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 99999999999999999999\n",
            "eth1: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
            "eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n",
        ] {
            let mut node = Node::new();
            let found = node.take(&format!("{good}{bad}"));
            assert_eq!(found, [("eth0".into(), [1, 9], BOOT)], "{bad:?}");
            assert_eq!(node.losses.invalid, 1, "{bad:?}");
        }
        assert!(Node::new().take("").is_empty());
        // A name may hold what it likes but blanks, and columns may lack the blank before them.
        let found = Node::new().take(&format!(
            "{HEAD}a|b:1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
        ));
        assert_eq!(found.len(), 1);
    }
}
