//! Packets and connections that found no room in a queue, as the kernel counts them in `/proc/net`.
//!
//! `netstat` and `snmp` (`net/ipv4/proc.c`) are pairs of lines, names then values, of one network
//! namespace: the host's if the agent may look there. `softnet_stat` (`net/core/net-procfs.c`) has a
//! line of 32-bit hex counters for each online CPU, for all namespaces.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use evenkeel_semconv::attribute::value::evenkeel_network_queue_drop_reason as reason;

/// Columns of `softnet_stat`: dropped, squeezed; the CPU's number since 5.10.
const DROPPED: usize = 1;
const SQUEEZED: usize = 2;
const CPU: usize = 12;

/// Growth since the first reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Growth {
    last: Option<u64>,
    grown: u64,
}

impl Growth {
    /// Takes a reading of a counter of 64 bits. One that goes back was reset, as when the host's
    /// namespace was only now found, and adds nothing.
    fn take(&mut self, now: u64) {
        if let Some(last) = self.last {
            self.grown = self.grown.saturating_add(now.saturating_sub(last));
        }
        self.last = Some(now);
    }

    /// Takes a reading of a counter that wraps at 32 bits.
    fn take_wrapping(&mut self, now: u32) {
        if let Some(last) = self.last {
            let grown = now.wrapping_sub(last as u32);
            self.grown = self.grown.saturating_add(u64::from(grown));
        }
        self.last = Some(u64::from(now));
    }
}

/// Drops by queue since the first reading. What the kernel does not print is absent.
#[derive(Debug)]
pub(super) struct QueueDrops {
    proc_root: PathBuf,
    by_reason: BTreeMap<&'static str, Growth>,
    /// Dropped and squeezed, by CPU.
    softnet: BTreeMap<u32, [Growth; 2]>,
    unreadable: u64,
}

impl QueueDrops {
    /// Takes the first reading.
    pub(super) fn new(proc_root: &Path) -> Self {
        let mut drops = Self {
            proc_root: proc_root.to_owned(),
            by_reason: BTreeMap::new(),
            softnet: BTreeMap::new(),
            unreadable: 0,
        };
        drops.read();
        drops
    }

    /// Takes another reading.
    pub(super) fn read(&mut self) {
        if let Some(text) = self.file("softnet_stat") {
            self.take_softnet(&text);
        }
        if let Some(text) = self.file("netstat") {
            let tcp = pairs(&text, "TcpExt:");
            let overflows = tcp.get("ListenOverflows");
            self.take(reason::ACCEPT_QUEUE, overflows);
            // Overflows are among the drops.
            let others = tcp
                .get("ListenDrops")
                .zip(overflows)
                .map(|(drops, overflows)| drops.saturating_sub(*overflows));
            self.take(reason::LISTEN, others.as_ref());
            self.take(reason::TCP_BACKLOG, tcp.get("TCPBacklogDrop"));
            self.take(reason::TCP_RECEIVE_QUEUE, tcp.get("TCPRcvQDrop"));
        }
        if let Some(text) = self.file("snmp") {
            let udp = pairs(&text, "Udp:");
            self.take(reason::UDP_RECEIVE_QUEUE, udp.get("RcvbufErrors"));
            self.take(reason::UDP_SEND_QUEUE, udp.get("SndbufErrors"));
        }
    }

    /// A file of the host's network namespace, or else of the agent's.
    fn file(&mut self, name: &str) -> Option<String> {
        let host = self.proc_root.join("1/net").join(name);
        let own = self.proc_root.join("net").join(name);
        let text = fs::read_to_string(host).or_else(|_| fs::read_to_string(&own));
        text.inspect_err(|error| {
            tracing::debug!(%error, file = %own.display(), "Queue drops are not counted.");
            self.unreadable += 1;
        })
        .ok()
    }

    fn take(&mut self, reason: &'static str, value: Option<&u64>) {
        if let Some(value) = value {
            self.by_reason.entry(reason).or_default().take(*value);
        }
    }

    fn take_softnet(&mut self, text: &str) {
        for (line, position) in text.lines().zip(0_u32..) {
            let columns: Option<Vec<u32>> = line
                .split_ascii_whitespace()
                .map(|word| u32::from_str_radix(word, 16).ok())
                .collect();
            let Some(columns) = columns else {
                continue;
            };
            let (Some(dropped), Some(squeezed)) = (columns.get(DROPPED), columns.get(SQUEEZED))
            else {
                continue;
            };
            // Without the CPU's number, lines shift when one goes offline.
            let cpu = columns.get(CPU).copied().unwrap_or(position);
            let [drops, squeezes] = self.softnet.entry(cpu).or_default();
            drops.take_wrapping(*dropped);
            squeezes.take_wrapping(*squeezed);
        }
    }

    /// Drops by reason since the first reading.
    pub(super) fn by_reason(&self) -> Vec<(&'static str, u64)> {
        let sockets = self
            .by_reason
            .iter()
            .map(|(reason, growth)| (*reason, growth.grown));
        let backlog = self
            .softnet_sum(0)
            .map(|dropped| (reason::CPU_BACKLOG, dropped));
        sockets.chain(backlog).collect()
    }

    /// Runs of `net_rx` that left packets, since the first reading.
    pub(super) fn squeezes(&self) -> Option<u64> {
        self.softnet_sum(1)
    }

    fn softnet_sum(&self, which: usize) -> Option<u64> {
        (!self.softnet.is_empty()).then(|| {
            self.softnet
                .values()
                .filter_map(|growths| growths.get(which))
                .map(|growth| growth.grown)
                .sum()
        })
    }

    /// Readings of a file that failed.
    pub(super) fn unreadable(&self) -> u64 {
        self.unreadable
    }
}

/// Values by name of the pair of lines that begin with `prefix`.
fn pairs<'a>(text: &'a str, prefix: &str) -> BTreeMap<&'a str, u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(prefix));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else {
        return BTreeMap::new();
    };
    names
        .split_ascii_whitespace()
        .zip(values.split_ascii_whitespace())
        .filter_map(|(name, value)| Some((name, value.parse().ok()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, folder: &str, overflows: u64, softnet: &str) {
        let net = root.join(folder);
        fs::create_dir_all(&net).unwrap();
        let drops = overflows + 5;
        let netstat = format!(
            "TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPBacklogDrop\n\
             TcpExt: 1 {overflows} {drops} 7\nIpExt: InNoRoutes\nIpExt: 3\n"
        );
        fs::write(net.join("netstat"), netstat).unwrap();
        let snmp = "Udp: InDatagrams RcvbufErrors SndbufErrors MaxConn\nUdp: 9 4 2 -1\n\
                    UdpLite: InDatagrams RcvbufErrors\nUdpLite: 1 100\n";
        fs::write(net.join("snmp"), snmp).unwrap();
        fs::write(net.join("softnet_stat"), softnet).unwrap();
    }

    /// Only growth counts, columns are found by name, and a counter of 32 bits may wrap while its
    /// CPU changes its line.
    #[test]
    fn growth_by_queue() {
        let root = tempfile::tempdir().unwrap();
        let line = |dropped: u32, squeezed: u32, cpu: u32| {
            let zeros = " 00000000".repeat(9);
            format!("0000dd12 {dropped:08x} {squeezed:08x}{zeros} {cpu:08x} 00000000 00000000\n")
        };
        let before = line(5, 1, 0) + &line(u32::MAX, 2, 1);
        write(root.path(), "net", 10, &before);
        let mut drops = QueueDrops::new(root.path());
        assert!(drops.by_reason().iter().all(|(_, count)| *count == 0));
        // CPU 0 is offline.
        write(root.path(), "net", 13, &line(2, 4, 1));
        drops.read();
        assert_eq!(
            drops.by_reason(),
            [
                (reason::ACCEPT_QUEUE, 3),
                (reason::LISTEN, 0),
                (reason::TCP_BACKLOG, 0),
                (reason::UDP_RECEIVE_QUEUE, 0),
                (reason::UDP_SEND_QUEUE, 0),
                (reason::CPU_BACKLOG, 3),
            ]
        );
        assert_eq!((drops.squeezes(), drops.unreadable()), (Some(2), 0));
        // The host's namespace can be read from now on: its larger counts are no growth that we saw,
        // but there is no telling; a smaller one is none.
        write(root.path(), "1/net", 1, &line(2, 4, 1));
        drops.read();
        assert_eq!(drops.by_reason().first(), Some(&(reason::ACCEPT_QUEUE, 3)));
    }

    /// Files that are missing, cut or nonsense give nothing, never a zero, and count as unreadable
    /// only when they are not there.
    #[test]
    fn nonsense_is_absent() {
        let root = tempfile::tempdir().unwrap();
        let drops = QueueDrops::new(root.path());
        assert_eq!((drops.by_reason(), drops.squeezes()), (vec![], None));
        assert_eq!(drops.unreadable(), 3);
        let net = root.path().join("net");
        fs::create_dir_all(&net).unwrap();
        for text in [
            "",
            "TcpExt: ListenOverflows\n",
            "TcpExt: A\nTcpExt: x\n",
            "zz 1 2\n1\n",
        ] {
            for name in ["netstat", "snmp", "softnet_stat"] {
                fs::write(net.join(name), text).unwrap();
            }
            let drops = QueueDrops::new(root.path());
            assert_eq!(
                (drops.by_reason(), drops.squeezes()),
                (vec![], None),
                "{text}"
            );
        }
    }
}
