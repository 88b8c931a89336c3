//! What the CPU explains: costs in units of what the same run took for a call, a system call or a copy.
//!
//! The yardstick is chosen on the repeats of the base alone: the one with which its costs scatter least. On one machine it is
//! used only where it lowers that scatter; between machines always, beside the costs as they are and never instead of them.

use super::{Change, FigureKey, RunFigure, RunFigures, SideComparison};
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::sample::Better;
use syscost_host::fingerprint::MACHINE;
use syscost_measure::probe;

/// Fewer repeats of the base choose nothing.
const FEWEST_REPEATS: usize = 3;

/// Costs of the sides in units of one case of each run.
#[derive(Clone, Debug)]
pub struct YardstickReading {
    /// The case that the others are divided by, in the plan of the first run of the base.
    pub case: usize,
    /// How much the costs of the base scatter from run to run without it and with it, as shares.
    pub scatter: [f64; 2],
    /// Largest first: a family of its own.
    pub changes: Vec<Change>,
}

/// What the CPU explains of these costs; `None`: no yardstick was measured, or none helps on this one machine.
pub fn reading(base: &[RunFigures], candidate: &[RunFigures]) -> Option<YardstickReading> {
    let [of_base, of_candidate] = [base, candidate].map(keys_of_all);
    let shared: BTreeSet<&FigureKey> = of_base.intersection(&of_candidate).copied().collect();
    let (sticks, costs): (Vec<&FigureKey>, Vec<&FigureKey>) =
        shared.into_iter().partition(|key| is_stick(key));
    if base.len() < FEWEST_REPEATS || costs.is_empty() {
        return None;
    }
    let without = scatter(base, &costs, None)?;
    let tried = sticks.iter().filter_map(|stick| Some((*stick, scatter(base, &costs, Some(*stick))?)));
    let (stick, with) = tried.min_by(|a, b| a.1.total_cmp(&b.1))?;
    if !between_machines(base, candidate) && with >= without {
        return None;
    }
    let units = |side: &[RunFigures]| side.iter().map(|run| in_units(run, stick, &costs)).collect::<Vec<_>>();
    let case = base.first()?.figures.get(stick)?.case;
    let mut changes = SideComparison::of_costs(&units(base), &units(candidate));
    changes.iter_mut().for_each(|change| change.against = Some(case));
    Some(YardstickReading { case, scatter: [without, with], changes })
}

/// No run of one side is of a machine of the other.
fn between_machines(base: &[RunFigures], candidate: &[RunFigures]) -> bool {
    let machines = |side: &[RunFigures]| -> BTreeSet<String> {
        side.iter().filter_map(|run| run.record.fact(MACHINE).map(str::to_string)).collect()
    };
    let (a, b) = (machines(base), machines(candidate));
    !a.is_empty() && !b.is_empty() && a.is_disjoint(&b)
}

/// What every run of a side has a figure of.
fn keys_of_all(side: &[RunFigures]) -> BTreeSet<&FigureKey> {
    let has = |key: &&FigureKey| side.iter().all(|run| run.figures.contains_key(*key));
    let first = side.first().map(|run| run.figures.keys());
    first.into_iter().flatten().filter(|key| key.against.is_none()).filter(has).collect()
}

fn is_stick(key: &FigureKey) -> bool {
    probe::find(&key.probe).is_some_and(|probe| probe.about().yardstick)
}

/// The logarithm of a cost: of a rate, what is lost of it.
fn log_cost(key: &FigureKey, figure: &RunFigure) -> f64 {
    let log = figure.cost.value.ln();
    if better(key) == Better::Higher { -log } else { log }
}

fn better(key: &FigureKey) -> Better {
    let metrics = probe::find(&key.probe).map(|probe| probe.metrics()).unwrap_or_default();
    metrics.iter().find(|metric| metric.id == key.metric).map_or(Better::Lower, |metric| metric.better)
}

/// The standard deviation of log costs over the runs of a side, pooled over cases.
fn scatter(side: &[RunFigures], costs: &[&FigureKey], stick: Option<&FigureKey>) -> Option<f64> {
    let log = |run: &RunFigures, key: &FigureKey| Some(log_cost(key, run.figures.get(key)?));
    let of_case = |key: &&FigureKey| -> Option<f64> {
        let logs: Option<Vec<f64>> = side
            .iter()
            .map(|run| Some(log(run, key)? - stick.map_or(Some(0.0), |stick| log(run, stick))?))
            .collect();
        let logs = logs?;
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        Some(logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (logs.len() - 1) as f64)
    };
    let variances: Vec<f64> = costs.iter().filter_map(of_case).collect();
    (!variances.is_empty()).then(|| (variances.iter().sum::<f64>() / variances.len() as f64).sqrt())
}

/// The run with its costs in units of the yardstick.
fn in_units(run: &RunFigures, stick: &FigureKey, costs: &[&FigureKey]) -> RunFigures {
    let unit = run.figures.get(stick).map_or(0.0, |figure| log_cost(stick, figure));
    let one = |key: &&FigureKey| {
        let mut figure = run.figures.get(*key)?.clone();
        // A rate times the unit of cost: both then move with the CPU alike.
        let sign = if better(key) == Better::Higher { 1.0 } else { -1.0 };
        figure.cost.value *= (sign * unit).exp();
        figure.slices.clear();
        Some(((*key).clone(), figure))
    };
    let figures: BTreeMap<FigureKey, RunFigure> = costs.iter().filter_map(one).collect();
    RunFigures { record: run.record.clone(), figures }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sides::Replicate;
    use crate::sides::tests::{machine, side};

    /// Adds a yardstick to runs: what it costs moves with the level by which all costs of a run are multiplied.
    fn with_stick(mut runs: Vec<RunFigures>, levels: &[f64]) -> Vec<RunFigures> {
        for (run, level) in runs.iter_mut().zip(levels) {
            run.figures.values_mut().for_each(|figure| figure.cost.value *= level);
            let (key, mut figure) = run.figures.iter().next().map(|(k, f)| (k.clone(), f.clone())).unwrap();
            let stick = probe::ALL.iter().find(|probe| probe.about().yardstick).unwrap();
            let metric = crate::sides::compared_metric(*stick).unwrap().id;
            figure.cost.value = 100.0 * level;
            let probe = stick.about().id.to_string();
            run.figures.insert(FigureKey { probe, metric, against: None, ..key }, figure);
        }
        runs
    }

    /// Of eight runs, around this one.
    fn levels(middle: f64) -> Vec<f64> {
        [-1.5, 1.0, -0.5, 0.0, 0.5, -1.0, 0.0, 1.5].map(|z: f64| middle * (0.2 * z).exp()).to_vec()
    }

    /// A machine whose CPU is 1.3x slower, on which the work costs 1.1x more beyond that.
    #[test]
    fn between_machines_what_the_cpu_explains_is_taken_off() {
        let base = with_stick(machine(side("base", 8, "one", 1.0), "a"), &levels(1.0));
        let other = with_stick(machine(side("candidate", 8, "one", 1.1), "b"), &levels(1.3));
        let read = reading(&base, &other).expect("there is a yardstick");
        assert!(read.scatter[1] < read.scatter[0] / 2.0, "{:?}", read.scatter);
        assert!(!read.changes.is_empty());
        for change in &read.changes {
            let ratio = change.decision.ratio;
            assert!((1.02..1.2).contains(&ratio), "{ratio}");
        }
        let whole = SideComparison::of(&base, &other);
        assert_eq!(whole.replicate, Replicate::Run);
        assert!(whole.changes.iter().all(|change| change.decision.ratio > 1.2), "the other reading stays");
    }

    #[test]
    fn on_one_machine_a_yardstick_that_does_not_help_is_none() {
        let sides = |levels: &[f64], apart: &[f64]| {
            let base = with_stick(machine(side("base", 8, "one", 1.0), "a"), levels);
            let mut other = with_stick(machine(side("candidate", 8, "one", 1.0), "a"), levels);
            other.iter_mut().for_each(|run| run.record.id.push('x'));
            let mut base = base;
            for (run, by) in base.iter_mut().zip(apart) {
                run.figures.iter_mut().filter(|(key, _)| is_stick(key)).for_each(|(_, f)| f.cost.value *= by);
            }
            reading(&base, &other).is_some()
        };
        let moving = levels(1.0);
        assert!(sides(&moving, &[1.0; 8]), "it takes the level away");
        assert!(!sides(&[1.0; 8], &moving), "it only adds its own scatter");
        assert!(reading(&side("base", 8, "one", 1.0), &side("candidate", 8, "one", 1.0)).is_none());
    }
}
