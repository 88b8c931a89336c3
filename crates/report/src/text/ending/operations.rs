//! Operations: what each costs, and how far from its prediction that is.

use super::EndTable;
use super::figure::own_figure;
use crate::material::Material;
use crate::text::costs::hidden;
use crate::text::words::capital;
use syscost_analyze::operations::Operation;
use syscost_core::units::{count, percent};

const RATIO: &str = "ratio: measured over predicted; -: one of them is not known";

/// Of one probe with many rows, those that it holds to be most telling come first.
const OF_ONE: usize = 2;

/// A figure of a quick run that is not known so well is none yet.
const KNOWN: f64 = 0.5;

pub fn table(m: &Material) -> Option<EndTable> {
    let all: Vec<&Operation> =
        m.analysis.operations.iter().filter(|o| o.row.listed && o.measured.is_some()).collect();
    let known = |o: &&&Operation| {
        o.measured.as_ref().is_some_and(|e| e.level > 0.0 && e.relative_half_width() <= KNOWN)
    };
    let mut listed: Vec<&Operation> = all.iter().filter(known).copied().collect();
    // Where nothing is known, that has to be seen.
    if !m.run.record.spec.quick || listed.is_empty() {
        listed.clone_from(&all);
    }
    let unknown = all.len() - listed.len();
    let mut rows: Vec<&Operation> = Vec::new();
    let mut rest: Vec<&Operation> = Vec::new();
    for group in listed.chunk_by(|a, b| a.probe == b.probe) {
        let (told, others): (Vec<&Operation>, Vec<&Operation>) =
            group.iter().copied().partition(|o| o.row.told_as.is_some());
        let mut ordered = told.into_iter().chain(others);
        rows.extend(ordered.by_ref().take(OF_ONE));
        rest.extend(ordered);
    }
    rows.extend(rest);
    // Nothing predicts what a user's own code costs.
    let predicted = rows.iter().any(|o| o.ratio.is_some());
    let columns = if predicted { 3 } else { 2 };
    let row = |o: &&Operation| {
        let ratio = o.ratio.map_or("-".into(), |ratio| format!("{:.2}x", ratio.value));
        let measured = hidden(o).or_else(|| o.measured.as_ref().map(own_figure)).unwrap_or("-".into());
        let cells = [capital(&o.name()), measured, ratio];
        cells.into_iter().take(columns).collect()
    };
    let more = (unknown > 0).then(|| {
        format!("{} not known within {}: in the report", count(unknown, "more row"), percent(KNOWN))
    });
    let notes: Vec<String> = predicted.then(|| RATIO.to_string()).into_iter().chain(more).collect();
    (!rows.is_empty()).then(|| EndTable {
        columns: ["operation", "measured", "ratio"].into_iter().take(columns).map(String::from).collect(),
        rows: rows.iter().map(row).collect(),
        note: (!notes.is_empty()).then(|| notes.join("\n")),
        ..EndTable::default()
    })
}
