//! sockperf throughput over TCP: a server and a client per stream; the sender's rate.
//!
//! In this mode Nagle's algorithm is on unless `--tcp-avoid-nodelay`, whose name says the reverse,
//! is given (seen with strace: it makes the client set TCP_NODELAY).

use super::{Calling, External, Found, Settings, on_path};
use crate::cell::Cell;
use crate::external::{Call, Lane, Output, fresh_ports};
use crate::parse::{self, ParseError};
use std::path::PathBuf;

/// The largest message of 3.7 (MAX_PAYLOAD_SIZE); it refuses the next.
const LARGEST_BYTES: u64 = 65_507;

pub struct Sockperf;

impl External for Sockperf {
    fn id(&self) -> &'static str {
        "sockperf"
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

    /// It reads its largest message at a time (seen with strace).
    fn alike(&self, _cell: &Cell, _found: &Found) -> Settings {
        vec![("read_bytes", LARGEST_BYTES.to_string())]
    }

    fn lanes(&self, call: &Calling<'_>) -> Vec<Lane> {
        let lane = |_| {
            let port = fresh_ports();
            let client = format!(
                "throughput --tcp -i {} -p {port} -m {} -t {} {}",
                call.address,
                call.cell.message_bytes,
                call.seconds,
                call.if_nodelay("--tcp-avoid-nodelay")
            );
            Lane {
                server: Call::new(call.server(), &format!("server --tcp -i {} -p {port}", call.address)),
                port,
                client: Call::new(call.client(), &client),
                server_reports: false,
            }
        };
        (0..call.cell.streams).map(lane).collect()
    }

    fn read(&self, cell: &Cell, output: &Output) -> Result<f64, ParseError> {
        parse::sockperf::bits_per_second(&output.client, cell.message_bytes)
    }
}
