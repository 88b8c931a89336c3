//! Lines of running text that a program prints of each run, with the same words and other figures:
//! `stdio BS= 1024: Read 10737418240 bytes in 10.562 sec: 969.498 MB/sec`. A column is a place where they differ.

use super::layout::TableRecord;
use super::{figure_lines, titles};
use crate::unit::{self, DecimalMark, Dimension};
use crate::{ColumnMapping, TableColumn, naming};
use std::collections::{BTreeMap, BTreeSet};

/// Of a program that is not known.
const FEWEST: usize = 3;
/// Of the lines, so many must be alike.
const MOST: f64 = 0.3;
/// Places where words differ: names.
const MOST_NAMES: usize = 2;
/// A longer line above is a sentence.
const LONGEST: usize = 100;
/// What dd prints of a copy, once or more often.
const OF_DD: &str = "copied";
/// No message of a benchmark has more.
const FEWEST_TOTAL: f64 = (16 << 20) as f64;
/// Words between figures that say nothing of them.
const FILLING: [&str; 14] = [
    "in", "at", "of", "for", "took", "is", "was", "and", "with", "read", "wrote", "written", "copied", "per",
];

/// When something was.
pub const STAMPS: [&str; 6] = ["start", "started", "end", "ended", "began", "now"];

enum LineToken<'t> {
    Word(&'t str),
    /// The digits, and the unit in the same word or the next.
    Number(&'t str, Option<&'t str>),
}

impl<'t> LineToken<'t> {
    fn word(&self) -> Option<&'t str> {
        match self {
            LineToken::Word(word) => Some(word),
            LineToken::Number(..) => None,
        }
    }

    fn number(&self) -> Option<(&'t str, Option<&'t str>)> {
        match self {
            LineToken::Word(_) => None,
            LineToken::Number(digits, unit) => Some((digits, *unit)),
        }
    }

    fn dimension(&self) -> Option<Dimension> {
        self.number().and_then(|(_, unit)| unit::parse(unit?).ok()).map(|unit| unit.dimension)
    }
}

struct AlikeLine<'t> {
    /// From 1.
    line: usize,
    tokens: Vec<LineToken<'t>>,
    above: &'t str,
}

/// `None`: no lines are alike. `Err`: they are, and nothing says what their figures are.
pub fn records(text: &str, mapping: &ColumnMapping) -> Option<Result<Vec<TableRecord>, String>> {
    let lines = largest(text, mapping)?;
    let names = names(&lines)?;
    let columns: Vec<(usize, String)> =
        (0..lines[0].tokens.len()).filter_map(|at| Some((at, heading(&lines, at)?))).collect();
    let measured =
        |(_, heading): &(usize, String)| naming::column_of(heading).is_some_and(|of| is_result(of.column));
    if !columns.iter().any(measured) {
        return Some(Err(unsaid(text, &lines)?));
    }
    Some(Ok(rows(&lines, &names, &columns, mapping)))
}

/// Why they are refused; `None`: another reader has said more.
fn unsaid(text: &str, lines: &[AlikeLine]) -> Option<String> {
    let first = text.lines().nth(lines[0].line - 1).unwrap_or_default().trim();
    // Columns with marks between them are a table.
    let separated = first.contains(['\t', '|', ';']) || first.matches(',').count() > 1;
    let cited: String = first.chars().take(60).collect();
    (!separated).then(|| {
        format!(
            "{} lines have the words of line {} ({cited:?}), and nothing says which of their figures is a throughput \
             or a time: give them as a table with headings such as size,throughput_gbps,latency_us",
            lines.len(),
            lines[0].line
        )
    })
}

fn rows(
    lines: &[AlikeLine],
    names: &[usize],
    columns: &[(usize, String)],
    mapping: &ColumnMapping,
) -> Vec<TableRecord> {
    let titles: BTreeSet<&str> = lines.iter().map(|line| line.above).collect();
    let place =
        |line: &AlikeLine| titles::of(line.above, mapping).map(|title| title.place).unwrap_or_default();
    let said = place(&lines[0]).as_cells().into_iter().filter(|(of, _)| *of != "mechanism").map(|(of, _)| of);
    let said: Vec<&str> = said.filter(|of| !columns.iter().any(|(_, known)| is_same(known, of))).collect();
    let mut headings: Vec<String> =
        names.iter().zip(["mechanism", "variant"]).map(|(_, of)| of.into()).collect();
    headings.extend((titles.len() > 1).then(|| "variant".to_string()));
    headings.extend(said.iter().map(|of| of.to_string()));
    headings.extend(columns.iter().map(|(at, heading)| match lines[0].tokens[*at].number() {
        // Other lines may say another unit.
        Some((_, Some(unit))) => format!("{heading} ({unit})"),
        _ => heading.clone(),
    }));
    let row = |line: &AlikeLine| {
        let mut cells: Vec<String> =
            names.iter().map(|at| line.tokens[*at].word().unwrap_or_default().to_string()).collect();
        cells.extend((titles.len() > 1).then(|| line.above.to_string()));
        let places = place(line).as_cells();
        cells.extend(said.iter().map(|of| {
            places.iter().find(|(known, _)| known == of).map(|(_, text)| text.clone()).unwrap_or_default()
        }));
        cells.extend(columns.iter().map(|(at, _)| cell(&line.tokens[*at])));
        TableRecord { line: line.line, cells }
    };
    let first = TableRecord { line: lines[0].line, cells: headings };
    std::iter::once(first).chain(lines.iter().map(row)).collect()
}

fn is_result(column: TableColumn) -> bool {
    use TableColumn::{Elapsed, Latency, MessageRate, Throughput};
    [Elapsed, Latency, MessageRate, Throughput].contains(&column)
}

fn is_same(one: &str, other: &str) -> bool {
    let column = |text| naming::column_of(text).map(|named| named.column);
    column(one) == column(other)
}

fn cell(token: &LineToken) -> String {
    token.number().map_or(String::new(), |(digits, unit)| {
        format!("{digits} {}", unit.unwrap_or_default()).trim().into()
    })
}

/// How many tokens a line has, and which of them are figures, of what.
type LineShape = (usize, Vec<(usize, Option<Dimension>)>);

fn shape(tokens: &[LineToken]) -> LineShape {
    let figures = tokens.iter().enumerate().filter(|(_, token)| token.number().is_some());
    (tokens.len(), figures.map(|(at, token)| (at, token.dimension())).collect())
}

/// The most lines that have figures of the same kinds at the same places, those with units before others.
fn largest<'t>(text: &'t str, mapping: &ColumnMapping) -> Option<Vec<AlikeLine<'t>>> {
    let lines = || text.lines().enumerate().filter(|(_, line)| line.contains(char::is_alphanumeric));
    let mut shapes: BTreeMap<LineShape, usize> = BTreeMap::new();
    for shape in lines().map(|(_, line)| shape(&tokens(line))).filter(|(_, figures)| figures.len() > 1) {
        *shapes.entry(shape).or_default() += 1;
    }
    let timed = |(_, figures): &LineShape| {
        figures.iter().any(|(_, of)| {
            of.is_some_and(|of| [Dimension::Rate, Dimension::Time, Dimension::Calls].contains(&of))
        })
    };
    let (most, many) = shapes.iter().max_by_key(|(shape, many)| (timed(shape), **many))?;
    let (mut alike, mut above): (Vec<AlikeLine>, &str) = (Vec::new(), "");

    for (at, line) in lines() {
        let tokens = tokens(line);
        if shape(&tokens) == *most {
            alike.push(AlikeLine { line: at + 1, tokens, above });
        } else if line.len() <= LONGEST {
            // `1024+0 records in` of dd is no title.
            let titles = |of: &&str| of.starts_with(char::is_alphabetic) || of.parse::<u64>().is_ok();
            above = figure_lines::title_of(line, mapping).filter(titles).unwrap_or(above);
        }
    }
    figure_lines::forget_counts(alike.iter_mut().map(|line| &mut line.above).collect());
    let enough = *many >= FEWEST && *many as f64 >= MOST * lines().count() as f64;
    (is_of_dd(&alike[0]) || enough).then_some(alike)
}

/// Where words differ; `None`: these are other lines, or have no word in common.
fn names(lines: &[AlikeLine]) -> Option<Vec<usize>> {
    let words = |at: &usize| lines.iter().filter_map(|line| line.tokens[*at].word()).collect::<BTreeSet<_>>();
    let at: Vec<usize> = (0..lines[0].tokens.len()).filter(|at| !words(at).is_empty()).collect();
    let (names, common): (Vec<usize>, Vec<usize>) = at.into_iter().partition(|at| words(at).len() > 1);
    // A word that begins with a digit and is no number is a time stamp or an address.
    let stamp = |at: &usize| words(at).iter().any(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    (names.len() <= MOST_NAMES && !common.is_empty())
        .then(|| names.into_iter().filter(|at| !stamp(at)).collect())
}

/// What a figure is called: by the words before it, the word behind it, or its unit. `None`: it is the same in all
/// lines and none measured, or nothing says what it is.
fn heading(lines: &[AlikeLine], at: usize) -> Option<String> {
    let tokens = &lines[0].tokens;
    tokens[at].number()?;
    let words = tokens[..at].iter().rev().map_while(LineToken::word).filter(|word| !is_filling(word));
    let mut before: Vec<&str> = words.take(2).collect();
    before.reverse();
    let named = |text: &str| naming::column_of(text).map(|named| (text.to_string(), named.column));
    // When something began is no time that it took.
    let stamp = before.iter().any(|word| STAMPS.contains(&word.to_lowercase().as_str()));
    let known = named(&before.join(" ")).or_else(|| named(before.last()?)).filter(|_| !stamp);
    let behind = || named(tokens.get(at + 1)?.word()?).filter(|(_, column)| column.is_place());
    let dimension = tokens[at].dimension();
    let alone =
        |dimension: Dimension| tokens.iter().filter(|of| of.dimension() == Some(dimension)).count() == 1;
    // `0.18 ms per block`
    let of_each = || {
        let each = tokens.get(at + 1).and_then(LineToken::word) == Some("per");
        each || tokens[at].number().is_some_and(|(_, unit)| unit.is_some_and(|unit| unit.contains('/')))
    };
    let by_unit = || match dimension? {
        Dimension::Rate => Some(("throughput".into(), TableColumn::Throughput)),
        Dimension::Calls => Some(("message rate".into(), TableColumn::MessageRate)),
        Dimension::Time if of_each() => Some(("latency".into(), TableColumn::Latency)),
        Dimension::Time if alone(Dimension::Time) && !stamp => Some(("time".into(), TableColumn::Elapsed)),
        Dimension::Cycles if alone(Dimension::Cycles) => Some(("time".into(), TableColumn::Elapsed)),
        Dimension::Size if alone(Dimension::Size) && is_total(lines, at) => {
            Some(("total bytes".into(), TableColumn::Bytes))
        }
        Dimension::Size if alone(Dimension::Size) => Some(("bytes".into(), TableColumn::MessageBytes)),
        _ => None,
    };
    let fits = |(_, column): &(String, TableColumn)| dimension.is_none() || fits(*column, dimension);
    let found = known.filter(fits).or_else(|| behind().filter(fits)).or_else(by_unit);
    let values: BTreeSet<&str> = lines.iter().filter_map(|line| Some(line.tokens[at].number()?.0)).collect();
    let measured = found.as_ref().is_some_and(|(_, column)| is_result(*column));
    if values.len() < 2 && lines.len() > 1 && !measured {
        return None;
    }
    // A figure of another name joins the names, or is left out by its name.
    found.map(|(heading, _)| heading).or_else(|| Some(before.join(" ")).filter(|name| !name.is_empty()))
}

/// Of a whole run, and not of a message.
fn is_total(lines: &[AlikeLine], at: usize) -> bool {
    let bytes = |line: &AlikeLine| {
        let (digits, unit) = line.tokens[at].number()?;
        let (value, ..) = unit::number(digits, DecimalMark::Point)?;
        Some(value * unit::parse(unit?).ok()?.factor)
    };
    is_of_dd(&lines[0]) || lines.iter().filter_map(bytes).all(|bytes| bytes >= FEWEST_TOTAL)
}

fn is_of_dd(line: &AlikeLine) -> bool {
    line.tokens.iter().any(|token| token.word() == Some(OF_DD))
}

fn is_filling(word: &str) -> bool {
    FILLING.contains(&word.to_lowercase().as_str())
}

/// May a figure of this unit be of that column?
fn fits(column: TableColumn, dimension: Option<Dimension>) -> bool {
    use TableColumn::{Bytes, Elapsed, Jitter, Latency, MessageBytes, MessageRate, Spread, Throughput};
    match dimension {
        Some(Dimension::Rate) => [Throughput, Spread].contains(&column),
        Some(Dimension::Time) => [Latency, Elapsed, Jitter, Spread].contains(&column),
        Some(Dimension::Size) => [Bytes, MessageBytes].contains(&column),
        Some(Dimension::Calls) => [MessageRate, Throughput, Spread].contains(&column),
        _ => false,
    }
}

/// Words and figures; what stands in brackets is a remark.
fn tokens(line: &str) -> Vec<LineToken<'_>> {
    let mut tokens: Vec<LineToken> = Vec::new();
    let mut depth = 0usize;
    for word in line.split_whitespace() {
        let opened = word.matches(['(', '[']).count();
        let inside = depth > 0 || opened > 0;
        depth = (depth + opened).saturating_sub(word.matches([')', ']']).count());
        if !inside {
            parts(word).into_iter().for_each(|part| push(&mut tokens, part));
        }
    }
    tokens
}

fn push<'t>(tokens: &mut Vec<LineToken<'t>>, part: &'t str) {
    // `B` and `s` are units behind a number, and no names.
    let unit = unit::parse(part).is_ok() && (part.len() > 1 || ["B", "s", "%"].contains(&part));
    // `348203 clock cycles`
    let clock = |token: &LineToken| token.word() == Some("clock");
    if unit::cycles(part).is_some() && tokens.last().is_some_and(clock) {
        tokens.pop();
    }
    if let (true, Some(LineToken::Number(_, of @ None))) = (unit, tokens.last_mut()) {
        *of = Some(part);
        return;
    }
    match unit::number(part, DecimalMark::Point) {
        Some((.., None)) => tokens.push(LineToken::Number(part, None)),
        Some((.., Some(unit))) if unit::parse(unit).is_ok() => {
            tokens.push(LineToken::Number(&part[..part.len() - unit.len()], Some(unit)));
        }
        _ => tokens.push(LineToken::Word(part)),
    }
}

/// `BS=1024:` and `time:12.3` are a name and a number; `12:30:01` is one word.
fn parts(word: &str) -> Vec<&str> {
    let word = word.trim_matches(|c: char| ",;:\"'`|<>".contains(c));
    let cut = word
        .split_once('=')
        .or_else(|| word.split_once(':').filter(|(name, _)| name.starts_with(char::is_alphabetic)));
    let (name, value) = cut.unwrap_or((word, ""));
    [name, value].into_iter().filter(|part| !part.is_empty()).collect()
}
