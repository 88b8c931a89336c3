//! From which size does one class of mechanisms beat two-copy? What the two questions that ask so share.
//!
//! It reads the crossovers that [`crate::compare::crossover`] made, and compares nothing itself: an
//! answer is an interval between two tested sizes, a set of them, or none, for every pair of mechanisms
//! that differ in nothing else, by every headline metric. Places with the same answer are told together.

use super::pairs::{Pair, pairs};
use super::{Evidence, SentenceAnswer};
use crate::compare::crossover::{CrossoverOutcome, CrossoverStep};
use crate::compare::study::{ALONG, RIVALS, Study};
use crate::copies::zero_copy;
use crate::words::{self, Words, and, count};
use crate::{CellRef, Statement};
use std::collections::BTreeSet;
use syscost_core::axis::{Point, Value};
use syscost_core::decide::Verdict;
use syscost_core::sample::Better;
use syscost_core::stats::Estimate;
use syscost_measure::mechanism::Class;
use syscost_measure::probe::transfer::axes::THREADS;

const INCUMBENT: Class = Class::TwoCopy;
/// More answers than this are counted, not told: the report's crossovers list every pair.
const TOLD: usize = 16;

/// The whole answer for the mechanisms of a class.
pub fn answer(evidence: &Evidence<'_>, challenger: Class) -> SentenceAnswer {
    let lines = lines(evidence, challenger);
    if lines.is_empty() {
        return SentenceAnswer::CannotBeAnswered {
            because: format!(
                "no {} and {} mechanism have figures at the same size and otherwise equal settings",
                challenger.word(),
                INCUMBENT.word()
            ),
            command: format!("syscost run --mechanism {},{}", INCUMBENT.word(), challenger.word()),
        };
    }
    let words = Words::of(evidence.run);
    let told = together(&words, challenger, &lines);
    let mut statements: Vec<Statement> =
        told.iter().take(TOLD).map(|t| t.statement(&words, challenger)).collect();
    if told.len() > TOLD {
        let rest: Vec<&ChallengerLine<'_>> = told[TOLD..].iter().flat_map(|t| &t.lines).copied().collect();
        let text = format!(
            "{} of other pairs and places are among the crossovers of this report.",
            count(rest.len(), "answer")
        );
        statements.push(Statement { text, cells: rest.iter().flat_map(|l| l.cells()).collect() });
    }
    statements.extend(copied_after_all(evidence, &lines));
    let caveats = vec![
        "a crossover is no finer than the sizes that were run, and is only told where one is significantly better on each side."
            .to_string(),
    ];
    SentenceAnswer::Found { statements, caveats }
}

/// Every pair of the two classes; the mechanisms that the bare words mean come first.
fn lines<'a>(evidence: &Evidence<'a>, class: Class) -> Vec<ChallengerLine<'a>> {
    let of_study = |study: &'a Study| {
        let pairs = pairs(&study.over_threads, |ours| class.holds(ours), |theirs| INCUMBENT.holds(theirs));
        pairs.into_iter().map(move |pair| ChallengerLine { study, pair })
    };
    let mut lines: Vec<ChallengerLine<'a>> = evidence.studies.iter().flat_map(of_study).collect();
    // By every metric before the next pair: what is cut off is another pair, not half an answer.
    lines.sort_by_key(|l| {
        let plain = |point: &Point, class: Class| point.text(RIVALS).is_some_and(|id| class.means(id));
        (!plain(l.pair.theirs(), INCUMBENT), !plain(l.pair.ours(), class), l.pair.names().0.to_string())
    });
    lines
}

/// One pair along the sizes, seen from the challenger.
struct ChallengerLine<'a> {
    study: &'a Study,
    pair: Pair<'a>,
}

impl ChallengerLine<'_> {
    fn cells(&self) -> Vec<CellRef> {
        let pairs = self.pair.steps().iter().flat_map(|s| s.others.iter().chain([&s.cases]));
        let cases = pairs.flat_map(|(a, b)| [*a, *b]);
        cases.map(|case| CellRef { case, metric: self.pair.line.metric }).collect()
    }

    /// The challenger's cases.
    fn cases(&self) -> impl Iterator<Item = usize> {
        self.pair.steps().iter().map(|step| self.pair.cases(step).0)
    }

    /// `from between 1 KiB and 4 KiB up`: completes "it beats the other".
    fn from(&self, words: &Words) -> String {
        let show = |at: u64| words.range(ALONG.id, at, at);
        let (steps, challenger) = (self.pair.steps(), self.pair.side);
        match &self.pair.line.outcome {
            CrossoverOutcome::Crossovers(intervals) => match intervals[..] {
                [i] if i.below == challenger => {
                    format!("only up to between {} and {}", show(i.low), show(i.high))
                }
                [i] => format!("from between {} and {} up", show(i.low), show(i.high)),
                _ => {
                    let list: Vec<String> = intervals
                        .iter()
                        .map(|i| format!("between {} and {}", show(i.low), show(i.high)))
                        .collect();
                    format!("in more than one range, crossing {}", and(&list))
                }
            },
            CrossoverOutcome::Always(side) if *side == challenger => {
                let all = steps.iter().all(|s| s.better.is_some());
                if all { "at every size tested".into() } else { "wherever the two differ".into() }
            }
            CrossoverOutcome::Always(_) | CrossoverOutcome::NeverDiffer => "at no size".into(),
            CrossoverOutcome::TooFewPlaces => match steps.first().and_then(|s| s.better) {
                Some(side) if side == challenger => "at the only size that has both".into(),
                _ => "not at the only size that has both".into(),
            },
        }
    }

    /// `it is better at 4 KiB to 64 KiB, pack_send is better at 64 B and it is undecided at 1 KiB`
    fn detail(&self, words: &Words) -> String {
        let theirs = words.name(self.pair.theirs(), RIVALS.id, &self.pair.line.held());
        let at = |who: Option<bool>, same: bool| {
            let is = |s: &CrossoverStep| {
                let alike = s.decision.verdict == Verdict::Same;
                self.pair.better(s) == who && (who.is_some() || alike == same)
            };
            let runs = self.pair.steps().chunk_by(|a, b| is(a) == is(b)).filter(|run| is(&run[0]));
            let ranges: Vec<String> =
                runs.map(|run| words.range(ALONG.id, run[0].at, run[run.len() - 1].at)).collect();
            (!ranges.is_empty()).then(|| and(&ranges))
        };
        let own = at(Some(true), false).map(|sizes| format!("it is better at {sizes}"));
        let other = at(Some(false), false).map(|sizes| format!("{theirs} is better at {sizes}"));
        let same = at(None, true).map(|sizes| format!("they are the same within 3 % at {sizes}"));
        let open = at(None, false).map(|sizes| format!("it is undecided at {sizes}"));
        and(&[own, other, same, open].into_iter().flatten().collect::<Vec<_>>())
    }

    /// Where it is first better; else where it comes nearest.
    fn decisive(&self) -> Option<(u64, Estimate)> {
        let ratios = self.pair.steps().iter().map(|s| (s, self.pair.ratio(s)));
        let won = |s: &CrossoverStep| self.pair.better(s) == Some(true);
        let better = |ratio: &Estimate| match self.study.comparisons.metric.better {
            Better::Higher => ratio.value,
            _ => 1.0 / ratio.value,
        };
        let mut ratios: Vec<(&CrossoverStep, Estimate)> = ratios.collect();
        if let Some(first) = ratios.iter().position(|(s, _)| won(s)) {
            return Some((ratios[first].0.at, ratios[first].1));
        }
        ratios.sort_by(|(_, x), (_, y)| better(y).total_cmp(&better(x)));
        ratios.first().map(|(s, ratio)| (s.at, *ratio))
    }

    /// ` averaged over 4 thread counts`
    fn averaged(&self) -> Option<String> {
        let counts = self.pair.steps().iter().map(|step| step.others.len() + 1).max()?;
        (counts > 1).then(|| format!("averaged over {counts} thread counts"))
    }
}

/// Lines of one pair and metric with the same answer.
struct ToldLines<'a> {
    lines: Vec<&'a ChallengerLine<'a>>,
    /// Who, from where, and where who is better.
    key: (String, String, String),
}

fn together<'a>(words: &Words, class: Class, lines: &'a [ChallengerLine<'a>]) -> Vec<ToldLines<'a>> {
    let mut told: Vec<ToldLines<'a>> = Vec::new();
    for line in lines {
        let held = line.pair.line.held();
        let name = |point: &Point| words.name(point, RIVALS.id, &held);
        let who = format!(
            "By {}, {} ({}) beats {} ({})",
            line.study.comparisons.metric.title,
            class.word(),
            name(line.pair.ours()),
            INCUMBENT.word(),
            name(line.pair.theirs())
        );
        let key = (who, line.from(words), line.detail(words));
        match told.iter_mut().find(|t| t.key == key) {
            Some(same) => same.lines.push(line),
            None => told.push(ToldLines { lines: vec![line], key }),
        }
    }
    told
}

impl ToldLines<'_> {
    fn statement(&self, words: &Words, class: Class) -> Statement {
        let (who, from, detail) = &self.key;
        let text =
            format!("{who} {from}{}: {detail}.{}", places(words, &self.lines), self.figure(words, class));
        Statement { text, cells: self.lines.iter().flat_map(|l| l.cells()).collect() }
    }

    /// The ratio that decides at the first of its places.
    fn figure(&self, words: &Words, class: Class) -> String {
        let line = self.lines[0];
        let Some((at, ratio)) = line.decisive() else { return String::new() };
        let several = self.lines.len() > 1;
        let place = if several { place(words, &line.pair.line.held()) } else { String::new() };
        let steps = line.pair.steps();
        let won = steps.iter().any(|s| s.at == at && line.pair.better(s) == Some(true));
        let lead = if won || steps.len() == 1 { "At" } else { "Its best ratio is at" };
        format!(
            " {lead} {}{place}{} the {} of {} is {} that of {} ({}).",
            words.range(ALONG.id, at, at),
            if lead == "At" { "" } else { ":" },
            line.study.comparisons.metric.title,
            class.word(),
            words::difference(ratio.value),
            INCUMBENT.word(),
            words.interval(&ratio)
        )
    }
}

/// ` with 1 and 2 threads over veth (TCP_NODELAY on)`: places that differ in threads only are one; ` averaged over 4
/// thread counts over veth`.
fn places(words: &Words, lines: &[&ChallengerLine<'_>]) -> String {
    let mut places: Vec<(Point, Vec<Value>)> = Vec::new();
    for line in lines {
        let held = line.pair.line.held();
        let rest = held.without(THREADS.id);
        let threads = held.get(THREADS.id).cloned();
        match places.iter_mut().find(|(place, _)| *place == rest) {
            Some((_, list)) => list.extend(threads),
            None => places.push((rest, threads.into_iter().collect())),
        }
    }
    let told: Vec<String> = places
        .into_iter()
        .map(|(rest, mut threads)| {
            threads.sort();
            threads.dedup();
            let with =
                if threads.is_empty() { String::new() } else { format!("with {}", words::threads(&threads)) };
            let parts = [with, words.place(&rest, &["threads"])];
            parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join(" ")
        })
        .filter(|place| !place.is_empty())
        .collect();
    let averaged = lines.iter().find_map(|line| line.averaged());
    averaged
        .into_iter()
        .chain([told.join("; and ")])
        .filter(|part| !part.is_empty())
        .fold(String::new(), |all, part| all + " " + &part)
}

fn place(words: &Words, held: &Point) -> String {
    let place = words.place(held, &[]);
    if place.is_empty() { place } else { format!(" with {place}") }
}

/// What the completions and audits of the challengers say: zero-copy is claimed from nothing else.
fn copied_after_all(evidence: &Evidence<'_>, lines: &[ChallengerLine<'_>]) -> Vec<Statement> {
    let cases: BTreeSet<usize> = lines.iter().flat_map(ChallengerLine::cases).collect();
    let about = |s: &Statement| s.cells.iter().any(|cell| cases.contains(&cell.case));
    zero_copy::statements(evidence.run, evidence.cells).into_iter().filter(about).collect()
}

#[cfg(test)]
mod tests;
