//! The line between the leader and the receiver: a question after each slice, answered when all of it has arrived.

use super::Phase;
use anyhow::{Context, Result, ensure};
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

/// What the receiver says of a slice, all of which is there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SliceArrived {
    /// CPU time that the rival's receiving threads spent since the last answer about it.
    pub cpu_ns: u64,
    /// How long after the question the last byte came; 0: all was there.
    pub late_ns: u64,
    /// From the question to the answer.
    pub waited_ns: u64,
}

impl SliceArrived {
    pub fn tell(&self, mut line: &TcpStream) -> Result<()> {
        let words = [self.cpu_ns, self.late_ns, self.waited_ns].map(u64::to_le_bytes);
        line.write_all(&words.concat()).context("cannot say that a slice has arrived")
    }

    /// Nothing took the receiver longer than the leader waited, but for clocks that do not go alike, and its threads worked no
    /// longer than they can have.
    pub fn fits(&self, answered_ns: u64, most_cpu_ns: u64) -> Result<()> {
        let SliceArrived { cpu_ns, late_ns, waited_ns } = *self;
        ensure!(
            late_ns <= waited_ns && waited_ns <= answered_ns + answered_ns / 100,
            "the receiver says that it waited {waited_ns} ns, {late_ns} ns of it for data, and its answer came after \
             {answered_ns} ns"
        );
        ensure!(
            cpu_ns > 0 && cpu_ns <= most_cpu_ns,
            "the receiver says that a slice took {cpu_ns} ns of its CPU time: more than none, and {most_cpu_ns} ns at most"
        );
        Ok(())
    }

    /// How long after the question was asked the last byte came, when the answer took so long: the way there is half of
    /// what the receiver did not wait. 0: all was there.
    pub fn after_question_ns(&self, answered_ns: u64) -> u64 {
        let there = answered_ns.saturating_sub(self.waited_ns) / 2;
        if self.late_ns > 0 { there + self.late_ns } else { 0 }
    }
}

const ANSWER_BYTES: usize = 3 * size_of::<u64>();

/// Looks for a while before it sleeps: to be woken takes as long as a fifth of a slice.
pub fn wait_for_answer(mut line: &TcpStream) -> Result<SliceArrived> {
    let until = clock::monotonic_ns() + SPIN_NS;
    while !is_answered(line)? && clock::monotonic_ns() < until {}
    let mut answer = [0; ANSWER_BYTES];
    line.read_exact(&mut answer).context("the receiver did not say that a slice had arrived")?;
    let word = |at: usize| u64::from_le_bytes(answer[8 * at..][..8].try_into().expect("eight bytes"));
    Ok(SliceArrived { cpu_ns: word(0), late_ns: word(1), waited_ns: word(2) })
}

/// Has the receiver answered, or gone?
fn is_answered(line: &TcpStream) -> Result<bool> {
    match socket::receive(line.as_raw_fd(), &mut [0; ANSWER_BYTES], libc::MSG_PEEK | libc::MSG_DONTWAIT) {
        Ok(bytes) => Ok(bytes == ANSWER_BYTES || bytes == 0),
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
        let arrived = SliceArrived { cpu_ns: 12345, late_ns: 7000, waited_ns: 9000 };
        arrived.tell(&far).unwrap();
        while !is_answered(&near).unwrap() {}
        assert_eq!(wait_for_answer(&near).unwrap(), arrived);
        assert_eq!(arrived.after_question_ns(13_000), 2_000 + 7_000, "half of the way there and back");
        assert_eq!(SliceArrived { late_ns: 0, ..arrived }.after_question_ns(13_000), 0, "all was there");
        drop(near);
        assert_eq!(LeaderQuestion::hear(&far, 2).unwrap(), None);
    }
}
