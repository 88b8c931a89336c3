//! Datagrams through io_uring: linked sends of one submission, and one multishot receive into provided buffers.
//!
//! Source: io_uring_enter(2) (IORING_OP_SEND, IORING_OP_SEND_ZC, IORING_RECV_MULTISHOT).

use super::pair::End;
use super::way::{HandsOver, ReceiveWay, SendCall, SendWay, TakeDatagrams, number};
use crate::mechanism::{Tally, contiguous, per_call};
use crate::message::Message;
use std::io;
use std::os::fd::RawFd;
use std::time::Duration;
use syscost_core::axis::Point;
use syscost_host::uring;
use syscost_sys::uring::recv::MultishotReceive;
use syscost_sys::uring::send::{Memory, SendMode, SendQueue};

const COPIED: SendMode = SendMode { gathered: false, zero_copy: false, registered: false, flags: 0 };
const LENT: SendMode = SendMode { zero_copy: true, ..COPIED };
/// Calls whose datagrams the kernel may hold at once.
const CALLS_LENT: usize = 8;
/// Datagrams that the kernel has buffers for: a power of two.
const PROVIDED: u16 = 64;

pub const SEND: SendWay = SendWay {
    id: "udp_io_uring_send",
    hands_over: HandsOver::Several,
    available: |_| uring::sends(COPIED),
    start: |end, message, point| RingSend::start(end, &message, point, COPIED),
    ..SendWay::PLAIN
};

pub const SEND_ZC: SendWay = SendWay {
    id: "udp_io_uring_send_zc",
    hands_over: HandsOver::Several,
    available: |_| uring::sends(LENT),
    start: |end, message, point| RingSend::start(end, &message, point, LENT),
    ..SendWay::PLAIN
};

pub const RECEIVE: ReceiveWay = ReceiveWay {
    id: "udp_io_uring_recv",
    available: |_| uring::receives(),
    start: |end, bytes, _| {
        const LINE: usize = 64;
        // A byte of room more: a datagram that is too long shows.
        let ring = MultishotReceive::new(end.fd(), PROVIDED, (bytes + 1).next_multiple_of(LINE))?;
        Ok(Box::new(RingReceive { ring, look: end.look }))
    },
};

struct RingSend {
    queue: SendQueue,
    call: usize,
}

impl RingSend {
    fn start(end: &End, message: &Message, point: &Point, mode: SendMode) -> io::Result<Box<dyn SendCall>> {
        let call = per_call(point) as usize;
        let held = if mode.zero_copy { call * CALLS_LENT } else { call };
        let memory = (0..held).map(|_| Memory::of(vec![contiguous(message, 1)])).collect();
        Ok(Box::new(RingSend { queue: SendQueue::new(end.fd(), memory, call, mode)?, call }))
    }
}

impl SendCall for RingSend {
    #[inline]
    fn send(&mut self, first: u64) -> io::Result<u64> {
        let before = self.queue.counts().enters;
        (first..).zip(self.queue.next_messages(self.call)?).for_each(|(n, datagram)| number(datagram, n));
        self.queue.send(self.call)?;
        Ok(self.queue.counts().enters - before)
    }

    fn settle(&mut self) -> io::Result<()> {
        self.queue.settle()
    }

    fn tally(&self) -> Tally {
        let counts = self.queue.counts();
        Tally {
            completions: counts.notifications,
            completions_copied: counts.copied,
            enobufs: counts.starved,
            queue_entries: counts.entries,
            ..Tally::default()
        }
    }
}

struct RingReceive {
    ring: MultishotReceive,
    /// The ring knows no SO_RCVTIMEO.
    look: Duration,
}

impl TakeDatagrams for RingReceive {
    #[inline]
    fn take(&mut self, _: RawFd, each: &mut dyn FnMut(&[u8])) -> io::Result<u64> {
        let before = self.ring.enters();
        let ends = self.ring.receive_datagrams(self.look)?;
        self.ring.pieces().for_each(&mut *each);
        if ends {
            each(&[]);
        }
        Ok(self.ring.enters() - before)
    }
}
