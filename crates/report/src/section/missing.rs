//! What was asked for and not measured: skipped cases and missing quantities, each reason once.

use super::{grouped, plural, unless_empty};
use crate::material::Material;
use crate::text::late::late;
use crate::{Block, Entry, Section, Table};
use syscost_core::axis::{Point, Value};
use syscost_experiment::plan::Skip;
use syscost_measure::probe;

/// Names listed of quantities that share their reason.
const NAMES: usize = 8;

pub fn section(m: &Material) -> Option<Section> {
    let late = late(m).map(|(text, why, remedy)| [text, why.into(), remedy.into()].map(Entry::Text).to_vec());
    let mut rows = Vec::from_iter(late);
    let skips = m.run.record.plan.skips.iter();
    for ((_, why), skips) in grouped(skips.map(|skip| ((&skip.probe, &skip.why), skip))) {
        let what = format!("{} skipped: {}", plural(skips.len(), "case"), common(m, &skips));
        rows.push([what, why.reason.clone(), why.remedy.clone()].map(Entry::Text).to_vec());
    }
    for missing in &m.run.record.missing {
        let what = format!("{}: {}", plural(missing.quantities.len(), "quantity"), some(&missing.quantities));
        rows.push([what, missing.why.reason.clone(), missing.why.remedy.clone()].map(Entry::Text).to_vec());
    }
    let note = "A missing figure is an empty cell in the files, never a zero.";
    let table = Table::new("missing", &["what", "why", "what to do"], rows).noted(Some(note.into()));
    let blocks = if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] };
    unless_empty("not-measured", "Not measured", blocks)
}

/// The first names of a list, and how many more there are.
fn some(names: &[String]) -> String {
    let shown = names.iter().take(NAMES).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > NAMES { format!("{shown} and {} more, in run.json", names.len() - NAMES) } else { shown }
}

/// What the skipped cases share and the measured ones do not: `transfer mechanism=io_uring_send`.
fn common(m: &Material, skips: &[&Skip]) -> String {
    let Some(first) = skips.first() else { return String::new() };
    let measured = m.layouts.iter().find(|l| first.probe == l.probe.about().id);
    let everywhere = |axis: &str, value: &Value| {
        measured.is_some_and(|l| l.cases.iter().all(|c| c.point.get(axis).is_none_or(|v| v == value)))
    };
    let mut point = Point::default();
    for (axis, value) in first.point.iter() {
        if skips.iter().all(|s| s.point.get(axis) == Some(value)) && !everywhere(axis, value) {
            point.set(axis, value.clone());
        }
    }
    // A row has a name; several are told by what they share.
    let row = probe::find(&first.probe).and_then(|p| Some((p.about().title, p.row(&first.point)?)));
    match row {
        Some((title, row)) if skips.len() == 1 && !row.label.is_empty() => format!("{title} ({})", row.label),
        Some((title, _)) => format!("{title} {point}"),
        None => format!("{} {point}", first.probe),
    }
}
