//! What moving the same bytes costs without TCP, beside the best way over TCP: a table for each metric that
//! ranks, and lines for the plots.

use super::{capital, unless_empty};
use crate::escape::slug;
use crate::material::Material;
use crate::text::words::Words;
use crate::{Block, Entry, Section, Table};
use syscost_analyze::CellRef;
use syscost_analyze::compare::study::{HEADLINES, RIVALS};
use syscost_analyze::limits::rulers::Held;
use syscost_core::axis::{Name, Point};
use syscost_core::units::Unit;
use syscost_experiment::plan::Case;

const METHOD: &str = "The same messages between two processes of this machine, measured in the same rounds: through the \
    kernel without TCP, without the kernel, and by one copy from core to core. Beside each figure stands how many \
    times worse the best way over TCP is, from both figures and their intervals; the best is the one with the best median, of every \
    path that was run. Ends of shared memory look again and again before they sleep, and pay CPU time for it, \
    which may bring a ratio of CPU time below 1.";

const AT_BEST: &str = "At best a message costs one call into TCP and one copy of its bytes by one core. A receiver that sleeps for \
    each message is woken besides: a busy stream need not. The call is a send that adds to a held segment (a step of the model), \
    the copy that of one thread in the smallest working set measured that holds both ends of it.";

pub fn section(m: &Material) -> Option<Section> {
    let held = &m.analysis.rulers;
    // Nothing over TCP is beside them: the rows of a probe stand in its own tables.
    if held.iter().all(|held| held.best.is_none()) {
        return None;
    }
    let mut blocks = vec![Block::Text(METHOD.into())];
    let tables: Vec<Block> = HEADLINES.iter().filter_map(|id| table(m, held, id)).map(Block::Table).collect();
    if tables.is_empty() {
        return None;
    }
    blocks.extend(tables);
    if let Some(table) = at_best(m, held) {
        blocks.extend([Block::Text(AT_BEST.into()), Block::Table(table)]);
    }
    unless_empty("rulers", "Beside paths without TCP", blocks)
}

fn table(m: &Material, held: &[Held], metric: &str) -> Option<Table> {
    let mine: Vec<&Held> = held.iter().filter(|h| h.metric.id == metric).collect();
    let first = mine.first()?;
    let mut titles: Vec<&str> = Vec::new();
    for reading in mine.iter().flat_map(|h| &h.readings) {
        if !titles.contains(&reading.title) {
            titles.push(reading.title);
        }
    }
    let mut columns = vec!["messages".to_string(), "best over TCP".into(), first.metric.title.into()];
    columns.extend(titles.iter().flat_map(|title| [title.to_string(), "times worse over TCP".into()]));
    let words = Words::of(m.run);
    Some(Table {
        id: slug(&format!("rulers {metric}")),
        title: capital(first.metric.title),
        columns,
        rows: mine.iter().map(|held| row(m, &words, held, &titles)).collect(),
        ..Table::default()
    })
}

/// One row for each size at one thread.
fn at_best(m: &Material, held: &[Held]) -> Option<Table> {
    let words = Words::of(m.run);
    let row = |held: &Held| {
        let floor = held.floor.as_ref()?;
        let best = m.run.case(held.best?)?;
        let ns = |ns| Entry::Number(ns, Unit::Nanoseconds);
        Some(vec![
            Entry::Text(words.place(&held.shared, &[])),
            ns(floor.call_ns),
            ns(floor.copy_ns),
            floor.wake_ns.map_or(Entry::Missing, ns),
            Entry::estimate(floor.at_best, None),
            Entry::Text(name(&words, best, &held.shared)),
            Entry::estimate(floor.worse, None),
        ])
    };
    let rows: Vec<Vec<Entry>> = held.iter().filter_map(row).collect();
    const COLUMNS: [&str; 7] =
        ["messages", "call", "copy", "wake-up", "call and copy", "best over TCP", "times as much"];
    (!rows.is_empty()).then(|| Table::new("rulers-at-best", &COLUMNS, rows).titled("A message at best"))
}

fn row(m: &Material, words: &Words, held: &Held, titles: &[&str]) -> Vec<Entry> {
    let id = held.metric.id;
    let case = held.best.and_then(|case| m.run.case(case));
    let name = case.map_or(Entry::Missing, |case| Entry::Text(name(words, case, &held.shared)));
    let best = held.best.and_then(|case| m.analysis.cells.cell(case, id));
    let mut row = vec![
        Entry::Text(words.place(&held.shared, &[])),
        name,
        // The cell of a compared case has its place on the page already.
        best.map_or(Entry::Missing, |cell| Entry::estimate(cell.estimate, None)),
    ];
    for title in titles {
        let reading = held.readings.iter().find(|r| r.title == *title);
        let figure = |estimate, cell| Entry::estimate(estimate, cell);
        row.push(reading.map_or(Entry::Missing, |r| figure(r.figure, None::<CellRef>)));
        row.push(reading.and_then(|r| r.worse).map_or(Entry::Missing, |worse| figure(worse, None)));
    }
    row
}

/// What a case is called where these coordinates are said already: `send over veth (TCP_NODELAY on)`.
fn name(words: &Words, case: &Case, shared: &Point) -> String {
    let known: Vec<&str> = shared.names().map(Name::as_str).chain([RIVALS.id]).collect();
    let own = words.place(&case.point, &known);
    format!("{} {own}", words.name(&case.point, RIVALS.id, shared)).trim().to_string()
}
