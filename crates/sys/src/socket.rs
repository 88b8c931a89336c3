//! send(2), sendmsg(2), recv(2) and the error queue on a raw descriptor: EINTR retried, partial
//! sends finished, errors as `io::Error`.
//!
//! Sources: send(2), recv(2), tcp(7), Documentation/networking/msg_zerocopy.rst.

use crate::buffer::Buffer;
use crate::status::done;
use rustix::event::{self, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};
use std::time::{Duration, Instant};

/// `SO_EE_ORIGIN_ZEROCOPY` and `SO_EE_CODE_ZEROCOPY_COPIED` of linux/errqueue.h; libc lacks them.
const SO_EE_ORIGIN_ZEROCOPY: u8 = 5;
const SO_EE_CODE_ZEROCOPY_COPIED: u8 = 1;
/// `SO_BUF_LOCK` of asm-generic/socket.h, likewise.
const SO_BUF_LOCK: libc::c_int = 72;

/// send(2) until the whole slice is out; returns the number of calls it took.
#[inline]
pub fn send_all(socket: RawFd, mut bytes: &[u8], flags: libc::c_int) -> io::Result<u64> {
    let mut calls = 0;
    while !bytes.is_empty() {
        calls += 1;
        // SAFETY: the pointer and length describe a live slice.
        let sent =
            unsafe { libc::send(socket, bytes.as_ptr().cast(), bytes.len(), flags | libc::MSG_NOSIGNAL) };
        match length_or_retry(sent)? {
            Some(sent) => bytes = &bytes[sent..],
            None => continue,
        }
    }
    Ok(calls)
}

/// One recv(2); 0 means that the peer closed the stream.
#[inline]
pub fn receive(socket: RawFd, buffer: &mut [u8], flags: libc::c_int) -> io::Result<usize> {
    loop {
        // SAFETY: the pointer and length describe a live, exclusively borrowed slice.
        let got = unsafe { libc::recv(socket, buffer.as_mut_ptr().cast(), buffer.len(), flags) };
        if let Some(got) = length_or_retry(got)? {
            return Ok(got);
        }
    }
}

/// A system call's length, `None` to try again after a signal, or its error.
#[inline]
pub(super) fn length_or_retry(result: libc::ssize_t) -> io::Result<Option<usize>> {
    if result >= 0 {
        return Ok(Some(result as usize));
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::Interrupted { Ok(None) } else { Err(error) }
}

/// The iovecs of a message's fields, ready for sendmsg(2). It borrows nothing: whoever makes one
/// keeps the fields alive and in place as long as it is used.
pub struct Gather {
    whole: Vec<libc::iovec>,
    /// What is left of a partial send; only that path copies.
    rest: Vec<libc::iovec>,
    bytes: usize,
}

impl Gather {
    pub fn of<'a>(fields: impl IntoIterator<Item = &'a Buffer>) -> Gather {
        let iovec = |f: &Buffer| libc::iovec { iov_base: f.as_ptr().cast_mut().cast(), iov_len: f.len() };
        let whole: Vec<libc::iovec> = fields.into_iter().map(iovec).collect();
        let bytes = whole.iter().map(|iovec| iovec.iov_len).sum();
        Gather { whole, rest: Vec::new(), bytes }
    }

    /// sendmsg(2) until the whole message is out; returns the number of calls that sent bytes. An
    /// error of a call after the first leaves a partly sent message: the connection is then of no
    /// more use, except for ENOBUFS, which `resume` continues after.
    #[inline]
    pub fn send(&mut self, socket: RawFd, flags: libc::c_int) -> (u64, io::Result<()>) {
        self.whole_by(|iovecs| sendmsg(socket, iovecs, flags))
    }

    /// writev(2) until everything is out; returns the number of calls. An error leaves a partly sent
    /// message. SIGPIPE has to be ignored.
    #[inline]
    pub fn write(&mut self, socket: RawFd) -> io::Result<u64> {
        let (calls, result) = self.whole_by(|iovecs| writev(socket, iovecs));
        result.map(|()| calls)
    }

    /// Sends what an earlier call left; see [`Gather::send`].
    #[cold]
    pub fn resume(&mut self, socket: RawFd, flags: libc::c_int) -> (u64, io::Result<()>) {
        self.rest_by(|iovecs| sendmsg(socket, iovecs, flags))
    }

    #[inline]
    fn whole_by(&mut self, call: impl Fn(&[libc::iovec]) -> io::Result<usize>) -> (u64, io::Result<()>) {
        self.rest.clear();
        let first = call(&self.whole);
        if first.as_ref().is_ok_and(|sent| *sent == self.bytes) {
            return (1, Ok(()));
        }
        self.rest.extend_from_slice(&self.whole);
        match first {
            Ok(sent) => {
                advance(&mut self.rest, sent);
                let (more, result) = self.rest_by(call);
                (1 + more, result)
            }
            Err(error) => (0, Err(error)),
        }
    }

    #[cold]
    fn rest_by(&mut self, call: impl Fn(&[libc::iovec]) -> io::Result<usize>) -> (u64, io::Result<()>) {
        let mut calls = 0;
        while !self.rest.is_empty() {
            match call(&self.rest) {
                Ok(sent) => {
                    calls += 1;
                    advance(&mut self.rest, sent);
                }
                Err(error) => return (calls, Err(error)),
            }
        }
        (calls, Ok(()))
    }
}

// SAFETY: the pointers are only handed to the kernel; the maker keeps the fields alive (see `of`).
unsafe impl Send for Gather {}

#[inline]
fn sendmsg(socket: RawFd, iovecs: &[libc::iovec], flags: libc::c_int) -> io::Result<usize> {
    // SAFETY: msghdr is plain data for which all zeroes is valid.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = iovecs.as_ptr().cast_mut();
    header.msg_iovlen = iovecs.len() as _;
    loop {
        // SAFETY: the header points to live iovecs; the kernel only reads what they describe.
        let sent = unsafe { libc::sendmsg(socket, &header, flags | libc::MSG_NOSIGNAL) };
        if let Some(sent) = length_or_retry(sent)? {
            return Ok(sent);
        }
    }
}

#[inline]
fn writev(socket: RawFd, iovecs: &[libc::iovec]) -> io::Result<usize> {
    loop {
        // SAFETY: the iovecs are live; the kernel only reads what they describe.
        let written = unsafe { libc::writev(socket, iovecs.as_ptr(), iovecs.len() as libc::c_int) };
        if let Some(written) = length_or_retry(written)? {
            return Ok(written);
        }
    }
}

/// Removes the first `sent` bytes from a list of iovecs.
pub(super) fn advance(iovecs: &mut Vec<libc::iovec>, mut sent: usize) {
    let mut whole = 0;
    for iovec in iovecs.iter_mut() {
        if sent < iovec.iov_len {
            iovec.iov_base = iovec.iov_base.cast::<u8>().wrapping_add(sent).cast();
            iovec.iov_len -= sent;
            break;
        }
        sent -= iovec.iov_len;
        whole += 1;
    }
    iovecs.drain(..whole);
}

/// A zero-copy notification: these sends (by number, inclusive) no longer need their memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    pub first: u32,
    pub last: u32,
    /// The kernel copied the data after all.
    pub copied: bool,
}

impl Completion {
    /// Sends covered; the numbers wrap around.
    #[inline]
    pub fn count(&self) -> u32 {
        self.last.wrapping_sub(self.first).wrapping_add(1)
    }
}

/// Takes one notification from the error queue; `None`: the queue is empty.
#[inline]
pub fn completion(socket: RawFd) -> io::Result<Option<Completion>> {
    let mut control = [0u64; 16];
    // SAFETY: msghdr is plain data for which all zeroes is valid.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = std::mem::size_of_val(&control) as _;
    // SAFETY: the header points to a live control buffer of the stated length.
    let got = unsafe { libc::recvmsg(socket, &mut header, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT) };
    if got < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::WouldBlock { Ok(None) } else { Err(error) };
    }
    // SAFETY: the kernel filled the header; the CMSG macros walk inside the control buffer.
    let extended = unsafe {
        let control_message = libc::CMSG_FIRSTHDR(&header);
        if control_message.is_null() {
            return Err(io::Error::other("the error queue gave no control message"));
        }
        libc::CMSG_DATA(control_message).cast::<libc::sock_extended_err>().read_unaligned()
    };
    if extended.ee_errno != 0 || extended.ee_origin != SO_EE_ORIGIN_ZEROCOPY {
        return Err(io::Error::from_raw_os_error(extended.ee_errno as i32));
    }
    Ok(Some(Completion {
        first: extended.ee_info,
        last: extended.ee_data,
        copied: extended.ee_code & SO_EE_CODE_ZEROCOPY_COPIED != 0,
    }))
}

/// One poll(2) for so many milliseconds (-1: for ever): what there is, nothing after that time; `None`: a signal.
#[inline]
pub(super) fn poll(socket: RawFd, events: i16, milliseconds: libc::c_int) -> io::Result<Option<i16>> {
    let mut poll = libc::pollfd { fd: socket, events, revents: 0 };
    // SAFETY: one live pollfd.
    let ready = unsafe { libc::poll(&mut poll, 1, milliseconds) };
    Ok(length_or_retry(ready as libc::ssize_t)?.map(|_| poll.revents))
}

/// Sleeps until the error queue has something (or the connection failed, which is an error).
#[inline]
pub fn wait_for_completion(socket: RawFd) -> io::Result<()> {
    loop {
        let Some(events) = poll(socket, 0, -1)? else { continue };
        if events & libc::POLLERR != 0 {
            return Ok(());
        }
        if events & (libc::POLLHUP | libc::POLLNVAL) != 0 {
            return Err(io::Error::new(
                io::ErrorKind::ConnectionReset,
                "the connection closed before every zero-copy completion arrived",
            ));
        }
    }
}

/// Sets SO_ZEROCOPY, without which MSG_ZEROCOPY is ignored.
pub fn enable_zerocopy(socket: RawFd) -> io::Result<()> {
    set_option(socket, libc::SO_ZEROCOPY, 1)
}

/// Starts the send buffer at this size (within net.core.wmem_max, as for any program) and leaves it to the kernel from there
/// on. Before Linux 5.14 (no SO_BUF_LOCK) a size once set stays: there it is left alone.
pub fn start_send_buffer(socket: RawFd, bytes: u64) -> io::Result<()> {
    if set_option(socket, SO_BUF_LOCK, 0).is_err() {
        return Ok(());
    }
    set_option(socket, libc::SO_SNDBUF, bytes.try_into().unwrap_or(libc::c_int::MAX / 2))?;
    set_option(socket, SO_BUF_LOCK, 0)
}

/// Waits until a connection that was begun without waiting is made, or has failed: SO_ERROR then says how.
pub fn wait_connected(socket: RawFd, limit: Duration) -> io::Result<()> {
    let until = Instant::now() + limit;
    loop {
        let left = until.saturating_duration_since(Instant::now()).as_millis() as libc::c_int;
        match poll(socket, libc::POLLOUT, left.saturating_add(1))? {
            Some(0) => return Err(io::Error::new(io::ErrorKind::TimedOut, "no answer in time")),
            Some(_) => return Ok(()),
            None => {}
        }
    }
}

/// Sends what MSG_MORE holds back: clearing TCP_CORK does, whether it was set or not.
#[inline]
pub fn push(socket: RawFd) -> io::Result<()> {
    set_option_of(socket, libc::IPPROTO_TCP, libc::TCP_CORK, &0i32.to_ne_bytes())
}

/// The largest packet that the kernel believes the path of a connected socket to carry.
pub fn path_mtu(socket: RawFd, ipv6: bool) -> io::Result<u32> {
    let (level, option) =
        if ipv6 { (libc::IPPROTO_IPV6, libc::IPV6_MTU) } else { (libc::IPPROTO_IP, libc::IP_MTU) };
    u32::try_from(option_of(socket, level, option)?).map_err(io::Error::other)
}

/// An option of SOL_SOCKET.
pub fn option(socket: RawFd, option: libc::c_int) -> io::Result<libc::c_int> {
    option_of(socket, libc::SOL_SOCKET, option)
}

fn option_of(socket: RawFd, level: libc::c_int, option: libc::c_int) -> io::Result<libc::c_int> {
    let mut value = 0;
    // SAFETY: any bytes make an int.
    unsafe { option_into(socket, level, option, &mut value) }.map(|()| value)
}

/// getsockopt(2) into a structure of the kernel's.
///
/// # Safety
/// Any bytes make a valid `T`.
pub(super) unsafe fn option_into<T>(socket: RawFd, level: i32, option: i32, into: &mut T) -> io::Result<()> {
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the value is live and `length` is its size.
    done(unsafe { libc::getsockopt(socket, level, option, (&raw mut *into).cast(), &mut length) })
}

/// Sets an option of SOL_SOCKET that is a number.
pub fn set_option(socket: RawFd, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    set_option_of(socket, libc::SOL_SOCKET, option, &value.to_ne_bytes())
}

#[inline]
pub(super) fn set_option_of(socket: RawFd, level: i32, option: i32, value: &[u8]) -> io::Result<()> {
    // SAFETY: pointer and length are of a live slice, which is only read.
    done(unsafe {
        libc::setsockopt(socket, level, option, value.as_ptr().cast(), value.len() as libc::socklen_t)
    })
}

/// Bytes that were sent and not yet acknowledged, and those not yet sent (SIOCOUTQ).
pub fn unacknowledged(socket: RawFd) -> io::Result<u64> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the request writes one int, which is live. TIOCOUTQ is SIOCOUTQ.
    done(unsafe { libc::ioctl(socket, libc::TIOCOUTQ, &raw mut bytes) }).map(|()| bytes as u64)
}

/// Bytes that were handed over to be sent on this connection; `None` where they keep changing. The handshake may count as one.
pub fn handed_over(socket: RawFd) -> io::Result<Option<u64>> {
    for _ in 0..100 {
        let acknowledged = info(socket)?.tcpi_bytes_acked;
        let left = unacknowledged(socket)?;
        if info(socket)?.tcpi_bytes_acked == acknowledged {
            return Ok(Some(acknowledged + left));
        }
    }
    Ok(None)
}

/// What was taken from a connection by whoever receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenBytes {
    pub bytes: u64,
    /// The other side has closed it.
    pub closed: bool,
}

/// Since the connection was made; `None`: this kernel does not count what arrives. While more arrives it may be too much.
pub fn taken(socket: RawFd) -> io::Result<Option<TakenBytes>> {
    const ESTABLISHED: u8 = 1;
    let mut queued: libc::c_int = 0;
    // SAFETY: the request writes one int, which is live.
    done(unsafe { libc::ioctl(socket, libc::FIONREAD, &raw mut queued) })?;
    let info = info(socket)?;
    let closed = info.tcpi_state != ESTABLISHED;
    // The end of the stream has a sequence number, and counts as a byte.
    let arrived = info.tcpi_bytes_received - u64::from(closed && info.tcpi_bytes_received > 0);
    Ok((arrived > 0).then(|| TakenBytes { bytes: arrived.saturating_sub(queued as u64), closed }))
}

/// Sleeps this long, or until the connection fails, which is an error: nothing that is waited for comes
/// any more.
pub fn sleep_while_connected(socket: RawFd, time: Duration) -> io::Result<()> {
    // SAFETY: the caller holds the descriptor.
    let socket = unsafe { BorrowedFd::borrow_raw(socket) };
    let mut sockets = [PollFd::from_borrowed_fd(socket, PollFlags::empty())];
    match event::poll(&mut sockets, Timespec::try_from(time).ok().as_ref()) {
        Err(Errno::INTR) | Ok(0) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::ConnectionReset,
            "the connection closed before everything was acknowledged",
        )),
    }
}

/// The largest window that the other side can announce: by the scale that it chose (RFC 7323).
pub fn largest_window(socket: RawFd) -> io::Result<u64> {
    // libc's tcp_info hides this bit field: the byte at offset 6, its lower half (linux/tcp.h).
    const SCALES: usize = 6;
    const UNSCALED: u64 = 65535;
    let info = info(socket)?;
    // SAFETY: the structure is live, larger than the offset, and plain bytes.
    let scales = unsafe { (&raw const info).cast::<u8>().add(SCALES).read() };
    let scale = if cfg!(target_endian = "little") { scales & 15 } else { scales >> 4 };
    Ok(UNSCALED << scale)
}

/// What TCP counted on one connection (TCP_INFO); each wraps around.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segments {
    /// Sent again.
    pub retransmitted: u32,
    /// Sent with payload, each of at most the maximum segment size, whatever carries many at once.
    pub with_data: u32,
    /// That came in: of a one-way stream, acknowledgements.
    pub received: u32,
}

impl Segments {
    /// Those of another connection too; each wraps around.
    pub fn add(&mut self, other: Segments) {
        self.retransmitted = self.retransmitted.wrapping_add(other.retransmitted);
        self.with_data = self.with_data.wrapping_add(other.with_data);
        self.received = self.received.wrapping_add(other.received);
    }
}

/// The segments of a connection so far. What an old kernel does not count stays 0.
pub fn segments(socket: RawFd) -> io::Result<Segments> {
    let info = info(socket)?;
    Ok(Segments {
        retransmitted: info.tcpi_total_retrans,
        with_data: info.tcpi_data_segs_out,
        received: info.tcpi_segs_in,
    })
}

fn info(socket: RawFd) -> io::Result<libc::tcp_info> {
    // SAFETY: tcp_info is plain data for which all zeroes is valid.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    // SAFETY: and any other bytes.
    unsafe { option_into(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut info) }.map(|()| info)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_was_taken_is_counted_up_to_the_end_of_the_stream() {
        use std::io::{Read, Write};
        use std::os::fd::AsRawFd;
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut from = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut to, _) = listener.accept().unwrap();
        from.write_all(&[1; 1000]).unwrap();
        to.read_exact(&mut [0; 300]).unwrap();
        let Some(open) = taken(to.as_raw_fd()).unwrap() else {
            return eprintln!("skipped: this kernel does not count what arrives");
        };
        assert_eq!(open, TakenBytes { bytes: 300, closed: false });
        drop(from);
        assert_eq!(to.read_to_end(&mut Vec::new()).unwrap(), 700);
        assert_eq!(taken(to.as_raw_fd()).unwrap(), Some(TakenBytes { bytes: 1000, closed: true }));
    }

    proptest! {
        #[test]
        fn advance_drops_exactly_what_was_sent(lengths in prop::collection::vec(0usize..50, 1..9), cut in 0usize..400) {
            let total: usize = lengths.iter().sum();
            let cut = cut.min(total);
            let mut iovecs: Vec<libc::iovec> = lengths
                .iter()
                .scan(4096usize, |at, length| {
                    let iovec = libc::iovec { iov_base: *at as *mut _, iov_len: *length };
                    *at += length;
                    Some(iovec)
                })
                .collect();
            advance(&mut iovecs, cut);
            prop_assert_eq!(iovecs.iter().map(|v| v.iov_len).sum::<usize>(), total - cut);
            if let Some(first) = iovecs.iter().find(|v| v.iov_len > 0) {
                prop_assert_eq!(first.iov_base as usize, 4096 + cut);
            }
        }
    }

    #[test]
    fn completion_numbers_wrap() {
        assert_eq!(Completion { first: u32::MAX, last: 1, copied: false }.count(), 3);
    }
}
