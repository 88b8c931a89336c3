//! liburing's `send-zerocopy` example: eight requests in flight as it comes, a registered file and ring.
//!
//! 2.3, which Debian has, comes without a receiver.

use super::into_sink::{LARGEST_BYTES, into_sink};
use crate::cell::Cell;
use crate::external::{Lane, Output};
use crate::parse::{self, ParseError};
use crate::peer::{Calling, External, on_path};
use std::path::PathBuf;

pub struct UringExample {
    id: &'static str,
    /// `-z`: zero-copy; `-b`: from a registered buffer.
    flags: &'static str,
}

pub static SEND: UringExample = UringExample { id: "send-zerocopy -z0", flags: "-z 0" };
pub static SEND_ZC: UringExample = UringExample { id: "send-zerocopy -b0", flags: "-z 1 -b 0" };
pub static SEND_ZC_REGISTERED: UringExample = UringExample { id: "send-zerocopy -b1", flags: "-z 1 -b 1" };

impl External for UringExample {
    fn id(&self) -> &'static str {
        self.id
    }

    fn source(&self) -> &'static str {
        "https://github.com/axboe/liburing: examples/send-zerocopy.c (tools/peers/src/build)"
    }

    fn programs(&self) -> Result<Vec<PathBuf>, String> {
        on_path(&["send-zerocopy"])
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
            format!("-4 -D {} -p {port} -s {bytes} -t {seconds} {} tcp", call.address, self.flags)
        })]
    }

    fn read(&self, _cell: &Cell, output: &Output) -> Result<f64, ParseError> {
        parse::sink::bits_per_second(&output.server)
    }
}
