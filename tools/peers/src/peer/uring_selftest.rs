//! The kernel's self-test of zero-copy sends through io_uring: `io_uring_zerocopy_tx`, the sender.
//!
//! Eight requests in flight as it comes, none linked to the next; each waits for the whole message
//! (MSG_WAITALL). Its output is not read: it divides by whole seconds.

use super::into_sink::{LARGEST_BYTES, into_sink};
use crate::cell::Cell;
use crate::external::{Lane, Output};
use crate::parse::{self, ParseError};
use crate::peer::{Calling, External, on_path};
use std::path::PathBuf;

pub struct UringSelftest {
    id: &'static str,
    /// `-m`: 0 send, 1 zero-copy send, 2 the same from a registered buffer.
    mode: u8,
}

pub static SEND: UringSelftest = UringSelftest { id: "io_uring_zerocopy_tx -m0", mode: 0 };
pub static SEND_ZC: UringSelftest = UringSelftest { id: "io_uring_zerocopy_tx -m1", mode: 1 };
pub static SEND_ZC_REGISTERED: UringSelftest = UringSelftest { id: "io_uring_zerocopy_tx -m2", mode: 2 };

impl External for UringSelftest {
    fn id(&self) -> &'static str {
        self.id
    }

    fn source(&self) -> &'static str {
        "Linux: tools/testing/selftests/net/io_uring_zerocopy_tx.c (tools/peers/src/build)"
    }

    fn programs(&self) -> Result<Vec<PathBuf>, String> {
        on_path(&["io_uring_zerocopy_tx"])
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &[]
    }

    fn not_applicable(&self, cell: &Cell) -> Option<&'static str> {
        (cell.message_bytes > LARGEST_BYTES).then_some("messages exceed its largest, 65435 bytes")
    }

    fn lanes(&self, call: &Calling<'_>) -> Vec<Lane> {
        vec![into_sink(call, "recv", |port| {
            let (bytes, seconds) = (call.cell.message_bytes, call.seconds);
            format!("-4 -D {} -p {port} -s {bytes} -t {seconds} -m {} tcp", call.address, self.mode)
        })]
    }

    fn read(&self, _cell: &Cell, output: &Output) -> Result<f64, ParseError> {
        parse::sink::bits_per_second(&output.server)
    }
}
