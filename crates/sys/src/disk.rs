//! What a file system has left. Source: statvfs(3).

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Bytes that an ordinary user may still write below this path.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: a statvfs is plain numbers, for which zeroes are valid.
    let mut answer: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live values for the length of the call.
    if unsafe { libc::statvfs(path.as_ptr(), &raw mut answer) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(answer.f_bavail.saturating_mul(answer.f_frsize))
}
