//! What one step costs in a run: the cells of other probes that an account may use, and no others.
//!
//! The steps are those of the path that a case takes; memory copies are those of one thread. A cell of
//! a transfer is not to be had here.

use super::counts::segment_bytes;
use super::figure::Figure;
use crate::CellRef;
use crate::cells::{Cell, Cells};
use syscost_core::axis::Point;
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_measure::probe::path_steps as steps;
use syscost_measure::probe::prediction::RowRef;
use syscost_measure::probe::{self, Prices, working_set};

/// A case, and what it is a price of.
pub type PricedCase<'a> = (&'a Case, Prices);

/// The unit costs for cases at one place.
pub struct Steps<'a> {
    sources: &'a [PricedCase<'a>],
    cells: &'a Cells,
    place: Point,
}

/// The cases of a run that steps are found in: looked for once, since a large run asks for thousands.
pub fn sources(run: &Run) -> Vec<PricedCase<'_>> {
    let prices: Vec<(&str, Prices)> = probe::ALL
        .iter()
        .map(|probe| probe.about())
        .filter_map(|about| Some((about.id, about.prices?)))
        .collect();
    let cases = run.record.plan.cases.iter().filter(|case| case.twin_of.is_none());
    let priced = |case: &&'_ Case| prices.iter().find(|(id, _)| case.probe == *id).map(|(_, prices)| *prices);
    cases.filter_map(|case| Some((case, priced(&case)?))).collect()
}

impl<'a> Steps<'a> {
    /// Those that hold where this point is.
    pub fn at(sources: &'a [PricedCase<'a>], cells: &'a Cells, point: &Point) -> Steps<'a> {
        Steps { sources, cells, place: point.clone() }
    }

    pub fn sender(&self, step: &'static str) -> Option<Figure> {
        self.find(step, steps::SENDER, step)
    }

    pub fn receiver(&self, step: &'static str) -> Option<Figure> {
        self.find(step, steps::RECEIVER, &format!("{step}.receiver"))
    }

    pub fn completion(&self, step: &'static str) -> Option<Figure> {
        self.find(step, steps::COMPLETION, &format!("{step}.completion"))
    }

    /// How often the receiver was called in a turn.
    pub fn receive_calls(&self, step: &'static str) -> Option<Figure> {
        self.find(step, steps::RECEIVE_CALLS, &format!("{step}.receive_calls"))
    }

    /// How often it slept in a turn.
    pub fn sleeps(&self, step: &'static str) -> Option<Figure> {
        self.find(step, steps::SLEEPS, &format!("{step}.sleeps"))
    }

    /// What a byte costs that send(2) copies into the kernel. Where the kernel makes a segment of each packet, all steps but the
    /// smallest have several: the bytes have their segments' cost.
    pub fn copy_in(&self) -> Option<Figure> {
        if self.packet_by_packet() {
            let (long, middle) = (self.sender(steps::LONG)?, self.sender(steps::MIDDLE)?);
            return Some(long.minus(&middle).over((steps::LONG_BYTES - steps::MIDDLE_BYTES) as f64));
        }
        let (large, middle) = (self.sender(steps::LARGE)?, self.sender(steps::MIDDLE)?);
        Some(large.minus(&middle).over((steps::LARGE_BYTES - steps::MIDDLE_BYTES) as f64))
    }

    /// Are segments so small that the middle step has several?
    pub fn packet_by_packet(&self) -> bool {
        segment_bytes(&self.place).1 < steps::MIDDLE_BYTES as u64
    }

    /// What a byte costs that one thread copies in user memory, where so many bytes are at work: that
    /// of the smallest tested working set that holds them.
    pub fn user_copy(&self, working_set: u64) -> Option<Figure> {
        let mut tested: Vec<(u64, Figure)> = self
            .sources
            .iter()
            .filter_map(|(case, prices)| {
                let Prices::Copies { row } = prices else { return None };
                let bytes = case.point.int(working_set::ID)?;
                let cell = self.cell(case, &row(bytes))?;
                let name = format!("1 / copy rate of {}", syscost_core::units::short_bytes(bytes));
                let rate = self.figure(&name, cell);
                (rate.ns > 0.0).then(|| (bytes, rate.each(name, |rate| 1e9 / rate)))
            })
            .collect();
        tested.sort_by_key(|(bytes, _)| *bytes);
        let fits = tested.iter().position(|(bytes, _)| *bytes >= working_set);
        let at = fits.unwrap_or(tested.len().checked_sub(1)?);
        Some(tested.swap_remove(at).1)
    }

    fn find(&self, step: &'static str, figure: &'static str, name: &str) -> Option<Figure> {
        let of_case = |(case, prices): &PricedCase<'_>| {
            let Prices::Steps { shared, row } = prices else { return None };
            let here = shared.iter().all(|axis| case.point.get(axis) == self.place.get(axis));
            here.then(|| self.cell(case, &row(step, figure)))?
        };
        Some(self.figure(name, self.sources.iter().find_map(of_case)?))
    }

    fn figure(&self, name: &str, cell: &Cell) -> Figure {
        Figure::of(name, cell, CellRef { case: cell.case, metric: cell.metric })
    }

    fn cell(&self, case: &Case, row: &RowRef) -> Option<&'a Cell> {
        row.means(&case.probe, &case.point).then(|| self.cells.cell(case.index, row.metric))?
    }
}
