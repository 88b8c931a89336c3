//! A block: all rivals of one point, each on warm connections of one pair of processes, alternating in short slices.
//!
//! The machine's level drifts over seconds. Rivals that alternate within milliseconds share it, so that their ratio does
//! not. Sender thread 0 leads: it draws the order of each pass from the round's seed, starts each slice on all threads, and
//! asks the receiver over a connection of its own to say when every byte has arrived; what the receiver's threads spent
//! until then is the slice's. A slice begins with empty queues: throughput and sleeps come from windows of the usual
//! length, one rival after the other, at the end. Sources: Abedi and Brecht, ICPE 2017 (randomised multiple interleaved
//! trials); Bulej et al., ICPE 2020 (duet benchmarking).

mod leader;
mod null;
mod receiving;
mod sending;

use super::super::streaming::null::{NULL_TURNS, OWN_IN_SLICES, OWN_IN_WINDOWS, STEPPING_NS};
use super::super::streaming::receiving::{Source, take};
use super::super::streaming::sending::stream_messages;
use super::super::streaming::{RECEIVER, many, threads};
use super::super::{BlockTask, Channel, RoleReport, Task, Timing};
use super::{connection, far};
use crate::mechanism::{Sender, per_call};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::net::TcpStream;
use syscost_core::stats::random::Random;
use syscost_sys::socket::Segments;

/// The number of the leader's own connection; those of the rivals follow, one rival after the other.
const CONTROL: u32 = 0;

/// Of its turn, before the window: queues fill.
const LEAD_NS: u64 = 2_000_000;

/// Is this case, which has no rivals, played as a block of one? Between turns everything has arrived, so that each side
/// knows what the other's window held: the one that is elsewhere need not be believed.
pub fn is_needed(task: &Task) -> bool {
    let timed = task.counting.is_none() && !task.verify_all && !task.audited;
    timed && task.block.is_none() && far::host(&task.point).is_some()
}

/// Plays such a case: one window as long as all of them.
pub fn play_alone(task: &Task, play: impl FnOnce(&Task) -> Result<RoleReport>) -> Result<RoleReport> {
    let Timing { warmup_ns, window_ns, windows } = task.timing;
    let block = BlockTask { rivals: vec![task.point.clone()], warmup_ns, ..BlockTask::default() };
    let window_ns = window_ns.saturating_mul(windows.into());
    let timing = Timing { warmup_ns: warmup_ns.min(LEAD_NS), window_ns, windows: windows.min(1) };
    let mut report = play(&Task { block: Some(block), timing, ..task.clone() })?;
    let mut own = report.rivals.pop().context("a block of one has a report of it")?;
    // No null rival has taken turns: what the harness's own code takes is not known.
    own.totals.retain(|id, _| ![OWN_IN_SLICES, OWN_IN_WINDOWS].contains(&id.as_str()));
    Ok(RoleReport { missing: report.missing, ..own })
}

/// Plays a role over this carrier: all rivals of a block, or one case by itself.
pub fn play(task: &Task, channel: &mut dyn Channel, carrier: BlockCarrier) -> Result<RoleReport> {
    match (&task.block, task.role == RECEIVER) {
        (Some(block), true) => receiving::play(task, block, channel, carrier),
        (Some(block), false) => sending::play(task, block, channel, carrier),
        (None, true) => receive(task, channel, carrier),
        (None, false) => send(task, channel, carrier),
    }
}

fn receive(task: &Task, channel: &mut dyn Channel, carrier: BlockCarrier) -> Result<RoleReport> {
    let streams = connection::by_thread(task, connection::accept_all(task, channel)?);
    let mut report = threads::run(task, &streams, channel, |streams| {
        let mut source = (carrier.source)(task, streams)?;
        Ok(Box::new(move || take(task, &mut *source)))
    })?;
    report.facts.extend((carrier.facts)(task, &streams[0][0]));
    Ok(report)
}

fn send(task: &Task, channel: &mut dyn Channel, carrier: BlockCarrier) -> Result<RoleReport> {
    let streams = connection::by_thread(task, connection::connect_all(task)?);
    let mut report = threads::run(task, &streams, channel, |streams| {
        let senders = streams.iter().map(|s| (carrier.start)(task, s)).collect::<Result<Vec<_>>>()?;
        let sender = many::InTurn::of(senders, per_call(&task.point))?;
        Ok(Box::new(move || {
            let done = stream_messages(task, sender, &|| (carrier.segments)(streams))?;
            streams.iter().try_for_each(connection::end)?;
            Ok(done)
        }))
    })?;
    report.facts.extend((carrier.facts)(task, &streams[0][0]));
    Ok(report)
}

/// What a rival is to a role that plays it: the task of its case.
fn rival_tasks(task: &Task, block: &BlockTask) -> Vec<Task> {
    block.rivals.iter().map(|point| Task { point: point.clone(), block: None, ..task.clone() }).collect()
}

type MakeSource = fn(&Task, &[TcpStream]) -> Result<Box<dyn Source>>;

/// What carries messages beside connections, or over them.
#[derive(Clone, Copy)]
pub struct BlockCarrier {
    pub start: fn(&Task, &TcpStream) -> Result<Box<dyn Sender>>,
    /// Makes the receiving end of one thread's connections.
    pub source: MakeSource,
    pub segments: fn(&[TcpStream]) -> Result<Option<Segments>>,
    /// Of a side's first connection.
    pub facts: fn(&Task, &TcpStream) -> BTreeMap<String, String>,
}

/// The connections themselves.
pub const TCP: BlockCarrier = BlockCarrier {
    start: super::sender::start,
    source: super::receiver::source,
    segments: super::sender::segments,
    facts: |task, stream| match task.role == RECEIVER {
        true => super::receiver::facts(task, stream),
        false => connection::facts(stream),
    },
};

/// What all rivals do in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Connections reach their rate, and the head of every stream is verified.
    WarmUp,
    /// One slice each.
    Slices,
    /// One slice each, as long as a window after its lead.
    Windows,
    /// A chunk each: the end of every stream is verified.
    WindDown,
}

impl Phase {
    fn of(number: u32) -> Phase {
        match number {
            0 => Phase::WarmUp,
            1 => Phase::Slices,
            2 => Phase::Windows,
            _ => Phase::WindDown,
        }
    }
}

/// One turn of one rival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Turn {
    phase: Phase,
    /// The one after the last is the null rival.
    rival: usize,
    /// Timed passes, from 0.
    pass: u32,
    position: u32,
    slice_ns: u64,
}

/// Every turn of a round; every thread draws the same. Some passes end with a turn of the null rival.
fn turns(block: &BlockTask, timing: Timing) -> Vec<Turn> {
    let mut random = Random::new(block.seed);
    let mut passes = vec![(Phase::WarmUp, 0, block.warmup_ns)];
    passes.extend((0..block.passes).map(|pass| (Phase::Slices, pass, block.slice_ns)));
    let window_ns = timing.warmup_ns.saturating_add(timing.window_ns);
    passes.extend((timing.windows > 0).then_some((Phase::Windows, 0, window_ns)));
    passes.push((Phase::WindDown, 0, 0));
    let nulls = (block.passes as usize / (2 * NULL_TURNS)).max(1);
    let mut turns = Vec::new();
    for (phase, pass, slice_ns) in passes {
        let mut order: Vec<usize> = (0..block.rivals.len()).collect();
        random.shuffle(&mut order);
        let turn = |(position, rival)| Turn { phase, rival, pass, position: position as u32, slice_ns };
        turns.extend(order.into_iter().enumerate().map(turn));
        let number = pass as usize / nulls;
        if phase == Phase::Slices && (pass as usize) % nulls == 0 && number < 2 * NULL_TURNS {
            let (rival, slice_ns) = (block.rivals.len(), [STEPPING_NS, 0][number % 2]);
            turns.push(Turn { phase, rival, pass, position: rival as u32, slice_ns });
        }
    }
    turns
}

/// Where every wake-up waits for a busy CPU, turns take many times their length: then a round has fewer passes.
fn most_ns(turns: &[Turn]) -> u64 {
    const LEAST_NS: u64 = 400_000_000;
    (2 * turns.iter().map(|turn| turn.slice_ns).sum::<u64>()).max(LEAST_NS)
}

/// Is it the last turn of a timed pass?
fn ends_a_pass(turns: &[Turn], at: usize) -> bool {
    turns[at].phase == Phase::Slices && turns.get(at + 1).is_none_or(|turn| turn.position == 0)
}

/// The phase of the turn that follows; `enough`: no more slices.
fn next(turns: &[Turn], at: usize, enough: bool) -> Phase {
    let mut left = turns[at + 1..].iter().map(|turn| turn.phase);
    left.find(|phase| !enough || *phase != Phase::Slices).unwrap_or(Phase::WindDown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_core::axis::Point;

    #[test]
    fn every_rival_has_one_slice_a_pass_and_no_pass_is_like_the_other() {
        let block = BlockTask {
            rivals: vec![Point::default(); 5],
            warmup_ns: 7,
            slice_ns: 1,
            passes: 40,
            seed: 3,
            ..BlockTask::default()
        };
        let timing = |windows| Timing { warmup_ns: 2, window_ns: 6, windows };
        let all = turns(&block, timing(1));
        assert_eq!(all, turns(&block, timing(1)), "every thread draws the same");
        assert_ne!(all, turns(&BlockTask { seed: 4, ..block.clone() }, timing(1)));
        let (nulls, rivals): (Vec<Turn>, Vec<Turn>) = all.iter().partition(|turn| turn.rival == 5);
        assert_eq!(rivals.len(), 5 * (1 + 40 + 1 + 1));
        let lengths: Vec<(u32, u64)> = nulls.iter().map(|turn| (turn.pass, turn.slice_ns)).collect();
        let alternating = |n: usize| (5 * n as u32, [STEPPING_NS, 0][n % 2]);
        assert_eq!(lengths, (0..8).map(alternating).collect::<Vec<_>>(), "over the whole round");
        let slices: Vec<_> = rivals.iter().filter(|turn| turn.phase == Phase::Slices).collect();
        for pass in slices.chunks(5) {
            let mut rivals: Vec<_> = pass.iter().map(|turn| turn.rival).collect();
            rivals.sort_unstable();
            assert_eq!(rivals, [0, 1, 2, 3, 4]);
        }
        let first_of = |rival| slices.iter().filter(|t| t.rival == rival && t.position == 0).count();
        assert!((0..5).all(|rival| (2..=16).contains(&first_of(rival))), "nobody is always first");
        let ends: Vec<usize> = (0..all.len()).filter(|at| ends_a_pass(&all, *at)).collect();
        assert_eq!((ends.len(), ends[0], ends[39]), (40, 10, 212), "the warm-up is none");
        assert_eq!([next(&all, 10, false), next(&all, 10, true)], [Phase::Slices, Phase::Windows]);
        assert_eq!(next(&all, all.len() - 1, true), Phase::WindDown);
        assert!(!turns(&block, timing(0)).iter().any(|turn| turn.phase == Phase::Windows));
    }
}
