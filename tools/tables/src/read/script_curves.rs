//! The curves of a script as they are drawn: where its lists do not say what they are, the labels of the plots do.

use super::heading::TableHeading;
use super::layout::TableRecord;
use super::script_builtin;
use super::script_calls::ScriptDrawing;
use super::script_lists::{NamedList, PLACES};
use super::script_run::ScriptCall;
use super::script_tables::{ScriptRecords, said};
use super::script_value::{ScriptKind, ScriptValue};
use super::titles;
use crate::vocabulary;
use crate::{ColumnMapping, TableColumn, naming};
use std::collections::{BTreeMap, BTreeSet};

/// Headings of one table, and its rows: the places, and the figure at each.
type CurveTables = BTreeMap<Vec<String>, BTreeMap<Vec<String>, String>>;

/// `None`: nothing is drawn that is known, or two figures are at one place.
pub fn records(
    drawing: &ScriptDrawing,
    lists: &[NamedList],
    mapping: &ColumnMapping,
) -> Option<ScriptRecords> {
    let (mut tables, mut shown) = (CurveTables::new(), ShownFigures::new());
    for call in drawing.drawn() {
        let Some(curve) = DrawnCurve::of(drawing, call, mapping) else { continue };
        let (titles, places): (Vec<_>, Vec<_>) = curve.places.into_iter().unzip();
        let drawn = call.arguments.iter().filter(|argument| argument.is_drawn());
        drawn.for_each(|argument| show(&mut shown, &argument.value));
        shown.entry(String::new()).or_default().extend(places.iter().cloned());
        let headings = titles.into_iter().chain([curve.axis.1, curve.quantity]).collect();
        let rows = tables.entry(headings).or_default();
        for (x, y) in curve.axis.0.into_iter().zip(curve.figures) {
            let row = places.iter().cloned().chain([x]).collect();
            if rows.insert(row, y.clone()).is_some_and(|known| known != y) {
                return None;
            }
        }
    }
    let record = |cells| TableRecord { line: 1, cells };
    let mut all = Vec::new();
    for (headings, rows) in tables {
        all.push(record(headings));
        all.extend(
            rows.into_iter().map(|(places, figure)| record(places.into_iter().chain([figure]).collect())),
        );
    }
    let left: BTreeSet<String> = lists.iter().filter_map(|list| left_of(list, &shown, mapping)).collect();
    (!all.is_empty()).then(|| (all, said(&Vec::from_iter(left), &[])))
}

/// What is drawn of a list, by its name; of none: what labels and titles say of places.
type ShownFigures = BTreeMap<String, BTreeSet<String>>;

fn show(shown: &mut ShownFigures, of: &ScriptValue) {
    for one in script_builtin::items(of, None) {
        for source in &one.from {
            shown.entry(source.name.clone()).or_default().extend(one.cell().map(String::from));
        }
    }
}

/// A list of figures that no row shows, or not all of it.
fn left_of(list: &NamedList, shown: &ShownFigures, mapping: &ColumnMapping) -> Option<String> {
    let own = shown.get(&list.name);
    let is_shown = |figure: &String| own.into_iter().chain(shown.get("")).any(|all| all.contains(figure));
    let figures = list.numbers && list.axis(mapping).is_none() && !list.cells.iter().all(is_shown);
    figures.then(|| format!("{:?}{}", list.name, if own.is_some() { " (a part)" } else { "" }))
}

struct DrawnCurve {
    /// Where all of it stands, each with its heading.
    places: Vec<(String, String)>,
    /// Places of its figures, and their heading.
    axis: (Vec<String>, String),
    figures: Vec<String>,
    quantity: String,
}

impl DrawnCurve {
    fn of(drawing: &ScriptDrawing, call: &ScriptCall, mapping: &ColumnMapping) -> Option<DrawnCurve> {
        let (x, y) = drawn_values(call)?;
        let figures = cells(y).filter(|_| y.sources().iter().all(|source| source.plain))?;
        let ticks = drawing.own_ticks(call);
        let axis = [ticks, x].into_iter().flatten().find_map(|x| axis(drawing, call, x, mapping))?;
        let quantity = drawing.own_label(call, "ylabel").filter(|text| is_quantity(text))?.to_string();
        let is_figure = |cell: &String| cell.parse::<f64>().is_ok();
        if figures.len() != axis.cells.len() || !figures.iter().all(is_figure) {
            return None;
        }
        let column = axis.axis(mapping)?;
        let places = places(drawing, call, column, mapping)?;
        let heading = axis.labels(mapping).map_or_else(|| axis.heading(mapping), TableColumn::title);
        Some(DrawnCurve { places, axis: (axis.cells, heading), figures, quantity })
    }
}

/// What a call draws, and over what.
fn drawn_values(call: &ScriptCall) -> Option<(Option<&ScriptValue>, &ScriptValue)> {
    let named = |name: &str| call.arguments.iter().find(|of| of.keyword.as_deref() == Some(name));
    let mut unnamed = call.arguments.iter().filter(|of| of.keyword.is_none()).map(|of| &of.value);
    if let Some(y) = named("y") {
        return Some((named("x").map(|x| &x.value), &y.value));
    }
    let first = unnamed.next()?;
    Some(match unnamed.next().filter(|second| cells(second).is_some()) {
        Some(second) => (Some(first), second),
        None => (None, first),
    })
}

fn cells(of: &ScriptValue) -> Option<Vec<String>> {
    let ScriptKind::List(all) = &of.is else { return None };
    all.iter()
        .map(|one| one.cell().map(String::from))
        .collect::<Option<Vec<String>>>()
        .filter(|all| all.len() > 1)
}

fn is_quantity(text: &str) -> bool {
    let named = naming::column_of(text).or_else(|| naming::unit_alone(text));
    named.is_some_and(|named| named.column.is_measure() && named.column != TableColumn::Spread)
}

/// Sizes or threads, by the plot's label of their axis or by the name of their list.
fn axis(
    drawing: &ScriptDrawing,
    call: &ScriptCall,
    of: &ScriptValue,
    mapping: &ColumnMapping,
) -> Option<NamedList> {
    let cells = cells(of)?;
    let sources = of.sources();
    let label = drawing
        .own_label(call, "xlabel")
        .filter(|text| naming::column_of(text).is_some_and(|named| PLACES.contains(&named.column)));
    let list = NamedList {
        line: 1,
        name: sources.first().filter(|_| sources.len() == 1).map(|of| of.name.clone()).unwrap_or_default(),
        numbers: cells.iter().all(|cell| cell.parse::<f64>().is_ok()),
        cells,
        label: label.map(String::from),
        ..Default::default()
    };
    let counted = sources.iter().any(|source| !source.plain);
    (!counted && list.axis(mapping).is_some_and(|column| PLACES.contains(&column))).then_some(list)
}

/// Whose a curve is and where it stands, by its label and the title of its plot. `None`: its label may mean several things.
fn places(
    drawing: &ScriptDrawing,
    call: &ScriptCall,
    axis: TableColumn,
    mapping: &ColumnMapping,
) -> Option<Vec<(String, String)>> {
    let label = drawing.own_curve(call).unwrap_or_default();
    let known = TableHeading::of(label, mapping);
    if known.is_number() {
        return None;
    }
    let mut place = known.place.filter(|_| known.column.is_none()).unwrap_or_default();
    if !place.is_some() && !label.is_empty() && !is_quantity(label) {
        place.mechanism = Some(label.into());
    }
    for title in drawing.own_titles(call).into_iter().filter_map(|text| titles::of(text, mapping)) {
        let way = title.place.mechanism.filter(|name| vocabulary::exact_role(name).is_some());
        place.mechanism = place.mechanism.or(way);
        place.bytes = place.bytes.or(title.place.bytes).filter(|_| axis != TableColumn::MessageBytes);
        place.threads = place.threads.or(title.place.threads).filter(|_| axis != TableColumn::Threads);
    }
    Some(place.as_cells().into_iter().map(|(title, cell)| (title.into(), cell)).collect())
}
