//! Pages of prose with tables: Markdown as a README has it, a report in LaTeX. Each table is read alone, under the lines
//! that title it.

use super::heading::{HeadingPlace, TableHeading, cut_unit};
use super::{layout, one, sections, tex, titles, whole};
use crate::{BadTable, ColumnMapping, PublishedRow, PublishedTable, TableColumn, unit, vocabulary};
use std::collections::{BTreeMap, BTreeSet};

/// Titles under the page's own, which names everything.
const DEEPEST: usize = 6;
const LONGEST_COMMAND: usize = 40;

struct PageTable {
    /// Headings of its section, the line right above it.
    titles: Vec<String>,
    /// Of its first line, from 0.
    line: usize,
    text: String,
    /// Not known of Markdown.
    holds_results: bool,
}

impl PageTable {
    fn titles_or<'t>(&'t self, line: &'t str) -> Vec<&'t str> {
        if self.titles.is_empty() { vec![line] } else { self.titles.iter().map(String::as_str).collect() }
    }

    fn place(&self, mapping: &ColumnMapping) -> HeadingPlace {
        let of = |title: &String| titles::of(title, mapping).map(|title| title.place);
        self.titles.iter().rev().find_map(of).unwrap_or_default()
    }

    /// Prose in columns has no heading of a table of results, neither at its top nor, with a unit, at its left.
    fn has_headings(&self, mapping: &ColumnMapping) -> bool {
        let heading = |cell: &str| TableHeading::of(&plain(cell), mapping);
        let is = |cell: &str| {
            let heading = heading(cell);
            heading.is_understood() || heading.unit.is_some()
        };
        let first = self.text.lines().next().unwrap_or_default();
        let left = || self.text.lines().filter_map(|line| line.trim_matches([' ', '|']).split('|').next());
        first.split('|').any(is) || left().any(|cell| cut_unit(&plain(cell)).is_some())
    }

    /// Half of its cells, beside those that name the rows, are numbers.
    fn has_figures(&self) -> bool {
        let cells = self
            .text
            .lines()
            .skip(1)
            .filter(|line| !is_rule(line))
            .flat_map(|line| line.trim_matches([' ', '|']).split('|').skip(1));
        let number = |cell: &&str| unit::number(&plain(cell), unit::DecimalMark::Point).is_some();
        let (all, numbers) = (cells.clone().count(), cells.filter(number).count());
        2 * numbers > all
    }

    /// A title says what its figures are.
    fn has_quantity(&self, mapping: &ColumnMapping) -> bool {
        self.titles.iter().filter_map(|title| titles::of(title, mapping)).any(|title| title.figures.is_some())
    }

    /// At the lines where it stands in its page.
    fn read(&self, name: &str, page: &str, mapping: &ColumnMapping) -> Result<PublishedTable, BadTable> {
        let mapping = &mapping.with_decimal(layout::mark_of_page(&self.text, page));
        let titles: String = self.titles.iter().map(|title| title.clone() + "\n").collect();
        let above = "\n".repeat(self.line.saturating_sub(self.titles.len()));
        let mut table = one(name, &(above + &titles + &self.text), mapping)?;
        if self.titles.iter().rev().find_map(|title| predicts(title)) == Some(true) {
            predict(&mut table).ok_or_else(|| whole(name, "its title says that it was predicted"))?;
            table
                .understood
                .push(format!("by their title, the figures of line {} were predicted", self.line + 1));
        }
        Ok(table)
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
    let asked = |table: &&PageTable| {
        let named = || !headed || table.has_quantity(mapping);
        table.holds_results && (table.has_headings(mapping) || table.has_figures() && named())
    };
    for table in tables.iter().filter(asked) {
        match table.read(name, text, mapping) {
            Ok(done) => read.push((table, done)),
            Err(why) => refused.push((table, why)),
        }
    }
    if read.is_empty() {
        return Some(Err(none(name, &tables, refused)));
    }
    refused.retain(|(table, _)| table.has_figures());
    let told = read.iter().map(|(table, _)| table.line).chain(refused.iter().map(|(table, _)| table.line));
    let told: BTreeSet<usize> = told.collect();
    let lines = tables.iter().map(|table| table.line).filter(|line| !told.contains(line));
    let others = others_left(lines.map(|line| line + 1).collect());
    join_predictions(&mut read);
    let mut all = together(name, read, mapping);
    all.understood.extend(refused.into_iter().map(|(table, why)| table_left(table.line + 1, &why)));
    all.understood.extend(others);
    Some(Ok(all))
}

/// Does a title say that figures were predicted, or that they were measured?
fn predicts(title: &str) -> Option<bool> {
    let words = vocabulary::tokens(title);
    let any = |of: &[&str]| words.iter().any(|word| of.iter().any(|start| word.starts_with(start)));
    let has = |word: &str| words.iter().any(|known| known == word);
    let compared = ["vs", "versus", "against", "with"].into_iter().any(has) || has("and") && any(&["result"]);
    let measured = any(&["measur", "actual", "experiment", "observ"]);
    match any(&["predict", "estimat", "expect"]) {
        true => Some(!measured && !compared),
        false => (measured || any(&["result"])).then_some(false),
    }
}

/// What was predicted of operations. `None`: figures of something else.
fn predict(table: &mut PublishedTable) -> Option<()> {
    let column = table.columns.iter_mut().find(|column| **column == TableColumn::Measured)?;
    *column = TableColumn::Predicted;
    for row in &mut table.rows {
        let figure = row.figures.remove(&TableColumn::Measured);
        row.figures.extend(figure.map(|figure| (TableColumn::Predicted, figure)));
    }
    Some(())
}

/// A table of predictions joins the one of what was measured of the same operations.
fn join_predictions(read: &mut Vec<(&PageTable, PublishedTable)>) {
    let is = |table: &PublishedTable| !table.has(TableColumn::Measured) && table.has(TableColumn::Predicted);
    let joins = |one: &PublishedTable, other: &PublishedTable| {
        let keys: BTreeSet<_> = other.rows.iter().map(PublishedRow::key).collect();
        other.has(TableColumn::Measured)
            && !other.has(TableColumn::Predicted)
            && one.rows.iter().all(|row| keys.contains(&row.key()))
    };
    for at in (0..read.len()).rev().filter(|at| is(&read[*at].1)).collect::<Vec<_>>() {
        let Some(other) = read.iter().position(|(_, other)| joins(&read[at].1, other)) else { continue };
        let mut predicted = std::mem::take(&mut read[at].1);
        let table = &mut read[other].1;
        std::mem::take(&mut predicted.rows).into_iter().for_each(|row| join(&mut table.rows, row));
        table.take_in(predicted);
        read.remove(at);
    }
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
    let mut of_tex = tex::tables(text).into_iter().peekable();
    let (mut above, mut fenced, mut at) = (None, false, 0);
    while at < lines.len() {
        // The page's own title names everything on it.
        let titles =
            |last: Option<String>| headings.range(2..).map(|(_, text)| text.clone()).chain(last).collect();
        if let Some(table) = of_tex.next_if(|table| table.lines.start <= at) {
            let caption = table.caption.map(|text| plain(&text)).filter(|text| titles::is_short(text));
            let (titles, holds_results) = (titles(caption.or(above.take())), table.holds_results);
            found.push(PageTable { titles, line: table.lines.start, text: table.text, holds_results });
            at = table.lines.end;
            continue;
        }
        let line = lines[at].trim();
        if line.contains('|') && lines.get(at + 1).is_some_and(|next| is_rule(next)) {
            let rows = lines[at..].iter().take_while(|line| line.contains('|'));
            // Lines of a cell are figures beside each other.
            let text: String = rows.clone().map(|row| framed(row, line) + "\n").collect();
            found.push(PageTable { titles: titles(above.take()), line: at, text, holds_results: true });
            at += rows.count();
            continue;
        }
        if line.starts_with("```") {
            fenced = !fenced;
        } else if let Some((level, text)) = heading(line).filter(|_| !fenced) {
            headings.retain(|known, _| *known < level);
            headings.insert(level, plain(&text));
            above = None;
        } else if line.starts_with('\\') {
            // `\centering` says nothing; behind others stands prose.
            above = above.filter(|_| line.len() <= LONGEST_COMMAND);
        } else if !line.is_empty() {
            above = Some(plain(line)).filter(|text| titles::is_short(text));
        }
        at += 1;
    }
    found
}

/// Of Markdown or of LaTeX.
fn heading(line: &str) -> Option<(usize, String)> {
    let level = line.bytes().take_while(|b| *b == b'#').count();
    if (1..=DEEPEST).contains(&level) { Some((level, line.into())) } else { tex::heading(line) }
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
fn together(name: &str, read: Vec<(&PageTable, PublishedTable)>, mapping: &ColumnMapping) -> PublishedTable {
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
        let above = all.rows.len();
        for row in std::mem::take(&mut table.rows) {
            if !all.rows[..above].iter().any(|known| known.says(&row)) {
                join(&mut all.rows, row);
            }
        }
        all.take_in(table);
    }
    if titled.contains(&true) {
        all.understood.push("the titles of the page's tables are a part of the name".into());
    }
    all
}

/// What a table of figures would have to say, without the advice.
fn table_left(line: usize, why: &BadTable) -> String {
    let (BadTable::Whole { message, .. } | BadTable::At { message, .. }) = why;
    let end =
        message.find("? ").map_or_else(|| message.find(": name them").unwrap_or(message.len()), |at| at + 1);
    format!("the table of line {line} is left out: {}", &message[..end])
}

/// More tables are not told one by one.
const MOST_LINES: usize = 5;

/// `None`: no table was left out.
fn others_left(lines: Vec<usize>) -> Option<String> {
    let places: Vec<String> = lines.iter().take(MOST_LINES).map(usize::to_string).collect();
    let more = if lines.len() > MOST_LINES { ", ..." } else { "" };
    let (others, at) = (
        syscost_core::units::count(lines.len(), "other table"),
        if lines.len() == 1 { "line" } else { "lines" },
    );
    (!lines.is_empty()).then(|| {
        format!("{others} of the page left out: not read as results ({at} {}{more})", places.join(", "))
    })
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
