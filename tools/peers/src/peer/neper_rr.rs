//! neper tcp_rr: a request and a response of the message's size, one flow; a quantile of the round trip.
//!
//! It waits in epoll(7) before every read. TCP_NODELAY is asked for on both sides.

use crate::cell::Cell;
use crate::external::{Call, Lane, Output, fresh_ports};
use crate::parse::{self, ParseError};
use crate::peer::{Calling, External, on_path};
use std::path::PathBuf;

pub struct NeperRr {
    percentile: u8,
}

pub static P50: NeperRr = NeperRr { percentile: 50 };
pub static P99: NeperRr = NeperRr { percentile: 99 };

impl External for NeperRr {
    fn id(&self) -> &'static str {
        "neper tcp_rr"
    }

    fn source(&self) -> &'static str {
        "https://github.com/google/neper (make tcp_rr)"
    }

    fn programs(&self) -> Result<Vec<PathBuf>, String> {
        on_path(&["tcp_rr"])
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["--nolog", "--version"]
    }

    fn lanes(&self, call: &Calling<'_>) -> Vec<Lane> {
        let control = fresh_ports();
        let both = format!(
            "--nolog -C {control} -P {} -l {} -Q {size} -R {size} -B {} {}",
            control + 1,
            call.seconds,
            call.cell.message_bytes.max(4096),
            call.if_nodelay("--no-delay"),
            size = call.cell.message_bytes
        );
        vec![Lane {
            server: Call::new(call.server(), &both),
            port: control,
            client: Call::new(
                call.client(),
                &format!("-c -H {} {both} -p {}", call.address, self.percentile),
            ),
            server_reports: false,
        }]
    }

    fn read(&self, _cell: &Cell, output: &Output) -> Result<f64, ParseError> {
        parse::neper::round_trip_ns(self.percentile, &output.client)
    }
}
