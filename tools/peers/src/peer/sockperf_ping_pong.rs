//! sockperf ping-pong: a message there and back, one after another; a quantile of the round trip.
//!
//! It sets TCP_NODELAY by itself in this test. Of its time 400 ms are a warm-up that it does not count.

use crate::cell::Cell;
use crate::external::{Call, Lane, Output, fresh_ports};
use crate::parse::{self, ParseError};
use crate::peer::{Calling, External, on_path};
use std::path::PathBuf;

/// The largest message of 3.7 (MAX_PAYLOAD_SIZE); it refuses the next.
const LARGEST_BYTES: u64 = 65_507;

pub struct SockperfPingPong {
    /// As it prints it.
    percentile: &'static str,
}

pub static P50: SockperfPingPong = SockperfPingPong { percentile: "50.000" };
pub static P99: SockperfPingPong = SockperfPingPong { percentile: "99.000" };

impl External for SockperfPingPong {
    fn id(&self) -> &'static str {
        "sockperf ping-pong"
    }

    fn source(&self) -> &'static str {
        "Debian: sockperf"
    }

    fn programs(&self) -> Result<Vec<PathBuf>, String> {
        on_path(&["sockperf"])
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["--version"]
    }

    fn not_applicable(&self, cell: &Cell) -> Option<&'static str> {
        (cell.message_bytes > LARGEST_BYTES).then_some("messages exceed its largest, 65507 bytes")
    }

    fn lanes(&self, call: &Calling<'_>) -> Vec<Lane> {
        let port = fresh_ports();
        let client = format!(
            "ping-pong --tcp -i {} -p {port} -m {} -t {} --full-rtt",
            call.address, call.cell.message_bytes, call.seconds
        );
        vec![Lane {
            server: Call::new(call.server(), &format!("server --tcp -i {} -p {port}", call.address)),
            port,
            client: Call::new(call.client(), &client),
            server_reports: false,
        }]
    }

    fn read(&self, _cell: &Cell, output: &Output) -> Result<f64, ParseError> {
        parse::sockperf::round_trip_ns(self.percentile, &output.client)
    }
}
