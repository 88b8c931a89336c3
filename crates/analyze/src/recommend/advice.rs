//! The choice that the claims support, as one paragraph: what to use at which sizes.
//!
//! A choice is good at a size if at every tested place there (every thread count) it wins or is not
//! told apart from the best; a range takes the choice that is good over the most sizes in a row.
//! Of several that do, the one that wins more often is taken, then the one whose figures are in front.
//! Where no choice is good everywhere, that is said. Nothing here compares: it reads claims.

use crate::compare::study::{ALONG, RIVALS, Study};
use crate::compare::winners::{Outcome, Winner};
use crate::compare::{Comparison, TieReason, Verdict};
use crate::recommend::verdict::from_side;
use crate::words::{self, Words, and};
use crate::{CellRef, Statement};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::axis::{IntAxis, Point};
use syscost_core::sample::Better;
use syscost_core::stats::Estimate;
use syscost_core::units::{count, significant};
use syscost_experiment::run::Run;
use syscost_measure::probe::transfer::axes::THREADS;

/// The other axis of a grid: advice holds over all its values.
const ACROSS: IntAxis = THREADS;
/// Combinations of the other axes that get a paragraph of their own.
const COMBINATIONS: usize = 4;
/// Choices that are beaten at one place in so many, or fewer, by another metric still hold by it.
const FEW: usize = 4;

/// One statement for each combination of the other axes, by the first study; what the others say
/// differently is named. Empty where nothing competes over sizes.
pub fn advice(run: &Run, studies: &[Study]) -> Vec<Statement> {
    let Some(first) = studies.first() else { return Vec::new() };
    let words = Words::of(run);
    let places = grids(first);
    let statements = places.iter().take(COMBINATIONS).filter_map(|(rest, winners)| {
        let grid = Grid::of(run, &words, first, winners);
        let (mut text, mut cells) = grid.advise(rest)?;
        for other in &studies[1..] {
            let grids = grids(other);
            let Some((_, winners)) = grids.iter().find(|(r, _)| r == rest) else { continue };
            let other = Grid::of(run, &words, other, winners);
            let (more, shown) = other.beside(&grid);
            text.push_str(&more);
            cells.extend(shown);
        }
        let mut seen = BTreeSet::new();
        cells.retain(|c| seen.insert(c.clone()));
        Some(Statement { text, cells })
    });
    statements.collect()
}

/// The contested places by what they share beside size and threads.
fn grids(study: &Study) -> Vec<(Point, Vec<&Winner>)> {
    let mut grids: BTreeMap<Point, Vec<&Winner>> = BTreeMap::new();
    for winner in &study.winners {
        let contested = matches!(winner.outcome, Outcome::Wins(_) | Outcome::Tied(_));
        if contested && winner.shared.int(ALONG).is_some() {
            grids.entry(winner.shared.without(ALONG.id).without(ACROSS.id)).or_default().push(winner);
        }
    }
    grids.into_iter().collect()
}

/// The places of one combination.
struct Grid<'a> {
    run: &'a Run,
    words: &'a Words,
    study: &'a Study,
    winners: &'a [&'a Winner],
    /// The same by size, with who is best at each place.
    places: BTreeMap<u64, Vec<(&'a Winner, Vec<String>)>>,
}

/// Sizes in a row with one choice, or with none that is good at every place.
#[derive(Clone, Debug, PartialEq)]
struct Range {
    choice: Option<String>,
    sizes: Vec<u64>,
    /// Does the choice win anywhere in it, or is it tied throughout?
    wins: bool,
}

/// A choice not taken: where it is claimed to be worse, and by how much.
#[derive(Clone, Debug, Default)]
struct Rival {
    /// Places where it was compared with the choice.
    points: usize,
    /// Its figure over the choice's, where that is claimed to be worse, and its case.
    ratios: Vec<(f64, usize)>,
}

impl Rival {
    /// The smallest and the largest ratio.
    fn extremes(&self) -> ((f64, usize), (f64, usize)) {
        let mut sorted = self.ratios.clone();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        (sorted[0], sorted[sorted.len() - 1])
    }

    fn say(&self) -> String {
        let ((low, _), (high, _)) = self.extremes();
        let (low, high) = (significant(low), significant(high));
        let times = if low == high { low } else { format!("{low} to {high}") };
        format!("{times} times as much (claimed at {} of {})", self.ratios.len(), count(self.points, "point"))
    }
}

/// A place where something is claimed to be better than what was chosen.
struct Beaten<'a> {
    place: &'a Winner,
    chosen: usize,
    by: usize,
    pair: &'a Comparison,
}

fn strongest<'a>(all: impl IntoIterator<Item = Beaten<'a>>) -> Option<Beaten<'a>> {
    all.into_iter().max_by(|a, b| a.pair.strength().total_cmp(&b.pair.strength()))
}

/// `12 % above`, `3.1 times that of`: what stands before whom something is compared with.
fn surpasses(ratio: &Estimate) -> String {
    words::difference(ratio.value).replace("times", "times that of")
}

/// Wins of a choice at the places of a size; `None` where something is claimed to beat it.
fn wins(name: &String, places: &[(&Winner, Vec<String>)]) -> Option<usize> {
    let good = places.iter().all(|(_, best)| best.contains(name));
    let won = places.iter().filter(|(winner, _)| matches!(winner.outcome, Outcome::Wins(_)));
    good.then(|| won.count())
}

impl<'a> Grid<'a> {
    fn of(run: &'a Run, words: &'a Words, study: &'a Study, winners: &'a [&'a Winner]) -> Grid<'a> {
        let mut grid = Grid { run, words, study, winners, places: BTreeMap::new() };
        for winner in winners {
            if let Some(size) = winner.shared.int(ALONG) {
                let best = grid.best(winner);
                grid.places.entry(size).or_default().push((winner, best));
            }
        }
        grid
    }

    fn name(&self, case: usize) -> String {
        let value = self.run.case(case).and_then(|c| c.point.get(RIVALS.id));
        value.map_or_else(String::new, |v| self.words.value(RIVALS.id, v))
    }

    fn superlative(&self) -> &'static str {
        if self.study.comparisons.metric.better == Better::Higher { "highest" } else { "lowest" }
    }

    /// The places of these sizes.
    fn at(&self, sizes: &[u64]) -> impl Iterator<Item = &'a Winner> {
        sizes.iter().filter_map(|size| self.places.get(size)).flatten().map(|(winner, _)| *winner)
    }

    fn best(&self, winner: &Winner) -> Vec<String> {
        match &winner.outcome {
            Outcome::Wins(case) => vec![self.name(*case)],
            Outcome::Tied(cases) => cases.iter().map(|c| self.name(*c)).collect(),
            Outcome::Alone(_) | Outcome::Nothing => Vec::new(),
        }
    }

    /// The case of a choice at a place.
    fn case_of(&self, choice: &String, winner: &Winner) -> Option<usize> {
        winner.candidates.iter().copied().find(|c| self.name(*c) == *choice)
    }

    /// How many have a better figure at a place, claimed or not.
    fn behind(&self, name: &String, winner: &Winner) -> usize {
        winner.candidates.iter().take_while(|c| self.name(**c) != *name).count()
    }

    fn ranges(&self) -> Vec<Range> {
        let sizes: Vec<u64> = self.places.keys().copied().collect();
        let places: Vec<_> = self.places.values().collect();
        let names: BTreeSet<&String> = places.iter().copied().flatten().flat_map(|(_, best)| best).collect();
        let mut ranges: Vec<Range> = Vec::new();
        let mut from = 0;
        while from < sizes.len() {
            // The longest run; among equals the one that wins more often, then the one whose figures are in front.
            let run_of = |name: &String| {
                let wins: Vec<usize> = places[from..].iter().map_while(|p| wins(name, p)).collect();
                let behind = places[from..].iter().take(wins.len()).copied().flatten();
                let behind: usize = behind.map(|(winner, _)| self.behind(name, winner)).sum();
                (wins.len(), wins.iter().sum::<usize>(), Reverse(behind))
            };
            let longest = names.iter().map(|n| (run_of(n), *n)).max_by_key(|(run, _)| *run);
            match longest {
                Some(((length, wins, _), name)) if length > 0 => {
                    let sizes = sizes[from..from + length].to_vec();
                    ranges.push(Range { choice: Some(name.clone()), sizes, wins: wins > 0 });
                    from += length;
                }
                _ => {
                    match ranges.last_mut().filter(|r| r.choice.is_none()) {
                        Some(last) => last.sizes.push(sizes[from]),
                        None => ranges.push(Range { choice: None, sizes: vec![sizes[from]], wins: false }),
                    }
                    from += 1;
                }
            }
        }
        ranges
    }

    fn span(&self, range: &Range) -> String {
        let (from, to) =
            (range.sizes.first().copied().unwrap_or(0), range.sizes.last().copied().unwrap_or(0));
        self.words.range(ALONG.id, from, to)
    }

    /// `send for 64 B to 64 KiB`, with the ranges that have a choice.
    fn choices(&self, ranges: &[Range]) -> Vec<String> {
        let say = |r: &Range| Some(format!("{} for {}", r.choice.as_ref()?, self.span(r)));
        ranges.iter().filter_map(say).collect()
    }

    fn advise(&self, rest: &Point) -> Option<(String, Vec<CellRef>)> {
        let ranges = self.ranges();
        let metric = &self.study.comparisons.metric;
        let place = self.words.place(rest, &[RIVALS.id, ALONG.id, ACROSS.id]);
        let choices = self.choices(&ranges);
        if choices.is_empty() {
            let text = format!(
                "No one choice has the {} {} {place} at every thread count tested: see who wins where.",
                self.superlative(),
                metric.title
            );
            return (!ranges.is_empty()).then_some((text.replace("  ", " "), Vec::new()));
        }
        if self.undecided() {
            let text = format!(
                "No choice is claimed to have a better {} {place} than another, at any size tested{}.",
                metric.title,
                self.too_few_rounds()
            );
            return Some((text.replace("  ", " "), Vec::new()));
        }
        let at = if place.is_empty() { String::new() } else { format!(" {place}") };
        let mut text = format!("For the {} {}{at}, use {}", self.superlative(), metric.title, and(&choices));
        text.push_str(": no other is claimed to be better there at any thread count tested.");
        let mut cells = Vec::new();
        for range in &ranges {
            if let Some((sentence, shown)) = self.margin(range) {
                text.push_str(&sentence);
                cells.extend(shown);
            }
        }
        let open: Vec<String> = ranges.iter().filter(|r| r.choice.is_none()).map(|r| self.span(r)).collect();
        if !open.is_empty() {
            text.push_str(&format!(
                " At {} the best choice depends on the thread count: see who wins where.",
                and(&open)
            ));
        }
        let (sentence, shown) = self.against(&ranges);
        text.push_str(&sentence);
        cells.extend(shown);
        Some((text, cells))
    }

    /// What the others cost beside the choices, where that is claimed: `Against it, send_fields needs
    /// 1.5 to 7.9 times as much (at 9 of 10 points)`.
    fn against(&self, ranges: &[Range]) -> (String, Vec<CellRef>) {
        let comparisons = &self.study.comparisons;
        let mut rivals: BTreeMap<String, Rival> = BTreeMap::new();
        for range in ranges {
            let Some(choice) = &range.choice else { continue };
            for winner in self.at(&range.sizes) {
                let Some(chosen) = self.case_of(choice, winner) else { continue };
                for rival in winner.candidates.iter().copied().filter(|c| *c != chosen) {
                    let Some(pair) = comparisons.between(chosen, rival) else { continue };
                    let seen = rivals.entry(self.name(rival)).or_default();
                    seen.points += 1;
                    if comparisons.beats(chosen, rival) {
                        seen.ratios.push((from_side(pair, rival).value, rival));
                    }
                }
            }
        }
        let mut worst: Vec<(String, Rival)> =
            rivals.into_iter().filter(|(_, r)| !r.ratios.is_empty()).collect();
        worst.sort_by(|a, b| b.1.extremes().1.0.total_cmp(&a.1.extremes().1.0));
        let told: Vec<String> = worst.iter().map(|(name, rival)| format!("{name} {}", rival.say())).collect();
        if told.is_empty() {
            return (String::new(), Vec::new());
        }
        let cell = |case| CellRef { case, metric: comparisons.metric.id };
        let cells =
            worst.iter().flat_map(|(_, r)| [cell(r.extremes().0.1), cell(r.extremes().1.1)]).collect();
        (format!(" Against that, in {}: {}.", comparisons.metric.title, told.join("; ")), cells)
    }

    /// Is nobody told apart anywhere?
    fn undecided(&self) -> bool {
        self.winners.iter().all(|w| self.ties_all(w))
    }

    /// Why nothing could be claimed, where that is the reason for every pair.
    fn too_few_rounds(&self) -> String {
        let few = |c: &Comparison| matches!(c.verdict, Verdict::Tie(TieReason::TooFewRounds));
        let pairs = &self.study.comparisons.pairs;
        let most = pairs.iter().map(|c| c.ratio.estimate.n).max().unwrap_or(0);
        if pairs.iter().all(few) {
            let rounds = words::count(most as usize, "round");
            format!(": with {rounds} no difference could be, whatever its size; give the run more time")
        } else {
            String::new()
        }
    }

    /// Does a place tell nobody apart?
    fn ties_all(&self, winner: &Winner) -> bool {
        matches!(&winner.outcome, Outcome::Tied(cases) if cases.len() == winner.candidates.len())
    }

    /// What the choice of a range gains at most over the next best, where it wins.
    fn margin(&self, range: &Range) -> Option<(String, Vec<CellRef>)> {
        let choice = range.choice.as_ref()?;
        let comparisons = &self.study.comparisons;
        let won = self.at(&range.sizes).filter_map(|w| match w.outcome {
            Outcome::Wins(case) => {
                let next = w.candidates.iter().copied().find(|c| self.name(*c) != *choice)?;
                Some((w, case, next, comparisons.between(case, next)?))
            }
            _ => None,
        });
        let largest = won.max_by(|a, b| a.3.strength().total_cmp(&b.3.strength()));
        let cell = |case| CellRef { case, metric: comparisons.metric.id };
        let Some((winner, case, next, pair)) = largest else {
            return Some((
                format!(" For {} it is not told apart from the next best.", self.span(range)),
                Vec::new(),
            ));
        };
        let ratio = from_side(pair, case);
        let text = format!(
            " {choice} is up to {} the next best ({} at {}; {}).",
            surpasses(&ratio),
            self.name(next),
            self.words.place(&winner.shared, &self.words.constant()),
            self.words.interval(&ratio)
        );
        Some((text, vec![cell(case), cell(next)]))
    }

    /// Whether this metric supports the same choices as the first one.
    fn beside(&self, first: &Grid) -> (String, Vec<CellRef>) {
        let title = self.study.comparisons.metric.title;
        if self.undecided() && first.undecided() {
            return (format!(" The same is true of {title}."), Vec::new());
        }
        let (points, beaten) = self.beaten(first);
        let many = beaten.len();
        let Some(worst) = strongest(beaten) else {
            return (format!(" The same choices hold for {title}."), Vec::new());
        };
        if many <= points / FEW {
            return self.but_for(&worst, many, points);
        }
        let choices = self.choices(&self.ranges());
        if choices.is_empty() {
            return (format!(" For {title} no choice is best at every thread count."), Vec::new());
        }
        (format!(" For {title}: {}.", and(&choices)), Vec::new())
    }

    /// Of how many places, and at which, something is claimed to be better here than what another grid chose.
    fn beaten(&self, first: &Grid) -> (usize, Vec<Beaten<'a>>) {
        let comparisons = &self.study.comparisons;
        let (mut points, mut beaten) = (0, Vec::new());
        for range in first.ranges() {
            let Some(choice) = range.choice else { continue };
            for place in self.at(&range.sizes) {
                let Some(chosen) = self.case_of(&choice, place) else { continue };
                points += 1;
                let better = place.candidates.iter().copied().filter(|c| comparisons.beats(*c, chosen));
                let by = better.filter_map(|by| {
                    Some(Beaten { place, chosen, by, pair: comparisons.between(by, chosen)? })
                });
                beaten.extend(strongest(by));
            }
        }
        (points, beaten)
    }

    /// The same choices hold, but for a few places: the worst of them is told.
    fn but_for(&self, worst: &Beaten, beaten: usize, points: usize) -> (String, Vec<CellRef>) {
        let metric = self.study.comparisons.metric;
        let ratio = from_side(worst.pair, worst.by);
        let text = format!(
            " The same choices hold for {} at {} of {}; {}at {} {} is {} {} ({}).",
            metric.title,
            points - beaten,
            count(points, "point"),
            if beaten > 1 { "of the others, most " } else { "" },
            self.words.place(&worst.place.shared, &self.words.constant()),
            self.name(worst.by),
            surpasses(&ratio),
            self.name(worst.chosen),
            self.words.interval(&ratio)
        );
        let cell = |case| CellRef { case, metric: metric.id };
        (text, vec![cell(worst.by), cell(worst.chosen)])
    }
}

#[cfg(test)]
mod tests;
