//! From the record to the comparison: our figure over each peer's, paired by round; the spread of
//! each over the rounds. Pure.

use super::row::{self, OURS, Row, Visited};
use super::steady;
use crate::record::Record;
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
    /// Ours, done as the peer does it, over the peer's.
    pub likewise: Option<VariantShown>,
}

/// What a variant of ours shows.
#[derive(Clone, Debug)]
pub struct VariantShown {
    /// What it does as the peer does.
    pub what: String,
    pub median: f64,
    /// The variant over the peer's figure.
    pub ratio: Estimate,
    /// The part of the difference, on a scale of ratios, that goes with it; `None` where there is next to none.
    pub share: Option<f64>,
}

impl VariantShown {
    /// Does the variant agree with the peer?
    pub fn agrees(&self) -> bool {
        verdict(&self.ratio) == Verdict::Agrees
    }
}

impl Against {
    pub fn verdict(&self) -> Verdict {
        self.ratio.as_ref().map_or(Verdict::NoCommonRound, verdict)
    }
}

fn verdict(ratio: &Estimate) -> Verdict {
    let (low, high) = (1.0 / AGREEMENT, AGREEMENT);
    if (low..=high).contains(&ratio.value) {
        Verdict::Agrees
    } else if ratio.low <= high && ratio.high >= low {
        Verdict::Undecided
    } else {
        Verdict::Differs
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
    /// Of our scatter beside that of the steadiest peer.
    pub steadier: Option<Steadier>,
    /// Tool and first reason of the visits without a figure.
    pub failures: Vec<(String, usize, String)>,
}

/// A row's steadiest peer, and whether we scatter more.
#[derive(Clone, Debug)]
pub struct Steadier {
    pub peer: String,
    pub p: f64,
    /// Over all rows that have one.
    pub holm: f64,
}

/// Every row with a visit in the record, in the order of the list.
pub fn rows(record: &Record<Visited>) -> Vec<Compared> {
    let seen = |row: &&Row| record.visits.iter().any(|visit| visit.row == row.id);
    let mut rows: Vec<Compared> = row::all().iter().filter(seen).map(|row| compared(record, row)).collect();
    let p: Vec<f64> = rows.iter().filter_map(|row| Some(row.steadier.as_ref()?.p)).collect();
    let steadier = rows.iter_mut().filter_map(|row| row.steadier.as_mut());
    steadier.zip(stats::holm(&p)).for_each(|(steadier, holm)| steadier.holm = holm);
    rows
}

fn compared(record: &Record<Visited>, row: &'static Row) -> Compared {
    let own = series(record, row, OURS, None);
    let mut measures: Vec<(String, String)> = Vec::new();
    let position = |id: &str| row::programs().iter().position(|program| program.id == id);
    for visit in record.visits.iter().filter(|visit| visit.row == row.id && position(&visit.tool).is_some()) {
        let measure = (visit.tool.clone(), visit.command.clone());
        if !measures.contains(&measure) {
            measures.push(measure);
        }
    }
    measures.sort_by_key(|(tool, _)| position(tool));
    let against = measures.iter().filter_map(|(tool, command)| {
        let theirs = series(record, row, tool, Some(command));
        let ratio = stats::paired_ratio(&own, &theirs, LEVEL).map(|ratio| ratio.estimate);
        let likewise = shown(record, row, tool, &theirs, ratio.as_ref());
        Some(Against { peer: figures(tool, command, &theirs)?, ratio, likewise })
    });
    let against: Vec<Against> = against.collect();
    let steadier = steadier(record, row, &own, &against);
    Compared { row, ours: figures(OURS, "", &own), against, steadier, failures: failures(record, row) }
}

/// Least of all spreads first: with many peers this is strict on us.
fn steadier(
    record: &Record<Visited>,
    row: &Row,
    own: &[(u32, f64)],
    against: &[Against],
) -> Option<Steadier> {
    let peers = against.iter().filter(|against| against.peer.rounds >= steady::FEWEST);
    let best = peers.filter_map(|against| Some((against.peer.spread?, &against.peer)));
    let (_, best) = best.min_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let values = |series: &[(u32, f64)]| series.iter().map(|(_, value)| *value).collect::<Vec<f64>>();
    let theirs = series(record, row, &best.tool, Some(&best.command));
    let p = steady::p(&values(own), &values(&theirs))?;
    Some(Steadier { peer: best.tool.clone(), p, holm: p })
}

fn shown(
    record: &Record<Visited>,
    row: &Row,
    peer: &str,
    theirs: &[(u32, f64)],
    ratio: Option<&Estimate>,
) -> Option<VariantShown> {
    let tool = format!("{OURS} as {peer}");
    let variant = series(record, row, &tool, None);
    let what = record.visits.iter().find(|visit| visit.row == row.id && visit.tool == tool)?.command.clone();
    let values: Vec<f64> = variant.iter().map(|(_, value)| *value).collect();
    let of_peer = stats::paired_ratio(&variant, theirs, LEVEL)?.estimate;
    let apart = ratio.map(|ratio| ratio.value.ln()).filter(|apart| apart.abs() > AGREEMENT.ln());
    let share = apart.map(|apart| 1.0 - of_peer.value.ln() / apart);
    Some(VariantShown { what, median: stats::median(&values)?, ratio: of_peer, share })
}

/// Round and figure, by ascending round.
fn series(record: &Record<Visited>, row: &Row, tool: &str, command: Option<&str>) -> Vec<(u32, f64)> {
    let mine = record.visits.iter().filter(|visit| {
        visit.row == row.id && visit.tool == tool && command.is_none_or(|command| visit.command == command)
    });
    let mut series: Vec<(u32, f64)> =
        mine.filter_map(|visit| Some((visit.round, *visit.value.as_ref()?))).collect();
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

fn failures(record: &Record<Visited>, row: &Row) -> Vec<(String, usize, String)> {
    let mut failures: Vec<(String, usize, String)> = Vec::new();
    for visit in record.visits.iter().filter(|visit| visit.row == row.id) {
        if visit.value.is_some() {
            continue;
        }
        match failures.iter_mut().find(|(tool, ..)| *tool == visit.tool) {
            Some((_, count, _)) => *count += 1,
            None => failures.push((visit.tool.clone(), 1, visit.failure.clone())),
        }
    }
    failures
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten rounds of ours at 10 ns, of the peer at 20 ns and of the variant.
    fn record(variant: f64) -> Record<Visited> {
        let visit = |round: u32, tool: &str, value: f64| Visited {
            sequence: 0,
            unit: "ns".into(),
            failure: String::new(),
            round,
            row: "load_512k".into(),
            tool: tool.into(),
            command: if tool == OURS { "" } else { "as it does" }.into(),
            value: Some(value * if round.is_multiple_of(2) { 1.01 } else { 0.99 }),
        };
        let round = |round| {
            [(OURS, 10.0), ("lmbench", 20.0), ("syscost as lmbench", variant)]
                .map(|(tool, value)| visit(round, tool, value))
        };
        Record { facts: Vec::new(), visits: (0..10).flat_map(round).collect() }
    }

    #[test]
    fn a_variant_explains_what_it_closes_of_the_difference() {
        let shown = |variant| {
            let rows = rows(&record(variant));
            assert_eq!((rows.len(), rows[0].against.len()), (1, 1), "a variant is no peer");
            assert_eq!(rows[0].against[0].verdict(), Verdict::Differs);
            rows[0].against[0].likewise.clone().unwrap()
        };
        let share = |variant: f64| (100.0 * shown(variant).share.unwrap()).round();
        assert!(shown(20.0).agrees() && share(20.0) == 100.0);
        assert!(!shown(200f64.sqrt()).agrees() && share(200f64.sqrt()) == 50.0);
        assert_eq!((share(10.0), share(5.0)), (0.0, -100.0), "nothing, and the wrong way");
        assert_eq!(shown(20.0).what, "as it does");
    }

    #[test]
    fn a_row_has_its_steadiest_peer_and_holm_over_the_rows() {
        let rows = rows(&record(20.0));
        let steadier = rows[0].steadier.as_ref().unwrap();
        assert_eq!(steadier.peer, "lmbench");
        assert!(steadier.p > 0.3 && steadier.holm >= steadier.p, "{steadier:?}");
    }
}
