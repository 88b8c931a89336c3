//! What a message costs by the slices of rivals that took turns: the data that their comparisons stand on.
//!
//! A slice begins with empty queues, so it costs more than a steady window does. A figure beside a verdict is of the same
//! slices as the verdict.

use std::collections::HashMap;
use syscost_core::stats::{Estimate, median_interval};
use syscost_core::units::Unit;
use syscost_experiment::run::Run;

/// CPU time a message of each case that took turns, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnCosts(HashMap<usize, TurnCost>);

#[derive(Clone, Debug, PartialEq)]
pub struct TurnCost {
    pub estimate: Estimate,
    pub rounds: Vec<(u32, f64)>,
}

impl TurnCosts {
    pub fn of(run: &Run) -> TurnCosts {
        if run.slices.is_empty() || run.record.emulator().is_some() {
            return TurnCosts::default();
        }
        let twins = run.record.plan.cases.iter().filter_map(|case| Some((case.twin_of?, case.index)));
        let twins: HashMap<usize, usize> = twins.collect();
        let cost = |case: usize| {
            // A control stands for its mean with its twin, as in its comparisons.
            let cases: Vec<usize> = std::iter::once(case).chain(twins.get(&case).copied()).collect();
            let rounds = run.slices.costs(&cases);
            let values: Vec<f64> = rounds.iter().map(|(_, cost)| *cost).collect();
            let estimate = median_interval(&values, run.record.spec.confidence, Unit::Nanoseconds)?;
            Some(TurnCost { estimate, rounds })
        };
        let cases = run.record.plan.cases.iter().map(|case| case.index);
        TurnCosts(cases.filter_map(|case| Some((case, cost(case)?))).collect())
    }

    /// `None`: it took no turns.
    pub fn of_case(&self, case: usize) -> Option<&TurnCost> {
        self.0.get(&case)
    }
}

#[cfg(test)]
mod tests {
    use crate::cells::Cells;
    use crate::synthetic::Synthetic;
    use syscost_experiment::run::SliceRow;
    use syscost_measure::probe::Slice;

    const MESSAGE: &str = "total_cpu_ns_per_message";

    /// Of 10 messages each: the control and its twin cost 900 and 1600 ns a message, the others 1100.
    fn slices(round: u32) -> Vec<SliceRow> {
        let row = |(case, cost): (usize, u64)| {
            let (length_ns, wall_ns) = (1_000_000, 1_000_000);
            let slice = Slice {
                pass: 0,
                position: case as u32,
                length_ns,
                start_ns: 0,
                wall_ns,
                messages: 10,
                sender_cpu_ns: 10 * cost,
                receiver_cpu_ns: 0,
            };
            SliceRow { block: 0, round, case, slice }
        };
        [(0, 900), (1, 1100), (2, 1100), (3, 1600)].map(row).to_vec()
    }

    #[test]
    fn the_figure_beside_a_verdict_is_of_the_slices_that_it_stands_on() {
        let (sizes, threads) = (vec![64], vec![1]);
        let mut run = Synthetic { sizes, threads, rounds: 8, twin_every: 3, ..Default::default() }.run();
        let windows = Cells::of(&run);
        let cost = |cells: &Cells, case: usize| cells.judged(case, MESSAGE).expect("a figure").value;
        assert_eq!(cost(&windows, 1), windows.cell(1, MESSAGE).expect("windows").estimate.value);
        (0..8).for_each(|round| run.slices.saw(&slices(round)));
        let cells = Cells::of(&run);
        assert!((cost(&cells, 1) - 1100.0).abs() < 1e-6);
        assert!((cost(&cells, 0) - 1200.0).abs() < 1e-6, "the mean with its twin");
        let throughput = cells.cell(1, "throughput").expect("windows").estimate;
        let rounds = cells.judged_rounds(1, MESSAGE);
        assert!(
            rounds.len() == 8 && rounds.iter().all(|(_, cost)| (cost - 1100.0).abs() < 1e-6),
            "{rounds:?}"
        );
        assert_eq!(cells.judged(1, "throughput"), Some(throughput), "a slice has no throughput");
    }
}
