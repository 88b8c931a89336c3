//! Handing an open file to another process over a Unix socket.
//!
//! Sources: unix(7) (SCM_RIGHTS), cmsg(3).

use rustix::cmsg_space;
use rustix::io::retry_on_intr;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Sends one descriptor, with one byte that carries it.
pub fn send_file(socket: &UnixStream, file: BorrowedFd<'_>) -> io::Result<()> {
    let files = [file];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&files));
    let send = || sendmsg(socket, &[IoSlice::new(&[0])], &mut control, SendFlags::NOSIGNAL);
    match retry_on_intr(send)? {
        1 => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// Takes what [`send_file`] sent.
pub fn receive_file(socket: &UnixStream) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut room = [IoSliceMut::new(&mut byte)];
    let got = retry_on_intr(|| recvmsg(socket, &mut room, &mut control, RecvFlags::CMSG_CLOEXEC))?;
    if got.bytes == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let files = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => Some(files),
        _ => None,
    });
    files.flatten().next().ok_or_else(|| io::Error::other("no descriptor came with the byte"))
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
        let (reader, writer) = crate::pipe::pipe().unwrap();
        send_file(&here, writer.as_fd()).unwrap();
        drop(writer);
        let mut passed = File::from(receive_file(&there).unwrap());
        passed.write_all(b"through").unwrap();
        drop(passed);
        let mut text = String::new();
        (&reader).read_to_string(&mut text).unwrap();
        assert_eq!(text, "through", "and the pipe ends with its last writer");
        drop(here);
        assert!(receive_file(&there).is_err(), "nothing is sent any more");
    }
}
