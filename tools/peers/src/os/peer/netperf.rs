//! netperf: request/response and connections over loopback, against its own server.

use super::{Cpus, Measure, Peer, figure, first_line, one};
use crate::parse::netperf::{connection_ns, transaction_ns};

pub struct Netperf;

const MEASURES: &[Measure] = &[
    Measure {
        cpus: Cpus::Two,
        server: Some("netserver -D -4 -p {port}"),
        ..one(
            "netperf -p {port} -H 127.0.0.1 -t TCP_RR -l 1 -- -r 56,64 -D -k TRANSACTION_RATE",
            &[figure("tcp", transaction_ns)],
            "a mean over a second; the system's congestion control, where ours sets cubic. Whether the two CPUs wake each \
             other from idle or not decides both figures",
        )
    },
    Measure {
        cpus: Cpus::Two,
        server: Some("netserver -D -4 -p {port}"),
        ..one(
            "netperf -p {port} -H 127.0.0.1 -t TCP_CC -l 1",
            &[figure("connect", connection_ns)],
            "socket, bind, connect and an orderly close that waits for the other side, in one figure; ours is connect alone \
             (its close is a row of its own)",
        )
    },
];

impl Peer for Netperf {
    fn id(&self) -> &'static str {
        "netperf"
    }

    fn source(&self) -> &'static str {
        "https://github.com/HewlettPackard/netperf (docs/peers.md)"
    }

    fn version(&self) -> Result<String, String> {
        first_line(&self.program("netperf")?, &["-V"])
    }

    fn measures(&self) -> &'static [Measure] {
        MEASURES
    }
}
