//! `vmsplice`: vmsplice(2) of the fields to a pipe, and splice(2) of the pipe to the socket.
//!
//! The socket refers to the sender's own pages and nobody says when it has let go of them. So the
//! messages lie in a ring, and a slot is written again only when that cannot change what the other
//! side has yet to read:
//!
//! - *acknowledged*: every byte of the slot's last use is acknowledged (SIOCOUTQ). Enough where a
//!   device has fetched the bytes and the other side reads copies of them. Not enough inside one
//!   machine: on loopback and veth the receiver's queue refers to the same pages, and acknowledged
//!   bytes that it has not read yet change when the slot is written. A test below shows it.
//! - *read*, the default: as many bytes more are acknowledged as a receiver can hold unread. What it
//!   holds is limited by its buffer, and for the largest buffer the window scale of its SYN was chosen
//!   (RFC 7323); so that much further on, the slot must have been read. Right on every path; the price
//!   is a ring as large as that window, which no cache holds.
//!
//! The pages are not gifts (SPLICE_F_GIFT): a gift may never be written again. The ring is unmapped,
//! not handed back to an allocator: pages on their way keep their bytes.
//! Sources: vmsplice(2), splice(2), tcp(7) (SIOCOUTQ), Documentation/networking/ip-sysctl.rst.

use super::lent_ring::{LentRing, LentShape};
use super::page_cache::{PIPE_SIZE, drained, pipe, pipe_fits, tried};
use super::{
    About, Handover, MESSAGES_PER_CALL, MSG_MORE, Mechanism, Packing, Reuse, Sender, SenderSetup, Sending,
    Tally, per_call,
};
use super::{SOCKET_BUFFER_BYTES, more_flag};
use crate::message::{Alignment, MESSAGE_BYTES, MessageShape, PAGE, SMALLEST};
use std::io;
use std::os::fd::RawFd;
use std::time::Duration;
use syscost_core::axis::DefaultValues::Names;
use syscost_core::axis::{Axis, NameAxis, Point};
use syscost_host::Unavailable;
use syscost_sys::socket;
use syscost_sys::splice::{Lent, MORE, MOVE, Pipe};

pub struct VmSplice;

/// When a slot of the ring may be written again.
const REUSE: Axis = NameAxis::new("page_reuse")
    .names(|| vec!["read", "acknowledged"])
    .flag("page-reuse", "page reuse")
    .help(
        "when a lent page may be written again. read: when the other side must have read it, \
         on any path; acknowledged: when TCP has, which is right only where a device fetched \
         it",
    )
    .default_on(Names(&["read"]));

/// Bytes that may be on their way before the sender waits: as large as a send buffer grows
/// (net.ipv4.tcp_wmem as it comes), so that it is the send buffer that limits a sender.
const ON_THE_WAY: u64 = 4 << 20;
/// Segments that a receiver takes beyond its buffer.
const OVERSHOOT: u64 = 1 << 17;
/// The largest ring of a sender: small fields on pages of their own would need more than a machine has.
const LARGEST_RING: usize = 1 << 30;
/// Calls in a ring of messages that are larger than that.
const FEWEST_CALLS: usize = 4;
const SETTLING: Duration = Duration::from_secs(20);

impl Mechanism for VmSplice {
    fn about(&self) -> About<Sending> {
        About {
            id: "vmsplice",
            title: "zero-copy, vmsplice",
            summary: "vmsplice(2) of the fields to a pipe, and splice(2) of the pipe to the socket; a ring of \
                      messages keeps the pages unchanged until they are read",
            source: "vmsplice(2)",
            axes: &[MESSAGES_PER_CALL, MSG_MORE, PIPE_SIZE, REUSE],
            ..About::of(Sending::of(Packing::ByKernel, Handover::Referenced, Reuse::WhenRead))
        }
    }

    fn available(&self) -> Result<(), Unavailable> {
        tried("vmsplice(2)", |_| {
            let memory = [0u8; 1];
            let mut lent = Lent::default();
            lent.push(&memory);
            lent.enter(&Pipe::sized(PAGE)?).map(drop)
        })
    }

    fn fits(&self, point: &Point) -> Result<(), Unavailable> {
        pipe_fits(point)
    }

    fn messages_held(&self, point: &Point) -> u64 {
        let bytes = point.int(MESSAGE_BYTES).unwrap_or(SMALLEST);
        let (fields, alignment) = (MessageShape::of(point), Alignment::of(point));
        let shape = shape(point, fields.lengths(bytes), alignment, window_of_this_host());
        (shape.memory_bytes().min(largest_ring(&shape)) as u64).div_ceil(fields.room(bytes, alignment))
    }

    fn start(&self, setup: SenderSetup<'_>) -> io::Result<Box<dyn Sender>> {
        let (fields, alignment) = (setup.message.lengths(), setup.message.alignment());
        let shape = shape(setup.point, fields, alignment, socket::largest_window(setup.socket)?);
        if shape.memory_bytes() > largest_ring(&shape) {
            return Err(io::Error::other(too_large(shape.memory_bytes())));
        }
        Ok(Box::new(Lender {
            socket: setup.socket,
            pipe: pipe(setup.point)?,
            at_end: if more_flag(setup.point) != 0 { MOVE | MORE } else { MOVE },
            ring: LentRing::new(setup.socket, &setup.message, shape)?,
            lent: Lent::default(),
            tally: Tally::default(),
        }))
    }
}

/// The ring for a receiver that announces up to so large a window.
fn shape(point: &Point, fields: Vec<usize>, alignment: Alignment, window: u64) -> LentShape {
    // The kernel doubles what SO_RCVBUF asks for, and takes that beyond the scale's window.
    let asked = 2 * point.int(SOCKET_BUFFER_BYTES).unwrap_or(0);
    let unread = match point.text_at(REUSE.id) {
        Some("acknowledged") => 0,
        _ => window.max(asked) + OVERSHOOT,
    };
    LentShape::new(fields, alignment, per_call(point) as usize, unread, ON_THE_WAY)
}

fn largest_ring(shape: &LentShape) -> usize {
    LARGEST_RING.max(FEWEST_CALLS * shape.call_bytes() as usize)
}

fn too_large(bytes: usize) -> Unavailable {
    Unavailable {
        reason: format!("keeping lent pages until they are read would need a ring of {} MiB a sender", bytes >> 20),
        remedy: "take larger messages, --alignment heap, or --page-reuse acknowledged; or lower \
                 net.ipv4.tcp_rmem or net.core.rmem_max of the receiver, from which its largest window follows"
            .into(),
    }
}

/// What a receiver on a host with this one's settings announces at most.
fn window_of_this_host() -> u64 {
    const UNSCALED_BITS: u32 = 15;
    const LARGEST_SCALE: u32 = 14;
    let last = |path: &str| {
        let text = std::fs::read_to_string(path).ok()?;
        text.split_whitespace().last()?.parse::<u64>().ok()
    };
    let files = ["/proc/sys/net/ipv4/tcp_rmem", "/proc/sys/net/core/rmem_max"];
    let space = files.into_iter().filter_map(last).max().unwrap_or(0).max(1 << UNSCALED_BITS);
    65535 << (space.ilog2() - UNSCALED_BITS).min(LARGEST_SCALE)
}

struct Lender {
    socket: RawFd,
    pipe: Pipe,
    /// Flags of a call's last piece.
    at_end: libc::c_uint,
    ring: LentRing,
    lent: Lent,
    tally: Tally,
}

impl Lender {
    /// Lends the next slot, which `write` may fill first.
    fn send_call(&mut self, write: impl FnOnce(&mut [u8])) -> io::Result<()> {
        self.tally.system_calls += self.ring.wait_for_slot()?;
        write(self.ring.slot());
        self.ring.lend(&mut self.lent);
        while !self.lent.is_empty() {
            let entered = self.lent.enter(&self.pipe)?;
            let flags = if self.lent.is_empty() { self.at_end } else { MOVE | MORE };
            self.tally.system_calls += 1 + self.pipe.drain_all(self.socket, entered, flags)?;
        }
        Ok(())
    }
}

impl Sender for Lender {
    fn send(&mut self, messages: u64) -> io::Result<()> {
        for _ in 0..messages / self.ring.per_call() {
            self.send_call(|_| ())?;
        }
        Ok(())
    }

    fn settle(&mut self) -> io::Result<()> {
        self.tally.system_calls += drained(self.socket, SETTLING)?;
        Ok(())
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    fn connected() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        sender.set_nodelay(true).unwrap();
        (sender, listener.accept().unwrap().0)
    }

    fn lender(socket: &TcpStream, message: &Message, shape: LentShape) -> Lender {
        Lender {
            socket: socket.as_raw_fd(),
            pipe: Pipe::sized(1 << 16).unwrap(),
            at_end: MOVE,
            ring: LentRing::new(socket.as_raw_fd(), message, shape).unwrap(),
            lent: Lent::default(),
            tally: Tally::default(),
        }
    }

    /// What every byte of this call is: another one than in the calls around it and a lap before.
    fn stamp(call: u64) -> u8 {
        (call.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
    }

    /// Sends calls whose slots are stamped before each use, to a receiver that reads only when
    /// everything is acknowledged; returns the calls that arrived with the wrong bytes.
    fn wrong_when_read_late(unread: u64) -> Vec<u64> {
        const BYTES: usize = 4096;
        const CALLS: u64 = 12;
        let (sender, mut receiver) = connected();
        let shape = LentShape::new(vec![BYTES / 8; 8], Alignment::Heap, 1, unread, 4 * BYTES as u64);
        let mut lender = lender(&sender, &Message::new(BYTES, Alignment::Heap), shape);
        for call in 0..CALLS {
            lender.send_call(|slot| slot.fill(stamp(call))).unwrap();
        }
        lender.settle().unwrap();
        let mut got = [0; BYTES];
        let wrong = |call: &u64| {
            receiver.read_exact(&mut got).unwrap();
            got != [stamp(*call); BYTES]
        };
        (0..CALLS).filter(wrong).collect()
    }

    #[test]
    fn acknowledged_bytes_change_until_they_are_read() {
        let wrong = wrong_when_read_late(0);
        assert!(wrong.contains(&0), "the queue of a receiver on this machine refers to our pages: {wrong:?}");
        let (sender, _receiver) = connected();
        let window = socket::largest_window(sender.as_raw_fd()).unwrap();
        assert!(window >= 65535);
        assert_eq!(wrong_when_read_late(window), [0; 0], "what may be unread is not written");
    }

    #[test]
    fn slots_that_are_written_between_uses_arrive_as_they_were_sent() {
        const BYTES: usize = 1 << 18;
        const PACE: u64 = 16;
        let (sender, mut receiver) = connected();
        let window = socket::largest_window(sender.as_raw_fd()).unwrap();
        let shape = shape(&Point::default(), vec![BYTES / 8; 8], Alignment::Heap, window);
        let laps = 2 * shape.memory_bytes() as u64 / BYTES as u64 + 7;
        let mut lender = lender(&sender, &Message::new(BYTES, Alignment::Heap), shape);
        let reader = std::thread::spawn(move || {
            let mut got = vec![0; BYTES];
            (0..laps)
                .filter(|call| {
                    if call % PACE == 0 {
                        // So late that the queue fills up: bytes lie in it, acknowledged and unread.
                        syscost_sys::sleep::sleep(Duration::from_millis(2));
                    }
                    receiver.read_exact(&mut got).unwrap();
                    got != vec![stamp(*call); BYTES]
                })
                .count()
        });
        for call in 0..laps {
            lender.send_call(|slot| slot.fill(stamp(call))).unwrap();
        }
        assert_eq!(reader.join().unwrap(), 0, "calls with the wrong bytes");
        assert!(lender.tally().system_calls >= 2 * laps);
    }

    #[test]
    fn a_closed_connection_ends_the_wait_for_a_slot() {
        let (sender, receiver) = connected();
        let shape = LentShape::new(vec![512; 8], Alignment::Page, 2, 1 << 14, 0);
        let mut lender = lender(&sender, &Message::new(4096, Alignment::Page), shape);
        drop(receiver);
        let failed = (0..1000).find_map(|_| lender.send_call(|_| ()).err());
        assert!(failed.is_some(), "nobody reads any more");
    }
}
