//! How a metric changes from the least to the most of something that is counted (threads, connections): for
//! findings that ask what more of it does.
//!
//! Every comparison is one that [`crate::compare`] answered.

use super::Evidence;
use super::pairs::refs;
use crate::Statement;
use crate::compare::family::Family;
use crate::compare::groups::{Group, Groups};
use crate::compare::{Comparison, Comparisons};
use crate::words::{Words, and, count};
use syscost_core::axis::Point;
use syscost_core::sample::Better;
use syscost_measure::probe::transfer::axes::MECHANISM;

/// What every line is judged by.
pub const SPEED: &str = "throughput";

/// What there is more of.
pub struct Along {
    pub axis: &'static str,
    /// `threads`
    pub plural: &'static str,
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

    /// Cases that differ in nothing else and have a figure, in ascending order.
    pub fn lines(&self, evidence: &Evidence<'_>, groups: &Groups) -> Vec<Vec<usize>> {
        let at = |case: &usize| evidence.run.case(*case).and_then(|c| c.point.int_at(self.axis));
        let line = |group: &Group| {
            let mut cases = group.members.clone();
            cases.retain(|case| at(case).is_some() && evidence.cells.cell(*case, SPEED).is_some());
            cases.sort_by_key(at);
            (cases.len() > 1).then_some(cases)
        };
        groups.groups.iter().filter_map(line).collect()
    }

    /// Every comparison of these metrics.
    pub fn compared(&self, evidence: &Evidence<'_>, metrics: &[&str]) -> Vec<Family<'static>> {
        let groups = Groups::of(evidence.run, self.axis);
        let all = metrics.iter().filter_map(|id| Comparisons::of(evidence.run, evidence.cells, &groups, id));
        all.map(Family::made).collect()
    }

    /// How these metrics change from the first to the last of each line, where that is significant; then those in which
    /// nothing is.
    pub fn changes<'l>(
        &self,
        evidence: &Evidence<'_>,
        groups: &Groups,
        metrics: &[&str],
        lines: impl Iterator<Item = &'l [usize]> + Clone,
    ) -> Vec<Statement> {
        let words = Words::of(evidence.run);
        let (mut statements, mut still, mut cells) = (Vec::new(), Vec::new(), Vec::new());
        for metric in metrics {
            let Some(all) = Comparisons::of(evidence.run, evidence.cells, groups, metric) else { continue };
            let ends = lines.clone().filter_map(|line| Some((*line.first()?, *line.last()?)));
            let compared: Vec<_> =
                ends.filter_map(|(few, many)| Some((few, many, all.between(few, many)?))).collect();
            let refs =
                refs(all.metric.id, compared.iter().flat_map(|(few, many, _)| [*few, *many]).collect());
            let parts = self.parts(evidence, &words, &compared);
            if !parts.is_empty() {
                let text = format!(
                    "With the most {} instead of the fewest, {}: of {}, {}; no significant difference at the others.",
                    self.plural,
                    all.metric.title,
                    count(compared.len(), "combination"),
                    parts.join("; ")
                );
                statements.push(Statement { text, cells: refs });
            } else if !compared.is_empty() {
                still.push(all.metric.title.to_string());
                cells.extend(refs);
            }
        }
        if !still.is_empty() {
            let text = format!(
                "Between the fewest and the most {} no difference is significant in {}.",
                self.plural,
                and(&still)
            );
            statements.push(Statement { text, cells });
        }
        statements
    }

    /// Where it is significantly more with the most, and where less: the largest of each.
    fn parts(
        &self,
        evidence: &Evidence<'_>,
        words: &Words,
        compared: &[(usize, usize, &Comparison)],
    ) -> Vec<String> {
        let part = |word: &str, fewest_is_less: bool| {
            let less = |(few, many, pair): &&(usize, usize, &Comparison)| {
                pair.better(Better::Lower) == Some(if fewest_is_less { *few } else { *many })
            };
            let found = compared.iter().filter(less);
            let (few, many, pair) = found.clone().max_by(|a, b| a.2.strength().total_cmp(&b.2.strength()))?;
            let figure = |case: usize| {
                evidence.cells.cell(case, pair.metric).map(|c| c.estimate.unit.format(c.estimate.value))
            };
            Some(format!(
                "{word} at {}, most of {}: {} instead of {} ({})",
                found.count(),
                self.named(words, &evidence.run.case(*many)?.point),
                figure(*many)?,
                figure(*few)?,
                words.interval(&pair.seen_from(*many))
            ))
        };
        [part("more", true), part("less", false)].into_iter().flatten().collect()
    }

    /// How many of its comparisons more rounds may decide.
    pub fn undecided(&self, all: &Comparisons) -> Option<String> {
        let open = all.pairs.iter().filter(|pair| pair.is_open()).count();
        (open > 0).then(|| {
            format!(
                "{open} of {} of numbers of {} are undecided",
                count(all.pairs.len(), "comparison"),
                self.plural
            )
        })
    }
}
