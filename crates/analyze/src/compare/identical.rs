//! What identical cases differ by (A/A): a check of the run, which forbids no answer.
//!
//! A twin is a second, independent set of rounds of a case. Each pair of twins is one replicate: its mean log ratio is
//! 0 but for noise, and for what rounds do not average out (memory layout, placement).

use crate::cells::Cells;
use crate::compare::log_ratios::LogRatios;
use syscost_core::stats::student;
use syscost_experiment::run::Run;

/// Of all twins together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Identical {
    /// The mean ratio of twin and original.
    pub ratio: f64,
    /// Its 95 % interval; the ends of all where there is one pair of twins.
    pub low: f64,
    pub high: f64,
    /// How far the farthest pair is apart: 0.02 = 2 %.
    pub farthest: f64,
    pub twins: u32,
}

impl Identical {
    /// `None` where no twin has a round in common with its original.
    pub fn of(run: &Run, cells: &Cells, metric: &str) -> Option<Identical> {
        let ratios = LogRatios::new(run, cells);
        let twins = run.record.plan.cases.iter().filter_map(|c| Some((c.index, c.twin_of?)));
        let by_pair: Vec<Vec<f64>> = twins
            .map(|(twin, of)| {
                ratios.of_twins(metric, twin, of).iter().map(|ratio| ratio.log).collect::<Vec<_>>()
            })
            .filter(|logs| !logs.is_empty())
            .collect();
        let means: Vec<f64> = by_pair.iter().map(|logs| mean(logs)).collect();
        // One pair has only its own rounds.
        let replicates = if let [only] = &by_pair[..] { only } else { &means };
        let (middle, half) = student::mean_interval(replicates, 0.95)?;
        let farthest = means.iter().map(|m| m.abs()).fold(0.0, f64::max).exp_m1();
        Some(Identical {
            ratio: middle.exp(),
            low: (middle - half).exp(),
            high: (middle + half).exp(),
            farthest,
            twins: means.len() as u32,
        })
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;

    #[test]
    fn without_twins_or_rounds_nothing_is_known() {
        for synthetic in [
            Synthetic { twin_every: 0, ..Default::default() },
            Synthetic { rounds: 0, ..Default::default() },
            Synthetic { twin_every: 100, rounds: 1, ..Default::default() },
        ] {
            let run = synthetic.run();
            assert_eq!(Identical::of(&run, &Cells::of(&run), "throughput"), None);
        }
    }
}
