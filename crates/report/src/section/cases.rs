//! Every case with its key figures, and whether it reached the precision asked.

use super::payers;
use super::{capital, crowd, drawings, plural, unless_empty};
use crate::context::Layout;
use crate::material::Material;
use crate::{Block, CellRef, Entry, Section, Table};
use std::collections::BTreeSet;
use syscost_analyze::cells::precision::Precision;
use syscost_analyze::cells::reference::CASE;
use syscost_core::axis::{Point, Value};
use syscost_core::sample::{Better, Metric};
use syscost_experiment::plan::Case;
use syscost_measure::probe::transfer::axes::THREADS;

/// Rows of one table before the rest is left to `results.csv`; cells that sentences name always stand.
pub const ROWS: usize = 400;
const CPU_PER_MESSAGE: &str = "total_cpu_ns_per_message";
/// The figures that come first where a probe has them.
const KEY: &[&str] = &[
    "throughput",
    CPU_PER_MESSAGE,
    "sender_cpu_ns_per_message",
    "receiver_cpu_ns_per_message",
    "copied_fraction",
];

/// Those of modelled caches, and of hardware where it has them.
pub const COUNTS: &[&str] = &[
    "instructions_per_message",
    "l1i_misses_per_message",
    "l1d_misses_per_message",
    "l2_misses_per_message",
    "llc_misses_per_message",
    "instructions_per_operation",
    "l1i_misses_per_operation",
    "l1d_misses_per_operation",
    "l2_misses_per_operation",
    "llc_misses_per_operation",
];

pub fn section(m: &Material, referenced: &[CellRef]) -> Option<Section> {
    let blocks = m.layouts.iter().filter_map(|l| block(m, l, referenced)).collect();
    unless_empty("cases", "Every case", blocks)
}

/// What the table of operations already shows is folded away here, with the metrics that it leaves out.
fn block(m: &Material, layout: &Layout, referenced: &[CellRef]) -> Option<Block> {
    let table = table(m, layout, referenced);
    if layout.probe.compared() {
        return Some(Block::Table(table));
    }
    let title = format!("{}: every metric of {}", table.title, plural(table.rows.len(), "case"));
    let table = Table { title: String::new(), ..table };
    (!table.rows.is_empty()).then(|| Block::Folded { title, blocks: vec![Block::Table(table)] })
}

fn table(m: &Material, layout: &Layout, referenced: &[CellRef]) -> Table {
    let metrics = columns(m, layout);
    let named: BTreeSet<usize> = referenced.iter().map(|c| c.case).collect();
    let mine: Vec<&Case> =
        m.run.record.plan.cases.iter().filter(|c| c.probe == layout.probe.about().id).collect();
    // The points of a curve have their figures under it.
    let in_a_picture = |c: &&Case| {
        let point = layout.probe.row(&c.point).is_some_and(|row| !row.listed);
        point && drawings::drawn(layout, &c.point)
    };
    let all: Vec<&Case> =
        mine.iter().copied().filter(|c| named.contains(&c.index) || !in_a_picture(c)).collect();
    let pictured = mine.len() - all.len();
    let mut room = ROWS;
    let shown: Vec<&&Case> = all
        .iter()
        .filter(|c| {
            let fits = room > 0;
            room = room.saturating_sub(1);
            fits || named.contains(&c.index)
        })
        .collect();
    let mut columns = vec!["case".to_string()];
    columns.extend(layout.varying.iter().filter_map(|id| layout.axis(id)).map(|a| a.title.to_string()));
    columns.extend(metrics.iter().map(|m| m.title.to_string()));
    columns.extend(["rounds", "precision"].map(String::from));
    let left = all.len() - shown.len();
    Table {
        id: format!("cases-{}", layout.probe.about().id),
        title: capital(layout.probe.about().title),
        columns,
        rows: shown.into_iter().map(|c| row(m, layout, c, &metrics)).collect(),
        note: Some(note(m, layout, left, pictured)),
        ..Table::default()
    }
}

fn note(m: &Material, layout: &Layout, left: usize, pictured: usize) -> String {
    let mut note = String::new();
    if pictured > 0 {
        note.push_str(&format!("{} of pictures have their figures there. ", plural(pictured, "point")));
    }
    if left > 0 {
        note.push_str(&format!("{left} more cases are in results.csv. "));
    }
    let constants = layout.constants();
    if !constants.is_empty() {
        note.push_str(&format!("Held constant: {constants}. "));
    }
    note.push_str("Small figures are the interval of the median over rounds; results.csv has every metric.");
    if layout.has(CPU_PER_MESSAGE) {
        note.extend(payers::stolen(&m.run.record).map(|text| format!(" {text}")));
    }
    note
}

/// The probe's key figures that were measured.
fn columns(m: &Material, layout: &Layout) -> Vec<Metric> {
    let measured: Vec<Metric> = layout.probe.metrics().into_iter().filter(|m| layout.has(m.id)).collect();
    // Their parts by side and mode are in `results.csv`.
    let counted = |metric: &Metric| COUNTS.contains(&metric.id);
    if m.run.record.modelled_caches().is_some() && measured.iter().any(counted) {
        return measured.into_iter().filter(counted).collect();
    }
    // Counts are all that there is of an emulated machine.
    if m.run.record.emulator().is_some() {
        return measured;
    }
    let has_key = measured.iter().any(|m| KEY.contains(&m.id));
    let first: Vec<&str> = if has_key {
        KEY.to_vec()
    } else {
        measured.iter().filter(|m| m.better != Better::Neither).take(KEY.len()).map(|m| m.id).collect()
    };
    first.iter().filter_map(|id| measured.iter().find(|m| m.id == *id)).copied().collect()
}

fn row(m: &Material, layout: &Layout, case: &Case, metrics: &[Metric]) -> Vec<Entry> {
    let label = match case.twin_of {
        Some(twin) => format!("{} (A/A of {twin})", case.index),
        None => case.index.to_string(),
    };
    let named = CellRef { case: case.index, metric: CASE };
    let mut row = vec![Entry::Named { text: label, cell: named }];
    row.extend(layout.varying.iter().map(|id| coordinate(m, layout, &case.point, id)));
    row.extend(metrics.iter().map(|metric| match layout.estimate(case.index, metric.id) {
        // An element of the page has one place: that of a row's headline is among the operations.
        Some((estimate, cell)) => {
            let cell = (!shown_as_row(layout, case, metric.id)).then_some(cell);
            Entry::estimate(estimate, cell)
        }
        None => Entry::Missing,
    }));
    let rounds = m.analysis.cells.of_case(case.index).iter().map(|c| c.estimate.n).max().unwrap_or(0);
    row.push(Entry::Text(rounds.to_string()));
    row.push(Entry::Text(precision(m, case)));
    row
}

/// Is this figure one of the table of operations?
fn shown_as_row(layout: &Layout, case: &Case, metric: &str) -> bool {
    let row = layout.probe.row(&case.point).is_some_and(|row| row.listed);
    row && case.twin_of.is_none() && layout.probe.decisive().first() == Some(&metric)
}

fn coordinate(m: &Material, layout: &Layout, point: &Point, id: &str) -> Entry {
    match (layout.axis(id), point.get(id)) {
        (Some(axis), Some(Value::Int(count))) if id == THREADS.id => {
            Entry::Text(format!("{}{}", axis.show(&Value::Int(*count)), crowd(m.run, point, *count)))
        }
        (Some(axis), Some(value)) => Entry::Text(axis.show(value)),
        _ => Entry::Text(String::new()),
    }
}

fn precision(m: &Material, case: &Case) -> String {
    if m.run.record.emulator().is_some() {
        return "counts only".into();
    }
    match Precision::of(m.run, &m.analysis.cells, case) {
        None if m.run.samples.has(case.index) => "no usable sample".into(),
        None => "no sample".into(),
        Some(Precision { half_width: None, .. }) => "no interval, too few rounds".into(),
        Some(Precision { half_width: Some(width), reached }) => {
            let short = match (reached, width <= m.run.record.spec.precision) {
                (true, _) => "",
                (false, true) => ", too few rounds",
                (false, false) => ", not reached",
            };
            format!("±{:.1} %{short}", width * 100.0)
        }
    }
}
