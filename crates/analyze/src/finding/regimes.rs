//! Where do short slices and steady windows differ? A slice begins with empty queues, and CPU per message is compared by
//! slices. Where the windows of the same rounds give another ratio, a steady stream costs something else.

use super::pairs::refs;
use super::{Evidence, Finding};
use crate::answer::AnswerVerdict;
use crate::compare::groups::Groups;
use crate::compare::study::RIVALS;
use crate::compare::{Comparison, Comparisons};
use crate::finding::{Answer, Says, Shown};
use serde::Serialize;
use syscost_core::axis::Point;
use syscost_core::decide::{MARGIN, Verdict};
use syscost_core::stats::Estimate;

pub struct Regimes;

/// Slices know the CPU time of messages of one size.
const CPU: &str = "total_cpu_ns_per_message";

/// All pairs of rivals that took turns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RegimesDiffer {
    /// How many were looked at, and corrected for.
    pub looked_at: usize,
    /// Where the difference is significant and above the margin; largest first.
    pub pairs: Vec<RegimePair>,
}

/// Two rivals of a point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RegimePair {
    pub a: usize,
    pub b: usize,
    /// Where both are.
    pub a_point: Point,
    pub b_point: Point,
    /// CPU per message, a / b.
    pub by_slices: f64,
    /// The ratio by windows over that by slices, corrected.
    pub windows_over_slices: Estimate,
}

impl RegimePair {
    pub fn by_windows(&self) -> f64 {
        self.by_slices * self.windows_over_slices.value
    }

    fn distance(&self) -> f64 {
        self.windows_over_slices.value.ln().abs()
    }
}

impl RegimesDiffer {
    fn of(evidence: &Evidence<'_>) -> RegimesDiffer {
        let Evidence { run, cells, .. } = evidence;
        // Advice on batches and receivers stands on pairs of ways, not of mechanisms alone.
        let groups = Groups::of_ways(run, RIVALS.id);
        let Some(all) = Comparisons::of_regimes(run, cells, &groups, CPU) else {
            return RegimesDiffer { looked_at: 0, pairs: Vec::new() };
        };
        let differs = |verdict| matches!(verdict, Verdict::Less | Verdict::More);
        let apart = |c: &&Comparison| differs(c.decision.verdict) && c.strength() > MARGIN.ln_1p();
        let found: Vec<&Comparison> = all.pairs.iter().filter(apart).collect();
        // The ratio that tables and comparisons.csv tell: rounds weigh by how well their slices know it.
        let slices = (!found.is_empty()).then(|| Comparisons::of(run, cells, &groups, CPU)).flatten();
        let pair = |c: &Comparison| {
            let (a, b) = run.case(c.a).zip(run.case(c.b))?;
            Some(RegimePair {
                a: c.a,
                b: c.b,
                a_point: a.point.clone(),
                b_point: b.point.clone(),
                by_slices: slices.as_ref()?.between(c.a, c.b)?.seen_from(c.a).value,
                windows_over_slices: c.seen_from(c.a),
            })
        };
        let mut pairs: Vec<RegimePair> = found.into_iter().filter_map(pair).collect();
        pairs.sort_by(|one, other| other.distance().total_cmp(&one.distance()));
        RegimesDiffer { looked_at: all.pairs.len(), pairs }
    }
}

impl Finding for Regimes {
    fn id(&self) -> &'static str {
        "regimes"
    }

    /// Only where they differ.
    fn said(&self, evidence: &Evidence<'_>) -> Option<Answer> {
        Some(self.answered(evidence)).filter(|answer| answer.verdict != AnswerVerdict::No)
    }

    fn answered(&self, evidence: &Evidence<'_>) -> Answer {
        let differ = RegimesDiffer::of(evidence);
        let cells = refs(CPU, differ.pairs.iter().flat_map(|pair| [pair.a, pair.b]).collect());
        let verdict = match differ.pairs.len() {
            0 => AnswerVerdict::No,
            n if n == differ.looked_at => AnswerVerdict::Yes,
            _ => AnswerVerdict::Partly,
        };
        Answer::found(self.id(), verdict, vec![Shown::of(Says::Regimes(differ), cells)], Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::Cells;
    use crate::synthetic::Synthetic;
    use crate::whole::Analysis;
    use syscost_core::axis::Value;
    use syscost_core::stats::random::Random;
    use syscost_experiment::run::{Run, SliceRow};
    use syscost_measure::probe::Slice;

    fn costs(point: &Point) -> f64 {
        if point.text_at("mechanism") == Some("sendmsg") { 1300.0 } else { 1000.0 }
    }

    /// Twelve rounds of windows in which sendmsg costs 30 % more; by slices it does so with more than one thread only,
    /// if regimes are to differ.
    fn run(differ: bool, seed: u64) -> Run {
        let mut run =
            Synthetic { cost_ns: costs, rounds: 12, noise: 0.01, twin_every: 0, ..Default::default() }.run();
        let mut random = Random::new(seed);
        let cases = run.record.plan.cases.clone();
        let groups = crate::compare::groups::Groups::of(&run, "mechanism");
        for (block, group) in groups.groups.iter().enumerate() {
            for round in 0..12 {
                let mut rows = Vec::new();
                for pass in 0..8 {
                    for case in &group.members {
                        let point = &cases[*case].point;
                        let cheap = differ && point.int_at("threads") == Some(1);
                        let cost = if cheap { 1000.0 } else { costs(point) };
                        let slice = Slice {
                            pass,
                            position: 0,
                            length_ns: 1_000_000,
                            start_ns: 0,
                            wall_ns: 1_000_000,
                            messages: 10,
                            sender_cpu_ns: (10.0 * cost * (0.02 * random.normal()).exp()) as u64,
                            receiver_cpu_ns: 0,
                        };
                        rows.push(SliceRow { block, round, case: *case, slice });
                    }
                }
                run.slices.saw(&rows);
            }
        }
        run
    }

    fn found(run: &Run) -> Option<RegimesDiffer> {
        let answers = Analysis::of(run).answers;
        let answer = answers.into_iter().find(|answer| answer.question == "regimes")?;
        match answer.shown.into_iter().next().map(|shown| shown.says) {
            Some(Says::Regimes(differ)) => Some(differ),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn pairs_whose_ratio_is_another_by_windows_are_named_with_both() {
        let run = run(true, 3);
        let differ = found(&run).expect("at one thread they differ by 30 %");
        let cases = &run.record.plan.cases;
        let at_one = |case: usize| cases[case].point.int_at("threads") == Some(1);
        let is_sendmsg = |case: usize| cases[case].point.text_at("mechanism") == Some("sendmsg");
        assert!(
            differ.pairs.iter().all(|p| at_one(p.a) && (is_sendmsg(p.a) || is_sendmsg(p.b))),
            "{differ:?}"
        );
        assert_eq!((differ.pairs.len(), differ.looked_at), (10, 30));
        // No other figure of the page is "by slices".
        let told = Comparisons::of(&run, &Cells::of(&run), &Groups::of_ways(&run, RIVALS.id), CPU).unwrap();
        for pair in &differ.pairs {
            assert_eq!(pair.by_slices, told.between(pair.a, pair.b).unwrap().seen_from(pair.a).value);
            let expected = if is_sendmsg(pair.a) { 1.3f64 } else { 1.0 / 1.3 };
            assert!((pair.by_slices.ln()).abs() < 0.03 && (pair.by_windows() / expected).ln().abs() < 0.06);
        }
    }

    /// Advice on batches stands on such pairs.
    #[test]
    fn batches_of_one_mechanism_are_looked_at_too() {
        let mut run = run(true, 3);
        for case in &mut run.record.plan.cases {
            let batch = case.point.text_at("mechanism") == Some("sendmsg");
            case.point.set("messages_per_call", Value::Int(if batch { 8 } else { 1 }));
            if batch {
                case.point.set("mechanism", Value::text("send"));
            }
        }
        let differ = found(&run).expect("at one thread they differ by 30 %");
        let mechanism = |point: &Point| point.text_at("mechanism").map(str::to_string);
        let batches = differ.pairs.iter().filter(|pair| mechanism(&pair.a_point) == mechanism(&pair.b_point));
        assert_eq!((batches.count(), differ.looked_at), (5, 30), "{differ:?}");
    }

    #[test]
    fn nothing_is_asked_where_they_agree_and_where_nobody_took_turns() {
        let falsely = (0..40).filter(|seed| found(&run(false, *seed)).is_some()).count();
        assert!(falsely <= 4, "{falsely} of 40 runs");
        let without = Synthetic { rounds: 12, ..Default::default() }.run();
        assert_eq!(found(&without), None);
    }
}
