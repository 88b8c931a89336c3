//! Rows as JSON, as scripts write their results: arrays of objects, arrays as columns, objects by name, size or
//! threads, one in another.

use super::heading::{SMALLEST_SIZE, TableHeading, cut_unit};
use super::layout::TableRecord;
use crate::vocabulary::bare;
use crate::{ColumnMapping, TableColumn, naming};
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Headings and texts of one row.
type RowFields = Vec<(String, String)>;

/// An object a line; `None`: other text.
pub fn lines(text: &str) -> Option<Value> {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let rows: Option<Vec<Value>> = lines.map(|line| serde_json::from_str(line).ok()).collect();
    rows.filter(|rows| rows.iter().all(Value::is_object)).map(Value::Array)
}

/// Samples that were taken one after the other, and what sums them up.
const SAMPLES: &[&str] = &["samples", "intervals", "timeseries", "series", "timeline", "points"];
const SUMMARIES: &[&str] = &["summary", "summaries", "totals", "aggregate", "aggregates", "overall"];

/// The records of a document; `None`: it has no rows.
pub fn records(json: &Value, mapping: &ColumnMapping) -> Option<Vec<TableRecord>> {
    records_and_left(json, mapping).map(|(records, _)| records)
}

/// With what was left out of it.
pub fn records_and_left(json: &Value, mapping: &ColumnMapping) -> Option<(Vec<TableRecord>, Vec<String>)> {
    let reading = ObjectRows { mapping, said: RefCell::default(), of_all: RefCell::default() };
    let rows = reading.of(json, &RowFields::new());
    let mut headings: Vec<String> = Vec::new();
    let mut known = BTreeSet::new();
    for (key, _) in rows.iter().flatten() {
        if known.insert(key) {
            headings.push(key.clone());
        }
    }
    // Of one name the innermost field is the row's own: a summary may stand around it.
    let cells = |row: &RowFields| {
        let cell =
            |heading: &String| row.iter().rfind(|(key, _)| key == heading).map(|(_, text)| text.clone());
        headings.iter().map(|heading| cell(heading).unwrap_or_default()).collect()
    };
    let record = |(index, row)| TableRecord { line: index + 1, cells: cells(row) };
    let rows: Vec<TableRecord> = rows.iter().enumerate().map(record).collect();
    // What the items have, too, is read of them.
    let of_all = reading.of_all.take().into_iter().filter(|(name, _)| !headings.contains(name));
    of_all.for_each(|(name, list)| reading.say(format!("{name:?} is of all {list:?} together: left out")));
    let enough = headings.len() > 1;
    let all = || std::iter::once(TableRecord { line: 1, cells: headings }).chain(rows).collect();
    enough.then(|| (all(), reading.said.into_inner().into_iter().collect()))
}

struct ObjectRows<'m> {
    mapping: &'m ColumnMapping,
    said: RefCell<BTreeSet<String>>,
    /// Figures around a list, each with the list.
    of_all: RefCell<BTreeSet<(String, String)>>,
}

impl ObjectRows<'_> {
    /// The rows of a value; `outside` are the fields of what it stands in.
    fn of(&self, value: &Value, outside: &RowFields) -> Vec<RowFields> {
        let of = match value {
            Value::Array(all) if is_rows(value) => {
                return all.iter().flat_map(|one| self.of(one, outside)).collect();
            }
            Value::Object(of) => of,
            _ => return Vec::new(),
        };
        if let Some(rows) = by_index(of) {
            return rows;
        }
        if self.is_keyed(of) {
            let rows = |(key, inner): (&String, &Value)| {
                let named = outside.iter().cloned().chain(self.places(of, key, outside)).collect();
                self.of(inner, &named)
            };
            return of.iter().flat_map(rows).collect();
        }
        let (holders, plain): (Vec<_>, Vec<_>) = of.iter().partition(|(_, inner)| self.holds_rows(inner));
        let mut fields = outside.clone();
        if let Some((summary, samples)) = summed_up(of) {
            self.say(format!("{samples:?} are left out: {summary:?} beside them holds the results"));
            return self.of_summary(&of[summary], outside);
        }
        fields.extend(plain.into_iter().flat_map(|(key, inner)| flattened(key, inner)));
        if !holders.is_empty() {
            // Beside the results stand other things.
            let rows = holders.iter().map(|(key, inner)| self.of(inner, &self.of_each(&fields, key, inner)));
            return rows.max_by_key(Vec::len).unwrap_or_default();
        }
        if self.has_lists_by_name(of) {
            return self.lists_by_name(of, &fields);
        }
        by_columns(of, &fields).unwrap_or_else(|| vec![fields])
    }

    /// `{"getpid": [412, 409], "fork": [81000, 80500, 82000]}`: lists of figures, and most of their names are none of
    /// columns.
    fn has_lists_by_name(&self, of: &Map<String, Value>) -> bool {
        let heading = |name: &str| TableHeading::of(name, self.mapping);
        let key = |heading: &TableHeading| {
            heading.place.is_some() || heading.column.is_some_and(|c| c.is_place() || c.is_text())
        };
        let numbers = |all: &[Value]| all.len() > 1 && all.iter().all(Value::is_number);
        let known = lists(of).filter(|(name, _)| heading(name).column.is_some()).count();
        let all = lists(of).count();
        all > 0 && 2 * known <= all && lists(of).all(|(name, all)| numbers(all) && !key(&heading(name)))
    }

    /// Operations and their runs.
    fn lists_by_name(&self, of: &Map<String, Value>, fields: &RowFields) -> Vec<RowFields> {
        self.say("a list is an operation, and its figures are runs".into());
        let rows = |(name, all): (&String, &Vec<Value>)| -> Vec<RowFields> {
            let (operation, unit) = match cut_unit(name) {
                Some((operation, _)) => {
                    (operation, name[operation.len()..].trim_matches([' ', '(', ')', '[', ']']))
                }
                None => (name.as_str(), ""),
            };
            let figure = |figure: &Value| {
                let own = [("operation", operation.to_string()), ("measured", format!("{figure} {unit}"))];
                let own = own.map(|(heading, text)| (heading.to_string(), text.trim().to_string()));
                own.into_iter().chain(fields.iter().cloned()).collect()
            };
            all.iter().map(figure).collect()
        };
        lists(of).flat_map(rows).collect()
    }

    fn say(&self, told: String) {
        self.said.borrow_mut().insert(told);
    }

    /// What was asked for is told in the other fields, beside it.
    fn of_summary(&self, summary: &Value, outside: &RowFields) -> Vec<RowFields> {
        let Value::Object(of) = summary else { return self.of(summary, outside) };
        if self.holds_rows(summary) || !of.values().all(Value::is_object) {
            return self.of(summary, outside);
        }
        // A name for each way, though they do not hold the same fields.
        let row = |(key, inner): (&String, &Value)| {
            let fields = outside.iter().cloned().chain(self.places(of, key, outside));
            fields
                .chain(inner.as_object().into_iter().flatten().flat_map(|(key, of)| flattened(key, of)))
                .collect()
        };
        of.iter().map(row).collect()
    }

    /// Of the fields around a list, those that hold for each of its items: a figure of all of them is none of one.
    fn of_each(&self, fields: &RowFields, key: &str, list: &Value) -> RowFields {
        if list.as_array().is_none_or(|all| all.len() < 2) {
            return fields.clone();
        }
        let samples = SAMPLES.contains(&bare(key).as_str());
        let of_all = |(name, _): &&(String, String)| {
            let column = TableHeading::of(name, self.mapping).column;
            column.is_some_and(|column| column.is_measure() && (samples || column != TableColumn::Elapsed))
        };
        let (all, each): (Vec<_>, Vec<_>) = fields.iter().partition(of_all);
        for (name, _) in all {
            self.of_all.borrow_mut().insert((name.clone(), key.to_string()));
        }
        each.into_iter().cloned().collect()
    }

    fn holds_rows(&self, value: &Value) -> bool {
        let inside = |of: &Map<String, Value>| {
            self.is_keyed(of)
                || of.values().any(|v| self.holds_rows(v))
                || lists(of).count() == of.len() && self.has_lists_by_name(of)
        };
        is_rows(value) || value.as_object().is_some_and(inside)
    }

    /// Are its keys values: names, sizes, thread counts?
    fn is_keyed(&self, of: &Map<String, Value>) -> bool {
        let inner = of.values().all(|value| value.is_object() || is_rows(value));
        let place = |key: &String| self.place(key).is_some();
        let alike = || of.len() > 1 && of.values().map(keys).collect::<BTreeSet<_>>().len() == 1;
        let quantity = |key: &String| naming::column_of(key).is_some_and(|named| !named.column.is_text());
        !of.is_empty() && inner && (of.keys().all(place) || alike() && !of.keys().any(quantity))
    }

    fn place(&self, key: &str) -> Option<super::heading::HeadingPlace> {
        TableHeading::of(key, self.mapping).place
    }

    /// What a key says, each with its heading.
    fn places(&self, of: &Map<String, Value>, key: &str, outside: &RowFields) -> RowFields {
        let taken = |heading: &str| outside.iter().any(|(known, _)| known == heading);
        let Some(place) = self.place(key) else {
            let heading = if taken("mechanism") { "variant" } else { "mechanism" };
            return vec![(heading.into(), key.into())];
        };
        let large = of.keys().filter_map(|key| self.place(key)?.number).max() >= Some(SMALLEST_SIZE);
        let alone = if taken("threads") || large && !taken("size") { "size" } else { "threads" };
        let numbers = [(alone, place.number), ("size", place.bytes), ("threads", place.threads)];
        let numbers =
            numbers.into_iter().filter_map(|(heading, n)| Some((heading.to_string(), n?.to_string())));
        place.mechanism.map(|name| ("mechanism".to_string(), name)).into_iter().chain(numbers).collect()
    }
}

/// A summary and the list of samples beside it.
fn summed_up(of: &Map<String, Value>) -> Option<(&str, &str)> {
    let find = |words: &[&str], is: fn(&Value) -> bool| {
        let mut all = of.iter().filter(|(key, value)| words.contains(&bare(key).as_str()) && is(value));
        all.next().map(|(key, _)| key.as_str())
    };
    Some((find(SUMMARIES, |value| value.is_object() || is_rows(value))?, find(SAMPLES, is_rows)?))
}

fn lists(of: &Map<String, Value>) -> impl Iterator<Item = (&String, &Vec<Value>)> {
    of.iter().filter_map(|(name, all)| Some((name, all.as_array()?)))
}

fn is_rows(value: &Value) -> bool {
    value.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(Value::is_object))
}

/// The keys of an object, or of the first of a list.
fn keys(value: &Value) -> Vec<&String> {
    let first = value.as_array().map_or(Some(value), |all| all.first());
    first.and_then(Value::as_object).map(|of| of.keys().collect()).unwrap_or_default()
}

/// Arrays of one length are columns.
fn by_columns(of: &Map<String, Value>, fields: &RowFields) -> Option<Vec<RowFields>> {
    let columns: Vec<(&String, &Vec<Value>)> =
        of.iter().filter_map(|(key, value)| Some((key, value.as_array()?))).collect();
    let rows = columns.first()?.1.len();
    let even = columns.iter().all(|(_, all)| all.len() == rows && !all.iter().any(Value::is_array));
    let row = |at: usize| {
        let cells = columns.iter().flat_map(|(key, all)| flattened(key, &all[at]));
        fields.iter().cloned().chain(cells).collect()
    };
    (columns.len() > 1 && even).then(|| (0..rows).map(row).collect())
}

/// What pandas writes unasked: each column an object by the numbers of the rows.
fn by_index(of: &Map<String, Value>) -> Option<Vec<RowFields>> {
    let columns: Option<Vec<_>> = of.iter().map(|(key, of)| Some((key, of.as_object()?))).collect();
    let columns = columns.filter(|all| all.len() > 1)?;
    let rows = columns[0].1.len();
    let numbered = |of: &Map<String, Value>| {
        of.len() == rows && (0..rows).all(|at| of.get(&at.to_string()).is_some_and(|cell| !cell.is_object()))
    };
    let row = |at: usize| {
        let cells = columns.iter().flat_map(|(key, of)| flattened(key, &of[&at.to_string()]));
        cells.collect()
    };
    (rows > 0 && columns.iter().all(|(_, of)| numbered(of))).then(|| (0..rows).map(row).collect())
}

/// `config`, `message_size`: the outer name is a word of the heading where both are understood together, or neither is
/// alone.
fn within(name: &str, key: &str) -> String {
    let (both, mapping) = (format!("{name}_{key}"), ColumnMapping::default());
    let understood = |text: &str| TableHeading::of(text, &mapping).is_understood();
    if !understood(&both) && understood(key) { key.into() } else { both }
}

/// What is nested one below the other has both names.
fn flattened(name: &str, value: &Value) -> RowFields {
    match value {
        Value::Object(of) => {
            let within = |(key, inner): (&String, &Value)| flattened(&within(name, key), inner);
            of.iter().flat_map(within).collect()
        }
        Value::String(text) => vec![(name.into(), text.clone())],
        Value::Null | Value::Array(_) => Vec::new(),
        other => vec![(name.into(), other.to_string())],
    }
}
