//! Tables that are wider than long: what the figures under names, sizes and thread counts are.

use super::columns::{Below, along_mechanisms};
use super::heading::{AXES, HeadingPlace, TableHeading, cut_unit, unit_behind};
use super::layout::TableRecord;
use super::rows::RowReading;
use super::titles;
use crate::unit::{self, Dimension, UnitScale};
use crate::vocabulary;
use crate::{ColumnMapping, TableColumn, cells, naming};
use std::collections::{BTreeMap, BTreeSet};

fn is_threads(heading: &TableHeading) -> bool {
    heading.is_plain() && heading.column == Some(TableColumn::Threads)
}

impl RowReading<'_> {
    /// `clients` above `128 bytes` and beside `1`, `50`: the corner names the columns where the cells below it are places
    /// along the other axis.
    pub(super) fn corner_of_columns(&mut self, headings: &mut [TableHeading], below: &[TableRecord]) {
        let [corner, others @ ..] = headings else { return };
        let (of_columns, of_rows, rows) = match corner.column.filter(|_| corner.is_plain()) {
            Some(TableColumn::Threads) => (TableColumn::Threads, TableColumn::MessageBytes, "size"),
            Some(TableColumn::MessageBytes) => (TableColumn::MessageBytes, TableColumn::Threads, "threads"),
            _ => return,
        };
        let placed = |record: &TableRecord| {
            let place = record.cells.first().and_then(|cell| TableHeading::of(cell, self.mapping).place);
            place.is_some_and(|place| place.number.is_none() && place.axes() == [of_rows])
        };
        let along = others.len() > 1 && others.iter().all(|h| h.is_number() || h.text.is_empty());
        if !along || !below.first().is_some_and(placed) {
            return;
        }
        for place in others.iter_mut().filter_map(|h| h.place.as_mut()) {
            let number = place.number.take();
            *(if of_columns == TableColumn::Threads { &mut place.threads } else { &mut place.bytes }) =
                number;
        }
        let axis = rows.trim_end_matches('s');
        self.table
            .understood
            .push(format!("{:?} names the columns: the rows below it are {axis}s", corner.text));
        self.table.parallel = self.table.parallel.or(vocabulary::parallel(&corner.text));
        corner.text = rows.into();
        corner.column = Some(of_rows);
    }

    /// `connections` stand where threads do.
    pub(super) fn note_parallel(&mut self, headings: &[TableHeading]) {
        let along = |h: &TableHeading| h.place.as_ref().is_some_and(|place| place.threads.is_some());
        let of_threads = |h: &&TableHeading| along(h) || is_threads(h);
        let own = headings.iter().filter(of_threads).find_map(|h| vocabulary::parallel(&h.text));
        self.table.parallel = self.table.parallel.or(own);
    }

    /// What is said of a heading: `conns` are connections, and no threads.
    pub(super) fn in_own_words(&self, heading: &TableHeading, said: Option<String>) -> Option<String> {
        let Some(own) = self.table.parallel.filter(|_| is_threads(heading)) else { return said };
        let text = &heading.text;
        (text.to_lowercase() != format!("{own}s")).then(|| format!("{text:?} is {own}s"))
    }

    /// `DFN,Telekom` above nothing but figures: names, where a title or the file's name says what the figures are.
    pub(super) fn names_alone(
        &self,
        record: &TableRecord,
        below: &[TableRecord],
    ) -> Option<Vec<TableHeading>> {
        let number = |cell: &String| unit::number(cell, self.cells.decimal).map(|(value, ..)| value);
        let figures = |row: &TableRecord| {
            row.cells.len() == record.cells.len() && row.cells.iter().all(|c| number(c).is_some())
        };
        // What grows from row to row is an axis.
        let grows =
            |at: usize| below.is_sorted_by(|one, other| number(&one.cells[at]) < number(&other.cells[at]));
        let plain = |cell: &String| {
            cell.len() > 1 && number(cell).is_none() && !TableHeading::of(cell, self.mapping).is_understood()
        };
        let titled = || self.title.is_some() || titles::of_file(&self.table.name, self.mapping).is_some();
        let names = record.cells.len() > 1
            && record.cells.iter().all(plain)
            && below.len() > 1
            && below.iter().all(figures)
            && !(0..record.cells.len()).any(grows)
            && titled();
        let name = |cell: &String| TableHeading {
            place: Some(HeadingPlace { mechanism: Some(cell.clone()), ..Default::default() }),
            ..TableHeading::of(cell, self.mapping)
        };
        names.then(|| record.cells.iter().map(name).collect())
    }

    /// The first heading of a wide table may name both axes, the figures, or nothing: its column is the axis that the
    /// others are not.
    pub(super) fn name_corner(&mut self, headings: &mut [TableHeading]) {
        let Some(place) = headings.iter().find_map(|h| h.place.clone()) else { return };
        let Some(corner) = headings.first_mut().filter(|h| h.place.is_none()) else { return };
        let metric = corner.column.is_some_and(|c| !c.is_text() && !AXES.contains(&c));
        if corner.is_plain() && !metric {
            return;
        }
        if metric {
            self.title = Some(corner.clone());
        }
        let parts = corner.text.split(['/', '\\', '|']).map(naming::column_of);
        let named =
            parts.flatten().map(|named| named.column).find(|c| AXES.contains(c) && !place.axes().contains(c));
        let axis = if place.mechanism.is_some() { TableColumn::MessageBytes } else { TableColumn::Mechanism };
        corner.column = Some(named.unwrap_or(axis));
        corner.unit = None;
    }

    /// Figures below no heading are left out, and not in silence.
    pub(super) fn say_unnamed(&mut self, headings: &[TableHeading], below: &Below) {
        let named = |at: usize| headings.get(at).is_some_and(|h| !h.text.is_empty() || h.is_understood());
        for at in
            (0..below.width()).filter(|at| !named(*at) && below.has_figures(*at) && !below.is_index(*at))
        {
            let told = format!("column {} (no heading)", at + 1);
            if self.noted.insert(told.clone()) {
                self.table.left_out.push(told);
            }
        }
    }

    /// A title may stand between the headings and the first row.
    pub(super) fn titled_below(&mut self, first: Option<&TableRecord>) {
        let cells = first.map(|record| record.cells.as_slice()).unwrap_or_default();
        let mut filled = cells.iter().filter(|cell| !cells::is_empty(cell));
        let (Some(alone), None) = (filled.next(), filled.next()) else { return };
        if self.title.is_none() && !self.cells.is_number(alone) {
            self.title = titles::of(alone, self.mapping).and_then(|title| title.figures);
        }
    }

    /// What the figures of a wide table are: its headings, its title or the unit given for all files say.
    pub(super) fn name_figures(
        &mut self,
        headings: &mut [TableHeading],
        below: &Below,
    ) -> Result<(), String> {
        let texts: Vec<String> = headings.iter().map(|h| h.text.clone()).collect();
        let before =
            self.figures.as_ref().filter(|(known, _)| *known == texts).map(|(_, title)| title.clone());
        let told = self.title.take().or(before);
        let by_name = told.is_none().then(|| titles::of_file(&self.table.name, self.mapping)).flatten();
        let of_file = by_name.is_some();
        let title = told.or(by_name);
        names_of_columns(headings, below, title.is_some());
        self.figures = title.clone().map(|title| (texts, title));
        let unnamed = |h: &TableHeading| h.place.is_some() && h.column.is_none();
        self.title_of_middles(headings, below, title.as_ref());
        let of_rows = headings.iter().position(|h| h.is_plain() && h.column == Some(TableColumn::Unit));
        let of_rows = of_rows.and_then(|at| below.only_text(at)).and_then(|text| unit::parse(text).ok());
        // Runs whose unit nobody says are left out where their mean stands beside them.
        let averaged = headings.iter().any(|h| h.is_plain() && h.column == Some(TableColumn::Measured));
        let is_run = |place: &HeadingPlace| place.repetition.is_some() && place.axes().is_empty();
        for (at, heading) in headings.iter_mut().enumerate().filter(|(_, h)| unnamed(h)) {
            if let Some(title) = &title {
                if of_file {
                    self.once(format!("the file's name says what its figures are: {}", title.text));
                }
                heading.column = title.column;
                heading.unit = heading.unit.or(title.unit);
            } else if let Some(unit) =
                heading.unit.or_else(|| below.unit(at)).or(of_rows).or_else(|| self.mapping.only_unit())
            {
                heading.column = figures_in(unit);
                heading.unit = Some(unit);
            }
            if heading.column.is_none() && averaged && heading.place.as_ref().is_some_and(is_run) {
                heading.forget();
            } else if heading.column.is_none() {
                return Err(format!(
                    "what are the figures under {:?}? Write a line such as \"Throughput (Gbit/s)\" above the headings, or \
                     give --unit Gbit/s",
                    heading.text
                ));
            }
        }
        Ok(())
    }

    /// `p50` of what, the title or the file's name says, where nothing else is measured.
    fn title_of_middles(
        &mut self,
        headings: &mut [TableHeading],
        below: &Below,
        title: Option<&TableHeading>,
    ) {
        // Where each row has its unit, it says what it is of.
        let other = |h: &TableHeading| {
            let middle = [TableColumn::Measured, TableColumn::Spread];
            h.column.is_some_and(|c| c == TableColumn::Unit || c.is_measure() && !middle.contains(&c))
        };
        let rated = [TableColumn::Latency, TableColumn::Throughput, TableColumn::MessageRate];
        let quantity = title.and_then(|title| title.column).filter(|column| rated.contains(column));
        let Some((title, quantity)) = title.zip(quantity).filter(|_| !headings.iter().any(other)) else {
            return;
        };
        let unsaid = |(at, h): &(usize, &mut TableHeading)| {
            h.is_plain()
                && h.column == Some(TableColumn::Measured)
                && h.unit.is_none()
                && below.has_no_units(*at)
        };
        for (_, heading) in headings.iter_mut().enumerate().filter(unsaid) {
            (heading.column, heading.unit) = (Some(quantity), title.unit);
            let said = "by the title or the file's name";
            self.once(format!("{:?} is {}, {said}", heading.text, quantity.title()));
        }
    }

    /// Figures whose unit nobody says are kept apart: they can be compared with each other alone.
    pub(super) fn without_units(&self, headings: &mut [TableHeading], below: &Below) {
        for (at, heading) in headings.iter_mut().enumerate() {
            let (bare, dimension) = match heading.column {
                Some(TableColumn::Throughput) => (TableColumn::BareThroughput, Dimension::Rate),
                Some(TableColumn::Latency) => (TableColumn::BareLatency, Dimension::Time),
                _ => continue,
            };
            if heading.unit.is_none() && self.mapping.unit(dimension).is_none() && below.bare_figure(at) {
                heading.column = Some(bare);
            }
        }
    }
}

/// Parts of one time, and no names.
const CLOCKS: &[&str] = &["real", "user", "sys", "system", "cpu", "wall", "setup", "total"];

/// Two ways in one figure.
#[rustfmt::skip]
const COMPARES: &[&str] = &[
    "speedup", "speedups", "improvement", "improved", "gain", "gains", "ratio", "reduction", "change", "diff", "difference", "delta",
    "winner", "advantage", "benefit", "normalized", "normalised", "relative", "factor", "vs", "versus", "over", "percent", "pct", "%", "x",
];

/// What figures of a unit are.
fn figures_in(unit: UnitScale) -> Option<TableColumn> {
    let cycles = || (unit.dimension == Dimension::Cycles).then_some(TableColumn::Measured);
    naming::measured(Some(unit)).or_else(cycles)
}

/// Columns of figures beside sizes or thread counts, with headings that say nothing else, are those of names: of ways
/// to send where one is known, or where the table's title or the units of its cells say what its figures are.
fn names_of_columns(headings: &mut [TableHeading], below: &Below, titled: bool) {
    let axis = |h: &TableHeading| h.is_plain() && h.column.is_some_and(TableColumn::is_place);
    // How many messages were sent is no result: the names stand beside it.
    let result = |c: TableColumn| !(c.is_place() || c.is_text() || titled && c == TableColumn::Messages);
    let measured = |h: &TableHeading| h.is_plain() && h.column.is_some_and(result);
    let names: Vec<usize> = (0..headings.len())
        .filter(|at| {
            let heading = &headings[*at];
            let of_two = heading.text.split_once('/').is_some_and(|(one, other)| {
                vocabulary::exact_role(one).is_some() && vocabulary::exact_role(other).is_some()
            });
            let compares = of_two || below.compares(*at) || vocabulary::has_word(&heading.text, COMPARES);
            // `filesize(log2)` beside a size
            let exponent = vocabulary::bare(&heading.text).contains("log2");
            let silent = heading.text.is_empty() || heading.is_understood();
            !silent && !compares && !exponent && below.has_figures(*at)
        })
        .collect();
    let known = along_mechanisms(headings);
    let name_and_unit = |text: &str| -> (String, Option<UnitScale>) {
        // Beside names that are known, `A1 instructions and cycles` is no time of one.
        let cut = cut_unit(text).or_else(|| unit_behind(text).filter(|_| !known));
        cut.map_or((text.into(), None), |(name, unit)| (name.into(), Some(unit)))
    };
    let unit = |at: usize| below.unit(at).or(headings[at].unit).or(name_and_unit(&headings[at].text).1);
    let clock = names.iter().any(|at| vocabulary::has_word(&headings[*at].text, CLOCKS));
    let with_units = !clock && names.iter().all(|at| unit(*at).and_then(figures_in).is_some());
    let named = known && !names.is_empty() || (titled || with_units) && names.len() > 1;
    if !named || !headings.iter().any(axis) || headings.iter().any(measured) {
        return;
    }
    let texts: Vec<(String, Option<UnitScale>)> =
        names.iter().map(|at| name_and_unit(&headings[*at].text)).collect();
    let alone =
        |(name, _): &(String, _)| HeadingPlace { mechanism: Some(name.clone()), ..Default::default() };
    let places = [true, false].into_iter().find_map(|behind| placed(headings, &texts, behind));
    let places = places.unwrap_or_else(|| texts.iter().map(alone).collect());
    for ((at, (_, unit)), place) in names.into_iter().zip(texts).zip(places) {
        headings[at].unit = headings[at].unit.or(unit);
        headings[at].place = Some(place);
    }
}

/// `tc_1thr` and `tc_4thr` beside `oc_1thr` and `oc_4thr`: of every name, known or not, the same sizes or thread counts.
fn placed(
    headings: &[TableHeading],
    names: &[(String, Option<UnitScale>)],
    behind: bool,
) -> Option<Vec<HeadingPlace>> {
    let cut = |(text, _): &(String, _)| {
        let marks = ['_', ' ', '-', '@', ','];
        let (name, part) = if behind {
            text.rsplit_once(marks)?
        } else {
            text.split_once(marks).map(|(part, name)| (name, part))?
        };
        // As it stands beside a known name: `zc_1` of a table with sizes.
        let beside = |heading: &TableHeading| {
            let place = heading.place.clone().filter(|place| place.axes().len() > 1)?;
            let rest = heading.text.replacen(place.mechanism.as_deref()?, "", 1);
            (rest.trim_matches(marks) == part).then_some(place)
        };
        let own = || {
            let place = TableHeading::of(part, &ColumnMapping::default()).place;
            place.filter(|of| of.number.is_none() && of.mechanism.is_none())
        };
        let place = headings.iter().find_map(beside).or_else(own)?;
        Some(HeadingPlace { mechanism: Some(name.into()), ..place })
    };
    let places: Vec<HeadingPlace> = names.iter().map(cut).collect::<Option<_>>()?;
    let mut of_names: BTreeMap<&str, BTreeSet<Vec<(TableColumn, u64)>>> = BTreeMap::new();
    for place in places.iter().chain(headings.iter().filter_map(|heading| heading.place.as_ref())) {
        let own = place.numbers().map(|(column, number)| (column, number as u64)).collect();
        of_names.entry(place.mechanism.as_deref()?).or_default().insert(own);
    }
    let first = of_names.values().next()?;
    (of_names.len() > 1 && of_names.values().all(|of| of == first)).then_some(places)
}
