//! The kernel's `msg_zerocopy` self-test, the sender: one iovec of one buffer, non-blocking, and a
//! poll(2) after every message; completions are read every 32 messages and while the socket is full.
//!
//! Its own receiver drops what arrives (MSG_TRUNC) and counts until some time after the sender's
//! end; both sides of a comparison have a receiver of ours instead.

use super::into_sink::{LARGEST_BYTES, into_sink};
use crate::cell::Cell;
use crate::external::{Lane, Output};
use crate::parse::{self, ParseError};
use crate::peer::{Calling, External, on_path};
use std::path::PathBuf;

pub struct MsgZerocopy {
    id: &'static str,
    receiver: &'static str,
    /// `-z`: MSG_ZEROCOPY; else it copies.
    zerocopy: bool,
}

pub static RECEIVED: MsgZerocopy = MsgZerocopy { id: "msg_zerocopy -z", receiver: "recv", zerocopy: true };
pub static DROPPED: MsgZerocopy =
    MsgZerocopy { id: "msg_zerocopy -z, dropped", receiver: "recv_trunc", zerocopy: true };

impl External for MsgZerocopy {
    fn id(&self) -> &'static str {
        self.id
    }

    fn source(&self) -> &'static str {
        "Linux: tools/testing/selftests/net/msg_zerocopy.c (tools/peers/src/build)"
    }

    fn programs(&self) -> Result<Vec<PathBuf>, String> {
        on_path(&["msg_zerocopy"])
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &[]
    }

    fn not_applicable(&self, cell: &Cell) -> Option<&'static str> {
        (cell.message_bytes > LARGEST_BYTES).then_some("messages exceed its largest, 65435 bytes")
    }

    fn lanes(&self, call: &Calling<'_>) -> Vec<Lane> {
        vec![into_sink(call, self.receiver, |port| {
            let (bytes, seconds) = (call.cell.message_bytes, call.seconds);
            let zerocopy = if self.zerocopy { "-z" } else { "" };
            format!("-4 -D {} -p {port} -s {bytes} -t {seconds} {zerocopy} tcp", call.address)
        })]
    }

    fn read(&self, _cell: &Cell, output: &Output) -> Result<f64, ParseError> {
        parse::sink::bits_per_second(&output.server)
    }
}
