//! Where in the plane of two axes each way of doing one thing is best.
//!
//! Along each line through the grid the tested places fall into ranges: a range takes the ways that
//! nothing is claimed to beat at any of its places (a way that was not measured at a place is not
//! beaten there), and it ends where no such way is left. The border between two ranges lies between two
//! tested values, never finer. Pure: it reads claims (see [`crate::compare::winners`]), it makes none.

use crate::compare::study::{ALONG, Study};
use crate::compare::winners::{Outcome, Winner};
use crate::recommend::choice::{Gain, Namer, better_in, gain};
use crate::words::{self, Words, and};
use crate::{CellRef, Statement};
use std::collections::BTreeMap;
use syscost_core::axis::Point;
use syscost_experiment::run::Run;
use syscost_measure::probe;

/// Ways named in one range.
const NAMES: usize = 3;

/// What is chosen of a case's coordinates: the same way at another size is the same point here.
pub type Way = Point;

/// One tested place of a line.
#[derive(Clone, Debug)]
pub struct Step<'s> {
    pub at: u64,
    pub winner: &'s Winner,
    /// Ways with a figure here, best median first, each with its case.
    pub measured: Vec<(Way, usize)>,
    /// How many of those, from the front or anywhere, nothing is claimed to beat.
    pub good: Vec<Way>,
}

impl Step<'_> {
    /// The way that is claimed to be better than every other here.
    pub fn claimed(&self) -> Option<&Way> {
        match self.winner.outcome {
            Outcome::Wins(_) => self.good.first(),
            _ => None,
        }
    }

    pub fn case(&self, way: &Way) -> Option<usize> {
        self.measured.iter().find(|(w, _)| w == way).map(|(_, case)| *case)
    }

    /// May the way still be used here?
    fn allows(&self, way: &Way) -> bool {
        self.good.contains(way) || self.case(way).is_none()
    }
}

/// Places that differ in one number only, in ascending order.
#[derive(Clone, Debug)]
pub struct Line<'s> {
    pub probe: &'s str,
    /// What they share.
    pub held: Point,
    pub steps: Vec<Step<'s>>,
}

/// Places in a row with the same answer: the steps from `from` up to and including `to`.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    pub from: usize,
    pub to: usize,
    /// Those that nothing is claimed to beat in it, the one that wins most often first.
    pub ways: Vec<Way>,
    /// Places where the first of them is claimed to be better than every other.
    pub wins: usize,
}

/// The lines of a study along an axis of numbers, with the places where something competes.
pub fn lines<'s>(run: &Run, study: &'s Study, along: &str) -> Vec<Line<'s>> {
    let mut lines: BTreeMap<(&str, Point), Vec<Step>> = BTreeMap::new();
    for winner in &study.winners {
        let Some(at) = winner.shared.int_at(along) else { continue };
        let good: &[usize] = match &winner.outcome {
            Outcome::Wins(case) => std::slice::from_ref(case),
            Outcome::Tied(cases) => cases,
            Outcome::Alone(_) | Outcome::Nothing => continue,
        };
        let way = |case: &usize| way(run, *case);
        let step = Step {
            at,
            winner,
            measured: winner.candidates.iter().filter_map(|case| Some((way(case)?, *case))).collect(),
            good: good.iter().filter_map(way).collect(),
        };
        lines.entry((&winner.probe, winner.shared.without(along))).or_default().push(step);
    }
    let line = |((probe, held), mut steps): ((&'s str, Point), Vec<Step<'s>>)| {
        steps.sort_by_key(|s| s.at);
        Line { probe, held, steps }
    };
    lines.into_iter().map(line).collect()
}

/// What is chosen of a case's coordinates.
pub fn way(run: &Run, case: usize) -> Option<Way> {
    let case = run.case(case)?;
    let probe = probe::find(&case.probe)?;
    let mut way = case.point.clone();
    way.retain(|id| probe.chosen(id));
    Some(way)
}

impl Line<'_> {
    /// From the left, each range as long as it can be.
    pub fn ranges(&self) -> Vec<Range> {
        let mut ranges = Vec::new();
        let mut from = 0;
        while from < self.steps.len() {
            let mut ways = self.steps[from].good.clone();
            let mut to = from;
            while let Some(next) = self.steps.get(to + 1) {
                let left: Vec<Way> = ways.iter().filter(|way| next.allows(way)).cloned().collect();
                if left.is_empty() {
                    break;
                }
                (ways, to) = (left, to + 1);
            }
            let here = &self.steps[from..=to];
            let wins = |way: &Way| here.iter().filter(|s| s.claimed() == Some(way)).count();
            let leads =
                |way: &Way| here.iter().filter(|s| s.measured.first().map(|m| &m.0) == Some(way)).count();
            ways.sort_by_key(|way| std::cmp::Reverse((wins(way), leads(way))));
            let wins = ways.first().map_or(0, wins);
            ranges.push(Range { from, to, ways, wins });
            from = to + 1;
        }
        ranges
    }

    /// How many times better a way is than the next best at the same place, where that is claimed: the most.
    fn over_others(&self, study: &Study, range: &Range, way: &Way) -> Option<(u64, usize, Gain)> {
        let claimed = self.steps[range.from..=range.to].iter().filter_map(|step| {
            let case = step.case(way)?;
            let (_, next) =
                step.measured.iter().find(|(other, _)| !step.good.contains(other) && other != way)?;
            let gain = gain(&study.comparisons, case, *next).filter(|gain| gain.claimed)?;
            Some((step.at, case, gain))
        });
        claimed.max_by(|a, b| a.2.ratio.value.total_cmp(&b.2.ratio.value))
    }

    /// How many times better the first way is than the second within a range: the largest claimed gain.
    fn gain(&self, study: &Study, range: &Range, better: &Way, worse: &Way) -> Option<(u64, usize, Gain)> {
        let claimed = self.steps[range.from..=range.to].iter().filter_map(|step| {
            let (one, other) = (step.case(better)?, step.case(worse)?);
            let gain = gain(&study.comparisons, one, other).filter(|gain| gain.claimed)?;
            Some((step.at, one, gain))
        });
        claimed.max_by(|a, b| a.2.ratio.value.total_cmp(&b.2.ratio.value))
    }
}

/// What to use along each line of sizes, with the interval in which the answer changes.
pub fn statements(run: &Run, study: &Study) -> Vec<Statement> {
    let words = Words::of(run);
    let namer = Namer { run, words: &words };
    let lines = lines(run, study, ALONG.id);
    lines.iter().filter(|l| l.steps.len() > 1).map(|line| statement(&namer, study, line)).collect()
}

fn statement(namer: &Namer, study: &Study, line: &Line) -> Statement {
    let title = study.comparisons.metric.title;
    let with = namer.words.with(&line.held);
    let ranges = line.ranges();
    let cell = |case| CellRef { case, metric: study.comparisons.metric.id };
    let mut cells: Vec<CellRef> = Vec::new();
    for range in &ranges {
        for step in [&line.steps[range.from], &line.steps[range.to]] {
            cells.extend(range.ways.first().and_then(|way| step.case(way)).map(cell));
        }
    }
    let claims = line.steps.iter().filter(|s| s.claimed().is_some()).count();
    let mut parts = Vec::new();
    for (i, range) in ranges.iter().enumerate() {
        let before = i.checked_sub(1).map(|i| &ranges[i]);
        let (text, shown) = told(namer, study, line, before, range);
        parts.push(text);
        cells.extend(shown.into_iter().map(cell));
    }
    cells.sort();
    cells.dedup();
    let text = format!(
        "For {title}{with}: {}. One way is claimed to be better than every other at {claims} of {}.",
        parts.join("; "),
        words::count(line.steps.len(), "size")
    );
    Statement { text, cells }
}

/// `up to 8 KiB use send`, `from between 8 KiB and 12 KiB up use sendmsg: 1.3 times [..] less ..`
fn told(
    namer: &Namer,
    study: &Study,
    line: &Line,
    before: Option<&Range>,
    range: &Range,
) -> (String, Vec<usize>) {
    let size = |step: usize| namer.words.range(ALONG.id, line.steps[step].at, line.steps[step].at);
    let last = range.to + 1 == line.steps.len();
    let mut use_of: Vec<String> =
        range.ways.iter().take(NAMES).map(|way| name(namer, line, range, way)).collect();
    if range.ways.len() > NAMES {
        use_of.push(format!("{} more", range.ways.len() - NAMES));
    }
    let ways = match &use_of[..] {
        [one] => format!("use {one}"),
        several => format!("use any of {} (not told apart throughout)", and(several)),
    };
    let Some(before) = before else {
        let until = if last { "at every size tested".into() } else { format!("up to {}", size(range.to)) };
        let more = range.ways.first().and_then(|way| line.over_others(study, range, way));
        return gained(namer, study, format!("{until} {ways}"), more);
    };
    let from = format!("from between {} and {} up", size(before.to), size(range.from));
    let gain = range.ways.first().zip(before.ways.first());
    let gain = gain.and_then(|(better, worse)| line.gain(study, range, better, worse));
    gained(namer, study, format!("{from} {ways}"), gain)
}

/// The text with what is gained, where that is claimed.
fn gained(
    namer: &Namer,
    study: &Study,
    text: String,
    gain: Option<(u64, usize, Gain)>,
) -> (String, Vec<usize>) {
    match gain {
        Some((at, case, gain)) => {
            let text = format!(
                "{text}: {} {} than {} at {}",
                namer.words.factor(&gain.ratio),
                better_in(&study.comparisons),
                namer.name(gain.over),
                namer.words.range(ALONG.id, at, at)
            );
            (text, vec![case, gain.over])
        }
        None => (text, Vec::new()),
    }
}

/// A way's name, from a case of it in the range.
fn name(namer: &Namer, line: &Line, range: &Range, way: &Way) -> String {
    let case = line.steps[range.from..=range.to].iter().find_map(|s| s.case(way));
    case.map_or_else(String::new, |case| namer.name(case))
}
