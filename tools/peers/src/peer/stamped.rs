//! A sender and a receiver of latencies that share no code with ours: `peers stamped`.

use super::into_sink::this_program;
use crate::cell::Cell;
use crate::external::{Call, Lane, Output, fresh_ports};
use crate::parse::{self, ParseError};
use crate::peer::{Calling, External};
use crate::stamped::STAMPS_BYTES;
use std::path::PathBuf;

pub struct Stamped {
    /// Messages a second.
    rate: u32,
    /// What it prints: p50, p99, p999.
    quantile: &'static str,
}

/// At one rate, by quantile.
const fn at(rate: u32) -> [Stamped; 3] {
    [Stamped { rate, quantile: "p50" }, Stamped { rate, quantile: "p99" }, Stamped { rate, quantile: "p999" }]
}

pub static AT_10K: [Stamped; 3] = at(10_000);
pub static AT_50K: [Stamped; 3] = at(50_000);
pub static AT_100K: [Stamped; 3] = at(100_000);

impl External for Stamped {
    fn id(&self) -> &'static str {
        "stamps in the message"
    }

    fn source(&self) -> &'static str {
        "tools/peers/src/stamped.rs"
    }

    fn programs(&self) -> Result<Vec<PathBuf>, String> {
        Ok(vec![this_program()])
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &[]
    }

    fn not_applicable(&self, cell: &Cell) -> Option<&'static str> {
        (cell.message_bytes < STAMPS_BYTES as u64).then_some("a message holds two stamps of eight bytes")
    }

    fn lanes(&self, call: &Calling<'_>) -> Vec<Lane> {
        let (port, bytes) = (fresh_ports(), call.cell.message_bytes);
        let receive = format!("stamped receive --port {port} --message-bytes {bytes}");
        let send = format!(
            "stamped send --address {} --port {port} --message-bytes {bytes} --rate {} --seconds {} {}",
            call.address,
            self.rate,
            call.seconds,
            call.if_nodelay("--nodelay")
        );
        vec![Lane {
            server: Call::new(call.server(), &receive),
            port,
            client: Call::new(call.client(), &send),
            server_reports: true,
        }]
    }

    fn read(&self, _cell: &Cell, output: &Output) -> Result<f64, ParseError> {
        parse::stamped::nanoseconds(self.quantile, &output.server)
    }
}
