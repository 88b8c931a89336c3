//! iperf3: one server and one client with `-P` streams; the server's count of bytes received.
//!
//! From 3.16 on each stream has its own thread, before that all share one. A second iperf3, say a
//! newer one than the distribution's, is compared too when PEERS_IPERF3 names it.

use super::{Calling, External, is_executable, on_path};
use crate::cell::Cell;
use crate::external::{Call, Lane, Output, fresh_ports};
use crate::parse::{self, ParseError};
use std::path::PathBuf;

pub struct Iperf3 {
    id: &'static str,
    find: fn() -> Result<Vec<PathBuf>, String>,
    /// `-Z`: the client sends a file with sendfile(2).
    sendfile: bool,
}

pub static FROM_PATH: Iperf3 = Iperf3 { id: "iperf3", find: || on_path(&["iperf3"]), sendfile: false };
pub static FROM_ENVIRONMENT: Iperf3 = Iperf3 { id: "iperf3_other", find: from_environment, sendfile: false };
/// The newest that is here, for comparisons that have room for one.
pub static NEWEST: Iperf3 = Iperf3 { id: "iperf3", find: newest, sendfile: false };
pub static SENDFILE: Iperf3 = Iperf3 { id: "iperf3 -Z", find: newest, sendfile: true };

/// The one that PEERS_IPERF3 names, else the one on the PATH.
fn newest() -> Result<Vec<PathBuf>, String> {
    from_environment().or_else(|_| on_path(&["iperf3"]))
}

fn from_environment() -> Result<Vec<PathBuf>, String> {
    let path = std::env::var_os("PEERS_IPERF3").ok_or("PEERS_IPERF3 is not set")?;
    let program = PathBuf::from(path);
    if is_executable(&program) {
        Ok(vec![program])
    } else {
        Err(format!("PEERS_IPERF3={} is not a program", program.display()))
    }
}

impl External for Iperf3 {
    fn id(&self) -> &'static str {
        self.id
    }

    fn source(&self) -> &'static str {
        "Debian: iperf3; newer: https://github.com/esnet/iperf, named by PEERS_IPERF3"
    }

    fn programs(&self) -> Result<Vec<PathBuf>, String> {
        (self.find)()
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["--version"]
    }

    fn lanes(&self, call: &Calling<'_>) -> Vec<Lane> {
        let port = fresh_ports();
        let client = format!(
            "-c {} -p {port} -J -t {} -l {} -P {} {} {}",
            call.address,
            call.seconds,
            call.cell.message_bytes,
            call.cell.streams,
            call.if_nodelay("-N"),
            if self.sendfile { "-Z" } else { "" }
        );
        vec![Lane {
            server: Call::new(call.server(), &format!("-s -1 -p {port}")),
            port,
            client: Call::new(call.client(), &client),
            server_reports: false,
        }]
    }

    fn read(&self, _cell: &Cell, output: &Output) -> Result<f64, ParseError> {
        parse::iperf3::bits_per_second(&output.client)
    }
}
