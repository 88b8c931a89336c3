//! The paragraph at the top of a report: who wins where, by how much, and what limits it.
//!
//! Sentences are made from claims (see [`crate::compare`]), never from medians alone, and each names
//! the cells it stands on. Places are given in ranges of the tested sizes; a range never spans a
//! size at which the claim does not hold.

use crate::cells::Cells;
use crate::compare::study::{ALONG, Study};
use crate::compare::winners::{Outcome, Winner};
use crate::compare::{Comparison, Comparisons, TieReason, Verdict};
use crate::copies::zero_copy;
use crate::limits::limiter::{self, Limiter};
use crate::words::{self, Words, and, count};
use crate::{CellRef, Statement};
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::axis::{Point, Value};
use syscost_core::sample::Better;
use syscost_core::stats::Estimate;
use syscost_experiment::run::Run;
use syscost_measure::probe::transfer::axes::THREADS;

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

/// Who wins where in one metric, by how much, and what is tied.
pub fn of_study(run: &Run, cells: &Cells, words: &Words, study: &Study) -> Vec<Statement> {
    let teller = Teller { run, cells, words, study };
    let mut statements: Vec<Statement> = teller.alone().into_iter().collect();
    statements.extend(teller.wins());
    statements.extend(teller.ties());
    statements.extend(teller.largest_effect());
    statements.extend(teller.claims());
    statements
}

/// The ratio of a pair seen from one of its cases.
pub fn from_side(pair: &Comparison, case: usize) -> Estimate {
    let e = pair.ratio.estimate;
    if pair.a == case {
        e
    } else {
        Estimate { value: 1.0 / e.value, low: 1.0 / e.high, high: 1.0 / e.low, ..e }
    }
}

/// Unbroken ranges of tested sizes.
type Ranges = Vec<(u64, u64)>;

struct Teller<'a> {
    run: &'a Run,
    cells: &'a Cells,
    words: &'a Words,
    study: &'a Study,
}

impl Teller<'_> {
    fn comparisons(&self) -> &Comparisons {
        &self.study.comparisons
    }

    fn title(&self) -> &'static str {
        self.comparisons().metric.title
    }

    fn best(&self) -> &'static str {
        if self.comparisons().metric.better == Better::Higher { "highest" } else { "lowest" }
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

    /// Places where two or more values of the axis have a figure.
    fn contested(&self) -> Vec<&Winner> {
        let fought = |w: &&Winner| matches!(w.outcome, Outcome::Wins(_) | Outcome::Tied(_));
        self.study.winners.iter().filter(fought).collect()
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

    /// One statement per winner, the most frequent first.
    fn wins(&self) -> Vec<Statement> {
        let contested = self.contested();
        let mut by_value: BTreeMap<&Value, Vec<(&Winner, usize)>> = BTreeMap::new();
        for winner in &contested {
            if let Outcome::Wins(case) = winner.outcome
                && let Some(value) = self.value(case)
            {
                by_value.entry(value).or_default().push((winner, case));
            }
        }
        let mut by_value: Vec<_> = by_value.into_iter().collect();
        by_value.sort_by_key(|(_, won)| std::cmp::Reverse(won.len()));
        by_value.iter().map(|(value, won)| self.win(value, won, &contested)).collect()
    }

    fn win(&self, value: &Value, won: &[(&Winner, usize)], contested: &[&Winner]) -> Statement {
        // At each place: the winner against the rival with the next best median.
        let margins: Vec<(&Winner, usize, usize, &Comparison)> = won
            .iter()
            .filter_map(|(winner, case)| {
                let next = winner.candidates.iter().find(|c| self.value(**c) != Some(value))?;
                Some((*winner, *case, *next, self.comparisons().between(*case, *next)?))
            })
            .collect();
        let weakest = margins.iter().min_by(|a, b| a.3.strength().total_cmp(&b.3.strength()));
        let strongest = margins.iter().max_by(|a, b| a.3.strength().total_cmp(&b.3.strength()));
        let wins: Vec<&Winner> = won.iter().map(|(w, _)| *w).collect();
        let mut text = format!(
            "{} has the {} {} at {} of {}: {}.",
            self.words.value(&self.comparisons().axis, value),
            self.best(),
            self.title(),
            won.len(),
            count(contested.len(), "point"),
            self.places(&wins, contested)
        );
        if let (Some(weak), Some(strong)) = (weakest, strongest) {
            text += &match weak.1 == strong.1 {
                true => format!(" It is {}.", self.margin(weak)),
                false => format!(
                    " Of its distances to the next best the smallest is {} and the largest {}.",
                    self.margin(weak),
                    self.margin(strong)
                ),
            };
        }
        let cells = margins.iter().flat_map(|(_, case, next, _)| [self.cell(*case), self.cell(*next)]);
        Statement { text, cells: cells.collect() }
    }

    /// `18 % below send at 64 KiB and 1 thread (95 % interval of the ratio 0.79 to 0.85, 12 rounds)`.
    fn margin(&self, (winner, case, next, pair): &(&Winner, usize, usize, &Comparison)) -> String {
        let ratio = from_side(pair, *case);
        let place = self.words.place(&winner.shared, &self.words.constant());
        let at = if place.is_empty() { String::new() } else { format!(" at {place}") };
        format!("{} {}{at} ({})", against(ratio.value), self.name(*next), self.words.interval(&ratio))
    }

    /// The places in ranges of tested sizes, lines with the same ranges told together by threads.
    fn places(&self, some: &[&Winner], all: &[&Winner]) -> String {
        let line = |w: &Winner| w.shared.without(ALONG.id);
        let chosen: BTreeSet<&Point> = some.iter().map(|w| &w.shared).collect();
        let mut lines: BTreeMap<Point, Vec<(u64, bool)>> = BTreeMap::new();
        for w in all {
            let at = w.shared.int(ALONG).unwrap_or(0);
            lines.entry(line(w)).or_default().push((at, chosen.contains(&w.shared)));
        }
        let mut together: BTreeMap<(Point, Ranges), Vec<Value>> = BTreeMap::new();
        for (line, mut steps) in lines {
            steps.sort_unstable();
            let ranges = ranges(&steps);
            if !ranges.is_empty() {
                let threads = together.entry((line.without(THREADS.id), ranges)).or_default();
                threads.extend(line.get(THREADS.id).cloned());
            }
        }
        // What all lines share is said once, at the end.
        let rests: BTreeSet<String> = together.keys().map(|(rest, _)| self.words.place(rest, &[])).collect();
        let tell = |((rest, ranges), threads): (&(Point, Ranges), &Vec<Value>)| {
            let sizes: Vec<String> =
                ranges.iter().map(|(from, to)| self.words.range(ALONG.id, *from, *to)).collect();
            let mut parts = vec![and(&sizes)];
            if !threads.is_empty() {
                parts.push(format!("with {}", words::threads(threads)));
            }
            if rests.len() > 1 {
                parts.push(self.words.place(rest, &[]));
            }
            parts.retain(|p| !p.is_empty());
            parts.join(" ")
        };
        let told = together.iter().map(tell).collect::<Vec<_>>().join("; ");
        match (rests.first(), rests.len(), together.len()) {
            (Some(rest), 1, 1) if !rest.is_empty() => format!("{told} {rest}"),
            (Some(rest), 1, _) if !rest.is_empty() => format!("{told}; all {rest}"),
            _ => told,
        }
    }

    /// Where the leaders cannot be told apart, and who they are most often.
    fn ties(&self) -> Option<Statement> {
        let contested = self.contested();
        let mut sets: BTreeMap<Vec<String>, Vec<&Winner>> = BTreeMap::new();
        let mut cells = Vec::new();
        for winner in &contested {
            if let Outcome::Tied(cases) = &winner.outcome {
                let names: BTreeSet<String> = cases.iter().map(|c| self.name(*c)).collect();
                sets.entry(names.into_iter().collect()).or_default().push(winner);
                cells.extend(cases.iter().map(|c| self.cell(*c)));
            }
        }
        let tied: usize = sets.values().map(Vec::len).sum();
        let (names, most) = sets.iter().max_by_key(|(_, places)| places.len())?;
        let metric = format!("{} {}", self.best(), self.title());
        let mut text = if tied == contested.len() {
            format!("Nothing is claimed to have the {metric} at any of {}", count(tied, "point"))
        } else {
            format!("At {} of {} no single one has the {metric}", tied, count(contested.len(), "point"))
        };
        let often = if sets.len() == 1 { "" } else { "most often " };
        text += &format!(
            ": {often}{} cannot be told apart ({}: {}).",
            and(names),
            count(most.len(), "point"),
            self.places(most, &contested)
        );
        Some(Statement { text, cells })
    }

    /// The largest difference that is claimed, where several are.
    fn largest_effect(&self) -> Option<Statement> {
        let better = self.comparisons().metric.better;
        let claimed: Vec<(&Comparison, usize)> =
            self.comparisons().pairs.iter().filter_map(|c| Some((c, c.better(better)?))).collect();
        if claimed.len() < 2 {
            return None;
        }
        let (pair, winner) = claimed.into_iter().max_by(|a, b| a.0.strength().total_cmp(&b.0.strength()))?;
        let loser = if winner == pair.a { pair.b } else { pair.a };
        let estimate = &self.cells.cell(winner, pair.metric)?.estimate;
        let ratio = from_side(pair, winner);
        let axis = self.comparisons().axis.as_str();
        let text = format!(
            "The largest difference in {} is at {}: {} has {}, {} {} ({}).",
            self.title(),
            self.words.place(&self.run.case(winner)?.point, &[axis]),
            self.name(winner),
            words::figure(estimate.value, estimate.unit),
            against(ratio.value),
            self.name(loser),
            self.words.interval(&ratio)
        );
        Some(Statement { text, cells: vec![self.cell(winner), self.cell(loser)] })
    }

    /// How many of the pairs differ, and the noise floor that was asked of them.
    fn claims(&self) -> Option<Statement> {
        let all = &self.comparisons().pairs;
        let first = all.first()?;
        let better = self.comparisons().metric.better;
        let claimed: Vec<&Comparison> = all.iter().filter(|c| c.better(better).is_some()).collect();
        let floor = match self.comparisons().floor {
            Some(floor) => format!(
                "identical cases differ by up to {} here: {}, {} each",
                words::percent(floor.relative),
                count(floor.twins as usize, "twin"),
                count(floor.rounds as usize, "round")
            ),
            None => "the noise floor was not measured".into(),
        };
        let short = all.iter().filter(|c| c.verdict == Verdict::Tie(TieReason::TooFewRounds)).count();
        let more = match short {
            0 => String::new(),
            n => format!(", {n} of them for want of rounds"),
        };
        let text = format!(
            "In {}, {} of {} differ by more than chance and the noise floor; the others are ties{more} ({floor}).",
            self.title(),
            claimed.len(),
            count(all.len(), "compared pair"),
        );
        let shown = if claimed.is_empty() { vec![first] } else { claimed };
        let cells: BTreeSet<CellRef> = shown.iter().flat_map(|c| [self.cell(c.a), self.cell(c.b)]).collect();
        Some(Statement { text, cells: cells.into_iter().collect() })
    }
}

/// `18 % below`, `7 % above`, `3.2 times`, then the name of the other.
fn against(ratio: f64) -> String {
    if ratio >= 2.0 { format!("{} that of", words::difference(ratio)) } else { words::difference(ratio) }
}

/// The chosen places; `steps` are all tested places in order.
fn ranges(steps: &[(u64, bool)]) -> Ranges {
    let runs = steps.chunk_by(|a, b| a.1 == b.1).filter(|run| run[0].1);
    runs.map(|run| (run[0].0, run[run.len() - 1].0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use crate::whole::Analysis;

    /// sendmsg wins from 16 KiB up, by 30 % at 64 KiB and 20 % elsewhere; below it all are alike.
    fn cost(p: &Point) -> f64 {
        let bytes = p.int_at("message_bytes").unwrap();
        let factor = match (p.text_at("mechanism").unwrap(), bytes) {
            ("sendmsg", 65536) => 0.7,
            ("sendmsg", 16384..) => 0.8,
            _ => 1.0,
        };
        factor * (1000.0 + 0.2 * bytes as f64)
    }

    fn planted() -> Synthetic {
        Synthetic { cost_ns: cost, rounds: 12, noise: 0.01, ..Default::default() }
    }

    fn told(run: &Run) -> Vec<Statement> {
        Analysis::of(run).verdict
    }

    fn with(statements: &[Statement], start: &str) -> Statement {
        let found = statements.iter().find(|s| s.text.starts_with(start));
        found.unwrap_or_else(|| panic!("no '{start}' in {statements:#?}")).clone()
    }

    #[test]
    fn wins_are_told_in_ranges_with_ratio_and_interval() {
        let run = planted().run();
        let all = told(&run);
        let win = with(&all, "sendmsg has the lowest CPU per byte at 6 of 10 points: ");
        assert!(win.text.contains("16 KiB to 256 KiB with 1 and 2 threads over veth (TCP_NODELAY on)."));
        assert!(
            win.text.contains("% interval of the ratio 0.") && win.text.contains("12 rounds"),
            "{}",
            win.text
        );
        assert_eq!(win.cells.len(), 12);
        with(&all, "sendmsg has the highest throughput at 6 of 10 points: ");
        let tie = with(&all, "At 4 of 10 points no single one has the lowest CPU per byte: ");
        assert!(tie.text.contains("64 B to 1 KiB with 1 and 2 threads"), "{}", tie.text);
        let largest = with(&all, "The largest difference in CPU per byte is at 64 KiB");
        assert!(
            largest.text.contains("sendmsg has 0.1") && largest.text.contains("30 % below"),
            "{}",
            largest.text
        );
        with(&all, "In CPU per byte, 12 of 30 compared pairs differ by more than chance");
        with(&all, "Of 30 cases, 30 are waiting part of the time");
        for s in &all {
            assert!(!s.cells.is_empty(), "{}", s.text);
            assert!(s.text.ends_with('.') && !s.text.contains("  ") && !s.text.contains(" ."), "{}", s.text);
        }
    }

    #[test]
    fn ranges_stop_where_a_claim_does() {
        let broken = |p: &Point| match p.int_at("message_bytes").unwrap() {
            16384 => 1000.0,
            _ if p.text_at("mechanism") == Some("send") => 700.0,
            _ => 1000.0,
        };
        let all = told(&Synthetic { cost_ns: broken, rounds: 12, noise: 0.01, ..Default::default() }.run());
        let win = with(&all, "send has the lowest CPU per byte at 8 of 10 points");
        assert!(
            win.text.contains("64 B to 1 KiB and 64 KiB to 256 KiB with 1 and 2 threads"),
            "{}",
            win.text
        );
    }

    #[test]
    fn nothing_is_claimed_where_nothing_differs() {
        let all = told(&Synthetic { noise: 0.03, rounds: 12, ..Default::default() }.run());
        with(&all, "Nothing is claimed to have the lowest CPU per byte at any of 10 points");
        with(&all, "In CPU per byte, 0 of 30 compared pairs");
        assert!(!all.iter().any(|s| s.text.contains("largest difference")), "{all:#?}");
    }

    #[test]
    fn one_mechanism_no_twins_and_nothing_at_all() {
        let alone = told(&Synthetic { mechanisms: vec!["send"], ..planted() }.run());
        with(&alone, "At 10 points only send was measured, so no CPU per byte is compared there; at 64 B");
        assert!(!alone.iter().any(|s| s.text.contains("points: ")), "no win without a rival: {alone:#?}");
        let blind = told(&Synthetic { twin_every: 0, ..planted() }.run());
        assert!(with(&blind, "In CPU per byte").text.contains("the noise floor was not measured"));
        let short = told(&Synthetic { rounds: 5, ..planted() }.run());
        assert!(
            with(&short, "In CPU per byte, 0 of 30").text.contains("ties, 30 of them for want of rounds")
        );
        let empty = told(&Synthetic { rounds: 0, ..planted() }.run());
        assert_eq!(empty.len(), 1);
        assert!(empty[0].cells.is_empty() && empty[0].text.starts_with("No usable sample"));
    }
}
