//! The baton: of runs that measure side by side on one machine, only the one that holds it does anything.
//!
//! A run asks for the baton over a socket and sleeps until it gets it; asking again passes it on. Runs get it in a fixed
//! order, one after the other. The process that started them hands it out, and says how long a run has waited by then.

use crate::process::inherit_on_exec;
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::sockopt::socket_type;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a run asks by: the answer repeats it, so that one to a worker that was killed is nobody's.
static ASKED: AtomicU64 = AtomicU64::new(1);

/// A run's end of the line.
#[derive(Debug)]
pub struct Baton(File);

impl Baton {
    /// A line between a run and whoever hands the baton out. Neither end outlives an exec.
    pub fn line() -> io::Result<(Baton, File)> {
        let (run, other) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        Ok((Baton(run.into()), other.into()))
    }

    /// The end that this process was started with.
    pub fn inherited(number: RawFd) -> io::Result<Baton> {
        if number <= 2 || !std::path::Path::new(&format!("/proc/self/fd/{number}")).exists() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is no such descriptor"));
        }
        // SAFETY: the descriptor is open, and it was passed for this: nothing else of this process owns it.
        let end = unsafe { OwnedFd::from_raw_fd(number) };
        socket_type(&end)?;
        fcntl_setfd(&end, FdFlags::CLOEXEC)?;
        Ok(Baton(end.into()))
    }

    pub fn number(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// What the command starts holds this end too.
    pub fn hand_to(&self, command: &mut Command) {
        inherit_on_exec(command, self.number());
    }

    /// Lets the others have it, and returns when it is back, with the time that this run has waited for it in all.
    pub fn pass(&self) -> io::Result<Duration> {
        let question =
            u64::from(std::process::id()) << 32 | ASKED.fetch_add(1, Ordering::Relaxed) & 0xffff_ffff;
        (&self.0).write_all(&question.to_ne_bytes())?;
        loop {
            let [answer, waited_ns] = read(&self.0)?;
            if answer == question {
                return Ok(Duration::from_nanos(waited_ns));
            }
        }
    }
}

fn read<const N: usize>(mut line: &File) -> io::Result<[u64; N]> {
    let mut numbers = [0; N];
    for number in &mut numbers {
        let mut bytes = [0; size_of::<u64>()];
        line.read_exact(&mut bytes)?;
        *number = u64::from_ne_bytes(bytes);
    }
    Ok(numbers)
}

/// A run's question, from its line; an error of kind `UnexpectedEof`: it has ended.
pub fn question(line: &File) -> io::Result<u64> {
    read(line).map(|[question]: [u64; 1]| question)
}

/// Who holds the baton, who waits for it, and who is next.
#[derive(Debug)]
pub struct BatonOrder {
    runs: Vec<BatonRun>,
    holder: Option<usize>,
    next: usize,
}

#[derive(Clone, Debug, Default)]
struct BatonRun {
    /// What it asked by, and since when.
    waiting: Option<(u64, Option<Instant>)>,
    waited: Duration,
    ended: bool,
}

/// A run that gets the baton.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatonGrant {
    pub run: usize,
    question: u64,
    waited: Duration,
}

impl BatonGrant {
    pub fn tell(&self, mut line: &File) -> io::Result<()> {
        let waited_ns = u64::try_from(self.waited.as_nanos()).unwrap_or(u64::MAX);
        let [first, second] = [self.question, waited_ns].map(u64::to_ne_bytes);
        line.write_all(&[first, second].concat())
    }
}

impl BatonOrder {
    /// Of so many runs, the first of which begins.
    pub fn of(runs: usize) -> BatonOrder {
        BatonOrder { runs: vec![BatonRun::default(); runs], holder: None, next: 0 }
    }

    /// A run asks: the holder passes on what it holds.
    pub fn asked(&mut self, run: usize, question: u64, now: Instant) -> Option<BatonGrant> {
        // Before it had the baton for the first time it has not begun: nothing of its time is lost.
        let began =
            self.runs[run].waiting.is_some() || self.holder == Some(run) || !self.runs[run].waited.is_zero();
        self.runs[run].waiting = Some((question, began.then_some(now)));
        self.left(run);
        self.grant(now)
    }

    /// A run has ended, whatever it held.
    pub fn ended(&mut self, run: usize, now: Instant) -> Option<BatonGrant> {
        self.runs[run].ended = true;
        self.left(run);
        self.grant(now)
    }

    pub fn has_ended(&self, run: usize) -> bool {
        self.runs[run].ended
    }

    fn left(&mut self, run: usize) {
        if self.holder == Some(run) {
            self.holder = None;
            self.next = run + 1;
        }
    }

    /// Strictly in order: a run that has not asked yet is waited for, since it is the only one that may do anything. Whoever
    /// holds the baton is one that has not asked.
    fn grant(&mut self, now: Instant) -> Option<BatonGrant> {
        let all = self.runs.len();
        let run = (0..all).map(|step| (self.next + step) % all).find(|run| !self.runs[*run].ended)?;
        let (question, since) = self.runs[run].waiting.take()?;
        let waited = since.map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        self.runs[run].waited += waited;
        self.holder = Some(run);
        Some(BatonGrant { run, question, waited: self.runs[run].waited })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn runs_hold_it_one_after_the_other_and_their_waits_are_counted() {
        let (mut order, start) = (BatonOrder::of(2), Instant::now());
        let granted = |grant: Option<BatonGrant>| {
            grant.map(|grant| (grant.run, grant.question, grant.waited.as_secs()))
        };
        assert_eq!(granted(order.asked(1, 10, start)), None, "the first begins");
        assert_eq!(granted(order.asked(0, 20, start + SECOND)), Some((0, 20, 0)));
        assert_eq!(granted(order.asked(0, 21, start + 2 * SECOND)), Some((1, 10, 0)), "it had not begun");
        assert_eq!(granted(order.asked(1, 11, start + 5 * SECOND)), Some((0, 21, 3)));
        assert_eq!(granted(order.asked(0, 22, start + 6 * SECOND)), Some((1, 11, 1)));
        assert_eq!(granted(order.ended(1, start + 7 * SECOND)), Some((0, 22, 4)));
        assert_eq!(granted(order.asked(0, 23, start + 8 * SECOND)), Some((0, 23, 4)), "alone it goes on");
        assert!(order.has_ended(1) && !order.has_ended(0));
    }

    #[test]
    fn a_run_that_ends_while_it_waits_stops_nobody() {
        let (mut order, now) = (BatonOrder::of(3), Instant::now());
        assert_eq!(order.asked(2, 1, now), None);
        assert_eq!(order.asked(0, 2, now).map(|grant| grant.run), Some(0));
        assert_eq!(order.ended(1, now), None, "the holder goes on");
        assert_eq!(order.asked(0, 3, now).map(|grant| grant.run), Some(2));
        assert_eq!(order.ended(2, now).map(|grant| grant.run), Some(0));
    }

    #[test]
    fn an_answer_to_somebody_else_is_none() {
        let (baton, line) = Baton::line().unwrap();
        let handing_out = std::thread::spawn(move || {
            let question = question(&line).unwrap();
            let grant = |question| BatonGrant { run: 0, question, waited: SECOND };
            grant(question ^ 1).tell(&line).unwrap();
            BatonGrant { waited: 2 * SECOND, ..grant(question) }.tell(&line).unwrap();
        });
        assert_eq!(baton.pass().unwrap(), 2 * SECOND);
        handing_out.join().unwrap();
        assert_eq!(baton.pass().unwrap_err().kind(), io::ErrorKind::BrokenPipe, "nobody hands it out");
        assert!(Baton::inherited(1).is_err() && Baton::inherited(99_999).is_err());
    }
}
