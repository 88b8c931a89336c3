//! Packet sockets: who is handed a copy of every packet that leaves (tcpdump, lldpd, dhclient).
//!
//! For such a socket the kernel clones each outgoing packet, and a clone may not refer to a program's memory: what a
//! zero-copy send lent is copied then, in the sender's time.
//! Sources: packet(7), proc(5), net/core/dev.c (dev_queue_xmit_nit), net/core/skbuff.c (skb_orphan_frags).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::{Mutex, PoisonError};

/// What a case records of an end that has some.
pub const FACT: &str = "packet_sockets";

/// What to do about them.
pub const REMEDY: &str = "stop it while you measure; it does not see the veth path";

/// What they do to figures.
pub const CONSEQUENCE: &str = "zero-copy sends are copied for it, and the sender pays for that";

/// Those of both ends of a path, by its facts.
pub fn of_ends(facts: &BTreeMap<String, String>) -> impl Iterator<Item = &str> {
    facts.iter().filter(|(name, _)| name.ends_with(FACT)).map(|(_, holders)| holders.as_str())
}

/// The index of the device `lo` in every namespace.
pub const LOOPBACK: u32 = 1;

/// A line of /proc/net/packet.
struct PacketSocket {
    /// 0: all devices.
    interface: u32,
    inode: u64,
}

/// Processes that see what leaves by this device of this thread's namespace, or by any: `tcpdump (1234)`. `None`: nobody.
pub fn on(interface: Option<u32>) -> Option<String> {
    let table = fs::read_to_string("/proc/thread-self/net/packet").ok()?;
    let sees = |socket: &PacketSocket| interface.is_none_or(|index| [0, index].contains(&socket.interface));
    let inodes: BTreeSet<u64> =
        of_table(&table).into_iter().filter(sees).map(|socket| socket.inode).collect();
    if inodes.is_empty() {
        return None;
    }
    // A run gives up the right to look into other processes before its first round: what was seen is kept.
    static SEEN: Mutex<BTreeSet<(String, u64)>> = Mutex::new(BTreeSet::new());
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    seen.extend(holders(&inodes));
    let found: Vec<&(String, u64)> = seen.iter().filter(|(_, inode)| inodes.contains(inode)).collect();
    let unknown = inodes.iter().filter(|inode| found.iter().all(|(_, known)| known != *inode)).count();
    let mut names: Vec<String> = found.into_iter().map(|(name, _)| name.clone()).collect();
    names.dedup();
    // Of another user's processes, and of those in another container, nobody is told what they hold.
    names.extend((unknown > 0).then(|| format!("{unknown} of processes that are not seen from here")));
    Some(names.join(", "))
}

/// Sockets that run, and are for every protocol: others are given only what comes in.
fn of_table(table: &str) -> Vec<PacketSocket> {
    let socket = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, _, _, "0003", interface, "1", _, _, inode] = words[..] else { return None };
        Some(PacketSocket { interface: interface.parse().ok()?, inode: inode.parse().ok()? })
    };
    table.lines().filter_map(socket).collect()
}

/// The processes that have such a socket open.
fn holders(inodes: &BTreeSet<u64>) -> BTreeSet<(String, u64)> {
    let entries = |folder: &str| fs::read_dir(folder).into_iter().flatten().flatten();
    let processes =
        entries("/proc").filter_map(|entry| entry.file_name().into_string().ok()?.parse::<u32>().ok());
    let of = |process: u32| {
        entries(&format!("/proc/{process}/fd")).filter_map(move |fd| {
            let target = fs::read_link(fd.path()).ok()?.into_os_string().into_string().ok()?;
            let inode = target.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()?;
            inodes.contains(&inode).then(|| (named(process), inode))
        })
    };
    processes.flat_map(of).collect()
}

/// A process names itself as it likes.
fn named(process: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    let plain: String = name.trim().chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    format!("{plain} ({process})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sockets_that_see_what_leaves_count() {
        let table = "sk       RefCnt Type Proto  Iface R Rmem   User   Inode\n\
                     0000000000000000 3      3    0003   0     1 0      0      11\n\
                     0000000000000000 3      3    88cc   2     1 0      0      12\n\
                     0000000000000000 3      2    0003   5     0 0      0      13\n\
                     0000000000000000 3      2    0003   5     1 0      0      14\n";
        let seen: Vec<(u32, u64)> = of_table(table).iter().map(|s| (s.interface, s.inode)).collect();
        assert_eq!(seen, [(0, 11), (5, 14)]);
    }
}
