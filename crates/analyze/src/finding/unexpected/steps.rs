//! Steps between neighbours: two cases that differ in one axis of numbers, by the next value that was run.
//!
//! A figure that gets worse where more should not make it so is compared as anything else: over all steps
//! together, CPU time by the slices of each block. Kinds read the comparisons and choose what they call a surprise.

use super::{FoundSurprise, Looked, StepChange, Surprise, SurpriseSeen, SurprisingPlace};
use crate::CellRef;
use crate::answer::ComparisonRef;
use crate::cells::metric;
use crate::compare::comparisons::{Comparison, claims};
use crate::compare::family::Family;
use crate::compare::study::ALONG;
use crate::finding::{AskedPair, Evidence};
use std::collections::{BTreeMap, HashMap};
use syscost_core::axis::Point;
use syscost_core::sample::Metric;
use syscost_core::stats::Estimate;
use syscost_measure::probe;
use syscost_measure::probe::tcp_latency::axes::RATE;
use syscost_measure::probe::transfer::axes::THREADS;

/// What more of something should not make worse, or, for a cost per message, cheaper.
#[derive(Clone, Copy)]
struct Expected {
    metric: &'static str,
    /// Is the surprise that the figure of the upper end is the better one?
    better_is_odd: bool,
}

/// Steps along one axis that are a surprise.
pub struct SurprisingSteps {
    axis: &'static str,
    /// The first is that of a figure that gets worse, the last that of one that gets better.
    kinds: &'static [Surprise],
    expected: &'static [Expected],
    /// The cases that are looked at.
    of: fn(&Point) -> bool,
}

const PER_BYTE: &str = "total_cpu_ns_per_byte";
const PER_MESSAGE: &str = "total_cpu_ns_per_message";

/// What a larger message should not do: move bytes worse, or cost less than a smaller one.
const LARGER: &[Expected] = &[
    Expected { metric: "throughput", better_is_odd: false },
    Expected { metric: PER_BYTE, better_is_odd: false },
    Expected { metric: PER_MESSAGE, better_is_odd: true },
];

/// From one size to the next, where a larger message should move bytes at least as well, and cost no less outright.
pub const SIZES: SurprisingSteps = SurprisingSteps {
    axis: ALONG.id,
    kinds: &[Surprise::LargerIsWorse, Surprise::LargerIsCheaper],
    expected: LARGER,
    of: |_| true,
};

/// From one number of threads to the next, where a round trip should take no less time. An open loop gives each of more
/// threads less to do.
pub const THREAD_COUNTS: SurprisingSteps = SurprisingSteps {
    axis: THREADS.id,
    kinds: &[Surprise::MoreThreadsAreFaster],
    expected: &[Expected { metric: "latency_p50", better_is_odd: true }],
    of: |point| point.int(RATE).is_none(),
};

impl SurprisingSteps {
    /// Neighbours along the axis, equal in all else; twins left out.
    fn steps(&self, evidence: &Evidence<'_>) -> Vec<(usize, usize)> {
        let axis = self.axis;
        let mut lines: BTreeMap<(&str, Point), Vec<(u64, usize)>> = BTreeMap::new();
        let cases = evidence.run.record.plan.cases.iter();
        for case in cases.filter(|c| c.twin_of.is_none() && (self.of)(&c.point)) {
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

    /// Every step in every metric.
    fn asked(&self, evidence: &Evidence<'_>, known: &[(Expected, Metric)]) -> Vec<AskedPair> {
        let steps = self.steps(evidence);
        known.iter().flat_map(|(_, m)| steps.iter().map(|(a, b)| (m.id, *a, *b))).collect()
    }

    pub(super) fn look(&self, evidence: &Evidence<'_>) -> Looked {
        let known = known(evidence, self.expected);
        let asked = self.asked(evidence, &known);
        let claims = claims(evidence.run, evidence.cells, &asked);
        let found = odd(&known, &claims).iter().filter_map(|step| self.found(evidence, step)).collect();
        let compared = Some(Family::of_pairs(&format!("steps of {}", self.axis), claims));
        Looked { kinds: self.kinds, at: figures(evidence, &asked), found, compared }
    }
}

/// A step at which the figure does what it should not.
struct Odd {
    metric: Metric,
    /// The lower and the upper end.
    ends: (usize, usize),
    /// Upper over lower.
    ratio: Estimate,
    strength: f64,
    better_is_odd: bool,
    row: ComparisonRef,
}

fn known(evidence: &Evidence<'_>, expected: &[Expected]) -> Vec<(Expected, Metric)> {
    expected.iter().filter_map(|e| Some((*e, metric(evidence.run, e.metric)?))).collect()
}

/// The figures of these pairs, where both ends have one.
fn figures(evidence: &Evidence<'_>, asked: &[AskedPair]) -> Vec<CellRef> {
    let mut figures: Vec<CellRef> = asked
        .iter()
        .map(|(metric, a, b)| [(*a, *metric), (*b, *metric)])
        .filter(|ends| ends.iter().all(|(case, metric)| evidence.cells.cell(*case, metric).is_some()))
        .flatten()
        .map(|(case, metric)| CellRef { case, metric })
        .collect();
    figures.sort();
    figures.dedup();
    figures
}

/// The steps that are significantly odd, strongest first; so are the figures of each.
fn odd(known: &[(Expected, Metric)], claims: &[Comparison]) -> Vec<Vec<Odd>> {
    let of = |claim: &Comparison| {
        let (expected, metric) = known.iter().find(|(_, m)| m.id == claim.metric)?;
        one(claim, *expected, *metric)
    };
    let mut odd: Vec<Odd> = claims.iter().filter_map(of).collect();
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
    steps
}

fn one(claim: &Comparison, expected: Expected, metric: Metric) -> Option<Odd> {
    let better = claim.better(metric.better)?;
    // The pair is (lower, upper).
    if (better == claim.b) != expected.better_is_odd {
        return None;
    }
    let ratio = claim.seen_from(claim.b);
    Some(Odd {
        metric,
        ends: (claim.a, claim.b),
        ratio,
        strength: claim.strength(),
        better_is_odd: expected.better_is_odd,
        row: claim.into(),
    })
}

impl SurprisingSteps {
    /// Tells whether a step is unexpected, and how.
    fn found(&self, evidence: &Evidence<'_>, step: &[Odd]) -> Option<FoundSurprise> {
        let strongest = step.first()?;
        let (lower, upper) = (evidence.run.case(strongest.ends.0)?, evidence.run.case(strongest.ends.1)?);
        let changes = step.iter().map(|odd| odd.change(evidence)).collect::<Option<Vec<_>>>()?;
        let first = changes.first()?;
        let shown = first.to / first.from;
        let seen = SurpriseSeen::Step {
            axis: self.axis,
            from: lower.point.int_at(self.axis)?,
            to: upper.point.int_at(self.axis)?,
            changes,
        };
        let of_step = step
            .iter()
            .flat_map(|odd| [lower.index, upper.index].map(|case| CellRef { case, metric: odd.metric.id }));
        Some(FoundSurprise {
            kind: if strongest.better_is_odd { *self.kinds.last()? } else { self.kinds[0] },
            factor: shown.max(1.0 / shown),
            place: SurprisingPlace::of(lower, lower.point.without(self.axis), seen),
            comparisons: step.iter().map(|odd| odd.row.clone()).collect(),
            cells: of_step.collect(),
        })
    }
}

impl Odd {
    fn change(&self, evidence: &Evidence<'_>) -> Option<StepChange> {
        let figure = |case: usize| Some(evidence.cells.estimate(case, self.metric.id)?.value);
        let (from, to) = (figure(self.ends.0)?, figure(self.ends.1)?);
        Some(StepChange { metric: self.metric.id, from, to, ratio: self.ratio })
    }
}
