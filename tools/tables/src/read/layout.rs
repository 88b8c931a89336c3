//! The records of a separated text: which mark separates, which is decimal, and at which line each stands.

use super::heading::TableHeading;
use super::{MOST_COLUMNS, titles};
use crate::cells;
use crate::unit::{self, DecimalMark};
use crate::{ColumnMapping, TableColumn, naming};
use std::collections::BTreeSet;

/// Lines that decide which mark separates.
const LOOKED_AT: usize = 300;

pub struct TableRecord {
    /// From 1.
    pub line: usize,
    pub cells: Vec<String>,
}

pub struct TableRecords {
    pub all: Vec<TableRecord>,
    pub decimal: DecimalMark,
}

/// As a reader has made them.
impl From<Vec<TableRecord>> for TableRecords {
    fn from(all: Vec<TableRecord>) -> TableRecords {
        TableRecords { all, decimal: DecimalMark::Point }
    }
}

impl TableRecords {
    pub fn of(text: &str, mapping: &ColumnMapping) -> Result<TableRecords, String> {
        let delimiter = delimiter(text);
        let separated = separates(delimiter, text.lines());
        // A mark in one line is none that separates: `./run | tee log`.
        let titled = with_titles(text, mapping);
        let text = titled.as_str();
        let spaced = if separated > 1 { None } else { spaced(text) };
        let framed = (delimiter == b'|' && spaced.is_none()).then(|| without_frame(text));
        let (text, delimiter) = spaced.as_deref().map_or((text, delimiter), |text| (text, b'\t'));
        let text = framed.as_deref().unwrap_or(text);
        let mut reader = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .flexible(true)
            .has_headers(false)
            .delimiter(delimiter)
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let mut all = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|e| e.to_string())?;
            if record.len() > MOST_COLUMNS {
                return Err(format!("a line has {} columns: is this a table of results?", record.len()));
            }
            if !record.iter().all(cells::is_empty) {
                let line =
                    record.position().map_or(0, |p| p.line() as usize + skipped(text, p.byte() as usize));
                all.push(TableRecord { line, cells: record.iter().map(str::to_string).collect() });
            }
        }
        let decimal = match mapping.decimal() {
            Some(told) => told,
            None if has_whole_groups(&all, mapping) => DecimalMark::Point,
            None => decimal(all.iter().flat_map(|record| &record.cells), delimiter)?,
        };
        Ok(TableRecords { all, decimal })
    }
}

/// Lines that the reader of CSV takes for the beginning of the row below them.
fn skipped(text: &str, at: usize) -> usize {
    let no_row = |line: &&str| line.starts_with('#') || line.trim_end_matches(['\n', '\r']).is_empty();
    text[at..].split_inclusive('\n').take_while(no_row).count()
}

/// The separator that most lines have. A comma may be decimal: among equals another mark comes before it.
fn delimiter(text: &str) -> u8 {
    let lines: Vec<&str> =
        text.lines().filter(|l| !l.trim().is_empty() && !l.starts_with('#')).take(LOOKED_AT).collect();
    let with = |mark: &u8| separates(*mark, lines.iter().copied());
    [b',', b'|', b';', b'\t'].into_iter().max_by_key(with).unwrap_or(b',')
}

/// Lines that a mark may separate. One that stands in numbers alone groups their thousands, unless another line, such as
/// that of the headings, has as many.
fn separates<'t>(mark: u8, lines: impl Iterator<Item = &'t str>) -> usize {
    let many = |line: &str| line.bytes().filter(|b| *b == mark).count();
    let (groups, others): (Vec<&str>, Vec<&str>) =
        lines.filter(|line| many(line) > 0).partition(|line| mark == b',' && groups_thousands(line));
    let shapes: BTreeSet<usize> = others.iter().map(|line| many(line)).collect();
    others.len() + groups.into_iter().filter(|line| shapes.contains(&many(line))).count()
}

/// `64  1,234,567  3.2`: of several words, none with a comma but a number with its thousands in groups.
fn groups_thousands(line: &str) -> bool {
    let number = |word: &str| {
        let digits = word.trim_end_matches(|c: char| !c.is_ascii_digit());
        unit::number(digits, DecimalMark::Point).is_some_and(|(.., unit)| unit.is_none())
    };
    let mut words = line.split(|c: char| c.is_whitespace() || c == '|');
    let grouped = |word: &str| word.split(',').skip(1).all(starts_with_group);
    line.split_whitespace().count() > 1
        && words.all(|word| !word.contains(',') || number(word) && grouped(word))
}

/// A comment that says whose the rows below are, or what they hold, and one that holds the headings; its line stays.
fn with_titles(text: &str, mapping: &ColumnMapping) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let of = |(at, line): (usize, &&str)| match line.strip_prefix('#') {
        Some(comment) if heads(comment, lines.get(at + 1), mapping) => comment.to_string() + "\n",
        Some(comment) => {
            let title = comment.trim_matches(['#', '=', '-', ':', ' ']);
            if titles::of(title, mapping).is_none() {
                return line.to_string() + "\n";
            }
            let words = title.replace([',', ';', '|', '\t'], " ");
            words.split_whitespace().collect::<Vec<_>>().join(" ") + "\n"
        }
        None => line.to_string() + "\n",
    };
    lines.iter().enumerate().map(of).collect()
}

/// `# size  two_copy  zero_copy` right above the first row: what gnuplot takes for a comment.
fn heads(comment: &str, below: Option<&&str>, mapping: &ColumnMapping) -> bool {
    let Some(row) = below.filter(|row| !row.starts_with('#')) else { return false };
    let apart = |line: &str| -> Vec<String> {
        let marked = [',', ';', '\t', '|'].into_iter().find(|mark| row.contains(*mark));
        let cells: Vec<&str> = match marked {
            Some(mark) => line.split(mark).collect(),
            None => line.split_whitespace().collect(),
        };
        cells.iter().map(|cell| cell.trim().to_string()).collect()
    };
    let (mut names, cells) = (apart(comment), apart(row));
    // `# Size   Latency (us)`
    if names.len() != cells.len() {
        names =
            comment.split("  ").map(|name| name.trim().to_string()).filter(|name| !name.is_empty()).collect();
    }
    let number = |cell: &&String| unit::number(cells::plain(cell), DecimalMark::Point).is_some();
    let numbers = |of: &[String]| of.iter().filter(number).count();
    names.len() > 1
        && names.len() == cells.len()
        && numbers(&names) == 0
        && numbers(&cells) * 2 >= cells.len()
        && names.iter().any(|name| TableHeading::of(name, mapping).is_understood())
}

/// `| **a** | b |`: the bars at both ends separate nothing, and marks of type are no text.
fn without_frame(text: &str) -> String {
    let inside = |line: &str| {
        let line = line.trim();
        let line = line.strip_prefix('|').unwrap_or(line);
        line.strip_suffix('|').unwrap_or(line).replace("**", "").replace('`', "") + "\n"
    };
    text.lines().map(inside).collect()
}

/// A line of words, and where it stands, from 0.
type SpacedLine = (usize, Vec<String>);

/// A table whose columns stand apart by spaces: two of them, or one where no cell has any. Each line stays where it is.
fn spaced(text: &str) -> Option<String> {
    let is_rule = |line: &str| line.chars().all(|c| "-=+_|* \t".contains(c));
    let lines = text.lines().enumerate().filter(|(_, line)| !is_rule(line) && !line.starts_with('#'));
    let lines: Vec<(usize, &str)> = lines.collect();
    let apart = |line: &str, by: &str| -> Vec<String> {
        line.split(by).map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_string).collect()
    };
    ["  ", " "].iter().find_map(|by| {
        let rows: Vec<SpacedLine> = lines.iter().map(|(at, line)| (*at, apart(line, by))).collect();
        let with = |columns: usize| rows.iter().filter(|(_, row)| row.len() == columns).count();
        let columns = rows.iter().map(|(_, row)| row.len()).max_by_key(|columns| with(*columns))?;
        if columns > 1 && rows.len() > 1 && with(columns) * 10 >= rows.len() * 9 {
            return Some(placed(rows.iter().map(|(at, row)| (*at, row.join("\t")))));
        }
        block(&rows, if *by == " " { 3 } else { 2 })
    })
}

/// Each text at its line.
fn placed(lines: impl Iterator<Item = (usize, String)>) -> String {
    let (mut text, mut next) = (String::new(), 0);
    for (at, line) in lines {
        text += &"\n".repeat(at.saturating_sub(next));
        text += &(line + "\n");
        next = at + 1;
    }
    text
}

/// Rows of a block are followed by as many of the same columns, at least.
const SMALLEST_BLOCK: usize = 3;

/// The longest block of rows with as many columns, so many at least, among other lines: these stay whole.
fn block(rows: &[SpacedLine], fewest: usize) -> Option<String> {
    let mut from = 0;
    let blocks = rows.chunk_by(|(_, a), (_, b)| a.len() == b.len()).map(|block| {
        from += block.len();
        (from - block.len(), block)
    });
    let numbers =
        |(_, row): &&SpacedLine| row.iter().any(|cell| cell.starts_with(|c: char| c.is_ascii_digit()));
    let is_table = |(_, block): &(usize, &[SpacedLine])| {
        block.len() >= SMALLEST_BLOCK
            && block[0].1.len() >= fewest
            && block[1..].iter().filter(numbers).count() + 1 == block.len()
    };
    let (at, block) = blocks.filter(is_table).max_by_key(|(_, block)| block.len())?;
    let inside = at..at + block.len();
    let joined = |(line, row): &SpacedLine| (*line, row.join("\t"));
    if let Some((line, above)) =
        at.checked_sub(1).map(|above| &rows[above]).filter(|(_, above)| is_index(above, block))
    {
        // What pandas prints: an index without a heading.
        let heading = std::iter::once((*line, format!("\t{}", above.join("\t"))));
        return Some(placed(heading.chain(block.iter().map(joined))));
    }
    let line = |(index, (line, row)): (usize, &SpacedLine)| {
        (*line, row.join(if inside.contains(&index) { "\t" } else { " " }))
    };
    Some(placed(rows.iter().enumerate().map(line)))
}

fn is_index(above: &[String], block: &[SpacedLine]) -> bool {
    let counted = block.iter().enumerate().all(|(index, (_, row))| row[0] == index.to_string());
    above.len() + 1 == block[0].1.len() && counted
}

/// Digits, one mark, digits.
fn marked(text: &str) -> Option<(&str, char, &str)> {
    let at = text.find([',', '.'])?;
    let (whole, rest) = text.split_at(at);
    let mark = rest.chars().next()?;
    let end = rest[1..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |end| end + 1);
    let digits = &rest[1..end];
    let one = !rest[end..].starts_with([',', '.']) && !digits.is_empty();
    (one && !whole.is_empty() && whole.bytes().all(|b| b.is_ascii_digit())).then_some((whole, mark, digits))
}

/// Sizes and counts are whole: a comma in `1,024` below such a heading groups thousands.
fn has_whole_groups(all: &[TableRecord], mapping: &ColumnMapping) -> bool {
    let counts = |cell: &String| {
        let heading = TableHeading::of(cell, mapping);
        let whole = |column| naming::is_count(column) || column == TableColumn::MessageBytes;
        heading.is_plain() && heading.unit.is_none() && heading.column.is_some_and(whole)
    };
    let found = all.iter().enumerate().take(LOOKED_AT).find_map(|(index, record)| {
        let column = record.cells.iter().position(counts)?;
        Some((index, column))
    });
    let Some((index, column)) = found else { return false };
    let cells = || all[index + 1..].iter().filter_map(|record| record.cells.get(column));
    let marks = || cells().filter_map(|cell| marked(cell)).filter(|(_, mark, _)| *mark == ',');
    marks().next().is_some()
        && marks().all(|(whole, _, digits)| digits.len() == 3 && whole.len() < 4 && whole != "0")
}

fn starts_with_group(text: &str) -> bool {
    text.bytes().take_while(u8::is_ascii_digit).count() == 3
}

/// What the figures of a text say of its marks.
#[derive(Default)]
struct SeenMarks<'t> {
    comma: bool,
    point: bool,
    /// Three digits behind a mark may be decimals or a group of thousands.
    doubtful: Option<&'t str>,
}

impl<'t> SeenMarks<'t> {
    fn of(cells: impl Iterator<Item = &'t str>) -> SeenMarks<'t> {
        let mut seen = SeenMarks::default();
        for cell in cells {
            // Two of a mark group thousands.
            match [',', '.']
                .map(|mark| cell.split(mark).skip(1).filter(|part| starts_with_group(part)).count() > 1)
            {
                [true, false] => seen.point = true,
                [false, true] => seen.comma = true,
                _ => {}
            }
            let Some((whole, mark, digits)) = marked(cell) else { continue };
            let decided = digits.len() != 3 || whole.starts_with('0') || whole.len() > 3;
            match (mark, decided) {
                (',', true) => seen.comma = true,
                (',', false) => seen.doubtful = seen.doubtful.or(Some(cell)),
                (_, true) => seen.point = true,
                _ => {}
            }
        }
        seen
    }

    /// A figure that may be either, where no other decides.
    fn undecided(&self) -> Option<&'t str> {
        self.doubtful.filter(|_| !self.comma && !self.point)
    }
}

fn decimal<'c>(cells: impl Iterator<Item = &'c String>, delimiter: u8) -> Result<DecimalMark, String> {
    let seen = SeenMarks::of(cells.map(String::as_str));
    match seen.undecided() {
        _ if seen.comma && !seen.point => Ok(DecimalMark::Comma),
        Some(cell) if delimiter != b',' => Err(format!(
            "is {cell:?} decimal or in thousands? Say decimal = \",\" or decimal = \".\" in a mapping file (--mapping FILE)"
        )),
        _ => Ok(DecimalMark::Point),
    }
}

/// The mark of a page's figures with units, for a table that does not decide it; `None`: the table does, or the page
/// does not.
pub fn mark_of_page(table: &str, page: &str) -> Option<DecimalMark> {
    let marks = ['|', '*', '`', '(', '~', '≈', '+', '&', '$'];
    let words: Vec<&str> = page
        .split(|c: char| c.is_whitespace() || marks.contains(&c))
        .filter(|word| !word.is_empty())
        .collect();
    let figure = |at: usize| {
        let word = words[at].trim_end_matches([',', '.', ';', ':', ')']);
        let end = word.find(|c: char| !c.is_ascii_digit() && c != ',' && c != '.').unwrap_or(word.len());
        let next = words.get(at + 1).map(|next| next.trim_end_matches([',', '.', ';', ':', ')']));
        let of = Some(&word[end..]).filter(|of| !of.is_empty()).or(next)?;
        (unit::parse(of).is_ok() || of == "x").then(|| &word[..end])
    };
    SeenMarks::of(table.split('|').map(str::trim)).undecided()?;
    let page = SeenMarks::of((0..words.len()).filter_map(figure));
    match (page.comma, page.point) {
        (true, false) => Some(DecimalMark::Comma),
        (false, true) => Some(DecimalMark::Point),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<DecimalMark, String> {
        TableRecords::of(text, &ColumnMapping::default()).map(|records| records.decimal)
    }

    #[test]
    fn a_decimal_comma_is_seen_or_asked_for() {
        assert_eq!(of("a;b\n1024;2,46\n4096;3,123\n"), Ok(DecimalMark::Comma));
        assert_eq!(of("a;b\n1,024;2.46\n"), Ok(DecimalMark::Point));
        assert_eq!(of("a,b\n\"1,024\",12\n"), Ok(DecimalMark::Point));
        assert_eq!(of("a,b\n64,\"2,46\"\n"), Ok(DecimalMark::Comma));
        assert_eq!(of("a;b\n64;12,345\n65;4,702,557\n"), Ok(DecimalMark::Point));
        assert_eq!(of("a;b\n64;12\n"), Ok(DecimalMark::Point));
        assert_eq!(of("size;b\n1,024;12,345\n"), Ok(DecimalMark::Point));
        assert!(of("a;b\n64;12,345\n").unwrap_err().contains("\"12,345\" decimal"));
    }

    #[test]
    fn the_mark_that_most_lines_have_separates() {
        assert_eq!(delimiter("title, with a comma\na;b\n1;2,5\n3;4,5\n"), b';');
        assert_eq!(delimiter("a\tb\n1\t2\n"), b'\t');
        assert_eq!(delimiter("| a | b |\n|---|---|\n| 1 | 2 |\n"), b'|');
        assert_eq!(delimiter("a,b\n1,2\nnote; with a semicolon\n"), b',');
        assert_eq!(delimiter("a;b\n1,024;2,048\n4,096;8,192\n"), b';');
        assert_eq!(delimiter("a,b\n64, 128\n256, 512\n"), b',');
        assert_eq!(delimiter("a,why\n1,\"x; y\"\n2,\"x; y\"\n"), b',');
    }
}
