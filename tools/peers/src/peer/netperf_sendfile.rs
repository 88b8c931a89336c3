//! netperf TCP_SENDFILE: sendfile(2) from a file in memory, a netserver that receives.
//!
//! It sends from a ring of pieces of the file, each where the last one ended. The file is an
//! anonymous one (memfd_create(2)) that it opens through /proc, so that nothing is left behind. This
//! test prints a table even where other tests of netperf print keys.

use crate::cell::Cell;
use crate::external::{Call, Lane, Output, fresh_ports};
use crate::parse::{self, ParseError};
use crate::peer::{Calling, External, on_path};
use crate::process::anonymous_file;
use anyhow::Result;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::OnceLock;

/// More than its ring takes: the initial send buffer and a message.
const FILE_BYTES: u64 = 16 << 20;

pub struct NetperfSendfile;

impl External for NetperfSendfile {
    fn id(&self) -> &'static str {
        "netperf TCP_SENDFILE"
    }

    fn source(&self) -> &'static str {
        "https://github.com/HewlettPackard/netperf (./autogen.sh && ./configure && make -C src)"
    }

    fn programs(&self) -> Result<Vec<PathBuf>, String> {
        source().map_err(|error| format!("no file to send: {error:#}"))?;
        on_path(&["netperf", "netserver"])
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["-V"]
    }

    fn lanes(&self, call: &Calling<'_>) -> Vec<Lane> {
        let port = fresh_ports();
        let file = source().expect("made when the program was looked for").as_raw_fd();
        let client = format!(
            "-4 -H {} -p {port} -t TCP_SENDFILE -F /proc/{}/fd/{file} -l {} -P 0 -f k -- -P 0,{} -m {} {}",
            call.address,
            std::process::id(),
            call.seconds,
            port + 1,
            call.cell.message_bytes,
            call.if_nodelay("-D")
        );
        vec![Lane {
            server: Call::new(call.server(), &format!("-D -f -4 -p {port}")),
            port,
            client: Call::new(call.client(), &client),
            server_reports: false,
        }]
    }

    fn read(&self, _cell: &Cell, output: &Output) -> Result<f64, ParseError> {
        parse::netperf::sendfile_bits_per_second(&output.client)
    }
}

/// The file, its pages in memory.
fn source() -> Result<&'static File> {
    static FILE: OnceLock<File> = OnceLock::new();
    if let Some(file) = FILE.get() {
        return Ok(file);
    }
    let mut file = anonymous_file()?;
    std::io::copy(&mut std::io::Read::take(std::io::repeat(b's'), FILE_BYTES), &mut file)?;
    Ok(FILE.get_or_init(|| file))
}
