//! nuttcp: a one-shot server in the foreground and a client with `-N` streams; the receiver's rate.

use super::{Calling, External, Found, Settings, on_path, one_thread, reads_messages};
use crate::cell::Cell;
use crate::external::{Call, Lane, Output, fresh_ports};
use crate::parse::{self, ParseError};
use std::path::PathBuf;

pub struct Nuttcp;

impl External for Nuttcp {
    fn id(&self) -> &'static str {
        "nuttcp"
    }

    fn source(&self) -> &'static str {
        "Debian: nuttcp"
    }

    fn programs(&self) -> Result<Vec<PathBuf>, String> {
        on_path(&["nuttcp"])
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["-V"]
    }

    fn not_applicable(&self, cell: &Cell) -> Option<&'static str> {
        (cell.streams > 8).then_some("there are more than 8 streams: they get no ports here")
    }

    /// One process on each side, without threads, reads a message at a time (seen with strace).
    fn alike(&self, cell: &Cell, _found: &Found) -> Settings {
        [one_thread(cell), vec![reads_messages()]].concat()
    }

    fn lanes(&self, call: &Calling<'_>) -> Vec<Lane> {
        let control = fresh_ports();
        let streams = match call.cell.streams {
            1 => String::new(),
            n => format!("-N{n}"),
        };
        let client = format!(
            "-T{} -l{} {streams} {} -fparse -P{control} -p{} {}",
            call.seconds,
            call.cell.message_bytes,
            call.if_nodelay("-D"),
            control + 1,
            call.address
        );
        vec![Lane {
            server: Call::new(call.server(), &format!("-1 --nofork -P{control}")),
            port: control,
            client: Call::new(call.client(), &client),
            server_reports: false,
        }]
    }

    fn read(&self, _cell: &Cell, output: &Output) -> Result<f64, ParseError> {
        parse::nuttcp::bits_per_second(&output.client)
    }
}
