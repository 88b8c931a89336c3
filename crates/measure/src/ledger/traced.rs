//! The ledger that is traced in the kernel: loads the committed eBPF program, attaches it to raw
//! tracepoints and, where they allow it, functions, tells it which connections to watch, and reads its counters.
//! Source: program/ledger.bpf.c.

use super::Counts;
use super::functions::{Functions, Returned};
use super::load::{self, Sums};
use aya::Ebpf;
use aya::maps::{Array, MapData};
use std::io;
use syscost_host::Unavailable;

/// Rebuilt by program/build; a test compares.
static PROGRAM: &[u8] =
    aya::include_bytes_aligned!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/ledger/program/ledger.bpf.o"));

/// Functions of the program, and the tracepoints that call them.
const TRACEPOINTS: [(&str, &str); 4] = [
    ("left", "net_dev_start_xmit"),
    ("dropped", "kfree_skb"),
    ("arrived", "tcp_probe"),
    ("copied_out", "skb_copy_datagram_iovec"),
];

/// One that kernels before 6.3 lack. They then cannot tell what was decrypted to a receiver, which shows
/// as an imbalance of such a receiver and of no other.
const LATER: (&str, &str) = ("taken", "sock_recv_length");

/// The program's counters: its `enum counter`.
#[derive(Clone, Copy)]
enum Counter {
    LeftKernel,
    LeftLent,
    LeftShared,
    LeftAgain,
    NearKernel,
    NearLent,
    Fetched,
    ArrivedKernel,
    CopiedOut,
    Taken,
    Dropped,
    DroppedSegments,
}

/// A value of every counter.
const COUNTERS: usize = Counter::DroppedSegments as usize + 1;

fn counts_of(counted: &[u64; COUNTERS]) -> Counts {
    use Counter::*;
    let since = |counter: Counter| counted[counter as usize];
    // What came to lie in the kernel's memory on the way. A segment that was dropped before it
    // arrived only left: then the smaller figure is the one that was really copied.
    let turned = since(ArrivedKernel).saturating_sub(since(NearKernel));
    Counts {
        copied_in: since(LeftKernel),
        uncopied_in: since(LeftLent) + since(LeftShared),
        orphan_copied: since(NearLent).min(turned),
        copied_out: since(CopiedOut),
        decrypted_out: since(Taken).saturating_sub(since(CopiedOut)),
        retransmitted: since(LeftAgain),
        device_fetched: since(Fetched),
        dropped: since(Dropped),
        dropped_segments: since(DroppedSegments),
    }
}

/// Which connections to count: every one to this port between these namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// The port that the receiver listens on.
    pub port: u16,
    /// Inode numbers of both ends' network namespaces; equal on loopback.
    pub sender_namespace: u32,
    pub receiver_namespace: u32,
}

/// An attached ledger. Dropping it detaches everything.
pub struct Ledger {
    watched: Array<MapData, [u32; 4]>,
    /// Since the connections were chosen.
    counted: Sums<COUNTERS>,
    /// Of the choice of connections: sockets' addresses come back in the kernel.
    generation: u32,
    /// The second reading, where the kernel allows it.
    returned: Result<Returned, Unavailable>,
    /// Keeps the programs and their attachment alive.
    _programs: Ebpf,
}

impl Ledger {
    /// Loads and attaches the program, where this kernel and this user's rights allow it.
    pub fn attach() -> Result<Ledger, Unavailable> {
        let mut programs = load::attach(PROGRAM, &TRACEPOINTS)?;
        let _ = load::attach_one(&mut programs, LATER);
        let (watched, counted) = (load::map(&mut programs, "WATCHED")?, Sums::of(&mut programs, "COUNTED")?);
        let returned = Returned::attach(&mut programs);
        Ok(Ledger { watched, counted, generation: 0, returned, _programs: programs })
    }

    /// Counts these connections from now on, and no others.
    pub fn watch(&mut self, watched: &Watched) -> io::Result<()> {
        self.generation += 1;
        self.counted.start()?;
        if let Ok(returned) = &mut self.returned {
            returned.0.start()?;
        }
        let Watched { port, sender_namespace, receiver_namespace } = *watched;
        let value = [sender_namespace, receiver_namespace, u32::from(port), self.generation];
        self.watched.set(0, value, 0).map_err(io::Error::other)
    }

    /// Looks at no connection any more; its tracepoints cost next to nothing then.
    pub fn rest(&mut self) -> io::Result<()> {
        self.watched.set(0, [0; 4], 0).map_err(io::Error::other)
    }

    /// What was counted since the connections were chosen.
    pub fn counts(&self) -> io::Result<Counts> {
        Ok(counts_of(&self.counted.since()?))
    }

    /// The same by the kernel's functions, since then.
    pub fn functions(&self) -> io::Result<Option<Functions>> {
        self.returned.as_ref().ok().map(Returned::counts).transpose()
    }

    /// Why the functions are not looked at.
    pub fn without_functions(&self) -> Option<&Unavailable> {
        self.returned.as_ref().err()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orphan_copies_are_what_turned_into_the_kernels_memory_on_the_way() {
        use Counter::*;
        let counted = |pairs: &[(Counter, u64)]| {
            let mut counted = [0; COUNTERS];
            pairs.iter().for_each(|(counter, n)| counted[*counter as usize] = *n);
            counts_of(&counted)
        };
        let lent = |arrived| counted(&[(NearLent, 100), (LeftLent, 100), (ArrivedKernel, arrived)]);
        assert_eq!(lent(0).orphan_copied, 0, "it arrived in the pages that it left in");
        assert_eq!(lent(100).orphan_copied, 100);
        assert_eq!(lent(90).orphan_copied, 90, "10 bytes were dropped");
        let shared = counted(&[(LeftShared, 100), (ArrivedKernel, 100)]);
        assert_eq!(shared.orphan_copied, 0, "nobody waits for these pages: none is copied");
        assert_eq!(shared.uncopied_in, 100);
    }
}
