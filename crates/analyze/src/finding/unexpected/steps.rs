//! Steps between neighbours: two cases that differ in one axis of numbers, by the next value that was run.
//!
//! A figure that gets worse where more should not make it so is compared as anything else: over all steps
//! together. Kinds read the comparisons and choose what they call a surprise.

use super::cause::{self, Of};
use super::{Looked, SurpriseKind};
use crate::cells::metric;
use crate::compare::comparisons::{Comparison, claims};
use crate::compare::family::Family;
use crate::compare::study::{ALONG, RIVALS};
use crate::finding::Evidence;
use crate::words::{self, Words, count};
use crate::{CellRef, Statement};
use std::collections::{BTreeMap, HashMap};
use syscost_core::axis::Point;
use syscost_core::sample::Metric;
use syscost_core::stats::Estimate;
use syscost_core::units::{confidence, significant};
use syscost_measure::probe;
use syscost_measure::probe::transfer::axes::THREADS;

/// Places that a statement about several names.
const PLACES: usize = 6;

/// What more of something should not make worse, or, for a cost per message, cheaper.
#[derive(Clone, Copy)]
struct Expected {
    metric: &'static str,
    /// Is the surprise that the figure of the upper end is the better one?
    better_is_odd: bool,
}

/// Steps along one axis that are a surprise of one kind.
pub struct SurprisingSteps {
    none: &'static str,
    axis: &'static str,
    expected: &'static [Expected],
    /// By which factors the figure changes.
    factors: (f64, f64),
}

/// A step of this factor is a cliff; below, it is a turn.
const CLIFF: f64 = 2.0;

/// What a larger message should not do: move bytes worse, or cost less than a smaller one.
const LARGER: &[Expected] = &[
    Expected { metric: "throughput", better_is_odd: false },
    Expected { metric: "total_cpu_ns_per_byte", better_is_odd: false },
    Expected { metric: "total_cpu_ns_per_message", better_is_odd: true },
];

/// From one size to the next a figure gets worse by a factor of two or more, where a larger message should move bytes
/// at least as well; or a larger message costs half as much outright.
pub const CLIFFS: SurprisingSteps = SurprisingSteps {
    none: "a cliff, which is a figure that gets worse twofold from one size to the next",
    axis: ALONG.id,
    expected: LARGER,
    factors: (CLIFF, f64::INFINITY),
};

/// Broken monotonicity: the same, by less.
pub const TURNS: SurprisingSteps = SurprisingSteps {
    none: "a smaller turn for the worse from one size to the next",
    factors: (1.0, CLIFF),
    ..CLIFFS
};

/// More connections should not move less together.
pub const SCALING: SurprisingSteps = SurprisingSteps {
    none: "throughput that falls as threads rise",
    axis: THREADS.id,
    expected: &[Expected { metric: "throughput", better_is_odd: false }],
    factors: (1.0, f64::INFINITY),
};

impl SurprisingSteps {
    /// Every step that it looks at.
    pub fn compared(&self, evidence: &Evidence<'_>) -> Family<'static> {
        let asked = asked(evidence, self.axis, &known(evidence, self.expected));
        Family::of_pairs(&format!("steps of {}", self.axis), claims(evidence.run, evidence.cells, &asked))
    }
}

impl SurpriseKind for SurprisingSteps {
    fn none(&self) -> &'static str {
        self.none
    }

    fn look(&self, evidence: &Evidence<'_>) -> Looked {
        let (at, odd) = odd(evidence, self.axis, self.expected);
        let (from, to) = self.factors;
        let of_kind = |step: &&Vec<Odd>| (from.ln()..to.ln()).contains(&step[0].strength);
        let found = statements(evidence, self.axis, &odd.iter().filter(of_kind).collect::<Vec<_>>());
        let caveat = caveat(evidence, &at);
        Looked { at, found, caveat }
    }
}

/// A step at which the figure does what it should not.
struct Odd {
    metric: Metric,
    /// The lower and the upper end.
    ends: (usize, usize),
    /// The end that is worse by the metric, and the other.
    worse: usize,
    better: usize,
    /// Upper over lower.
    ratio: Estimate,
    strength: f64,
}

/// Neighbours along an axis, equal in all else; twins left out.
fn steps(evidence: &Evidence<'_>, axis: &str) -> Vec<(usize, usize)> {
    let mut lines: BTreeMap<(&str, Point), Vec<(u64, usize)>> = BTreeMap::new();
    for case in evidence.run.record.plan.cases.iter().filter(|c| c.twin_of.is_none()) {
        let Some(at) = case.point.int_at(axis) else { continue };
        if probe::find(&case.probe).is_some_and(|p| p.compared()) {
            lines.entry((&case.probe, case.point.without(axis))).or_default().push((at, case.index));
        }
    }
    let mut steps = Vec::new();
    for line in lines.values_mut() {
        line.sort_unstable();
        steps.extend(line.windows(2).map(|pair| (pair[0].1, pair[1].1)));
    }
    steps
}

fn known(evidence: &Evidence<'_>, expected: &[Expected]) -> Vec<(Expected, Metric)> {
    expected.iter().filter_map(|e| Some((*e, metric(evidence.run, e.metric)?))).collect()
}

/// Every step in every metric.
fn asked(
    evidence: &Evidence<'_>,
    axis: &str,
    known: &[(Expected, Metric)],
) -> Vec<(&'static str, usize, usize)> {
    let steps = steps(evidence, axis);
    known.iter().flat_map(|(_, m)| steps.iter().map(|(a, b)| (m.id, *a, *b))).collect()
}

/// The figures that were looked at, and the steps that are significantly odd, strongest first; so are the figures of
/// each.
fn odd(evidence: &Evidence<'_>, axis: &str, expected: &[Expected]) -> (Vec<CellRef>, Vec<Vec<Odd>>) {
    let (run, cells) = (evidence.run, evidence.cells);
    let known = known(evidence, expected);
    let asked = asked(evidence, axis, &known);
    let mut looked: Vec<CellRef> = asked
        .iter()
        .flat_map(|(metric, a, b)| [(*a, *metric), (*b, *metric)])
        .filter(|(case, metric)| cells.cell(*case, metric).is_some())
        .map(|(case, metric)| CellRef { case, metric })
        .collect();
    looked.sort();
    looked.dedup();
    let mut odd: Vec<Odd> = claims(run, cells, &asked)
        .into_iter()
        .filter_map(|claim| {
            let (expected, metric) = known.iter().find(|(_, m)| m.id == claim.metric)?;
            one(&claim, *expected, *metric)
        })
        .collect();
    odd.sort_by(|a, b| b.strength.total_cmp(&a.strength));
    let mut steps: Vec<Vec<Odd>> = Vec::new();
    let mut places: HashMap<(usize, usize), usize> = HashMap::new();
    for one in odd {
        let place = *places.entry(one.ends).or_insert(steps.len());
        if place == steps.len() {
            steps.push(Vec::new());
        }
        steps[place].push(one);
    }
    (looked, steps)
}

fn one(claim: &Comparison, expected: Expected, metric: Metric) -> Option<Odd> {
    let better = claim.better(metric.better)?;
    // The pair is (lower, upper).
    if (better == claim.b) != expected.better_is_odd {
        return None;
    }
    let worse = if better == claim.a { claim.b } else { claim.a };
    let ratio = claim.seen_from(claim.b);
    Some(Odd { metric, ends: (claim.a, claim.b), worse, better, ratio, strength: claim.strength() })
}

/// What is odd at some steps, and why: `From 256 B to 1 KiB the throughput of sendmsg with 1 thread over veth falls 3.1
/// times ...; most likely because at 1 KiB ...`. Steps that differ only in their place are one statement.
fn statements(evidence: &Evidence<'_>, axis: &str, odd: &[&Vec<Odd>]) -> Vec<Statement> {
    let words = Words::of(evidence.run);
    let mut told: Vec<ToldSteps> = Vec::new();
    let mut places: HashMap<Alike, usize> = HashMap::new();
    for step in odd {
        let Some((alike, new)) = told_of(evidence, &words, axis, step) else { continue };
        let place = *places.entry(alike).or_insert(told.len());
        match told.get_mut(place) {
            Some(same) => {
                same.also.push(new.place);
                same.cells.extend(new.cells);
            }
            None => told.push(new),
        }
    }
    told.into_iter().map(ToldSteps::statement).collect()
}

/// What steps that are alike share: ends, who, metrics, and the counters of the cause.
type Alike = (String, Vec<&'static str>, Vec<&'static str>);

/// The strongest of steps that are alike, and where the others are.
struct ToldSteps {
    text: String,
    place: String,
    also: Vec<String>,
    cells: Vec<CellRef>,
}

impl ToldSteps {
    fn statement(self) -> Statement {
        let mut text = self.text;
        if !self.also.is_empty() {
            let named: Vec<String> = self.also.iter().take(PLACES).cloned().collect();
            let rest = self.also.len() - named.len();
            let more = if rest > 0 { format!(" and {}", count(rest, "place more")) } else { String::new() };
            text += &format!(" So it does, less steeply, {}{more}.", named.join("; "));
        }
        Statement { text, cells: self.cells }
    }
}

fn told_of(evidence: &Evidence<'_>, words: &Words, axis: &str, step: &[Odd]) -> Option<(Alike, ToldSteps)> {
    let strongest = step.first()?;
    let ends = strongest.ends;
    let (lower, upper) = (evidence.run.case(ends.0)?, evidence.run.case(ends.1)?);
    let end = |point: &Point| point.get(axis).map(|v| words.value(axis, v));
    let who = lower.point.text(RIVALS).map(|m| format!(" of {m}")).unwrap_or_default();
    let (joined, thing) = if axis == THREADS.id { ("at", " threads") } else { ("with", "") };
    let place = format!("{joined} {}", words.place(&lower.point, &[RIVALS.id, axis]));
    let mut parts = Vec::new();
    for (i, odd) in step.iter().enumerate() {
        let title = odd.metric.title;
        let subject = if i == 0 { format!("the {title}{who} {place}") } else { format!("its {title}") };
        parts.push(format!("{subject} {}", odd.change(evidence, words)?));
    }
    let worse = end(&evidence.run.case(strongest.worse)?.point)?;
    let at = if axis == THREADS.id { format!("with {worse} threads") } else { format!("at {worse}") };
    let cause = cause::between(evidence, (strongest.worse, strongest.better), strongest.of(), &at);
    let from = format!("From {} to {}{thing}", end(&lower.point)?, end(&upper.point)?);
    let text = format!("{from} {}; {}.", words::and(&parts), cause.text);
    let metrics: Vec<&'static str> = step.iter().map(|odd| odd.metric.id).collect();
    let counters = cause.cells.iter().map(|cell| cell.metric).collect();
    let of_step = metrics.iter().flat_map(|metric| [ends.0, ends.1].map(|case| CellRef { case, metric }));
    let cells = of_step.chain(cause.cells).collect();
    Some(((from + &who, metrics, counters), ToldSteps { text, place, also: Vec::new(), cells }))
}

impl Odd {
    /// `falls 3.46 times, from 2.43 Gbit/s to 702 Mbit/s (95 % interval of the ratio 0.286 to 0.294, 12 rounds)`
    fn change(&self, evidence: &Evidence<'_>, words: &Words) -> Option<String> {
        let figure = |case: usize| evidence.cells.cell(case, self.metric.id).map(|c| c.estimate.value);
        let (from, to) = (figure(self.ends.0)?, figure(self.ends.1)?);
        let down = self.ratio.value < 1.0;
        let factor = if down { 1.0 / self.ratio.value } else { self.ratio.value };
        let by = if factor >= 2.0 {
            format!("{} times", significant(factor))
        } else {
            format!("by {}", words::percent((self.ratio.value - 1.0).abs()))
        };
        Some(format!(
            "{} {by}, from {} to {} ({})",
            if down { "falls" } else { "rises" },
            words::figure(from, self.metric.unit),
            words::figure(to, self.metric.unit),
            words.interval(&self.ratio)
        ))
    }

    /// What one counted event is held against: a byte, where the step is judged by bytes.
    fn of(&self) -> Of {
        if self.metric.id.ends_with("_per_message") { Of::Message } else { Of::Byte }
    }
}

/// The caveat that goes with steps.
fn caveat(evidence: &Evidence<'_>, looked: &[CellRef]) -> Option<String> {
    (!looked.is_empty()).then(|| {
        format!(
            "a step between neighbours is told only where it is significant among all steps of its kind at {} confidence; a \
             cause is a counter of the same cells that changes with it by enough to make the difference, which is no \
             proof.",
            confidence(evidence.run.record.spec.confidence)
        )
    })
}
