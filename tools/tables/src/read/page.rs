//! Pages of prose with tables: Markdown as a README has it. Each table is read alone, under the lines that title it.

use super::heading::{HeadingPlace, TableHeading};
use super::{one, sections, titles, whole};
use crate::{BadTable, ColumnMapping, PublishedRow, PublishedTable, TableColumn, unit};
use std::collections::{BTreeMap, BTreeSet};

/// Titles under the page's own, which names everything.
const DEEPEST: usize = 6;

struct PageTable {
    /// Headings of its section, the line right above it.
    titles: Vec<String>,
    /// Of its first line, from 0.
    line: usize,
    text: String,
}

impl PageTable {
    fn titles_or<'t>(&'t self, line: &'t str) -> Vec<&'t str> {
        if self.titles.is_empty() { vec![line] } else { self.titles.iter().map(String::as_str).collect() }
    }

    fn place(&self, mapping: &ColumnMapping) -> HeadingPlace {
        let of = |title: &String| titles::of(title, mapping).map(|title| title.place);
        self.titles.iter().rev().find_map(of).unwrap_or_default()
    }

    /// Prose in columns has no heading of a table of results.
    fn has_headings(&self, mapping: &ColumnMapping) -> bool {
        let first = self.text.lines().next().unwrap_or_default();
        first.split('|').any(|cell| TableHeading::of(&plain(cell), mapping).is_understood())
    }

    /// Half of its cells, beside those that name the rows, are numbers.
    fn has_figures(&self) -> bool {
        let cells =
            self.text.lines().skip(2).flat_map(|line| line.trim_matches([' ', '|']).split('|').skip(1));
        let number = |cell: &&str| unit::number(&plain(cell), unit::DecimalMark::Point).is_some();
        let (all, numbers) = (cells.clone().count(), cells.filter(number).count());
        2 * numbers > all
    }

    /// At the lines where it stands in its page.
    fn read(&self, name: &str, mapping: &ColumnMapping) -> Result<PublishedTable, BadTable> {
        let titles: String = self.titles.iter().map(|title| title.clone() + "\n").collect();
        let above = "\n".repeat(self.line.saturating_sub(self.titles.len()));
        one(name, &(above + &titles + &self.text), mapping)
    }
}

/// `None`: no page, or a table and nothing else.
pub fn table(name: &str, text: &str, mapping: &ColumnMapping) -> Option<Result<PublishedTable, BadTable>> {
    let tables = tables(text);
    if tables.is_empty() || text.lines().all(|line| line.trim().is_empty() || is_row(line)) {
        return None;
    }
    let mut read = Vec::new();
    let mut refused = Vec::new();
    let headed = tables.iter().any(|table| table.has_headings(mapping));
    let asked = |table: &&PageTable| table.has_headings(mapping) || !headed && table.has_figures();
    for table in tables.iter().filter(asked) {
        match table.read(name, mapping) {
            Ok(done) => read.push((table, done)),
            Err(why) => refused.push((table, why)),
        }
    }
    if read.is_empty() {
        return Some(Err(none(name, &tables, refused)));
    }
    let others = tables.len() - read.len();
    Some(Ok(together(name, read, others, mapping)))
}

/// Why none is read: what its first table with figures is asked.
fn none(name: &str, tables: &[PageTable], refused: Vec<(&PageTable, BadTable)>) -> BadTable {
    let first = refused.into_iter().find(|(table, _)| table.has_figures());
    match first {
        Some((table, BadTable::Whole { message, .. })) => {
            BadTable::At { name: name.into(), line: table.line + 1, message }
        }
        Some((_, why)) => why,
        None => {
            let places: Vec<String> = tables.iter().map(|table| (table.line + 1).to_string()).collect();
            let at = syscost_core::units::and(&places);
            let message = format!(
                "none of the tables of this page holds results (lines {at}): give the file of the figures"
            );
            whole(name, &message)
        }
    }
}

fn is_row(line: &str) -> bool {
    line.trim_start().starts_with('|')
}

/// Its other lines, each where it stands.
pub fn without_tables(text: &str) -> String {
    text.lines().map(|line| if is_row(line) { "\n".to_string() } else { line.to_string() + "\n" }).collect()
}

fn is_rule(line: &str) -> bool {
    line.contains('-') && line.contains('|') && line.chars().all(|c| "|-: \t".contains(c))
}

fn tables(text: &str) -> Vec<PageTable> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    let mut headings: BTreeMap<usize, String> = BTreeMap::new();
    let (mut above, mut fenced, mut at) = (None, false, 0);
    while at < lines.len() {
        let line = lines[at].trim();
        let level = line.bytes().take_while(|b| *b == b'#').count();
        if line.contains('|') && lines.get(at + 1).is_some_and(|next| is_rule(next)) {
            let rows = lines[at..].iter().take_while(|line| line.contains('|'));
            // Lines of a cell are figures beside each other.
            let text: String = rows.clone().map(|row| framed(row, line) + "\n").collect();
            // The page's own title names everything on it.
            let titles = headings.range(2..).map(|(_, text)| text.clone()).chain(above.take()).collect();
            found.push(PageTable { titles, line: at, text });
            at += rows.count();
            continue;
        }
        if line.starts_with("```") {
            fenced = !fenced;
        } else if !fenced && (1..=DEEPEST).contains(&level) {
            headings.retain(|known, _| *known < level);
            headings.insert(level, plain(line));
            above = None;
        } else if !line.is_empty() {
            above = Some(plain(line)).filter(|text| titles::is_short(text));
        }
        at += 1;
    }
    found
}

/// A row as its headings stand: without a bar before the first of them, a bar at the beginning follows an empty cell.
fn framed(row: &str, headings: &str) -> String {
    let row = row.replace("<br>", " ; ");
    if headings.starts_with('|') { row } else { format!("|{}|", row.trim_end().trim_end_matches('|')) }
}

/// Without the marks of Markdown, and those that separate cells.
fn plain(line: &str) -> String {
    line.trim_matches(['#', '*', '_', ' ', ':']).replace(['|', '"', '`', '*'], " ").trim().to_string()
}

/// The rows of all. Where another table has such figures for the same name, size or thread count of a title, its title
/// is a part of the name.
fn together(
    name: &str,
    read: Vec<(&PageTable, PublishedTable)>,
    others: usize,
    mapping: &ColumnMapping,
) -> PublishedTable {
    let places: Vec<HeadingPlace> = read.iter().map(|(of, _)| of.place(mapping)).collect();
    let measures = |table: &PublishedTable| {
        table.columns.iter().filter(|c| c.is_measure()).copied().collect::<BTreeSet<_>>()
    };
    let measured: Vec<BTreeSet<TableColumn>> = read.iter().map(|(_, table)| measures(table)).collect();
    let alike = |at: usize, other: usize| {
        at != other && places[at] == places[other] && !measured[at].is_disjoint(&measured[other])
    };
    let titled: Vec<bool> = (0..read.len()).map(|at| (0..read.len()).any(|other| alike(at, other))).collect();
    let lines: Vec<String> = read.iter().map(|(of, _)| format!("line {}", of.line + 1)).collect();
    let titles: Vec<Vec<&str>> = read.iter().zip(&lines).map(|((of, _), line)| of.titles_or(line)).collect();
    let titles = sections::told_apart(&titles);
    let mut all = PublishedTable { name: name.into(), ..PublishedTable::default() };
    for (((of, mut table), titled), title) in read.into_iter().zip(&titled).zip(titles) {
        if *titled {
            table.entitle(|_| &title);
        }
        // Another of its tables may have such a column, and it is read there.
        table.left_out.iter_mut().for_each(|column| *column += &format!(" (line {})", of.line + 1));
        std::mem::take(&mut table.rows).into_iter().for_each(|row| join(&mut all.rows, row));
        all.take_in(table);
    }
    if titled.contains(&true) {
        all.understood.push("the titles of the page's tables are a part of the name".into());
    }
    all.understood.extend(others_left(others));
    all
}

/// `None`: no table was left out.
pub fn others_left(many: usize) -> Option<String> {
    let others = syscost_core::units::count(many, "other table");
    (many > 0).then(|| format!("{others} of the page left out: not read as results"))
}

/// The figures of one place that stand in two tables are one row.
fn join(rows: &mut Vec<PublishedRow>, row: PublishedRow) {
    let key = row.key();
    let other = |known: &&mut PublishedRow| {
        known.key() == key && !row.figures.keys().any(|c| c.is_measure() && known.figures.contains_key(c))
    };
    match rows.iter_mut().find(other) {
        Some(known) => known.figures.extend(row.figures),
        None => rows.push(row),
    }
}
