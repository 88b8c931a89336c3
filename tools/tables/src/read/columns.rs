//! What a column holds, by its values: a heading alone says too little (`bytes`, `time`, `test`, `type`).

use super::heading::TableHeading;
use super::layout::TableRecord;
use crate::cells::{self, CellReading};
use crate::english::english;
use crate::unit::{self, Dimension, UnitScale};
use crate::vocabulary::{self, bare};
use crate::{TableColumn, naming};
use std::collections::BTreeSet;

/// Rows that decide what a column is.
const LOOKED_AT: usize = 2000;
/// Of the values of a column, so many must be what its heading says.
const MOST: f64 = 0.6;
/// No machine runs more threads at a time than a test of this kind asks for.
const MOST_THREADS: f64 = 65536.0;
/// Bytes of a whole run, not of a message.
const FEWEST_TOTAL: f64 = 1e6;

/// Of a whole run.
const FEWEST_CYCLES: f64 = 1e5;

/// Of a distribution, and no end of an interval.
const TAILS: &[&str] = &["p90", "p95", "p99", "p999", "p9999", "90th", "95th", "99th", "tail", "percentile"];

/// How names count copies.
pub const COPIES: [&str; 3] = ["zero", "one", "two"];

/// The cells under headings, without those that say nothing.
pub struct Below<'r> {
    records: Vec<&'r TableRecord>,
    cells: &'r CellReading<'r>,
}

impl<'r> Below<'r> {
    pub fn of(records: &'r [TableRecord], cells: &'r CellReading) -> Below<'r> {
        let any_number = |record: &&TableRecord| record.cells.iter().any(|cell| cells.is_number(cell));
        Below { records: records.iter().filter(any_number).take(LOOKED_AT).collect(), cells }
    }

    pub fn rows(&self) -> usize {
        self.records.len()
    }

    /// A column's cell of each row; empty ones of merged cells are those above.
    pub fn column(&self, at: usize) -> Vec<&'r str> {
        let mut above = "";
        let fill = |record: &&'r TableRecord| {
            if let Some(cell) = record.cells.get(at).filter(|cell| !cells::is_blank(cell)) {
                above = cell.as_str();
            }
            above
        };
        self.records.iter().map(fill).collect()
    }

    /// Where both columns have a figure, with its line.
    pub fn pairs(&self, at: [usize; 2]) -> impl Iterator<Item = (usize, &'r str, &'r str)> {
        let cell = move |record: &'r TableRecord, at: usize| record.cells.get(at).map(String::as_str);
        self.records.iter().filter_map(move |r| Some((r.line, cell(r, at[0])?, cell(r, at[1])?)))
    }

    fn filled(&self, at: usize) -> Vec<&'r str> {
        self.records
            .iter()
            .filter_map(|r| r.cells.get(at))
            .filter(|c| !cells::is_empty(c))
            .map(String::as_str)
            .collect()
    }

    fn share(&self, at: usize, is: impl Fn(&str) -> bool) -> f64 {
        let all = self.filled(at);
        if all.is_empty() {
            0.0
        } else {
            all.iter().filter(|cell| is(cell)).count() as f64 / all.len() as f64
        }
    }

    pub fn is_text(&self, at: usize) -> bool {
        !self.filled(at).is_empty() && self.share(at, |cell| self.cells.is_number(cell)) < MOST
    }

    pub fn has_figures(&self, at: usize) -> bool {
        !self.filled(at).is_empty() && !self.is_text(at)
    }

    /// Its numbers, each with the unit of its cell.
    fn figures(&self, at: usize) -> Vec<(f64, Option<&'r str>)> {
        let figure = |cell: &'r str| {
            unit::number(cells::plain(cell), self.cells.decimal).map(|(value, _, unit)| (value, unit))
        };
        self.filled(at).into_iter().filter_map(figure).collect()
    }

    fn numbers(&self, at: usize) -> Vec<f64> {
        self.figures(at).into_iter().map(|(value, _)| value).collect()
    }

    pub fn width(&self) -> usize {
        self.records.iter().map(|record| record.cells.len()).max().unwrap_or(0)
    }

    /// Numbers of the rows: 0, 1, 2.
    pub fn is_index(&self, at: usize) -> bool {
        let numbers = self.numbers(at);
        let first = numbers.first().copied().filter(|first| [0.0, 1.0].contains(first));
        first.is_some_and(|first| numbers.iter().enumerate().all(|(row, n)| *n == first + row as f64))
    }

    pub fn is_whole(&self, at: usize) -> bool {
        let numbers = self.numbers(at);
        !numbers.is_empty() && numbers.iter().all(|n| n.fract() == 0.0 && *n >= 0.0)
    }

    /// `two`, `one` and `zero` count copies where zero is among them: nobody calls an experiment so.
    pub fn counts_copies(&self, at: usize) -> bool {
        let words: BTreeSet<String> = self.filled(at).into_iter().map(bare).collect();
        words.len() > 1 && words.contains("zero") && words.iter().all(|word| COPIES.contains(&word.as_str()))
    }

    /// Do its texts name roles?
    fn has_roles(&self, at: usize) -> bool {
        self.counts_copies(at)
            || self.share(at, |cell| {
                vocabulary::role(cell).is_some() || self.cells.mapping.mechanism(cell).is_some()
            }) >= MOST
    }

    /// A number without a unit of its own.
    pub fn bare_figure(&self, at: usize) -> bool {
        self.figures(at).iter().any(|(_, unit)| unit.is_none())
    }

    pub fn has_no_units(&self, at: usize) -> bool {
        self.figures(at).iter().all(|(_, unit)| unit.is_none())
    }

    /// `+21 %`, `1.4x`: figures of two others.
    pub fn compares(&self, at: usize) -> bool {
        self.figures(at).iter().any(|(_, unit)| unit.is_some_and(|unit| ["%", "x", "X", "×"].contains(&unit)))
    }

    /// The unit that all its figures have.
    pub fn unit(&self, at: usize) -> Option<unit::UnitScale> {
        let own = |(_, unit): &(f64, Option<&str>)| unit::parse((*unit)?).ok();
        let units: Option<Vec<unit::UnitScale>> = self.figures(at).iter().map(own).collect();
        units?.first().copied()
    }

    fn in_cycles(&self, at: usize) -> bool {
        let figures = self.figures(at);
        let cycles = |(_, unit): &(f64, Option<&str>)| unit.is_some_and(|unit| unit::cycles(unit).is_some());
        !figures.is_empty() && figures.len() == self.filled(at).len() && figures.iter().all(cycles)
    }

    /// Nothing was counted: an end that only receives has sent nothing.
    pub fn is_zero(&self, at: usize) -> bool {
        let numbers = self.numbers(at);
        !numbers.is_empty() && numbers.iter().all(|n| *n == 0.0)
    }

    /// The text that all its cells are.
    pub fn only_text(&self, at: usize) -> Option<&'r str> {
        let all: BTreeSet<&str> = self.filled(at).into_iter().collect();
        all.first().copied().filter(|_| all.len() == 1)
    }

    pub fn distinct(&self, at: usize) -> usize {
        self.filled(at).into_iter().collect::<BTreeSet<_>>().len()
    }
}

/// Corrects what headings say by what stands below them.
pub fn correct(headings: &mut [TableHeading], below: &Below) {
    if below.rows() == 0 {
        return;
    }
    let cycles = headings.iter().all(|h| h.column.is_none_or(|c| c.is_text() || of_cycles(c)));
    for (at, heading) in headings.iter_mut().enumerate() {
        if heading.is_plain() && !is_possible(heading, below, at) {
            // `12.1` below `cycles` alone is what one operation took.
            let of_one = cycles && heading.column == Some(TableColumn::Cycles) && below.has_figures(at);
            heading.forget();
            if of_one {
                (heading.column, heading.unit) = (Some(TableColumn::Measured), unit::cycles("cycles"));
            }
        }
    }
    for (at, heading) in headings.iter_mut().enumerate() {
        // Messages a second are called throughput, too.
        let calls = below.unit(at).is_some_and(|unit| unit.dimension == Dimension::Calls);
        if calls && heading.column == Some(TableColumn::Throughput) {
            heading.column = Some(TableColumn::MessageRate);
        }
        if heading.column == Some(TableColumn::Latency) && below.in_cycles(at) {
            (heading.column, heading.unit) = (Some(TableColumn::Measured), unit::cycles("cycles"));
        }
    }
    totals(headings, below);
    parts_of_buffers(headings);
    extremes(headings);
    one_sided(headings);
    mechanism(headings, below);
    variants(headings, below);
    misses(headings);
    of_cells(headings, below);
    operations(headings);
    of_runs(headings);
}

fn of_cycles(column: TableColumn) -> bool {
    [TableColumn::Cycles, TableColumn::Spread].contains(&column)
}

fn has(headings: &[TableHeading], column: TableColumn) -> bool {
    headings.iter().any(|heading| heading.column == Some(column))
}

pub fn along_mechanisms(headings: &[TableHeading]) -> bool {
    headings.iter().any(|heading| heading.place.as_ref().is_some_and(|place| place.mechanism.is_some()))
}

fn is_possible(heading: &TableHeading, below: &Below, at: usize) -> bool {
    let Some(column) = heading.column else { return true };
    // A column that is empty here may be filled elsewhere.
    if below.filled(at).is_empty() || column == TableColumn::Ignored {
        return column != TableColumn::Spread;
    }
    match column {
        TableColumn::Mechanism => below.is_text(at) || below.is_whole(at),
        TableColumn::Operation | TableColumn::Unit => below.is_text(at),
        TableColumn::Variant => true,
        TableColumn::Threads => {
            below.is_whole(at) && below.numbers(at).iter().all(|n| (1.0..=MOST_THREADS).contains(n))
        }
        // A message's number counts from one on, without a gap: how many there are does not.
        TableColumn::Repetition => {
            let counts = || below.numbers(at).iter().all(|n| *n <= below.distinct(at) as f64);
            below.is_whole(at) && (!vocabulary::is_message(&heading.text) || counts())
        }
        // Of a run; what is told in parts of one is told in millions, or of one message.
        TableColumn::Cycles | TableColumn::Instructions => {
            let numbers = below.numbers(at);
            let few = |n: &f64| *n < FEWEST_CYCLES;
            let scaled = heading.unit.is_some() || below.unit(at).is_some();
            below.has_figures(at) && (scaled || below.is_whole(at) || !numbers.iter().all(few))
        }
        // Without a unit they are left out: a table is not refused for them.
        TableColumn::Jitter | TableColumn::CpuPerByte | TableColumn::CpuTime => {
            below.has_figures(at) && (heading.unit.is_some() || below.unit(at).is_some())
        }
        _ => !below.is_text(at),
    }
}

/// The best of some runs is no spread of them: beside another figure it is left out, alone it is the figure.
fn extremes(headings: &mut [TableHeading]) {
    let is = |heading: &TableHeading| heading.is_plain() && heading.column == Some(TableColumn::Spread);
    let said: Vec<_> = headings.iter().map(|h| naming::extreme(&h.text).filter(|_| is(h))).collect();
    for (at, extreme) in said.iter().enumerate() {
        let Some((word, named)) = extreme else { continue };
        let sides = said.iter().flatten().filter(|(_, other)| other.column == named.column).count();
        let beside = has(headings, named.column);
        let best = naming::BESTS.contains(&word.as_str());
        if sides == 1 && !beside {
            (headings[at].column, headings[at].unit) = (Some(named.column), named.unit);
        } else if sides == 1 && best {
            headings[at].forget();
        }
    }
}

/// A tail (p99, max) is another figure and no spread, unless the other end stands beside it.
fn one_sided(headings: &mut [TableHeading]) {
    let sides = |of: &[&str]| -> Vec<usize> {
        let is = |heading: &TableHeading| {
            heading.column == Some(TableColumn::Spread) && naming::side_of_spread(&heading.text, of)
        };
        (0..headings.len()).filter(|at| is(&headings[*at])).collect()
    };
    let (low, high) = (sides(naming::LOWS), sides(naming::HIGHS));
    let spreads = headings.iter().filter(|h| h.is_plain() && h.column == Some(TableColumn::Spread)).count();
    let tails = sides(TAILS);
    // Beside a deviation or an interval a tail is another figure, too.
    if low.is_empty() || high.is_empty() {
        low.into_iter().chain(high).for_each(|at| headings[at].forget());
    } else if spreads > tails.len() {
        tails.into_iter().for_each(|at| headings[at].forget());
    }
}

/// Beside runs that have columns of their own, their mean is no run.
fn of_runs(headings: &mut [TableHeading]) {
    let runs: Vec<TableColumn> = headings
        .iter()
        .filter(|h| h.place.as_ref().is_some_and(|place| place.repetition.is_some()))
        .filter_map(|h| h.column)
        .collect();
    for heading in headings.iter_mut().filter(|h| h.is_plain() && h.column.is_some_and(|c| runs.contains(&c)))
    {
        heading.forget();
    }
}

/// `bytes` are those of a message, or those of the run.
fn totals(headings: &mut [TableHeading], below: &Below) {
    let sizes =
        headings.iter().filter(|h| h.is_plain() && h.column == Some(TableColumn::MessageBytes)).count();
    for (at, heading) in headings.iter_mut().enumerate() {
        if heading.column != Some(TableColumn::MessageBytes) || bare(&heading.text) != "bytes" {
            continue;
        }
        let numbers = below.numbers(at);
        let large = numbers.iter().all(|n| *n >= FEWEST_TOTAL) && below.distinct(at) * 2 > below.rows();
        if sizes > 1 || large {
            heading.column = Some(TableColumn::Bytes);
        }
    }
}

/// What is read into a buffer fills a part of it: its packets are no messages of that size.
fn parts_of_buffers(headings: &mut [TableHeading]) {
    let says = |h: &TableHeading, column, word: &str| {
        h.is_plain() && h.column == Some(column) && bare(&english(&h.text)).contains(word)
    };
    if headings.iter().any(|h| says(h, TableColumn::MessageBytes, "buffer")) {
        let packets = headings.iter_mut().filter(|h| says(h, TableColumn::Messages, "packet"));
        packets.for_each(TableHeading::forget);
    }
}

/// The column of names is the one whose names are known, whatever its heading.
fn mechanism(headings: &mut [TableHeading], below: &Below) {
    let texts =
        |heading: &TableHeading| heading.place.is_none() && heading.column.is_none_or(TableColumn::is_text);
    let known: Vec<usize> = (0..headings.len())
        .filter(|at| texts(&headings[*at]) && below.is_text(*at) && below.has_roles(*at))
        .collect();
    let called = |at: &usize| headings[*at].column == Some(TableColumn::Mechanism);
    if along_mechanisms(headings) {
        // The names are those of the columns.
        for heading in
            headings.iter_mut().filter(|h| h.is_plain() && h.column == Some(TableColumn::Mechanism))
        {
            heading.column = Some(TableColumn::Variant);
        }
        return;
    }
    let Some(chosen) = known.iter().copied().find(called).or(known.first().copied()) else { return };
    for (at, heading) in headings.iter_mut().enumerate() {
        if at != chosen
            && heading.column == Some(TableColumn::Mechanism)
            && heading.place.is_none()
            && !known.contains(&at)
        {
            heading.column = Some(TableColumn::Variant);
        }
    }
    headings[chosen].column = Some(TableColumn::Mechanism);
}

/// Where nothing else names the rows of a transfer, variants are its ways.
fn variants(headings: &mut [TableHeading], below: &Below) {
    use TableColumn::{Latency, MessageBytes, Operation, Throughput, Variant};
    let transfer = has(headings, MessageBytes) && (has(headings, Throughput) || has(headings, Latency));
    let of = |h: &&mut TableHeading| h.is_plain() && h.column == Some(Variant);
    if transfer
        && !has(headings, TableColumn::Mechanism)
        && !has(headings, Operation)
        && !along_mechanisms(headings)
    {
        let mut all = headings.iter_mut().enumerate().filter(|(_, h)| of(h));
        if let (Some((at, only)), None) = (all.next(), all.next())
            && below.is_text(at)
        {
            only.column = Some(TableColumn::Mechanism);
        }
    }
}

/// `time_us`, `Avg Duration (us)`
fn is_of_one(text: &str) -> bool {
    bare(text).starts_with("time") || vocabulary::has_word(text, &["avg", "average", "mean"])
}

/// Beside the time of one call, that of all of them is none.
fn sums_of_calls(headings: &mut [TableHeading]) {
    let timed = |h: &TableHeading| {
        h.is_plain() && h.column.is_some_and(|c| [TableColumn::Latency, TableColumn::Elapsed].contains(&c))
    };
    let one = headings.iter().any(|h| timed(h) && is_of_one(&h.text) && !naming::sums_up(&h.text));
    if one && has(headings, TableColumn::Operation) {
        headings.iter_mut().filter(|h| timed(h) && naming::sums_up(&h.text)).for_each(TableHeading::forget);
    }
}

/// How far a prediction was off is no spread.
fn misses(headings: &mut [TableHeading]) {
    let off = |h: &&mut TableHeading| {
        let words = vocabulary::tokens(&h.text);
        let off = |word: &String| ["error", "err", "deviation", "accuracy"].contains(&word.as_str());
        let spread = |word: &String| word.starts_with("st") || word == "sd";
        h.column == Some(TableColumn::Spread) && words.iter().any(off) && !words.iter().any(spread)
    };
    if has(headings, TableColumn::Predicted) {
        headings.iter_mut().filter(off).for_each(TableHeading::forget);
    }
}

/// `p50` over `12.07µs`: the cells say in which unit.
fn of_cells(headings: &mut [TableHeading], below: &Below) {
    let unsaid =
        |h: &TableHeading| h.is_plain() && h.column == Some(TableColumn::Measured) && h.unit.is_none();
    let timed = |h: &TableHeading| {
        h.column == Some(TableColumn::Latency) || h.unit.is_some() && h.column == Some(TableColumn::Measured)
    };
    if headings.iter().any(timed) {
        return;
    }
    for (at, heading) in headings.iter_mut().enumerate().filter(|(_, h)| unsaid(h)) {
        heading.unit = below.unit(at);
    }
}

/// Rows of operations have one figure; rows of transfers have names.
fn operations(headings: &mut [TableHeading]) {
    use TableColumn::{
        BaseHardware, ContextSwitches, Elapsed, Latency, Measured, Mechanism, Operation, Predicted,
        SoftwareOverhead, Threads, Throughput,
    };
    let transfers = [Throughput, ContextSwitches, Threads].into_iter().any(|c| has(headings, c))
        || along_mechanisms(headings);
    let names = has(headings, Operation);
    sums_of_calls(headings);
    let predicted = has(headings, Predicted) || has(headings, BaseHardware);
    let overhead_alone = !predicted && ![Measured, Latency, Throughput].into_iter().any(|c| has(headings, c));
    for heading in headings.iter_mut().filter(|h| h.place.is_some() && h.column == Some(Measured)) {
        heading.column = naming::measured(heading.unit).or(heading.column);
    }
    let of_run = |h: &TableHeading| h.place.as_ref().is_some_and(|place| place.repetition.is_some());
    for heading in
        headings.iter_mut().filter(|h| of_run(h) && names && !transfers && h.column == Some(Latency))
    {
        heading.column = Some(Measured);
    }
    for heading in headings.iter_mut().filter(|h| h.is_plain()) {
        let time = heading.unit.is_some_and(|unit| unit.dimension == Dimension::Time);
        let cycles = heading.unit.is_some_and(|unit| unit.dimension == Dimension::Cycles);
        let short = time && heading.unit.is_some_and(|unit| unit.factor < 1e6);
        heading.column = match heading.column {
            Some(Operation) if transfers && !predicted => Some(Mechanism),
            Some(Latency | Elapsed) if names && !transfers => Some(Measured),
            // Seconds are of a run; what is told in microseconds is of a message.
            Some(Elapsed) if short && is_of_one(&heading.text) => Some(Latency),
            // `Overhead (cycles)` beside no prediction is what was measured.
            Some(SoftwareOverhead) if overhead_alone => Some(Measured),
            // `mean`, `value`: of what, its unit says.
            Some(Measured) if cycles => Some(Measured),
            Some(Measured) if !predicted && (!names || transfers) => naming::measured(heading.unit),
            other => other,
        };
    }
    // Without operations, a test or a task is no mechanism of a transfer.
    if !transfers && predicted && !has(headings, Operation) {
        let first =
            headings.iter_mut().find(|h| h.place.is_none() && h.column.is_none_or(|c| c == Mechanism));
        if let Some(heading) = first {
            heading.column = Some(Operation);
        }
    }
}

/// `Cycles/msg`
pub fn costs_of_messages(headings: &[TableHeading]) -> bool {
    let each = |h: &TableHeading| vocabulary::has_word(&h.text, &["msg", "message"]);
    headings.iter().any(|h| h.column == Some(TableColumn::CyclesPerMessage) && each(h))
}

/// How a heading is understood, where that is not literal; `bare`: its figures have no unit of their own.
pub fn said(heading: &TableHeading, bare: bool) -> Option<String> {
    let (text, column) = (&heading.text, heading.column.filter(|_| heading.place.is_none())?);
    let thousands = |unit: UnitScale| unit.factor.log10() % 3.0 == 0.0 && unit.factor > 1.0;
    match column {
        TableColumn::Bytes if heading.unit.is_some_and(thousands) => {
            Some(format!("{text:?} is in powers of 1000"))
        }
        TableColumn::Elapsed if heading.unit.is_none() => {
            bare.then(|| format!("{text:?} is taken as a duration in seconds"))
        }
        column if heading.unit.is_none() && !column.is_called(text) => {
            Some(format!("{text:?} is {}", column.title()))
        }
        _ => None,
    }
}
