//! recvmsg(2) into several pieces of memory, one after the other, over and over.
//!
//! Sources: recvmsg(2), readv(2).

use super::socket;
use crate::buffer::Buffer;
use std::io;
use std::os::fd::RawFd;

/// Pieces of memory and how far they are filled. A call takes at most what is left of them; after the last
/// byte of the last piece the first one is next.
pub struct Scatter {
    pieces: Vec<Buffer>,
    /// One for each piece, in order; `pieces` keeps alive what they point to.
    iovecs: Vec<libc::iovec>,
    /// Where the last call began and the next one goes on: a piece, and bytes of it.
    began: (usize, usize),
    next: (usize, usize),
    /// Bytes of the last call.
    bytes: usize,
}

// SAFETY: the pointers are into buffers that this value owns, and are only handed to the kernel.
unsafe impl Send for Scatter {}

impl Scatter {
    /// There must be a piece, and each must have a byte: a read of nothing would look like the end.
    pub fn into(mut pieces: Vec<Buffer>) -> Scatter {
        assert!(!pieces.is_empty() && pieces.iter().all(|piece| !piece.is_empty()), "room in every piece");
        let iovec =
            |piece: &mut Buffer| libc::iovec { iov_base: piece.as_mut_ptr().cast(), iov_len: piece.len() };
        let iovecs = pieces.iter_mut().map(iovec).collect();
        Scatter { pieces, iovecs, began: (0, 0), next: (0, 0), bytes: 0 }
    }

    /// One recvmsg(2) into what is left; 0 means that the peer closed the stream.
    #[inline]
    pub fn receive(&mut self, socket: RawFd, flags: libc::c_int) -> io::Result<usize> {
        let (piece, within) = self.next;
        let whole = self.iovecs[piece];
        self.iovecs[piece] = libc::iovec {
            iov_base: whole.iov_base.cast::<u8>().wrapping_add(within).cast(),
            iov_len: whole.iov_len - within,
        };
        let got = recvmsg(socket, &self.iovecs[piece..], flags);
        self.iovecs[piece] = whole;
        let got = got?;
        (self.began, self.bytes) = (self.next, got);
        self.next = self.after(self.began, got);
        Ok(got)
    }

    /// The place `bytes` after this one.
    #[inline]
    fn after(&self, (mut piece, mut within): (usize, usize), mut bytes: usize) -> (usize, usize) {
        loop {
            let left = self.pieces[piece].len() - within;
            if bytes < left {
                return (piece, within + bytes);
            }
            bytes -= left;
            (piece, within) = (piece + 1, 0);
            if piece == self.pieces.len() {
                return (0, 0);
            }
        }
    }

    /// What the last call brought, in the stream's order.
    #[inline]
    pub fn last(&self) -> Vec<&[u8]> {
        let (first, mut within) = self.began;
        let mut left = self.bytes;
        let mut slices = Vec::new();
        for piece in &self.pieces[first..] {
            let rest = &piece[within..];
            let length = rest.len().min(left);
            if length == 0 {
                break;
            }
            slices.push(&rest[..length]);
            (left, within) = (left - length, 0);
        }
        slices
    }
}

#[inline]
fn recvmsg(socket: RawFd, iovecs: &[libc::iovec], flags: libc::c_int) -> io::Result<usize> {
    // SAFETY: msghdr is plain data for which all zeroes is valid.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = iovecs.as_ptr().cast_mut();
    header.msg_iovlen = iovecs.len() as _;
    loop {
        // SAFETY: the header points to live iovecs, and those to memory that the caller of `receive` owns.
        let got = unsafe { libc::recvmsg(socket, &mut header, flags) };
        if let Some(got) = socket::length_or_retry(got)? {
            return Ok(got);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    proptest! {
        #[test]
        fn whatever_arrives_goes_on_where_the_last_call_ended(
            lengths in prop::collection::vec(1usize..20, 1..9),
            arrivals in prop::collection::vec(1usize..60, 1..9),
        ) {
            let (mut from, to) = UnixStream::pair().unwrap();
            let room: usize = lengths.iter().sum();
            let mut scatter = Scatter::into(lengths.iter().map(|n| Buffer::zeroed(*n, 16)).collect());
            let (mut sent, mut got, mut at) = (Vec::new(), Vec::new(), 0);
            for arrival in arrivals {
                let bytes: Vec<u8> = (0..arrival).map(|i| (sent.len() + i) as u8).collect();
                from.write_all(&bytes).unwrap();
                sent.extend(bytes);
                while got.len() < sent.len() {
                    let now = scatter.receive(to.as_raw_fd(), 0).unwrap();
                    prop_assert_eq!(now, (sent.len() - got.len()).min(room - at), "up to the end of the pieces");
                    at = (at + now) % room;
                    let slices = scatter.last();
                    prop_assert_eq!(slices.iter().map(|s| s.len()).sum::<usize>(), now);
                    got.extend(slices.concat());
                }
            }
            prop_assert_eq!(got, sent);
            drop(from);
            prop_assert_eq!(scatter.receive(to.as_raw_fd(), 0).unwrap(), 0);
            prop_assert!(scatter.last().is_empty());
        }
    }

    #[test]
    fn an_empty_socket_changes_nothing() {
        let (mut from, to) = UnixStream::pair().unwrap();
        let mut scatter = Scatter::into(vec![Buffer::zeroed(2, 16), Buffer::zeroed(2, 16)]);
        from.write_all(b"abc").unwrap();
        assert_eq!(scatter.receive(to.as_raw_fd(), 0).unwrap(), 3);
        let error = scatter.receive(to.as_raw_fd(), libc::MSG_DONTWAIT).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        assert_eq!(scatter.last(), [b"ab".as_slice(), b"c"]);
        from.write_all(b"d").unwrap();
        assert_eq!(scatter.receive(to.as_raw_fd(), 0).unwrap(), 1);
        assert_eq!(scatter.last(), [b"d"]);
    }
}
