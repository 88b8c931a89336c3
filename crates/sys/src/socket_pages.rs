//! TCP_ZEROCOPY_RECEIVE: pages of received data mapped into this process instead of copied.
//!
//! Addresses that are mapped from a socket stand empty until getsockopt(2) puts pages of the receive queue
//! behind them; it takes them away again when it puts others there. What cannot be mapped (the end of a
//! page, pages that are parts of larger ones) is copied by the same call as far as it has room, and the
//! rest has to be read. Sources: linux/tcp.h (struct tcp_zerocopy_receive), net/ipv4/tcp.c
//! (tcp_zerocopy_receive), tools/testing/selftests/net/tcp_mmap.c.

use super::mapping::{MappedArea, page_bytes};
use super::socket::poll;
use std::io;
use std::os::fd::RawFd;

/// `struct tcp_zerocopy_receive` of linux/tcp.h.
#[repr(C)]
#[derive(Default)]
struct ZerocopyReceive {
    address: u64,
    length: u32,
    recv_skip_hint: u32,
    inq: u32,
    err: i32,
    copybuf_address: u64,
    copybuf_len: i32,
    flags: u32,
    msg_control: u64,
    msg_controllen: u64,
    msg_flags: u32,
    reserved: u32,
}

/// What one call brought: mapped bytes first, then copied ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// Nothing more will come.
    End,
    Bytes {
        mapped: usize,
        copied: usize,
        /// What lies next in the queue and has to be read, so many bytes.
        unmappable: usize,
    },
}

/// Addresses behind which received pages are put.
#[derive(Debug)]
pub struct SocketPages {
    area: MappedArea,
    /// Of them, from the start: those behind which the last call put pages.
    mapped: usize,
}

impl SocketPages {
    /// Room for so many bytes of pages of this socket.
    pub fn of(socket: RawFd, bytes: usize) -> io::Result<SocketPages> {
        let bytes = bytes.max(1).next_multiple_of(page_bytes());
        let area = MappedArea::map(bytes, libc::PROT_READ, libc::MAP_SHARED, socket)?;
        Ok(SocketPages { area, mapped: 0 })
    }

    /// Takes what is in the receive queue, without waiting: whole pages by mapping them, and what is left
    /// before the next mappable page, or all if it fits, by copying it to `room`.
    #[inline]
    pub fn take(&mut self, socket: RawFd, room: &mut [u8]) -> io::Result<Taken> {
        let mut asked = ZerocopyReceive {
            address: self.area.start.as_ptr() as u64,
            length: self.area.bytes as u32,
            copybuf_address: room.as_mut_ptr() as u64,
            copybuf_len: room.len() as i32,
            ..ZerocopyReceive::default()
        };
        let mut length = size_of::<ZerocopyReceive>() as libc::socklen_t;
        // The call unmaps before it maps, also where it then fails.
        self.mapped = 0;
        // SAFETY: the structure is live and `length` its size; the addresses in it are a mapping of this
        // socket and an exclusively borrowed slice, both with their lengths.
        let result = unsafe {
            libc::getsockopt(
                socket,
                libc::IPPROTO_TCP,
                libc::TCP_ZEROCOPY_RECEIVE,
                (&raw mut asked).cast(),
                &mut length,
            )
        };
        if result < 0 {
            let error = io::Error::last_os_error();
            // Its only use in this call: the peer has closed, and nothing is left.
            return if error.raw_os_error() == Some(libc::EIO) { Ok(Taken::End) } else { Err(error) };
        }
        if asked.err != 0 {
            return Err(io::Error::from_raw_os_error(asked.err.abs()));
        }
        // A kernel before 5.11 does not know the room for copies, and leaves the field as it was.
        let knows_room = length as usize > std::mem::offset_of!(ZerocopyReceive, copybuf_len);
        let copied = match (knows_room, asked.copybuf_len) {
            (false, _) => 0,
            (true, n) if n < 0 => return Err(io::Error::from_raw_os_error(-n)),
            (true, n) => n as usize,
        };
        self.mapped = asked.length as usize;
        assert!(self.mapped <= self.area.bytes && copied <= room.len(), "no more than there is room for");
        Ok(Taken::Bytes { mapped: self.mapped, copied, unmappable: asked.recv_skip_hint as usize })
    }

    /// What is mapped is no longer the latest that was received.
    pub fn forget(&mut self) {
        self.mapped = 0;
    }

    /// The pages of the last call.
    #[inline]
    pub fn mapped(&self) -> &[u8] {
        // SAFETY: the kernel put pages behind these addresses, readable, and takes them away only in
        // `take`, which borrows exclusively; they belong to no sender's memory, so nobody writes them.
        unsafe { std::slice::from_raw_parts(self.area.start.as_ptr(), self.mapped) }
    }
}

/// Sleeps until something can be received, as the low-water mark has it, or the stream has ended.
#[inline]
pub fn wait_readable(socket: RawFd) -> io::Result<()> {
    while poll(socket, libc::POLLIN, -1)?.is_none() {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    #[test]
    fn every_byte_comes_by_one_of_three_ways_and_then_the_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut from = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (to, _) = listener.accept().unwrap();
        let socket = to.as_raw_fd();
        let mut pages = match SocketPages::of(socket, 1 << 20) {
            Ok(pages) => pages,
            Err(error) => return eprintln!("skipped: a socket cannot be mapped: {error}"),
        };
        let nothing = Taken::Bytes { mapped: 0, copied: 0, unmappable: 0 };
        let mut room = [0; 4096];
        match pages.take(socket, &mut room) {
            Ok(taken) => assert_eq!(taken, nothing, "nothing was sent"),
            Err(error) => return eprintln!("skipped: TCP_ZEROCOPY_RECEIVE: {error}"),
        }
        from.write_all(b"small").unwrap();
        wait_readable(socket).unwrap();
        assert_eq!(
            pages.take(socket, &mut room).unwrap(),
            Taken::Bytes { mapped: 0, copied: 5, unmappable: 0 }
        );
        assert_eq!((&room[..5], pages.mapped().len()), (b"small".as_slice(), 0));
        let sent: Vec<u8> = (0..300_000u32).map(|i| (i / 7) as u8).collect();
        let expected = sent.clone();
        let sender = std::thread::spawn(move || from.write_all(&sent));
        let mut got = Vec::new();
        loop {
            wait_readable(socket).unwrap();
            let Taken::Bytes { mapped, copied, unmappable } = pages.take(socket, &mut room).unwrap() else {
                break;
            };
            assert_eq!(pages.mapped().len(), mapped);
            got.extend_from_slice(pages.mapped());
            got.extend_from_slice(&room[..copied]);
            let mut rest = vec![0; unmappable];
            std::io::Read::read_exact(&mut &to, &mut rest).unwrap();
            got.extend(rest);
        }
        sender.join().unwrap().unwrap();
        assert!(got == expected, "{} of {} bytes, or others", got.len(), expected.len());
    }
}
