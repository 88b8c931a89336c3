//! Axes that receivers share: how much they ask for, when the kernel wakes them, whether it polls the device for
//! them, and whether they sleep at all.
//!
//! A receiver names those that it has in its own list of axes; [`apply`] sets every socket option that
//! the point has a value for, and [`ReceiveWait`] is how a receiver waits. Nothing here reads a byte.
//! Sources: socket(7) (SO_RCVLOWAT, SO_BUSY_POLL, SO_INCOMING_NAPI_ID), recv(2) (MSG_DONTWAIT).

use super::Received;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::RawFd;
use syscost_core::axis::DefaultValues::{Ints, Names};
use syscost_core::axis::{Axis, IntAxis, NameAxis, Point};
use syscost_host::Unavailable;
use syscost_sys::socket;

/// SO_RCVLOWAT.
pub const LOW_WATER: Axis = IntAxis::new("low_water_bytes")
    .bytes(1, 1 << 26)
    .flag("low-water", "low-water mark")
    .help(
        "SO_RCVLOWAT: a sleeping receiver is woken when this much has arrived; 1 is the \
         kernel's default",
    )
    .default_on(Ints(&[1]));

/// SO_BUSY_POLL.
pub const BUSY_POLL: Axis = IntAxis::new("busy_poll_us")
    .count(0, 1_000_000)
    .flag("busy-poll", "busy polling (us)")
    .help(
        "SO_BUSY_POLL: microseconds that the kernel polls the device's queue before the \
         receiver sleeps; 0 leaves it to net.core.busy_read",
    )
    .default_on(Ints(&[0]));

/// Asleep in the kernel, or calling again and again.
pub const WAITING: Axis = NameAxis::new("waiting")
    .names(|| vec![SLEEP, SPIN])
    .help(
        "how a receiver waits for data. sleep: in the kernel; spin: it calls again and again \
         without blocking, and every empty call counts as a system call",
    )
    .default_on(Names(&[SLEEP]));

pub const SLEEP: &str = "sleep";
const SPIN: &str = "spin";

/// What one call asks for. A receiver that takes everything at once empties the queue and sleeps again, and
/// whoever sends pays for waking it; one that reads message by message stays awake at a price of its own.
pub const READ_BYTES: Axis = IntAxis::new("read_bytes")
    .bytes(WHOLE_BUFFER, 1 << 26)
    .words(&[("buffer", WHOLE_BUFFER), ("message", ONE_MESSAGE)])
    .flag("read-bytes", "read size")
    .help("bytes that one receive call asks for at most; buffer (or 0): the whole buffer of 128 KiB; message (or 1): one message")
    .default_on(Ints(&[WHOLE_BUFFER]));

const WHOLE_BUFFER: u64 = 0;
const ONE_MESSAGE: u64 = 1;

/// Bytes of the buffer that a receiver reads into.
pub fn read_bytes(point: &Point, message_bytes: usize, buffer_bytes: usize) -> usize {
    match point.int_at(READ_BYTES.id).unwrap_or(WHOLE_BUFFER) {
        WHOLE_BUFFER => buffer_bytes,
        ONE_MESSAGE => message_bytes,
        bytes => bytes as usize,
    }
}

/// Axes of a receiver that waits inside recv(2) with one buffer.
pub const OF_RECV: &[Axis] = &[LOW_WATER, BUSY_POLL, WAITING, READ_BYTES];

/// Sets what the point asks of a receiver's socket. An error that is an [`Unavailable`] says that this
/// machine, or this user, cannot have it.
pub fn apply(socket: RawFd, point: &Point) -> anyhow::Result<()> {
    if let Some(bytes) = point.int_at(LOW_WATER.id) {
        socket::set_option(socket, libc::SO_RCVLOWAT, bytes as libc::c_int)?;
        granted(socket, libc::SO_RCVLOWAT, bytes, |most| Unavailable {
            reason: format!("SO_RCVLOWAT of {bytes} B was asked for, and the kernel grants {most} B"),
            remedy: format!(
                "--low-water {most}; it is at most half of the receive buffer: a --socket-buffer of {bytes}, or \
                 2 x {bytes} as the last number of net.ipv4.tcp_rmem"
            ),
        })?;
    }
    let busy_poll_us = point.int_at(BUSY_POLL.id).unwrap_or(0);
    if busy_poll_us > 0 {
        socket::set_option(socket, libc::SO_BUSY_POLL, busy_poll_us as libc::c_int)
            .map_err(|error| busy_poll_refused(&error))?;
        granted(socket, libc::SO_BUSY_POLL, busy_poll_us, |us| Unavailable {
            reason: format!("SO_BUSY_POLL of {busy_poll_us} us was asked for, and the kernel grants {us} us"),
            remedy: format!("--busy-poll {us}"),
        })?;
    }
    Ok(())
}

/// The kernel caps some values in silence.
fn granted(
    socket: RawFd,
    option: libc::c_int,
    asked: u64,
    refused: impl FnOnce(u64) -> Unavailable,
) -> anyhow::Result<()> {
    let got = socket::option(socket, option)? as u64;
    if got == asked { Ok(()) } else { Err(refused(got).into()) }
}

/// Can one thread serve several connections by this receiver? Not while it waits for one of them in a way of
/// its own: of several it waits in epoll(7).
pub fn one_of_many(point: &Point) -> Result<(), Unavailable> {
    let alone = |what: &str, flag: &str| Unavailable {
        reason: format!("{what} waits for one connection, and this thread has several"),
        remedy: format!("--connections 1, or leave out --{flag}"),
    };
    if ReceiveWait::of(point) == ReceiveWait::Spin {
        return Err(alone("a receiver that spins", WAITING.flag));
    }
    if point.int_at(BUSY_POLL.id).unwrap_or(0) > 0 {
        return Err(alone("SO_BUSY_POLL", BUSY_POLL.flag));
    }
    Ok(())
}

fn busy_poll_refused(error: &io::Error) -> Unavailable {
    let (reason, remedy) = match error.raw_os_error() {
        Some(libc::EPERM) => (
            "this kernel sets SO_BUSY_POLL above its present value only with CAP_NET_ADMIN".to_string(),
            "run as root, or raise the value that every socket begins with: sysctl net.core.busy_read=50",
        ),
        _ => (
            format!("the kernel refuses SO_BUSY_POLL ({error})"),
            "use a kernel that is built with CONFIG_NET_RX_BUSY_POLL",
        ),
    };
    Unavailable { reason, remedy: remedy.into() }
}

/// The receive queue behind a socket that was to be polled; 0: there is none, and nothing was polled.
pub const NAPI_ID: &str = "incoming_napi_id";

/// What came of the options, by a socket that has received: as the kernel reports them back.
pub fn facts(socket: RawFd, point: &Point) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    if point.int_at(BUSY_POLL.id).unwrap_or(0) > 0 {
        if let Ok(us) = socket::option(socket, libc::SO_BUSY_POLL) {
            facts.insert("busy_poll_us".into(), us.to_string());
        }
        if let Ok(id) = socket::option(socket, libc::SO_INCOMING_NAPI_ID) {
            facts.insert(NAPI_ID.into(), id.to_string());
        }
    }
    facts
}

/// How a receiver waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveWait {
    Sleep,
    Spin,
}

impl ReceiveWait {
    pub fn of(point: &Point) -> ReceiveWait {
        if point.text_at(WAITING.id) == Some(SPIN) { ReceiveWait::Spin } else { ReceiveWait::Sleep }
    }

    /// One call that brings something, or the end of the stream. `call` is given the flags for it.
    #[inline]
    pub fn receive(self, mut call: impl FnMut(libc::c_int) -> io::Result<usize>) -> io::Result<Received> {
        if self == ReceiveWait::Sleep {
            return Ok(Received { bytes: call(0)?, system_calls: 1 });
        }
        let mut system_calls = 0;
        loop {
            system_calls += 1;
            match call(libc::MSG_DONTWAIT) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Ok(Received { bytes: result?, system_calls }),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_core::axis::Value;

    fn point(axis: &Axis, value: Value) -> Point {
        let mut point = Point::default();
        point.set(axis.id, value);
        point
    }

    #[test]
    fn a_spinner_counts_its_empty_calls_and_a_sleeper_makes_one() {
        let spin = ReceiveWait::of(&point(&WAITING, Value::text("spin")));
        let mut empty = 3;
        let got = spin.receive(|flags| {
            assert_eq!(flags, libc::MSG_DONTWAIT);
            empty -= 1;
            if empty >= 0 { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(7) }
        });
        assert_eq!(got.unwrap(), Received { bytes: 7, system_calls: 4 });
        let failed = spin.receive(|_| Err(io::ErrorKind::ConnectionReset.into()));
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        assert_eq!(ReceiveWait::of(&Point::default()), ReceiveWait::Sleep);
        assert_eq!(ReceiveWait::Sleep.receive(|_| Ok(5)).unwrap(), Received { bytes: 5, system_calls: 1 });
    }

    #[test]
    fn a_read_is_of_the_buffer_a_message_or_a_size() {
        let asked = |text: &str| {
            let point = point(&READ_BYTES, READ_BYTES.parse(text).unwrap());
            (read_bytes(&point, 700, 131_072), READ_BYTES.show(point.get(READ_BYTES.id).unwrap()))
        };
        assert_eq!(asked("0"), (131_072, "buffer".to_string()));
        assert_eq!(asked("buffer"), (131_072, "buffer".to_string()));
        assert_eq!(asked("message"), (700, "message".to_string()));
        assert_eq!(asked("4K"), (4096, "4 KiB".to_string()));
        assert_eq!(read_bytes(&Point::default(), 700, 131_072), 131_072, "a run from before the axis");
    }

    #[test]
    fn options_are_set_or_it_is_said_why_not() {
        use std::os::fd::AsRawFd;
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        let fd = socket.as_raw_fd();
        apply(fd, &point(&LOW_WATER, Value::Int(4096))).unwrap();
        assert_eq!(socket::option(fd, libc::SO_RCVLOWAT).unwrap(), 4096);
        assert!(facts(fd, &Point::default()).is_empty(), "nothing was asked");
        let busy = point(&BUSY_POLL, Value::Int(50));
        match apply(fd, &busy) {
            Ok(()) => {
                let facts = facts(fd, &busy);
                assert_eq!(facts["busy_poll_us"], "50");
                assert_eq!(facts[NAPI_ID], "0", "nothing has arrived");
            }
            Err(error) => {
                let why = error.downcast::<Unavailable>().expect("a reason");
                assert!(why.reason.contains("SO_BUSY_POLL") && !why.remedy.is_empty(), "{why:?}");
                eprintln!("skipped: busy polling: {}", why.reason);
            }
        }
    }
}
