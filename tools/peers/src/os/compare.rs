//! From the record to the comparison: our figure over each peer's, paired by round; the spread of
//! each over the rounds. Pure.

use super::record::{OURS, Record};
use super::row::Row;
use syscost_core::stats::{self, Estimate};

pub const LEVEL: f64 = 0.95;
/// Two tools agree on a row where the median ratio is no further from 1 than this, either way.
pub const AGREEMENT: f64 = 1.1;

/// Quartiles of fewer figures say nothing.
const FEWEST_FOR_SPREAD: usize = 4;

/// The figures of one tool on one row.
#[derive(Clone, Debug)]
pub struct Figures {
    pub tool: String,
    pub command: String,
    pub median: f64,
    /// `None` with too few rounds to say.
    pub spread: Option<f64>,
    pub rounds: usize,
}

/// A peer beside ours.
#[derive(Clone, Debug)]
pub struct Against {
    pub peer: Figures,
    /// Ours over the peer's; `None` where no round has both.
    pub ratio: Option<Estimate>,
}

impl Against {
    pub fn verdict(&self) -> Verdict {
        let Some(ratio) = &self.ratio else { return Verdict::NoCommonRound };
        let (low, high) = (1.0 / AGREEMENT, AGREEMENT);
        if (low..=high).contains(&ratio.value) {
            Verdict::Agrees
        } else if ratio.low <= high && ratio.high >= low {
            Verdict::Undecided
        } else {
            Verdict::Differs
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Agrees,
    /// The median is further away, but the interval reaches into the agreement.
    Undecided,
    /// The whole interval is further away.
    Differs,
    NoCommonRound,
}

#[derive(Clone, Debug)]
pub struct Compared {
    pub row: &'static Row,
    pub ours: Option<Figures>,
    pub against: Vec<Against>,
    /// Tool and first reason of the visits without a figure.
    pub failures: Vec<(String, usize, String)>,
}

/// Every row with a visit in the record, in the order of the list.
pub fn rows(record: &Record) -> Vec<Compared> {
    let seen = |row: &&Row| record.visits.iter().any(|visit| visit.row == row.id);
    super::row::ALL.iter().filter(seen).map(|row| compared(record, row)).collect()
}

fn compared(record: &Record, row: &'static Row) -> Compared {
    let own = series(record, row, OURS, None);
    let mut measures: Vec<(String, String)> = Vec::new();
    for visit in record.visits.iter().filter(|visit| visit.row == row.id && visit.tool != OURS) {
        let measure = (visit.tool.clone(), visit.command.clone());
        if !measures.contains(&measure) {
            measures.push(measure);
        }
    }
    let position = |id: &str| super::peer::ALL.iter().position(|peer| peer.id() == id);
    measures.sort_by_key(|(tool, _)| position(tool));
    let against = measures.iter().filter_map(|(tool, command)| {
        let theirs = series(record, row, tool, Some(command));
        let ratio = stats::paired_ratio(&own, &theirs, LEVEL).map(|ratio| ratio.estimate);
        Some(Against { peer: figures(tool, command, &theirs)?, ratio })
    });
    let against = against.collect();
    Compared { row, ours: figures(OURS, "", &own), against, failures: failures(record, row) }
}

/// Round and figure, by ascending round.
fn series(record: &Record, row: &Row, tool: &str, command: Option<&str>) -> Vec<(u32, f64)> {
    let mine = record.visits.iter().filter(|visit| {
        visit.row == row.id && visit.tool == tool && command.is_none_or(|command| visit.command == command)
    });
    let mut series: Vec<(u32, f64)> =
        mine.filter_map(|visit| Some((visit.round, *visit.outcome.as_ref().ok()?))).collect();
    series.sort_by_key(|(round, _)| *round);
    series
}

fn figures(tool: &str, command: &str, series: &[(u32, f64)]) -> Option<Figures> {
    let values: Vec<f64> = series.iter().map(|(_, value)| *value).collect();
    let median = stats::median(&values)?;
    Some(Figures {
        tool: tool.into(),
        command: command.into(),
        median,
        spread: spread(&values),
        rounds: values.len(),
    })
}

/// The interquartile range over the median: what one run differs from the next, without the
/// weight that one disturbed run would have in a standard deviation.
fn spread(values: &[f64]) -> Option<f64> {
    if values.len() < FEWEST_FOR_SPREAD {
        return None;
    }
    let (low, high) = (stats::quantile(values, 0.25)?, stats::quantile(values, 0.75)?);
    Some((high - low) / stats::median(values)?)
}

fn failures(record: &Record, row: &Row) -> Vec<(String, usize, String)> {
    let mut failures: Vec<(String, usize, String)> = Vec::new();
    for visit in record.visits.iter().filter(|visit| visit.row == row.id) {
        let Err(reason) = &visit.outcome else { continue };
        match failures.iter_mut().find(|(tool, ..)| *tool == visit.tool) {
            Some((_, count, _)) => *count += 1,
            None => failures.push((visit.tool.clone(), 1, reason.clone())),
        }
    }
    failures
}
