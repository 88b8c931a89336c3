//! Ways to receive datagrams, a row each, and what a receiver makes of what comes: the numbers, the bytes, the confirmations.
//!
//! Sources: recv(2), recvmmsg(2), udp(7) (UDP_GRO).

use super::pair::{End, Note};
use super::places::NamespaceDrops;
use super::sequence::DatagramSequence;
use super::way::{self, NUMBER_BYTES, ReceiveWay, TakeDatagrams};
use super::{floor, ring_ways};
use crate::mechanism::per_call;
use crate::message;
use crate::probe::Task;
use crate::probe::streaming::receiving::{Source, SourceCounts};
use crate::probe::streaming::{sending, threads};
use crate::probe::transfer::axes::THREADS;
use crate::receiver::options;
use anyhow::{Context, Result, anyhow, ensure};
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};
use syscost_sys::buffer::Buffer;
use syscost_sys::datagram::{self, DatagramBatch};
use syscost_sys::socket;

/// Datagrams that one recvmmsg(2) takes at most.
const MOST_TAKEN: usize = 64;
/// What the kernel coalesces at most.
const COALESCED_BYTES: usize = 64 << 10;
/// In the windows, each byte of one datagram in so many is verified; before and after, of each.
const SPOT_CHECKS: u64 = 1024;
/// Looks without an arrival, until what was sent and did not come is lost.
const LOOKS: u32 = 2;

/// Every way; the first is the control.
pub static WAYS: &[ReceiveWay] = &[
    ReceiveWay {
        id: "udp_recv",
        available: |_| Ok(()),
        // A byte of room more: a datagram that is too long shows.
        start: |_, bytes, _| Ok(Box::new(DatagramsTaken::One(Buffer::zeroed(bytes + 1, message::PAGE)))),
    },
    ReceiveWay {
        id: "udp_recvmmsg",
        available: |_| Ok(()),
        start: |_, bytes, _| {
            let room = Buffer::zeroed((bytes + 1) * MOST_TAKEN, message::PAGE);
            Ok(Box::new(DatagramsTaken::Several(DatagramBatch::of(room, bytes + 1))))
        },
    },
    ReceiveWay {
        id: "udp_gro",
        available: |socket| datagram::coalesce(socket).map_err(way::not_coalesced),
        start: |end, _, _| {
            way::coalesced(end)?;
            Ok(Box::new(DatagramsTaken::Coalesced(Buffer::zeroed(COALESCED_BYTES, message::PAGE))))
        },
    },
    ring_ways::RECEIVE,
];

pub fn find(id: &str) -> Option<&'static ReceiveWay> {
    WAYS.iter().find(|way| way.id == id)
}

/// What a receive call has filled.
enum DatagramsTaken {
    One(Buffer),
    Several(DatagramBatch),
    Coalesced(Buffer),
}

impl TakeDatagrams for DatagramsTaken {
    #[inline]
    fn take(&mut self, socket: RawFd, each: &mut dyn FnMut(&[u8])) -> io::Result<u64> {
        match self {
            DatagramsTaken::One(buffer) => {
                let got = socket::receive(socket, buffer, 0)?;
                each(&buffer[..got]);
            }
            DatagramsTaken::Several(batch) => {
                let got = batch.receive(socket)?;
                (0..got).for_each(|at| each(batch.received(at)));
            }
            DatagramsTaken::Coalesced(buffer) => {
                let (got, segment) = datagram::receive_coalesced(socket, buffer, 0)?;
                match segment {
                    Some(bytes) if bytes > 0 && got > 0 => buffer[..got].chunks(bytes).for_each(each),
                    _ => each(&buffer[..got]),
                }
            }
        }
        Ok(1)
    }
}

/// What came.
struct DatagramArrivals {
    bytes: usize,
    sequence: DatagramSequence,
    /// Of another length than was sent.
    truncated: u64,
    /// With other bytes than were sent, though their checksum is right: the first wrong byte of the first of them.
    corrupted: Option<usize>,
    /// Each byte is verified of one datagram in so many: a power of two.
    one_in: u64,
    /// The empty datagram that ends a stream.
    ended: bool,
}

impl DatagramArrivals {
    #[inline]
    fn take(&mut self, datagram: &[u8]) {
        let Some(number) = datagram.first_chunk().filter(|_| datagram.len() == self.bytes) else {
            return self.odd(datagram);
        };
        let number = u64::from_le_bytes(*number);
        if number & (self.one_in - 1) == 0 {
            self.verify(datagram);
        }
        self.sequence.arrived(number);
    }

    #[cold]
    fn odd(&mut self, datagram: &[u8]) {
        if datagram.is_empty() { self.ended = true } else { self.truncated += 1 }
    }

    fn verify(&mut self, datagram: &[u8]) {
        let wrong = message::verify(&datagram[NUMBER_BYTES..], NUMBER_BYTES as u64, self.bytes).err();
        self.corrupted = self.corrupted.or(wrong.map(|at| at as usize));
    }
}

/// A receiver's end of a pair.
pub struct DatagramSource {
    end: End,
    taken: Box<dyn TakeDatagrams>,
    arrivals: DatagramArrivals,
    calls: u64,
    /// Confirms whenever so many more have come; `None`: nobody waits for it.
    every: Option<u64>,
    confirmed: u64,
    /// The sender has sent so many at least.
    known: u64,
    looks: u32,
    note: Note,
    gone: bool,
    /// The empty datagram has come.
    end_came: bool,
    verify_all: bool,
    before: NamespaceDrops,
    threads: u64,
}

/// The receiver of a case beside this line.
pub fn start(task: &Task, stream: &TcpStream) -> Result<DatagramSource> {
    let named = || {
        let id = task.point.text(super::RECEIVER).context("the point names no way to receive")?;
        find(id).with_context(|| format!("no way {id}"))
    };
    let way = if floor::is(&task.point) { &floor::RECEIVE } else { named()? };
    let bytes = sending::message_bytes(task)?;
    let before = NamespaceDrops::now();
    let end = End::of(task, stream, true)?;
    options::apply(end.fd(), &task.point)?;
    let taken = (way.start)(&end, bytes as usize, &task.point)
        .map_err(|error| threads::cannot_start(way.id, error))?;
    let call = per_call(&task.point);
    let every =
        super::rate(&task.point).is_none().then(|| (end.window / 4).min(end.window - call + 1).max(1));
    let arrivals = DatagramArrivals {
        bytes: bytes as usize,
        sequence: DatagramSequence::default(),
        truncated: 0,
        corrupted: None,
        one_in: 1,
        ended: false,
    };
    Ok(DatagramSource {
        end,
        taken,
        arrivals,
        calls: 0,
        every,
        confirmed: 0,
        known: 0,
        looks: 0,
        note: Note::default(),
        gone: false,
        end_came: false,
        verify_all: task.verify_all,
        before,
        threads: task.point.int(THREADS).unwrap_or(1),
    })
}

impl DatagramSource {
    /// Nothing has come for a while: it may all have been lost.
    #[cold]
    fn look(&mut self) -> Result<()> {
        self.looks += 1;
        while !self.gone && self.hear(libc::MSG_DONTWAIT)? {}
        self.known = self.known.max(self.note.sent);
        if self.looks >= LOOKS {
            self.arrivals.sequence.close(self.known);
        }
        Ok(())
    }

    /// Takes all that comes, and says after each step of the sender what is lost so far.
    pub fn answer_steps(&mut self) -> Result<threads::Done> {
        let mut answered = 0;
        self.warmed_up();
        while self.take_next()? {
            let sequence = &self.arrivals.sequence;
            if self.note.sent > answered && sequence.accounted() >= self.note.sent {
                answered = self.note.sent;
                let mut line = &self.end.line;
                line.write_all(&sequence.lost().to_le_bytes()).context("cannot say what is lost")?;
            }
        }
        self.whole()?;
        let bytes = self.counts().bytes;
        Ok(threads::Done { bytes, totals: self.totals(), ..threads::Done::default() })
    }

    /// Hears a note of the sender; false where there is none.
    fn hear(&mut self, flags: libc::c_int) -> Result<bool> {
        let mut bytes = [0; Note::BYTES];
        match socket::receive(self.end.line.as_raw_fd(), &mut bytes, flags) {
            Ok(0) => {
                self.gone = true;
                return Ok(false);
            }
            Ok(got) if got < Note::BYTES => {
                self.end.line.read_exact(&mut bytes[got..]).context("half a note")?
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error).context("cannot hear the sender"),
        }
        self.note = Note::of(&bytes);
        self.gone = self.note.last;
        Ok(true)
    }

    #[cold]
    fn end(&mut self) -> Result<()> {
        self.arrivals.ended = false;
        self.end_came = true;
        // The note was told before.
        while !self.gone && self.hear(0)? {}
        self.known = self.known.max(self.note.sent);
        Ok(())
    }

    fn confirm(&mut self) -> Result<()> {
        self.confirmed = self.arrivals.sequence.accounted();
        let mut line = &self.end.line;
        match line.write_all(&self.confirmed.to_le_bytes()) {
            // A sender that has said its last word hears nothing.
            Err(error) if [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset].contains(&error.kind()) => {
                Ok(())
            }
            result => result.context("cannot confirm what has come"),
        }
    }
}

impl Source for DatagramSource {
    #[inline]
    fn take_next(&mut self) -> Result<bool> {
        let (arrivals, taken) = (&mut self.arrivals, &mut self.taken);
        match taken.take(self.end.socket.as_raw_fd(), &mut |datagram| arrivals.take(datagram)) {
            Ok(calls) => (self.calls, self.looks) = (self.calls + calls, 0),
            Err(error) if error.kind() == ErrorKind::WouldBlock => self.look()?,
            Err(error) => return Err(error).context("cannot receive"),
        }
        if self.arrivals.ended {
            self.end()?;
        }
        let accounted = self.arrivals.sequence.accounted();
        if self.every.is_some_and(|every| accounted - self.confirmed >= every) {
            self.confirm()?;
        }
        Ok(!(self.gone && (accounted >= self.known)))
    }

    fn warmed_up(&mut self) {
        if !self.verify_all {
            self.arrivals.one_in = SPOT_CHECKS;
        }
    }

    fn wound_up(&mut self) {
        self.arrivals.one_in = 1;
    }

    fn verify(&self, _: usize) -> Result<()> {
        match self.arrivals.corrupted {
            Some(at) => {
                Err(anyhow!("byte {at} of a datagram is not what was sent, and its checksum is right"))
            }
            None => Ok(()),
        }
    }

    fn whole(&self) -> Result<()> {
        self.verify(0)?;
        ensure!(self.note.last, "the sender went away before it had said how much it sent");
        Ok(())
    }

    fn message_bytes(&self) -> u64 {
        self.arrivals.bytes as u64
    }

    /// Where the sender waits for confirmations, what is lost is done with: the round ends, and says so.
    fn counts(&self) -> SourceCounts {
        let sequence = &self.arrivals.sequence;
        let lost = if self.every.is_some() { 0 } else { sequence.lost() };
        let bytes = (sequence.accounted() - lost) * self.arrivals.bytes as u64;
        SourceCounts { bytes, calls: self.calls, ..Default::default() }
    }

    fn owed(&mut self, bytes: u64) {
        self.known = self.known.max(bytes / self.arrivals.bytes as u64);
    }

    fn totals(&self) -> Vec<(&'static str, u64)> {
        let DatagramArrivals { sequence, truncated, .. } = &self.arrivals;
        let here = NamespaceDrops::now().since(self.before);
        // The end of a stream is a datagram too, which a full socket drops.
        let drops = u64::from(datagram::drops(self.end.fd()).unwrap_or(0));
        let of_end = u64::from(!self.end_came && drops > sequence.lost());
        vec![
            (super::SENT, self.note.sent),
            (super::LOST, sequence.lost()),
            (super::DUPLICATED, sequence.duplicated),
            (super::REORDERED, sequence.reordered),
            (super::TRUNCATED, *truncated),
            (super::SOCKET_DROPS, drops - of_end),
            (super::CHECKSUM_DROPS, here.checksum / self.threads),
            (super::QUEUE_DROPS, self.note.queue),
            (super::DEVICE_DROPS, self.note.device + here.device / self.threads),
            (super::WINDOW, self.end.window),
            (super::RECEIVE_BUFFER, self.end.buffer_bytes),
        ]
    }
}
