//! What a message costs by the slices of rivals that took turns: the data that their comparisons stand on.
//!
//! A slice begins with empty queues, so it costs more than a steady window does. A figure beside a verdict is of the same
//! slices as the verdict.

use std::collections::HashMap;
use syscost_core::stats::{Estimate, median_interval};
use syscost_core::units::Unit;
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_measure::probe::transfer::axes::MESSAGE_BYTES;

/// The unit of a metric of which slices are the better record: CPU time by bytes and by messages.
pub fn of_slices(metric: &str) -> Option<Unit> {
    match metric {
        "total_cpu_ns_per_byte" => Some(Unit::NanosecondsPerByte),
        "total_cpu_ns_per_message" => Some(Unit::Nanoseconds),
        _ => None,
    }
}

/// What each case that took turns cost in each round, in nanoseconds of CPU time a message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnCosts(HashMap<usize, CaseTurns>);

#[derive(Clone, Debug, PartialEq)]
struct CaseTurns {
    bytes: f64,
    rounds: Vec<(u32, f64)>,
    /// The medians of these rounds: asked for wherever rivals are put in order.
    by_byte: Estimate,
    by_message: Estimate,
}

impl CaseTurns {
    fn of(bytes: f64, rounds: Vec<(u32, f64)>, confidence: f64) -> Option<CaseTurns> {
        let by = |bytes: f64, unit| {
            let values: Vec<f64> = rounds.iter().map(|(_, cost)| cost / bytes).collect();
            median_interval(&values, confidence, unit)
        };
        let (by_byte, by_message) = (by(bytes, Unit::NanosecondsPerByte)?, by(1.0, Unit::Nanoseconds)?);
        Some(CaseTurns { bytes, rounds, by_byte, by_message })
    }
}

impl TurnCosts {
    pub fn of(run: &Run) -> TurnCosts {
        if run.slices.is_empty() || run.record.emulator().is_some() {
            return TurnCosts::default();
        }
        let cases = &run.record.plan.cases;
        let twins: HashMap<usize, usize> =
            cases.iter().filter_map(|case| Some((case.twin_of?, case.index))).collect();
        let turns = |case: &Case| {
            // A control stands for its mean with its twin, as in its comparisons.
            let both: Vec<usize> =
                std::iter::once(case.index).chain(twins.get(&case.index).copied()).collect();
            let bytes = case.point.int(MESSAGE_BYTES).unwrap_or(1) as f64;
            CaseTurns::of(bytes, run.slices.costs(&both), run.record.spec.confidence)
        };
        TurnCosts(cases.iter().filter_map(|case| Some((case.index, turns(case)?))).collect())
    }

    /// `None`: it took no turns, or they say nothing of the metric.
    pub fn rounds(&self, case: usize, metric: &str) -> Option<Vec<(u32, f64)>> {
        let (turns, unit) = self.0.get(&case).zip(of_slices(metric))?;
        let by = if unit == Unit::NanosecondsPerByte { turns.bytes } else { 1.0 };
        Some(turns.rounds.iter().map(|(round, cost)| (*round, cost / by)).collect())
    }

    /// The median of these rounds.
    pub fn estimate(&self, case: usize, metric: &str) -> Option<Estimate> {
        let (turns, unit) = self.0.get(&case).zip(of_slices(metric))?;
        Some(if unit == Unit::NanosecondsPerByte { turns.by_byte } else { turns.by_message })
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
        let by_byte = cells.judged(1, "total_cpu_ns_per_byte").expect("of the same slices");
        assert!((by_byte.value - 1100.0 / 64.0).abs() < 1e-6, "{by_byte:?}");
        let throughput = cells.cell(1, "throughput").expect("windows").estimate;
        let rounds = cells.judged_rounds(1, MESSAGE);
        assert!(
            rounds.len() == 8 && rounds.iter().all(|(_, cost)| (cost - 1100.0).abs() < 1e-6),
            "{rounds:?}"
        );
        assert_eq!(cells.judged(1, "throughput"), Some(throughput), "a slice has no throughput");
    }
}
