//! What handing several messages to the kernel in one call changes, beside what choosing a mechanism changes.

use super::line::{GainAt, SizeLine, SizePlace, Way};
use crate::answer::{CellRef, ComparisonRef};
use crate::cells::Cells;
use crate::compare::study::RIVALS;
use serde::Serialize;
use syscost_core::decide::Verdict;
use syscost_core::sample::Better;
use syscost_measure::mechanism::{self, MESSAGES_PER_CALL};

/// What is known of batches.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchingAdvice {
    NotMeasured {
        command: String,
    },
    /// In ascending order.
    Measured(Vec<BatchingRange>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchingVerdict {
    /// The best batch is significantly better than the best of one message a call, by more than that is better than the
    /// worst mechanism.
    MattersMost,
    Helps,
    /// One message a call is significantly better.
    Costs,
    Same,
    Undecided,
}

/// Tested places in a row with the same answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BatchingRange {
    pub from: u64,
    pub to: u64,
    pub verdict: BatchingVerdict,
    /// Where it changes most: the best batch, and the best of one message a call.
    pub batched: Way,
    pub single: Way,
    pub gain: GainAt,
    pub comparisons: Vec<ComparisonRef>,
    pub cells: Vec<CellRef>,
}

impl BatchingAdvice {
    /// `None` where nothing that was measured could take several.
    pub fn of(cells: &Cells, line: &SizeLine<'_>) -> Option<BatchingAdvice> {
        let ways = || line.steps.iter().flat_map(|step| step.measured.iter().map(|measured| &measured.way));
        let takes = |way: &Way| {
            let about = way.text(RIVALS).and_then(mechanism::find).map(|mechanism| mechanism.about());
            let may =
                about.is_some_and(|about| about.axes.iter().any(|axis| axis.id == MESSAGES_PER_CALL.id));
            may || mechanism::per_call(way) > 1
        };
        if !ways().any(takes) {
            return None;
        }
        let found: Vec<BatchingRange> = line.steps.iter().filter_map(|step| at(cells, line, step)).collect();
        if found.is_empty() {
            let command = format!("syscost run --{} 1,8,64", MESSAGES_PER_CALL.flag);
            return Some(BatchingAdvice::NotMeasured { command });
        }
        let mut ranges: Vec<BatchingRange> = Vec::new();
        for one in found {
            match ranges.last_mut().filter(|last| last.verdict == one.verdict) {
                Some(last) => last.join(one),
                None => ranges.push(one),
            }
        }
        Some(BatchingAdvice::Measured(ranges))
    }
}

impl BatchingRange {
    fn join(&mut self, next: BatchingRange) {
        self.to = next.to;
        self.comparisons.extend(next.comparisons);
        self.cells.extend(next.cells);
        if next.gain.ratio.value.ln().abs() > self.gain.ratio.value.ln().abs() {
            (self.batched, self.single, self.gain) = (next.batched, next.single, next.gain);
        }
    }
}

/// The best batch at a place beside the best of one message a call; `None` where one of them is missing.
fn at(cells: &Cells, line: &SizeLine<'_>, step: &SizePlace) -> Option<BatchingRange> {
    let ways = || step.measured.iter().map(|measured| &measured.way);
    let batched = ways().find(|way| mechanism::per_call(way) > 1)?;
    let single = ways().find(|way| mechanism::per_call(way) == 1)?;
    let found = line.against(step, batched, single)?;
    // What choosing a mechanism changes without a batch, at most.
    let others =
        ways().filter(|way| mechanism::per_call(way) == 1 && way.text(RIVALS) != single.text(RIVALS));
    let chosen = others
        .filter_map(|other| line.against(step, single, other))
        .map(|found| found.ratio.value)
        .reduce(f64::max);
    let metric = line.study.comparisons.metric;
    let better = found.better.filter(|better| {
        let windows = by_windows(cells, metric.id, step, (batched, single));
        let rises = *better == (metric.better == Better::Higher);
        windows.is_none_or(|ratio| ratio == 1.0 || (ratio > 1.0) == rises)
    });
    let verdict = match (better, found.verdict) {
        (Some(true), _) if chosen.is_some_and(|chosen| found.ratio.value > chosen) => {
            BatchingVerdict::MattersMost
        }
        (Some(true), _) => BatchingVerdict::Helps,
        (Some(false), _) => BatchingVerdict::Costs,
        (None, Verdict::Same) => BatchingVerdict::Same,
        _ => BatchingVerdict::Undecided,
    };
    let cases = step.cases(batched).chain(step.cases(single));
    Some(BatchingRange {
        from: step.at,
        to: step.at,
        verdict,
        batched: batched.clone(),
        single: single.clone(),
        gain: GainAt { at: step.at, ratio: found.ratio },
        comparisons: vec![found.row],
        cells: cases.map(|case| CellRef { case, metric: metric.id }).collect(),
    })
}

/// Batched over single in a steady stream, which batches are for: a slice of one large batch is one call on empty queues,
/// and advice that the windows deny is none.
fn by_windows(cells: &Cells, metric: &str, step: &SizePlace, (batched, single): (&Way, &Way)) -> Option<f64> {
    let figures = |way: &Way| -> Vec<f64> {
        step.cases(way).filter_map(|case| Some(cells.steady(case, metric)?.estimate.value)).collect()
    };
    let (batched, single) = (figures(batched), figures(single));
    let ratio = batched.iter().product::<f64>() / single.iter().product::<f64>();
    (!single.is_empty() && batched.len() == single.len()).then_some(ratio)
}
