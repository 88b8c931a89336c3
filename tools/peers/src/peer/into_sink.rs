//! Serves senders that come without a receiver of their own: the self-tests' and liburing's.

use crate::external::{Call, Lane, fresh_ports};
use crate::peer::Calling;
use std::path::PathBuf;

/// What the senders of the self-tests and of liburing's example ask for as SO_SNDBUF. Ours and the
/// receivers then get the same.
pub const BUFFER_BYTES: usize = 1 << 21;

/// Their largest payload: an IP packet without its headers.
pub const LARGEST_BYTES: u64 = 65_435;

/// A lane whose server is our own receiver (`peers sink`).
pub fn into_sink(call: &Calling<'_>, receiver: &str, client: impl FnOnce(u16) -> String) -> Lane {
    let port = fresh_ports();
    let sink = format!(
        "sink --port {port} --receiver {receiver} --message-bytes {} --buffer-bytes {BUFFER_BYTES} --seconds {}",
        call.cell.message_bytes, call.seconds
    );
    Lane {
        server: Call::new(&this_program(), &sink),
        port,
        client: Call::new(call.client(), &client(port)),
        server_reports: true,
    }
}

/// Found before any child is started; a link to it that was replaced by a new build still runs.
pub fn this_program() -> PathBuf {
    PathBuf::from("/proc").join(std::process::id().to_string()).join("exe")
}
