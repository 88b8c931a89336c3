//! By simulation with the drift that was measured on a cloud VM: residuals of visits 0.16 s apart correlate by .67,
//! 12 s apart by .48, 120 s apart by .15; rivals 10 s apart differ with a scatter of .256.

use super::*;
use crate::cells::seen::Seen;
use crate::synthetic::Synthetic;
use syscost_core::stats::random::Random;

const SECOND: f64 = 1e9;
/// Standard deviation of the log of a visit's cost.
const SD: f64 = 0.25;

/// An autoregressive process of the first order: variance, and seconds after which it has forgotten 63 %.
struct Drift {
    variance: f64,
    seconds: f64,
    now: f64,
}

impl Drift {
    fn new(variance: f64, seconds: f64, random: &mut Random) -> Drift {
        Drift { variance, seconds, now: variance.sqrt() * random.normal() }
    }

    fn after(&mut self, seconds: f64, random: &mut Random) -> f64 {
        let kept = (-seconds / self.seconds).exp();
        self.now = kept * self.now + (self.variance * (1.0 - kept * kept)).sqrt() * random.normal();
        self.now
    }
}

/// Rounds over cases in a new order each, a visit every 0.16 s; and the true log level at each.
fn simulated(
    cases: usize,
    rounds: usize,
    drifting: bool,
    random: &mut Random,
) -> (Vec<TimedVisit>, Vec<f64>) {
    let share = if drifting { SD * SD } else { 0.0 };
    // .12 e^(-t/5) + .55 e^(-t/92): .67 at 0.16 s, .49 at 12 s, .15 at 120 s.
    let mut parts = [Drift::new(0.12 * share, 5.0, random), Drift::new(0.55 * share, 92.0, random)];
    let own = if drifting { (0.33f64).sqrt() * SD } else { SD };
    let (mut visits, mut truth) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let mut order: Vec<usize> = (0..cases).collect();
        random.shuffle(&mut order);
        for case in order {
            let level: f64 = parts.iter_mut().map(|part| part.after(0.16, random)).sum();
            let start_ns = (visits.len() as f64 * 0.16 * SECOND) as u64;
            let log_cost = 5.0 + 0.1 * case as f64 + level + own * random.normal();
            let end_ns = start_ns + (0.1 * SECOND) as u64;
            visits.push(TimedVisit { case, start_ns, end_ns, log_cost, samples: 3 });
            truth.push(level);
        }
    }
    (visits, truth)
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |v: &[f64]| v.iter().sum::<f64>() / v.len() as f64;
    let (ma, mb) = (mean(a), mean(b));
    let sum = |f: &dyn Fn(f64, f64) -> f64| a.iter().zip(b).map(|(x, y)| f(x - ma, y - mb)).sum::<f64>();
    sum(&|x, y| x * y) / (sum(&|x, _| x * x) * sum(&|_, y| y * y)).sqrt()
}

/// The true level of each stretch, around its median.
fn true_levels(level: &MachineLevel, visits: &[TimedVisit], truth: &[f64]) -> Vec<f64> {
    let inside = |stretch: &LevelStretch| {
        let own = visits.iter().zip(truth);
        let own = own.filter(|(v, _)| (stretch.start_ns..stretch.end_ns).contains(&v.start_ns));
        median(&own.map(|(_, level)| *level).collect::<Vec<_>>()).unwrap()
    };
    let logs: Vec<f64> = level.stretches.iter().map(inside).collect();
    let usual = median(&logs).unwrap();
    logs.iter().map(|log| (log - usual).exp() - 1.0).collect()
}

#[test]
fn the_measured_drift_is_found() {
    let mut random = Random::new(11);
    // The default study in 280 s, and in about a minute.
    for (rounds, least, detected) in [(11, 0.85, 19), (3, 0.6, 18), (2, 0.5, 13)] {
        let mut correlations = Vec::new();
        let (mut changed, mut swing, mut true_swing) = (0, 0.0, 0.0);
        const RUNS: usize = 20;
        for _ in 0..RUNS {
            let (visits, truth) = simulated(160, rounds, true, &mut random);
            let level = MachineLevel::of(&visits).unwrap();
            let found: Vec<f64> = level.stretches.iter().map(|stretch| stretch.level).collect();
            let wanted = true_levels(&level, &visits, &truth);
            correlations.push(correlation(&found, &wanted));
            changed += usize::from(level.changed);
            let (low, high) = level.range();
            swing += (1.0 + high).ln() - (1.0 + low).ln();
            let (low, high) = wanted.iter().fold((0.0f64, 0.0f64), |(l, h), x| (l.min(*x), h.max(*x)));
            true_swing += (1.0 + high).ln() - (1.0 + low).ln();
        }
        let typical = median(&correlations).unwrap();
        assert!(changed >= detected, "{changed} of {RUNS} with {rounds} rounds");
        assert!(typical > least, "{correlations:?}");
        assert!((0.7..1.2).contains(&(swing / true_swing)), "{}", swing / true_swing);
    }
}

#[test]
fn a_quiet_machine_is_not_called_busy() {
    let mut random = Random::new(12);
    let runs = 200;
    let wrong = (0..runs)
        .filter(|_| {
            let level = MachineLevel::of(&simulated(120, 2, false, &mut random).0).unwrap();
            assert!(level.changed || level.slow().count() == 0);
            level.changed
        })
        .count();
    // More than 7 of 200 at a level of 1 % have a probability of .001.
    assert!(wrong <= 7, "{wrong} of {runs}");
}

#[test]
fn a_case_whose_rounds_lie_in_a_slow_stretch_does_not_hide_it() {
    let mut random = Random::new(13);
    let (mut visits, _) = simulated(40, 20, false, &mut random);
    visits.iter_mut().for_each(|v| v.log_cost = 3.0 + 0.2 * (v.log_cost - 5.0 - 0.1 * v.case as f64));
    // The last fifth is 30 % slower, and a third of it are visits of five cases that are seen nowhere else.
    let slow_from = visits[640].start_ns;
    for (i, visit) in visits.iter_mut().enumerate().skip(640) {
        visit.log_cost += 1.3f64.ln();
        visit.case = if i % 3 == 0 { 100 + i % 5 } else { visit.case };
    }
    let level = MachineLevel::of(&visits).unwrap();
    let slow: Vec<&LevelStretch> = level.slow().collect();
    assert!(slow.len() >= 12 && slow.iter().all(|s| s.end_ns > slow_from), "{slow:?}");
    assert!(level.chance < 0.25, "the change is no part of chance: {}", level.chance);
    let found = median(&slow.iter().map(|s| s.level).collect::<Vec<_>>()).unwrap();
    assert!((0.26..0.34).contains(&found), "{found}");
}

#[test]
fn rivals_that_took_turns_are_one_visit_and_few_visits_say_nothing() {
    let mut random = Random::new(14);
    let (visits, _) = simulated(10, 4, false, &mut random);
    assert_eq!(MachineLevel::of(&visits), None, "40 visits");
    // Blocks of six rivals share a pair of workers, whose own level is not the machine's.
    let mut blocks = Vec::new();
    for block in 0..100u64 {
        let shared = SD * random.normal();
        for case in 0..6u64 {
            let start_ns = block * 1_000_000_000 + case * 1_000_000;
            let log_cost = shared + 0.01 * random.normal();
            let case = case as usize;
            blocks.push(TimedVisit { case, start_ns, end_ns: start_ns + 600_000_000, log_cost, samples: 1 });
        }
    }
    let level = MachineLevel::of(&blocks).unwrap();
    assert!(!level.changed, "{level:?}");
    assert_eq!(level.stretches.iter().map(|s| s.samples).sum::<usize>(), 600);
}

#[test]
fn a_level_is_said_and_the_cases_that_bear_it_are_named() {
    let mut run = Synthetic { rounds: 24, noise: 0.02, ..Default::default() }.run();
    let cases = run.record.plan.cases.len() as u64;
    let index = run.record.plan.cases.iter().position(|case| case.twin_of.is_none()).unwrap();
    // The last quarter is 25 % slower; one case was measured there only.
    run.samples.retain(|s| s.case != index || s.round >= 18);
    for s in run.samples.iter_mut() {
        let visit = u64::from(s.round) * cases + s.case as u64;
        s.start_ns = Some((visit * 3 + u64::from(s.index)) * 100_000_000);
        if s.round >= 18 {
            let cpu: Vec<(String, Option<f64>)> = s
                .quantities
                .iter()
                .filter(|(id, _)| id.ends_with("cpu_ns"))
                .map(|(id, n)| (id.to_string(), Some(n * 1.25)))
                .collect();
            s.quantities.extend(cpu);
        }
    }
    let visits = Seen::of(&run, &[]).visits;
    let level = MachineLevel::of(&visits).unwrap();
    let (low, high) = level.range();
    assert!(low > -0.12 && (0.18..0.35).contains(&high), "{:?}", (low, high));
    assert!((0.15..0.35).contains(&level.slow_share()) && level.limit() >= 0.1, "{}", level.slow_share());
    let named: Vec<usize> = problems(&run, Some(&level), &visits).iter().map(|p| p.case).collect();
    assert_eq!(named, [index]);
    let quiet = MachineLevel { changed: false, chance: 0.021, ..level };
    assert_eq!(quiet.slow_share(), 0.0);
    assert!(problems(&run, Some(&quiet), &visits).is_empty());
}
