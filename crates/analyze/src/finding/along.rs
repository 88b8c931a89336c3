//! How a metric changes from the least to the most of something that is counted (threads, connections): for
//! findings that ask what more of it does.
//!
//! It claims nothing: every comparison is one that [`crate::compare`] judged.

use super::Evidence;
use super::pairs::refs;
use crate::compare::{Comparison, Comparisons};
use crate::words::{Words, and, count};
use crate::{CellRef, Statement};
use syscost_core::axis::Point;
use syscost_core::sample::Better;
use syscost_measure::probe::transfer::axes::MECHANISM;

/// What there is more of.
pub struct Along {
    pub axis: &'static str,
    /// `threads`
    pub plural: &'static str,
}

/// What more of it does to a metric.
pub enum Change {
    Claimed(Statement),
    /// Nothing that is claimed: the metric, and what was compared.
    None(&'static str, Vec<CellRef>),
}

impl Along {
    /// `sendmsg at 64 KiB over veth`
    pub fn named(&self, words: &Words, point: &Point) -> String {
        let name = point.text(MECHANISM).unwrap_or_default();
        let mut known = words.constant();
        known.extend([self.axis, "mechanism"]);
        let place = words.place(point, &known);
        match (name.is_empty(), place.is_empty()) {
            (true, _) => place,
            (false, true) => name.to_string(),
            (false, false) => format!("{name} at {place}"),
        }
    }

    /// How a metric changes between these pairs of cases, the one with the fewest first, where that is claimed.
    pub fn change(
        &self,
        evidence: &Evidence<'_>,
        words: &Words,
        ends: impl Iterator<Item = (usize, usize)>,
        all: &Comparisons,
    ) -> Option<Change> {
        let compared: Vec<_> =
            ends.filter_map(|(few, many)| Some((few, many, all.between(few, many)?))).collect();
        let less = |case: usize, pair: &Comparison| pair.better(Better::Lower) == Some(case);
        let more: Vec<_> = compared.iter().filter(|(few, _, pair)| less(*few, pair)).collect();
        let fewer: Vec<_> = compared.iter().filter(|(_, many, pair)| less(*many, pair)).collect();
        if compared.is_empty() {
            return None;
        }
        let mut parts = Vec::new();
        for (found, word) in [(&more, "more"), (&fewer, "less")] {
            let Some((few, many, pair)) =
                found.iter().max_by(|a, b| a.2.strength().total_cmp(&b.2.strength()))
            else {
                continue;
            };
            let ratio = pair.seen_from(*many);
            let figure = |case: usize| {
                evidence.cells.cell(case, all.metric.id).map(|c| c.estimate.unit.format(c.estimate.value))
            };
            parts.push(format!(
                "{word} at {}, most of {}: {} instead of {} ({})",
                found.len(),
                self.named(words, &evidence.run.case(*many)?.point),
                figure(*many)?,
                figure(*few)?,
                words.interval(&ratio)
            ));
        }
        let cases = compared.iter().flat_map(|(few, many, _)| [*few, *many]).collect();
        let cells = refs(all.metric.id, cases);
        if parts.is_empty() {
            return Some(Change::None(all.metric.title, cells));
        }
        let text = format!(
            "With the most {} instead of the fewest, {}: of {}, {}; no difference is claimed at the others.",
            self.plural,
            all.metric.title,
            count(compared.len(), "combination"),
            parts.join("; ")
        );
        Some(Change::Claimed(Statement { text, cells }))
    }

    /// The metrics in which nothing is claimed, in one sentence.
    pub fn unchanged(&self, still: Vec<(&'static str, Vec<CellRef>)>) -> Option<Statement> {
        if still.is_empty() {
            return None;
        }
        let titles: Vec<String> = still.iter().map(|(title, _)| (*title).to_string()).collect();
        let text = format!(
            "No difference between the fewest and the most {} is claimed in {}.",
            self.plural,
            and(&titles)
        );
        Some(Statement { text, cells: still.into_iter().flat_map(|(_, cells)| cells).collect() })
    }
}
