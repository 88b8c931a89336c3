//! The two ends of a context switch: one that is timed, one that answers, each on its CPU.
//!
//! The answering end is made on the CPU where it belongs and says at its start and end where it
//! ran, so that nothing is left to luck; that somebody moves either of them meanwhile marks the round. It
//! must not measure. Sources: sched_setaffinity(2),
//! fork(2), getrusage(2).

use super::wire::{TokenPath, Wire, Yields};
use crate::probe::operation::PlayedRound;
use crate::probe::{Window, batch};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;
use syscost_host::clock::{monotonic_ns, thread_usage};
use syscost_host::topology::{Pinned, PinnedThread, pin_this_thread, was_moved};
use syscost_sys::{affinity, child, shared::SharedWords};

/// Ends the answering end; every other token is below it.
const STOP: u8 = u8::MAX;
/// A partner that has not come up by then never will.
const START_LIMIT: Duration = Duration::from_secs(5);

/// What the answering end says of itself: the words of a [`Board`].
const STARTED_ON: usize = 0;
const ENDED_ON: usize = 1;
const ANSWERED: usize = 2;
/// CPUs are written one higher: 0 is "not yet".
type Board = SharedWords<3>;

/// The timed end of a pair whose other end answers every token.
pub struct Ends<'a, W> {
    wire: &'a W,
    token: u8,
    /// Tokens that came back; the answering end must have seen as many.
    pub round_trips: u64,
    failed: bool,
}

impl<W: Wire> Ends<'_, W> {
    /// Passes the token and waits until it is back. Once one was lost it does nothing more.
    #[inline]
    pub fn round_trip(&mut self) {
        if self.failed {
            return;
        }
        let before = self.token;
        self.token = if before + 1 < STOP { before + 1 } else { 1 };
        let passed = self.wire.give(TokenPath::There, self.token);
        self.failed = !passed || self.wire.take(TokenPath::Back, before) != Some(self.token);
        self.round_trips += u64::from(!self.failed);
    }

    /// The system calls of a round trip without the other end: each gives and takes once.
    #[inline]
    pub fn operations_alone(&mut self) {
        self.failed |= !(self.wire.alone() && self.wire.alone());
    }
}

/// What happened between two ends, as they say themselves.
pub struct SwitchReport<T> {
    pub result: T,
    pub round_trips: u64,
    /// Times that the timed end was put aside, of its own will or not.
    pub switches: u64,
    pub facts: BTreeMap<String, String>,
}

/// Sets up both ends where `pins` says, runs `timed` on one while the other answers, ends both, and
/// checks that each was where it should be and saw every token.
pub fn between<W: Wire, T>(
    processes: bool,
    pins: Pinned,
    timed: impl FnOnce(&mut Ends<'_, W>) -> Result<T>,
) -> Result<SwitchReport<T>> {
    let (here, there) = pins.sender.zip(pins.receiver).context("both ends need a CPU")?;
    let wire = W::new(processes).context("cannot make what passes the token")?;
    let board = Board::new().context("no memory to share")?;
    // A child or thread starts on the CPU of the thread that makes it, and stays there.
    pin_this_thread(there)?;
    if processes {
        // SAFETY: the child makes system calls and stores into shared words only.
        let partner = unsafe {
            child::fork(|| {
                answer(&wire, &board);
                0
            })
        };
        let partner = partner.context("cannot fork")?;
        let told = drive(&wire, &board, here, Some(PinnedThread::of(partner.id(), there)), timed)?;
        partner.wait().context("the other end")?;
        checked(told, &board, here, there)
    } else {
        std::thread::scope(|scope| {
            let partner = std::thread::Builder::new().spawn_scoped(scope, || {
                let _watched = PinnedThread::of(affinity::CALLER, there);
                answer(&wire, &board);
            });
            partner.context("cannot start a thread")?;
            drive(&wire, &board, here, None, timed)
        })
        .and_then(|told| checked(told, &board, here, there))
    }
}

/// The answering end: gives back every token until it is told to stop, or one is lost.
fn answer(wire: &impl Wire, board: &Board) {
    let cpu = || affinity::current().map_or(u32::MAX, |cpu| cpu as u32 + 1);
    board.word(STARTED_ON).store(cpu(), Release);
    let (mut before, mut answered) = (0, 0u32);
    while let Some(token) = wire.take(TokenPath::There, before) {
        if token == STOP {
            break;
        }
        before = token;
        answered = answered.wrapping_add(1);
        if !wire.give(TokenPath::Back, token) {
            break;
        }
    }
    board.word(ANSWERED).store(answered, Relaxed);
    board.word(ENDED_ON).store(cpu(), Release);
    // Whoever still waits for a token must not wait for ever.
    wire.give(TokenPath::Back, STOP);
}

/// The timed end's whole life; stops the other end whatever happens, which is watched until then where it
/// cannot watch itself.
fn drive<W: Wire, T>(
    wire: &W,
    board: &Board,
    here: usize,
    partner: Option<PinnedThread>,
    timed: impl FnOnce(&mut Ends<'_, W>) -> Result<T>,
) -> Result<SwitchReport<T>> {
    let mut ends = Ends { wire, token: 0, round_trips: 0, failed: false };
    let before = thread_usage();
    let result = pin_this_thread(here)
        .map_err(Into::into)
        .and_then(|()| wait_for(board))
        .and_then(|()| timed(&mut ends));
    let after = thread_usage();
    drop(partner);
    wire.give(TokenPath::There, STOP);
    let result = result?;
    ensure!(!ends.failed, "a token was lost after {} round trips", ends.round_trips);
    ensure!(affinity::current() == Some(here) || was_moved(), "the timed end left CPU {here}");
    let usage = after.context("getrusage")?.since(before.context("getrusage")?);
    let switches = usage.voluntary_switches + usage.involuntary_switches;
    let each = switches as f64 / ends.round_trips.max(1) as f64;
    let facts =
        BTreeMap::from([("switches_per_round_trip".to_string(), format!("{each:.2} on the timed end"))]);
    Ok(SwitchReport { result, round_trips: ends.round_trips, switches, facts })
}

fn wait_for(board: &Board) -> Result<()> {
    let limit = monotonic_ns() + START_LIMIT.as_nanos() as u64;
    while board.word(STARTED_ON).load(Acquire) == 0 {
        if monotonic_ns() > limit {
            bail!("the other end did not start in {START_LIMIT:?}");
        }
        std::thread::yield_now();
    }
    Ok(())
}

/// The work was done where it should be: same CPU for both ends or not, and every token answered.
fn checked<T>(
    mut told: SwitchReport<T>,
    board: &Board,
    here: usize,
    there: usize,
) -> Result<SwitchReport<T>> {
    let cpu = |word| board.word(word).load(Acquire) as usize;
    // What somebody else moved marks the round, which is then not used.
    let moved = was_moved();
    ensure!(
        moved || cpu(STARTED_ON) == there + 1 && cpu(ENDED_ON) == there + 1,
        "the answering end was on CPU {} and {}, not {there}",
        cpu(STARTED_ON).wrapping_sub(1),
        cpu(ENDED_ON).wrapping_sub(1)
    );
    let answered = board.word(ANSWERED).load(Relaxed);
    ensure!(
        answered == told.round_trips as u32,
        "{} tokens came back, {answered} were answered",
        told.round_trips
    );
    // On one CPU the other end cannot answer before this one is put aside.
    ensure!(
        moved || here != there || told.switches as f64 >= 0.9 * told.round_trips as f64,
        "{} round trips but only {} context switches",
        told.round_trips,
        told.switches
    );
    told.facts.insert("cpus".into(), format!("{here} and {there}"));
    Ok(told)
}

/// Switches in a round trip.
const SWITCHES: f64 = 2.0;

/// A switch between two ends that are always ready to run, on one CPU: nobody is woken.
pub fn by_yielding(round: &mut PlayedRound<'_>, processes: bool) -> Result<Vec<Window>> {
    Ok(run::<Yields>(round, processes)?.result)
}

pub fn run<W: Wire>(round: &mut PlayedRound<'_>, processes: bool) -> Result<SwitchReport<Vec<Window>>> {
    let mut told = between::<W, _>(processes, round.pins, |ends| {
        round.ready()?;
        // One end at a time runs: the batch's two bodies share it.
        let ends = std::cell::RefCell::new(ends);
        let round_trips = |n| {
            let mut ends = ends.borrow_mut();
            (0..n).for_each(|_| ends.round_trip());
        };
        let operations = |n| {
            let mut ends = ends.borrow_mut();
            (0..n).for_each(|_| ends.operations_alone());
        };
        Ok(batch::batches(round.task, round_trips, operations))
    })?;
    told.result.iter_mut().for_each(|window| window.of_each(SWITCHES));
    Ok(told)
}

#[cfg(test)]
mod tests {
    use super::super::wire::Pipes;
    use super::*;
    use syscost_host::topology::{Placement, Topology};

    fn pins(placement: &Placement) -> Option<Pinned> {
        Topology::read().place(placement, 1).ok().map(|pins| pins[0])
    }

    #[test]
    fn round_trips_without_switches_on_one_cpu_are_refused() {
        let told = |switches| SwitchReport { result: (), round_trips: 100, switches, facts: BTreeMap::new() };
        let board = Board::new().unwrap();
        for (word, value) in [(STARTED_ON, 4), (ENDED_ON, 4), (ANSWERED, 100)] {
            board.word(word).store(value, Relaxed);
        }
        assert!(checked(told(100), &board, 3, 3).is_ok());
        assert!(checked(told(10), &board, 3, 3).is_err(), "they shared no CPU");
        assert!(checked(told(10), &board, 2, 3).is_ok());
        assert!(checked(told(100), &board, 2, 2).is_err(), "another CPU than asked for");
        board.word(ANSWERED).store(99, Relaxed);
        assert!(checked(told(100), &board, 3, 3).is_err(), "a token unanswered");
    }

    #[test]
    fn an_error_of_the_timed_end_ends_the_other_too() {
        let Some(pins) = pins(&Placement::Same) else { return };
        let told = std::thread::spawn(move || between::<Pipes, ()>(true, pins, |_| bail!("as asked")))
            .join()
            .unwrap();
        assert_eq!(told.err().unwrap().to_string(), "as asked");
    }
}
