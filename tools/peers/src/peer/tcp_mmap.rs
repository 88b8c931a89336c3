//! The kernel's `tcp_mmap` self-test: a sender with MSG_ZEROCOPY and a receiver that maps pages
//! (TCP_ZEROCOPY_RECEIVE).
//!
//! Its sender has no time limit and is ended; its receiver then prints what it got, since it accepted
//! the connection, and would wait for the next one. Messages are its chunks; SO_RCVLOWAT is one chunk.
//! With chunks below 256 KiB it stops at an assertion of its own on kernels that hint at more.

use super::into_sink::BUFFER_BYTES;
use crate::cell::Cell;
use crate::external::{Call, fresh_ports, start, wait_until_listening};
use crate::parse;
use crate::peer::{Found, Peer, Visit, fingerprint, on_path};
use anyhow::{Context, Result};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

pub struct TcpMmap;

/// How long its receiver may take to say what it got.
const REPORT_LIMIT: Duration = Duration::from_secs(3);
const STEP: Duration = Duration::from_millis(10);

impl Peer for TcpMmap {
    fn id(&self) -> &'static str {
        "tcp_mmap -z"
    }

    fn source(&self) -> &'static str {
        "Linux: tools/testing/selftests/net/tcp_mmap.c (tools/peers/src/build)"
    }

    /// stdbuf(1): the receiver would keep its line until it ends by itself, which it never does.
    fn find(&self) -> Result<Found, String> {
        let programs = on_path(&["tcp_mmap", "stdbuf"])?;
        Ok(Found { version: fingerprint(&programs[0])?, programs })
    }

    fn not_applicable(&self, cell: &Cell) -> Option<&'static str> {
        (cell.message_bytes < 256 << 10)
            .then_some("chunks are below 256 KiB: its assertion on recv_skip_hint fails")
    }

    fn round(&self, visit: &Visit<'_>) -> Result<f64> {
        let port = fresh_ports();
        let [program, stdbuf] = &visit.found.programs[..] else { anyhow::bail!("two programs are needed") };
        let both =
            format!("-4 -z -p {port} -H {} -C {}", visit.place.receiver_address, visit.cell.message_bytes);
        let listen = format!("-oL {} -s {both} -r {BUFFER_BYTES}", program.display());
        let server = start(&Call::new(stdbuf, &listen), visit.place.receiver())?;
        wait_until_listening(&server, port, visit.stop)?;
        let client = sender(program, &both);
        let client = start(&client, visit.place.sender())?;
        let end = Instant::now() + Duration::from_secs(visit.seconds.into());
        while Instant::now() < end {
            anyhow::ensure!(!visit.stop.load(Ordering::Relaxed), crate::process::Interrupted);
            anyhow::ensure!(!client.has_ended()?, "the sender ended: {}", client.said());
            syscost_sys::sleep::sleep(STEP);
        }
        drop(client);
        let limit = Instant::now() + REPORT_LIMIT;
        loop {
            let said = server.said();
            match parse::tcp_mmap::bits_per_second(&said) {
                Ok(figure) => return Ok(figure),
                Err(error) if Instant::now() >= limit => return Err(error).context("receiver"),
                Err(_) => syscost_sys::sleep::sleep(STEP),
            }
        }
    }
}

fn sender(program: &Path, both: &str) -> Call {
    Call::new(program, &format!("{both} -w {BUFFER_BYTES}"))
}
