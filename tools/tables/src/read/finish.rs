//! What is asked of a table once all its rows are read: figures, and something that tells its rows apart.

use super::layout::TableRecord;
use super::{several, whole};
use crate::{BadTable, PublishedFigure, PublishedRow, PublishedTable, TableColumn, cells, vocabulary};
use std::collections::BTreeMap;

/// `sizes` are headings of sizes, each with its place among what was understood.
pub fn finished(
    mut table: PublishedTable,
    lost: LostFigures,
    sizes: Vec<(usize, String)>,
    records: &[TableRecord],
) -> Result<PublishedTable, BadTable> {
    let lost = lost.sentences();
    if table.rows.is_empty()
        && let Some(cell) = several::first(records)
    {
        let why = format!(
            "cells such as {cell:?} hold several figures, and nothing says what each is: write it into the headings or a \
             line above them, such as \"Throughput (Gbps) / Latency (us)\""
        );
        return Err(whole(&table.name, &why));
    }
    if table.rows.is_empty() && table.notes == 0 {
        let left = lost.iter().find(|told| told.contains(": left out (line "));
        let why = left.map_or(String::new(), |left| format!(" ({left})"));
        return Err(whole(&table.name, &format!("no row below its headings is read{why}")));
    }
    let measured =
        |row: &PublishedRow| row.figures.keys().any(|c| c.is_measure() && *c != TableColumn::Spread);
    if !table.rows.iter().any(measured) {
        let others = table.left_out.join(", ");
        let which = if others.is_empty() { String::new() } else { format!(" What are {others}?") };
        return Err(whole(
            &table.name,
            &format!(
                "no column holds figures known here.{which} Write a line such as \"Throughput (Gbit/s)\" above the \
                 headings, or name the columns in a mapping file (--mapping FILE)"
            ),
        ));
    }
    let bare = [TableColumn::Measured, TableColumn::Unit];
    if !table.rows.iter().any(is_somewhere) && table.columns.iter().all(|column| bare.contains(column)) {
        return Err(whole(
            &table.name,
            "no column says what its values are of: name them in a mapping file (--mapping FILE)",
        ));
    }
    without_figures(&mut table);
    forget_baseline(&mut table);
    let title = table.title(TableColumn::MessageBytes);
    // From the last: the places of the others stay what they are.
    for (at, heading) in sizes.into_iter().rev() {
        if vocabulary::bare(&title) != vocabulary::bare(&heading) {
            table.understood.insert(at, format!("{heading:?} is {title}"));
        }
    }
    table.understood.splice(0..0, lost);
    Ok(table)
}

/// Of rows and cells that are left out, by what is said of them, their lines, and of cells the first of them.
#[derive(Default)]
pub struct LostFigures {
    rows: BTreeMap<String, Vec<usize>>,
    cells: BTreeMap<&'static str, Vec<(usize, String)>>,
}

impl LostFigures {
    /// Of a run that came to no end, or of one that sums up others.
    pub fn row(&mut self, line: usize, why: String) {
        self.rows.entry(why).or_default().push(line);
    }

    /// `<not supported>`, `10-20 ns`
    pub fn cell(&mut self, line: usize, cell: &str) {
        let why = if cells::is_empty(cell) { "is no figure" } else { cells::no_figure(cell) };
        self.cells.entry(why).or_default().push((line, cell.to_string()));
    }

    fn sentences(self) -> Vec<String> {
        let rows = self.rows.into_iter().map(|(why, lines)| match lines.len() {
            1 => format!("a row where {why} is left out (line {})", lines[0]),
            many => format!("{many} rows where {why} are left out (the first in line {})", lines[0]),
        });
        let cells = self.cells.into_iter().map(|(why, all)| {
            let (line, cell) = &all[0];
            let others = match all.len() - 1 {
                0 => String::new(),
                1 => ", as is 1 more cell".into(),
                more => format!(", as are {more} more cells"),
            };
            format!("{cell:?} {why}: left out (line {line}){others}")
        });
        rows.rev().chain(cells).collect()
    }
}

/// Of a row that says again what another says.
pub const REPEATED: &str = "every figure is that of a row above";

/// Whether a row got any figure from the other of its name, size and threads.
pub fn joined(row: &mut PublishedRow, figures: BTreeMap<TableColumn, PublishedFigure>) -> bool {
    let before = row.figures.len();
    row.figures.extend(figures);
    row.figures.len() > before
}

/// What the other ways are compared with copies twice; without them it may be anything.
fn forget_baseline(table: &mut PublishedTable) {
    let names = || table.rows.iter().filter_map(|row| row.text(TableColumn::Mechanism));
    let is_baseline = |name: &str| vocabulary::bare(name) == "baseline";
    if !names().any(|name| !is_baseline(name) && table.role(name).is_some()) {
        let told = names().find(|name| is_baseline(name)).map(|name| format!("{name:?} stands for"));
        table.understood.retain(|said| told.as_ref().is_none_or(|told| !said.starts_with(told)));
    }
}

fn is_somewhere(row: &PublishedRow) -> bool {
    row.texts.keys().any(|column| *column != TableColumn::Unit)
        || row.figures.keys().any(|column| column.is_place())
}

/// What was not supported on a machine is a column, and no figure.
fn without_figures(table: &mut PublishedTable) {
    let rows = &table.rows;
    let holds = |column: &TableColumn| {
        rows.iter().any(|row| row.figures.contains_key(column) || row.texts.contains_key(column))
    };
    let (kept, none): (Vec<TableColumn>, Vec<TableColumn>) =
        table.columns.iter().partition(|column| holds(column));
    table.columns = kept;
    if !table.has(TableColumn::Unit) && rows.iter().any(|row| row.texts.contains_key(&TableColumn::Unit)) {
        table.columns.push(TableColumn::Unit);
    }
    let told = none.into_iter().map(|column| format!("{} has no figure", column.title()));
    table.understood.extend(told);
}

/// Names of more than these are no ways to send.
const MOST_UNKNOWN: usize = 40;

/// `# tc=two-copy oc=one-copy`: comments and headings say what names stand for.
pub fn legend(table: &mut PublishedTable, text: &str) {
    if table.unknown.len() > MOST_UNKNOWN {
        return;
    }
    let lines: Vec<(usize, &str)> =
        text.lines().enumerate().filter(|(_, line)| line.starts_with(['#', '/', '%'])).collect();
    let role = |value: &str| {
        let words: Vec<&str> = value.split([',', ';']).next()?.split_whitespace().take(3).collect();
        (1..=words.len()).rev().find_map(|many| vocabulary::exact_role(&words[..many].join(" ")))
    };
    let said = |name: &str| {
        let places =
            lines.iter().flat_map(|(line, of)| of.match_indices(name).map(move |(at, _)| (*line, *of, at)));
        let mut roles = places.filter_map(|(line, of, at)| {
            let value = of[at + name.len()..].trim_start().strip_prefix(['=', ':'])?;
            Some((role(value).filter(|_| !of[..at].ends_with(char::is_alphanumeric))?, line + 1))
        });
        roles.next()
    };
    for name in std::mem::take(&mut table.unknown) {
        let plain = name.trim_matches('"').to_string();
        let Some((role, line)) = said(&plain) else {
            table.unknown.push(name);
            continue;
        };
        table.understood.push(format!("{name} stands for {}, as line {line} says", role.word()));
        table.roles.insert(plain, role);
    }
}
