//! What to use at a few sizes, how much better it is, and how sure that is.
//!
//! The ways of doing one thing (see [`crate::compare::groups`]) that were measured at a place compete: the one
//! that is significantly better than every other is the answer; else those that nothing is significantly better
//! than are, the best median first. Nothing here compares.

use crate::compare::Comparisons;
use crate::compare::study::{ALONG, RIVALS, Study};
use crate::compare::winners::{Outcome, Sure, Winner};
use crate::words::{Words, and};
use std::collections::BTreeMap;
use syscost_core::axis::{Name, Point};
use syscost_core::sample::Better;
use syscost_core::stats::Estimate;
use syscost_experiment::run::Run;
use syscost_measure::mechanism;
use syscost_measure::probe;
use syscost_measure::probe::transfer::axes::THREADS;

/// The sizes that an engineer asks about; the nearest measured ones are answered.
pub const TYPICAL: [u64; 3] = [1 << 10, 16 << 10, 1 << 20];
/// Ways named in one sentence.
const NAMES: usize = 3;

/// How many times better one way is than another, significantly or not.
#[derive(Clone, Debug, PartialEq)]
pub struct Gain {
    pub over: usize,
    pub ratio: Estimate,
    pub significant: bool,
}

/// The answer at one place, by one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    pub metric: &'static str,
    pub probe: Name,
    /// What was given: size, threads, path.
    pub place: Point,
    pub best: usize,
    /// Those that nothing is significantly better than either.
    pub unbeaten: Vec<usize>,
    pub sure: Sure,
    /// Of more measuring that would tell it from every other unbeaten way; `None` where a day would not.
    pub minutes_needed: Option<f64>,
    /// The best of those that are beaten.
    pub next: Option<Gain>,
    /// One contiguous buffer by one plain call; `None` where that is the best itself, or was not measured.
    pub plain: Option<Gain>,
    /// Ways with a figure here.
    pub ways: usize,
    /// Rounds behind the comparisons, the most of any.
    pub rounds: u32,
}

/// How many times better `case` is than `other`: above 1 where it is better.
pub fn gain(comparisons: &Comparisons, case: usize, other: usize) -> Option<Gain> {
    let pair = comparisons.between(case, other)?;
    let seen_from = if comparisons.metric.better == Better::Higher { case } else { other };
    let significant = comparisons.beats(case, other);
    Some(Gain { over: other, ratio: pair.seen_from(seen_from), significant })
}

/// The answer at the place of a winner; `None` where nothing was measured.
pub fn choice(run: &Run, study: &Study, winner: &Winner) -> Option<Choice> {
    let comparisons = &study.comparisons;
    let best = *winner.candidates.first()?;
    let (best, sure) = match &winner.outcome {
        Outcome::Wins(case) => (*case, Sure::Best),
        Outcome::Same(cases) => (*cases.first()?, Sure::Same),
        Outcome::Undecided(cases) => (*cases.first()?, Sure::Undecided),
        Outcome::Alone(case) => (*case, Sure::Alone),
        Outcome::Nothing => (best, Sure::Alone),
    };
    let others: Vec<usize> = winner.candidates.iter().copied().filter(|c| *c != best).collect();
    let pairs = || others.iter().filter_map(|other| comparisons.between(best, *other));
    let unbeaten: Vec<usize> =
        winner.outcome.unbeaten().iter().copied().filter(|case| *case != best).collect();
    let pace = comparisons.pace(run);
    let open =
        unbeaten.iter().filter_map(|other| comparisons.between(best, *other)).filter(|pair| pair.is_open());
    let minutes: Option<Vec<f64>> = open.map(|pair| pace.minutes_needed(&pair.decision)).collect();
    let next = others.iter().find(|c| !unbeaten.contains(c));
    let plain = plainest(run, &winner.probe, &winner.candidates).filter(|case| *case != best);
    Some(Choice {
        metric: comparisons.metric.id,
        probe: winner.probe.clone(),
        place: winner.shared.clone(),
        best,
        sure,
        minutes_needed: minutes.map(|all| all.into_iter().fold(0.0, f64::max)),
        next: next.and_then(|other| gain(comparisons, best, *other)),
        plain: plain.and_then(|other| gain(comparisons, best, other)),
        ways: winner.candidates.len(),
        rounds: pairs().map(|p| p.decision.rounds).max().unwrap_or(0),
        unbeaten,
    })
}

/// The control among these cases, with as little else chosen as possible.
fn plainest(run: &Run, probe: &str, cases: &[usize]) -> Option<usize> {
    let probe = probe::find(probe)?;
    let axes = probe.axes();
    let chosen_values = |case: usize| {
        let point = &run.case(case)?.point;
        let plain = |id: &str| axes.iter().find(|a| a.id == id).and_then(|a| a.default().into_iter().next());
        let own = point.iter().filter(|(id, _)| *id != RIVALS.id && probe.chosen(id));
        let changed = own.filter(|(id, value)| plain(id).as_ref() != Some(value)).count();
        (point.text(RIVALS) == Some(mechanism::control().about().id)).then_some((changed, case))
    };
    cases.iter().filter_map(|case| chosen_values(*case)).min().map(|(_, case)| case)
}

/// The answers at the typical sizes, by what else was given; at the fewest and at the most threads.
pub fn choices(run: &Run, study: &Study) -> Vec<Choice> {
    let mut lines: BTreeMap<Point, BTreeMap<Option<u64>, Vec<&Winner>>> = BTreeMap::new();
    for winner in study.winners.iter().filter(|w| !w.candidates.is_empty() && w.shared.int(ALONG).is_some()) {
        let (rest, threads) =
            (winner.shared.without(ALONG.id).without(THREADS.id), winner.shared.int(THREADS));
        lines.entry(rest).or_default().entry(threads).or_default().push(winner);
    }
    let ends = lines.values().flat_map(|of_threads| {
        let last = of_threads.values().skip(1).next_back();
        of_threads.values().next().into_iter().chain(last)
    });
    ends.flat_map(|line| typical(line)).filter_map(|winner| choice(run, study, winner)).collect()
}

/// The places of a line that are nearest to the typical sizes, each once.
fn typical<'w>(line: &[&'w Winner]) -> Vec<&'w Winner> {
    let distance = |winner: &Winner, size: u64| {
        let bytes = winner.shared.int(ALONG).unwrap_or(1).max(1);
        (bytes as f64 / size as f64).log2().abs()
    };
    // Where a grid was refined, only what may be best was measured: such places answer less.
    let most = line.iter().map(|w| w.candidates.len()).max().unwrap_or(0);
    let full = || line.iter().filter(|w| 2 * w.candidates.len() > most);
    let mut chosen: Vec<&Winner> = Vec::new();
    for size in TYPICAL {
        let nearest = full().min_by(|a, b| distance(a, size).total_cmp(&distance(b, size)));
        if let Some(winner) = nearest.filter(|w| !chosen.iter().any(|c| c.shared == w.shared)) {
            chosen.push(winner);
        }
    }
    chosen
}

/// Names ways in sentences and tables.
pub struct Namer<'a> {
    pub run: &'a Run,
    pub words: &'a Words,
}

impl Namer<'_> {
    pub fn name(&self, case: usize) -> String {
        let Some(case) = self.run.case(case) else { return String::new() };
        probe::find(&case.probe).map_or_else(String::new, |p| self.words.way(p, &case.point, RIVALS.id))
    }

    /// The first few, and how many more.
    pub fn names(&self, cases: &[usize]) -> String {
        let mut names: Vec<String> = cases.iter().take(NAMES).map(|c| self.name(*c)).collect();
        if cases.len() > NAMES {
            names.push(format!("{} more", cases.len() - NAMES));
        }
        and(&names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use crate::whole::Analysis;

    fn cost(p: &Point) -> f64 {
        let bytes = p.int_at("message_bytes").unwrap();
        let factor = match p.text_at("mechanism").unwrap() {
            "sendmsg" if bytes >= 16384 => 0.5,
            "pack_send" => 1.5,
            _ => 1.0,
        };
        factor * (1000.0 + 0.2 * bytes as f64)
    }

    fn answers(synthetic: Synthetic) -> (Run, Vec<Choice>) {
        let run = synthetic.run();
        let choices = choices(&run, &Analysis::of(&run).ways[0]);
        (run, choices)
    }

    #[test]
    fn planted_answers_are_given_with_their_gain_and_how_sure_they_are() {
        let sizes = vec![64, 2048, 16384, 1 << 20];
        let synthetic = Synthetic { cost_ns: cost, rounds: 12, noise: 0.01, sizes, ..Default::default() };
        let (run, choices) = answers(synthetic);
        assert_eq!(choices.len(), 6, "three sizes at the fewest and at the most threads");
        let name = |case: usize| run.case(case).unwrap().point.text_at("mechanism").unwrap();
        for choice in &choices {
            if choice.place.int_at("message_bytes") == Some(2048) {
                assert!(choice.unbeaten.len() == 1 && choice.sure != Sure::Best, "{choice:?}");
                let next = choice.next.as_ref().unwrap();
                assert_eq!((name(next.over), next.significant), ("pack_send", true));
                assert!((next.ratio.value - 1.5).abs() < 0.1, "{next:?}");
            } else {
                assert_eq!((choice.sure, name(choice.best)), (Sure::Best, "sendmsg"));
                let plain = choice.plain.as_ref().unwrap();
                assert!(plain.significant && name(plain.over) == "send");
                assert!((plain.ratio.value - 2.0).abs() < 0.1 && plain.ratio.low > 1.8, "{plain:?}");
            }
        }
    }

    #[test]
    fn identical_ways_and_single_rounds_have_no_best() {
        let (_, same) = answers(Synthetic { rounds: 12, cost_ns: |_| 1000.0, ..Default::default() });
        assert!(same.iter().all(|c| matches!(c.sure, Sure::Same | Sure::Undecided)
            && c.next.as_ref().is_none_or(|n| !n.significant)));
        let (_, one) = answers(Synthetic { rounds: 1, cost_ns: cost, ..Default::default() });
        assert!(one.iter().all(|c| c.sure == Sure::Undecided), "{one:?}");
        let (_, none) = answers(Synthetic { rounds: 0, ..Default::default() });
        assert!(none.is_empty());
    }
}
