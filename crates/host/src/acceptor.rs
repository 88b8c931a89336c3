//! Accepts connections that present the round's token and their number; closes all others.
//!
//! All pending connections are polled at once, so a silent or slow one delays nobody. One that does not present
//! the token in time is closed. At most a fixed number stay pending; the oldest is closed first, because a
//! connection of ours sends its token at once. Nothing is sent before the token is right.
//! Sources: poll(2), accept(2).

use anyhow::{Context, Result, ensure};
use rustix::io::ioctl_fionbio;
use socket2::Socket;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};
use syscost_core::units;
use syscost_sys::process::wait_for_any;

/// How long both sides together may take to set up.
pub const SET_UP_LIMIT: Duration = Duration::from_secs(20);
/// Time for the whole token: enough for a segment that is lost twice.
const TOKEN_LIMIT: Duration = Duration::from_secs(8);
/// Most connections that may be pending at once.
const MOST_CALLERS: usize = 256;
/// The number of the connection, after the token.
const NUMBER_BYTES: usize = 4;

/// What a connection of ours sends first.
pub fn hello(token: &str, number: u32) -> Vec<u8> {
    [token.as_bytes(), &number.to_le_bytes()].concat()
}

/// A listener and its connections that have not presented the token yet.
pub struct Acceptor<'a> {
    listener: &'a Socket,
    token: &'a [u8],
    /// The oldest first.
    callers: VecDeque<Caller>,
    rejected: u64,
    patience: Duration,
}

struct Caller {
    stream: Socket,
    said: Vec<u8>,
    since: Instant,
}

/// Whether a connection is one of ours.
enum Identity {
    Ours(u32),
    Stranger,
    NotYet,
}

impl<'a> Acceptor<'a> {
    pub fn new(listener: &'a Socket, token: &'a str) -> Result<Self> {
        listener.set_nonblocking(true).context("cannot set a listener not to wait")?;
        Ok(Acceptor {
            listener,
            token: token.as_bytes(),
            callers: VecDeque::new(),
            rejected: 0,
            patience: TOKEN_LIMIT,
        })
    }

    /// Connections closed so far because they were not ours.
    pub fn rejected(&self) -> u64 {
        self.rejected
    }

    /// The next connection that has presented the token, and its number; `None` at `end`.
    pub fn next(&mut self, end: Instant) -> Result<Option<(u32, Socket)>> {
        loop {
            let now = Instant::now();
            if now >= end {
                return Ok(None);
            }
            while self.callers.front().is_some_and(|caller| now - caller.since > self.patience) {
                self.reject_longest();
            }
            let patience = self.callers.front().map_or(end, |c| end.min(c.since + self.patience));
            let fds: Vec<BorrowedFd<'_>> = std::iter::once(self.listener.as_fd())
                .chain(self.callers.iter().map(|caller| caller.stream.as_fd()))
                .collect();
            let ready = wait_for_any(&fds, patience - now).context("cannot wait for connections")?;
            // From the last one: those before keep their places.
            for place in (0..self.callers.len()).rev().filter(|place| ready[place + 1]) {
                if let Some(found) = self.read_from(place)? {
                    return Ok(Some(found));
                }
            }
            if ready[0] {
                self.accept_one()?;
            }
        }
    }

    fn accept_one(&mut self) -> Result<()> {
        let accepted = self.listener.accept();
        match accepted.and_then(|(stream, _)| Ok(ioctl_fionbio(&stream, true).map(|()| stream)?)) {
            Ok(stream) => {
                self.callers.push_back(Caller { stream, said: Vec::new(), since: Instant::now() });
                if self.callers.len() > MOST_CALLERS {
                    self.reject_longest();
                }
            }
            // No descriptor or memory is left: closing a pending connection frees both.
            Err(error) if out_of_room(&error) && !self.callers.is_empty() => self.reject_longest(),
            // It went away again, or another look is needed.
            Err(error) if transient(&error) => {}
            Err(error) => return Err(error).context("cannot accept a connection"),
        }
        Ok(())
    }

    fn reject_longest(&mut self) {
        self.rejected += u64::from(self.callers.pop_front().is_some());
    }

    fn read_from(&mut self, place: usize) -> Result<Option<(u32, Socket)>> {
        match self.callers[place].hear(self.token) {
            Identity::NotYet => Ok(None),
            Identity::Stranger => {
                self.callers.remove(place);
                self.rejected += 1;
                Ok(None)
            }
            Identity::Ours(number) => {
                let caller = self.callers.remove(place).context("a caller has a place")?;
                ioctl_fionbio(&caller.stream, false).context("cannot let a connection wait")?;
                Ok(Some((number, caller.stream)))
            }
        }
    }
}

impl Caller {
    /// Reads up to its number and nothing behind it: what follows is payload.
    fn hear(&mut self, token: &[u8]) -> Identity {
        let whole = token.len() + NUMBER_BYTES;
        let mut buffer = vec![0; whole - self.said.len()];
        match self.stream.read(&mut buffer) {
            Ok(0) => return Identity::Stranger,
            Ok(length) => self.said.extend_from_slice(&buffer[..length]),
            Err(error) if transient(&error) => return Identity::NotYet,
            Err(_) => return Identity::Stranger,
        }
        let heard = self.said.len().min(token.len());
        if self.said[..heard] != token[..heard] {
            return Identity::Stranger;
        }
        match self.said[heard..].try_into() {
            Ok(number) => Identity::Ours(u32::from_le_bytes(number)),
            Err(_) => Identity::NotYet,
        }
    }
}

fn transient(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted)
}

fn out_of_room(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM))
}

/// Accepts `count` connections of ours, numbered from 0, and calls `welcome` with each.
pub fn accept_all<S: From<Socket>>(
    listener: &Socket,
    token: &str,
    count: usize,
    mut welcome: impl FnMut(&mut S) -> Result<()>,
) -> Result<Vec<S>> {
    let end = Instant::now() + SET_UP_LIMIT;
    let mut acceptor = Acceptor::new(listener, token)?;
    let mut ours: BTreeMap<u32, S> = BTreeMap::new();
    while ours.len() < count {
        let Some((number, stream)) = acceptor.next(end)? else { break };
        if (number as usize) < count && !ours.contains_key(&number) {
            let mut stream = S::from(stream);
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
        acceptor.rejected()
    );
    Ok(ours.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

    const PATIENCE: Duration = Duration::from_secs(1);

    /// A listener, and the address to call it at.
    fn listener() -> (Socket, SocketAddr) {
        let name = format!("syscost-acceptor-{}", syscost_sys::random::token().unwrap());
        let address = SocketAddr::from_abstract_name(name).unwrap();
        (UnixListener::bind_addr(&address).unwrap().into(), address)
    }

    fn call(address: &SocketAddr, said: &[u8]) -> UnixStream {
        let mut stream = UnixStream::connect_addr(address).unwrap();
        stream.write_all(said).unwrap();
        stream
    }

    #[test]
    fn a_caller_who_dribbles_is_rejected_in_time_and_holds_nobody_up() {
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
                    syscost_sys::sleep::sleep(Duration::from_millis(100));
                }
                start.elapsed()
            }
        });
        let mut acceptor = Acceptor::new(&listener, token).unwrap();
        acceptor.patience = PATIENCE;
        syscost_sys::sleep::sleep(Duration::from_millis(50));
        let caller = call(&address, &hello(token, 7));
        let (number, _) = acceptor.next(Instant::now() + SET_UP_LIMIT).unwrap().expect("ours comes in");
        assert_eq!((number, acceptor.rejected()), (7, 0), "before the slow one has used up its time");
        drop(caller);
        assert!(acceptor.next(Instant::now() + PATIENCE + Duration::from_secs(2)).unwrap().is_none());
        assert_eq!(acceptor.rejected(), 1);
        assert!(slow.join().unwrap() < PATIENCE + Duration::from_secs(2));
    }

    #[test]
    fn no_more_than_so_many_strangers_are_kept_and_ours_comes_in_behind_them() {
        let (listener, address) = listener();
        let crowd = std::thread::spawn(move || {
            let silent: Vec<UnixStream> = (0..2 * MOST_CALLERS).map(|_| call(&address, b"")).collect();
            (silent, call(&address, &hello("token", 3)))
        });
        let mut acceptor = Acceptor::new(&listener, "token").unwrap();
        let (number, _) = acceptor.next(Instant::now() + SET_UP_LIMIT).unwrap().expect("ours comes in");
        assert_eq!(number, 3);
        assert!(acceptor.callers.len() <= MOST_CALLERS && acceptor.rejected() > 0);
        drop(crowd.join().unwrap());
    }

    #[test]
    fn half_a_token_a_wrong_one_and_an_early_end_are_strangers_and_get_no_answer() {
        let (listener, address) = listener();
        let half = call(&address, b"tok");
        drop(call(&address, b"token"));
        let mut wrong = call(&address, &hello("tokem", 0));
        let mut acceptor = Acceptor::new(&listener, "token").unwrap();
        let _ours = call(&address, &hello("token", 1));
        assert_eq!(acceptor.next(Instant::now() + SET_UP_LIMIT).unwrap().expect("ours").0, 1);
        let mut answer = Vec::new();
        wrong.read_to_end(&mut answer).unwrap();
        assert_eq!((answer, acceptor.rejected()), (Vec::new(), 2));
        drop(half);
    }
}
