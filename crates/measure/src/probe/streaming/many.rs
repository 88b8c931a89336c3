//! Many connections of one thread: whose turn it is to send, and which of them have something to receive.
//!
//! Each connection has a [`Sender`] or a [`MessageStream`] of its own, which know of no other. The sender goes
//! round: one call on each, in the order of their numbers, and waits where that one has no room. The receiver
//! takes one piece of each that epoll(7) says is ready; its sockets do not wait, so that one which turns out
//! to have nothing holds up no other.

use super::receiving::{MessageStream, Source, SourceCounts, share};
use crate::mechanism::{Sender, Tally};
use anyhow::{Context, Result};
use std::io::{self, ErrorKind};
use std::os::fd::RawFd;
use syscost_sys::epoll::Epoll;

/// The senders of one thread, as one: each call goes to the next of them.
pub struct InTurn {
    senders: Vec<Box<dyn Sender>>,
    /// Messages of a call.
    call: u64,
    next: usize,
}

impl InTurn {
    /// One sender stays what it is.
    pub fn of(mut senders: Vec<Box<dyn Sender>>, call: u64) -> Result<Box<dyn Sender>> {
        match senders.len() {
            0 | 1 => senders.pop().context("a thread has a connection"),
            _ => Ok(Box::new(InTurn { senders, call, next: 0 })),
        }
    }
}

impl Sender for InTurn {
    fn send(&mut self, messages: u64) -> io::Result<()> {
        for _ in 0..messages / self.call {
            self.senders[self.next].send(self.call)?;
            self.next += 1;
            if self.next == self.senders.len() {
                self.next = 0;
            }
        }
        Ok(())
    }

    fn settle(&mut self) -> io::Result<()> {
        self.senders.iter_mut().try_for_each(|sender| sender.settle())
    }

    fn tally(&self) -> Tally {
        self.senders.iter().map(|sender| sender.tally()).sum()
    }
}

/// The streams of one thread, of which epoll says who has something.
pub struct Crowd {
    streams: Vec<(RawFd, MessageStream)>,
    epoll: Epoll,
    /// Of what the last wait found ready: how many there are, and how many have been served.
    ready: usize,
    served: usize,
    /// Streams that have not ended.
    open: usize,
    /// Of all streams, waits included: kept as pieces come, since a window's edge or a piece of a slice must not ask each.
    counts: SourceCounts,
}

impl Crowd {
    /// Of sockets that do not wait, each with its stream.
    pub fn of(mut streams: Vec<(RawFd, MessageStream)>) -> Result<Crowd> {
        let count = streams.len();
        streams.iter_mut().for_each(|(_, stream)| stream.be_one_of(count));
        let mut epoll = Epoll::new().context("cannot make an epoll descriptor")?;
        for (number, (socket, _)) in streams.iter().enumerate() {
            epoll.add(*socket, number).context("cannot wait for a connection")?;
        }
        let open = streams.len();
        Ok(Crowd { streams, epoll, ready: 0, served: 0, open, counts: SourceCounts::default() })
    }
}

impl Source for Crowd {
    fn take_next(&mut self) -> Result<bool> {
        if self.served == self.ready {
            self.counts.calls += 1;
            self.served = 0;
            self.ready = self.epoll.wait().context("cannot wait for data")?;
        }
        let (socket, stream) = &mut self.streams[self.epoll.number(self.served)];
        self.served += 1;
        let before = stream.counts();
        let taken = stream.take_next();
        self.counts.add_since(&before, &stream.counts());
        match taken {
            Ok(true) => {}
            Ok(false) => {
                self.epoll.remove(*socket).context("cannot leave out a connection that has ended")?;
                self.open -= 1;
            }
            // The call was made, and brought nothing: it is told again when there is something.
            Err(error) if waits(&error) => self.counts.calls += 1,
            Err(error) => return Err(error),
        }
        Ok(self.open > 0)
    }

    /// The heads of streams that the warm-up did not reach are not verified at the cost of a window.
    fn warmed_up(&mut self) {
        self.streams.iter_mut().for_each(|(_, stream)| stream.head_is_over());
    }

    fn wound_up(&mut self) {
        self.streams.iter_mut().for_each(|(_, stream)| stream.wound_up());
    }

    fn verify(&self, limit: usize) -> Result<()> {
        let each = share(limit, self.streams.len());
        self.streams.iter().try_for_each(|(_, stream)| stream.verify(each))
    }

    fn whole(&self) -> Result<()> {
        self.streams.iter().try_for_each(|(_, stream)| stream.whole())
    }

    fn message_bytes(&self) -> u64 {
        self.streams.first().map_or(1, |(_, stream)| stream.message_bytes())
    }

    fn counts(&self) -> SourceCounts {
        self.counts
    }
}

fn waits(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|e| e.kind() == ErrorKind::WouldBlock)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message;
    use crate::probe::{Task, Timing};
    use crate::receiver::{Received, Receiver};
    use std::cell::{Cell, RefCell};
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;
    use std::rc::Rc;
    use syscost_core::axis::{Point, Value};

    /// Writes down whose turn it was.
    struct Noted(u64, Rc<RefCell<Vec<(u64, u64)>>>);

    impl Sender for Noted {
        fn send(&mut self, messages: u64) -> io::Result<()> {
            self.1.borrow_mut().push((self.0, messages));
            Ok(())
        }

        fn settle(&mut self) -> io::Result<()> {
            self.send(0)
        }

        fn tally(&self) -> Tally {
            Tally { system_calls: 1, completions: self.0, ..Tally::default() }
        }
    }

    #[test]
    fn every_sender_has_a_call_in_turn_and_the_next_batch_goes_on_where_it_ended() {
        let notes = Rc::new(RefCell::new(Vec::new()));
        let noted = |n| -> Box<dyn Sender> { Box::new(Noted(n, notes.clone())) };
        let mut turns = InTurn::of((0..3).map(noted).collect(), 4).unwrap();
        turns.send(16).unwrap();
        turns.send(4).unwrap();
        assert_eq!(notes.take(), [(0, 4), (1, 4), (2, 4), (0, 4), (1, 4)]);
        turns.settle().unwrap();
        assert_eq!(notes.take(), [(0, 0), (1, 0), (2, 0)], "each settles");
        assert_eq!(turns.tally(), Tally { system_calls: 3, completions: 3, ..Tally::default() });
        let mut alone = InTurn::of(vec![noted(7)], 4).unwrap();
        alone.send(16).unwrap();
        assert_eq!(notes.take(), [(7, 16)], "one sender is given whole batches, as ever");
        assert!(InTurn::of(Vec::new(), 1).is_err());
    }

    /// Says of every second byte that it was not copied, and notes how often it is asked.
    struct Asked {
        socket: UnixStream,
        got: u64,
        asked: Rc<Cell<u64>>,
    }

    impl Receiver for Asked {
        fn receive(&mut self) -> io::Result<Received> {
            let bytes = self.socket.read(&mut [0; 64])?;
            self.got += bytes as u64;
            Ok(Received { bytes, system_calls: 1 })
        }

        fn last(&self) -> Option<Vec<&[u8]>> {
            None
        }

        fn uncopied_bytes(&self) -> u64 {
            self.asked.set(self.asked.get() + 1);
            self.got / 2
        }
    }

    #[test]
    fn what_a_crowd_has_received_is_counted_as_it_comes_however_many_connections_there_are() {
        const STREAMS: usize = 40;
        let mut point = Point::default();
        point.set(message::MESSAGE_BYTES.id, Value::Int(64));
        let task = Task::of(point, Timing { warmup_ns: 0, window_ns: 0, windows: 0 });
        let asked = Rc::new(Cell::new(0));
        let mut senders = Vec::new();
        let mut stream = || {
            let (near, socket) = UnixStream::pair().unwrap();
            socket.set_nonblocking(true).unwrap();
            senders.push(near);
            let number = socket.as_raw_fd();
            let receiver = Asked { socket, got: 0, asked: asked.clone() };
            (number, MessageStream::of(&task, Box::new(receiver)).unwrap())
        };
        let mut crowd = Crowd::of((0..STREAMS).map(|_| stream()).collect()).unwrap();
        for sender in &mut senders {
            sender.write_all(&[0; 128]).unwrap();
        }
        drop(senders);
        let mut pieces = 0;
        loop {
            pieces += 1;
            let open = crowd.take_next().unwrap();
            let sum =
                |of: fn(SourceCounts) -> u64| crowd.streams.iter().map(|(_, s)| of(s.counts())).sum::<u64>();
            let before = asked.get();
            let counts = crowd.counts();
            assert_eq!(asked.get(), before, "no stream is asked");
            assert_eq!((counts.bytes, counts.uncopied), (sum(|c| c.bytes), sum(|c| c.uncopied)));
            assert!(counts.calls > sum(|c| c.calls), "waits are calls too");
            if !open {
                break;
            }
        }
        // Two pieces of each stream, and its end.
        assert_eq!((crowd.counts.bytes, crowd.counts.uncopied, pieces), (128 * 40, 64 * 40, 3 * STREAMS));
    }
}
