//! netperf TCP_RR: a request and a response of the message's size, one after another.
//!
//! Its rate is over all transactions, so that its figure is a mean: its own percentiles are whole
//! microseconds.

use crate::cell::Cell;
use crate::external::{Call, Lane, Output, fresh_ports};
use crate::parse::{self, ParseError};
use crate::peer::{Calling, External, on_path};
use std::path::PathBuf;

pub struct NetperfRr {
    id: &'static str,
    /// What it is asked for, and how that is read.
    field: &'static str,
    read: fn(&str) -> Result<f64, ParseError>,
}

pub static MEAN: NetperfRr =
    NetperfRr { id: "netperf TCP_RR", field: "TRANSACTION_RATE", read: parse::netperf::transaction_ns };
pub static P99: NetperfRr =
    NetperfRr { id: "netperf TCP_RR", field: "P99_LATENCY", read: parse::netperf::latency_ns };

impl External for NetperfRr {
    fn id(&self) -> &'static str {
        self.id
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
        let port = fresh_ports();
        let client = format!(
            "-4 -H {} -p {port} -t TCP_RR -l {} -P 0 -- -P 0,{} -r {size},{size} {} -k {}",
            call.address,
            call.seconds,
            port + 1,
            call.if_nodelay("-D"),
            self.field,
            size = call.cell.message_bytes
        );
        vec![Lane {
            server: Call::new(call.server(), &format!("-D -f -4 -p {port}")),
            port,
            client: Call::new(call.client(), &client),
            server_reports: false,
        }]
    }

    fn read(&self, _cell: &Cell, output: &Output) -> Result<f64, ParseError> {
        (self.read)(&output.client)
    }
}
