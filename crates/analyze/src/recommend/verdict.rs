//! What stands behind a recommendation ([`super::regions`]): how many pairs differ, by how much, how many are the same
//! or open, what the kernel said of zero-copy, and what limits it.
//!
//! Sentences are made from comparisons (see [`crate::compare`]), never from medians alone, and each names
//! the cells it stands on.

use crate::cells::Cells;
use crate::compare::identical::Identical;
use crate::compare::study::Study;
use crate::compare::winners::{Outcome, Winner};
use crate::compare::{Comparison, Comparisons};
use crate::copies::zero_copy;
use crate::limits::limiter::{self, Limiter};
use crate::words::{self, Words, and, count};
use crate::{CellRef, Statement};
use std::collections::BTreeSet;
use syscost_core::axis::Value;
use syscost_core::decide::{Decision, Verdict};
use syscost_core::units::significant;
use syscost_experiment::run::Run;

/// The statements of the verdict, most important first.
pub fn verdict(run: &Run, cells: &Cells, studies: &[Study], limiters: &[Limiter]) -> Vec<Statement> {
    if cells.is_empty() {
        let text = "No usable sample was recorded, so there is nothing to say about this run.".into();
        return vec![Statement { text, cells: Vec::new() }];
    }
    let words = Words::of(run);
    let mut statements = Vec::new();
    for study in studies {
        statements.extend(of_study(run, cells, &words, study));
    }
    statements.extend(zero_copy::statements(run, cells));
    statements.extend(limiter::statement(limiters));
    statements
}

/// What is known in one metric: the largest difference, and how many there are.
pub fn of_study(run: &Run, cells: &Cells, words: &Words, study: &Study) -> Vec<Statement> {
    let teller = StudyTeller { run, cells, words, study };
    [teller.alone(), teller.largest_effect(), teller.answers()].into_iter().flatten().collect()
}

struct StudyTeller<'a> {
    run: &'a Run,
    cells: &'a Cells,
    words: &'a Words,
    study: &'a Study,
}

impl StudyTeller<'_> {
    fn comparisons(&self) -> &Comparisons {
        &self.study.comparisons
    }

    fn title(&self) -> &'static str {
        self.comparisons().metric.title
    }

    fn cell(&self, case: usize) -> CellRef {
        CellRef { case, metric: self.comparisons().metric.id }
    }

    fn value(&self, case: usize) -> Option<&Value> {
        self.run.case(case)?.point.get(&self.comparisons().axis)
    }

    /// What a case is called.
    fn name(&self, case: usize) -> String {
        let axis = &self.comparisons().axis;
        self.value(case).map_or_else(String::new, |v| self.words.value(axis, v))
    }

    /// Best of one is no win: said where nothing had a rival.
    fn alone(&self) -> Option<Statement> {
        let alone = |w: &Winner| if let Outcome::Alone(case) = w.outcome { Some(case) } else { None };
        let cases: Vec<usize> = self.study.winners.iter().filter_map(alone).collect();
        let first = *cases.first()?;
        let names: BTreeSet<String> = cases.iter().map(|c| self.name(*c)).collect();
        let names: Vec<String> = names.into_iter().collect();
        let figure = &self.cells.cell(first, self.comparisons().metric.id)?.estimate;
        let text = format!(
            "At {} only {} was measured, so no {} is compared there; at {} it is {}.",
            count(cases.len(), "point"),
            and(&names),
            self.title(),
            self.words.place(&self.run.case(first)?.point, &[&self.comparisons().axis]),
            words::figure(figure.value, figure.unit)
        );
        Some(Statement { text, cells: cases.iter().map(|c| self.cell(*c)).collect() })
    }

    /// The largest significant difference, where there are several.
    fn largest_effect(&self) -> Option<Statement> {
        let better = self.comparisons().metric.better;
        let differing: Vec<(&Comparison, usize)> =
            self.comparisons().pairs.iter().filter_map(|c| Some((c, c.better(better)?))).collect();
        if differing.len() < 2 {
            return None;
        }
        let (pair, winner) =
            differing.into_iter().max_by(|a, b| a.0.strength().total_cmp(&b.0.strength()))?;
        let loser = if winner == pair.a { pair.b } else { pair.a };
        let estimate = &self.cells.cell(winner, pair.metric)?.estimate;
        let ratio = pair.seen_from(winner);
        let axis = self.comparisons().axis.as_str();
        let text = format!(
            "The largest difference in {} is at {}: {} has {}, {} {} ({}).",
            self.title(),
            self.words.place(&self.run.case(winner)?.point, &[axis]),
            self.name(winner),
            words::figure(estimate.value, estimate.unit),
            words::difference(ratio.value).replace("times", "times that of"),
            self.name(loser),
            self.words.interval(&ratio)
        );
        Some(Statement { text, cells: vec![self.cell(winner), self.cell(loser)] })
    }

    /// How many pairs differ, are the same or are open: over threads where threads vary, and by point.
    fn answers(&self) -> Option<Statement> {
        let all = self.comparisons();
        let first = all.pairs.first()?;
        let by_point: Vec<&Decision> = all.pairs.iter().map(|pair| &pair.decision).collect();
        let over: Vec<&Decision> = all.over_threads.iter().map(|over| &over.decision).collect();
        let over_threads = match over.len() {
            0 => String::new(),
            _ => format!(" Over thread counts: {}.", self.tally(&over)),
        };
        let identical = all.identical.as_ref().map_or(String::new(), |i| format!(" {}", identical(i)));
        let by_point = self.tally(&by_point);
        let text = format!("In {}, of {by_point}.{over_threads}{identical}", self.title());
        let decided: Vec<&Comparison> = all.pairs.iter().filter(|pair| !pair.is_open()).collect();
        let shown = if decided.is_empty() { vec![first] } else { decided };
        let cells: BTreeSet<CellRef> = shown.iter().flat_map(|c| [self.cell(c.a), self.cell(c.b)]).collect();
        Some(Statement { text, cells: cells.into_iter().collect() })
    }

    /// `30 compared pairs, 20 differ, 4 are the same within 3 % and 6 are undecided; half of these need about ..`
    fn tally(&self, decisions: &[&Decision]) -> String {
        let number = |wanted: fn(Verdict) -> bool| decisions.iter().filter(|d| wanted(d.verdict)).count();
        let differ = number(|v| matches!(v, Verdict::Less | Verdict::More));
        let same = number(|v| v == Verdict::Same);
        let open: Vec<&Decision> =
            decisions.iter().copied().filter(|d| d.verdict == Verdict::Undecided).collect();
        let time = if open.is_empty() { String::new() } else { self.time(&open) };
        format!(
            "{}, {differ} differ, {same} are the same within 3 % and {} are undecided{time}",
            count(decisions.len(), "compared pair"),
            open.len()
        )
    }

    /// What half of what is open would take.
    fn time(&self, open: &[&Decision]) -> String {
        // A single round says nothing of its scatter, and a run of unknown length nothing of its pace.
        if self.run.record.elapsed_ns == 0 || open.iter().all(|d| d.level == 0.0) {
            return String::new();
        }
        let pace = self.comparisons().pace(self.run);
        let needed = |d: &&Decision| pace.minutes_needed(d).unwrap_or(f64::INFINITY);
        let mut minutes: Vec<f64> = open.iter().map(needed).collect();
        minutes.sort_by(f64::total_cmp);
        match minutes[(minutes.len() - 1) / 2] {
            half if half.is_finite() => format!(" (half of these need about {} more)", words::minutes(half)),
            _ => " (most of these need more than a day)".into(),
        }
    }
}

/// `Identical cases differed by 0.4 % [-0.2 %, 1 %] on average, by 3 % at most (8 pairs).`
pub fn identical(found: &Identical) -> String {
    let percent = |ratio: f64| format!("{} %", significant(100.0 * (ratio - 1.0)));
    format!(
        "Identical cases differed by {} [{}, {}] on average and by {} % at most ({}).",
        percent(found.ratio),
        percent(found.low),
        percent(found.high),
        significant(100.0 * found.farthest),
        count(found.twins as usize, "pair")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::study::ALONG;
    use crate::recommend::regions;
    use crate::synthetic::Synthetic;
    use crate::whole::Analysis;
    use syscost_core::axis::Point;

    fn told(synthetic: Synthetic) -> Vec<Statement> {
        let run = synthetic.run();
        let analysis = Analysis::of(&run);
        let mut all = regions::statements(&run, &analysis.ways, ALONG.id);
        all.extend(analysis.verdict);
        for s in &all {
            assert!(s.text.ends_with('.') && !s.text.contains("  ") && !s.text.contains(" ."), "{}", s.text);
        }
        all
    }

    fn planted(cost_ns: fn(&Point) -> f64) -> Synthetic {
        Synthetic { cost_ns, rounds: 12, noise: 0.01, ..Default::default() }
    }

    /// sendmsg wins from 16 KiB up, by 30 % at 64 KiB and 20 % elsewhere; below it all are alike.
    fn from_16k(p: &Point) -> f64 {
        let bytes = p.int_at("message_bytes").unwrap();
        let factor = match (p.text_at("mechanism").unwrap(), bytes) {
            ("sendmsg", 65536) => 0.7,
            ("sendmsg", 16384..) => 0.8,
            _ => 1.0,
        };
        factor * (1000.0 + 0.2 * bytes as f64)
    }

    fn with(statements: &[Statement], start: &str) -> Statement {
        let found = statements.iter().find(|s| s.text.starts_with(start));
        found.unwrap_or_else(|| panic!("no '{start}' in {statements:#?}")).clone()
    }

    #[test]
    fn what_wins_throughout_is_told_with_its_gain_the_largest_effect_and_how_many_differ() {
        let all = told(planted(from_16k));
        let advice = with(&all, "For CPU per byte over veth (TCP_NODELAY on) at every thread count: ");
        assert!(advice.text.contains("from 64 B to 256 KiB use sendmsg: 1.4"), "{}", advice.text);
        assert!(advice.text.contains("x [1.") && advice.text.contains(" at 64 KiB and "), "{}", advice.text);
        assert!(
            advice.text.ends_with(
                "One way was significantly better than every other at 6 of 10 points. For throughput nothing was \
                 significantly better than these."
            ),
            "{}",
            advice.text
        );
        assert!(advice.cells.iter().any(|c| c.metric == "throughput"), "{advice:?}");
        let largest = with(&all, "The largest difference in CPU per byte is at 64 KiB");
        assert!(
            largest.text.contains("sendmsg has 0.1") && largest.text.contains("30 % below"),
            "{}",
            largest.text
        );
        let counted = with(&all, "In CPU per byte, of 30 compared pairs, 12 differ, ").text;
        assert!(counted.contains("Over thread counts: 15 compared pairs, 6 differ, "), "{counted}");
        assert!(
            counted.contains("Identical cases differed by ") && counted.ends_with("(5 pairs)."),
            "{counted}"
        );
        with(&all, "Of 30 cases, 30 are waiting part of the time");
        assert!(all.iter().all(|s| !s.cells.is_empty()), "{all:?}");
    }

    #[test]
    fn a_planted_change_of_winner_becomes_two_ranges_and_ranges_stop_where_a_claim_does() {
        let told = told(planted(|p| {
            let bytes = p.int_at("message_bytes").unwrap();
            let factor = match p.text_at("mechanism").unwrap() {
                "sendmsg" if bytes >= 16384 => 0.7,
                "send" if bytes < 16384 => 0.8,
                _ => 1.0,
            };
            factor * (1000.0 + 0.2 * bytes as f64)
        }));
        let text = &told[0].text;
        assert!(text.contains("up to 1 KiB use send: "), "{text}");
        assert!(text.contains("; from between 1 KiB and 16 KiB up use sendmsg: "), "{text}");
        assert!(text.contains("better than send at ") && told[0].cells.len() >= 4, "{text}");
    }

    #[test]
    fn another_metric_is_told_by_itself_where_it_supports_other_choices() {
        let mut run = planted(|p| if p.text_at("mechanism") == Some("send") { 700.0 } else { 1000.0 }).run();
        let cases = run.record.plan.cases.clone();
        for sample in &mut run.samples {
            let point = &cases[sample.case].point;
            if point.int_at("message_bytes") == Some(1024) && point.text_at("mechanism") == Some("send") {
                sample.elapsed_ns *= 2.0;
            }
        }
        let told = regions::statements(&run, &Analysis::of(&run).ways, ALONG.id);
        let text = with(&told, "For CPU per byte").text;
        assert!(text.contains("from 64 B to 256 KiB use send: ") && !text.contains("throughput"), "{text}");
        let text = with(&told, "For throughput").text;
        assert!(text.contains("; from between 64 B and 1 KiB up use "), "{text}");
        assert!(text.contains("; from between 1 KiB and 16 KiB up use send: "), "{text}");
    }

    #[test]
    fn of_ways_that_are_undecided_the_one_in_front_comes_first() {
        let told = told(planted(|p| match p.text_at("mechanism") {
            Some("sendmsg") => 1300.0,
            Some("send") => 1010.0,
            _ => 1000.0,
        }));
        assert!(told[0].text.contains("use pack_send or send (undecided): 1.3"), "{}", told[0].text);
    }

    #[test]
    fn opposite_thread_counts_have_a_recommendation_each() {
        let told = told(planted(|p| {
            let odd = p.int_at("threads") == Some(1);
            if (p.text_at("mechanism") == Some("send")) == odd { 700.0 } else { 1000.0 }
        }));
        let one = with(&told, "For CPU per byte with 1 thread over veth").text;
        assert!(one.contains("use send: "), "{one}");
        let two = with(&told, "For CPU per byte with 2 threads over veth").text;
        assert!(
            two.contains("use sendmsg or pack_send (the same within 3 %): ")
                && two.contains("better than send at "),
            "{two}"
        );
    }

    #[test]
    fn nothing_is_told_where_nothing_differs() {
        let all = told(Synthetic { noise: 0.03, rounds: 12, ..Default::default() });
        let none =
            with(&all, "For CPU per byte over veth (TCP_NODELAY on) at every thread count, nothing was");
        assert!(
            none.text.contains("significantly better at any of 10 points; give the run more time"),
            "{}",
            none.text
        );
        with(&all, "In CPU per byte, of 30 compared pairs, 0 differ");
        assert!(!all.iter().any(|s| s.text.contains("largest difference")), "{all:#?}");
    }

    #[test]
    fn one_mechanism_no_twins_and_nothing_at_all() {
        let alone = told(Synthetic { mechanisms: vec!["send"], ..planted(from_16k) });
        with(&alone, "At 10 points only send was measured, so no CPU per byte is compared there; at 64 B");
        assert!(!alone.iter().any(|s| s.text.contains(" use ")), "no advice without a rival: {alone:#?}");
        let blind = told(Synthetic { twin_every: 0, ..planted(from_16k) });
        assert!(!with(&blind, "In CPU per byte").text.contains("Identical"));
        let mut short = Synthetic { rounds: 1, ..planted(from_16k) }.run();
        short.record.elapsed_ns = 60_000_000_000;
        let short = Analysis::of(&short).verdict;
        with(
            &short,
            "In CPU per byte, of 30 compared pairs, 0 differ, 0 are the same within 3 % and 30 are undecided",
        );
        let empty = told(Synthetic { rounds: 0, ..planted(from_16k) });
        assert_eq!(empty.len(), 1);
        assert!(empty[0].cells.is_empty() && empty[0].text.starts_with("No usable sample"));
    }
}
