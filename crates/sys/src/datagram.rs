//! Datagrams on a raw descriptor: several a call, segmented and coalesced by the kernel, and what a socket dropped.
//!
//! Sources: sendmmsg(2), recvmmsg(2), udp(7) (UDP_SEGMENT, UDP_GRO), sock_diag(7) (SK_MEMINFO_DROPS).

use crate::buffer::Buffer;
use crate::socket::{length_or_retry, option_into, set_option_of};
use std::io;
use std::net::SocketAddr;
use std::os::fd::RawFd;

/// What libc lacks of asm-generic/socket.h and linux/sock_diag.h.
const SO_MEMINFO: libc::c_int = 55;
const SK_MEMINFO_DROPS: usize = 8;
const SK_MEMINFO_VARS: usize = 9;

/// Messages of one sendmmsg(2) or recvmmsg(2), one behind the other in a buffer of their own.
pub struct DatagramBatch {
    buffer: Buffer,
    each: usize,
    /// The headers point to these, which point into the buffer: none of them moves.
    _iovecs: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
}

impl DatagramBatch {
    /// Of pieces of so many bytes each.
    pub fn of(mut buffer: Buffer, each: usize) -> DatagramBatch {
        let base = buffer.as_mut_ptr();
        let mut iovecs: Vec<libc::iovec> = (0..buffer.len() / each)
            .map(|at| libc::iovec { iov_base: base.wrapping_add(at * each).cast(), iov_len: each })
            .collect();
        let header = |iovec: &mut libc::iovec| {
            // SAFETY: mmsghdr is plain data for which all zeroes is valid.
            let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
            header.msg_hdr.msg_iov = iovec;
            header.msg_hdr.msg_iovlen = 1;
            header
        };
        let headers = iovecs.iter_mut().map(header).collect();
        DatagramBatch { buffer, each, _iovecs: iovecs, headers }
    }

    #[inline]
    pub fn bytes(&mut self) -> &mut [u8] {
        &mut self.buffer
    }

    /// Sends all of it; returns the number of calls.
    #[inline]
    pub fn send(&mut self, socket: RawFd) -> io::Result<u64> {
        let (mut sent, mut calls) = (0, 0);
        while sent < self.headers.len() {
            let rest = &mut self.headers[sent..];
            // SAFETY: the headers, their iovecs and the buffer are live; the kernel writes only each msg_len.
            let done = unsafe {
                libc::sendmmsg(socket, rest.as_mut_ptr(), rest.len() as libc::c_uint, libc::MSG_NOSIGNAL)
            };
            calls += 1;
            sent += length_or_retry(done as libc::ssize_t)?.unwrap_or(0);
        }
        Ok(calls)
    }

    /// Waits for a datagram and takes as many more as are there; returns how many.
    #[inline]
    pub fn receive(&mut self, socket: RawFd) -> io::Result<usize> {
        loop {
            let (headers, count) = (self.headers.as_mut_ptr(), self.headers.len() as libc::c_uint);
            let wait = libc::MSG_WAITFORONE;
            // SAFETY: as in `send`; the buffer is borrowed exclusively while the kernel writes to it.
            let got = unsafe { libc::recvmmsg(socket, headers, count, wait as _, std::ptr::null_mut()) };
            if let Some(got) = length_or_retry(got as libc::ssize_t)? {
                return Ok(got);
            }
        }
    }

    /// The bytes of a datagram that the last call received.
    #[inline]
    pub fn received(&self, at: usize) -> &[u8] {
        &self.buffer[at * self.each..][..self.headers[at].msg_len as usize]
    }
}

// SAFETY: the pointers are only handed to the kernel, and what they point to is this value's own.
unsafe impl Send for DatagramBatch {}

/// sendto(2) of one datagram.
#[inline]
pub fn send_to(socket: RawFd, bytes: &[u8], to: &socket2::SockAddr) -> io::Result<usize> {
    loop {
        // SAFETY: both pointers and lengths describe live memory, which is only read.
        let sent = unsafe {
            let flags = libc::MSG_NOSIGNAL;
            libc::sendto(socket, bytes.as_ptr().cast(), bytes.len(), flags, to.as_ptr().cast(), to.len())
        };
        if let Some(sent) = length_or_retry(sent)? {
            return Ok(sent);
        }
    }
}

/// The address as the kernel reads it.
pub fn address(of: SocketAddr) -> socket2::SockAddr {
    of.into()
}

/// One recvmsg(2) with UDP_GRO: the bytes, and those of each datagram in it but the last, where there are several.
#[inline]
pub fn receive_coalesced(
    socket: RawFd,
    buffer: &mut [u8],
    flags: libc::c_int,
) -> io::Result<(usize, Option<usize>)> {
    let mut control = [0u64; 8];
    let mut iovec = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    loop {
        // SAFETY: msghdr is plain data for which all zeroes is valid.
        let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
        header.msg_iov = &mut iovec;
        header.msg_iovlen = 1;
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = size_of_val(&control) as _;
        // SAFETY: the header points to a live, exclusively borrowed buffer and to live control memory.
        let got = unsafe { libc::recvmsg(socket, &mut header, flags) };
        if let Some(got) = length_or_retry(got)? {
            // SAFETY: the kernel filled the header; the CMSG macros walk inside the control memory.
            return Ok((got, unsafe { segment_bytes(&header) }));
        }
    }
}

/// # Safety
/// The header is one that recvmsg(2) has filled, and its control memory is live.
#[inline]
unsafe fn segment_bytes(header: &libc::msghdr) -> Option<usize> {
    // SAFETY: as the caller says; the value is an int, and is read wherever it lies.
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(header);
        while let Some(message) = at.as_ref() {
            if (message.cmsg_level, message.cmsg_type) == (libc::SOL_UDP, libc::UDP_GRO) {
                return Some(libc::CMSG_DATA(at).cast::<libc::c_int>().read_unaligned() as usize);
            }
            at = libc::CMSG_NXTHDR(header, at);
        }
        None
    }
}

/// Sends of this socket are cut into datagrams of so many bytes by the kernel (UDP_SEGMENT).
pub fn segment(socket: RawFd, bytes: u16) -> io::Result<()> {
    set_option_of(socket, libc::SOL_UDP, libc::UDP_SEGMENT, &libc::c_int::from(bytes).to_ne_bytes())
}

/// Datagrams of one sender may be received together (UDP_GRO).
pub fn coalesce(socket: RawFd) -> io::Result<()> {
    set_option_of(socket, libc::SOL_UDP, libc::UDP_GRO, &1i32.to_ne_bytes())
}

/// Nothing is fragmented: what does not fit the path is an error (IP_MTU_DISCOVER, IP_PMTUDISC_DO).
pub fn refuse_fragments(socket: RawFd, ipv6: bool) -> io::Result<()> {
    let (level, option, how) = match ipv6 {
        true => (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_DO),
        false => (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_DO),
    };
    set_option_of(socket, level, option, &how.to_ne_bytes())
}

/// A receive buffer beyond net.core.rmem_max, for whoever may administer the network (SO_RCVBUFFORCE).
pub fn force_receive_buffer(socket: RawFd, bytes: i32) -> io::Result<()> {
    set_option_of(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &bytes.to_ne_bytes())
}

/// Datagrams that this socket has dropped, because its buffer was full or a checksum was wrong (SO_MEMINFO).
pub fn drops(socket: RawFd) -> io::Result<u32> {
    let mut all = [0u32; SK_MEMINFO_VARS];
    // SAFETY: any bytes make numbers.
    unsafe { option_into(socket, libc::SOL_SOCKET, SO_MEMINFO, &mut all) }?;
    Ok(all[SK_MEMINFO_DROPS])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsRawFd;

    fn pair() -> (UdpSocket, UdpSocket) {
        let [a, b] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        a.connect(b.local_addr().unwrap()).unwrap();
        b.connect(a.local_addr().unwrap()).unwrap();
        (a, b)
    }

    #[test]
    fn a_batch_arrives_as_the_datagrams_that_it_was_made_of() {
        let (a, b) = pair();
        let mut sent = DatagramBatch::of(Buffer::zeroed(3 * 16, 8), 16);
        (0u8..).zip(sent.bytes().chunks_mut(16)).for_each(|(n, piece)| piece.fill(n));
        assert_eq!(sent.send(a.as_raw_fd()).unwrap(), 1);
        let mut got = DatagramBatch::of(Buffer::zeroed(4 * 17, 8), 17);
        assert_eq!(got.receive(b.as_raw_fd()).unwrap(), 3);
        assert_eq!([0, 1, 2].map(|at| got.received(at).to_vec()), [vec![0; 16], vec![1; 16], vec![2; 16]]);
    }

    #[test]
    fn a_segmented_send_is_several_datagrams_or_one_that_is_coalesced() {
        let (a, b) = pair();
        if segment(a.as_raw_fd(), 10).and_then(|()| coalesce(b.as_raw_fd())).is_err() {
            return eprintln!("skipped: this kernel has no UDP_SEGMENT or no UDP_GRO");
        }
        a.send(&[7; 25]).unwrap();
        let mut room = [0; 64];
        assert_eq!(receive_coalesced(b.as_raw_fd(), &mut room, 0).unwrap(), (25, Some(10)));
        let (c, d) = pair();
        segment(c.as_raw_fd(), 10).unwrap();
        c.send(&[7; 25]).unwrap();
        assert_eq!([(); 3].map(|()| d.recv(&mut room).unwrap()), [10, 10, 5]);
    }

    #[test]
    fn what_a_full_socket_drops_is_counted() {
        let (a, b) = pair();
        crate::socket::set_option(b.as_raw_fd(), libc::SO_RCVBUF, 0).unwrap();
        assert_eq!(drops(b.as_raw_fd()).unwrap(), 0);
        (0..100).for_each(|_| _ = a.send(&[0; 1000]).unwrap());
        b.set_nonblocking(true).unwrap();
        let got = std::iter::from_fn(|| b.recv(&mut [0; 1000]).ok()).count();
        assert_eq!(got as u32 + drops(b.as_raw_fd()).unwrap(), 100);
    }
}
