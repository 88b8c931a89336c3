//! What a file system has left. Source: statvfs(3).

use std::io;
use std::path::Path;

/// Bytes that an ordinary user may still write below this path.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let answer = rustix::fs::statvfs(path)?;
    Ok(answer.f_bavail.saturating_mul(answer.f_frsize))
}
