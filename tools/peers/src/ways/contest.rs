//! The contests: a case of ours and the programs that move data in the same way. One visible list.
//!
//! A contest says what both sides have in common beside the place and the message size. What a
//! program cannot be told (its buffers, its missing TCP_NODELAY) ours is told.

use super::rival::{
    LARGEST_BYTES, msg_zerocopy, neper_rr, netperf_rr, netperf_sendfile, sockperf_ping_pong, stamped,
    tcp_mmap, uring_example, uring_selftest,
};
use crate::cell::{Cell, Path};
use crate::peer::{Peer, fio, iperf3, neper, netperf, nuttcp};
use syscost_core::units::Unit;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Payload bits per second: more is better.
    Throughput,
    /// Nanoseconds of a message or a round trip: less is better.
    Latency,
}

impl Measure {
    pub fn unit(self) -> Unit {
        match self {
            Measure::Throughput => Unit::BitsPerSecond,
            Measure::Latency => Unit::Nanoseconds,
        }
    }
}

pub struct Contest {
    pub id: &'static str,
    pub probe: &'static str,
    pub metric: &'static str,
    pub measure: Measure,
    /// Axes of ours by id, values as on the command line; the rest keeps the study's defaults.
    pub at: &'static [(&'static str, &'static str)],
    /// Ours has messages in flight in memory of their own: as many as [`in_flight`] says.
    pub holds: bool,
    pub nodelay: bool,
    /// The veth pair's MTU where it is not the usual; then there is no contest on loopback.
    pub mtu: Option<u32>,
    /// Message sizes outside are left out, or cut to the largest.
    pub bytes: (u64, u64),
    pub rivals: &'static [&'static dyn Peer],
    /// What both sides have in common, and what they do not.
    pub terms: &'static str,
}

const USUAL: Contest = Contest {
    id: "",
    probe: "transfer",
    metric: "throughput",
    measure: Measure::Throughput,
    at: &[],
    holds: false,
    nodelay: true,
    mtu: None,
    bytes: (8, 1 << 30),
    rivals: &[],
    terms: "",
};

/// Messages in flight, where a sender may not write to those that the kernel still reads. The programs
/// reuse one buffer at once and are limited by the socket's buffer alone. Few make the sender wait, many
/// leave the caches: 4 MiB are best here at 16 KiB and at 64 KiB.
pub fn in_flight(message_bytes: u64) -> u64 {
    ((4 << 20) / message_bytes).clamp(32, 256)
}

const UP_TO_A_PACKET: (u64, u64) = (8, LARGEST_BYTES);

const URING_TERMS: &str = "eight requests are submitted together on both sides; ours are linked, so that no message \
    overtakes another, theirs are not; with zero-copy theirs sends from one buffer again and again, ours has 4 MiB \
    of them (32 to 256) and sends from none that the kernel still reads; SO_SNDBUF and SO_RCVBUF are asked to be 2 MiB, TCP_NODELAY is off: the programs \
    set no other. One receiver of ours for both";

const COMPLETIONS: &str = "both send one buffer a message with sendmsg(2); theirs reads completions every 32 messages and calls \
    poll(2) after each, with one buffer for all messages; ours reads them every 32 too, has 4 MiB of buffers (32 to 256 messages) and never sends \
    from memory that the kernel still reads. SO_SNDBUF and SO_RCVBUF are asked to be 2 MiB, TCP_NODELAY is off. One receiver of ours for both";

const OPEN_TERMS: &str = "messages one way at a fixed rate, timed from when each was due; TCP_NODELAY on; both receivers read 128 KiB a call. \
    Theirs has due and sent times in every message, and its sender reads the clock in a loop where ours sleeps while there is time";

/// A quantile of the open loop at a rate, beside a sender and a receiver that share no code with ours.
const fn open(
    id: &'static str,
    metric: &'static str,
    at: &'static [(&'static str, &'static str)],
    rivals: &'static [&'static dyn Peer],
) -> Contest {
    Contest {
        id,
        probe: "tcp_latency",
        metric,
        measure: Measure::Latency,
        at,
        bytes: (64, 16 << 10),
        rivals,
        terms: OPEN_TERMS,
        ..USUAL
    }
}

const OPEN_10K: &[(&str, &str)] =
    &[("loop", "open"), ("rate", "10000"), ("mechanism", "send"), ("receiver", "recv")];
const OPEN_50K: &[(&str, &str)] =
    &[("loop", "open"), ("rate", "50000"), ("mechanism", "send"), ("receiver", "recv")];
const OPEN_100K: &[(&str, &str)] =
    &[("loop", "open"), ("rate", "100000"), ("mechanism", "send"), ("receiver", "recv")];

/// Every contest, in the order of the page.
pub static ALL: &[Contest] = &[
    Contest {
        id: "send",
        at: &[("mechanism", "send"), ("receiver", "recv")],
        rivals: &[&netperf::Netperf, &iperf3::NEWEST, &neper::Neper, &nuttcp::Nuttcp],
        terms: "one send(2) of one buffer a message, each with its own receiver; TCP_NODELAY on",
        ..USUAL
    },
    Contest {
        id: "sendfile",
        at: &[("mechanism", "sendfile"), ("receiver", "recv")],
        rivals: &[&netperf_sendfile::NetperfSendfile, &iperf3::SENDFILE],
        terms: "sendfile(2) from a file in the page cache, each with its own receiver; TCP_NODELAY on",
        ..USUAL
    },
    Contest {
        id: "vmsplice",
        at: &[("mechanism", "vmsplice"), ("receiver", "recv")],
        nodelay: false,
        rivals: &[&fio::NETSPLICE],
        terms: "vmsplice(2) of a buffer into a pipe and splice(2) to the socket; TCP_NODELAY off: fio cannot set it without \
            undoing it. Both receivers copy. fio sends from one buffer again and again, ours never writes to memory that is still to be read",
        ..USUAL
    },
    Contest {
        id: "io_uring_send",
        at: &[
            ("mechanism", "io_uring_send"),
            ("receiver", "recv"),
            ("messages_per_call", "8"),
            ("socket_buffer_bytes", "2M"),
        ],
        nodelay: false,
        bytes: UP_TO_A_PACKET,
        rivals: &[&uring_selftest::SEND, &uring_example::SEND],
        terms: URING_TERMS,
        ..USUAL
    },
    Contest {
        id: "io_uring_send_zc",
        at: &[
            ("mechanism", "io_uring_send_zc"),
            ("receiver", "recv"),
            ("reap_batch", "32"),
            ("messages_per_call", "8"),
            ("socket_buffer_bytes", "2M"),
        ],
        holds: true,
        nodelay: false,
        bytes: UP_TO_A_PACKET,
        rivals: &[&uring_selftest::SEND_ZC, &uring_example::SEND_ZC],
        terms: URING_TERMS,
        ..USUAL
    },
    Contest {
        id: "io_uring_send_zc_registered",
        at: &[
            ("mechanism", "io_uring_send_zc"),
            ("registered", "on"),
            ("receiver", "recv"),
            ("reap_batch", "32"),
            ("messages_per_call", "8"),
            ("socket_buffer_bytes", "2M"),
        ],
        holds: true,
        nodelay: false,
        bytes: UP_TO_A_PACKET,
        rivals: &[&uring_selftest::SEND_ZC_REGISTERED, &uring_example::SEND_ZC_REGISTERED],
        terms: URING_TERMS,
        ..USUAL
    },
    Contest {
        id: "send_zerocopy",
        at: &[
            ("mechanism", "send_zerocopy"),
            ("receiver", "recv"),
            ("socket_buffer_bytes", "2M"),
            ("reap_batch", "32"),
        ],
        holds: true,
        nodelay: false,
        bytes: UP_TO_A_PACKET,
        rivals: &[&msg_zerocopy::RECEIVED],
        terms: COMPLETIONS,
        ..USUAL
    },
    Contest {
        id: "send_zerocopy_dropped",
        at: &[
            ("mechanism", "send_zerocopy"),
            ("receiver", "recv_trunc"),
            ("socket_buffer_bytes", "2M"),
            ("reap_batch", "32"),
        ],
        holds: true,
        nodelay: false,
        bytes: UP_TO_A_PACKET,
        rivals: &[&msg_zerocopy::DROPPED],
        terms: "as the last, with a receiver of ours that drops what arrives (MSG_TRUNC), as theirs does",
        ..USUAL
    },
    Contest {
        id: "msg_zerocopy",
        at: &[
            ("mechanism", "msg_zerocopy"),
            ("receiver", "recv"),
            ("socket_buffer_bytes", "2M"),
            ("reap_batch", "32"),
        ],
        holds: true,
        nodelay: false,
        bytes: UP_TO_A_PACKET,
        rivals: &[&msg_zerocopy::RECEIVED],
        terms: "as send_zerocopy, but ours gathers eight pieces a message: what that costs, not an equal contest",
        ..USUAL
    },
    Contest {
        id: "tcp_zerocopy_receive",
        at: &[
            ("mechanism", "send_zerocopy"),
            ("receiver", "tcp_zerocopy_receive"),
            ("socket_buffer_bytes", "2M"),
        ],
        nodelay: false,
        mtu: Some(4148),
        bytes: (256 << 10, 1 << 30),
        rivals: &[&tcp_mmap::TcpMmap],
        terms: "MSG_ZEROCOPY into mapped pages, on a veth pair whose MTU is a page and its headers; 2 MiB of buffers and \
            TCP_NODELAY off on both sides. Both send one aligned buffer; theirs the same again and again, reading no completions",
        ..USUAL
    },
    Contest {
        id: "tcp_latency",
        probe: "tcp_latency",
        metric: "latency_p50",
        measure: Measure::Latency,
        at: &[("loop", "closed"), ("mechanism", "send"), ("receiver", "recv")],
        rivals: &[&sockperf_ping_pong::SockperfPingPong, &netperf_rr::NetperfRr, &neper_rr::NeperRr],
        terms: "a message there and one of the same size back, one after another; TCP_NODELAY on. Medians, netperf's a mean",
        ..USUAL
    },
    open("open_10k_p50", "latency_p50", OPEN_10K, &[&stamped::AT_10K[0]]),
    open("open_10k_p99", "latency_p99", OPEN_10K, &[&stamped::AT_10K[1]]),
    open("open_10k_p999", "latency_p999", OPEN_10K, &[&stamped::AT_10K[2]]),
    open("open_50k_p50", "latency_p50", OPEN_50K, &[&stamped::AT_50K[0]]),
    open("open_50k_p99", "latency_p99", OPEN_50K, &[&stamped::AT_50K[1]]),
    open("open_50k_p999", "latency_p999", OPEN_50K, &[&stamped::AT_50K[2]]),
    open("open_100k_p50", "latency_p50", OPEN_100K, &[&stamped::AT_100K[0]]),
    open("open_100k_p99", "latency_p99", OPEN_100K, &[&stamped::AT_100K[1]]),
    open("open_100k_p999", "latency_p999", OPEN_100K, &[&stamped::AT_100K[2]]),
];

impl Contest {
    /// Its cells at these paths and sizes.
    pub fn cells(&self, paths: &[Path], sizes: &[u64]) -> Vec<Cell> {
        let mut cells: Vec<Cell> = Vec::new();
        for path in paths.iter().filter(|path| self.mtu.is_none() || **path == Path::Veth) {
            for size in sizes.iter().filter(|size| **size >= self.bytes.0) {
                let message_bytes = (*size).min(self.bytes.1);
                cells.push(Cell { path: *path, nodelay: self.nodelay, streams: 1, message_bytes });
            }
        }
        cells.sort();
        cells.dedup();
        cells
    }
}
