//! What to use: where along a line of sizes (or rates) each way of doing one thing is best.
//!
//! The tested places fall into ranges: a range takes the ways that nothing is significantly better than at any of its
//! places (a way that was not measured at a place is not beaten there), and it ends where no such way is left.
//! One recommendation holds over every thread count; where no way does, each count has its own. The border between
//! two ranges lies between two tested values, never finer. Pure: it reads comparisons (see
//! [`crate::compare::winners`]), it makes none.

use crate::compare::study::Study;
use crate::compare::winners::{Outcome, Winner};
use crate::recommend::choice::{Gain, Namer, gain};
use crate::words::{Words, count};
use crate::{CellRef, Statement};
use std::collections::BTreeMap;
use syscost_core::axis::Point;
use syscost_experiment::run::Run;
use syscost_measure::probe::transfer::axes::THREADS;

/// Ways named in one range.
const NAMES: usize = 3;

/// What is chosen of a case's coordinates: the same way at another size is the same point here.
pub type RegionWay = Point;

/// One tested place of a line.
#[derive(Clone, Debug)]
pub struct RegionStep<'s> {
    pub at: u64,
    pub winner: &'s Winner,
    /// Ways with a figure here, best median first, each with its case.
    pub measured: Vec<(RegionWay, usize)>,
    /// Those of them that nothing is significantly better than.
    pub good: Vec<RegionWay>,
}

impl RegionStep<'_> {
    /// The way that is significantly better than every other here.
    pub fn significant(&self) -> Option<&RegionWay> {
        match self.winner.outcome {
            Outcome::Wins(_) => self.good.first(),
            _ => None,
        }
    }

    pub fn case(&self, way: &RegionWay) -> Option<usize> {
        self.measured.iter().find(|(w, _)| w == way).map(|(_, case)| *case)
    }

    /// May the way still be used here?
    fn allows(&self, way: &RegionWay) -> bool {
        self.good.contains(way) || self.case(way).is_none()
    }
}

/// Places that differ in one number only, in ascending order.
#[derive(Clone, Debug)]
pub struct RegionLine<'s> {
    pub probe: &'s str,
    /// What they share.
    pub held: Point,
    pub steps: Vec<RegionStep<'s>>,
}

/// Places in a row with the same answer: from one value up to and including another.
#[derive(Clone, Debug)]
pub struct Range<'l> {
    pub from: u64,
    pub to: u64,
    /// Those that nothing is significantly better than in it, the one that wins most often first; none where it depends on
    /// the line.
    pub ways: Vec<RegionWay>,
    steps: Vec<&'l RegionStep<'l>>,
}

/// The lines of a study along an axis of numbers, with the places where something competes.
pub fn lines<'s>(run: &Run, study: &'s Study, along: &str) -> Vec<RegionLine<'s>> {
    let mut lines: BTreeMap<(&str, Point), Vec<RegionStep>> = BTreeMap::new();
    for winner in &study.winners {
        let Some(at) = winner.shared.int_at(along) else { continue };
        let good = winner.outcome.unbeaten();
        if good.is_empty() {
            continue;
        }
        let way = |case: &usize| way(run, winner, *case);
        let step = RegionStep {
            at,
            winner,
            measured: winner.candidates.iter().filter_map(|case| Some((way(case)?, *case))).collect(),
            good: good.iter().filter_map(way).collect(),
        };
        lines.entry((&winner.probe, winner.shared.without(along))).or_default().push(step);
    }
    let line = |((probe, held), mut steps): ((&'s str, Point), Vec<RegionStep<'s>>)| {
        steps.sort_by_key(|s| s.at);
        RegionLine { probe, held, steps }
    };
    lines.into_iter().map(line).collect()
}

/// What tells a case from the others at its place.
fn way(run: &Run, winner: &Winner, case: usize) -> Option<RegionWay> {
    let mut way = run.case(case)?.point.clone();
    way.retain(|id| winner.shared.get(id).is_none());
    Some(way)
}

/// From the left, each range as long as it can be on all these lines together.
pub fn ranges<'l>(lines: &[&'l RegionLine]) -> Vec<Range<'l>> {
    let mut places: BTreeMap<u64, Vec<&RegionStep>> = BTreeMap::new();
    for step in lines.iter().flat_map(|line| &line.steps) {
        places.entry(step.at).or_default().push(step);
    }
    let mut ranges: Vec<Range> = Vec::new();
    for (at, steps) in places {
        let allowed = |way: &&RegionWay| steps.iter().all(|step| step.allows(way));
        if let Some(last) = ranges.last_mut() {
            let left: Vec<RegionWay> = last.ways.iter().filter(allowed).cloned().collect();
            if !left.is_empty() {
                (last.ways, last.to) = (left, at);
                last.steps.extend(steps);
                continue;
            }
        }
        let mut ways: Vec<RegionWay> = Vec::new();
        for way in steps.iter().flat_map(|step| &step.good).filter(allowed) {
            if !ways.contains(way) {
                ways.push(way.clone());
            }
        }
        ranges.push(Range { from: at, to: at, ways, steps });
    }
    for Range { ways, steps, .. } in &mut ranges {
        let wins = |way: &RegionWay| steps.iter().filter(|s| s.significant() == Some(way)).count();
        let leads =
            |way: &RegionWay| steps.iter().filter(|s| s.measured.first().map(|m| &m.0) == Some(way)).count();
        ways.sort_by_key(|way| std::cmp::Reverse((wins(way), leads(way))));
    }
    ranges
}

impl Range<'_> {
    /// Where its first way is significantly better by most: than another, or than the best that it beats.
    fn gain(&self, study: &Study, over: Option<&RegionWay>) -> Option<(&RegionStep<'_>, usize, Gain)> {
        let way = self.ways.first()?;
        let claimed = self.steps.iter().filter_map(|step| {
            let case = step.case(way)?;
            let beaten = |(other, _): &&(RegionWay, usize)| match over {
                Some(over) => over == other,
                None => !step.good.contains(other),
            };
            let (_, other) = step.measured.iter().find(beaten)?;
            let gain = gain(&study.comparisons, case, *other).filter(|gain| gain.significant)?;
            Some((*step, case, gain))
        });
        claimed.max_by(|a, b| a.2.ratio.value.total_cmp(&b.2.ratio.value))
    }
}

/// What to use by one metric, for everything that shares what is held.
struct Recommendation<'l> {
    study: &'l Study,
    probe: &'l str,
    held: Point,
    /// Does it hold for several thread counts?
    joint: bool,
    ranges: Vec<Range<'l>>,
    /// Metrics by which nothing is significantly better than what it says, and their cells.
    also: Vec<&'static str>,
    cells: Vec<CellRef>,
}

/// What to use, by the first metric before the others; a metric that supports the same choices is named with it.
pub fn statements(run: &Run, studies: &[Study], along: &str) -> Vec<Statement> {
    let words = Words::of(run);
    let namer = Namer { run, words: &words };
    let lines: Vec<(&Study, Vec<RegionLine>)> = studies.iter().map(|s| (s, lines(run, s, along))).collect();
    let mut told: Vec<Recommendation> = Vec::new();
    for recommendation in lines.iter().flat_map(|(study, lines)| recommendations(study, lines)) {
        match told.iter_mut().find(|told| told.holds_for(&recommendation)) {
            Some(same) => {
                same.also.push(recommendation.study.comparisons.metric.title);
                same.cells.extend(recommendation.cells);
            }
            None => told.push(recommendation),
        }
    }
    told.into_iter().map(|recommendation| recommendation.statement(&namer, along)).collect()
}

fn recommendations<'l>(study: &'l Study, lines: &'l [RegionLine]) -> Vec<Recommendation<'l>> {
    let mut grids: BTreeMap<(&str, Point), Vec<&RegionLine>> = BTreeMap::new();
    for line in lines {
        grids.entry((line.probe, line.held.without(THREADS.id))).or_default().push(line);
    }
    let mut found = Vec::new();
    for ((probe, held), mut lines) in grids {
        lines.sort_by_key(|line| line.held.int(THREADS));
        let of = |held: Point, lines: &[&'l RegionLine]| {
            let ranges = ranges(lines);
            let ends = ranges.iter().flat_map(|range| {
                let ends = [range.steps.first(), range.steps.last()].into_iter().flatten();
                ends.filter_map(|step| range.ways.first().and_then(|way| step.case(way)))
            });
            let cells = ends.map(|case| CellRef { case, metric: study.comparisons.metric.id }).collect();
            Recommendation { study, probe, held, joint: lines.len() > 1, ranges, also: Vec::new(), cells }
        };
        let all = of(held, &lines);
        if lines.len() > 1 && all.ranges.iter().all(|range| !range.ways.is_empty()) {
            found.push(all);
        } else {
            found.extend(lines.iter().map(|line| of(line.held.clone(), &[*line])));
        }
    }
    found
}

impl Recommendation<'_> {
    fn steps(&self) -> impl Iterator<Item = &RegionStep<'_>> {
        self.ranges.iter().flat_map(|range| range.steps.iter().copied())
    }

    /// Is nothing significantly better than these choices at the same places by another metric?
    fn holds_for(&self, other: &Recommendation) -> bool {
        let chosen = |at: u64| self.ranges.iter().find(|r| r.from <= at && at <= r.to)?.ways.first();
        let open = |r: &Recommendation| r.steps().all(|step| step.good.len() == step.measured.len());
        (self.probe, &self.held) == (other.probe, &other.held)
            && open(self) == open(other)
            && other.steps().all(|step| chosen(step.at).is_some_and(|way| step.allows(way)))
    }

    fn statement(mut self, namer: &Namer, along: &str) -> Statement {
        let comparisons = &self.study.comparisons;
        let title = comparisons.metric.title;
        let mut scope = namer.words.place(&self.held, &[]);
        if scope.starts_with(|c: char| c.is_ascii_digit()) {
            scope.insert_str(0, "with ");
        }
        if self.joint {
            scope = format!("{scope} at every thread count").trim_start().to_string();
        }
        let places = count(self.steps().count(), "point");
        let wins = self.steps().filter(|step| step.significant().is_some()).count();
        let mut text = if self.steps().all(|step| step.good.len() == step.measured.len()) {
            let same = self.steps().all(|step| matches!(step.winner.outcome, Outcome::Same(_)));
            let why = if same { ": all are the same within 3 %" } else { "; give the run more time" };
            format!("For {title} {scope}, nothing was significantly better at any of {places}{why}.")
        } else {
            let parts: Vec<String> = (0..self.ranges.len()).map(|at| self.part(namer, along, at)).collect();
            format!(
                "For {title} {scope}: {}. One way was significantly better than every other at {wins} of {places}.",
                parts.join("; ")
            )
        };
        for title in &self.also {
            text.push_str(&format!(" For {title} nothing was significantly better than these."));
        }
        self.cells.sort();
        self.cells.dedup();
        Statement { text: text.replace(" :", ":").replace(" ,", ","), cells: self.cells }
    }

    /// `up to 8 KiB use send`, `from between 8 KiB and 12 KiB up use sendmsg: 1.3x better [1.2, 1.4] than send at ..`
    fn part(&mut self, namer: &Namer, along: &str, at: usize) -> String {
        let range = &self.ranges[at];
        let show = |value: u64| namer.words.range(along, value, value);
        let before = at.checked_sub(1).map(|before| &self.ranges[before]);
        let place = match before {
            Some(before) => format!("from between {} and {} up", show(before.to), show(range.from)),
            None if self.ranges.len() > 1 => format!("up to {}", show(range.to)),
            None if range.from == range.to => format!("at {}", show(range.from)),
            None => format!("from {}", namer.words.range(along, range.from, range.to)),
        };
        let cases = range.ways.iter().filter_map(|way| range.steps.iter().find_map(|step| step.case(way)));
        let mut names: Vec<String> = cases.take(NAMES).map(|case| namer.name(case)).collect();
        let same = range.steps.iter().all(|step| matches!(step.winner.outcome, Outcome::Same(_)));
        let open = match (names.len() > 1, same) {
            (false, _) => "",
            (true, true) => " (the same within 3 %)",
            (true, false) => " (undecided)",
        };
        if range.ways.len() > NAMES {
            names.push(format!("{} more", range.ways.len() - NAMES));
        }
        let text = format!("{place} use {}{open}", names.join(" or "));
        let next = before.and_then(|before| range.gain(self.study, before.ways.first()));
        let Some((step, case, gain)) = next.or_else(|| range.gain(self.study, None)) else { return text };
        let metric = self.study.comparisons.metric.id;
        self.cells.extend([case, gain.over].map(|case| CellRef { case, metric }));
        let held: Vec<&str> = self.held.names().map(|name| name.as_str()).collect();
        format!(
            "{text}: {} better than {} at {}",
            namer.words.factor(&gain.ratio),
            namer.name(gain.over),
            namer.words.place(&step.winner.shared, &held)
        )
    }
}
