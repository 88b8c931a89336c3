//! Cells of several figures: `15.8 Mpps / 206 cpp` are two quantities, `2.1 / 2.2 / 2.0` are runs.

use super::heading::TableHeading;
use super::layout::TableRecord;
use crate::unit::{self, DecimalMark, Dimension};
use crate::{ColumnMapping, TableColumn, cells, naming};

/// Of the cells of a column, so many must hold as many figures.
const MOST: f64 = 0.6;
const MARKS: [char; 3] = [';', '/', '|'];

/// A column's cells, each taken apart.
struct SeveralFigures {
    column: usize,
    many: usize,
}

/// Takes the cells below a line apart; what was done.
pub fn taken_apart(
    all: &mut Vec<TableRecord>,
    at: usize,
    mark: DecimalMark,
    mapping: &ColumnMapping,
) -> Vec<String> {
    let width = all[at].cells.len();
    if !all[at].cells.iter().any(|cell| TableHeading::of(cell, mapping).is_plain()) {
        return Vec::new();
    }
    let titles: Vec<Vec<String>> = all[..at]
        .iter()
        .filter(|above| above.cells.len() == 1)
        .map(|above| listed(&above.cells[0], mapping))
        .collect();
    let found: Vec<SeveralFigures> =
        (0..width).filter_map(|column| several(&all[at + 1..], column, mark)).collect();
    let mut said = Vec::new();
    let mut runs = Vec::new();
    // From the right: the columns at the left stay where they are.
    for figures in found.into_iter().rev() {
        let heading = all[at].cells[figures.column].clone();
        let title = titles.iter().rev().find(|title| title.len() == figures.many).map(Vec::as_slice);
        match headings(&heading, &figures, title, &all[at + 1..], mark, mapping) {
            Some(named) => said.extend(columns(all, at, &figures, &named, mark)),
            None if TableHeading::of(&heading, mapping).column.is_some_and(TableColumn::is_measure) => {
                runs.push(figures)
            }
            None => {}
        }
    }
    if repeated(all, at, &runs, mark, mapping) {
        said.push("the figures of a cell are its runs".into());
    }
    said
}

/// `Throughput (Gbps) / average latency (us), 15 s each`: the quantities that a title lists.
fn listed(title: &str, mapping: &ColumnMapping) -> Vec<String> {
    let title = title.trim_matches(['#', '*', ' ', ':']);
    let quantity = |part: &str| {
        let part = part.split([',', ';', ':']).next().unwrap_or_default().trim();
        let heading = TableHeading::of(part, mapping);
        let is = heading.is_plain() && heading.column.is_some_and(TableColumn::is_measure);
        is.then(|| part.to_string())
    };
    let parts = |by: &str| title.split(by).map(quantity).collect::<Option<Vec<String>>>();
    let lists = [" / ", "/", " | ", " and ", " & "].into_iter().filter_map(parts);
    lists.max_by_key(Vec::len).filter(|list| list.len() > 1).unwrap_or_default()
}

/// The first cell of several figures.
pub fn first(all: &[TableRecord]) -> Option<&String> {
    all.iter().flat_map(|record| &record.cells).find(|cell| parts(cell, DecimalMark::Point).len() > 1)
}

/// The figures of a cell; one alone is none to take apart.
fn parts(cell: &str, mark: DecimalMark) -> Vec<&str> {
    let Some(by) = MARKS.into_iter().find(|by| cell.contains(*by)) else { return Vec::new() };
    let parts: Vec<&str> = cell.split(by).map(str::trim).collect();
    let figure = |part: &&str| {
        unit::number(cells::plain(part), mark).is_some_and(|(.., of)| {
            of.is_none_or(|of| of.len() <= LONGEST_UNIT && of.starts_with(char::is_alphabetic))
        })
    };
    if parts.len() > 1 && parts.iter().all(figure) { parts } else { Vec::new() }
}

const LONGEST_UNIT: usize = 16;

fn several(below: &[TableRecord], column: usize, mark: DecimalMark) -> Option<SeveralFigures> {
    let filled: Vec<&String> = below
        .iter()
        .filter_map(|record| record.cells.get(column))
        .filter(|cell| !cells::is_empty(cell))
        .collect();
    let counts: Vec<usize> = filled.iter().map(|cell| parts(cell, mark).len()).collect();
    let many = counts.iter().copied().max().filter(|many| *many > 1)?;
    let with = counts.iter().filter(|count| **count == many).count();
    (with as f64 >= MOST * filled.len() as f64).then_some(SeveralFigures { column, many })
}

/// What each figure is: its heading names them all, or their units do. `None` of one: nothing says. `None`: all are
/// of one kind.
fn headings(
    heading: &str,
    figures: &SeveralFigures,
    title: Option<&[String]>,
    below: &[TableRecord],
    mark: DecimalMark,
    mapping: &ColumnMapping,
) -> Option<Vec<Option<String>>> {
    let list = heading.split_whitespace().find(|word| {
        word.split('/').count() == figures.many
            && word.len() > 1
            && unit::parse(word).is_err()
            && !word.contains("/s")
    });
    if let Some(list) = list {
        return Some(list.split('/').map(|one| Some(heading.replacen(list, one, 1))).collect());
    }
    let own = listed(heading, mapping);
    if own.len() == figures.many {
        return Some(own.into_iter().map(Some).collect());
    }
    let first = below
        .iter()
        .map(|record| parts(&record.cells[figures.column], mark))
        .find(|parts| parts.len() == figures.many)?;
    let unit =
        |part: &str| unit::number(cells::plain(part), mark).and_then(|(.., of)| of.map(str::to_string));
    let units: Vec<Option<String>> = first.iter().map(|part| unit(part)).collect();
    let placed = TableHeading::of(heading, mapping).place.is_some();
    if units.windows(2).all(|pair| kind(&pair[0]) == kind(&pair[1])) {
        let of_title = title.filter(|_| placed && units.iter().all(Option::is_none))?;
        let named = |quantity: &String| {
            let text = format!("{heading} {quantity}");
            let known = TableHeading::of(&text, mapping);
            (known.place.is_some() && known.column.is_some()).then_some(Some(text))
        };
        return of_title.iter().map(named).collect();
    }
    let named = |of: &Option<String>| {
        let title = naming::measured(unit::parse(of.as_deref()?).ok())?.title();
        Some(if placed { format!("{heading} {title}") } else { title })
    };
    Some(units.iter().map(named).collect())
}

/// Units of one dimension are of one kind; of those that are not known, each is its own.
fn kind(of: &Option<String>) -> (Option<Dimension>, Option<&str>) {
    let known = of.as_deref().and_then(|of| unit::parse(of).ok()).map(|unit| unit.dimension);
    (known, of.as_deref().filter(|_| known.is_none()))
}

fn columns(
    all: &mut [TableRecord],
    at: usize,
    figures: &SeveralFigures,
    named: &[Option<String>],
    mark: DecimalMark,
) -> Option<String> {
    let kept = |texts: Vec<String>| -> Vec<String> {
        texts.into_iter().zip(named).filter(|(_, name)| name.is_some()).map(|(text, _)| text).collect()
    };
    let mut lost = None;
    for record in all[at + 1..].iter_mut().filter(|record| record.cells.len() > figures.column) {
        let cell = record.cells[figures.column].clone();
        let mut own: Vec<String> = parts(&cell, mark).iter().map(|part| part.to_string()).collect();
        if own.len() == figures.many {
            let other = own.iter().zip(named).find(|(_, name)| name.is_none()).map(|(text, _)| text.clone());
            lost = lost.or(other);
        } else {
            // A cell of another kind is what it was.
            own = std::iter::once(cell).chain(std::iter::repeat(String::new())).take(figures.many).collect();
        }
        record.cells.splice(figures.column..=figures.column, kept(own));
    }
    all[at].cells.splice(figures.column..=figures.column, named.iter().flatten().cloned());
    let (_, of) = lost.as_deref()?.split_once(|c: char| !c.is_ascii_digit() && c != '.')?;
    Some(format!("figures in {:?} beside others in a cell are left out", of.trim()))
}

/// A row for each run.
fn repeated(
    all: &mut Vec<TableRecord>,
    at: usize,
    runs: &[SeveralFigures],
    mark: DecimalMark,
    mapping: &ColumnMapping,
) -> bool {
    let is_run = |cell: &String| TableHeading::of(cell, mapping).column == Some(TableColumn::Repetition);
    let width = all[at].cells.len();
    // A line may be longer than its heading: nothing says what stands beyond it.
    if runs.is_empty() || runs.iter().any(|of| of.column >= width) || all[at].cells.iter().any(is_run) {
        return false;
    }
    all[at].cells.push("run".into());
    let below: Vec<TableRecord> = all.drain(at + 1..).collect();
    for record in below {
        let many =
            runs.iter().map(|of| record.cells.get(of.column).map_or(0, |cell| parts(cell, mark).len())).max();
        for run in 0..many.unwrap_or(0).max(1) {
            let mut cells = record.cells.clone();
            cells.resize(width, String::new());
            for of in runs {
                let own: Vec<String> =
                    parts(&cells[of.column], mark).iter().map(|part| part.to_string()).collect();
                if !own.is_empty() {
                    cells[of.column] = own.get(run).cloned().unwrap_or_default();
                }
            }
            if many > Some(0) {
                cells.push((run + 1).to_string());
            } else {
                cells.clone_from(&record.cells);
            }
            all.push(TableRecord { line: record.line, cells });
        }
    }
    true
}
