//! Dictionaries of a script that are tables as they stand: data frames, and figures nested by name, size and threads.

use super::heading::TableHeading;
use super::layout::TableRecord;
use super::objects;
use super::script_calls::ScriptDrawing;
use super::script_lists::plain_name;
use super::script_run::ScriptAssignment;
use super::script_value::{ScriptKind, ScriptValue};
use crate::naming;
use crate::{ColumnMapping, TableColumn};
use std::collections::BTreeSet;

/// The records of a script, and what is to be said of them.
pub type ScriptRecords = (Vec<TableRecord>, Vec<String>);

pub const NOTHING: &str = "a script in which syscost finds no lists of plain figures over sizes or threads: give the table that it reads";

/// Columns of one length, names among them: `DataFrame({"impl": [...], "size": [...], "gbps": [...]})`.
pub fn frame(value: &ScriptValue, mapping: &ColumnMapping) -> Option<Vec<TableRecord>> {
    let ScriptKind::Dictionary(columns) = &value.is else { return None };
    let lengths: BTreeSet<usize> = columns
        .iter()
        .map(|(_, column)| if let ScriptKind::List(all) = &column.is { all.len() } else { 0 })
        .collect();
    let is = |of: fn(TableColumn) -> bool| {
        columns.iter().any(|(name, _)| TableHeading::of(name, mapping).column.is_some_and(of))
    };
    let framed = lengths.len() == 1 && !lengths.contains(&0) && columns.len() > 2;
    (framed && is(TableColumn::is_text) && is(TableColumn::is_measure))
        .then(|| objects::records(&value.json(), mapping))
        .flatten()
}

/// Lists of figures beside which none says what they run over: `{64: [0.2, 0.7]}`.
pub fn has_lists_alone(value: &ScriptValue, mapping: &ColumnMapping) -> bool {
    let ScriptKind::Dictionary(of) = &value.is else { return false };
    let list = |value: &ScriptValue| match &value.is {
        ScriptKind::List(all) => all.len() > 1 && all.iter().all(|one| one.cell().is_some()),
        _ => false,
    };
    let axis = |(key, value): &(String, ScriptValue)| {
        list(value) && TableHeading::of(key, mapping).column.is_some_and(|c| c.is_place() || c.is_text())
    };
    of.iter().any(|(_, value)| list(value)) && !of.iter().any(axis)
        || of.iter().any(|(_, value)| has_lists_alone(value, mapping))
}

/// `THROUGHPUT = {"A1": {64: {1: 0.2, 4: 0.7}}}`: under a line that says what its figures are.
pub fn titled(
    of: &ScriptAssignment,
    drawing: &ScriptDrawing,
    mapping: &ColumnMapping,
) -> Option<Vec<TableRecord>> {
    let name = plain_name(&of.name);
    let heading = TableHeading::of(name, mapping);
    let column = heading.column.filter(|column| heading.is_plain() && column.is_measure())?;
    let records = objects::records(&of.value.json(), mapping).filter(|records| records.len() > 1)?;
    let label = drawing.only_label(|named| named == column).filter(|_| heading.unit.is_none());
    let title = TableRecord { line: of.line, cells: vec![label.unwrap_or(name.into())] };
    Some(std::iter::once(title).chain(records).collect())
}

/// Headings with the units that the plots' axes give their quantities.
pub fn with_units(
    mut records: Vec<TableRecord>,
    drawing: &ScriptDrawing,
    mapping: &ColumnMapping,
) -> Vec<TableRecord> {
    let named = |cell: &String| {
        let known = TableHeading::of(cell, mapping);
        known.column.filter(|c| known.unit.is_none() && c.is_measure() && !naming::is_count(*c))
    };
    for cell in records.iter_mut().flat_map(|record| &mut record.cells) {
        let label = named(cell).and_then(|column| drawing.only_label(|of| of == column));
        *cell = label.unwrap_or_else(|| std::mem::take(cell));
    }
    records
}

/// Lists that one sentence names.
const NAMED: usize = 8;

/// What is to be said of the lists that are left out: those without a meaning, and those whose axis is not known.
pub fn said(left: &[String], doubtful: &[String]) -> Vec<String> {
    let listed = |what: &str, lists: &[String]| {
        let more = lists.len().saturating_sub(NAMED);
        let more = if more > 0 { format!(", {more} more") } else { String::new() };
        (!lists.is_empty()).then(|| format!("{what}: {}{more}", lists[..lists.len().min(NAMED)].join(", ")))
    };
    std::iter::once("a script: its lists of plain figures are read".to_string())
        .chain(listed(super::LISTS_LEFT, left))
        .chain(listed("left out, because syscost does not see what they run over", doubtful))
        .collect()
}
