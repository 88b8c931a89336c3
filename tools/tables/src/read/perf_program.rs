//! What a program printed of its run beside the counts of perf stat, which come after it.

use super::{pairs, titles};
use crate::{ColumnMapping, PublishedRow, PublishedTable, TableColumn, vocabulary};

/// Last lines that perf writes of a command.
const ENDS: [&str; 3] = ["seconds time elapsed", "seconds user", "seconds sys"];
/// Of a line that is cited.
const CITED: usize = 60;

/// Splits what stands between two commands' counts: behind the end of the first begins what belongs to the second.
pub fn own(between: &str) -> &str {
    let end = ENDS.iter().filter_map(|mark| Some(between.rfind(mark)? + mark.len())).max();
    let rest = |end: usize| between[end..].find('\n').map_or("", |line| &between[end + line..]);
    match end {
        Some(end) => rest(end),
        // Cut off: the counts end at the first empty line below them.
        None if between.trim_start().starts_with('\'') => {
            let (_, counts) = between.split_once('\n').unwrap_or_default();
            let counts = counts.trim_start();
            counts.split_once("\n\n").map_or("", |(_, own)| own)
        }
        None => between,
    }
}

/// Adds it to the row; the lines with figures that say nothing here.
pub fn tell<'t>(row: &mut PublishedRow, name: &str, own: &'t str) -> Vec<&'t str> {
    let plain = ColumnMapping::default();
    // `Threads: 4`, the nearest line first.
    let titled = own.lines().rev().filter_map(|line| titles::of(line, &plain));
    let places: Vec<_> = titled.map(|title| title.place).collect();
    let known = row.text(TableColumn::Mechanism).is_some_and(|name| vocabulary::role(name).is_some());
    if let Some(name) = places.iter().find_map(|place| place.mechanism.clone()).filter(|_| !known) {
        row.texts.insert(TableColumn::Mechanism, name);
    }
    places.iter().for_each(|place| place.fill(row));
    let figures = figures(own);
    let table = Some(super::read(name, own, &plain)).filter(|_| !figures.is_empty()).and_then(Result::ok);
    let Some(one) = table.and_then(only).or_else(|| only(of_pairs(name, own)?)) else { return figures };
    for (column, figure) in one.figures {
        row.figures.entry(column).or_insert(figure);
    }
    Vec::new()
}

fn only(mut table: PublishedTable) -> Option<PublishedRow> {
    table.rows.pop().filter(|_| table.rows.is_empty())
}

/// `Throughput: 12.3 Gbps` alone.
fn of_pairs(name: &str, own: &str) -> Option<PublishedTable> {
    let all = pairs::of_one_run(own)?;
    super::rows_of(name, all, &ColumnMapping::default()).ok()
}

/// Lines that may hold figures: no comments and no headings of places.
pub fn figures(own: &str) -> Vec<&str> {
    let place = |line: &str| titles::of(line, &ColumnMapping::default()).is_some_and(|of| of.place.is_some());
    let lines = own.lines().map(str::trim).filter(|line| line.contains(|c: char| c.is_ascii_digit()));
    lines.filter(|line| !line.starts_with('#') && !place(line)).collect()
}

/// How these lines are left out: beside what, or partly. `None`: there are none.
pub fn left_out(lines: &[&str], how: &str) -> Option<String> {
    let cited: String = lines.first()?.chars().take(CITED).collect();
    let many = syscost_core::units::count(lines.len(), "line");
    Some(format!("{many} {how}left out, the first {cited:?}"))
}
