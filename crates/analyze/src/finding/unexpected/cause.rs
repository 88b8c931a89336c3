//! The most likely cause of a surprise, by what was counted in the same cells; or that the data show none.
//!
//! A counter supports a cause when it is higher where the figure is worse, in round after round (a signed-rank
//! test between two cells, a rank-sum test between the rounds of one, corrected for the counters asked), by
//! half as much again at least, and when that many more events could cost a tenth of what was lost even by a
//! generous price of each. Samples that the harness marked as disturbed come last. This is evidence, not proof.

use crate::CellRef;
use crate::cells::{Cell, metric};
use crate::finding::Evidence;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::stats::{holm, median, rank_sum_p, signed_rank};
use syscost_core::units::Unit;
use syscost_measure::probe::transfer::axes::{MESSAGE_BYTES, THREADS};

/// What most likely makes a surprise.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbableCause {
    /// Events that are more frequent where the figure is worse, by the largest factors.
    Counters(Vec<CauseCounter>),
    /// More samples were marked there.
    Disturbed {
        worse: MarkedSamples,
        better: MarkedSamples,
    },
    NotShown,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CauseCounter {
    pub metric: &'static str,
    /// Its figure where it is worse, and in the neighbour or the other rounds.
    pub worse: f64,
    pub better: f64,
}

/// Samples of some rounds of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MarkedSamples {
    pub samples: usize,
    pub marked: usize,
    pub marks: BTreeSet<String>,
}

impl ProbableCause {
    /// The same counters, whatever they count.
    pub fn is_like(&self, other: &ProbableCause) -> bool {
        match (self, other) {
            (ProbableCause::Counters(ours), ProbableCause::Counters(theirs)) => {
                ours.iter().map(|c| c.metric).eq(theirs.iter().map(|c| c.metric))
            }
            (ours, theirs) => std::mem::discriminant(ours) == std::mem::discriminant(theirs),
        }
    }
}

/// A counter that may explain: its metric, and what one event may cost at most.
struct Candidate {
    metric: &'static str,
    most_ns: f64,
}

const fn c(metric: &'static str, most_ns: f64) -> Candidate {
    Candidate { metric, most_ns }
}

/// Likeliest first, where two change by the same factor. Prices: the least retransmission timeout, a time
/// slice, a sleep with its wake-up on an idle CPU, an access to memory, a call with all its work.
const CANDIDATES: &[Candidate] = &[
    c("retransmits", 200e6),
    c("enobufs_per_message", 1e6),
    c("copied_fraction", f64::INFINITY),
    c("sender_involuntary_switches_per_message", 4e6),
    c("receiver_involuntary_switches_per_message", 4e6),
    c("sender_voluntary_switches_per_message", 1e5),
    c("receiver_voluntary_switches_per_message", 1e5),
    c("llc_misses_per_message", 300.0),
    c("cache_misses_per_message", 300.0),
    c("sender_system_calls_per_message", 2e4),
    c("receiver_system_calls_per_message", 2e4),
];

/// How much more often an event must be seen where the figure is worse.
const FACTOR: f64 = 1.5;
/// By how much a share must be larger there.
const SHARE: f64 = 0.1;
/// Part of what was lost that the events must be able to cost.
const PART: f64 = 0.1;
/// Factors beyond this (from none at all) count as this.
const LARGEST: f64 = 1e6;
/// Counters that a cause has at most.
const NAMED: usize = 2;

/// What events are counted over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Of {
    Byte,
    Message,
}

pub struct Cause {
    pub of: ProbableCause,
    pub cells: Vec<CellRef>,
}

/// A counter that passed.
struct Supported {
    counter: CauseCounter,
    /// Per byte or message; for a share, that of the shares.
    factor: f64,
    p: f64,
}

/// Why one cell is worse than its neighbour.
pub fn between(evidence: &Evidence<'_>, (worse, better): (usize, usize), of: Of) -> Cause {
    let lost_ns = lost(evidence, worse, better, of);
    let scale = |case: usize, metric: &str| scale(evidence, case, metric, of);
    let judge = |candidate: &'static Candidate| {
        let unit = metric(evidence.run, candidate.metric)?.unit;
        let (x, y) =
            (evidence.cells.cell(worse, candidate.metric)?, evidence.cells.cell(better, candidate.metric)?);
        let (sx, sy) = (scale(worse, candidate.metric)?, scale(better, candidate.metric)?);
        let (a, b) = (x.estimate.value * sx, y.estimate.value * sy);
        let factor = material(candidate, unit, (a, b), lost_ns)?;
        let others: BTreeMap<u32, f64> = y.rounds.iter().collect();
        let differences: Vec<f64> =
            x.rounds.iter().filter_map(|(r, v)| Some(v * sx - others.get(&r)? * sy)).collect();
        let test = signed_rank(&differences);
        let rises = median(&differences).is_some_and(|d| d > 0.0);
        let counter =
            CauseCounter { metric: candidate.metric, worse: x.estimate.value, better: y.estimate.value };
        rises.then_some(Supported { counter, factor, p: test.p })
    };
    let supported = CANDIDATES.iter().filter_map(judge).collect();
    let marked = |case: usize| MarkedSamples::of(evidence, case, |_| true);
    counted(evidence, supported, &[worse, better]).unwrap_or_else(|| disturbed(marked(worse), marked(better)))
}

/// Why some rounds of a cell are slow, by so many nanoseconds a message where that is known.
pub fn within(
    evidence: &Evidence<'_>,
    case: usize,
    (slow, all): (&BTreeSet<u32>, &BTreeSet<u32>),
    lost_ns: Option<f64>,
) -> Cause {
    let parts = |cell: &Cell| -> (Vec<f64>, Vec<f64>) {
        let (mut worse, mut better) = (Vec::new(), Vec::new());
        for (round, value) in cell.rounds.iter().filter(|(round, _)| all.contains(round)) {
            if slow.contains(&round) { worse.push(value) } else { better.push(value) }
        }
        (worse, better)
    };
    let judge = |candidate: &'static Candidate| {
        let unit = metric(evidence.run, candidate.metric)?.unit;
        let (worse, better) = parts(evidence.cells.cell(case, candidate.metric)?);
        let (a, b) = (median(&worse)?, median(&better)?);
        let scale = scale(evidence, case, candidate.metric, Of::Message)?;
        let factor = material(candidate, unit, (a * scale, b * scale), lost_ns)?;
        let counter = CauseCounter { metric: candidate.metric, worse: a, better: b };
        Some(Supported { counter, factor, p: rank_sum_p(&worse, &better) })
    };
    let supported = CANDIDATES.iter().filter_map(judge).collect();
    let marked = |of_slow: bool| {
        MarkedSamples::of(evidence, case, |round| all.contains(&round) && slow.contains(&round) == of_slow)
    };
    counted(evidence, supported, &[case]).unwrap_or_else(|| disturbed(marked(true), marked(false)))
}

/// The factor by which it is more, if it is enough more and dear enough.
fn material(
    candidate: &Candidate,
    unit: Unit,
    (worse, better): (f64, f64),
    lost_ns: Option<f64>,
) -> Option<f64> {
    let factor = if better > 0.0 { (worse / better).min(LARGEST) } else { LARGEST };
    if unit == Unit::Ratio {
        return (worse - better >= SHARE).then_some(factor);
    }
    let dear = lost_ns.is_none_or(|lost| (worse - better) * candidate.most_ns >= PART * lost);
    (worse > better && factor >= FACTOR && dear).then_some(factor)
}

/// Nanoseconds per byte or message that the worse cell takes more, by the clock or by the CPU's: the larger.
fn lost(evidence: &Evidence<'_>, worse: usize, better: usize, of: Of) -> Option<f64> {
    let figure = |case: usize, metric: &str| Some(evidence.cells.cell(case, metric)?.estimate.value);
    let threads =
        |case: usize| evidence.run.case(case).and_then(|c| c.point.int(THREADS)).unwrap_or(1) as f64;
    let cpu = if of == Of::Byte { "total_cpu_ns_per_byte" } else { "total_cpu_ns_per_message" };
    let (rate, unit) = if of == Of::Byte { ("throughput", 8e9) } else { ("messages_per_second", 1e9) };
    let by_clock = |case: usize| Some(threads(case) * unit / figure(case, rate)?);
    let clock = by_clock(worse).zip(by_clock(better)).map(|(w, b)| w - b);
    let cpu = figure(worse, cpu).zip(figure(better, cpu)).map(|(w, b)| w - b);
    [clock, cpu].into_iter().flatten().filter(|lost| *lost > 0.0).reduce(f64::max)
}

/// What turns a counter's figure into one per byte or message. Counts of a whole sample are first divided by
/// what a sample moved.
fn scale(evidence: &Evidence<'_>, case: usize, counter: &str, of: Of) -> Option<f64> {
    let known = evidence.run.case(case)?;
    if metric(evidence.run, counter)?.unit == Unit::Ratio {
        return Some(1.0);
    }
    let bytes = known.point.int(MESSAGE_BYTES)? as f64;
    let per_message = if counter.ends_with("_per_message") {
        1.0
    } else {
        let rate = evidence.cells.cell(case, "messages_per_second")?.estimate.value;
        let samples = evidence.run.samples.of_case(case);
        let lengths: Vec<f64> = samples.iter().filter(|s| s.usable()).map(|s| s.elapsed_ns).collect();
        1e9 / (rate * median(&lengths)?)
    };
    Some(if of == Of::Byte { per_message / bytes } else { per_message })
}

/// The counters that stay significant among those that passed, the largest factors first.
fn counted(evidence: &Evidence<'_>, supported: Vec<Supported>, cases: &[usize]) -> Option<Cause> {
    let alpha = 1.0 - evidence.run.record.spec.confidence;
    let adjusted = holm(&supported.iter().map(|s| s.p).collect::<Vec<_>>());
    let mut kept: Vec<Supported> =
        supported.into_iter().zip(adjusted).filter(|(_, p)| *p < alpha).map(|(s, _)| s).collect();
    kept.sort_by(|a, b| b.factor.total_cmp(&a.factor));
    kept.truncate(NAMED);
    let of: Vec<CauseCounter> = kept.into_iter().map(|s| s.counter).collect();
    let cells =
        of.iter().flat_map(|c| cases.iter().map(|case| CellRef { case: *case, metric: c.metric })).collect();
    (!of.is_empty()).then_some(Cause { of: ProbableCause::Counters(of), cells })
}

impl MarkedSamples {
    fn of(evidence: &Evidence<'_>, case: usize, wanted: impl Fn(u32) -> bool) -> MarkedSamples {
        let samples = evidence.run.samples.of_case(case);
        let mut found = MarkedSamples { samples: 0, marked: 0, marks: BTreeSet::new() };
        for sample in samples.iter().filter(|s| wanted(s.round) && !s.is_counting()) {
            found.samples += 1;
            found.marked += usize::from(!sample.marks.is_empty());
            found.marks.extend(sample.marks.iter().cloned());
        }
        found
    }

    fn share(&self) -> f64 {
        if self.samples == 0 { 0.0 } else { self.marked as f64 / self.samples as f64 }
    }
}

/// Disturbed samples are not used, but tell of a disturbed machine.
fn disturbed(worse: MarkedSamples, better: MarkedSamples) -> Cause {
    let more = worse.share() >= SHARE && worse.share() >= 2.0 * better.share();
    let of = if more { ProbableCause::Disturbed { worse, better } } else { ProbableCause::NotShown };
    Cause { of, cells: Vec::new() }
}
