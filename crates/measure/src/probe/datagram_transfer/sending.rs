//! Ways to send datagrams: a row each. Every datagram begins with its number.
//!
//! Sources: send(2), sendto(2), sendmsg(2), sendmmsg(2), udp(7) (UDP_SEGMENT, UDP_CORK).

use super::pair::{Credit, End, Note, PATIENCE};
use super::places::NamespaceDrops;
use super::way::{HandsOver, NUMBER_BYTES, SendCall, SendWay, number, number_all, segmented, segments_here};
use super::{floor, lent_ways, ring_ways};
use crate::mechanism::{self, Sender, Tally, contiguous, per_call};
use crate::message::Message;
use crate::probe::Task;
pub use crate::probe::streaming::sending::message_bytes;
use crate::probe::streaming::{sending, threads};
use crate::probe::transfer::axes::THREADS;
use anyhow::{Context, Result, bail};
use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::os::fd::RawFd;
use std::time::Duration;
use syscost_host::{Unavailable, clock};
use syscost_sys::buffer::Buffer;
use syscost_sys::datagram::{self, DatagramBatch};
use syscost_sys::sleep::sleep;
use syscost_sys::socket::{self, Gather};

/// Every way; the first is the control.
pub static WAYS: &[SendWay] = &[
    SendWay {
        id: "udp_send",
        start: |end, message, _| {
            let mut whole = contiguous(&message, 1);
            by(end, move |socket, first| {
                number(&mut whole, first);
                socket::send_all(socket, &whole, 0)
            })
        },
        ..SendWay::PLAIN
    },
    SendWay {
        id: "udp_sendto",
        unconnected: true,
        start: |end, message, _| {
            let (mut whole, to) = (contiguous(&message, 1), datagram::address(end.peer));
            by(end, move |socket, first| {
                number(&mut whole, first);
                datagram::send_to(socket, &whole, &to).map(|_| 1)
            })
        },
        ..SendWay::PLAIN
    },
    SendWay {
        id: "udp_sendmsg",
        start: |end, message, _| {
            let mut fields = numbered(message)?;
            let mut gather = Gather::of(&fields);
            by(end, move |socket, first| {
                number(&mut fields[0], first);
                let (calls, result) = gather.send(socket, 0);
                result.map(|()| calls)
            })
        },
        ..SendWay::PLAIN
    },
    SendWay {
        id: "udp_more",
        start: |end, message, _| {
            let mut fields = numbered(message)?;
            by(end, move |socket, first| {
                number(&mut fields[0], first);
                let (last, others) = fields.split_last().expect("a message has a field");
                let mut calls = 0;
                for field in others {
                    calls += socket::send_all(socket, field, libc::MSG_MORE)?;
                }
                Ok(calls + socket::send_all(socket, last, 0)?)
            })
        },
        ..SendWay::PLAIN
    },
    SendWay {
        id: "udp_sendmmsg",
        hands_over: HandsOver::Several,
        start: |end, message, point| {
            let (each, whole) = (message.len(), contiguous(&message, per_call(point)));
            let mut batch = DatagramBatch::of(whole, each);
            by(end, move |socket, first| {
                number_all(batch.bytes(), each, first);
                batch.send(socket)
            })
        },
        ..SendWay::PLAIN
    },
    SendWay {
        id: "udp_segment",
        hands_over: HandsOver::Segments,
        available: segments_here,
        start: |end, message, point| {
            let (each, mut whole) = (message.len(), contiguous(&message, per_call(point)));
            segmented(end, each)?;
            by(end, move |socket, first| {
                number_all(&mut whole, each, first);
                socket::send_all(socket, &whole, 0)
            })
        },
        ..SendWay::PLAIN
    },
    SendWay {
        id: "udp_sendmmsg_segment",
        hands_over: HandsOver::SeveralSegmented,
        available: segments_here,
        start: |end, message, point| {
            let (each, whole) = (message.len(), contiguous(&message, per_call(point)));
            let segments = mechanism::segments(point) as usize;
            segmented(end, each)?;
            let mut batch = DatagramBatch::of(whole, each * segments);
            by(end, move |socket, first| {
                number_all(batch.bytes(), each, first);
                batch.send(socket)
            })
        },
        ..SendWay::PLAIN
    },
    lent_ways::ZEROCOPY,
    lent_ways::SEGMENT_ZEROCOPY,
    ring_ways::SEND,
    ring_ways::SEND_ZC,
    floor::SEND,
];

pub fn find(id: &str) -> Option<&'static SendWay> {
    WAYS.iter().find(|way| way.id == id)
}

struct Plain<Call>(RawFd, Call);

impl<Call: FnMut(RawFd, u64) -> io::Result<u64>> SendCall for Plain<Call> {
    #[inline]
    fn send(&mut self, first: u64) -> io::Result<u64> {
        (self.1)(self.0, first)
    }
}

fn by(end: &End, call: impl FnMut(RawFd, u64) -> io::Result<u64> + 'static) -> io::Result<Box<dyn SendCall>> {
    Ok(Box::new(Plain(end.fd(), call)))
}

/// The fields, of which the first has room for the number.
fn numbered(message: Message) -> io::Result<Vec<Buffer>> {
    let fields = message.into_fields();
    if fields[0].len() >= NUMBER_BYTES {
        return Ok(fields);
    }
    Err(io::Error::other(Unavailable {
        reason: format!("the number of a datagram takes {NUMBER_BYTES} bytes of its first field"),
        remedy: format!("--fields with a first piece of {NUMBER_BYTES} bytes or more"),
    }))
}

/// When the next call is due, at a fixed rate.
struct Schedule {
    interval_ns: f64,
    began_ns: Option<u64>,
    /// Sent before it began.
    before: u64,
}

impl Schedule {
    /// Sleeps where there is time for it, and looks at the clock until the call is due.
    fn wait(&mut self, sent: u64) {
        const SLEPT_NS: u64 = 200_000;
        let began = *self.began_ns.get_or_insert_with(clock::monotonic_ns);
        let due = began + ((sent - self.before) as f64 * self.interval_ns) as u64;
        let left = due.saturating_sub(clock::monotonic_ns());
        if left > SLEPT_NS {
            sleep(Duration::from_nanos(left - SLEPT_NS / 2));
        }
        while clock::monotonic_ns() < due {}
    }
}

/// A way on one pair.
pub struct DatagramSender {
    end: End,
    call: Box<dyn SendCall>,
    per_call: u64,
    credit: Credit,
    /// At a fixed rate nobody confirms, and what does not fit is lost.
    schedule: Option<Schedule>,
    system_calls: u64,
    before: NamespaceDrops,
    threads: u64,
    /// As the receiver said last.
    lost: u64,
}

/// The sender of a case beside this line.
pub fn start(task: &Task, stream: &TcpStream) -> Result<Box<dyn Sender>> {
    Ok(Box::new(sender(task, stream)?))
}

pub fn sender(task: &Task, stream: &TcpStream) -> Result<DatagramSender> {
    let id = task.point.text(super::MECHANISM).context("the point names no way to send")?;
    let way = find(id).with_context(|| format!("no way {id}"))?;
    let end = End::of(task, stream, !way.unconnected)?;
    let call = (way.start)(&end, sending::message(task)?, &task.point)
        .map_err(|error| threads::cannot_start(id, error))?;
    let threads = task.point.int(THREADS).unwrap_or(1);
    let schedule = super::rate(&task.point).map(|rate| Schedule {
        interval_ns: 1e9 * threads as f64 / rate as f64,
        began_ns: None,
        before: 0,
    });
    let (per_call, credit, before) = (per_call(&task.point), Credit::of(end.window), NamespaceDrops::now());
    Ok(DatagramSender { end, call, per_call, credit, schedule, system_calls: 0, before, threads, lost: 0 })
}

impl DatagramSender {
    pub fn sent(&self) -> u64 {
        self.credit.sent
    }

    /// So many datagrams a second from now on.
    pub fn pace(&mut self, rate: f64) {
        self.schedule = Some(Schedule { interval_ns: 1e9 / rate, began_ns: None, before: self.credit.sent });
    }

    /// Datagrams of those sent since the last question that are lost, once the receiver has accounted for all.
    pub fn lost_so_far(&mut self) -> Result<u64> {
        Note { sent: self.credit.sent, ..Note::default() }.tell(&self.end.line)?;
        let (mut answer, mut got, mut looks) = ([0; 8], 0, 0);
        while got < answer.len() {
            match (&self.end.line).read(&mut answer[got..]) {
                Ok(0) => bail!("the receiver has gone"),
                Ok(bytes) => got += bytes,
                Err(error) if error.kind() == ErrorKind::WouldBlock && looks < PATIENCE => looks += 1,
                Err(error) => return Err(error).context("the receiver did not say what was lost"),
            }
        }
        let before = std::mem::replace(&mut self.lost, u64::from_le_bytes(answer));
        // What came late after all is lost no more.
        Ok(self.lost.saturating_sub(before))
    }
}

impl Sender for DatagramSender {
    fn send(&mut self, messages: u64) -> io::Result<()> {
        for _ in 0..messages / self.per_call {
            match &mut self.schedule {
                None => self.credit.room(&self.end, self.per_call)?,
                Some(schedule) => schedule.wait(self.credit.sent),
            }
            self.system_calls += self.call.send(self.credit.sent).map_err(explained)?;
            self.credit.sent += self.per_call;
        }
        Ok(())
    }

    fn settle(&mut self) -> io::Result<()> {
        self.call.settle()
    }

    fn tally(&self) -> Tally {
        let own = self.call.tally();
        Tally { system_calls: self.system_calls + self.credit.calls + own.system_calls, ..own }
    }
}

/// The errors of datagrams are about what became of an earlier one, or about the path.
fn explained(error: io::Error) -> io::Error {
    let meaning = match error.raw_os_error() {
        Some(libc::ECONNREFUSED) => {
            "nobody receives there any more: the receiver's host answered port unreachable (ICMP)"
        }
        Some(libc::EMSGSIZE) => "a datagram and its headers are larger than the path's MTU",
        _ => return error,
    };
    io::Error::new(error.kind(), format!("{meaning} ({error})"))
}

impl Drop for DatagramSender {
    /// An empty datagram ends the stream, and the last note says what it held. Where the receiver has gone it needs neither.
    fn drop(&mut self) {
        let NamespaceDrops { queue, device, .. } = NamespaceDrops::now().since(self.before);
        let [queue, device] = [queue, device].map(|count| count / self.threads);
        let _ = Note { sent: self.credit.sent, queue, device, last: true }.tell(&self.end.line);
        let _ = self.end.socket.send_to(&[], self.end.peer);
    }
}
