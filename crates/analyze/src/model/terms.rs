//! Every term, in the order of accounts: what it counts, and what one of that costs in steps.
//!
//! A side sleeps when nothing has come, or when there is no room or a completion is waited for: the step knows the
//! receiver, and what it costs to sleep and to wake is the same for both.

use super::counts::{Count, CountSource, Subject};
use super::figure::Figure;
use super::steps::Steps;
use super::{Side, Term, TermAbout, TermGroup};
use syscost_measure::probe::path_steps as steps;

/// Bytes of a turn of the largest step, on the receiver's side: two calls.
const TAKEN: f64 = 2.0 * steps::LARGE_BYTES as f64;

type CountOf = fn(&Subject) -> Count;
type UnitOf = fn(&Subject, &Steps) -> Option<Figure>;

const fn sender(id: &'static str, group: TermGroup, count: CountOf, unit: UnitOf) -> Term {
    Term { about: TermAbout { id, side: Side::Sender, group }, count, unit }
}

const fn receiver(id: &'static str, group: TermGroup, count: CountOf, unit: UnitOf) -> Term {
    Term { about: TermAbout { id, side: Side::Receiver, group }, count, unit }
}

pub(super) static ALL: &[Term] = &[
    sender(
        "pack",
        TermGroup::UserCopy,
        |s| bytes(s, s.handling.packs),
        // The message and its copy are at work, at the cache level that holds both.
        |s, steps| steps.user_copy(2 * s.call_bytes as u64),
    ),
    sender("append", TermGroup::Calls, waiting_calls, |_, s| s.sender(steps::APPEND)),
    sender("segment", TermGroup::Calls, |s| s.segments.with(s.first_segments()), segment),
    sender(
        "after_receive",
        TermGroup::Calls,
        |s| s.receive_calls.with(s.receive_calls.n.min(s.first_segments())),
        |_, steps| after_receive(steps),
    ),
    sender(
        "further",
        TermGroup::Calls,
        |s| s.segments.with((s.segments.n - s.calls.n).max(0.0)),
        further_segment,
    ),
    sender(
        "pieces",
        TermGroup::Calls,
        |s| s.calls.with(s.handling.pieces.saturating_sub(1) as f64 * s.calls.n),
        piece,
    ),
    sender("copy_in", TermGroup::CopyIn, |s| bytes(s, !s.handling.lends), |_, steps| steps.copy_in()),
    sender(
        "lend",
        TermGroup::Lent,
        |s| s.calls.with(if s.handling.lends { s.calls.n } else { 0.0 }),
        // A notification and the first page's pin: what one small lent piece costs more than a copied one.
        |_, s| Some(s.sender(steps::LENT)?.minus(&s.sender(steps::SINGLE)?)),
    ),
    sender("lent_bytes", TermGroup::Lent, |s| bytes(s, s.handling.lends), lent_byte),
    sender(
        "completions",
        TermGroup::Completions,
        |s| s.looks.with(if s.handling.lends { s.looks.n } else { 0.0 }),
        |_, s| s.completion(steps::LENT),
    ),
    sender("sender_sleep", TermGroup::Sleep, |s| alone(s, &s.sender_sleeps), |_, s| sleeping(s)),
    sender("wake", TermGroup::Sleep, |s| alone(s, &s.sleeps), |_, s| waking(s)),
    sender("sender_alternates", TermGroup::Sleep, alternations, |_, s| {
        alternating(s, s.sender(steps::ALTERNATE))
    }),
    receiver(
        "receive",
        TermGroup::Receive,
        |s| s.receive_calls.with(s.receive_calls.n - s.further_receive_calls()),
        |_, s| acknowledged_call(s),
    ),
    receiver(
        "receive_further",
        TermGroup::Receive,
        |s| s.receive_calls.with(s.further_receive_calls()),
        |_, s| further_receive(s).or_else(|| acknowledged_call(s)),
    ),
    receiver("take", TermGroup::Receive, |s| s.segments.clone(), |_, s| taken_segment(s)),
    receiver("copy_out", TermGroup::CopyOut, |s| bytes(s, true), copy_out),
    receiver("sleep", TermGroup::Sleep, |s| alone(s, &s.sleeps), |_, s| sleeping(s)),
    receiver("sender_wake", TermGroup::Sleep, |s| alone(s, &s.sender_sleeps), |_, s| waking(s)),
    receiver("alternates", TermGroup::Sleep, alternations, |_, s| {
        alternating(s, s.receiver(steps::ALTERNATE))
    }),
];

fn bytes(s: &Subject, wanted: bool) -> Count {
    Count::rule(if wanted { s.message_bytes } else { 0.0 }, CountSource::MessageBytes)
}

fn waiting_calls(s: &Subject) -> Count {
    Count {
        n: (s.calls.n - s.segments.n).max(0.0),
        from: CountSource::CallsLessSegments(Box::new(s.segments.from.clone())),
        cells: s.segments.cells.clone(),
    }
}

/// The call, the way down, and the receive interrupt, which runs in the sender's thread, while the receiver does nothing: the
/// first call of a step's turn follows the receiver's.
fn segment(s: &Subject, steps: &Steps) -> Option<Figure> {
    let small = || Some(steps.sender(steps::TRANSMIT)?.minus(&first_of_turn(steps)?));
    let large = || {
        let copied = steps.copy_in()?.times(steps::MIDDLE_BYTES as f64);
        Some(steps.sender(steps::MIDDLE)?.minus(&copied).minus(&after_receive(steps)?))
    };
    match s.small_calls {
        0.0 => large(),
        1.0 => small(),
        share => Some(small()?.times(share).plus(&large()?.times(1.0 - share))),
    }
}

/// What a call costs more because the receiver has been at the connection since the last one: its memory is in the other
/// core's caches, and an acknowledgement may have come.
fn after_receive(steps: &Steps) -> Option<Figure> {
    Some(first_of_turn(steps)?.times(calls_of(steps::TRANSMIT)?))
}

/// What the first call of a turn of several adds to the average.
fn first_of_turn(steps: &Steps) -> Option<Figure> {
    let (one, each) = (steps.sender(steps::SINGLE)?, steps.sender(steps::TRANSMIT)?);
    Some(one.minus(&each).over(calls_of(steps::TRANSMIT)? - 1.0))
}

/// Calls of a step's turn.
fn calls_of(step: &str) -> Option<f64> {
    steps::ALL.iter().find(|about| about.id == step).map(|about| about.calls as f64)
}

fn further_segment(_: &Subject, steps: &Steps) -> Option<Figure> {
    if steps.packet_by_packet() {
        return Some(steps.sender(steps::LONG)?.times(0.0));
    }
    let (long, large) = (steps.sender(steps::LONG)?, steps.sender(steps::LARGE)?);
    let copied = steps.copy_in()?.times((steps::LONG_BYTES - steps::LARGE_BYTES) as f64);
    Some(long.minus(&large).minus(&copied))
}

fn piece(s: &Subject, steps: &Steps) -> Option<Figure> {
    let (of_eight, of_one) =
        if s.handling.lends { (steps::LENT_PIECES, steps::LENT) } else { (steps::GATHER, steps::TRANSMIT) };
    Some(steps.sender(of_eight)?.minus(&steps.sender(of_one)?).over((steps::PIECES - 1) as f64))
}

/// By byte: on this path whatever has to be done with lent pages is done for each of them.
fn lent_byte(_: &Subject, steps: &Steps) -> Option<Figure> {
    let (large, small) = (steps.sender(steps::LENT_LARGE)?, steps.sender(steps::LENT)?);
    Some(large.minus(&small).over((steps::LARGE_BYTES - steps::SMALL_BYTES) as f64))
}

/// What each small segment costs beside the call that takes it, which in the step takes several.
fn taken_segment(steps: &Steps) -> Option<Figure> {
    let (many, one) = (steps.receiver(steps::TRANSMIT)?, steps.receiver(steps::SINGLE)?);
    Some(many.minus(&one).over(calls_of(steps::TRANSMIT)? - 1.0))
}

/// A call that takes a new segment and answers with an acknowledgement, less the segment.
pub fn acknowledged_call(steps: &Steps) -> Option<Figure> {
    Some(steps.receiver(steps::SINGLE)?.minus(&taken_segment(steps)?))
}

/// What each call more costs for the same bytes; runs of before this step lack it.
fn further_receive(steps: &Steps) -> Option<Figure> {
    let calls = TAKEN / steps::SIP_BYTES as f64;
    let many = steps.receiver(steps::SIPS)?.times(calls);
    Some(many.minus(&steps.receiver(steps::LARGE)?).over(calls - 1.0))
}

/// The copy reads another core's caches. Lent bytes lie in pages that the orphan copy has just filled, and that are given back.
fn copy_out(s: &Subject, steps: &Steps) -> Option<Figure> {
    if s.handling.lends {
        let (large, small) = (steps.receiver(steps::LENT_LARGE)?, steps.receiver(steps::LENT)?);
        // Runs of before that step lent once a turn.
        let taken = if steps.sleeps(steps::CAUGHT_UP).is_some() { TAKEN } else { steps::LARGE_BYTES as f64 };
        return Some(large.minus(&small).over(taken - steps::SMALL_BYTES as f64));
    }
    Some(steps.receiver(steps::LARGE)?.minus(&steps.receiver(steps::DROPPED)?).over(TAKEN))
}

/// Times that each side slept until the other one, asleep itself, was woken and did its part.
fn alternations(s: &Subject) -> Count {
    let fewer = if s.sleeps.n < s.sender_sleeps.n { &s.sleeps } else { &s.sender_sleeps };
    fewer.clone()
}

/// Of one side's sleeps those that the other did not sleep before.
fn alone(s: &Subject, sleeps: &Count) -> Count {
    sleeps.with(sleeps.n - alternations(s).n)
}

/// What each side pays for sleeping once and for waking the other once: its part of an exchange less the two calls. Runs of
/// before this step lack it.
fn alternating(steps: &Steps, part: Option<Figure>) -> Option<Figure> {
    let Some(part) = part else {
        return Some(waking(steps)?.plus(&sleeping(steps)?));
    };
    Some(part.minus(&steps.sender(steps::SINGLE)?.plus(&steps.receiver(steps::SINGLE)?)))
}

/// What the side that wakes another pays: what each wake adds to calls whose receiver takes all in one.
pub fn waking(steps: &Steps) -> Option<Figure> {
    let Some(sleeps) = steps.sleeps(steps::CAUGHT_UP) else {
        return Some(steps.sender(steps::WAKE)?.minus(&steps.sender(steps::SINGLE)?));
    };
    let more = steps.sender(steps::CAUGHT_UP)?.minus(&steps.sender(steps::TRANSMIT)?);
    more.times(calls_of(steps::CAUGHT_UP)?).per(&sleeps)
}

/// What the side that sleeps pays: what is left of a turn's receive calls without their segments.
pub fn sleeping(steps: &Steps) -> Option<Figure> {
    let Some(sleeps) = steps.sleeps(steps::CAUGHT_UP) else {
        return Some(steps.receiver(steps::WAKE)?.minus(&steps.receiver(steps::SINGLE)?));
    };
    let more = steps.receiver(steps::CAUGHT_UP)?.minus(&acknowledged_call(steps)?);
    let segments = taken_segment(steps)?.times(calls_of(steps::CAUGHT_UP)?);
    more.by(&steps.receive_calls(steps::CAUGHT_UP)?).minus(&segments).per(&sleeps)
}
