//! netperf TCP_RR: a request and a response of the message's size, one after another.
//!
//! Its rate is over all transactions, so that its figure is a mean: its own percentiles are whole
//! microseconds.

use crate::cell::Cell;
use crate::external::{Call, Lane, Output, fresh_ports};
use crate::parse::{self, ParseError};
use crate::peer::{Calling, External, on_path};
use std::path::PathBuf;

pub struct NetperfRr;

impl External for NetperfRr {
    fn id(&self) -> &'static str {
        "netperf TCP_RR"
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
            "-4 -H {} -p {port} -t TCP_RR -l {} -P 0 -- -P 0,{} -r {size},{size} {} -k TRANSACTION_RATE",
            call.address,
            call.seconds,
            port + 1,
            call.if_nodelay("-D"),
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
        parse::netperf::transaction_ns(&output.client)
    }
}
