//! pipe2(2): both ends close on exec(2). (`std::io::pipe` is newer than the oldest Rust that builds this.)

use rustix::pipe::{PipeFlags, pipe_with};
use std::fs::File;
use std::io;

/// What reads and what writes.
pub fn pipe() -> io::Result<(File, File)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
    Ok((reader.into(), writer.into()))
}
