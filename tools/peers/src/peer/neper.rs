//! neper tcp_stream: as many flows and threads as streams; the receiver's rate.
//!
//! `--no-cork` always: by default neper sends with MSG_MORE, which merges messages as no other
//! tool's plain send(2) does. `--nolog`, else every call leaves a log
//! file in the working directory, also that for the version.

use super::{Calling, External, Found, Settings, on_path, reads_messages};
use crate::cell::Cell;
use crate::external::{Call, Lane, Output, fresh_ports};
use crate::parse::{self, ParseError};
use std::path::PathBuf;

pub struct Neper;

impl External for Neper {
    fn id(&self) -> &'static str {
        "neper"
    }

    fn source(&self) -> &'static str {
        "https://github.com/google/neper (make tcp_stream)"
    }

    fn programs(&self) -> Result<Vec<PathBuf>, String> {
        on_path(&["tcp_stream"])
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["--nolog", "--version"]
    }

    /// It reads a message at a time (seen with strace).
    fn alike(&self, _cell: &Cell, _found: &Found) -> Settings {
        vec![reads_messages()]
    }

    fn lanes(&self, call: &Calling<'_>) -> Vec<Lane> {
        let control = fresh_ports();
        let both = format!(
            "--nolog -C {control} -P {} -l {} -B {} -F {streams} -T {streams}",
            control + 1,
            call.seconds,
            call.cell.message_bytes,
            streams = call.cell.streams
        );
        let client = format!("-c -H {} {both} --no-cork {}", call.address, call.if_nodelay("--no-delay"));
        vec![Lane {
            server: Call::new(call.server(), &both),
            port: control,
            client: Call::new(call.client(), &client),
            server_reports: false,
        }]
    }

    fn read(&self, _cell: &Cell, output: &Output) -> Result<f64, ParseError> {
        parse::neper::bits_per_second(&output.client)
    }
}
