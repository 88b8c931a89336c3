//! netperf TCP_STREAM: a netserver and a netperf per stream; timed until the receiver has closed.
//!
//! netserver stays in the foreground and does not fork (-D -f), so that it can be ended.

use super::{Calling, External, on_path};
use crate::cell::Cell;
use crate::external::{Call, Lane, Output, fresh_ports};
use crate::parse::{self, ParseError};
use std::path::PathBuf;

pub struct Netperf;

impl External for Netperf {
    fn id(&self) -> &'static str {
        "netperf"
    }

    fn source(&self) -> &'static str {
        "https://github.com/HewlettPackard/netperf (./autogen.sh && ./configure && make -C src)"
    }

    fn programs(&self) -> Result<Vec<PathBuf>, String> {
        on_path(&["netperf", "netserver"])
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["-V"]
    }

    fn lanes(&self, call: &Calling<'_>) -> Vec<Lane> {
        let lane = |_| {
            let port = fresh_ports();
            let client = format!(
                "-4 -H {} -p {port} -t TCP_STREAM -l {} -P 0 -f k -- -P 0,{} -m {} {} -k THROUGHPUT,THROUGHPUT_UNITS",
                call.address,
                call.seconds,
                port + 1,
                call.cell.message_bytes,
                call.if_nodelay("-D")
            );
            Lane {
                server: Call::new(call.server(), &format!("-D -f -4 -p {port}")),
                port,
                client: Call::new(call.client(), &client),
                server_reports: false,
            }
        };
        (0..call.cell.streams).map(lane).collect()
    }

    fn read(&self, _cell: &Cell, output: &Output) -> Result<f64, ParseError> {
        parse::netperf::bits_per_second(&output.client)
    }
}
