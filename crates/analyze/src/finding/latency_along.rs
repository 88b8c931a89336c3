//! How does latency change with threads, with the size of a message and with the rate? The first and the last value of
//! each line of cases are compared like rivals are; an open loop goes up to the last rate that it kept.
//!
//! All of them are one family, answered at once ([`claims`]).

use super::along::{Along, LargestChange};
use super::pairs::refs;
use super::{Answer, Evidence, Finding, Says, Shown};
use crate::answer::{AnswerVerdict, Caveat, ComparisonRef, Lack};
use crate::compare::comparisons::{Comparison, claims};
use crate::compare::family::Family;
use crate::compare::groups::{Group, Groups};
use crate::compare::study::ALONG as SIZE;
use crate::latency::{Distribution, RANKED};
use serde::Serialize;
use std::collections::HashMap;
use syscost_core::decide::Verdict;
use syscost_measure::probe::tcp_latency::axes::RATE;
use syscost_measure::probe::transfer::axes::THREADS;

pub struct LatencyAlong;

const AXES: [&str; 3] = [THREADS.id, SIZE.id, RATE.id];

/// One metric from the first to the last value of an axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LatencyChange {
    pub axis: &'static str,
    pub metric: &'static str,
    /// The least and the most that were compared.
    pub from: u64,
    pub to: u64,
    /// Places at which the two were compared.
    pub places: usize,
    /// Where it is significantly higher with the last value, and where lower.
    pub higher: Option<ChangedRange>,
    pub lower: Option<ChangedRange>,
    /// Places at which it is the same.
    pub same: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangedRange {
    pub places: usize,
    pub least: LargestChange,
    pub most: LargestChange,
}

/// The axis, and the cases with its first and its last value.
type LineEnds = (&'static str, usize, usize);

/// The ends of each line of cases that differ in the axis alone and kept up with their rate.
fn ends(evidence: &Evidence<'_>) -> Vec<LineEnds> {
    let steady = |case: &&usize| evidence.latency.cases.get(*case).is_some_and(Distribution::is_steady);
    let of_axis = |axis: &'static str| {
        let ends = move |group: &Group| {
            let mut members = group.members.iter().filter(steady).copied();
            Some((axis, members.next()?, members.next_back()?))
        };
        Groups::of(evidence.run, axis).groups.iter().filter_map(ends).collect::<Vec<LineEnds>>()
    };
    AXES.into_iter().flat_map(of_axis).collect()
}

/// Every pair of ends that has an answer, with its axis.
fn compared(evidence: &Evidence<'_>) -> Vec<(&'static str, Comparison)> {
    let ends = ends(evidence);
    let axis: HashMap<(usize, usize), &str> = ends.iter().map(|(axis, a, b)| ((*a, *b), *axis)).collect();
    let asked: Vec<(&str, usize, usize)> = RANKED
        .iter()
        .flat_map(|metric| ends.iter().map(|(_, first, last)| (*metric, *first, *last)))
        .collect();
    let answered = claims(evidence.run, evidence.cells, &asked);
    answered.into_iter().filter_map(|pair| Some((*axis.get(&(pair.a, pair.b))?, pair))).collect()
}

fn shown(
    evidence: &Evidence<'_>,
    (axis, metric): (&'static str, &'static str),
    pairs: &[&Comparison],
) -> Option<Shown> {
    let with = |verdict: Verdict| pairs.iter().filter(move |pair| pair.decision.verdict == verdict);
    let change = |pair: &&Comparison| Along(axis).change(evidence, (pair.a, pair.b, pair));
    // A comparison is of the first over the last.
    let range = |verdict: Verdict| {
        let by_strength = |a: &&&Comparison, b: &&&Comparison| a.strength().total_cmp(&b.strength());
        Some(ChangedRange {
            places: with(verdict).count(),
            least: change(with(verdict).min_by(by_strength)?)?,
            most: change(with(verdict).max_by(by_strength)?)?,
        })
    };
    let at = |case: usize| evidence.run.case(case)?.point.int_at(axis);
    let says = LatencyChange {
        axis,
        metric,
        from: pairs.iter().filter_map(|pair| at(pair.a)).min()?,
        to: pairs.iter().filter_map(|pair| at(pair.b)).max()?,
        places: pairs.len(),
        higher: range(Verdict::Less),
        lower: range(Verdict::More),
        same: with(Verdict::Same).count(),
    };
    let cells = refs(metric, pairs.iter().flat_map(|pair| [pair.a, pair.b]).collect());
    let rows = pairs.iter().map(|pair| ComparisonRef::from(*pair)).collect();
    Some(Shown::comparing(Says::Latency(says), rows, cells))
}

/// How large the largest change is, on the log scale.
fn strength(shown: &Shown) -> f64 {
    let Says::Latency(change) = &shown.says else { return 0.0 };
    let most = [&change.higher, &change.lower].into_iter().flatten().map(|range| &range.most.ratio);
    most.map(|ratio| ratio.value.ln().abs()).fold(0.0, f64::max)
}

impl Finding for LatencyAlong {
    fn id(&self) -> &'static str {
        "latency"
    }

    fn asked(&self, evidence: &Evidence<'_>) -> bool {
        !ends(evidence).is_empty()
    }

    fn answered(&self, evidence: &Evidence<'_>) -> Answer {
        let compared = compared(evidence);
        let keys = AXES.into_iter().flat_map(|axis| RANKED.map(|metric| (axis, metric)));
        let of = |(axis, metric): (&'static str, &'static str)| {
            let own = compared.iter().filter(|(of, pair)| *of == axis && pair.metric == metric);
            shown(evidence, (axis, metric), &own.map(|(_, pair)| pair).collect::<Vec<_>>())
        };
        let mut shown: Vec<Shown> = keys.filter_map(of).collect();
        shown.sort_by(|a, b| strength(b).total_cmp(&strength(a)));
        if shown.is_empty() {
            return Answer::not_measured(self.id(), Lack::ComparableFigures, "syscost run latency");
        }
        let open = compared.iter().filter(|(_, pair)| pair.is_open()).count();
        let same = compared.iter().filter(|(_, pair)| pair.decision.verdict == Verdict::Same).count();
        let verdict = AnswerVerdict::at(compared.len() - open - same, compared.len()).or_open(open > 0);
        let open = Caveat::open(open, compared.len());
        Answer::found(self.id(), verdict, shown, open.into_iter().collect())
    }

    fn compared(&self, evidence: &Evidence<'_>) -> Vec<Family<'static>> {
        let all: Vec<Comparison> = compared(evidence).into_iter().map(|(_, pair)| pair).collect();
        let of_metric = |metric: &&str| {
            let own: Vec<Comparison> = all.iter().filter(|pair| pair.metric == *metric).cloned().collect();
            (!own.is_empty()).then(|| Family::of_pairs(self.id(), own))
        };
        RANKED.iter().filter_map(of_metric).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::tests::run;
    use crate::whole::Analysis;
    use syscost_experiment::run::Run;

    fn answer(run: &Run) -> Answer {
        let analysis = Analysis::of(run);
        let evidence = analysis.evidence(run);
        assert!(LatencyAlong.asked(&evidence));
        LatencyAlong.answered(&evidence)
    }

    fn changes(answer: &Answer) -> Vec<&LatencyChange> {
        let change = |shown: &'_ Shown| matches!(shown.says, Says::Latency(_));
        assert!(answer.shown.iter().all(change));
        let says = answer.shown.iter().map(|shown| &shown.says);
        says.filter_map(|says| if let Says::Latency(change) = says { Some(change) } else { None }).collect()
    }

    /// Three times the latency at 40,000 a second of the first way, and at 20,000 of the second, which goes no further.
    #[test]
    fn a_planted_rise_is_found_up_to_the_last_rate_that_was_kept() {
        let mut run = run(10);
        for sample in run.samples.iter_mut().filter(|sample| [2, 4].contains(&sample.case)) {
            let times = sample.histogram.take().unwrap();
            let slower: Vec<String> =
                times.buckets().iter().map(|(ns, n)| format!("{}:{n}", 3 * ns)).collect();
            sample.histogram = Some(slower.join(" ").parse().unwrap());
        }
        let answer = answer(&run);
        assert_eq!(answer.verdict, AnswerVerdict::Yes);
        let found = changes(&answer);
        assert_eq!(found.iter().map(|c| c.axis).collect::<Vec<_>>(), [RATE.id; 2], "nothing else varies");
        for change in found {
            assert_eq!((change.from, change.to, change.places, change.same), (10_000, 40_000, 2, 0));
            assert_eq!(change.lower, None);
            let higher = change.higher.as_ref().unwrap();
            assert_eq!((higher.places, higher.least.ratio.value.round()), (2, 3.0), "{higher:?}");
            assert!(
                higher.most.ratio.low < 3.1 && higher.most.ratio.high > 2.9 && higher.most.ratio.level > 0.95
            );
        }
        assert!(answer.shown.iter().all(|shown| shown.comparisons.len() == 2 && shown.cells.len() == 4));
    }

    #[test]
    fn where_nothing_changes_nothing_is_told_to() {
        let answer = answer(&run(10));
        assert_eq!(answer.verdict, AnswerVerdict::No);
        assert!(
            changes(&answer).iter().all(|change| change.same == 2 && change.higher.is_none()),
            "{answer:?}"
        );
    }

    #[test]
    fn it_is_not_asked_of_a_run_without_latencies() {
        let run = crate::synthetic::Synthetic::default().run();
        assert!(!LatencyAlong.asked(&Analysis::of(&run).evidence(&run)));
    }
}
