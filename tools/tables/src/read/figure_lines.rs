//! One figure a line: `getpid: 412.2 cycles`, or `Measured time: 18.1 ms` below a line that says of what.

use super::heading::TableHeading;
use super::layout::TableRecord;
use super::perf_program;
use crate::unit::{self, DecimalMark, Dimension};
use crate::{ColumnMapping, TableColumn, cells, naming};
use std::collections::{BTreeMap, BTreeSet};

/// Of the lines, so many must be figures.
const MOST: f64 = 0.5;
const FEWEST: usize = 2;
/// A longer label, or a longer line above, is a sentence.
const LONGEST: usize = 80;
/// What an operation costs or moves.
const MEASURED: [Dimension; 5] =
    [Dimension::Time, Dimension::Cycles, Dimension::Rate, Dimension::Calls, Dimension::TimePerByte];

struct FigureLine<'t> {
    /// From 1.
    line: usize,
    label: &'t str,
    figure: &'t str,
    unit: &'t str,
    /// The line above that is no figure.
    title: &'t str,
    deviation: Option<&'t str>,
}

impl FigureLine<'_> {
    /// `Measured time` alone: the line above says of what.
    fn is_bare(&self) -> bool {
        !self.title.is_empty() && naming::column_of(self.label).is_some_and(|of| of.column.is_measure())
    }
}

/// The records, and what is left out. `None`: another text.
pub fn records(text: &str, mapping: &ColumnMapping) -> Option<(Vec<TableRecord>, Vec<String>)> {
    let lines = text.lines().enumerate().filter(|(_, line)| line.contains(char::is_alphanumeric));
    let many = lines.clone().count();
    let (mut all, mut left): (Vec<FigureLine>, usize) = (Vec::new(), 0);
    // Figures without a unit, where none has one.
    let mut unsaid: Vec<FigureLine> = Vec::new();
    // Where no line of words does, `processes: 2` tells figures apart.
    let (mut title, mut number) = ("", "");
    let mut set: Vec<&str> = Vec::new();
    for (at, line) in lines {
        let Some((label, figure, unit)) = figure(line) else {
            title = title_of(line, mapping).unwrap_or(title);
            continue;
        };
        let dimension = unit.and_then(dimension);
        match (unit, dimension) {
            (Some(unit), Some(of)) if MEASURED.contains(&of) => {
                let spread = naming::column_of(label).is_some_and(|of| of.column == TableColumn::Spread);
                let title = if title.is_empty() { number } else { title };
                if !spread && !naming::is_deviation(label) {
                    all.push(FigureLine { line: at + 1, label, figure, unit, title, deviation: None });
                } else if !deviates(all.last_mut(), [label, title, figure, unit]) {
                    left += 1;
                }
            }
            // `Sequential read: 1 Mbytes` says of what the figures below are.
            (Some(_), Some(Dimension::Size)) => title = title_of(line, mapping).unwrap_or(title),
            (None, _) => {
                unsaid.push(FigureLine { line: at + 1, label, figure, unit: "", title, deviation: None });
                number = title_of(line, mapping).unwrap_or(number);
                set.extend(Some(line.trim()).filter(|_| !title.is_empty() && !figure.contains('.')));
            }
            _ => {}
        }
    }
    // A number that was set is whole, and a known one.
    let fractions = unsaid.iter().filter(|line| line.figure.contains('.')).count();
    let known = |line: &FigureLine| TableHeading::of(line.label, mapping).is_understood();
    if all.is_empty()
        && left == 0
        && fractions > FEWEST
        && fractions * 2 > unsaid.len()
        && !unsaid.iter().any(known)
    {
        all = unsaid;
        set.clear();
    }
    let figures = all.len() + left + all.iter().filter(|line| line.deviation.is_some()).count();
    if all.len() < FEWEST || (figures as f64) < MOST * (many - set.len()) as f64 {
        return None;
    }
    let said = (left > 0).then(|| {
        format!("{} of a deviation or an extreme left out", syscost_core::units::count(left, "line"))
    });
    let set = perf_program::left_out(&set, "without a unit ");
    Some((rows(&all), said.into_iter().chain(set).collect()))
}

fn dimension(unit: &str) -> Option<Dimension> {
    unit::parse(unit).ok().or_else(|| unit::cycles(unit)).map(|unit| unit.dimension)
}

/// `label: figure unit`, `label (unit): figure`
fn figure(line: &str) -> Option<(&str, &str, Option<&str>)> {
    let (label, value) = line.rsplit_once([':', '='])?;
    let label = label.trim_matches(|c: char| c.is_whitespace() || "-*•#>`".contains(c));
    let value = cells::plain(value.trim());
    let (.., unit) = unit::number(value, DecimalMark::Point)?;
    let figure = value[..value.len() - unit.map_or(0, str::len)].trim();
    let bracketed = || {
        let (name, of) = label.strip_suffix([')', ']'])?.rsplit_once(['(', '['])?;
        dimension(of).filter(|of| MEASURED.contains(of)).map(|_| (name.trim(), Some(of)))
    };
    let (label, unit) = bracketed().filter(|_| unit.is_none()).unwrap_or((label, unit));
    let named = label.starts_with(char::is_alphabetic) && label.len() <= LONGEST;
    (named && !has_result(label)).then_some((label, figure, unit))
}

/// `Read 10 GB in 10.5 sec` is no label of one figure.
fn has_result(label: &str) -> bool {
    let words: Vec<&str> =
        label.split_whitespace().map(|word| word.trim_matches([',', ';', ':', '(', ')'])).collect();
    words.windows(2).any(|pair| {
        let result = |unit: &str| dimension(unit).is_some_and(|of| MEASURED.contains(&of));
        pair[0].parse::<f64>().is_ok() && result(pair[1])
    })
}

/// What a line says of the figures below; a number of a run says nothing.
pub fn title_of<'t>(line: &'t str, mapping: &ColumnMapping) -> Option<&'t str> {
    let title = line.trim_matches(|c: char| !c.is_alphanumeric() && !"()".contains(c));
    let run = |title: &str| TableHeading::of(title, mapping).place.is_some_and(|of| of.repetition.is_some());
    (title.len() <= LONGEST && !run(title)).then_some(title)
}

/// A deviation belongs to the figure right above it.
fn deviates<'t>(above: Option<&mut FigureLine<'t>>, [label, title, figure, unit]: [&'t str; 4]) -> bool {
    let above = above.filter(|of| of.title == title && of.unit == unit && of.deviation.is_none());
    let Some(of) = above.filter(|_| naming::is_deviation(label)) else { return false };
    of.deviation = Some(figure);
    true
}

fn rows(all: &[FigureLine]) -> Vec<TableRecord> {
    let mut below: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut bare: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for line in all {
        below.entry(line.label).or_default().insert(line.title);
        if line.is_bare() {
            bare.entry(line.title).or_default().insert(line.label);
        }
    }
    // The lines above tell the figures of one label apart.
    let titled = all.iter().any(|line| !line.is_bare() && below[line.label].len() > 1);
    let units = all.iter().any(|line| !line.unit.is_empty());
    let deviates = all.iter().any(|line| line.deviation.is_some());
    let row = |line: &FigureLine| {
        let operation = match line.is_bare() {
            true if bare[line.title].len() > 1 => format!("{}: {}", line.title, line.label),
            true => line.title.into(),
            false => line.label.into(),
        };
        let variant = titled.then(|| if line.is_bare() { String::new() } else { line.title.to_string() });
        let deviation = deviates.then(|| line.deviation.unwrap_or_default().to_string());
        let unit = units.then(|| line.unit.to_string());
        let cells = [operation, line.figure.into()].into_iter().chain(unit).chain(variant).chain(deviation);
        TableRecord { line: line.line, cells: cells.collect() }
    };
    let headings = ["operation", "measured"].into_iter().chain(units.then_some("unit"));
    let headings = headings.chain(titled.then_some("variant")).chain(deviates.then_some("spread"));
    let first = TableRecord { line: all[0].line, cells: headings.map(str::to_string).collect() };
    std::iter::once(first).chain(all.iter().map(row)).collect()
}
