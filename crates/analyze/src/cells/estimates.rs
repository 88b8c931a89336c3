//! Estimates of every metric of every case: the cells that all tables, plots and sentences name.
//!
//! The value of a round is the median over its usable samples (those that [`crate::cells::sanity`] finds
//! impossible are refused); the estimate is the median over
//! rounds with its order-statistic interval, because rounds (fresh processes), not samples, are
//! independent. A round's figure of single times (a latency) is that of all its usable samples' times; what all rounds'
//! times make together stands beside the estimate ([`Pooled`]). A round without a usable sample has no value; a metric that no
//! sample supports has no cell. Source: Kalibera and Jones, "Rigorous benchmarking in reasonable time".

use crate::cells::rounds::Rounds;
use crate::cells::turn_metrics::{of_steady, steady_id};
use syscost_core::axis::Name;
use syscost_core::sample::{Metric, Sample, round_value};
use syscost_core::stats::histogram::Histogram;
use syscost_core::stats::times::{Stall, TimesFigure};
use syscost_core::stats::{Estimate, rounds_interval};
use syscost_experiment::plan::Case;
use syscost_experiment::run::{Record, Run};
use syscost_measure::probe;
use syscost_measure::probe::cost::CLOCK_INSTRUCTIONS;

/// One metric of one case.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Index of the case in the plan.
    pub case: usize,
    pub metric: &'static str,
    pub estimate: Estimate,
    /// The metric's value in each round that has one: the median over its usable samples.
    pub rounds: Rounds,
    /// Of a figure of single times.
    pub pooled: Option<Pooled>,
}

/// A figure of all times of all usable samples together, beside the median of the rounds' own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pooled {
    pub value: f64,
    pub times: u64,
    /// How many of them lie above it.
    pub above: Option<u64>,
    /// Where few rounds make it.
    pub stall: Option<Stall>,
}

/// All cells of a run, by case and in the order of the probe's metrics.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Cells {
    /// Those of each case of the plan, by its index.
    of_case: Vec<Box<[Cell]>>,
}

impl Cells {
    /// Those of each case, by its index.
    pub(crate) fn from_cases(of_case: Vec<Box<[Cell]>>) -> Cells {
        Cells { of_case }
    }

    /// The figure of a case: of the data that its verdicts stand on.
    pub fn estimate(&self, case: usize, metric: &str) -> Option<Estimate> {
        Some(self.cell(case, metric)?.estimate)
    }

    /// The same where queues are as full as they get: of a case that took turns that is another regime.
    pub fn steady(&self, case: usize, metric: &str) -> Option<&Cell> {
        let steady = steady_id(metric).and_then(|id| self.cell(case, id));
        steady.or_else(|| self.cell(case, metric))
    }

    pub fn cell(&self, case: usize, metric: &str) -> Option<&Cell> {
        self.of_case(case).iter().find(|c| c.metric == metric)
    }

    /// The cells of one case, in the order of its probe's metrics.
    pub fn of_case(&self, case: usize) -> &[Cell] {
        self.of_case.get(case).map_or(&[], |cells| cells)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Cell> {
        self.of_case.iter().flatten()
    }

    /// Every cell of one metric, by case.
    pub fn of_metric<'a>(&'a self, metric: &'a str) -> impl Iterator<Item = &'a Cell> {
        self.iter().filter(move |c| c.metric == metric)
    }

    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}

/// The metric of this id of any probe of the run; a steady one is that of its figure by slices.
pub fn metric(run: &Run, id: &str) -> Option<Metric> {
    let id = of_steady(id).unwrap_or(id);
    let mut looked_at: Option<&Name> = None;
    // The first case mostly has it: this is asked for every odd step, of a plan of a hundred thousand cases.
    run.record.plan.cases.iter().find_map(|case| {
        let new = looked_at.replace(&case.probe) != Some(&case.probe);
        let probe = new.then(|| probe::find(&case.probe))??;
        probe.metrics().into_iter().find(|m| m.id == id)
    })
}

/// The cells of a case, from its sound samples in order of rounds. Of an emulated machine only what was counted:
/// nothing that is made of its times may be shown, compared or drawn.
pub(super) fn cells_of_case(case: &Case, samples: &[&Sample], record: &Record) -> Box<[Cell]> {
    let Some(probe) = probe::find(&case.probe) else { return Box::default() };
    let of_rounds: Vec<&[&Sample]> = samples.chunk_by(|a, b| a.round == b.round).collect();
    let counted = record.clock_instructions().map(|rate| with_rate(samples, rate));
    let of_counted: Vec<&Sample> = counted.iter().flatten().collect();
    let of_rounds: Vec<&[&Sample]> =
        if counted.is_some() { of_counted.chunk_by(|a, b| a.round == b.round).collect() } else { of_rounds };
    let counts_only = record.emulator().is_some();
    let all = probe.metrics();
    let metrics: Vec<&Metric> = all.iter().filter(|metric| metric.is_count() || !counts_only).collect();
    let of_times = metrics.iter().any(|metric| metric.of_times.is_some());
    let times = CaseTimes::of(if of_times { &of_rounds } else { &[] });
    let (mut found, mut table) = (Vec::new(), Vec::new());
    for metric in metrics {
        let value = |(place, round): (usize, &&[&Sample])| {
            let own = metric.of_times.filter(|_| !times.whole.is_empty()).zip(times.rounds.get(place));
            own.map_or_else(|| round_value(round, metric, &case.point), |(of, times)| of.of_round(times))
        };
        let row: Vec<f64> = of_rounds.iter().enumerate().map(|r| value(r).unwrap_or(f64::NAN)).collect();
        let known: Vec<f64> = row.iter().copied().filter(|value| !value.is_nan()).collect();
        let of_rounds = || Some((rounds_interval(&known, record.spec.confidence, metric.unit)?, None));
        let figure = match metric.of_times.filter(|_| !times.whole.is_empty()) {
            Some(of) => times.figure(of, record.spec.confidence),
            None => of_rounds(),
        };
        if let Some((estimate, pooled)) = figure {
            found.push((metric.id, estimate, pooled));
            table.extend(row);
        }
    }
    let rounds = Rounds::of_metrics(of_rounds.iter().map(|round| round[0].round).collect(), table);
    let cell =
        |((metric, estimate, pooled), rounds)| Cell { case: case.index, metric, estimate, rounds, pooled };
    found.into_iter().zip(rounds).map(cell).collect()
}

/// The samples of a machine whose clocks count so many instructions in a nanosecond.
fn with_rate(samples: &[&Sample], rate: f64) -> Vec<Sample> {
    let with = |sample: &&Sample| {
        let mut sample = (*sample).clone();
        sample.quantities.insert(CLOCK_INSTRUCTIONS.into(), Some(rate));
        sample
    };
    samples.iter().map(with).collect()
}

/// The single times of a case, by round and together.
struct CaseTimes {
    /// Empty where a round kept none.
    rounds: Vec<Histogram>,
    whole: Histogram,
}

impl CaseTimes {
    fn of(of_rounds: &[&[&Sample]]) -> CaseTimes {
        let rounds: Vec<Histogram> =
            of_rounds.iter().map(|round| times_of_round(round).unwrap_or_default()).collect();
        CaseTimes { whole: Histogram::merged(&rounds), rounds }
    }

    fn figure(&self, of: TimesFigure, confidence: f64) -> Option<(Estimate, Option<Pooled>)> {
        let estimate = of.over_rounds(&self.rounds, &self.whole, confidence)?;
        let pooled = Pooled {
            value: of.pooled(&self.whole)?,
            times: self.whole.count(),
            above: of.above(&self.whole),
            stall: of.stall(&self.rounds, &self.whole, &estimate),
        };
        Some((estimate, Some(pooled)))
    }
}

/// All times of a round's usable samples; `None` where none kept them.
pub fn times_of_round(samples: &[&Sample]) -> Option<Histogram> {
    let usable = samples.iter().filter(|sample| sample.usable());
    let times: Vec<&Histogram> = usable.filter_map(|sample| sample.histogram.as_ref()).collect();
    (!times.is_empty()).then(|| Histogram::merged(times))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{self, Synthetic, tell};
    use syscost_core::units::Unit;
    use syscost_experiment::plan::Plan;

    fn one_case(costs: &[(u32, &[f64])]) -> Run {
        let case = synthetic::case(0, synthetic::point("send", 1024, 1));
        let samples = costs
            .iter()
            .flat_map(|(round, costs)| costs.iter().enumerate().map(|(i, c)| (*round, i as u32, *c)))
            .map(|(round, index, cost)| synthetic::sample(&case, round, index, cost))
            .collect();
        synthetic::record(Plan { cases: vec![case], ..Plan::default() }, samples)
    }

    #[test]
    fn a_round_is_the_median_of_its_samples_and_a_cell_that_of_its_rounds() {
        let run = one_case(&[(0, &[100.0, 900.0, 110.0]), (1, &[120.0, 130.0, 10.0]), (4, &[500.0])]);
        let cells = Cells::of(&run);
        let cell = cells.cell(0, "total_cpu_ns_per_message").unwrap();
        let rounds: Vec<(u32, f64)> = cell.rounds.iter().map(|(r, v)| (r, v.round())).collect();
        assert_eq!(rounds, [(0, 110.0), (1, 120.0), (4, 500.0)]);
        assert_eq!((cell.estimate.value.round(), cell.estimate.n), (120.0, 3));
        assert!(cell.estimate.level == 0.95 && cell.estimate.high > 500.0, "{:?}", cell.estimate);
    }

    #[test]
    fn suspect_samples_are_not_used_and_unsupported_metrics_have_no_cell() {
        let mut run = one_case(&[(0, &[100.0, 300.0]), (1, &[200.0]), (2, &[700.0])]);
        run.samples[1].marks.push("steal".into());
        run.samples[3].verified = false;
        let stray = Sample { case: 99, ..run.samples[0].clone() };
        run.samples.push(stray);
        let cells = Cells::of(&run);
        let cell = cells.cell(0, "total_cpu_ns_per_message").unwrap();
        assert_eq!(
            cell.rounds.iter().map(|(r, v)| (r, v.round())).collect::<Vec<_>>(),
            [(0, 100.0), (1, 200.0)]
        );
        assert!(cells.cell(0, "cycles_per_byte").is_none(), "no counter, no cell");
        assert!(cells.cell(0, "copied_fraction").is_none(), "no completions, no cell");
        assert!(cells.cell(7, "throughput").is_none());
    }

    #[test]
    fn an_emulated_machine_has_counts_only() {
        let mut run = one_case(&[(0, &[100.0]), (1, &[120.0])]);
        let times = |run: &Run| Cells::of(run).iter().filter(|c| c.estimate.unit != Unit::Count).count();
        assert!(times(&run) > 0);
        tell(&mut run, "emulated", Some("TCG"));
        for sample in &mut run.samples {
            sample.quantities.insert("sender_system_calls".into(), Some(8.0));
        }
        assert_eq!(times(&run), 0);
        assert!(Cells::of(&run).cell(0, "sender_system_calls_per_message").is_some());
    }

    #[test]
    fn order_of_samples_and_threads_do_not_matter() {
        let mut run =
            Synthetic { sizes: vec![64, 4096], threads: (1..=20).collect(), ..Default::default() }.run();
        let forward = Cells::of(&run);
        assert!(run.record.plan.cases.len() > 128, "enough cases to be split");
        run.samples.reverse();
        assert_eq!(forward, Cells::of(&run));
        for (case, cell) in forward.iter().map(|c| (c.case, c)) {
            assert_eq!(forward.cell(case, cell.metric), Some(cell));
        }
    }
}
