//! Which of two cases costs less, and whether that may be said.
//!
//! Every pair of a group is compared by its ratio, paired by round. A difference is claimed only
//! when all three agree: the p-value, adjusted over every pair of the metric in the run (Benjamini
//! and Hochberg), is below 1 - confidence; the interval of the ratio lies on that side of 1; and the
//! ratio exceeds the noise floor. Everything else is a tie, with the reason.

use crate::cells::{Cells, metric};
use crate::compare::groups::{Group, Groups};
use crate::compare::noise_floor::{NoiseFloor, noise_floor};
use crate::parallel::in_parallel;
use std::collections::HashMap;
use syscost_core::sample::{Better, Metric};
use syscost_core::stats::{Estimate, RatioEstimate, benjamini_hochberg, paired_ratio, smallest_p};
use syscost_experiment::run::Run;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TieReason {
    /// All rounds may agree, but no outcome of so few is significant among so many pairs.
    TooFewRounds,
    /// What was seen happens by chance too often, given how many pairs were compared.
    NotSignificant,
    /// The interval of the ratio includes 1.
    IntervalIncludesOne,
    /// Identical cases differ as much.
    BelowNoiseFloor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The metric of case `a` is smaller.
    ALess,
    BLess,
    Tie(TieReason),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub a: usize,
    pub b: usize,
    pub metric: &'static str,
    /// a / b.
    pub ratio: RatioEstimate,
    pub p_adjusted: f64,
    pub verdict: Verdict,
}

impl Comparison {
    /// The case that is claimed to be better, if one is.
    pub fn better(&self, better: Better) -> Option<usize> {
        match (self.verdict, better) {
            (Verdict::ALess, Better::Lower) | (Verdict::BLess, Better::Higher) => Some(self.a),
            (Verdict::BLess, Better::Lower) | (Verdict::ALess, Better::Higher) => Some(self.b),
            _ => None,
        }
    }

    /// The ratio with this case above the line.
    pub fn seen_from(&self, case: usize) -> Estimate {
        let e = self.ratio.estimate;
        if self.a == case {
            e
        } else {
            Estimate { value: 1.0 / e.value, low: 1.0 / e.high, high: 1.0 / e.low, ..e }
        }
    }

    /// How far the ratio is from 1, on the log scale: the same for a / b and b / a.
    pub fn strength(&self) -> f64 {
        self.ratio.estimate.value.ln().abs()
    }
}

/// Every comparison of one metric along one axis.
#[derive(Clone, Debug)]
pub struct Comparisons {
    pub axis: String,
    pub metric: Metric,
    /// `None`: the run has no twins, so nothing is known about differences without a cause.
    pub floor: Option<NoiseFloor>,
    pub pairs: Vec<Comparison>,
    place: HashMap<(usize, usize), usize>,
}

impl Comparisons {
    /// Compares along the groups' axis; `None` where the run has no such metric.
    pub fn of(run: &Run, cells: &Cells, groups: &Groups, metric_id: &str) -> Option<Comparisons> {
        let metric = metric(run, metric_id)?;
        let floor = noise_floor(run, cells, metric.id);
        let of_groups = in_parallel(&groups.groups, |g| pairs_of(run, cells, (groups, g), metric.id));
        let pairs = judged(run, of_groups.into_iter().flatten().collect(), |_| floor);
        let place = pairs.iter().enumerate().map(|(i, c)| ((c.a, c.b), i)).collect();
        Some(Comparisons { axis: groups.axis.clone(), metric, floor, pairs, place })
    }

    /// The comparison of two cases, whichever comes first in it.
    pub fn between(&self, a: usize, b: usize) -> Option<&Comparison> {
        let place = self.place.get(&(a, b)).or_else(|| self.place.get(&(b, a)))?;
        Some(&self.pairs[*place])
    }

    /// Is `case` claimed to be better than `other`?
    pub fn beats(&self, case: usize, other: usize) -> bool {
        self.between(case, other).and_then(|c| c.better(self.metric.better)) == Some(case)
    }
}

/// The pairs of a group that have a ratio, not judged yet.
fn pairs_of(
    run: &Run,
    cells: &Cells,
    (groups, group): (&Groups, &Group),
    metric: &'static str,
) -> Vec<Comparison> {
    let mut pairs = Vec::new();
    for (i, a) in group.members.iter().enumerate() {
        for b in &group.members[i + 1..] {
            let points = run.case(*a).zip(run.case(*b)).map(|(a, b)| (&a.point, &b.point));
            if !points.is_some_and(|(a, b)| groups.rivals(a, b)) {
                continue;
            }
            pairs.extend(unjudged(run, cells, metric, (*a, *b)));
        }
    }
    pairs
}

/// Pairs of cases that somebody else chose, as one family: every claim is corrected for all of them,
/// whatever their metrics. A pair without a ratio is left out.
pub fn claims(run: &Run, cells: &Cells, asked: &[(&'static str, usize, usize)]) -> Vec<Comparison> {
    let mut floors: HashMap<&'static str, Option<NoiseFloor>> = HashMap::new();
    for (metric, _, _) in asked {
        floors.entry(metric).or_insert_with(|| noise_floor(run, cells, metric));
    }
    let pairs = in_parallel(asked, |(metric, a, b)| unjudged(run, cells, metric, (*a, *b)));
    judged(run, pairs.into_iter().flatten().collect(), |metric| floors.get(metric).copied().flatten())
}

fn unjudged(run: &Run, cells: &Cells, metric: &'static str, (a, b): (usize, usize)) -> Option<Comparison> {
    let (x, y) = cells.cell(a, metric).zip(cells.cell(b, metric))?;
    let ratio = paired_ratio(&x.rounds.pairs(), &y.rounds.pairs(), run.record.spec.confidence)?;
    Some(Comparison {
        a,
        b,
        metric,
        ratio,
        p_adjusted: 1.0,
        verdict: Verdict::Tie(TieReason::NotSignificant),
    })
}

/// The verdicts of one family of pairs.
fn judged(
    run: &Run,
    mut pairs: Vec<Comparison>,
    floor: impl Fn(&'static str) -> Option<NoiseFloor>,
) -> Vec<Comparison> {
    let p: Vec<f64> = pairs.iter().map(|c| c.ratio.p).collect();
    let alpha = 1.0 - run.record.spec.confidence;
    for (pair, adjusted) in pairs.iter_mut().zip(benjamini_hochberg(&p)) {
        pair.p_adjusted = adjusted;
        pair.verdict = judge(&pair.ratio, adjusted, alpha, floor(pair.metric).as_ref());
    }
    pairs
}

fn judge(ratio: &RatioEstimate, p_adjusted: f64, alpha: f64, floor: Option<&NoiseFloor>) -> Verdict {
    let e = &ratio.estimate;
    let best_possible = smallest_p(e.n);
    if best_possible >= alpha || (p_adjusted >= alpha && ratio.p <= best_possible) {
        Verdict::Tie(TieReason::TooFewRounds)
    } else if p_adjusted >= alpha {
        Verdict::Tie(TieReason::NotSignificant)
    } else if e.low <= 1.0 && e.high >= 1.0 {
        Verdict::Tie(TieReason::IntervalIncludesOne)
    } else if floor.is_some_and(|f| !f.exceeded_by(e.value)) {
        Verdict::Tie(TieReason::BelowNoiseFloor)
    } else if e.value < 1.0 {
        Verdict::ALess
    } else {
        Verdict::BLess
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Synthetic, aa_cells};
    use syscost_core::axis::Point;
    use syscost_core::stats::random::Random;

    const CPU: &str = "total_cpu_ns_per_byte";

    fn compare(run: &Run) -> Comparisons {
        Comparisons::of(run, &Cells::of(run), &Groups::of(run, "mechanism"), CPU).unwrap()
    }

    /// Nothing differs in these runs, so a run with any claim is a false alarm. Half of them have
    /// a bias per case that only the noise floor knows about.
    #[test]
    fn identical_mechanisms_are_rarely_told_apart() {
        let biases: [fn(&mut Random) -> f64; 2] = [|_| 0.0, |r| 0.005 * r.normal()];
        for (rounds, bias) in [(8, biases[0]), (12, biases[0]), (8, biases[1])] {
            let run = Synthetic { twin_every: 6, rounds: 0, ..Default::default() }.run();
            let groups = Groups::of(&run, "mechanism");
            let mut random = Random::new(2024);
            let runs = 300;
            let alarms = (0..runs)
                .filter(|_| {
                    let cells = aa_cells(&run, CPU, rounds, &mut random, bias, 0.02);
                    let all = Comparisons::of(&run, &cells, &groups, CPU).unwrap();
                    assert_eq!(all.pairs.len(), 30);
                    all.pairs.iter().any(|c| c.better(Better::Lower).is_some())
                })
                .count();
            assert!(alarms * 100 < runs * 5, "{alarms} of {runs} runs of {rounds} rounds");
        }
    }

    fn planted(p: &Point) -> f64 {
        let factor = if p.text_at("mechanism") == Some("sendmsg") { 0.8 } else { 1.0 };
        factor * (1000.0 + 0.2 * p.int_at("message_bytes").unwrap() as f64)
    }

    #[test]
    fn a_planted_difference_is_claimed_with_its_size_and_only_that() {
        let run = Synthetic { cost_ns: planted, rounds: 10, noise: 0.02, ..Default::default() }.run();
        let all = compare(&run);
        assert_eq!(all.floor.unwrap().twins, 5);
        for pair in &all.pairs {
            let name = |case: usize| run.case(case).unwrap().point.text_at("mechanism").unwrap();
            if name(pair.a) == "sendmsg" || name(pair.b) == "sendmsg" {
                let winner = pair.better(Better::Lower).expect("20 % in 10 rounds of 2 % noise");
                assert_eq!(name(winner), "sendmsg");
                let loser = if winner == pair.a { pair.b } else { pair.a };
                assert!(all.beats(winner, loser) && !all.beats(loser, winner));
                assert!((pair.strength() - 0.223).abs() < 0.06);
            } else {
                assert!(matches!(pair.verdict, Verdict::Tie(_)), "{pair:?}");
            }
        }
    }

    /// One pair of thirty differs: six rounds that agree have p = 0.03, which is not enough.
    #[test]
    fn agreement_that_rounds_cannot_prove_is_told_apart_from_noise() {
        let one = |p: &Point| match (
            p.text_at("mechanism").unwrap(),
            p.int_at("message_bytes"),
            p.int_at("threads"),
        ) {
            ("sendmsg", Some(64), Some(1)) => 500.0,
            _ => 1000.0,
        };
        let run = Synthetic { cost_ns: one, rounds: 6, noise: 0.02, ..Default::default() }.run();
        let all = compare(&run);
        let pair = all.pairs.iter().max_by(|a, b| a.strength().total_cmp(&b.strength())).unwrap();
        assert_eq!(pair.verdict, Verdict::Tie(TieReason::TooFewRounds), "{pair:?}");
        assert!(all.pairs.iter().any(|c| c.verdict == Verdict::Tie(TieReason::NotSignificant)));
    }

    #[test]
    fn few_rounds_claim_nothing() {
        let run = Synthetic { cost_ns: planted, rounds: 5, noise: 0.001, ..Default::default() }.run();
        assert!(compare(&run).pairs.iter().all(|c| c.verdict == Verdict::Tie(TieReason::TooFewRounds)));
    }

    #[test]
    fn a_difference_below_the_floor_is_a_tie() {
        let mut run = Synthetic { cost_ns: planted, rounds: 10, noise: 0.005, ..Default::default() }.run();
        let twins: Vec<usize> =
            run.record.plan.cases.iter().filter(|c| c.twin_of.is_some()).map(|c| c.index).collect();
        for sample in run.samples.iter_mut().filter(|s| twins.contains(&s.case)) {
            for side in ["sender_cpu_ns", "receiver_cpu_ns"] {
                sample.quantities.insert(side.into(), sample.get(side).map(|ns| 1.4 * ns));
            }
        }
        let all = compare(&run);
        assert!(all.floor.unwrap().relative > 0.35);
        let reasons: Vec<_> = all.pairs.iter().map(|c| c.verdict).collect();
        assert!(reasons.contains(&Verdict::Tie(TieReason::BelowNoiseFloor)));
        assert!(all.pairs.iter().all(|c| c.better(Better::Lower).is_none()));
    }

    #[test]
    fn descriptive_metrics_are_never_ranked() {
        let run = Synthetic { cost_ns: planted, rounds: 10, ..Default::default() }.run();
        assert!(compare(&run).pairs.iter().all(|c| c.better(Better::Neither).is_none()));
        let groups = Groups::of(&run, "mechanism");
        assert!(Comparisons::of(&run, &Cells::of(&run), &groups, "no_such_metric").is_none());
    }
}
