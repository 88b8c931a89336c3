//! Who may come in: a connection presents a token (the round's) and its number before it counts.
//!
//! All callers are listened to at once. Whoever says nothing, says it slowly, or says anything else
//! holds up nobody and is shown out after a while; no more than a bounded number of them is kept waiting,
//! and the one that has waited longest goes first: a caller of ours speaks at once. Nothing is said to a
//! caller before its token is right. Sources: poll(2), accept(2).

use anyhow::{Context, Result, ensure};
use socket2::Socket;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};
use syscost_core::units;
use syscost_sys::process::wait_for_any;

/// How long both sides together may take to set up.
pub const SET_UP_LIMIT: Duration = Duration::from_secs(20);
/// How long a caller may take to present the token, all of it: a segment that is lost twice comes within.
const TOKEN_LIMIT: Duration = Duration::from_secs(8);
/// Callers who are listened to at the same time.
const MOST_CALLERS: usize = 256;
/// The number of the connection, after the token.
const NUMBER_BYTES: usize = 4;

/// What a caller of ours says.
pub fn said(token: &str, number: u32) -> Vec<u8> {
    [token.as_bytes(), &number.to_le_bytes()].concat()
}

/// What callers come to.
pub trait Listener: AsRawFd {
    type Stream: Read + AsRawFd;

    fn set_waiting(&self, waits: bool) -> io::Result<()>;
    /// The next caller's stream, whose reads do not wait.
    fn next(&self) -> io::Result<Self::Stream>;
    /// Lets the reads and writes of a stream wait again.
    fn let_wait(stream: &Self::Stream) -> io::Result<()>;
}

impl Listener for Socket {
    type Stream = TcpStream;

    fn set_waiting(&self, waits: bool) -> io::Result<()> {
        self.set_nonblocking(!waits)
    }

    fn next(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::from(self.accept()?.0);
        stream.set_nonblocking(true)?;
        Ok(stream)
    }

    fn let_wait(stream: &TcpStream) -> io::Result<()> {
        stream.set_nonblocking(false)
    }
}

impl Listener for UnixListener {
    type Stream = UnixStream;

    fn set_waiting(&self, waits: bool) -> io::Result<()> {
        self.set_nonblocking(!waits)
    }

    fn next(&self) -> io::Result<UnixStream> {
        let stream = self.accept()?.0;
        stream.set_nonblocking(true)?;
        Ok(stream)
    }

    fn let_wait(stream: &UnixStream) -> io::Result<()> {
        stream.set_nonblocking(false)
    }
}

/// A listener and those who have come to it and not yet said who they are.
pub struct Door<'a, L: Listener> {
    listener: &'a L,
    token: &'a [u8],
    /// The one that has waited longest first.
    callers: VecDeque<Caller<L::Stream>>,
    shown_out: u64,
    patience: Duration,
}

struct Caller<S> {
    stream: S,
    said: Vec<u8>,
    since: Instant,
}

/// What is known of a caller.
enum Who {
    Ours(u32),
    Stranger,
    NotYet,
}

impl<'a, L: Listener> Door<'a, L> {
    pub fn open(listener: &'a L, token: &'a str) -> Result<Self> {
        listener.set_waiting(false).context("cannot set a listener not to wait")?;
        Ok(Door {
            listener,
            token: token.as_bytes(),
            callers: VecDeque::new(),
            shown_out: 0,
            patience: TOKEN_LIMIT,
        })
    }

    /// Callers so far who were not ours.
    pub fn shown_out(&self) -> u64 {
        self.shown_out
    }

    /// The next connection that has presented the token, and its number; `None` at `end`.
    pub fn next(&mut self, end: Instant) -> Result<Option<(u32, L::Stream)>> {
        loop {
            let now = Instant::now();
            if now >= end {
                return Ok(None);
            }
            while self.callers.front().is_some_and(|caller| now - caller.since > self.patience) {
                self.show_out_longest();
            }
            let patience = self.callers.front().map_or(end, |c| end.min(c.since + self.patience));
            let fds: Vec<RawFd> = std::iter::once(self.listener.as_raw_fd())
                .chain(self.callers.iter().map(|caller| caller.stream.as_raw_fd()))
                .collect();
            let ready = wait_for_any(&fds, patience - now).context("cannot wait for connections")?;
            // From the last one: those before keep their places.
            for place in (0..self.callers.len()).rev().filter(|place| ready[place + 1]) {
                if let Some(found) = self.listen_to(place)? {
                    return Ok(Some(found));
                }
            }
            if ready[0] {
                self.let_one_in()?;
            }
        }
    }

    fn let_one_in(&mut self) -> Result<()> {
        match self.listener.next() {
            Ok(stream) => {
                self.callers.push_back(Caller { stream, said: Vec::new(), since: Instant::now() });
                if self.callers.len() > MOST_CALLERS {
                    self.show_out_longest();
                }
            }
            // No descriptor or memory is left for it: those who keep the others waiting have both.
            Err(error) if out_of_room(&error) && !self.callers.is_empty() => self.show_out_longest(),
            // It went away again, or another look is needed.
            Err(error) if transient(&error) => {}
            Err(error) => return Err(error).context("cannot accept a connection"),
        }
        Ok(())
    }

    fn show_out_longest(&mut self) {
        self.shown_out += u64::from(self.callers.pop_front().is_some());
    }

    fn listen_to(&mut self, place: usize) -> Result<Option<(u32, L::Stream)>> {
        match self.callers[place].hear(self.token) {
            Who::NotYet => Ok(None),
            Who::Stranger => {
                self.callers.remove(place);
                self.shown_out += 1;
                Ok(None)
            }
            Who::Ours(number) => {
                let caller = self.callers.remove(place).context("a caller has a place")?;
                L::let_wait(&caller.stream).context("cannot let a connection wait")?;
                Ok(Some((number, caller.stream)))
            }
        }
    }
}

impl<S: Read> Caller<S> {
    /// Reads what it has said, and nothing behind its number.
    fn hear(&mut self, token: &[u8]) -> Who {
        let whole = token.len() + NUMBER_BYTES;
        let mut buffer = vec![0; whole - self.said.len()];
        match self.stream.read(&mut buffer) {
            Ok(0) => return Who::Stranger,
            Ok(length) => self.said.extend_from_slice(&buffer[..length]),
            Err(error) if transient(&error) => return Who::NotYet,
            Err(_) => return Who::Stranger,
        }
        let heard = self.said.len().min(token.len());
        if self.said[..heard] != token[..heard] {
            return Who::Stranger;
        }
        match self.said[heard..].try_into() {
            Ok(number) => Who::Ours(u32::from_le_bytes(number)),
            Err(_) => Who::NotYet,
        }
    }
}

fn transient(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted)
}

fn out_of_room(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM))
}

/// Lets `count` connections of ours in, by number from 0, and says `welcome` to each.
pub fn gather<L: Listener>(
    listener: &L,
    token: &str,
    count: usize,
    mut welcome: impl FnMut(&mut L::Stream) -> Result<()>,
) -> Result<Vec<L::Stream>> {
    let end = Instant::now() + SET_UP_LIMIT;
    let mut door = Door::open(listener, token)?;
    let mut ours: BTreeMap<u32, L::Stream> = BTreeMap::new();
    while ours.len() < count {
        let Some((number, mut stream)) = door.next(end)? else { break };
        if (number as usize) < count && !ours.contains_key(&number) {
            welcome(&mut stream)?;
            ours.insert(number, stream);
        }
    }
    ensure!(
        ours.len() == count,
        "only {} of {} arrived within {} s ({} others, without the token of this round, were \
         closed): does a firewall stand between the two sides?",
        ours.len(),
        units::count(count, "connection"),
        SET_UP_LIMIT.as_secs(),
        door.shown_out()
    );
    Ok(ours.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::SocketAddr;

    const PATIENCE: Duration = Duration::from_secs(1);

    /// A listener, and the address to call it at.
    fn listener() -> (UnixListener, SocketAddr) {
        let name = format!("syscost-door-{}", syscost_sys::random::token().unwrap());
        let address = SocketAddr::from_abstract_name(name).unwrap();
        (UnixListener::bind_addr(&address).unwrap(), address)
    }

    fn call(address: &SocketAddr, said: &[u8]) -> UnixStream {
        let mut stream = UnixStream::connect_addr(address).unwrap();
        stream.write_all(said).unwrap();
        stream
    }

    #[test]
    fn a_caller_who_dribbles_is_shown_out_in_time_and_holds_nobody_up() {
        let (listener, address) = listener();
        let token = "0123456789abcdef0123456789abcdef";
        let slow = std::thread::spawn({
            let address = address.clone();
            move || {
                let mut stream = UnixStream::connect_addr(&address).unwrap();
                let start = Instant::now();
                // Right so far, and never done: each byte would begin the patience of a read anew.
                for byte in token.bytes().cycle() {
                    if stream.write_all(&[byte]).is_err() {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(100));
                }
                start.elapsed()
            }
        });
        let mut door = Door::open(&listener, token).unwrap();
        door.patience = PATIENCE;
        std::thread::sleep(Duration::from_millis(50));
        let caller = call(&address, &said(token, 7));
        let (number, _) = door.next(Instant::now() + SET_UP_LIMIT).unwrap().expect("ours comes in");
        assert_eq!((number, door.shown_out()), (7, 0), "before the slow one has used up its time");
        drop(caller);
        assert!(door.next(Instant::now() + PATIENCE + Duration::from_secs(2)).unwrap().is_none());
        assert_eq!(door.shown_out(), 1);
        assert!(slow.join().unwrap() < PATIENCE + Duration::from_secs(2));
    }

    #[test]
    fn no_more_than_so_many_strangers_are_kept_and_ours_comes_in_behind_them() {
        let (listener, address) = listener();
        let crowd = std::thread::spawn(move || {
            let silent: Vec<UnixStream> = (0..2 * MOST_CALLERS).map(|_| call(&address, b"")).collect();
            (silent, call(&address, &said("token", 3)))
        });
        let mut door = Door::open(&listener, "token").unwrap();
        let (number, _) = door.next(Instant::now() + SET_UP_LIMIT).unwrap().expect("ours comes in");
        assert_eq!(number, 3);
        assert!(door.callers.len() <= MOST_CALLERS && door.shown_out() > 0);
        drop(crowd.join().unwrap());
    }

    #[test]
    fn half_a_token_a_wrong_one_and_an_early_end_are_strangers_and_get_no_answer() {
        let (listener, address) = listener();
        let half = call(&address, b"tok");
        drop(call(&address, b"token"));
        let mut wrong = call(&address, &said("tokem", 0));
        let mut door = Door::open(&listener, "token").unwrap();
        let _ours = call(&address, &said("token", 1));
        assert_eq!(door.next(Instant::now() + SET_UP_LIMIT).unwrap().expect("ours").0, 1);
        let mut answer = Vec::new();
        wrong.read_to_end(&mut answer).unwrap();
        assert_eq!((answer, door.shown_out()), (Vec::new(), 2));
        drop(half);
    }
}
