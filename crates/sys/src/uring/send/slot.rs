//! One message of a line: its memory, what is left of it to send, and the requests that send it.

use super::super::super::{buffer::Buffer, socket};
use super::SendMode;
use io_uring::{opcode, squeue, types};
use std::io;
use std::ops::Range;

/// `IORING_RECVSEND_FIXED_BUF` and `IORING_SEND_ZC_REPORT_USAGE`.
const FIXED_BUFFER: u16 = 1 << 2;
const REPORT_USAGE: u16 = 1 << 3;
/// Where `buf_index` lies in `struct io_uring_sqe`; the crate has no setter for every request.
const BUFFER_INDEX_AT: usize = 40;
/// A request sends at most so much at once: results are 31 bits.
const MOST_BYTES: usize = 1 << 30;

/// A message's memory: buffers, and the pieces of them that make the message, in order.
pub struct Memory {
    /// Never touched while the kernel may read it.
    buffers: Vec<Buffer>,
    pieces: Vec<libc::iovec>,
}

impl Memory {
    /// Each buffer is a piece.
    pub fn of(buffers: Vec<Buffer>) -> Memory {
        let pieces = buffers.iter().map(|b| piece(b, 0..b.len())).collect();
        Memory { buffers, pieces }
    }

    /// These parts of one buffer are the pieces.
    pub fn within(buffer: Buffer, parts: &[Range<usize>]) -> Memory {
        let pieces = parts.iter().map(|part| piece(&buffer, part.clone())).collect();
        Memory { buffers: vec![buffer], pieces }
    }
}

/// A part of a buffer; it panics where the buffer has no such part.
fn piece(buffer: &Buffer, part: Range<usize>) -> libc::iovec {
    let bytes = &buffer[part];
    libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }
}

pub struct Slot {
    memory: Memory,
    /// What is left to send.
    rest: Vec<libc::iovec>,
    /// Describes `rest` to the kernel; boxed, because the kernel is told its address.
    header: Box<libc::msghdr>,
    left: usize,
    /// The whole message.
    bytes: usize,
    way: SendMode,
    index: u16,
    /// The last of a chain, and one with others behind it.
    last: squeue::Entry,
    linked: squeue::Entry,
    /// The submissions of which the kernel still holds bytes: it will notify of each.
    holding: Vec<u32>,
}

impl Slot {
    /// With its requests: the slot's number is that of its registered memory.
    pub fn new(memory: Memory, index: usize, way: SendMode) -> io::Result<Slot> {
        let too_many = |_| invalid("too many messages for one ring");
        let index = u16::try_from(index).map_err(too_many)?;
        if !way.gathered && memory.pieces.len() != 1 {
            return Err(invalid("only a message in one piece needs no gather"));
        }
        if way.registered && memory.buffers.len() != 1 {
            return Err(invalid("only one buffer can be registered a message"));
        }
        // SAFETY: msghdr is plain data for which all zeroes is valid.
        let header: Box<libc::msghdr> = Box::new(unsafe { std::mem::zeroed() });
        let (rest, holding) = (Vec::with_capacity(memory.pieces.len()), Vec::with_capacity(4));
        let bytes = memory.pieces.iter().map(|piece| piece.iov_len).sum();
        let (last, linked) = (opcode::Nop::new().build(), opcode::Nop::new().build());
        let mut slot = Slot { memory, rest, header, left: 0, bytes, way, index, last, linked, holding };
        slot.renew();
        Ok(slot)
    }

    /// The first buffer, which the kernel does not read: it holds nothing of it, and no request is queued.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        debug_assert!(!self.held());
        &mut self.memory.buffers[0]
    }

    /// Bytes that are left to send.
    #[inline]
    pub fn left(&self) -> usize {
        self.left
    }

    /// The request that sends what is left.
    #[inline]
    pub fn request(&mut self, id: u64, linked: bool) -> &squeue::Entry {
        let entry = if linked { &mut self.linked } else { &mut self.last };
        entry.set_user_data(id);
        entry
    }

    /// So much of it is out.
    #[cold]
    pub fn advance(&mut self, bytes: usize) {
        socket::advance(&mut self.rest, bytes);
        self.left -= bytes;
        self.describe();
    }

    /// It is out, and can be sent again from the start.
    #[inline]
    pub fn renew(&mut self) {
        if self.left != self.bytes {
            self.rest.clear();
            self.rest.extend_from_slice(&self.memory.pieces);
            self.left = self.bytes;
            self.describe();
        }
    }

    /// Does the kernel hold some of it?
    #[inline]
    pub fn held(&self) -> bool {
        !self.holding.is_empty()
    }

    /// The kernel took bytes of it and will say when it needs them no more.
    #[inline]
    pub fn hold(&mut self, attempt: u32) {
        self.holding.push(attempt);
    }

    /// The kernel needs those bytes no more; false if it held none by this submission.
    #[inline]
    pub fn given_back(&mut self, attempt: u32) -> bool {
        let place = self.holding.iter().position(|other| *other == attempt);
        place.map(|place| self.holding.swap_remove(place)).is_some()
    }

    /// The buffer that holds it all, to be registered.
    pub fn area(&self) -> libc::iovec {
        piece(&self.memory.buffers[0], 0..self.memory.buffers[0].len())
    }

    /// Rewrites the requests for what is left.
    fn describe(&mut self) {
        self.header.msg_iov = self.rest.as_mut_ptr();
        self.header.msg_iovlen = self.rest.len() as _;
        // WAITALL: the request completes when all is out, so that what is linked behind it may start.
        let flags = self.way.flags | libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
        let (socket, header) = (types::Fixed(0), &raw const *self.header);
        let (start, length) = match self.rest.first() {
            Some(piece) => (piece.iov_base.cast::<u8>().cast_const(), piece.iov_len.min(MOST_BYTES) as u32),
            None => (std::ptr::null(), 0),
        };
        let zero_copy_flags = REPORT_USAGE | if self.way.registered { FIXED_BUFFER } else { 0 };
        let mut entry = match (self.way.gathered, self.way.zero_copy) {
            (false, false) => opcode::Send::new(socket, start, length).flags(flags).build(),
            (true, false) => opcode::SendMsg::new(socket, header).flags(flags as u32).build(),
            (false, true) => {
                opcode::SendZc::new(socket, start, length).flags(flags).zc_flags(zero_copy_flags).build()
            }
            (true, true) => {
                opcode::SendMsgZc::new(socket, header).flags(flags as u32).ioprio(zero_copy_flags).build()
            }
        };
        if self.way.registered {
            set_buffer_index(&mut entry, self.index);
        }
        self.linked = entry.clone().flags(squeue::Flags::IO_LINK);
        self.last = entry;
    }
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// Which registered buffer a request uses.
fn set_buffer_index(entry: &mut squeue::Entry, index: u16) {
    const { assert!(size_of::<squeue::Entry>() == 64, "an entry is the kernel's struct") };
    let field = (&raw mut *entry).cast::<u8>().wrapping_add(BUFFER_INDEX_AT).cast::<u16>();
    // SAFETY: the entry is `repr(C)` around `struct io_uring_sqe` of 64 bytes, in which an aligned u16 lies
    // at this offset; the entry is borrowed exclusively.
    unsafe { field.write(index) }
}
