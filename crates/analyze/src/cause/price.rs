//! What one event costs, measured in the same run by a probe that times it alone: the unit costs of the cost model, with the
//! error of their mean over rounds.

use crate::CellRef;
use crate::cells::Cells;
use crate::model::figure::Figure;
use crate::model::steps::{self as model_steps, Steps};
use crate::model::terms;
use syscost_core::axis::Point;
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_measure::probe::tcp_path::steps;

/// Nanoseconds of CPU time, with the error of the mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    pub ns: f64,
    pub variance: f64,
    pub freedom: f64,
    /// Over rows of the run: `(large - middle) / 53248`.
    pub formula: String,
    pub cells: Vec<CellRef>,
}

/// What each side pays for one event; `None`: the run lacks a part.
pub type SidesOf = fn(&Steps) -> Option<Vec<Figure>>;

/// A sleep: one side sleeps, the other wakes it.
pub fn sleep(steps: &Steps) -> Option<Vec<Figure>> {
    Some(vec![terms::waking(steps)?, terms::sleeping(steps)?])
}

/// A send call that hands over bytes and sends none.
pub fn send_call(steps: &Steps) -> Option<Vec<Figure>> {
    Some(vec![steps.sender(steps::APPEND)?])
}

/// A receive call, without what each of the segments costs that it takes.
pub fn receive_call(steps: &Steps) -> Option<Vec<Figure>> {
    Some(vec![terms::acknowledged_call(steps)?])
}

/// One byte copied into the kernel.
pub fn copied_byte(steps: &Steps) -> Option<Vec<Figure>> {
    Some(vec![steps.copy_in()?])
}

/// A switch to another thread on the same CPU.
pub fn switch(steps: &Steps) -> Option<Vec<Figure>> {
    Some(vec![steps.switch()?])
}

/// A run's cells and the cases that have prices: a run may have thousands of differences, and of cases.
pub struct PricedRun<'r> {
    pub run: &'r Run,
    pub cells: &'r Cells,
    sources: Vec<&'r Case>,
}

impl<'r> PricedRun<'r> {
    pub fn of(run: &'r Run, cells: &'r Cells) -> PricedRun<'r> {
        PricedRun { run, cells, sources: model_steps::sources(run) }
    }

    pub fn steps(&self, place: &Point) -> Steps<'_> {
        Steps::at(&self.sources, self.cells, place)
    }
}

impl Price {
    /// `None`: too few rounds have all parts for an error.
    pub fn of(figure: &Figure) -> Option<Price> {
        let n = figure.rounds.len() as f64;
        let ns = figure.rounds.iter().map(|(_, ns)| ns).sum::<f64>() / n;
        let squares: f64 = figure.rounds.iter().map(|(_, round)| (round - ns).powi(2)).sum();
        (figure.rounds.len() > 1).then(|| Price {
            ns,
            variance: squares / (n - 1.0) / n,
            freedom: n - 1.0,
            formula: figure.formula.clone(),
            cells: figure.cells.clone(),
        })
    }
}
