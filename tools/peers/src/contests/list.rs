//! The contests: a case of ours and the programs that move data in the same way. One visible list.
//!
//! A contest says what both sides have in common beside the place and the message size. What a
//! program cannot be told (its buffers, its missing TCP_NODELAY) ours is told.

use super::contest::{Contest, Measure, On, USUAL};
use crate::peer::into_sink::LARGEST_BYTES;
use crate::peer::{
    Peer, fio, iperf3, msg_zerocopy, neper, neper_rr, netperf, netperf_rr, netperf_sendfile, nuttcp, qperf,
    sockperf, sockperf_ping_pong, stamped, syscost, tcp_mmap, uring_example, uring_selftest,
};

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

/// A quantile of the round trip, one message at a time.
const fn round_trip(id: &'static str, metric: &'static str, rivals: &'static [&'static dyn Peer]) -> Contest {
    Contest {
        id,
        page: On::Plain,
        probe: "tcp_latency",
        metric,
        measure: Measure::Latency,
        at: &[("loop", "closed"), ("mechanism", "send"), ("receiver", "recv")],
        bytes: (8, 64 << 10),
        rivals,
        terms: "a message there and one of the same size back, one after another; TCP_NODELAY on. netperf's \
            quantiles are whole microseconds: its mean is beside ours",
        ..USUAL
    }
}

const PLAIN: &[(&str, &str)] = &[("mechanism", "send"), ("receiver", "recv"), ("socket_buffer_bytes", "0")];

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
        page: On::Plain,
        at: PLAIN,
        nodelay: &[false, true],
        streams: &[1, 2],
        rivals: &[
            &netperf::Netperf,
            &iperf3::FROM_PATH,
            &iperf3::FROM_ENVIRONMENT,
            &neper::Neper,
            &nuttcp::Nuttcp,
            &qperf::Qperf,
            &sockperf::Sockperf,
            &fio::NET,
        ],
        terms: "one send(2) of one buffer a message, each with its own receiver. Ours is told to do as the program does: \
            the bytes that it reads at a time, its streams a thread, its MSG_MORE. Both windows are a second",
        ..USUAL
    },
    Contest {
        id: "variants",
        page: On::Plain,
        at: PLAIN,
        nodelay: &[false, true],
        streams: &[1, 2],
        rivals: &[
            &syscost::TWIN,
            &syscost::READS_MESSAGES,
            &syscost::READS_16K,
            &syscost::LOW_WATER,
            &syscost::ONE_THREAD,
            &syscost::MSG_MORE,
        ],
        terms: "syscost as a default run has it, beside itself with one setting changed: what a program that does so gains. \
            The twin is the same again: what chance alone shows",
        ..USUAL
    },
    round_trip("round_trip_p50", "latency_p50", &[&sockperf_ping_pong::P50, &neper_rr::P50]),
    round_trip("round_trip_mean", "latency_mean", &[&netperf_rr::MEAN]),
    round_trip(
        "round_trip_p99",
        "latency_p99",
        &[&sockperf_ping_pong::P99, &netperf_rr::P99, &neper_rr::P99],
    ),
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
        nodelay: &[false],
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
        nodelay: &[false],
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
        nodelay: &[false],
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
        nodelay: &[false],
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
        nodelay: &[false],
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
        nodelay: &[false],
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
        nodelay: &[false],
        bytes: UP_TO_A_PACKET,
        rivals: &[&msg_zerocopy::RECEIVED],
        terms: "as send_zerocopy, but ours gathers eight pieces a message: what that costs, not an equal contest (send_zerocopy is ours with one piece)",
        ..USUAL
    },
    Contest {
        id: "tcp_zerocopy_receive",
        at: &[
            ("mechanism", "send_zerocopy"),
            ("receiver", "tcp_zerocopy_receive"),
            ("socket_buffer_bytes", "2M"),
        ],
        nodelay: &[false],
        mtu: Some(4148),
        bytes: (256 << 10, 1 << 30),
        rivals: &[&tcp_mmap::TcpMmap],
        terms: "MSG_ZEROCOPY into mapped pages, on a veth pair whose MTU is a page and its headers; 2 MiB of buffers and \
            TCP_NODELAY off on both sides. Both send one aligned buffer; theirs the same again and again, reading no completions",
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
