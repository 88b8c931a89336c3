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
    text: &'t str,
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
    let (mut all, mut left, mut many): (Vec<FigureLine>, usize, usize) = (Vec::new(), 0, 0);
    // Figures without a unit, where none has one.
    let mut unsaid: Vec<FigureLine> = Vec::new();
    // Where no line of words does, `processes: 2` tells figures apart.
    let (mut title, mut number) = ("", "");
    let mut set: Vec<&str> = Vec::new();
    // A banner or a line of progress that comes again is one.
    let mut others: BTreeSet<&str> = BTreeSet::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| line.contains(char::is_alphanumeric)) {
        let text = line.trim();
        let Some((label, figure, unit)) = figure(line) else {
            let said = title_of(line, mapping);
            title = said.unwrap_or(title);
            let counts = text.len() <= LONGEST && said.is_none_or(|title| title.parse::<u64>().is_ok());
            others.insert(if counts { "" } else { text });
            continue;
        };
        many += 1;
        let of = |unit, title| FigureLine { line: at + 1, text, label, figure, unit, title, deviation: None };
        match (unit, unit.and_then(dimension)) {
            (Some(unit), Some(dimension)) if MEASURED.contains(&dimension) => {
                let spread = naming::column_of(label).is_some_and(|of| of.column == TableColumn::Spread);
                let title = if title.is_empty() { number } else { title };
                if !spread && !naming::is_deviation(label) {
                    all.push(of(unit, title));
                } else if !deviates(all.last_mut(), [label, title, figure, unit]) {
                    left += 1;
                }
            }
            // `Sequential read: 1 Mbytes` says of what the figures below are.
            (Some(_), Some(Dimension::Size)) => title = title_of(line, mapping).unwrap_or(title),
            (None, _) => {
                unsaid.push(of("", title));
                number = title_of(line, mapping).unwrap_or(number);
                set.extend(Some(text).filter(|_| !title.is_empty() && !figure.contains('.')));
            }
            _ => {}
        }
    }
    if all.is_empty() && left == 0 {
        (all, set) = measured(unsaid, mapping);
    }
    // A larger number may be a size.
    if all.iter().filter_map(|line| line.title.parse::<usize>().ok()).max() <= Some(all.len()) {
        forget_counts(all.iter_mut().map(|line| &mut line.title).collect());
    }
    let figures = all.len() + left + all.iter().filter(|line| line.deviation.is_some()).count();
    if all.len() < FEWEST || (figures as f64) < MOST * (many + others.len() - set.len()) as f64 {
        return None;
    }
    let said = (left > 0).then(|| {
        format!("{} of a deviation or an extreme left out", syscost_core::units::count(left, "line"))
    });
    let set = perf_program::left_out(&set, "without a unit ");
    Some((rows(&all), said.into_iter().chain(set).collect()))
}

/// Of figures without a unit those that were measured, fractions or what comes again with other figures; and the others'
/// lines. A number that was set is whole, and a known one.
fn measured<'t>(unsaid: Vec<FigureLine<'t>>, mapping: &ColumnMapping) -> (Vec<FigureLine<'t>>, Vec<&'t str>) {
    let known = |line: &FigureLine| TableHeading::of(line.label, mapping).column;
    let fractions = unsaid.iter().filter(|line| line.figure.contains('.')).count();
    if fractions > FEWEST
        && fractions * 2 > unsaid.len()
        && !unsaid.iter().any(|line| TableHeading::of(line.label, mapping).is_understood())
    {
        return (unsaid, Vec::new());
    }
    let mut values: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for line in &unsaid {
        values.entry(line.label).or_default().extend(line.figure.parse::<f64>());
    }
    let distinct = |line: &FigureLine| {
        let all: BTreeSet<u64> = values[line.label].iter().map(|value| value.to_bits()).collect();
        all.len()
    };
    // Rows whose size is said in a line of its own are no operations.
    if unsaid.iter().any(|line| known(line).is_some_and(TableColumn::is_place) && distinct(line) > 1) {
        return (Vec::new(), Vec::new());
    }
    let again = |line: &FigureLine| {
        let all = &values[line.label];
        let counts = all.windows(3).all(|of| of[1] - of[0] == of[2] - of[1]);
        all.len() > FEWEST && distinct(line) * 2 > all.len() && !counts
    };
    let result = |column: TableColumn| column.is_measure() && column != TableColumn::Spread;
    let (kept, others): (Vec<_>, Vec<_>) =
        unsaid.into_iter().partition(|line| again(line) && known(line).is_none_or(result));
    (kept, others.into_iter().map(|line| line.text).collect())
}

/// A number above each line counts them; above several it is that of a group.
pub fn forget_counts(titles: Vec<&mut &str>) {
    let grouped = titles.windows(2).any(|pair| pair[0] == pair[1]);
    for title in titles.into_iter().filter(|title| !grouped && title.parse::<u64>().is_ok()) {
        *title = "";
    }
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
        let (name, of) = unit::bracketed(label)?;
        dimension(of).filter(|of| MEASURED.contains(of)).map(|_| (name, Some(of)))
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
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for line in all {
        below.entry(line.label).or_default().insert(line.title);
        *times.entry(line.label).or_default() += 1;
    }
    // `RTT` is a name where each run has it beside `setup`.
    let named = |(label, _): &(&&str, &usize)| naming::column_of(label).is_none();
    let names: BTreeSet<usize> = times.iter().filter(named).map(|(_, many)| *many).collect();
    let beside =
        |label: &str| below[label].len() == 1 && times[label] > FEWEST && names.contains(&times[label]);
    let is_bare = |line: &FigureLine| line.is_bare() && !beside(line.label);
    for line in all.iter().filter(|line| is_bare(line)) {
        bare.entry(line.title).or_default().insert(line.label);
    }
    // The lines above tell the figures of one label apart.
    let titled = all.iter().any(|line| !is_bare(line) && below[line.label].len() > 1);
    let units = all.iter().any(|line| !line.unit.is_empty());
    let deviates = all.iter().any(|line| line.deviation.is_some());
    let row = |line: &FigureLine| {
        let operation = match is_bare(line) {
            true if bare[line.title].len() > 1 => format!("{}: {}", line.title, line.label),
            true => line.title.into(),
            false => line.label.into(),
        };
        let variant = titled.then(|| if is_bare(line) { String::new() } else { line.title.to_string() });
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
