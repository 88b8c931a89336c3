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
use syscost_measure::probe::prediction::RowRef;
use syscost_measure::probe::tcp_path::{self, steps};
use syscost_measure::probe::working_set;
use syscost_measure::probe::{Probe, memory_bandwidth};

/// The unit costs for cases at one place.
pub struct Steps<'a> {
    sources: &'a [&'a Case],
    cells: &'a Cells,
    place: Point,
}

/// The cases of a run that steps are found in: looked for once, since a large run asks for thousands.
pub fn sources(run: &Run) -> Vec<&Case> {
    let known = [tcp_path::TcpPath.about().id, memory_bandwidth::MEMORY_BANDWIDTH.id];
    let is_source = |c: &&Case| known.contains(&c.probe.as_str());
    run.record.plan.cases.iter().filter(|c| c.twin_of.is_none()).filter(is_source).collect()
}

impl<'a> Steps<'a> {
    /// Those that hold where this point is.
    pub fn at(sources: &'a [&'a Case], cells: &'a Cells, point: &Point) -> Steps<'a> {
        Steps { sources, cells, place: point.clone() }
    }

    pub fn sender(&self, step: &'static str) -> Option<Figure> {
        self.find(&tcp_path::sender_cost(step), step)
    }

    pub fn receiver(&self, step: &'static str) -> Option<Figure> {
        self.find(&tcp_path::receiver_cost(step), &format!("{step}.receiver"))
    }

    pub fn completion(&self, step: &'static str) -> Option<Figure> {
        self.find(&tcp_path::completion_cost(step), &format!("{step}.completion"))
    }

    /// How often the receiver was called in a turn.
    pub fn receive_calls(&self, step: &'static str) -> Option<Figure> {
        self.find(&tcp_path::receive_calls(step), &format!("{step}.receive_calls"))
    }

    /// How often it slept in a turn.
    pub fn sleeps(&self, step: &'static str) -> Option<Figure> {
        self.find(&tcp_path::sleeps(step), &format!("{step}.sleeps"))
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
            .filter_map(|case| {
                let bytes = case.point.int(working_set::ID)?;
                let row = memory_bandwidth::rate("copy", bytes, 1);
                let cell = self.cell(case, &row)?;
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

    fn find(&self, row: &RowRef, name: &str) -> Option<Figure> {
        let here = |case: &&&Case| {
            tcp_path::shared_axes().iter().all(|axis| case.point.get(axis) == self.place.get(axis))
        };
        let mut cases = self.sources.iter().filter(here);
        Some(self.figure(name, cases.find_map(|case| self.cell(case, row))?))
    }

    fn figure(&self, name: &str, cell: &Cell) -> Figure {
        Figure::of(name, cell, CellRef { case: cell.case, metric: cell.metric })
    }

    fn cell(&self, case: &Case, row: &RowRef) -> Option<&'a Cell> {
        row.means(&case.probe, &case.point).then(|| self.cells.cell(case.index, row.metric))?
    }
}
