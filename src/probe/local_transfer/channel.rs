//! How the two processes of a round find each other: a Unix socket with a name in the abstract namespace.
//!
//! Such a name is in no file system and goes with its socket. Every connection presents the round's
//! token and its number; a stranger's is closed and never counted. Source: unix(7).

use crate::sys::process::wait_readable;
use crate::sys::random;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

/// How long both sides together may take to set up.
const SET_UP_LIMIT: Duration = Duration::from_secs(20);
/// How long one connection may take to present its token.
const TOKEN_LIMIT: Duration = Duration::from_millis(500);
const WELCOME: u8 = b'+';

/// A listener, and its name: not the token, since names can be read by everybody.
pub fn listen() -> Result<(UnixListener, String)> {
    let name = format!("syscost-{}", random::token().context("the kernel gives no random numbers")?);
    let address = SocketAddr::from_abstract_name(&name)?;
    let listener = UnixListener::bind_addr(&address).context("cannot listen on a Unix socket")?;
    listener.set_nonblocking(true)?;
    Ok((listener, name))
}

/// Accepts `count` connections that present the token, in the order of their numbers.
pub fn accept(listener: &UnixListener, token: &str, count: usize) -> Result<Vec<UnixStream>> {
    let end = Instant::now() + SET_UP_LIMIT;
    let mut ours: BTreeMap<u32, UnixStream> = BTreeMap::new();
    while ours.len() < count {
        let left = end.saturating_duration_since(Instant::now());
        let limit = SET_UP_LIMIT.as_secs();
        ensure!(!left.is_zero(), "only {} of {count} connections arrived within {limit} s", ours.len());
        match listener.accept() {
            Ok((mut stream, _)) => {
                if let Some(number) = greet(&mut stream, token).filter(|n| (*n as usize) < count) {
                    ours.entry(number).or_insert(stream);
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                wait_readable(listener.as_raw_fd(), left.as_millis() as i32 + 1)?;
            }
            Err(error) => return Err(error).context("cannot accept a connection"),
        }
    }
    Ok(ours.into_values().collect())
}

/// Reads a connection's token and number and welcomes it; `None` for a stranger.
fn greet(stream: &mut UnixStream, token: &str) -> Option<u32> {
    stream.set_nonblocking(false).ok()?;
    stream.set_read_timeout(Some(TOKEN_LIMIT)).ok()?;
    let mut said = vec![0; token.len()];
    let mut number = [0; 4];
    stream.read_exact(&mut said).ok()?;
    stream.read_exact(&mut number).ok()?;
    if said != token.as_bytes() {
        return None;
    }
    stream.set_read_timeout(None).ok()?;
    stream.write_all(&[WELCOME]).ok()?;
    Some(u32::from_le_bytes(number))
}

/// Connects number `number` and presents the token.
pub fn connect(name: &str, token: &str, number: u32) -> Result<UnixStream> {
    let address = SocketAddr::from_abstract_name(name)?;
    let mut stream = UnixStream::connect_addr(&address).context("cannot connect to the receiver")?;
    stream.set_read_timeout(Some(SET_UP_LIMIT))?;
    stream.write_all(token.as_bytes())?;
    stream.write_all(&number.to_le_bytes())?;
    let mut answer = [0];
    stream.read_exact(&mut answer).context("the receiver closed the connection instead of welcoming it")?;
    ensure!(answer[0] == WELCOME, "something other than syscost answers");
    stream.set_read_timeout(None)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_are_not_counted_and_ours_are_in_order() {
        let (listener, name) = listen().unwrap();
        let client = std::thread::spawn(move || {
            let address = SocketAddr::from_abstract_name(&name).unwrap();
            let mut stranger = UnixStream::connect_addr(&address).unwrap();
            stranger.write_all(b"wrong-token-0000").unwrap();
            let silent = UnixStream::connect_addr(&address).unwrap();
            let mut second = connect(&name, "right-token", 1).unwrap();
            let mut first = connect(&name, "right-token", 0).unwrap();
            second.write_all(b"2").unwrap();
            first.write_all(b"1").unwrap();
            (stranger, silent)
        });
        let streams = accept(&listener, "right-token", 2).unwrap();
        let _strangers = client.join().unwrap();
        let said = |mut stream: &UnixStream| {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            byte[0]
        };
        assert_eq!(streams.iter().map(said).collect::<Vec<_>>(), b"12");
    }
}
