//! What a system call returned, as a result.

use std::io;

/// Of a call that fails with -1 and leaves the reason in errno.
#[inline]
pub(crate) fn done(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
