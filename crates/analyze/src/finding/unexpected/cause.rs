//! The most likely cause of a surprise, by what was counted in the same cells; or that the data show none.
//!
//! A counter supports a cause when it is higher where the figure is worse, in round after round (a signed-rank
//! test between two cells, a rank-sum test between the rounds of one, corrected for the counters asked), by
//! half as much again at least, and when that many more events could cost a tenth of what was lost even by a
//! generous price of each. Samples that the harness marked as disturbed come last. This is evidence, not proof.

use crate::CellRef;
use crate::cells::{Cell, metric};
use crate::finding::Evidence;
use crate::words::{self, and};
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::stats::{holm, median, rank_sum_p, signed_rank};
use syscost_core::units::{Unit, significant};
use syscost_measure::probe::transfer::axes::{MESSAGE_BYTES, THREADS};

/// Said where no counter changes with the figure.
pub const NONE: &str = "cause not shown by the data";

/// A counter that may explain: its metric, what one event may cost at most, and what is counted.
struct Candidate {
    metric: &'static str,
    most_ns: f64,
    says: &'static str,
}

const fn c(metric: &'static str, most_ns: f64, says: &'static str) -> Candidate {
    Candidate { metric, most_ns, says }
}

/// Likeliest first, where two change by the same factor. Prices: the least retransmission timeout, a time
/// slice, a sleep with its wake-up on an idle CPU, an access to memory, a call with all its work.
const CANDIDATES: &[Candidate] = &[
    c("retransmits", 200e6, "segments are retransmitted"),
    c("enobufs_per_message", 1e6, "the kernel refuses for want of buffers (ENOBUFS)"),
    c("copied_fraction", f64::INFINITY, "completions are flagged copied"),
    c("sender_involuntary_switches_per_message", 4e6, "the sender is preempted"),
    c("receiver_involuntary_switches_per_message", 4e6, "the receiver is preempted"),
    c("sender_voluntary_switches_per_message", 1e5, "the sender sleeps"),
    c("receiver_voluntary_switches_per_message", 1e5, "the receiver sleeps"),
    c("llc_misses_per_message", 300.0, "the last-level cache misses"),
    c("cache_misses_per_message", 300.0, "the caches miss"),
    c("sender_system_calls_per_message", 2e4, "the sender calls the kernel"),
    c("receiver_system_calls_per_message", 2e4, "the receiver calls the kernel"),
];

/// How much more often an event must be seen where the figure is worse.
const FACTOR: f64 = 1.5;
/// By how much a share must be larger there.
const SHARE: f64 = 0.1;
/// Part of what was lost that the events must be able to cost.
const PART: f64 = 0.1;
/// Factors beyond this (from none at all) count as this.
const LARGEST: f64 = 1e6;
/// Where a cause lies that divides the rounds of one cell.
const SLOWER: &str = "in the slower rounds";
/// Causes that a sentence names.
const NAMED: usize = 2;

/// What events are counted over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Of {
    Byte,
    Message,
}

pub struct Cause {
    /// Completes "From 1 KiB to 4 KiB the throughput falls; ".
    pub text: String,
    pub cells: Vec<CellRef>,
}

/// A counter that passed.
struct Supported {
    candidate: &'static Candidate,
    unit: Unit,
    worse: f64,
    better: f64,
    /// Factor per byte or message; for a share, that of the shares.
    factor: f64,
    p: f64,
}

/// Why one cell is worse than its neighbour; `at` says where it lies (`at 4 KiB`).
pub fn between(evidence: &Evidence<'_>, (worse, better): (usize, usize), of: Of, at: &str) -> Cause {
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
        let (worse, better) = (x.estimate.value, y.estimate.value);
        rises.then_some(Supported { candidate, unit, worse, better, factor, p: test.p })
    };
    let supported = CANDIDATES.iter().filter_map(judge).collect();
    let per = if of == Of::Byte { " per byte" } else { "" };
    let told = told(evidence, supported, (at, per), &[worse, better]);
    let marked = |case: usize| Marked::of(evidence, case, |_| true);
    told.or_else(|| disturbed((marked(worse), at), (marked(better), "of its neighbour"))).unwrap_or_else(none)
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
        let p = rank_sum_p(&worse, &better);
        Some(Supported { candidate, unit, worse: a, better: b, factor, p })
    };
    let supported = CANDIDATES.iter().filter_map(judge).collect();
    let marked = |of_slow: bool| {
        Marked::of(evidence, case, |round| all.contains(&round) && slow.contains(&round) == of_slow)
    };
    told(evidence, supported, (SLOWER, ""), &[case])
        .or_else(|| disturbed((marked(true), SLOWER), (marked(false), "in the other rounds")))
        .unwrap_or_else(none)
}

fn none() -> Cause {
    Cause { text: NONE.into(), cells: Vec::new() }
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
fn told(
    evidence: &Evidence<'_>,
    supported: Vec<Supported>,
    (at, per): (&str, &str),
    cases: &[usize],
) -> Option<Cause> {
    let alpha = 1.0 - evidence.run.record.spec.confidence;
    let adjusted = holm(&supported.iter().map(|s| s.p).collect::<Vec<_>>());
    let mut kept: Vec<Supported> =
        supported.into_iter().zip(adjusted).filter(|(_, p)| *p < alpha).map(|(s, _)| s).collect();
    kept.sort_by(|a, b| b.factor.total_cmp(&a.factor));
    kept.truncate(NAMED);
    if kept.is_empty() {
        return None;
    }
    let say = |s: &Supported| {
        let figures = [s.worse, s.better]
            .map(|v| if s.unit == Unit::Ratio { words::percent(v) } else { significant(v) });
        let over = match s.unit {
            Unit::Ratio => "",
            _ if s.candidate.metric.ends_with("_per_message") => " per message",
            _ => " per sample",
        };
        let times = if s.unit == Unit::Ratio || s.factor >= LARGEST {
            String::new()
        } else {
            format!(", {} times as often{per}", significant(s.factor))
        };
        format!("{} ({}{over} against {}{times})", s.candidate.says, figures[0], figures[1])
    };
    let text = format!("most likely because {at} {}", and(&kept.iter().map(say).collect::<Vec<_>>()));
    let cells = kept
        .iter()
        .flat_map(|s| cases.iter().map(|case| CellRef { case: *case, metric: s.candidate.metric }))
        .collect();
    Some(Cause { text, cells })
}

/// Samples of some rounds of a case.
struct Marked {
    all: usize,
    marked: usize,
    marks: BTreeSet<String>,
}

impl Marked {
    fn of(evidence: &Evidence<'_>, case: usize, wanted: impl Fn(u32) -> bool) -> Marked {
        let samples = evidence.run.samples.of_case(case);
        let mut found = Marked { all: 0, marked: 0, marks: BTreeSet::new() };
        for sample in samples.iter().filter(|s| wanted(s.round) && !s.is_counting()) {
            found.all += 1;
            found.marked += usize::from(!sample.marks.is_empty());
            found.marks.extend(sample.marks.iter().cloned());
        }
        found
    }

    fn share(&self) -> f64 {
        if self.all == 0 { 0.0 } else { self.marked as f64 / self.all as f64 }
    }
}

/// Disturbed samples are not used, but tell of a disturbed machine.
fn disturbed((worse, at): (Marked, &str), (better, other): (Marked, &str)) -> Option<Cause> {
    if worse.share() < SHARE || worse.share() < 2.0 * better.share() {
        return None;
    }
    let text = format!(
        "most likely because the machine was disturbed {at} ({} of {} samples are marked {}, and {} of {} {other})",
        worse.marked,
        worse.all,
        and(&worse.marks.into_iter().collect::<Vec<_>>()),
        better.marked,
        better.all
    );
    Some(Cause { text, cells: Vec::new() })
}
