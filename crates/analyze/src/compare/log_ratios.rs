//! What every comparison stands on: the log ratio of two cases, round by round.
//!
//! Rivals that took turns in one block have slices milliseconds apart, which say what CPU time each costs with the machine's
//! drift cancelled. Everything else is the ratio of what a case's rounds measured.

use crate::cells::Cells;
use crate::cells::turn_metrics::{TurnMetric, of_slices};
use std::collections::HashMap;
use syscost_core::stats;
use syscost_experiment::run::{RoundRatio, Run};
use syscost_measure::probe::transfer::axes::MESSAGE_BYTES;

pub struct LogRatios<'a> {
    run: &'a Run,
    cells: &'a Cells,
    /// Of an emulated machine no times are compared, and slices are nothing else.
    has_slices: bool,
    /// Of cases that were planned twice: both, which stand for their mean.
    twice: HashMap<usize, Vec<usize>>,
    /// Of cases that take turns: the control of their block, and its twin.
    controls: HashMap<usize, Vec<usize>>,
}

impl<'a> LogRatios<'a> {
    pub fn new(run: &'a Run, cells: &'a Cells) -> LogRatios<'a> {
        let mut twice: HashMap<usize, Vec<usize>> = HashMap::new();
        for case in &run.record.plan.cases {
            if let Some(of) = case.twin_of {
                twice.entry(of).or_insert_with(|| vec![of]).push(case.index);
            }
        }
        let mut controls = HashMap::new();
        let has_slices = !run.slices.is_empty() && run.record.emulator().is_none();
        let blocks = if has_slices { run.record.plan.blocks() } else { Vec::new() };
        for block in blocks.into_iter().filter(|block| block.in_turns()) {
            let (control, rivals) = block.cases.split_at(block.controls);
            controls.extend(rivals.iter().map(|rival| (*rival, control.to_vec())));
        }
        LogRatios { run, cells, has_slices, twice, controls }
    }

    /// ln(a / b) of the rounds that both have; empty where a round has no ratio.
    pub fn of(&self, metric: &str, (a, b): (usize, usize)) -> Vec<RoundRatio> {
        let in_turns = self.in_turns(metric, a, b).or_else(|| self.by_way_of_control(metric, a, b));
        in_turns.unwrap_or_else(|| self.in_rounds(metric, a, b))
    }

    /// ln(a / b) of two that took turns with rivals of their own, in blocks that a round visited one after the other: by
    /// the level of each block's slices.
    pub fn of_blocks(&self, metric: &str, (a, b): (usize, usize)) -> Vec<RoundRatio> {
        match self.in_rounds(metric, a, b) {
            levels if !levels.is_empty() => levels,
            _ => self.of(metric, (a, b)),
        }
    }

    /// By slices, with both of a case that was planned twice.
    fn in_turns(&self, metric: &str, a: usize, b: usize) -> Option<Vec<RoundRatio>> {
        let sides = [a, b].map(|case| self.twice.get(&case).cloned().unwrap_or_else(|| vec![case]));
        // At several numbers of threads it took its turns without its twin.
        self.in_slices(metric, &sides[0], &sides[1]).or_else(|| self.in_slices(metric, &[a], &[b]))
    }

    /// By slices in two blocks that have the control in common: the machine's drift between the blocks cancels.
    fn by_way_of_control(&self, metric: &str, a: usize, b: usize) -> Option<Vec<RoundRatio>> {
        let (control, other) = self.controls.get(&a).zip(self.controls.get(&b))?;
        let metric = of_slices(metric).filter(|_| control == other)?;
        told(metric, self.run.slices.log_ratios_by_way((&[a], &[b]), control, metric.figure))
    }

    /// The same of a twin and its original.
    pub fn of_twins(&self, metric: &str, twin: usize, original: usize) -> Vec<RoundRatio> {
        self.in_slices(metric, &[twin], &[original]).unwrap_or_else(|| self.in_rounds(metric, twin, original))
    }

    /// `None` where the two never took turns, or the metric is of other windows.
    fn in_slices(&self, metric: &str, a: &[usize], b: &[usize]) -> Option<Vec<RoundRatio>> {
        let metric = of_slices(metric).filter(|_| self.has_slices)?;
        let same_size = [a, b].map(|side| self.run.case(side[0]).and_then(|c| c.point.int(MESSAGE_BYTES)));
        let logs = told(metric, self.run.slices.log_ratios(a, b, metric.figure));
        logs.filter(|_| same_size[0] == same_size[1])
    }

    fn in_rounds(&self, metric: &str, a: usize, b: usize) -> Vec<RoundRatio> {
        let cells = self.cells.cell(a, metric).zip(self.cells.cell(b, metric));
        let logs = cells.and_then(|(a, b)| stats::log_ratios(&a.rounds.pairs(), &b.rounds.pairs()));
        logs.unwrap_or_default().into_iter().map(RoundRatio::whole).collect()
    }
}

/// As ratios of the metric; `None`: there are none.
fn told(metric: &TurnMetric, ratios: Vec<RoundRatio>) -> Option<Vec<RoundRatio>> {
    (!ratios.is_empty()).then(|| ratios.into_iter().map(|ratio| metric.ratio(ratio)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Synthetic, turn};
    use syscost_experiment::run::SliceRow;

    /// One slice of each case in each of two passes of every round; case 1 costs 10 % more, the twin of 0 costs 21 % less.
    fn slices(round: u32) -> Vec<SliceRow> {
        let costs = [(0, 1000.0), (1, 1100.0), (2, 1000.0), (3, 826.0)];
        let row = |pass: u32, (case, ns): (usize, f64)| turn(0, round, pass, case, ns * f64::from(pass + 1));
        (0..2).flat_map(|pass| costs.map(|one| row(pass, one))).collect()
    }

    #[test]
    fn slices_are_what_cpu_time_is_compared_by_and_a_control_stands_for_its_mean() {
        let (sizes, threads) = (vec![64], vec![1]);
        let mut run = Synthetic { sizes, threads, rounds: 3, twin_every: 3, ..Default::default() }.run();
        let cells = Cells::of(&run);
        let cpu = "total_cpu_ns_per_byte";
        let without = LogRatios::new(&run, &cells).of(cpu, (0, 1));
        assert!(without.len() == 3 && without.iter().all(|ratio| ratio.log.abs() < 0.3));
        (0..5).for_each(|round| run.slices.saw(&slices(round)));
        let ratios = LogRatios::new(&run, &cells);
        let near = |all: &[RoundRatio], wanted: f64| all.iter().all(|r| (r.log - wanted).abs() < 1e-3);
        let with = ratios.of(cpu, (1, 2));
        assert!(with.len() == 5 && near(&with, 1.1f64.ln()), "{with:?}");
        let control = ratios.of(cpu, (0, 1));
        assert!(near(&control, 0.826f64.ln() / 2.0 - 1.1f64.ln()), "the mean of both: {control:?}");
        assert!(near(&ratios.of_twins(cpu, 3, 0), 0.826f64.ln()));
        let speed = ratios.of("throughput", (1, 0));
        assert!(
            speed.len() == 5 && near(&speed, 0.826f64.ln() / 2.0 - 1.1f64.ln()),
            "a rate is over its time: {speed:?}"
        );
    }
}
