//! iperf3: one server and one client with `-P` streams; the server's count of bytes received.
//!
//! From 3.16 on each stream has its own thread, before that all share one. A second iperf3, say a
//! newer one than the distribution's, is compared too when PEERS_IPERF3 names it.

use super::{Calling, External, Found, Settings, is_executable, on_path, one_thread, reads_messages};
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

/// Does each stream have a thread of its own? Since 3.16.
fn has_threads(version: &str) -> bool {
    let number = version.strip_prefix("iperf ").and_then(|rest| rest.split_whitespace().next()).unwrap_or("");
    let mut parts = number
        .split('.')
        .map(|part| part.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0));
    (parts.next(), parts.next()) >= (Some(3), Some(16))
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

    /// It reads a message at a time (seen with strace).
    fn alike(&self, cell: &Cell, found: &Found) -> Settings {
        let threads = if has_threads(&found.version) { Settings::new() } else { one_thread(cell) };
        [threads, vec![reads_messages()]].concat()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_have_threads_since_3_16() {
        let versions =
            ["iperf 3.12 (cJSON 1.7.15)", "iperf 3.16", "iperf 3.21+ (cJSON 1.7.15)", "iperf 4.0", "?"];
        assert_eq!(versions.map(has_threads), [false, true, true, true, false]);
    }
}
