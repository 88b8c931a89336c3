//! The figures of cases that took turns: made of the same slices as the verdicts that stand beside them.
//!
//! The control's figure is the mean level of its rounds on the log scale, with its twin. A rival's figure is the control's
//! times the tested ratio, so that two figures divide to the ratio that was decided. A control that took turns with itself
//! at other numbers of threads hangs on the first of these in the same way. Intervals are by t, with the scatter of levels
//! between rounds moderated over all cases.
//!
//! A slice begins with empty queues. What the same case shows in a window of the usual length is a figure of its own,
//! called steady ([`crate::cells::turn_metrics`]).

use crate::cells::estimates::Cell;
use crate::cells::rounds::Rounds;
use crate::cells::turn_metrics::{METRICS, TurnMetric, steady_id};
use std::collections::HashMap;
use syscost_core::decide::{Contrast, half_widths};
use syscost_core::stats::Estimate;
use syscost_experiment::plan::BlockVisit;
use syscost_experiment::run::{RoundRatio, Run, SliceFigure};
use syscost_measure::probe::transfer::axes::MESSAGE_BYTES;

/// By case: what it shows of each figure.
#[derive(Debug, Default)]
pub struct Turns(HashMap<usize, Vec<(SliceFigure, Told)>>);

/// Logarithms of nanoseconds a message.
#[derive(Debug)]
struct Told {
    log: f64,
    /// `None`: the scatter of rounds is not known.
    half: Option<f64>,
    rounds: Vec<(u32, f64)>,
}

impl Turns {
    /// Empty for an emulated machine: its times mean nothing.
    pub fn of(run: &Run) -> Turns {
        let mut turns = Turns::default();
        if run.slices.is_empty() || run.record.emulator().is_some() {
            return turns;
        }
        use SliceFigure::{ReceiverCpu, SenderCpu, TotalCpu, Wall};
        for figure in [TotalCpu, SenderCpu, ReceiverCpu, Wall] {
            for (case, told) in told(run, figure) {
                turns.0.entry(case).or_default().push((figure, told));
            }
        }
        turns
    }

    /// The case's cells with those of its slices: what its windows say of the same is steady.
    pub fn with(&self, run: &Run, case: usize, cells: Box<[Cell]>) -> Box<[Cell]> {
        let Some((all, case)) = self.0.get(&case).zip(run.case(case)) else { return cells };
        let bytes = case.point.int(MESSAGE_BYTES).unwrap_or(1) as f64;
        let of_turns = METRICS.iter().filter_map(|metric| {
            let (_, told) = all.iter().find(|(figure, _)| *figure == metric.figure)?;
            Some(told.cell(metric, case.index, bytes, run.record.spec.confidence))
        });
        let renamed = cells
            .into_iter()
            .map(|cell| Cell { metric: steady_id(cell.metric).unwrap_or(cell.metric), ..cell });
        of_turns.chain(renamed).collect()
    }
}

impl Told {
    fn cell(&self, metric: &TurnMetric, case: usize, bytes: f64, confidence: f64) -> Cell {
        let half = self.half.unwrap_or(0.0);
        let [low, value, high] = [-half, 0.0, half].map(|off| metric.value(self.log + off, bytes));
        let estimate = Estimate {
            value,
            low: low.min(high),
            high: low.max(high),
            level: if self.half.is_some() { confidence } else { 0.0 },
            n: self.rounds.len() as u32,
            unit: metric.unit,
        };
        let rounds: Rounds =
            self.rounds.iter().map(|(round, log)| (*round, metric.value(*log, bytes))).collect();
        Cell { case, metric: metric.id, estimate, rounds, pooled: None }
    }
}

/// A figure of every case that took turns.
fn told(run: &Run, figure: SliceFigure) -> Vec<(usize, Told)> {
    let mut logs: HashMap<usize, f64> = HashMap::new();
    let mut blocks = run.record.plan.blocks();
    blocks.retain(|block| block.in_turns());
    // Thread blocks first: they set the level of the controls of the other blocks.
    blocks.sort_by_key(|block| block.visit != BlockVisit::AlongThreads);
    // A control stands for its mean with its twin, as in its comparisons; a thread block has it without.
    let controls: HashMap<usize, &[usize]> =
        blocks.iter().map(|block| (block.cases[0], &block.cases[..block.controls])).collect();
    let both = |case: &usize| controls.get(case).map_or(std::slice::from_ref(case), |both| *both).to_vec();
    let mut order = Vec::new();
    for block in &blocks {
        let (controls, rivals) = block.cases.split_at(block.controls);
        let level = || mean(&run.slices.levels(&both(&controls[0]), figure));
        let Some(base) = logs.get(&controls[0]).copied().or_else(level) else { continue };
        for control in controls {
            order.push(*control);
            logs.entry(*control).or_insert(base);
        }
        for rival in rivals {
            let ratios = run.slices.log_ratios(&[*rival], controls, figure);
            if !ratios.is_empty() {
                order.push(*rival);
                logs.insert(*rival, base + RoundRatio::contrast(&ratios, 0).mean());
            }
        }
    }
    order.sort_unstable();
    order.dedup();
    let levels = |case: &usize| {
        let levels = run.slices.levels(&both(case), figure);
        if levels.is_empty() { run.slices.levels(&[*case], figure) } else { levels }
    };
    let rounds: Vec<Vec<(u32, f64)>> = order.iter().map(levels).collect();
    let contrast = |rounds: &Vec<(u32, f64)>| Contrast::of(rounds.iter().map(|(_, log)| *log).collect());
    let contrasts: Vec<Contrast> = rounds.iter().map(contrast).collect();
    let halves = half_widths(&contrasts, run.record.spec.confidence);
    let told = |((case, rounds), half)| (case, Told { log: logs[&case], half, rounds });
    order.into_iter().zip(rounds).zip(halves).map(told).collect()
}

fn mean(levels: &[(u32, f64)]) -> Option<f64> {
    let sum: f64 = levels.iter().map(|(_, log)| log).sum();
    (!levels.is_empty()).then(|| sum / levels.len() as f64)
}

#[cfg(test)]
mod tests {
    use crate::cells::Cells;
    use crate::synthetic::Synthetic;
    use syscost_experiment::run::SliceRow;
    use syscost_measure::probe::Slice;

    const MESSAGE: &str = "total_cpu_ns_per_message";

    /// Each slice sends 10 messages: the control and its twin cost 900 and 1600 ns a message, the others 1100; the machine's level
    /// drifts from round to round.
    fn slices(round: u32) -> Vec<SliceRow> {
        let drift = 1 + u64::from(round % 2);
        let row = |(case, cost): (usize, u64)| {
            let slice = Slice {
                pass: 0,
                position: case as u32,
                length_ns: 1_000_000,
                start_ns: 0,
                wall_ns: 20 * cost * drift,
                messages: 10,
                sender_cpu_ns: 10 * cost * drift,
                receiver_cpu_ns: 0,
            };
            SliceRow { block: 0, round, case, slice }
        };
        [(0, 900), (1, 1100), (2, 1100), (3, 1600)].map(row).to_vec()
    }

    #[test]
    fn figures_are_of_the_slices_and_divide_to_the_tested_ratio() {
        let shape = Synthetic { mechanisms: vec!["send", "sendmsg", "pack_send"], ..Synthetic::default() };
        let mut run =
            Synthetic { sizes: vec![64], threads: vec![1], rounds: 8, twin_every: 3, ..shape }.run();
        let windows = Cells::of(&run);
        assert!(windows.cell(1, "steady_throughput").is_none(), "there is one regime");
        (0..8).for_each(|round| run.slices.saw(&slices(round)));
        let cells = Cells::of(&run);
        let value = |case: usize, metric: &str| cells.cell(case, metric).expect("a figure").estimate.value;
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        assert!(near(value(0, MESSAGE), 1200.0 * 2f64.sqrt()), "the mean with its twin");
        assert!(near(value(1, MESSAGE) / value(0, MESSAGE), 1100.0 / 1200.0), "drift cancels");
        assert!(near(value(1, "total_cpu_ns_per_byte"), value(1, MESSAGE) / 64.0));
        assert!(near(value(1, "throughput"), 8.0 * 64.0 * 1e9 / (2.0 * value(1, MESSAGE))));
        let steady = cells.cell(1, "steady_throughput").expect("of windows").estimate;
        assert_eq!(Some(steady), windows.cell(1, "throughput").map(|cell| cell.estimate));
        let estimate = cells.cell(1, "throughput").expect("a figure").estimate;
        assert!(estimate.low < estimate.value && estimate.value < estimate.high && estimate.level == 0.95);
        assert_eq!(estimate.n, 8);
    }
}
