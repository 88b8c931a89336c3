//! Unguessable bytes from the kernel. Source: getrandom(2).

use std::io;

/// Fills a buffer.
pub fn fill(buffer: &mut [u8]) -> io::Result<()> {
    let mut done = 0;
    while done < buffer.len() {
        let left = &mut buffer[done..];
        // SAFETY: the pointer and the length describe a live, exclusively borrowed slice.
        let got = unsafe { libc::getrandom(left.as_mut_ptr().cast(), left.len(), 0) };
        if got < 0 {
            return Err(io::Error::last_os_error());
        }
        done += got as usize;
    }
    Ok(())
}

/// 128 random bits as 32 hexadecimal digits.
pub fn token() -> io::Result<String> {
    let mut bytes = [0u8; 16];
    fill(&mut bytes)?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}
