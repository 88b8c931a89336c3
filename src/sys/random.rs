//! Unguessable tokens from the kernel. Source: getrandom(2).

use std::io;

/// 128 random bits as 32 hexadecimal digits.
pub fn token() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    // SAFETY: the buffer is live and of the stated length.
    let got = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    if got != bytes.len() as isize {
        return Err(io::Error::last_os_error());
    }
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}
