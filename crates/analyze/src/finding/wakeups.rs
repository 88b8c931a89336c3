//! Do wake-ups decide? A side that takes everything at once empties the queue and sleeps, and the other pays for
//! waking it: then throughput is decided by how often a side sleeps, whatever moves the bytes.
//!
//! Pairs that differ in the read size alone, and mechanisms beside the control. Said only where throughput is
//! significantly higher on the side that sleeps less, round after round (signed ranks, Holm over all that were looked
//! at), by half at least, and where a generous price of a sleep covers what was lost.

use super::pairs::refs;
use super::{Evidence, Finding};
use crate::answer::{AnswerVerdict, Caveat, CellRef, ComparisonRef, Lack};
use crate::compare::groups::Groups;
use crate::compare::study::RIVALS;
use crate::compare::{Comparison, Comparisons};
use crate::finding::{Answer, Says, Shown};
use crate::varied;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::axis::{Point, Value};
use syscost_core::sample::Better;
use syscost_core::stats::{Estimate, holm, signed_rank};
use syscost_measure::mechanism;
use syscost_measure::probe::transfer::axes::THREADS;
use syscost_measure::receiver::options::READ_BYTES;

pub struct WakeUps;

const SPEED: &str = "throughput";
const RATE: &str = "messages_per_second";
/// Sleeps per message of either side.
const SLEEPS: [&str; 2] =
    ["receiver_voluntary_switches_per_message", "sender_voluntary_switches_per_message"];
/// How much more often the slower one sleeps.
const FACTOR: f64 = 1.5;
/// A sleep with its wake-up on an idle CPU costs no more.
const DEAREST_NS: f64 = 1e5;

/// Axes whose values are compared: read sizes, and mechanisms beside the control.
const AXES: [&str; 2] = [READ_BYTES.id, RIVALS.id];

/// The pairs along one axis.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WakeupPairs {
    pub axis: &'static str,
    pub pairs: usize,
    /// Of those, significantly in throughput.
    pub differ: usize,
    pub undecided: usize,
    /// Of those that differ, where sleeps account for it.
    pub decided: usize,
    /// The largest difference of those.
    pub largest: Option<DecidedPair>,
}

/// A pair that wakeups decide.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DecidedPair {
    /// Their values of the axis.
    pub fast: Value,
    pub slow: Value,
    /// Without the axis.
    pub place: Point,
    /// Throughput, fast over slow.
    pub ratio: Estimate,
    /// Sleeps per message of one side, and how often both sleep.
    pub metric: &'static str,
    pub of_fast: f64,
    pub of_slow: f64,
    /// What a sleep has to cost to account for the difference.
    pub each_ns: f64,
}

impl Finding for WakeUps {
    fn id(&self) -> &'static str {
        "wake_ups"
    }

    fn asked(&self, evidence: &Evidence<'_>) -> bool {
        let varied = varied::axes(evidence.run);
        AXES.iter().any(|axis| varied.contains(*axis)) && evidence.cells.of_metric(SPEED).next().is_some()
    }

    fn answered(&self, evidence: &Evidence<'_>) -> Answer {
        let mut kinds: Vec<(WakeupPairs, Shown)> =
            AXES.iter().filter_map(|axis| pairs(evidence, axis)).collect();
        if kinds.is_empty() {
            let command = "syscost run transfer --read-bytes buffer,message";
            return Answer::not_measured(self.id(), Lack::SleepsBesideThroughput, command);
        }
        kinds.sort_by_key(|(pairs, _)| std::cmp::Reverse(pairs.decided));
        let sum = |of: fn(&WakeupPairs) -> usize| kinds.iter().map(|(pairs, _)| of(pairs)).sum::<usize>();
        let (differ, decided) = (sum(|pairs| pairs.differ), sum(|pairs| pairs.decided));
        let verdict = match AnswerVerdict::at(decided, differ) {
            AnswerVerdict::No if differ == 0 && sum(|pairs| pairs.undecided) > 0 => AnswerVerdict::Undecided,
            verdict => verdict,
        };
        let mut caveats = vec![Caveat::SleepsAreNoProof];
        if !varied::axes(evidence.run).contains(READ_BYTES.id) {
            caveats.push(Caveat::OneReadSize);
        }
        Answer::found(self.id(), verdict, kinds.into_iter().map(|(_, shown)| shown).collect(), caveats)
    }
}

/// A pair and the side whose sleeps may decide it.
struct SleepingPair<'c> {
    pair: &'c Comparison,
    fast: usize,
    slow: usize,
    sleeps: Sleeps,
}

/// Of one side of a pair.
struct Sleeps {
    metric: &'static str,
    of_fast: f64,
    of_slow: f64,
    each_ns: f64,
    p: f64,
}

/// `None`: nothing to compare.
fn pairs(evidence: &Evidence<'_>, axis: &'static str) -> Option<(WakeupPairs, Shown)> {
    let groups = Groups::of(evidence.run, axis);
    let all = Comparisons::of(evidence.run, evidence.cells, &groups, SPEED)?;
    let has_sleeps = |case: usize| SLEEPS.iter().any(|id| evidence.cells.cell(case, id).is_some());
    let control = |case: usize| evidence.run.case(case)?.point.text(RIVALS);
    let wanted = |a: usize, b: usize| {
        axis != RIVALS.id || [a, b].iter().any(|c| control(*c) == Some(mechanism::control().about().id))
    };
    let wanted = |pair: &&Comparison| wanted(pair.a, pair.b) && has_sleeps(pair.a) && has_sleeps(pair.b);
    let looked: Vec<&Comparison> = all.pairs.iter().filter(wanted).collect();
    let (differ, decided) = decided(evidence, &looked);
    let says = WakeupPairs {
        axis,
        pairs: looked.len(),
        differ,
        undecided: looked.iter().filter(|pair| pair.is_open()).count(),
        decided: decided.len(),
        largest: decided.first().and_then(|most| most.told(evidence, axis)),
    };
    let told: Vec<&Comparison> =
        if decided.is_empty() { looked } else { decided.iter().map(|one| one.pair).collect() };
    let mut cells: Vec<CellRef> = refs(SPEED, told.iter().flat_map(|pair| [pair.a, pair.b]).collect());
    cells.extend(
        decided.first().into_iter().flat_map(|most| refs(most.sleeps.metric, vec![most.fast, most.slow])),
    );
    let rows = told.into_iter().map(ComparisonRef::from).collect();
    (says.pairs > 0).then(|| (says.clone(), Shown::comparing(Says::WakeUps(says), rows, cells)))
}

/// How many differ, and those of them that sleeps account for, largest first.
fn decided<'c>(evidence: &Evidence<'_>, looked: &[&'c Comparison]) -> (usize, Vec<SleepingPair<'c>>) {
    let mut differ = 0;
    let mut candidates = Vec::new();
    for pair in looked.iter().copied() {
        let Some(fast) = pair.better(Better::Higher) else { continue };
        let slow = if pair.a == fast { pair.b } else { pair.a };
        differ += 1;
        let sleeps = SLEEPS.iter().filter_map(|metric| Sleeps::of(evidence, metric, fast, slow));
        candidates.extend(sleeps.map(|sleeps| SleepingPair { pair, fast, slow, sleeps }));
    }
    let adjusted = holm(&candidates.iter().map(|c| c.sleeps.p).collect::<Vec<_>>());
    let alpha = 1.0 - evidence.run.record.spec.confidence;
    let significant = candidates.into_iter().zip(adjusted).filter(|(_, p)| *p < alpha).map(|(c, _)| c);
    let mut decided: Vec<SleepingPair<'c>> = significant.filter(|c| c.sleeps.explain()).collect();
    // Of both sides of a pair the one that saves more sleeps.
    decided.sort_by(|a, b| a.sleeps.each_ns.total_cmp(&b.sleeps.each_ns));
    let mut seen = BTreeSet::new();
    decided.retain(|one| seen.insert((one.fast, one.slow)));
    decided.sort_by(|a, b| b.pair.strength().total_cmp(&a.pair.strength()));
    (differ, decided)
}

impl SleepingPair<'_> {
    fn told(&self, evidence: &Evidence<'_>, axis: &str) -> Option<DecidedPair> {
        let point = |case: usize| evidence.run.case(case).map(|case| &case.point);
        let Sleeps { metric, of_fast, of_slow, each_ns, .. } = self.sleeps;
        Some(DecidedPair {
            fast: point(self.fast)?.get(axis)?.clone(),
            slow: point(self.slow)?.get(axis)?.clone(),
            place: point(self.fast)?.without(axis),
            ratio: self.pair.seen_from(self.fast),
            metric,
            of_fast,
            of_slow,
            each_ns,
        })
    }
}

impl Sleeps {
    fn of(evidence: &Evidence<'_>, metric: &'static str, fast: usize, slow: usize) -> Option<Sleeps> {
        let cell = |case: usize, id: &str| evidence.cells.cell(case, id);
        let (a, b) = (cell(fast, metric)?, cell(slow, metric)?);
        let message_ns = |case: usize| {
            let threads = evidence.run.case(case)?.point.int(THREADS).unwrap_or(1) as f64;
            Some(threads * 1e9 / cell(case, RATE)?.estimate.value)
        };
        let (of_fast, of_slow) = (a.estimate.value, b.estimate.value);
        let each_ns = (message_ns(slow)? - message_ns(fast)?) / (of_slow - of_fast);
        let of_round: BTreeMap<u32, f64> = a.rounds.iter().collect();
        let differences: Vec<f64> =
            b.rounds.iter().filter_map(|(round, slow)| Some(slow - of_round.get(&round)?)).collect();
        let p = signed_rank(&differences).p;
        Some(Sleeps { metric, of_fast, of_slow, each_ns, p })
    }

    /// Are there enough more of them, and may they cost so much?
    fn explain(&self) -> bool {
        self.of_slow >= FACTOR * self.of_fast && self.each_ns > 0.0 && self.each_ns <= DEAREST_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use crate::whole::Analysis;
    use syscost_experiment::run::Run;

    /// One mechanism with two read sizes: what was made as a second mechanism reads a message a call.
    fn planted(cost_ns: fn(&Point) -> f64, sleeps: [f64; 2]) -> Run {
        let mut run = Synthetic {
            mechanisms: vec!["send", "sendmsg"],
            sizes: vec![64, 1024],
            threads: vec![1],
            cost_ns,
            rounds: 12,
            noise: 0.01,
            ..Default::default()
        }
        .run();
        let by_message: Vec<bool> =
            run.record.plan.cases.iter().map(|c| c.point.text(RIVALS) == Some("sendmsg")).collect();
        for case in &mut run.record.plan.cases {
            case.point.set(READ_BYTES.id, Value::Int(by_message[case.index].into()));
            case.point.set(RIVALS.id, Value::text("send"));
        }
        for (number, sample) in run.samples.iter_mut().enumerate() {
            let each = sleeps[usize::from(by_message[sample.case])] * (1.0 + 0.01 * (number % 3) as f64);
            let messages = sample.get("receiver_messages").expect("a transfer counts its messages");
            sample.quantities.insert("receiver_voluntary_switches".into(), Some(each * messages));
        }
        run
    }

    fn told(run: &Run) -> (AnswerVerdict, WakeupPairs) {
        let answer = WakeUps.answered(&Analysis::of(run).evidence(run));
        let Says::WakeUps(pairs) = &answer.shown[0].says else { panic!("{answer:?}") };
        assert_eq!(answer.shown[0].comparisons.len(), pairs.pairs);
        (answer.verdict, pairs.clone())
    }

    fn message_is_faster(p: &Point) -> f64 {
        if p.text(RIVALS) == Some("sendmsg") { 1000.0 } else { 1800.0 }
    }

    #[test]
    fn the_read_size_that_sleeps_less_is_faster_and_what_a_sleep_would_cost_is_said() {
        let (verdict, found) = told(&planted(message_is_faster, [0.3, 0.01]));
        assert_eq!((verdict, found.axis), (AnswerVerdict::Yes, READ_BYTES.id));
        assert_eq!((found.pairs, found.differ, found.decided), (2, 2, 2));
        let most = found.largest.unwrap();
        assert_eq!((most.fast, most.slow), (Value::Int(1), Value::Int(0)));
        assert_eq!((most.metric, most.place.text(RIVALS)), (SLEEPS[0], Some("send")));
        assert!((1.7..1.9).contains(&most.ratio.value), "{:?}", most.ratio);
        assert!((29.0..31.0).contains(&(most.of_slow / most.of_fast)));
        assert!((2000.0..3500.0).contains(&most.each_ns), "800 ns over 0.29 sleeps: {}", most.each_ns);
    }

    #[test]
    fn nothing_is_put_down_to_sleeps_that_are_equal_more_or_too_few() {
        for sleeps in [[0.3, 0.3], [0.01, 0.3], [0.000_003, 0.000_001]] {
            let (verdict, found) = told(&planted(message_is_faster, sleeps));
            assert_eq!((verdict, found.differ, found.decided), (AnswerVerdict::No, 2, 0), "{sleeps:?}");
        }
        let (verdict, found) = told(&planted(|_| 1000.0, [0.3, 0.01]));
        assert_eq!((found.differ, found.largest), (0, None));
        assert_ne!(verdict, AnswerVerdict::Yes);
    }
}
