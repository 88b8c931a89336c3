//! qperf tcp_bw: a server and a client per stream; the receiver's rate. It never sets TCP_NODELAY.

use super::{Calling, External, Found, Settings, on_path, reads_messages};
use crate::cell::Cell;
use crate::external::{Call, Lane, Output, fresh_ports};
use crate::parse::{self, ParseError};
use std::path::PathBuf;

pub struct Qperf;

impl External for Qperf {
    fn id(&self) -> &'static str {
        "qperf"
    }

    fn source(&self) -> &'static str {
        "Debian: qperf"
    }

    fn programs(&self) -> Result<Vec<PathBuf>, String> {
        on_path(&["qperf"])
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["--version"]
    }

    fn not_applicable(&self, cell: &Cell) -> Option<&'static str> {
        cell.nodelay.then_some("TCP_NODELAY is on: it has no option for it")
    }

    /// It reads a message at a time (seen with strace).
    fn alike(&self, _cell: &Cell, _found: &Found) -> Settings {
        vec![reads_messages()]
    }

    fn lanes(&self, call: &Calling<'_>) -> Vec<Lane> {
        let lane = |_| {
            let port = fresh_ports();
            let client = format!(
                "-lp {port} -ip {} -uu -e 9 -t {} -m {} {} tcp_bw",
                port + 1,
                call.seconds,
                call.cell.message_bytes,
                call.address
            );
            Lane {
                server: Call::new(call.server(), &format!("-lp {port}")),
                port,
                client: Call::new(call.client(), &client),
                server_reports: false,
            }
        };
        (0..call.cell.streams).map(lane).collect()
    }

    fn read(&self, _cell: &Cell, output: &Output) -> Result<f64, ParseError> {
        parse::qperf::bits_per_second(&output.client)
    }
}
