//! The figures behind the verdict in the least space: sizes down, what competes across.

use super::{capital, crowd, threads};
use crate::context::{Facet, Layout, SIZE};
use crate::material::Material;
use crate::{Entry, Standing, Table};
use std::cell::Cell;
use syscost_analyze::compare::study::Study;
use syscost_analyze::compare::winners::Outcome;
use syscost_core::axis::Value;
use syscost_core::units;
use syscost_experiment::plan::Case;
use syscost_measure::mechanism::CONNECTIONS;
use syscost_measure::probe::transfer::axes::THREADS;

/// What stands beside each other in one table.
const SERIES: usize = 8;
const THROUGHPUT: &str = "throughput";
/// Beside every throughput: of the sender, of the receiver.
const SLEEPS: [&str; 2] = ["sender_sleeps_per_second", "receiver_sleeps_per_second"];

/// The operations; what to use, where ways differ in more than the mechanism; and where the ways are few,
/// every size at the fewest and at the most threads, for each metric that ranks; of the first
/// combination of the other axes, with the fewest and the most connections a thread.
pub fn tables(m: &Material) -> Vec<Table> {
    let mut tables: Vec<Table> = super::operations::glance(m);
    // Where only the mechanism differs, the sentence and the tables by size say the same.
    if m.analysis.ways_vary {
        tables.extend(super::choice::table(m));
    }
    // More ways than a line has room for: what to use stands for them, and the plots by size show each.
    for layout in m.layouts.iter().filter(|l| l.comparable() && l.series.len() <= SERIES) {
        let Some(facet) = layout.facets.first() else { continue };
        let mut counts = vec![layout.threads.first(), layout.threads.last()];
        counts.dedup();
        for facet in std::iter::once(facet).chain(most_connections(layout, facet)) {
            for count in counts.iter().copied().flatten() {
                let glance = Glance::of(m, layout, facet, *count);
                for study in &m.analysis.studies {
                    tables.extend(glance.metric(study));
                    if study.comparisons.metric.id == THROUGHPUT {
                        tables.extend(glance.sleeps());
                    }
                }
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

/// One table: sizes down, what competes across, of one combination of the other axes.
struct Glance<'a> {
    layout: &'a Layout<'a>,
    facet: &'a Facet,
    threads: u64,
    /// See [`crowd`].
    crowd: String,
    cases: Vec<&'a Case>,
}

impl<'a> Glance<'a> {
    fn of(m: &Material, layout: &'a Layout<'a>, facet: &'a Facet, count: u64) -> Glance<'a> {
        let cases = layout.slice(facet, THREADS.id, count).collect();
        Glance { layout, facet, threads: count, crowd: crowd(m.run, count), cases }
    }

    fn metric(&self, study: &Study) -> Option<Table> {
        let metric = &study.comparisons.metric;
        let largest = Cell::new(0.0f64);
        let table = self.table(metric.id, |case| {
            let (estimate, cell) = self.layout.estimate(case, metric.id)?;
            largest.set(largest.get().max(estimate.value));
            Some(Entry::Estimate { estimate, standing: standing(study, cell.case), cell: Some(cell) })
        })?;
        if largest.get() == 0.0 {
            return None;
        }
        let (scale, unit) = metric.unit.scale_for(largest.get());
        let title = self.title(&format!("{}, {unit}", capital(metric.title)));
        Some(Table { title, shown_in: Some((scale, unit)), ..table })
    }

    /// How often each side slept: a side that sleeps has to be woken by the other.
    fn sleeps(&self) -> Option<Table> {
        let of_side = |case: usize, side: &str| Some(self.layout.estimate(case, side)?.0.value);
        let all = self.cases.iter().flat_map(|c| SLEEPS.iter().filter_map(|side| of_side(c.index, side)));
        let (scale, per) = if all.fold(0.0, f64::max) < 1e3 { (1.0, "s") } else { (1e3, "ms") };
        let table = self.table("sleeps", |case| {
            let shown = |side| Some(units::significant((of_side(case, side)? / scale * 10.0).round() / 10.0));
            let [sender, receiver] = SLEEPS.map(shown);
            Some(Entry::Text(format!("{} / {}", sender?, receiver?)))
        })?;
        Some(Table { title: self.title(&format!("Sleeps per {per}, sender / receiver")), ..table })
    }

    /// Without a title; `None` where no case has an entry.
    fn table(&self, id: &str, entry: impl Fn(usize) -> Option<Entry>) -> Option<Table> {
        let layout = self.layout;
        let axis = layout.axis(SIZE.id)?;
        let case = |size: u64, name: &String| {
            let mine = |c: &&&Case| {
                c.point.int(SIZE) == Some(size) && layout.series_name(&c.point).as_ref() == Some(name)
            };
            self.cases.iter().find(mine).map(|c| c.index)
        };
        let of_size =
            |size: &u64| layout.series.iter().map(|name| case(*size, name).and_then(&entry)).collect();
        let found: Vec<Vec<Option<Entry>>> = layout.sizes.iter().map(of_size).collect();
        if found.iter().flatten().all(Option::is_none) {
            return None;
        }
        let row = |(size, entries): (&u64, Vec<Option<Entry>>)| {
            let entries = entries.into_iter().map(|entry| entry.unwrap_or(Entry::Missing));
            std::iter::once(Entry::Text(axis.show(&Value::Int(*size)))).chain(entries).collect()
        };
        Some(Table {
            id: match self.facet.point.int_at(CONNECTIONS.id) {
                Some(connections) => format!("glance-{id}-{}-{connections}", self.threads),
                None => format!("glance-{id}-{}", self.threads),
            },
            title: String::new(),
            columns: std::iter::once("size".to_string()).chain(layout.series.iter().cloned()).collect(),
            rows: layout.sizes.iter().zip(found).map(row).collect(),
            shown_in: None,
            note: None,
        })
    }

    fn title(&self, what: &str) -> String {
        let mut title = format!("{what}, {}{}", threads(self.threads), self.crowd);
        if !self.facet.title.is_empty() {
            title.push_str(&format!(", {}", self.facet.title));
        }
        title
    }
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
