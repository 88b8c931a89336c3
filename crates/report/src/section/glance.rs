//! The figures behind the verdict in the least space: sizes down, what competes across.

use super::{capital, threads};
use crate::context::{Facet, Layout, SIZE};
use crate::material::Material;
use crate::{Entry, Standing, Table};
use syscost_analyze::compare::study::Study;
use syscost_analyze::compare::winners::Outcome;
use syscost_measure::mechanism::CONNECTIONS;
use syscost_measure::probe::transfer::axes::THREADS;

/// What stands beside each other in one table.
const SERIES: usize = 8;

/// The operations; what to use, where ways differ in more than the mechanism; and where the ways are few,
/// every size at the fewest and at the most threads, for each metric that ranks; of the first
/// combination of the other axes, with the fewest and the most connections a thread.
pub fn tables(m: &Material) -> Vec<Table> {
    let mut tables: Vec<Table> = super::operations::glance(m);
    // Where only the mechanism differs, the sentence and the tables by size say the same.
    if m.analysis.ways_vary {
        tables.extend(super::choice::tables(m));
    }
    // More ways than a line has room for: what to use stands for them, and the plots by size show each.
    for layout in m.layouts.iter().filter(|l| l.comparable() && l.series.len() <= SERIES) {
        let Some(facet) = layout.facets.first() else { continue };
        let mut counts = vec![layout.threads.first(), layout.threads.last()];
        counts.dedup();
        for facet in std::iter::once(facet).chain(most_connections(layout, facet)) {
            for count in counts.iter().copied().flatten() {
                tables.extend(
                    m.analysis.studies.iter().filter_map(|study| table(layout, facet, *count, study)),
                );
            }
        }
    }
    tables
}

/// The same combination with the most connections a thread, where they vary.
fn most_connections<'l>(layout: &'l Layout, first: &Facet) -> Option<&'l Facet> {
    let rest = |facet: &Facet| facet.point.without(CONNECTIONS.id);
    let alike = layout.facets.iter().filter(|facet| rest(facet) == rest(first));
    alike.max_by_key(|facet| facet.point.int_at(CONNECTIONS.id)).filter(|facet| *facet != first)
}

fn table(layout: &Layout, facet: &Facet, count: u64, study: &Study) -> Option<Table> {
    let metric = &study.comparisons.metric;
    let cases: Vec<_> = layout.slice(facet, THREADS.id, count).collect();
    let mut largest = 0.0f64;
    let mut rows = Vec::new();
    for size in &layout.sizes {
        let mut row = vec![Entry::Text(layout.axis(SIZE.id)?.show(&syscost_core::axis::Value::Int(*size)))];
        for name in &layout.series {
            let mine = |c: &&&syscost_experiment::plan::Case| {
                c.point.int(SIZE) == Some(*size) && layout.series_name(&c.point).as_ref() == Some(name)
            };
            let found = cases.iter().find(mine).and_then(|c| layout.estimate(c.index, metric.id));
            row.push(match found {
                Some((estimate, cell)) => {
                    largest = largest.max(estimate.value);
                    Entry::Estimate { estimate, standing: standing(study, cell.case), cell: Some(cell) }
                }
                None => Entry::Missing,
            });
        }
        rows.push(row);
    }
    if largest == 0.0 {
        return None;
    }
    let (scale, unit) = metric.unit.scale_for(largest);
    let mut title = format!("{}, {unit}, {}", capital(metric.title), threads(count));
    if !facet.title.is_empty() {
        title.push_str(&format!(", {}", facet.title));
    }
    Some(Table {
        id: match facet.point.int_at(CONNECTIONS.id) {
            Some(connections) => format!("glance-{}-{count}-{connections}", metric.id),
            None => format!("glance-{}-{count}", metric.id),
        },
        title,
        columns: std::iter::once("size".to_string()).chain(layout.series.iter().cloned()).collect(),
        rows,
        shown_in: Some((scale, unit)),
        note: None,
    })
}

/// How a case stands at its point.
pub fn standing(study: &Study, case: usize) -> Standing {
    for winner in &study.winners {
        match &winner.outcome {
            Outcome::Wins(best) if *best == case => return Standing::Best,
            Outcome::Same(cases) if cases.contains(&case) => return Standing::Same,
            Outcome::Undecided(cases) if cases.contains(&case) => return Standing::Undecided,
            _ => {}
        }
    }
    Standing::None
}
