//! From the raw record to ratios: the subject over each peer, paired by round. Pure.

use crate::cell::Cell;
use crate::peer::Peer;
use crate::record::Visited;
use syscost_core::stats::{self, Estimate};

pub const LEVEL: f64 = 0.95;

/// The subject against one peer in one cell.
#[derive(Clone, Debug)]
pub struct Against {
    pub peer: &'static str,
    /// See [`Peer::ours`].
    pub ours: bool,
    pub entry: Entry,
}

#[derive(Clone, Debug)]
pub enum Entry {
    /// The subject's throughput over the peer's, and the peer's median throughput.
    Ratio { ratio: Estimate, peer_bits_per_second: f64 },
    /// The peer cannot do this cell on equal terms.
    NotApplicable(&'static str),
    /// No round has a figure of both.
    NoFigure,
}

/// One row of the comparison.
#[derive(Clone, Debug)]
pub struct Row {
    pub cell: Cell,
    /// The subject's median throughput, `None` without a figure.
    pub subject_bits_per_second: Option<f64>,
    pub against: Vec<Against>,
}

impl Row {
    /// The peer with the highest median throughput, and the subject's ratio to it.
    pub fn best(&self) -> Option<(&'static str, &Estimate, f64)> {
        self.against
            .iter()
            .filter(|against| !against.ours)
            .filter_map(|against| match &against.entry {
                Entry::Ratio { ratio, peer_bits_per_second } => {
                    Some((against.peer, ratio, *peer_bits_per_second))
                }
                _ => None,
            })
            .max_by(|a, b| a.2.total_cmp(&b.2))
    }
}

pub fn rows(cells: &[Cell], subject: &str, peers: &[&dyn Peer], runs: &[Visited]) -> Vec<Row> {
    cells
        .iter()
        .map(|cell| {
            let own = figures(runs, cell, subject);
            Row {
                cell: *cell,
                subject_bits_per_second: median(&own),
                against: peers
                    .iter()
                    .map(|peer| Against {
                        peer: peer.id(),
                        ours: peer.ours(),
                        entry: match peer.not_applicable(cell) {
                            Some(why) => Entry::NotApplicable(why),
                            None => entry(&own, &figures(runs, cell, peer.id())),
                        },
                    })
                    .collect(),
            }
        })
        .collect()
}

fn entry(own: &[(u32, f64)], peer: &[(u32, f64)]) -> Entry {
    match (stats::paired_ratio(own, peer, LEVEL), median(peer)) {
        (Some(ratio), Some(peer_bits_per_second)) => {
            Entry::Ratio { ratio: ratio.estimate, peer_bits_per_second }
        }
        _ => Entry::NoFigure,
    }
}

/// A tool's figures in a cell, by ascending round.
fn figures(runs: &[Visited], cell: &Cell, tool: &str) -> Vec<(u32, f64)> {
    runs.iter()
        .filter(|run| run.tool == tool && run.cell == *cell)
        .filter_map(|run| Some((run.round, *run.outcome.as_ref().ok()?)))
        .collect()
}

fn median(figures: &[(u32, f64)]) -> Option<f64> {
    stats::median(&figures.iter().map(|(_, figure)| *figure).collect::<Vec<_>>())
}

/// How the subject stands against the best peer, over all cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Cells with a ratio to a best peer.
    pub compared: usize,
    /// Of those: the ratio is at least 1.
    pub at_least_equal: usize,
    /// The whole interval is at or above 1.
    pub surely_at_least_equal: usize,
    /// The whole interval is below 1.
    pub surely_below: Vec<Cell>,
}

pub fn standing(rows: &[Row]) -> Standing {
    let mut standing = Standing::default();
    for row in rows {
        let Some((_, ratio, _)) = row.best() else { continue };
        standing.compared += 1;
        standing.at_least_equal += usize::from(ratio.value >= 1.0);
        let sure = ratio.reaches(LEVEL);
        standing.surely_at_least_equal += usize::from(sure && ratio.low >= 1.0);
        if sure && ratio.high < 1.0 {
            standing.surely_below.push(row.cell);
        }
    }
    standing
}
