//! Can this kernel do it? Asked by trying, on descriptors of our own that are closed at once.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// SO_ZEROCOPY on a TCP socket. Source: Documentation/networking/msg_zerocopy.rst.
pub fn tcp_zerocopy() -> io::Result<()> {
    let socket = tcp_socket()?;
    let on: libc::c_int = 1;
    // SAFETY: the pointer and length describe a live int.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ZEROCOPY,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Unconnected: some options can be set only then.
fn tcp_socket() -> io::Result<OwnedFd> {
    // SAFETY: takes numbers only.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just opened and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_the_kernels() {
        match tcp_zerocopy() {
            Ok(()) => {}
            // A kernel before 4.14, or a sandbox that imitates one.
            Err(error) => assert!(
                matches!(error.raw_os_error(), Some(libc::ENOPROTOOPT | libc::EOPNOTSUPP | libc::EPERM)),
                "{error}"
            ),
        }
    }
}
