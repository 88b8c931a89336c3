//! fio's net engine: a listening reader and a writer per stream; the reader's rate.
//!
//! It always sends with MSG_MORE (seen with strace), which merges small messages even where
//! `--nodelay` sets TCP_NODELAY: so does ours beside it. An engine's
//! options are known to fio only after `--ioengine`. Jobs are threads (`--thread`), so that nothing
//! outlives the process that is ended.

use super::{Calling, External, Found, Settings, on_path, reads_messages};
use crate::cell::Cell;
use crate::external::{Call, Lane, Output, fresh_ports};
use crate::parse::{self, ParseError};
use std::path::PathBuf;

pub struct Fio {
    id: &'static str,
    engine: &'static str,
    /// Messages beyond do not end: a spliced one has to fit its pipe.
    largest_bytes: u64,
}

pub static NET: Fio = Fio { id: "fio", engine: "net", largest_bytes: u64::MAX };
/// The writer maps its buffer into a pipe with vmsplice(2) and splices that to the socket. The reader stays
/// the copying one: a splicing one does not notice the end of the stream.
pub static NETSPLICE: Fio = Fio { id: "fio netsplice", engine: "netsplice", largest_bytes: 1 << 15 };

impl External for Fio {
    fn id(&self) -> &'static str {
        self.id
    }

    fn source(&self) -> &'static str {
        "Debian: fio"
    }

    fn programs(&self) -> Result<Vec<PathBuf>, String> {
        on_path(&["fio"])
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["--version"]
    }

    fn not_applicable(&self, cell: &Cell) -> Option<&'static str> {
        if cell.message_bytes > self.largest_bytes {
            return Some("messages exceed 32 KiB, which its pipe takes at any alignment");
        }
        (self.engine == "netsplice" && cell.nodelay)
            .then_some("TCP_NODELAY is on: it cannot set that without undoing it")
    }

    /// It reads a message at a time and always sends with MSG_MORE (seen with strace); spliced data has no such flag.
    fn alike(&self, _cell: &Cell, _found: &Found) -> Settings {
        match self.engine {
            "net" => vec![reads_messages(), ("msg_more", "on".into())],
            _ => vec![reads_messages()],
        }
    }

    fn lanes(&self, call: &Calling<'_>) -> Vec<Lane> {
        let lane = |_| {
            let port = fresh_ports();
            let both = format!(
                "--protocol=tcp --port={port} --bs={} --size=1t --thread --output-format=json",
                call.cell.message_bytes
            );
            let client = format!(
                "--name=sender --rw=write --ioengine={} {both} --hostname={} --time_based --runtime={} {}",
                self.engine,
                call.address,
                call.seconds,
                call.if_nodelay("--nodelay=1")
            );
            let server = format!("--name=receiver --rw=read --ioengine=net {both} --listen");
            Lane {
                server: Call::new(call.server(), &server),
                port,
                client: Call::new(call.client(), &client),
                server_reports: true,
            }
        };
        (0..call.cell.streams).map(lane).collect()
    }

    fn read(&self, _cell: &Cell, output: &Output) -> Result<f64, ParseError> {
        parse::fio::bits_per_second(&output.server)
    }
}
