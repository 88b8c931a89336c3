//! What one event costs, measured in the same run by a probe that times it alone.

use crate::CellRef;
use crate::cells::Cells;
use std::collections::{BTreeMap, HashMap};
use syscost_core::axis::Point;
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_measure::probe::prediction::RowRef;
use syscost_measure::probe::tcp_path::{self, steps};
use syscost_measure::probe::{Probe, context_switch};

/// Nanoseconds of CPU time, with the error of the mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    pub ns: f64,
    pub variance: f64,
    pub freedom: f64,
    /// Over rows of the run: `wake.sender - single.sender`.
    pub formula: String,
    pub cells: Vec<CellRef>,
}

/// A row of the run, so many times.
pub struct PricePart {
    times: f64,
    row: RowRef,
    name: String,
}

impl PricePart {
    pub fn so_often(self, events: f64) -> PricePart {
        PricePart { times: self.times * events, ..self }
    }
}

fn sender(times: f64, step: &'static str) -> PricePart {
    PricePart { times, row: tcp_path::sender_cost(step), name: format!("{step}.sender") }
}

fn receiver(times: f64, step: &'static str) -> PricePart {
    PricePart { times, row: tcp_path::receiver_cost(step), name: format!("{step}.receiver") }
}

/// What each side pays for one event.
pub type SidesOf = fn() -> Vec<Vec<PricePart>>;

/// A sleep: one side sleeps, the other wakes it.
pub fn sleep() -> Vec<Vec<PricePart>> {
    vec![
        vec![sender(1.0, steps::WAKE), sender(-1.0, steps::SINGLE)],
        vec![receiver(1.0, steps::WAKE), receiver(-1.0, steps::SINGLE)],
    ]
}

/// A send call that hands over bytes and sends none.
pub fn send_call() -> Vec<Vec<PricePart>> {
    vec![vec![sender(1.0, steps::APPEND)]]
}

/// A receive call, without what each of the segments costs that it takes: those are the difference of a call that takes
/// eight and one that takes one.
pub fn receive_call() -> Vec<Vec<PricePart>> {
    let step = steps::ALL.iter().find(|step| step.id == steps::TRANSMIT);
    let further = step.map_or(1.0, |step| step.calls as f64 - 1.0);
    vec![vec![receiver(1.0 + 1.0 / further, steps::SINGLE), receiver(-1.0 / further, steps::TRANSMIT)]]
}

/// One byte copied into the kernel.
pub fn copied_byte() -> Vec<Vec<PricePart>> {
    let each = 1.0 / (steps::LARGE_BYTES - steps::MIDDLE_BYTES) as f64;
    vec![vec![sender(each, steps::LARGE), sender(-each, steps::MIDDLE)]]
}

/// A switch to another thread on the same CPU.
pub fn switch() -> Vec<Vec<PricePart>> {
    let row = context_switch::switch("process", "same", "pipe");
    vec![vec![PricePart { times: 1.0, name: row.probe.to_string(), row }]]
}

/// A run's cells and the cases of each probe: a run may have thousands of differences, and of cases.
pub struct PricedRun<'r> {
    pub run: &'r Run,
    pub cells: &'r Cells,
    of_probe: HashMap<&'r str, Vec<&'r Case>>,
}

impl<'r> PricedRun<'r> {
    pub fn of(run: &'r Run, cells: &'r Cells) -> PricedRun<'r> {
        let mut of_probe: HashMap<&str, Vec<&Case>> = HashMap::new();
        for case in run.record.plan.cases.iter().filter(|case| case.twin_of.is_none()) {
            of_probe.entry(&case.probe).or_default().push(case);
        }
        PricedRun { run, cells, of_probe }
    }

    /// The cell of a row where the place's path is that of the row.
    fn find(&self, place: &Point, row: &RowRef) -> Option<CellRef> {
        let is_step = row.probe == tcp_path::TcpPath.about().id;
        let here = |case: &&&Case| {
            !is_step || tcp_path::shared_axes().iter().all(|axis| case.point.get(axis) == place.get(axis))
        };
        let cases = self.of_probe.get(row.probe)?.iter();
        let case = cases.filter(|case| row.means(&case.probe, &case.point)).find(here)?;
        let cell = self.cells.cell(case.index, row.metric)?;
        Some(CellRef { case: case.index, metric: cell.metric })
    }
}

impl Price {
    /// The sum of parts, at one place; `None`: the run lacks one, or the error of one.
    pub fn of(of: &PricedRun, place: &Point, parts: &[PricePart]) -> Option<Price> {
        let mut by_case: BTreeMap<usize, Vec<(f64, CellRef)>> = BTreeMap::new();
        let mut refs = Vec::new();
        for part in parts {
            let cell = of.find(place, &part.row)?;
            by_case.entry(cell.case).or_default().push((part.times, cell.clone()));
            refs.push(cell);
        }
        let of_cases = by_case.values().map(|parts| sum(of.cells, parts)).collect::<Option<Vec<_>>>()?;
        let ns = of_cases.iter().map(|(mean, ..)| mean).sum();
        let variance: f64 = of_cases.iter().map(|(_, variance, _)| variance).sum();
        let spread: f64 = of_cases.iter().map(|(_, variance, freedom)| variance.powi(2) / freedom).sum();
        let least = of_cases.iter().map(|of| of.2).fold(f64::INFINITY, f64::min);
        let freedom = if spread > 0.0 { variance.powi(2) / spread } else { least };
        Some(Price { ns, variance, freedom, formula: formula(parts), cells: refs })
    }

    pub fn plus(self, other: Price) -> Price {
        let variance = self.variance + other.variance;
        let spread = self.variance.powi(2) / self.freedom + other.variance.powi(2) / other.freedom;
        let freedom = if spread > 0.0 { variance.powi(2) / spread } else { self.freedom.min(other.freedom) };
        let mut cells = self.cells;
        cells.extend(other.cells);
        let formula = format!("{} + {}", self.formula, other.formula);
        Price { ns: self.ns + other.ns, variance, freedom, formula, cells }
    }
}

/// Mean, variance of the mean and degrees of freedom of one case's parts, which are of the same rounds.
fn sum(cells: &Cells, parts: &[(f64, CellRef)]) -> Option<(f64, f64, f64)> {
    let mut rounds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (times, cell) in parts {
        for (round, value) in cells.cell(cell.case, cell.metric)?.rounds.iter() {
            rounds.entry(round).or_default().push(times * value);
        }
    }
    let whole = rounds.values().filter(|values| values.len() == parts.len());
    let values: Vec<f64> = whole.map(|values| values.iter().sum()).collect();
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0) / n;
    (values.len() > 1).then_some((mean, variance, n - 1.0))
}

fn formula(parts: &[PricePart]) -> String {
    let mut text = String::new();
    for (number, part) in parts.iter().enumerate() {
        match (number, part.times < 0.0) {
            (0, _) => {}
            (_, true) => text += " - ",
            (_, false) => text += " + ",
        }
        match part.times.abs() {
            1.0 => text += &part.name,
            times => text += &format!("{times:.3e} {}", part.name),
        }
    }
    text
}
