//! Handing an open file to another process over a Unix socket.
//!
//! Sources: unix(7) (SCM_RIGHTS), cmsg(3).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Room for the control message of one descriptor, aligned as a cmsghdr has to be.
type Control = [u64; 8];

/// Sends one descriptor, with one byte that carries it.
pub fn send_file(socket: &UnixStream, file: BorrowedFd<'_>) -> io::Result<()> {
    let (mut byte, mut control) = ([0u8], Control::default());
    let mut vector = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: byte.len() };
    let mut header = header(&mut vector, &mut control);
    let number = file.as_raw_fd();
    // SAFETY: the control buffer is live, larger than one control message of an int, and the header
    // says so; CMSG_FIRSTHDR and CMSG_DATA stay inside it.
    unsafe {
        let message = libc::CMSG_FIRSTHDR(&header);
        (*message).cmsg_level = libc::SOL_SOCKET;
        (*message).cmsg_type = libc::SCM_RIGHTS;
        (*message).cmsg_len = libc::CMSG_LEN(size_of_val(&number) as u32) as _;
        libc::CMSG_DATA(message).cast::<libc::c_int>().write_unaligned(number);
    }
    loop {
        // SAFETY: the header points to the live buffers above.
        let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const header, libc::MSG_NOSIGNAL) };
        match sent {
            1 => return Ok(()),
            _ if interrupted(sent) => header.msg_flags = 0,
            0.. => return Err(io::ErrorKind::WriteZero.into()),
            _ => return Err(io::Error::last_os_error()),
        }
    }
}

/// Takes what [`send_file`] sent.
pub fn receive_file(socket: &UnixStream) -> io::Result<OwnedFd> {
    let (mut byte, mut control) = ([0u8], Control::default());
    let mut vector = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: byte.len() };
    let mut header = header(&mut vector, &mut control);
    loop {
        // SAFETY: the header points to the live buffers above, which the kernel fills.
        let got = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, libc::MSG_CMSG_CLOEXEC) };
        match got {
            1 => break,
            _ if interrupted(got) => continue,
            0.. => return Err(io::ErrorKind::UnexpectedEof.into()),
            _ => return Err(io::Error::last_os_error()),
        }
    }
    // SAFETY: the kernel wrote the control messages that the header tells of; the type says that
    // this one holds a descriptor, fresh and owned by nobody else.
    unsafe {
        let message = libc::CMSG_FIRSTHDR(&header);
        if message.is_null() || (*message).cmsg_type != libc::SCM_RIGHTS {
            return Err(io::Error::other("no descriptor came with the byte"));
        }
        Ok(OwnedFd::from_raw_fd(libc::CMSG_DATA(message).cast::<libc::c_int>().read_unaligned()))
    }
}

fn header(vector: &mut libc::iovec, control: &mut Control) -> libc::msghdr {
    // SAFETY: msghdr is plain data for which all zeroes is valid.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = vector;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    // SAFETY: CMSG_SPACE computes with its argument and touches no memory.
    header.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<libc::c_int>() as u32) } as _;
    header
}

fn interrupted(result: libc::ssize_t) -> bool {
    result < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;

    #[test]
    fn what_is_written_into_a_passed_pipe_arrives() {
        let (here, there) = UnixStream::pair().unwrap();
        let (reader, writer) = crate::call::pipe().unwrap();
        send_file(&here, writer.as_fd()).unwrap();
        drop(writer);
        let mut passed = File::from(receive_file(&there).unwrap());
        passed.write_all(b"through").unwrap();
        drop(passed);
        let mut text = String::new();
        File::from(reader).read_to_string(&mut text).unwrap();
        assert_eq!(text, "through", "and the pipe ends with its last writer");
        drop(here);
        assert!(receive_file(&there).is_err(), "nothing is sent any more");
    }
}
