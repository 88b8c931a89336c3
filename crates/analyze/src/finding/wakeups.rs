//! Do wake-ups decide? A side that takes everything at once empties the queue and sleeps, and the other pays for
//! waking it: then throughput is decided by how often a side sleeps, whatever moves the bytes.
//!
//! Pairs that differ in the read size alone, and mechanisms beside the control. Said only where throughput differs
//! significantly and [`crate::cause`] finds that sleeps, at the price that the run measured, explain at least half of it.

use super::pairs::refs;
use super::{Evidence, Finding};
use crate::answer::{AnswerVerdict, Caveat, CellRef, ComparisonRef, Lack};
use crate::cause::{self, Cause, Difference, FoundCause, LostBy, LostTime};
use crate::compare::groups::Groups;
use crate::compare::study::RIVALS;
use crate::compare::{Comparison, Comparisons};
use crate::finding::{Answer, Says, Shown};
use crate::varied;
use serde::Serialize;
use syscost_core::axis::{Point, Value};
use syscost_core::sample::Better;
use syscost_core::stats::Estimate;
use syscost_experiment::run::Run;
use syscost_measure::mechanism;
use syscost_measure::receiver::options::READ_BYTES;

pub struct WakeUps;

const SPEED: &str = "throughput";
/// Sleeps per message of either side.
const SLEEPS: [&str; 2] =
    ["receiver_voluntary_switches_per_message", "sender_voluntary_switches_per_message"];
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
    /// Of those that differ, where sleeps explain at least half of it, and where it is shown that they do not.
    pub decided: usize,
    pub ruled_out: usize,
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
    /// Its sleeps.
    pub cause: Cause,
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
        let mut kinds: Vec<(WakeupPairs, Shown, bool)> =
            AXES.iter().filter_map(|axis| pairs(evidence, axis)).collect();
        if kinds.is_empty() {
            let command = "syscost run default --mechanism send --threads 1 --read-bytes buffer,message";
            return Answer::not_measured(self.id(), Lack::SleepsBesideThroughput, command);
        }
        kinds.sort_by_key(|(pairs, ..)| std::cmp::Reverse(pairs.decided));
        if kinds.iter().any(|(pairs, ..)| pairs.differ > 0) && kinds.iter().all(|(_, _, priced)| !priced) {
            return Answer::not_measured(self.id(), Lack::PriceOfASleep, "syscost run default");
        }
        let sum = |of: fn(&WakeupPairs) -> usize| kinds.iter().map(|(pairs, ..)| of(pairs)).sum::<usize>();
        let (differ, decided) = (sum(|pairs| pairs.differ), sum(|pairs| pairs.decided));
        let open = sum(|pairs| pairs.undecided) + differ - decided - sum(|pairs| pairs.ruled_out);
        let verdict = match AnswerVerdict::at(decided, differ) {
            AnswerVerdict::No if open > 0 => AnswerVerdict::Undecided,
            verdict => verdict,
        };
        let mut caveats = vec![Caveat::CausesArePriced];
        if !varied::axes(evidence.run).contains(READ_BYTES.id) {
            caveats.push(Caveat::OneReadSize);
        }
        Answer::found(self.id(), verdict, kinds.into_iter().map(|(_, shown, _)| shown).collect(), caveats)
    }
}

/// A pair whose throughput differs, and why.
struct DifferingPair<'c> {
    pair: &'c Comparison,
    fast: usize,
    slow: usize,
    why: FoundCause,
}

/// The mechanism that the others are held against: the control, else what was measured twice, else the first.
fn control(run: &Run) -> Option<&str> {
    let cases = || run.record.plan.cases.iter();
    let standard = cases().find(|case| case.point.text(RIVALS) == Some(mechanism::control().about().id));
    let control = standard.or_else(|| cases().find(|case| case.twin_of.is_some()));
    control.or_else(|| cases().next())?.point.text(RIVALS)
}

/// With whether a sleep has a price; `None`: nothing to compare.
fn pairs(evidence: &Evidence<'_>, axis: &'static str) -> Option<(WakeupPairs, Shown, bool)> {
    let groups = Groups::of(evidence.run, axis);
    let all = Comparisons::of(evidence.run, evidence.cells, &groups, SPEED)?;
    let has_sleeps = |case: usize| SLEEPS.iter().any(|id| evidence.cells.cell(case, id).is_some());
    let name = |case: usize| evidence.run.case(case)?.point.text(RIVALS);
    let control = control(evidence.run);
    let wanted = |a: usize, b: usize| axis != RIVALS.id || [a, b].iter().any(|case| name(*case) == control);
    let wanted = |pair: &&Comparison| wanted(pair.a, pair.b) && has_sleeps(pair.a) && has_sleeps(pair.b);
    let looked: Vec<&Comparison> = all.pairs.iter().filter(wanted).collect();
    let differing = differing(evidence, &looked);
    let mut decided: Vec<&DifferingPair<'_>> =
        differing.iter().filter(|one| one.why.cause.is_shown()).collect();
    decided.sort_by(|a, b| b.pair.strength().total_cmp(&a.pair.strength()));
    let ruled_out =
        |one: &&DifferingPair<'_>| matches!(one.why.cause, Cause::NotShown { ruled_out: true, .. });
    let says = WakeupPairs {
        axis,
        pairs: looked.len(),
        differ: differing.len(),
        undecided: looked.iter().filter(|pair| pair.is_open()).count(),
        decided: decided.len(),
        ruled_out: differing.iter().filter(ruled_out).count(),
        largest: decided.first().and_then(|most| most.told(evidence, axis)),
    };
    let told: Vec<&Comparison> =
        if decided.is_empty() { looked } else { decided.iter().map(|one| one.pair).collect() };
    let mut cells: Vec<CellRef> = refs(SPEED, told.iter().flat_map(|pair| [pair.a, pair.b]).collect());
    cells.extend(decided.first().into_iter().flat_map(|most| most.why.cells.clone()));
    let rows = told.into_iter().map(ComparisonRef::from).collect();
    let priced = differing.iter().any(|one| one.why.has_price);
    (says.pairs > 0).then(|| (says.clone(), Shown::comparing(Says::WakeUps(says), rows, cells), priced))
}

/// Those whose throughput differs, each with what sleeps have to do with it: corrected over them all.
fn differing<'c>(evidence: &Evidence<'_>, looked: &[&'c Comparison]) -> Vec<DifferingPair<'c>> {
    let differ = looked.iter().filter_map(|pair| {
        let fast = pair.better(Better::Higher)?;
        Some((*pair, fast, if pair.a == fast { pair.b } else { pair.a }))
    });
    let differ: Vec<(&Comparison, usize, usize)> = differ.collect();
    let asked: Vec<Difference> = differ
        .iter()
        .map(|(_, fast, slow)| Difference::of_cases((*slow, *fast), LostTime::Clock, LostBy::Message))
        .collect();
    let causes = cause::causes(evidence.run, evidence.cells, &asked, cause::SLEEPS);
    let whole = |((pair, fast, slow), why)| DifferingPair { pair, fast, slow, why };
    differ.into_iter().zip(causes).map(whole).collect()
}

impl DifferingPair<'_> {
    fn told(&self, evidence: &Evidence<'_>, axis: &str) -> Option<DecidedPair> {
        let point = |case: usize| evidence.run.case(case).map(|case| &case.point);
        Some(DecidedPair {
            fast: point(self.fast)?.get(axis)?.clone(),
            slow: point(self.slow)?.get(axis)?.clone(),
            place: point(self.fast)?.without(axis),
            ratio: self.pair.seen_from(self.fast),
            cause: self.why.cause.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{StepPrices, Synthetic};
    use crate::whole::Analysis;
    use syscost_core::stats::random::Random;

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

    fn priced(mut run: Run, sleeping: f64) -> Run {
        let prices = StepPrices { sleeping, waking: 500.0, ..Default::default() };
        prices.measured(&mut run, 6, 0.02, &mut Random::new(4));
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

    /// By the clock 640 ns are lost.
    #[test]
    fn the_read_size_that_sleeps_less_is_faster_and_what_sleeps_explain_is_said() {
        let (verdict, found) = told(&priced(planted(message_is_faster, [0.3, 0.01]), 2000.0));
        assert_eq!((verdict, found.axis), (AnswerVerdict::Yes, READ_BYTES.id));
        assert_eq!((found.pairs, found.differ, found.decided), (2, 2, 2));
        let most = found.largest.unwrap();
        assert_eq!((most.fast, most.slow), (Value::Int(1), Value::Int(0)));
        let sleeps = &most.cause.events()[0];
        assert_eq!((sleeps.metric, most.place.text(RIVALS)), (SLEEPS[0], Some("send")));
        assert!((1.7..1.9).contains(&most.ratio.value), "{:?}", most.ratio);
        let share = sleeps.share;
        assert!((0.8..1.0).contains(&share.value) && share.low >= 0.5 && share.high < 1.2, "{share:?}");
        assert!((1900.0..2100.0).contains(&sleeps.price_ns), "{sleeps:?}");
    }

    #[test]
    fn nothing_is_put_down_to_sleeps_that_are_equal_more_too_few_or_cheap() {
        for (sleeps, price) in
            [([0.3, 0.3], 2e3), ([0.01, 0.3], 2e3), ([3e-6, 1e-6], 2e3), ([0.3, 0.01], 600.0)]
        {
            let (verdict, found) = told(&priced(planted(message_is_faster, sleeps), price));
            assert_eq!((verdict, found.differ, found.decided), (AnswerVerdict::No, 2, 0), "{sleeps:?}");
            assert_eq!(found.ruled_out, 2);
        }
        let (verdict, found) = told(&priced(planted(|_| 1000.0, [0.3, 0.01]), 2000.0));
        assert_eq!((found.differ, found.largest), (0, None));
        assert_ne!(verdict, AnswerVerdict::Yes);
    }

    #[test]
    fn a_run_without_the_standard_control_has_its_own() {
        let mechanisms = vec!["sendmsg", "pack_send"];
        let mut run = Synthetic { mechanisms, twin_every: 3, rounds: 6, ..Default::default() }.run();
        for sample in &mut run.samples {
            sample.quantities.insert("receiver_voluntary_switches".into(), Some(1.0));
        }
        assert_eq!(control(&run), Some("sendmsg"));
        assert!(pairs(&Analysis::of(&run).evidence(&run), RIVALS.id).is_some());
    }

    /// Each side's sleeps cost 290 ns of the 640 ns that are lost by the clock.
    #[test]
    fn sleeps_of_both_sides_are_added_up_where_neither_explains_half() {
        let mut run = planted(message_is_faster, [0.15, 0.005]);
        for sample in &mut run.samples {
            let sleeps = sample.get("receiver_voluntary_switches");
            sample.quantities.insert("sender_voluntary_switches".into(), sleeps);
        }
        let (verdict, found) = told(&priced(run, 2000.0));
        assert_eq!((verdict, found.decided), (AnswerVerdict::Yes, 2));
        let Cause::Together { events, share, .. } = found.largest.unwrap().cause else {
            panic!("one side is enough")
        };
        assert_eq!(events.len(), 2);
        assert!((0.8..1.0).contains(&share.value) && share.low >= 0.5, "{share:?}");
        assert!(events.iter().all(|one| one.share.value < 0.5), "{events:?}");
    }

    #[test]
    fn without_the_price_of_a_sleep_nothing_is_said() {
        let run = planted(message_is_faster, [0.3, 0.01]);
        let answer = WakeUps.answered(&Analysis::of(&run).evidence(&run));
        assert_eq!((answer.verdict, answer.lacks), (AnswerVerdict::NotMeasured, Some(Lack::PriceOfASleep)));
    }
}
