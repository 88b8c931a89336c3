//! How does latency change with threads, with the size of a message and with the rate? Every pair of values of a line of
//! cases is compared like rivals are; an open loop goes up to the last rate that it kept.
//!
//! A round trip may fall and rise again along one axis (a second thread keeps a CPU awake, eight share it), so the ends of a
//! line alone could say that nothing changes. What is told is the span over which it rises most, and the one over which it
//! falls most. All pairs of all lines are one family, answered at once ([`claims`]), so the choice needs no test of its own.

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
use std::collections::{BTreeSet, HashMap};
use syscost_core::decide::Verdict;
use syscost_measure::probe::tcp_latency::axes::RATE;
use syscost_measure::probe::transfer::axes::THREADS;

pub struct LatencyAlong;

const AXES: [&str; 3] = [THREADS.id, SIZE.id, RATE.id];
/// A change by this much is the first thing that a reader sees of a plot.
const STRIKING: f64 = 2.0;

/// One metric from a smaller to a larger value of an axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LatencyChange {
    pub axis: &'static str,
    pub metric: &'static str,
    /// Are these round trips of closed loops alone?
    pub round_trips: bool,
    /// The least and the most that were compared.
    pub from: u64,
    pub to: u64,
    /// Places at which the two were compared.
    pub places: usize,
    /// Where it is significantly higher with the larger value, and where lower.
    pub higher: Option<ChangedRange>,
    pub lower: Option<ChangedRange>,
    /// Places at which it is the same.
    pub same: usize,
    /// All of them, in the order of the plan.
    pub each: Vec<LatencyPlace>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChangedRange {
    pub places: usize,
    pub least: LargestChange,
    pub most: LargestChange,
}

/// One way at one place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LatencyPlace {
    pub change: LargestChange,
    /// The verdict is on the smaller value over the larger one.
    pub verdict: Verdict,
}

impl LatencyChange {
    /// By how many times it changes at most.
    pub fn most(&self) -> f64 {
        let most = [&self.higher, &self.lower].into_iter().flatten().map(|range| &range.most.ratio);
        most.map(|ratio| ratio.value.ln().abs()).fold(0.0, f64::max).exp()
    }
}

/// Cases that differ in the axis alone and kept up with their rate, by its ascending values.
struct LatencyLine {
    axis: &'static str,
    cases: Vec<(u64, usize)>,
}

impl LatencyLine {
    /// The first and the last case of a span, which a line that ends inside of it has too.
    fn ends(&self, (from, to): (u64, u64)) -> Option<(usize, usize)> {
        let mut inside = self.cases.iter().filter(|(at, _)| (from..=to).contains(at)).map(|(_, case)| *case);
        Some((inside.next()?, inside.next_back()?))
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let later = |(at, few): (usize, &'_ (u64, usize))| {
            let few = few.1;
            self.cases[at + 1..].iter().map(move |many| (few, many.1))
        };
        self.cases.iter().enumerate().flat_map(later)
    }
}

fn lines(evidence: &Evidence<'_>) -> Vec<LatencyLine> {
    let steady = |case: &&usize| evidence.latency.cases.get(*case).is_some_and(Distribution::is_steady);
    let of_axis = |axis: &'static str| {
        let value = |case: &usize| Some((evidence.run.case(*case)?.point.int_at(axis)?, *case));
        let line = |group: &Group| {
            let mut cases: Vec<_> = group.members.iter().filter(steady).filter_map(value).collect();
            cases.sort_unstable();
            (cases.len() > 1).then_some(LatencyLine { axis, cases })
        };
        Groups::of(evidence.run, axis).groups.iter().filter_map(line).collect::<Vec<LatencyLine>>()
    };
    AXES.into_iter().flat_map(of_axis).collect()
}

/// Every pair of every line that has an answer.
fn compared(evidence: &Evidence<'_>, lines: &[LatencyLine]) -> Vec<Comparison> {
    let pairs = || lines.iter().flat_map(LatencyLine::pairs);
    let asked: Vec<(&str, usize, usize)> =
        RANKED.iter().flat_map(|metric| pairs().map(|(first, last)| (*metric, first, last))).collect();
    claims(evidence.run, evidence.cells, &asked)
}

/// The comparisons of one metric along one axis, and where they are told from.
struct ChangeView<'a> {
    evidence: &'a Evidence<'a>,
    axis: &'static str,
    metric: &'static str,
    lines: Vec<&'a LatencyLine>,
    answered: HashMap<(usize, usize), &'a Comparison>,
}

impl<'a> ChangeView<'a> {
    fn pairs(&self, span: (u64, u64)) -> Vec<&'a Comparison> {
        self.lines.iter().filter_map(|line| self.answered.get(&line.ends(span)?).copied()).collect()
    }

    /// The sum of significant rises in a span, on the log scale over all of its lines; it is below 0 where they fall.
    fn rise(&self, span: (u64, u64)) -> f64 {
        let rise = |pair: &&Comparison| match pair.decision.verdict {
            Verdict::Less => pair.strength(),
            Verdict::More => -pair.strength(),
            Verdict::Same | Verdict::Undecided => 0.0,
        };
        self.pairs(span).iter().map(rise).sum()
    }

    /// The span of the largest change, and that of the largest one the other way which has no step in common with it; where
    /// nothing changes, all of it.
    fn spans(&self) -> Vec<(u64, u64)> {
        let values: BTreeSet<u64> =
            self.lines.iter().flat_map(|line| line.cases.iter().map(|c| c.0)).collect();
        let later = |from: &u64| values.range(from + 1..).map(|to| (*from, *to)).collect::<Vec<_>>();
        let mut spans: Vec<((u64, u64), f64)> =
            values.iter().flat_map(later).map(|span| (span, self.rise(span))).collect();
        // The widest comes first among equal ones, because it says most.
        let width = |(from, to): (u64, u64)| values.range(from..to).count();
        spans.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(width(b.0).cmp(&width(a.0))));
        let Some(&(first, rise)) = spans.first() else { return Vec::new() };
        let other =
            |(span, own): &&((u64, u64), f64)| own * rise < 0.0 && (span.1 <= first.0 || span.0 >= first.1);
        [first].into_iter().chain(spans.iter().find(other).map(|(span, _)| *span)).collect()
    }

    fn shown(&self, span: (u64, u64)) -> Option<Shown> {
        let (evidence, axis, pairs) = (self.evidence, self.axis, self.pairs(span));
        let with = |verdict: Verdict| pairs.iter().filter(move |pair| pair.decision.verdict == verdict);
        let change = |pair: &Comparison| Along(axis).change(evidence, (pair.a, pair.b, pair));
        // A comparison is of the smaller value over the larger one.
        let range = |verdict: Verdict| {
            let by_strength = |a: &&&Comparison, b: &&&Comparison| a.strength().total_cmp(&b.strength());
            Some(ChangedRange {
                places: with(verdict).count(),
                least: change(with(verdict).min_by(by_strength)?)?,
                most: change(with(verdict).max_by(by_strength)?)?,
            })
        };
        let each = pairs
            .iter()
            .filter_map(|pair| Some(LatencyPlace { change: change(pair)?, verdict: pair.decision.verdict }));
        let each: Vec<LatencyPlace> = each.collect();
        let says = LatencyChange {
            axis,
            metric: self.metric,
            round_trips: each.iter().all(|one| axis != RATE.id && one.change.place.int(RATE).is_none()),
            from: each.iter().map(|one| one.change.from).min()?,
            to: each.iter().map(|one| one.change.to).max()?,
            places: pairs.len(),
            higher: range(Verdict::Less),
            lower: range(Verdict::More),
            same: with(Verdict::Same).count(),
            each,
        };
        let cells = refs(self.metric, pairs.iter().flat_map(|pair| [pair.a, pair.b]).collect());
        let rows = pairs.iter().map(|pair| ComparisonRef::from(*pair)).collect();
        Some(Shown::comparing(Says::Latency(says), rows, cells))
    }
}

fn told(evidence: &Evidence<'_>, lines: &[LatencyLine], compared: &[Comparison]) -> Vec<Shown> {
    let keys = AXES.into_iter().flat_map(|axis| RANKED.map(|metric| (axis, metric)));
    let of = |(axis, metric): (&'static str, &'static str)| {
        let own = compared.iter().filter(|pair| pair.metric == metric);
        let answered = own.map(|pair| ((pair.a, pair.b), pair)).collect();
        let lines = lines.iter().filter(|line| line.axis == axis).collect();
        let view = ChangeView { evidence, axis, metric, lines, answered };
        view.spans().into_iter().filter_map(|span| view.shown(span)).collect::<Vec<Shown>>()
    };
    let mut shown: Vec<Shown> = keys.flat_map(of).collect();
    shown.sort_by(|a, b| {
        let ((share, sum), (other_share, other)) = (strength(a), strength(b));
        other_share.total_cmp(&share).then(other.total_cmp(&sum))
    });
    shown
}

/// At which share of places it significantly changes, and by how much there, on the log scale: a median that rises everywhere
/// is told before a tail that rises more at some places.
fn strength(shown: &Shown) -> (f64, f64) {
    let Says::Latency(change) = &shown.says else { return (0.0, 0.0) };
    let told = |one: &&LatencyPlace| matches!(one.verdict, Verdict::Less | Verdict::More);
    let logs: Vec<f64> =
        change.each.iter().filter(told).map(|one| one.change.ratio.value.ln().abs()).collect();
    (logs.len() as f64 / change.places as f64, logs.iter().sum())
}

/// The first that is told of latency, where nobody could overlook it.
pub fn striking(evidence: &Evidence<'_>) -> Option<LatencyChange> {
    let lines = lines(evidence);
    let first = told(evidence, &lines, &compared(evidence, &lines)).into_iter().next()?;
    let Says::Latency(change) = first.says else { return None };
    (change.most() >= STRIKING).then_some(change)
}

impl Finding for LatencyAlong {
    fn id(&self) -> &'static str {
        "latency"
    }

    fn asked(&self, evidence: &Evidence<'_>) -> bool {
        !lines(evidence).is_empty()
    }

    fn answered(&self, evidence: &Evidence<'_>) -> Answer {
        let lines = lines(evidence);
        let compared = compared(evidence, &lines);
        let shown = told(evidence, &lines, &compared);
        let of_metric = |metric: &&str| {
            let own: Vec<Comparison> =
                compared.iter().filter(|pair| pair.metric == *metric).cloned().collect();
            (!own.is_empty()).then(|| Family::of_pairs(self.id(), own))
        };
        let families = RANKED.iter().filter_map(of_metric).collect();
        if shown.is_empty() {
            let command = "syscost run latency";
            return Answer::not_measured(self.id(), Lack::ComparableFigures, command).comparing(families);
        }
        // Of the spans that are told.
        let places = || {
            let says = shown.iter().map(|shown| &shown.says);
            says.filter_map(|says| if let Says::Latency(change) = says { Some(&change.each) } else { None })
                .flatten()
        };
        let count = |verdict: Verdict| places().filter(|place| place.verdict == verdict).count();
        let (open, same, all) = (count(Verdict::Undecided), count(Verdict::Same), places().count());
        let verdict = AnswerVerdict::at(all - open - same, all).or_open(open > 0);
        let open = Caveat::open(open, all);
        Answer::found(self.id(), verdict, shown, open.into_iter().collect()).comparing(families)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latency::tests::{closed, run};
    use crate::whole::Analysis;
    use syscost_core::axis::Point;
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

    /// A second thread keeps the CPUs awake; eight share them. It was said of neither: the ends alone hardly differ.
    fn falls_and_rises(point: &Point) -> f64 {
        let threads = point.int(THREADS).unwrap();
        let shared = [(1, 1.0), (2, 0.6), (4, 0.9), (8, 1.9)].into_iter().find(|(at, _)| *at == threads);
        20_000.0 * shared.unwrap().1 * (if point.int(SIZE) == Some(65536) { 1.5 } else { 1.0 })
    }

    #[test]
    fn a_fall_and_a_rise_along_threads_are_two_spans() {
        let run = closed(10, (1, 0.05), falls_and_rises);
        let answer = answer(&run);
        let of = |axis: &str| {
            changes(&answer)
                .into_iter()
                .filter(|c| c.axis == axis && c.metric == "latency_p50")
                .collect::<Vec<_>>()
        };
        let threads = of(THREADS.id);
        let [rise, fall] = threads[..] else { panic!("{threads:?}") };
        assert_eq!((rise.from, rise.to, rise.places, &rise.lower), (2, 8, 6, &None));
        assert_eq!((fall.from, fall.to, fall.places, &fall.higher), (1, 2, 6, &None));
        assert!(rise.round_trips && rise.each.iter().all(|one| one.verdict == Verdict::Less));
        for (change, truth) in [(rise, 1.9 / 0.6), (fall, 0.6)] {
            let ratios = change.each.iter().map(|one| one.change.ratio);
            assert!(
                ratios.clone().count() == 6 && ratios.into_iter().all(|r| r.low < truth && truth < r.high)
            );
        }
        let [size] = of(SIZE.id)[..] else { panic!("sizes rise everywhere") };
        assert_eq!(
            (size.from, size.to, size.places, size.higher.as_ref().unwrap().places),
            (1024, 65536, 12, 12)
        );
        let most = striking(&Analysis::of(&run).evidence(&run)).expect("three times as long");
        assert_eq!((most.axis, most.from, most.to), (THREADS.id, 2, 8));
        assert_eq!(striking(&Analysis::of(&closed(10, (1, 0.05), |_| 2e4)).evidence(&run)), None);
    }

    /// Of equal cases every pair is asked, and the largest is told: none may be told of in more runs than were allowed.
    #[test]
    fn equal_round_trips_are_rarely_told_apart() {
        let runs = 60;
        let told = |seed: &u64| {
            let answer = answer(&closed(8, (*seed, 0.08), |_| 2e4));
            changes(&answer).iter().any(|change| change.higher.is_some() || change.lower.is_some())
        };
        let erred = (0..runs).filter(told).count();
        assert!(erred <= 6, "{erred} of {runs} runs");
    }

    #[test]
    fn it_is_not_asked_of_a_run_without_latencies() {
        let run = crate::synthetic::Synthetic::default().run();
        assert!(!LatencyAlong.asked(&Analysis::of(&run).evidence(&run)));
    }
}
