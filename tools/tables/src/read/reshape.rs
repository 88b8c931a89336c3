//! Layouts that become rows under one line of headings: units in a line of their own, headings of two lines, quantities
//! as rows, a quantity and a value a line.

use super::heading::{HeadingPlace, TableHeading, is_number_alone, quantity, settle};
use super::layout::{TableRecord, TableRecords};
use super::{arithmetic, grouped, row_labels, several, unit_columns};
use crate::cells;
use crate::english::english;
use crate::unit;
use crate::vocabulary::{self, NOT, YES, bare};
use crate::{ColumnMapping, TableColumn, naming};
use std::collections::{BTreeMap, BTreeSet};

/// The headings are among the first lines.
const WITHIN: usize = 30;
/// Of the rows, so many must name a quantity.
const MOST: f64 = 0.6;
#[rustfmt::skip]
const QUANTITIES: &[&str] = &[
    "metric", "metricname", "countername", "measure", "quantity", "counter", "event", "statistic", "parameter", "variable",
];
/// The first that a table has; how many there were is a figure where nothing else is.
#[rustfmt::skip]
const VALUES: &[&str] = &[
    "value", "metricvalue", "countervalue", "result", "figure", "reading", "measurement", "measured", "mean", "average", "avg", "median",
    "count",
];

/// Brings the records into that form; what was done.
pub fn reshape(records: &mut TableRecords, mapping: &ColumnMapping) -> Vec<String> {
    let mut done = Vec::new();
    for at in 0..WITHIN {
        // Lines that are joined make the table shorter.
        if at >= records.all.len() {
            break;
        }
        if headings_by_axis(&mut records.all, at) {
            done.push("each axis of the columns has a line".to_string());
        }
        if switched(&mut records.all, at) {
            done.push("a column of yes and no is a part of the name".to_string());
        }
        if units_below(&mut records.all, at) {
            done.push("units are in a line of their own".to_string());
        }
        done.extend(grouped::taken_apart(&mut records.all, at, mapping).map(str::to_string));
        if two_lines(&mut records.all, at, mapping) {
            done.push("headings are two lines".to_string());
        }
        if places_as_cells(&mut records.all, at, mapping) {
            done.push("a column holds names, sizes or threads together".to_string());
            done.dedup();
        }
        let several = several::taken_apart(&mut records.all, at, records.decimal, mapping);
        let computed = arithmetic::done(&mut records.all, at, records.decimal);
        let columns = unit_columns::taken_apart(&mut records.all, at, records.decimal, mapping);
        for told in [several, computed, columns].concat() {
            if !done.contains(&told) {
                done.push(told);
            }
        }
        if let Some(told) = row_labels::read(&mut records.all, at, mapping) {
            done.push(told.to_string());
            break;
        }
        if transposed(&mut records.all, at, mapping) {
            done.push("quantities are rows".to_string());
            places_as_cells(&mut records.all, at, mapping);
            break;
        }
        if pivoted(&mut records.all, at, mapping) {
            done.push("each line is one quantity".to_string());
            places_as_cells(&mut records.all, at, mapping);
            break;
        }
    }
    done
}

/// `zerocopy` above `yes` and `no`: each row is of one of two ways.
fn switched(all: &mut [TableRecord], at: usize) -> bool {
    let (above, below) = all.split_at_mut(at + 1);
    let headings = &mut above[at].cells;
    let says = |cell: &String| [&NOT[..], &YES[..]].concat().contains(&bare(cell).as_str());
    let is = |column: &usize| {
        let mut cells = below.iter().filter_map(|record| record.cells.get(*column)).peekable();
        cells.peek().is_some()
            && vocabulary::exact_role(&headings[*column]).is_some()
            && cells.clone().all(says)
            && cells.map(|cell| bare(cell)).collect::<BTreeSet<_>>().len() == 2
    };
    let Some(column) = (0..headings.len()).find(is) else { return false };
    for record in below.iter_mut().filter(|record| record.cells.len() > column) {
        record.cells[column] = format!("{}={}", headings[column], record.cells[column]);
    }
    headings[column] = "mechanism".into();
    true
}

fn units_below(all: &mut Vec<TableRecord>, at: usize) -> bool {
    let Some([above, below]) = all.get(at..at + 2) else { return false };
    let is_unit = |cell: &String| {
        cells::is_empty(cell)
            || !cells::is_number(cell) && (unit::parse(cell).is_ok() || unit::count(cell).is_ok())
    };
    let measures =
        below.cells.iter().filter(|cell| !cells::is_empty(cell) && unit::parse(cell).is_ok()).count();
    let named = above.cells.iter().filter(|cell| !cells::is_number(cell) && !cells::is_empty(cell)).count();
    if measures == 0 || named < 2 || !below.cells.iter().all(is_unit) {
        return false;
    }
    let units = all.remove(at + 1).cells;
    for (cell, unit) in all[at].cells.iter_mut().zip(units) {
        if !cells::is_empty(&unit) {
            *cell += &format!(" ({})", unit.trim_matches(['(', ')', '[', ']']));
        }
    }
    true
}

/// Lines of headings at most, as pandas writes a pivoted table.
const MOST_LEVELS: usize = 5;

/// `impl,A1,A1,A2` over `threads,1,4,1` over `msg_size,,,`: each line names its axis, and the last that of the rows.
fn headings_by_axis(all: &mut Vec<TableRecord>, at: usize) -> bool {
    let is_index = |record: &TableRecord| {
        let (name, rest) = (&record.cells[0], &record.cells[1..]);
        rest.len() > 1
            && rest.iter().all(cells::is_empty)
            && naming::column_of(name).is_some_and(|n| n.column.is_place() || n.column.is_text())
    };
    let Some(index) = (at + 1..all.len().min(at + MOST_LEVELS)).find(|index| is_index(&all[*index])) else {
        return false;
    };
    let width = all[index].cells.len();
    let levels = &all[at..index];
    let is_level = |record: &TableRecord| {
        let name = &record.cells[0];
        record.cells.len() == width
            && !record.cells[1..].iter().any(cells::is_empty)
            && (cells::is_empty(name)
                || naming::column_of(name).is_some_and(|n| n.column.is_place() || n.column.is_text()))
    };
    if !levels.iter().all(is_level) {
        return false;
    }
    let heading = |column: usize| {
        let part = |level: &TableRecord| match &level.cells[column] {
            number if is_number_alone(number) => format!("{}={number}", level.cells[0]),
            text => text.clone(),
        };
        levels.iter().map(part).collect::<Vec<_>>().join(" ")
    };
    let headings = std::iter::once(all[index].cells[0].clone()).chain((1..width).map(heading)).collect();
    all[index].cells = headings;
    all.drain(at..index);
    true
}

/// A line of groups above a line of headings: `Throughput (Gbps),,` over `A1,A2`.
fn two_lines(all: &mut Vec<TableRecord>, at: usize, mapping: &ColumnMapping) -> bool {
    let Some([groups, headings]) = all.get(at..at + 2) else { return false };
    let keyed = with_key(groups, headings);
    let groups = keyed.as_ref().unwrap_or(groups);
    let filled = groups.cells.iter().filter(|cell| !cells::is_empty(cell)).count();
    let continued =
        |(group, heading): (&String, &String)| cells::is_empty(group) && !cells::is_empty(heading);
    let gap = groups.cells.iter().zip(&headings.cells).skip(1).any(continued);
    // A line of one cell at the left is a title.
    let title = filled == 1 && !cells::is_empty(&groups.cells[0]);
    if filled == 0 || title || !gap || groups.cells.iter().any(|cell| is_number_alone(cell)) {
        return false;
    }
    let mut group = String::new();
    let mut together = Vec::new();
    for (index, heading) in headings.cells.iter().enumerate() {
        match groups.cells.get(index).filter(|cell| !cells::is_empty(cell)) {
            Some(named) => group = named.clone(),
            None if cells::is_empty(heading) => group.clear(),
            None => {}
        }
        together.push(match (group.is_empty(), cells::is_empty(heading)) {
            (true, _) => heading.clone(),
            (_, true) => group.clone(),
            _ => format!("{heading} {group}"),
        });
    }
    let whole = |text: &&String| {
        let heading = TableHeading::of(text, mapping);
        let axes = heading.place.as_ref().map_or(0, |place| place.as_cells().len());
        axes > 1 || axes > 0 && (heading.column.is_some() || heading.unit.is_some())
    };
    if together.iter().filter(whole).count() < 2 {
        return false;
    }
    all.remove(at);
    all[at].cells = together;
    true
}

/// `threads,1,,4,` above `size,A1,A2,A1,A2`: the first cell of each line is its key, and the numbers are of the upper.
fn with_key(groups: &TableRecord, headings: &TableRecord) -> Option<TableRecord> {
    let (key, numbers) = groups.cells.split_first()?;
    let place = naming::column_of(key).is_some_and(|named| named.column.is_place());
    let filled = || numbers.iter().filter(|cell| !cells::is_empty(cell));
    let keyed = place && filled().count() > 1 && filled().all(|cell| is_number_alone(cell));
    // `Message Size (B)`
    let (axis, unit) = key.split_once(['(', '[']).unwrap_or((key, ""));
    let (axis, unit) = (axis.trim(), unit.trim_matches([')', ']', ' ']));
    let named =
        |cell: &String| if cells::is_empty(cell) { String::new() } else { format!("{axis}={cell}{unit}") };
    (keyed && headings.cells.first().is_some_and(|cell| !cells::is_empty(cell))).then(|| TableRecord {
        line: groups.line,
        cells: std::iter::once(String::new()).chain(numbers.iter().map(named)).collect(),
    })
}

const LONGEST_PLACE: usize = 48;

/// `two_copy_64B_4T`, `64 B, 4 threads`: a column of places becomes one for each axis.
fn places_as_cells(all: &mut [TableRecord], at: usize, mapping: &ColumnMapping) -> bool {
    let width = all[at].cells.len();
    let end = all[at + 1..].iter().position(|r| r.cells.len() != width).map_or(all.len(), |n| at + 1 + n);
    // Of two axes one is a number; what is longer is prose, which takes time to cut at every place.
    let place = |cell: &String| {
        let may_be = cell.len() <= LONGEST_PLACE && cell.contains(char::is_numeric);
        let named = may_be.then(|| TableHeading::of(cell, mapping).place);
        named.flatten().filter(|place| place.as_cells().len() > 1)
    };
    let holds = |column: &usize| {
        let below = &all[at + 1..end];
        below.len() > 1
            && place(&all[at].cells[*column]).is_none()
            && below.iter().all(|record| place(&record.cells[*column]).is_some())
    };
    let Some(column) = (0..width).find(holds) else { return false };
    let places: Vec<_> = all[at + 1..end].iter().filter_map(|record| place(&record.cells[column])).collect();
    let titles = |place: &HeadingPlace| -> Vec<String> {
        place.as_cells().iter().map(|(heading, _)| heading.to_string()).collect()
    };
    if places.iter().any(|place| titles(place) != titles(&places[0])) {
        return false;
    }
    let titles = titles(&places[0]);
    let cells = places.iter().map(|place| place.as_cells().into_iter().map(|(_, text)| text).collect());
    let turned: Vec<Vec<String>> = std::iter::once(titles).chain(cells).collect();
    for (record, cells) in all[at..end].iter_mut().zip(turned) {
        record.cells.splice(column..=column, cells);
    }
    true
}

/// A table with more lines has none a quantity; what each could be called takes time.
const MOST_QUANTITIES: usize = 256;

/// `,A1,A2` over `Throughput (Gbps),2,3` and `Latency (us),10,12`.
fn transposed(all: &mut Vec<TableRecord>, at: usize, mapping: &ColumnMapping) -> bool {
    let places: Vec<TableHeading> =
        all[at].cells.iter().skip(1).map(|cell| TableHeading::of(cell, mapping)).collect();
    let end = all[at + 1..]
        .iter()
        .position(|r| r.cells.len() != all[at].cells.len())
        .map_or(all.len(), |n| at + 1 + n);
    let below = &all[at + 1..end];
    let alone = |heading: &TableHeading| heading.place.is_some() && heading.column.is_none();
    if places.len() < 2 || below.len() > MOST_QUANTITIES || !places.iter().all(alone) {
        return false;
    }
    // `Two-Copy Throughput (Gbps)`
    let of_a_name = |text: &str| {
        let heading = TableHeading::of(text, mapping);
        heading.place.is_some() && heading.column.is_some_and(TableColumn::is_measure)
    };
    let named =
        below.iter().filter(|record| quantity(&record.cells[0]) || of_a_name(&record.cells[0])).count();
    if named < 2 || (named as f64) < MOST * below.len() as f64 {
        return false;
    }
    let mut settled = places;
    // Small numbers alone may be either; no size is that small.
    let are_threads = settle(&mut settled).is_err();
    let cells = |heading: &TableHeading| {
        let place = heading.place.as_ref().map(HeadingPlace::as_cells).unwrap_or_default();
        if are_threads || place.is_empty() { vec![("threads", heading.text.clone())] } else { place }
    };
    let titles = |heading: &TableHeading| cells(heading).into_iter().map(|(title, _)| title.to_string());
    // `A1` beside `A2_64`: each is a name.
    let alike = settled.iter().all(|heading| titles(heading).eq(titles(&settled[0])));
    let of_name = settled.iter().any(|p| p.place.as_ref().is_some_and(|place| place.mechanism.is_some()));
    let split = alike && !(are_threads && of_name);
    let first = if split { titles(&settled[0]).collect() } else { vec!["mechanism".to_string()] };
    let headings = first.into_iter().chain(below.iter().map(|record| record.cells[0].clone())).collect();
    let rows = settled.iter().enumerate().map(|(column, heading)| {
        let texts = cells(heading).into_iter().map(|(_, text)| text);
        let first = if split { texts.collect() } else { vec![heading.text.clone()] };
        let figures = below.iter().map(|record| record.cells[column + 1].clone());
        TableRecord { line: all[at].line, cells: first.into_iter().chain(figures).collect() }
    });
    let mut turned = vec![TableRecord { line: all[at].line, cells: headings }];
    turned.extend(rows);
    all.splice(at..end, turned);
    true
}

/// `size,metric,A1,A2`: a line for each quantity and place.
fn places_below(all: &mut Vec<TableRecord>, at: usize, mapping: &ColumnMapping) {
    let headings = all[at].cells.clone();
    let placed = |cell: &String| {
        let heading = TableHeading::of(cell, mapping);
        heading.place.is_some() && heading.column.is_none()
    };
    let places: Vec<usize> = (0..headings.len()).filter(|column| placed(&headings[*column])).collect();
    let metric = headings.iter().position(|cell| QUANTITIES.contains(&bare(cell).as_str()));
    let [first, .., last] = places[..] else { return };
    let together = last - first + 1 == places.len() && last + 1 == headings.len();
    let named =
        |row: &TableRecord| metric.and_then(|at| row.cells.get(at)).is_some_and(|cell| quantity(cell));
    if !together || metric.is_none_or(|metric| metric >= first) || !all[at + 1..].iter().any(named) {
        return;
    }
    let rows: Vec<TableRecord> = all.drain(at + 1..).collect();
    all[at].cells.truncate(first);
    all[at].cells.extend(["place".to_string(), "value".to_string()]);
    for TableRecord { line, cells } in rows {
        for column in places.iter().filter(|column| cells.len() > **column) {
            let mut own = cells[..first].to_vec();
            own.extend([headings[*column].clone(), cells[*column].clone()]);
            all.push(TableRecord { line, cells: own });
        }
    }
}

/// The quantities of one key, each with its column.
struct TurnedRow {
    key: Vec<String>,
    line: usize,
    figures: Vec<(usize, String)>,
}

/// `impl,size,metric,value`: the quantities of a key become one row.
fn pivoted(all: &mut Vec<TableRecord>, at: usize, mapping: &ColumnMapping) -> bool {
    places_below(all, at, mapping);
    let headings = all[at].cells.clone();
    let names: Vec<String> = headings.iter().map(|cell| bare(&english(cell))).collect();
    let find = |words: &[&str]| words.iter().find_map(|word| names.iter().position(|name| name == word));
    let (Some(name), Some(value)) = (find(QUANTITIES), find(VALUES)) else { return false };
    let unit = find(&["unit", "units", "metricunit"]);
    let width = headings.len();
    let rows: Vec<TableRecord> = all.drain(at + 1..).collect();
    let named = rows.iter().filter(|r| r.cells.get(name).is_some_and(|cell| quantity(cell))).count();
    if rows.is_empty() || (named as f64) < MOST * rows.len() as f64 || headings.len() < 3 {
        all.extend(rows);
        return false;
    }
    let cell = |row: &TableRecord, at: usize| row.cells.get(at).cloned().unwrap_or_default();
    // `avg_latency_ms,Average Latency (ms)`: another name of the quantity is no key.
    let distinct = |at: &[usize]| {
        let of = rows.iter().map(|row| at.iter().map(|at| cell(row, *at)).collect::<Vec<_>>());
        of.collect::<BTreeSet<_>>().len()
    };
    let labels = |at: &usize| {
        let many = distinct(&[name]);
        many > 1 && many < rows.len() && distinct(&[*at]) == many && distinct(&[name, *at]) == many
    };
    let keys: Vec<usize> =
        (0..width).filter(|c| ![Some(name), Some(value), unit].contains(&Some(*c)) && !labels(c)).collect();
    let mut quantities: Vec<String> = Vec::new();
    let mut turned: Vec<TurnedRow> = Vec::new();
    let mut latest: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    for row in &rows {
        let of = unit.map(|unit| cell(row, unit)).filter(|unit| !cells::is_empty(unit));
        let text = of.map_or_else(|| cell(row, name), |of| format!("{} ({of})", cell(row, name)));
        let column = quantities.iter().position(|known| *known == text).unwrap_or_else(|| {
            quantities.push(text);
            quantities.len() - 1
        });
        let key: Vec<String> = keys.iter().map(|at| cell(row, *at)).collect();
        let figure = (column, cell(row, value));
        // A quantity that a key has already is one of another repetition.
        match latest.get(&key).filter(|at| turned[**at].figures.iter().all(|(known, _)| *known != column)) {
            Some(at) => turned[*at].figures.push(figure),
            None => {
                latest.insert(key.clone(), turned.len());
                turned.push(TurnedRow { key, line: row.line, figures: vec![figure] });
            }
        }
    }
    all[at].cells = keys.iter().map(|at| headings[*at].clone()).chain(quantities.iter().cloned()).collect();
    all.extend(turned.into_iter().map(|TurnedRow { key: mut cells, line, figures }| {
        let before = cells.len();
        cells.resize(before + quantities.len(), String::new());
        figures.into_iter().for_each(|(column, text)| cells[before + column] = text);
        TableRecord { line, cells }
    }));
    true
}
