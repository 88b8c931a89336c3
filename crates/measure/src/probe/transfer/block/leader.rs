//! The line between the leader and the receiver: a question after each slice, answered when all of it has arrived.

use super::Phase;
use anyhow::{Context, Result};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use syscost_host::clock;
use syscost_sys::socket;

/// How long the leader looks for an answer.
const SPIN_NS: u64 = 200_000;

/// What the leader asks, as little-endian words: rival, the phase of the next turn, and of each thread the bytes that it
/// has sent for this rival.
#[derive(Debug, PartialEq)]
pub struct LeaderQuestion {
    pub rival: usize,
    pub next: Phase,
    pub bytes: Vec<u64>,
}

impl LeaderQuestion {
    pub fn ask(&self, mut line: &TcpStream) -> Result<()> {
        let words = [self.rival as u64, self.next as u64].into_iter().chain(self.bytes.iter().copied());
        let frame: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        line.write_all(&frame).context("cannot tell the receiver that a slice is over")
    }

    /// The next question; `None`: the leader has no more.
    pub fn hear(mut line: &TcpStream, threads: usize) -> Result<Option<LeaderQuestion>> {
        let mut frame = vec![0; size_of::<u64>() * (2 + threads)];
        let first = line.read(&mut frame).context("cannot hear the leader")?;
        if first == 0 {
            return Ok(None);
        }
        line.read_exact(&mut frame[first..]).context("the leader stopped in the middle of a question")?;
        let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        let mut words = frame.chunks_exact(size_of::<u64>()).map(word);
        let (rival, next) = (words.next().unwrap_or(0) as usize, Phase::of(words.next().unwrap_or(0) as u32));
        Ok(Some(LeaderQuestion { rival, next, bytes: words.collect() }))
    }
}

/// CPU time that the rival's receiving threads spent since the last answer about it.
pub fn answer(mut line: &TcpStream, cpu_ns: u64) -> Result<()> {
    line.write_all(&cpu_ns.to_le_bytes()).context("cannot say that a slice has arrived")
}

/// Looks for a while before it sleeps: to be woken takes as long as a fifth of a slice.
pub fn wait_for_answer(mut line: &TcpStream) -> Result<u64> {
    let until = clock::monotonic_ns() + SPIN_NS;
    while !is_answered(line)? && clock::monotonic_ns() < until {}
    let mut answer = [0; 8];
    line.read_exact(&mut answer).context("the receiver did not say that a slice had arrived")?;
    Ok(u64::from_le_bytes(answer))
}

/// Has the receiver answered, or gone?
fn is_answered(line: &TcpStream) -> Result<bool> {
    match socket::receive(line.as_raw_fd(), &mut [0; 8], libc::MSG_PEEK | libc::MSG_DONTWAIT) {
        Ok(bytes) => Ok(bytes == 8 || bytes == 0),
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error).context("cannot hear the receiver"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn what_is_asked_is_heard_and_the_end_of_the_line_is_no_question() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        let question = LeaderQuestion { rival: 3, next: Phase::WindDown, bytes: vec![1 << 40, 7] };
        question.ask(&near).unwrap();
        assert_eq!(LeaderQuestion::hear(&far, 2).unwrap(), Some(question));
        assert!(!is_answered(&near).unwrap());
        answer(&far, 12345).unwrap();
        while !is_answered(&near).unwrap() {}
        assert_eq!(wait_for_answer(&near).unwrap(), 12345);
        drop(near);
        assert_eq!(LeaderQuestion::hear(&far, 2).unwrap(), None);
    }
}
