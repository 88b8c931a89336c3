//! What is unexpected: one visible list of kinds.
//!
//! A surprise is a significant difference (see [`crate::compare`]) or a problem that was found before. Surprises of one
//! kind are one phenomenon. Figures far from a prediction by more than a factor of two are told by
//! [`crate::operations::accuracy`].

use super::latency_along::{LatencyChange, striking};
use super::{Evidence, Finding};
use crate::CellRef;
use crate::answer::{AnswerVerdict, Caveat, ComparisonRef, Lack};
use crate::compare::family::Family;
use crate::finding::{Answer, Says, Shown};
use crate::grouped::grouped;
use serde::Serialize;
use syscost_core::axis::Point;
use syscost_core::stats::Estimate;
use syscost_experiment::plan::Case;

mod outliers;
mod steps;
mod two_levels;

/// Surprises of one kind, or kinds that were looked for in vain.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unforeseen {
    Phenomenon {
        kind: Surprise,
        /// By how many times the figures are off: the least and the most.
        factors: (f64, f64),
        /// Strongest first.
        places: Vec<SurprisingPlace>,
    },
    NotFound {
        /// And the figures that were looked at.
        kinds: Vec<(Surprise, usize)>,
        /// How latency changes, where that is large: nobody should read that nothing stands out.
        #[serde(skip_serializing_if = "Option::is_none")]
        beside: Option<Box<LatencyChange>>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Surprise {
    /// A larger message moves bytes worse.
    LargerIsWorse,
    /// A larger message takes less CPU time outright.
    LargerIsCheaper,
    /// A round trip takes less time while more of them share the CPUs.
    MoreThreadsAreFaster,
    /// Sometimes fast and sometimes slow, so that the median describes neither.
    TwoLevels,
    /// Far off their account, where others are not.
    OffTheModel,
}

/// Where it was seen, and how.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SurprisingPlace {
    pub case: usize,
    pub probe: String,
    pub place: Point,
    pub seen: SurpriseSeen,
}

impl SurprisingPlace {
    fn of(case: &Case, place: Point, seen: SurpriseSeen) -> SurprisingPlace {
        SurprisingPlace { case: case.index, probe: case.probe.to_string(), place, seen }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SurpriseSeen {
    /// From `case` to its neighbour on an axis.
    Step {
        axis: &'static str,
        from: u64,
        to: u64,
        changes: Vec<StepChange>,
    },
    Levels {
        metric: &'static str,
        low: f64,
        high: f64,
        share_of_low: f64,
    },
    /// Nanoseconds per message, and what the median case costs over its account.
    Model {
        measured: f64,
        accounted: f64,
        typical: f64,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepChange {
    pub metric: &'static str,
    pub from: f64,
    pub to: f64,
    /// Of the figure with the larger value over the other.
    pub ratio: Estimate,
}

/// The figures that one search looked at, and the surprises that it found.
struct Looked {
    /// What was looked for.
    kinds: &'static [Surprise],
    /// The figures that were looked at.
    at: Vec<CellRef>,
    /// Strongest first.
    found: Vec<FoundSurprise>,
    /// The comparisons that the search made; `None`: it makes none.
    compared: Option<Family<'static>>,
}

impl Looked {
    /// What was looked for in vain, with the figures that were looked at.
    fn not_found(&self) -> Vec<(Surprise, usize)> {
        let in_vain =
            |kind: &&Surprise| !self.at.is_empty() && self.found.iter().all(|one| one.kind != **kind);
        self.kinds.iter().filter(in_vain).map(|kind| (*kind, self.at.len())).collect()
    }
}

struct FoundSurprise {
    kind: Surprise,
    factor: f64,
    place: SurprisingPlace,
    comparisons: Vec<ComparisonRef>,
    cells: Vec<CellRef>,
}

/// Every kind, in the order of the answer.
static KINDS: &[fn(&Evidence<'_>) -> Looked] =
    &[|all| steps::SIZES.look(all), |all| steps::THREAD_COUNTS.look(all), two_levels::look, outliers::look];

pub struct Unexpected;

impl Finding for Unexpected {
    fn id(&self) -> &'static str {
        "unexpected"
    }

    fn asked(&self, _: &Evidence<'_>) -> bool {
        true
    }

    fn answered(&self, evidence: &Evidence<'_>) -> Answer {
        let looked: Vec<Looked> = KINDS.iter().map(|look| look(evidence)).collect();
        if looked.iter().all(|l| l.at.is_empty()) {
            return Answer::not_measured(self.id(), Lack::ComparableFigures, "syscost run");
        }
        let caveats = caveats(&looked);
        let kinds: Vec<(Surprise, usize)> = looked.iter().flat_map(Looked::not_found).collect();
        let not_found = (!kinds.is_empty()).then(|| {
            let empty = looked.iter().filter(|l| !l.not_found().is_empty());
            let cells = empty.flat_map(|l| l.at.clone()).collect();
            let beside = striking(evidence).map(Box::new);
            Shown::of(Says::Unexpected(Unforeseen::NotFound { kinds, beside }), cells)
        });
        let (open, all) = comparisons(&looked);
        let compared = looked.iter().filter_map(|l| l.compared.clone()).collect();
        let mut shown = phenomena(looked.into_iter().flat_map(|l| l.found));
        let verdict = match shown.is_empty() {
            false => AnswerVerdict::Yes,
            // What was hardly decided was not found out to be absent.
            true if 2 * open > all => AnswerVerdict::Undecided,
            true => AnswerVerdict::No,
        };
        shown.extend(not_found);
        Answer::found(self.id(), verdict, shown, caveats).comparing(compared)
    }
}

/// How many comparisons are open, of all.
fn comparisons(looked: &[Looked]) -> (usize, usize) {
    let pairs = || looked.iter().filter_map(|l| l.compared.as_ref()).flat_map(|family| family.pairs.iter());
    (pairs().filter(|pair| pair.is_open()).count(), pairs().count())
}

fn caveats(looked: &[Looked]) -> Vec<Caveat> {
    let of = |kind: Surprise| looked.iter().find(|l| l.kinds.contains(&kind) && !l.at.is_empty());
    let levels = of(Surprise::TwoLevels).filter(|l| !l.found.is_empty());
    let levels = levels.map(|l| Caveat::LevelsCorrected { figures: l.at.len() });
    let (open, of) = comparisons(looked);
    let open = Caveat::open(open, of);
    levels.into_iter().chain(open).collect()
}

/// By kind, in the order of the strongest of each.
fn phenomena(found: impl Iterator<Item = FoundSurprise>) -> Vec<Shown> {
    let mut alike = grouped(found.map(|one| (one.kind, one)));
    alike.sort_by(|(_, a), (_, b)| b[0].factor.total_cmp(&a[0].factor));
    alike.into_iter().map(|(kind, found)| phenomenon(kind, found)).collect()
}

fn phenomenon(kind: Surprise, mut found: Vec<FoundSurprise>) -> Shown {
    found.sort_by(|a, b| b.factor.total_cmp(&a.factor));
    let factors = (found[found.len() - 1].factor, found[0].factor);
    let (mut places, mut rows, mut cells) = (Vec::new(), Vec::new(), Vec::new());
    for one in found {
        places.push(one.place);
        rows.extend(one.comparisons);
        cells.extend(one.cells);
    }
    Shown::comparing(Says::Unexpected(Unforeseen::Phenomenon { kind, factors, places }), rows, cells)
}

#[cfg(test)]
mod tests;
