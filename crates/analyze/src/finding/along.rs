//! How metrics change from the least to the most of something that is counted (threads, connections): for
//! findings that ask what more of it does.
//!
//! Every comparison is one that [`crate::compare`] answered.

use super::Evidence;
use super::pairs::refs;
use crate::answer::{Caveat, CellRef, ComparisonRef};
use crate::compare::family::Family;
use crate::compare::groups::{Group, Groups};
use crate::compare::{Comparison, Comparisons};
use serde::Serialize;
use std::collections::BTreeSet;
use syscost_core::axis::Point;
use syscost_core::sample::Better;
use syscost_core::stats::Estimate;

/// What every line is judged by.
pub const SPEED: &str = "throughput";

/// What there is more of: the id of an axis.
pub struct Along(pub &'static str);

/// The most of something beside the fewest of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AlongChanges {
    pub axis: &'static str,
    /// That were measured.
    pub values: Vec<u64>,
    pub changes: Vec<MetricChange>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricChange {
    pub metric: &'static str,
    /// Places at which the two were compared.
    pub places: usize,
    /// Where it is significantly more with the most, and where less.
    pub more: Option<ChangedPlaces>,
    pub less: Option<ChangedPlaces>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangedPlaces {
    pub places: usize,
    pub largest: LargestChange,
}

/// A value of the axis beside a smaller one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LargestChange {
    pub from: u64,
    pub to: u64,
    /// Of the figure with the larger value over the other.
    pub ratio: Estimate,
    /// Without the axis.
    pub place: Point,
}

/// A case, one with more of it, and their comparison.
pub type FewAndMany<'c> = (usize, usize, &'c Comparison);

impl Along {
    /// Cases that differ in nothing else and have a figure, in ascending order.
    pub fn lines(&self, evidence: &Evidence<'_>, groups: &Groups) -> Vec<Vec<usize>> {
        let at = |case: &usize| evidence.run.case(*case).and_then(|c| c.point.int_at(self.0));
        let line = |group: &Group| {
            let mut cases = group.members.clone();
            cases.retain(|case| at(case).is_some() && evidence.cells.cell(*case, SPEED).is_some());
            cases.sort_by_key(at);
            (cases.len() > 1).then_some(cases)
        };
        groups.groups.iter().filter_map(line).collect()
    }

    /// How these metrics change from the first to the last of each line, and what was compared for it.
    pub fn changes(
        &self,
        evidence: &Evidence<'_>,
        groups: &Groups,
        metrics: &[&str],
        lines: &[Vec<usize>],
    ) -> (AlongChanges, Vec<ComparisonRef>, Vec<CellRef>, Vec<Family<'static>>) {
        let groups = &ends(groups);
        let at = |case: &usize| evidence.run.case(*case)?.point.int_at(self.0);
        let values: BTreeSet<u64> = lines.iter().flatten().filter_map(at).collect();
        let (mut changes, mut comparisons, mut cells) = (Vec::new(), Vec::new(), Vec::<CellRef>::new());
        let of_metric = |id: &&str| Comparisons::of(evidence.run, evidence.cells, groups, id);
        let all: Vec<Comparisons> = metrics.iter().filter_map(of_metric).collect();
        for all in &all {
            let ends = lines.iter().filter_map(|line| Some((*line.first()?, *line.last()?)));
            let compared: Vec<FewAndMany<'_>> =
                ends.filter_map(|(few, many)| Some((few, many, all.between(few, many)?))).collect();
            if compared.is_empty() {
                continue;
            }
            cells.extend(refs(
                all.metric.id,
                compared.iter().flat_map(|(few, many, _)| [*few, *many]).collect(),
            ));
            comparisons.extend(compared.iter().map(|(.., pair)| ComparisonRef::from(*pair)));
            let less_is = |which: fn(FewAndMany<'_>) -> usize| {
                let found = |one: &FewAndMany<'_>| one.2.better(Better::Lower) == Some(which(*one));
                self.changed(evidence, compared.iter().copied().filter(found).collect())
            };
            changes.push(MetricChange {
                metric: all.metric.id,
                places: compared.len(),
                more: less_is(|(few, ..)| few),
                less: less_is(|(_, many, _)| many),
            });
        }
        let changes = AlongChanges { axis: self.0, values: values.into_iter().collect(), changes };
        (changes, comparisons, cells, all.into_iter().map(Family::made).collect())
    }

    /// How many there are, and the largest.
    fn changed(&self, evidence: &Evidence<'_>, found: Vec<FewAndMany<'_>>) -> Option<ChangedPlaces> {
        Some(ChangedPlaces { places: found.len(), largest: self.largest(evidence, found.into_iter())? })
    }

    pub fn largest<'c>(
        &self,
        evidence: &Evidence<'_>,
        found: impl Iterator<Item = FewAndMany<'c>>,
    ) -> Option<LargestChange> {
        self.change(evidence, found.max_by(|a, b| a.2.strength().total_cmp(&b.2.strength()))?)
    }

    /// One pair of them.
    pub fn change(
        &self,
        evidence: &Evidence<'_>,
        (few, many, pair): FewAndMany<'_>,
    ) -> Option<LargestChange> {
        let point = |case: usize| evidence.run.case(case).map(|case| &case.point);
        Some(LargestChange {
            from: point(few)?.int_at(self.0)?,
            to: point(many)?.int_at(self.0)?,
            ratio: pair.seen_from(many),
            place: point(many)?.without(self.0),
        })
    }

    /// Whether more rounds may decide some of its comparisons.
    pub fn open(all: &Comparisons) -> Option<Caveat> {
        let open = all.pairs.iter().filter(|pair| pair.is_open()).count();
        Caveat::open(open, all.pairs.len())
    }
}

/// The fewest and the most of each group alone: what changes between them is one question.
fn ends(groups: &Groups) -> Groups {
    let mut groups = groups.clone();
    for group in &mut groups.groups {
        if let [first, .., last] = group.members[..] {
            group.members = vec![first, last];
        }
    }
    groups
}
