//! How the two processes of a round find each other: a Unix socket with a name in the abstract namespace.
//!
//! Such a name is in no file system and goes with its socket. Every connection presents the round's
//! token and its number; a stranger's is closed and never counted. Source: unix(7).

use anyhow::{Context, Result, ensure};
use socket2::Socket;
use std::io::{Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use syscost_host::acceptor::{self, SET_UP_LIMIT};
use syscost_host::remote::reach::WELCOME;
use syscost_sys::optional::RECEIVE_TIMEOUT;
use syscost_sys::random;

/// A listener, and its name: not the token, since names can be read by everybody.
pub fn listen() -> Result<(Socket, String)> {
    let name = format!("syscost-{}", random::token().context("the kernel gives no random numbers")?);
    let address = SocketAddr::from_abstract_name(&name)?;
    let listener = UnixListener::bind_addr(&address).context("cannot listen on a Unix socket")?;
    Ok((listener.into(), name))
}

/// Accepts `count` connections that present the token, in the order of their numbers.
pub fn accept(listener: &Socket, token: &str, count: usize) -> Result<Vec<UnixStream>> {
    acceptor::accept_all(listener, token, count, |stream: &mut UnixStream| {
        stream.write_all(&[WELCOME]).context("cannot welcome a connection")
    })
}

/// Connects number `number` and presents the token.
pub fn connect(name: &str, token: &str, number: u32) -> Result<UnixStream> {
    let address = SocketAddr::from_abstract_name(name)?;
    let mut stream = UnixStream::connect_addr(&address).context("cannot connect to the receiver")?;
    RECEIVE_TIMEOUT.tried(stream.set_read_timeout(Some(SET_UP_LIMIT)));
    stream.write_all(&acceptor::hello(token, number))?;
    let mut answer = [0];
    stream.read_exact(&mut answer).context("the receiver closed the connection instead of welcoming it")?;
    ensure!(answer[0] == WELCOME, "something other than syscost answers");
    RECEIVE_TIMEOUT.tried(stream.set_read_timeout(None));
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
