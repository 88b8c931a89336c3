//! send(2), recv(2) and their kin on a raw descriptor, with EINTR retried and errors as `io::Error`.

use std::io;
use std::os::fd::RawFd;

/// send(2) until the whole slice is out; returns the number of calls it took.
#[inline]
pub fn send_all(socket: RawFd, mut bytes: &[u8], flags: libc::c_int) -> io::Result<u64> {
    let mut calls = 0;
    while !bytes.is_empty() {
        calls += 1;
        // SAFETY: the pointer and length describe a live slice.
        let sent =
            unsafe { libc::send(socket, bytes.as_ptr().cast(), bytes.len(), flags | libc::MSG_NOSIGNAL) };
        if sent < 0 {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                continue;
            }
            return Err(error);
        }
        bytes = &bytes[sent as usize..];
    }
    Ok(calls)
}

/// One recv(2); 0 means that the peer closed the stream.
#[inline]
pub fn receive(socket: RawFd, buffer: &mut [u8], flags: libc::c_int) -> io::Result<usize> {
    loop {
        // SAFETY: the pointer and length describe a live, exclusively borrowed slice.
        let got = unsafe { libc::recv(socket, buffer.as_mut_ptr().cast(), buffer.len(), flags) };
        if got >= 0 {
            return Ok(got as usize);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
