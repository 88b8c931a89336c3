//! Where the kernel dropped datagrams, by its own counters: of this socket, and of the links and queues of this namespace.
//!
//! A socket's count is of its own datagrams. The others are the namespace's: they hold what others lost in it too.
//! Sources: proc(5) (/proc/net/dev, /proc/net/snmp), rtnetlink(7).

use std::fs;
use syscost_sys::netlink::Netlink;

/// Counts of a network namespace so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NamespaceDrops {
    /// By queue disciplines, on the way out.
    pub queue: u64,
    /// By links, in and out.
    pub device: u64,
    /// With a wrong checksum: the sockets count them too.
    pub checksum: u64,
}

impl NamespaceDrops {
    /// What cannot be read counts nothing: a loss is then in no counter.
    pub fn now() -> NamespaceDrops {
        let queue = Netlink::open().and_then(|mut netlink| netlink.queue_drops()).unwrap_or(0);
        let read =
            |file: &str| fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap_or_default();
        let checksum = of_protocol(&read("snmp"), "Udp", "InCsumErrors");
        NamespaceDrops { queue, device: of_links(&read("dev")), checksum }
    }

    pub fn since(self, before: NamespaceDrops) -> NamespaceDrops {
        NamespaceDrops {
            queue: self.queue.saturating_sub(before.queue),
            device: self.device.saturating_sub(before.device),
            checksum: self.checksum.saturating_sub(before.checksum),
        }
    }
}

/// Packets dropped by links, in and out, of /proc/net/dev.
fn of_links(table: &str) -> u64 {
    const IN: usize = 3;
    const OUT: usize = 11;
    let of = |line: &str| {
        let counts: Vec<u64> =
            line.split_once(':')?.1.split_whitespace().map_while(|n| n.parse().ok()).collect();
        Some(counts.get(IN)? + counts.get(OUT)?)
    };
    table.lines().filter_map(of).sum()
}

/// A count of /proc/net/snmp: a line of names, and one of numbers.
fn of_protocol(table: &str, protocol: &str, name: &str) -> u64 {
    let mut lines = table.lines().filter_map(|line| line.split_once(':')).filter(|(of, _)| *of == protocol);
    let (names, counts) = (lines.next(), lines.next());
    let count = names.zip(counts).and_then(|((_, names), (_, counts))| {
        let at = names.split_whitespace().position(|one| one == name)?;
        counts.split_whitespace().nth(at)?.parse().ok()
    });
    count.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_the_kernel_are_read_by_their_columns() {
        let dev = "Inter-|   Receive  |  Transmit\n face |bytes packets\n    lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n\
                   veth0: 0 0 0 100 0 0 0 0 0 0 0 7 0 0 0 0\n";
        assert_eq!(of_links(dev), 4 + 12 + 107);
        let snmp = "Ip: Forwarding InDiscards\nIp: 1 9\nUdp: InDatagrams InCsumErrors\nUdp: 5 3\n";
        assert_eq!(of_protocol(snmp, "Udp", "InCsumErrors"), 3);
        assert_eq!(of_protocol(snmp, "UdpLite", "InCsumErrors"), 0);
    }
}
