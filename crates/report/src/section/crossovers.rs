//! Where one way overtakes another as messages grow: pairs down, thread counts across.

use super::{threads, unless_empty};
use crate::context::{Facet, Layout};
use crate::escape::slug;
use crate::material::Material;
use crate::{Block, Entry, Section, Table};
use syscost_analyze::compare::crossover::{Crossover, CrossoverOutcome, Interval, PairSide};
use syscost_analyze::compare::study::Study;
use syscost_core::units::Unit;
use syscost_measure::probe::transfer::axes::THREADS;

/// Rows over all tables of the page.
const ROWS: usize = 150;

pub fn section(m: &Material) -> Option<Section> {
    let mut blocks = Vec::new();
    let mut used = 0;
    for layout in m.layouts.iter().filter(|l| l.comparable() && l.series.len() > 1) {
        for (done, facet) in layout.facets.iter().enumerate() {
            let tables: Vec<Table> =
                m.analysis.studies.iter().filter_map(|s| table(layout, facet, s)).collect();
            let rows: usize = tables.iter().map(|t| t.rows.len()).sum();
            if used > 0 && used + rows > ROWS {
                let left = layout.facets.len() - done;
                blocks
                    .push(Block::Text(format!("{left} more combinations of the other axes are not listed.")));
                break;
            }
            used += rows;
            blocks.extend(tables.into_iter().map(Block::Table));
        }
    }
    if !blocks.is_empty() {
        let text = "A crossover lies between two tested sizes, never finer; it is told only where a difference is \
                    significant on both sides. Refine the sizes there to narrow it.";
        blocks.insert(0, Block::Text(text.into()));
    }
    unless_empty("crossovers", "Crossovers", blocks)
}

fn table(layout: &Layout, facet: &Facet, study: &Study) -> Option<Table> {
    let metric = &study.comparisons.metric;
    let here: Vec<&Crossover> = study
        .crossovers
        .iter()
        .filter(|c| c.probe == layout.probe.about().id && layout.facet_of(&c.a) == Some(facet))
        .collect();
    let over: Vec<&Crossover> = study
        .over_threads
        .iter()
        .filter(|c| c.probe == layout.probe.about().id && c.a.int(THREADS).is_none())
        .filter(|c| layout.threads.len() > 1 && layout.facet_of(&c.a) == Some(facet))
        .collect();
    let mut pairs: Vec<(String, String)> = Vec::new();
    for crossover in &here {
        let pair = names(layout, crossover)?;
        let drawn = [&pair.0, &pair.1].iter().all(|name| layout.style(name).is_some());
        if drawn && !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    let rows: Vec<Vec<Entry>> = pairs
        .iter()
        .map(|pair| {
            let mut row = vec![Entry::Text(format!("{} and {}", pair.0, pair.1))];
            row.extend(layout.threads.iter().map(|count| {
                let found = here
                    .iter()
                    .find(|c| c.a.int(THREADS) == Some(*count) && names(layout, c).as_ref() == Some(pair));
                found.map_or(Entry::Missing, |c| Entry::Text(says(pair, &c.outcome)))
            }));
            if !over.is_empty() {
                let found = over.iter().find(|c| names(layout, c).as_ref() == Some(pair));
                row.push(found.map_or(Entry::Missing, |c| Entry::Text(says(pair, &c.outcome))));
            }
            row
        })
        .collect();
    let mut title = format!("Crossovers of {}", metric.title);
    if !facet.title.is_empty() {
        title.push_str(&format!(", {}", facet.title));
    }
    let columns = std::iter::once("pair".to_string()).chain(layout.threads.iter().map(|c| threads(*c)));
    let columns = columns.chain((!over.is_empty()).then(|| "over all threads".to_string()));
    (!rows.is_empty()).then(|| Table {
        id: slug(&format!("crossovers {} {}", metric.id, facet.title)),
        title,
        columns: columns.collect(),
        rows,
        ..Table::default()
    })
}

fn names(layout: &Layout, crossover: &Crossover) -> Option<(String, String)> {
    Some((layout.series_name(&crossover.a)?, layout.series_name(&crossover.b)?))
}

fn says(pair: &(String, String), outcome: &CrossoverOutcome) -> String {
    let name = |side: PairSide| if side == PairSide::A { &pair.0 } else { &pair.1 };
    let one = |i: &Interval| {
        let above = if i.below == PairSide::A { PairSide::B } else { PairSide::A };
        let size = |n: u64| Unit::Bytes.format(n as f64);
        format!("{} – {}: {} below, {} above", size(i.low), size(i.high), name(i.below), name(above))
    };
    match outcome {
        CrossoverOutcome::Crossovers(intervals) => intervals.iter().map(one).collect::<Vec<_>>().join("; "),
        CrossoverOutcome::Always(side) => {
            format!("none found: {} is better wherever they differ", name(*side))
        }
        CrossoverOutcome::NeverDiffer => "none found: no significant difference".into(),
        CrossoverOutcome::TooFewPlaces => "too few sizes".into(),
    }
}
