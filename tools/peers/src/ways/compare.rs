//! From the record to the comparison: how many times as fast ours is as each program, paired by
//! round. Pure.

use super::contest::{self, Contest, Measure};
use super::record::{OURS, Record, Visited};
use crate::cell::Cell;
use syscost_core::stats::{self, Estimate};

pub const LEVEL: f64 = 0.95;

/// A program beside ours.
#[derive(Clone, Debug)]
pub struct Against {
    pub tool: String,
    /// In the contest's unit.
    pub median: f64,
    /// How many times as fast ours is: of throughputs ours over theirs, of times theirs over ours.
    pub times_as_fast: Estimate,
}

/// One cell of a contest.
pub struct Row {
    pub contest: &'static Contest,
    pub cell: Cell,
    /// Our median; `None` without a figure.
    pub ours: Option<f64>,
    pub rounds: usize,
    pub against: Vec<Against>,
}

impl Row {
    /// The fastest program of the cell. Picking it from noisy figures favours the programs slightly.
    pub fn best(&self) -> Option<&Against> {
        let speed = |against: &Against| match self.contest.measure {
            Measure::Throughput => against.median,
            Measure::Latency => -against.median,
        };
        self.against.iter().max_by(|a, b| speed(a).total_cmp(&speed(b)))
    }
}

/// Every cell with a visit in the record, in the order of the contests.
pub fn rows(record: &Record) -> Vec<Row> {
    let mut rows = Vec::new();
    for contest in contest::ALL {
        let of_contest: Vec<&Visited> =
            record.visits.iter().filter(|visit| visit.contest == contest.id).collect();
        let mut cells: Vec<Cell> = of_contest.iter().map(|visit| visit.cell).collect();
        cells.sort();
        cells.dedup();
        rows.extend(cells.into_iter().map(|cell| row(contest, cell, &of_contest)));
    }
    rows
}

fn row(contest: &'static Contest, cell: Cell, visits: &[&Visited]) -> Row {
    let own = series(visits, cell, OURS);
    let mut tools: Vec<&str> =
        visits.iter().filter(|v| v.cell == cell && v.tool != OURS).map(|v| v.tool.as_str()).collect();
    let position = |id: &str| contest.rivals.iter().position(|rival| rival.id() == id);
    tools.sort_by_key(|tool| (position(tool), *tool));
    tools.dedup();
    let against = tools.into_iter().filter_map(|tool| {
        let theirs = series(visits, cell, tool);
        let ratio = match contest.measure {
            Measure::Throughput => stats::paired_ratio(&own, &theirs, LEVEL),
            Measure::Latency => stats::paired_ratio(&theirs, &own, LEVEL),
        };
        Some(Against { tool: tool.into(), median: median(&theirs)?, times_as_fast: ratio?.estimate })
    });
    let against = against.collect();
    Row { contest, cell, ours: median(&own), rounds: own.len(), against }
}

/// Round and figure, by ascending round.
fn series(visits: &[&Visited], cell: Cell, tool: &str) -> Vec<(u32, f64)> {
    let mine = visits.iter().filter(|visit| visit.cell == cell && visit.tool == tool);
    let mut series: Vec<(u32, f64)> =
        mine.filter_map(|visit| Some((visit.round, *visit.outcome.as_ref().ok()?))).collect();
    series.sort_by_key(|(round, _)| *round);
    series
}

fn median(series: &[(u32, f64)]) -> Option<f64> {
    stats::median(&series.iter().map(|(_, value)| *value).collect::<Vec<_>>())
}

/// Visits without a figure: contest, tool, how many, the first reason.
pub fn failures(record: &Record) -> Vec<(String, String, usize, String)> {
    let mut failures: Vec<(String, String, usize, String)> = Vec::new();
    for visit in &record.visits {
        let Err(reason) = &visit.outcome else { continue };
        match failures.iter_mut().find(|(contest, tool, ..)| (contest, tool) == (&visit.contest, &visit.tool))
        {
            Some((_, _, count, _)) => *count += 1,
            None => failures.push((visit.contest.clone(), visit.tool.clone(), 1, reason.clone())),
        }
    }
    failures
}
