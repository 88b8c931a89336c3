//! The rows of a separated table: headings are looked for, titles and notes set aside, wide rows become long ones.

use super::columns::{self, Below};
use super::finish::{self, LostFigures};
use super::heading::{self, AXES, HeadingPlace, TableHeading};
use super::layout::{TableRecord, TableRecords};
use super::{keys, no_headings, row_units};
use super::{statistics, summary_rows, titles, whole};
use crate::cells::{self, CellReading};
use crate::mapping::NameMeaning;
use crate::vocabulary;
use crate::{BadTable, ColumnMapping, PublishedRow, PublishedTable, TableColumn};
use std::collections::{BTreeMap, BTreeSet};

/// The headings are among the first lines.
const HEADINGS_WITHIN: usize = 300;
const NO_HEADINGS: &str = "its first line holds figures: write a line of headings above it, such as \
                           mechanism,size,threads,throughput_gbps,latency_us";

pub fn table(
    name: &str,
    records: &TableRecords,
    mapping: &ColumnMapping,
) -> Result<PublishedTable, BadTable> {
    let mut reading = RowReading {
        mapping,
        cells: CellReading { decimal: records.decimal, mapping },
        table: PublishedTable { name: name.into(), ..PublishedTable::default() },
        noted: BTreeSet::new(),
        title: None,
        whose: HeadingPlace::default(),
        progress: HeadingPlace::default(),
        whose_rows: 0,
        figures: None,
        section: None,
        sections: 0,
        copies_counted: false,
        seen: BTreeMap::new(),
        sizes: Vec::new(),
        lost: LostFigures::default(),
    };
    let widest = records.all.iter().map(|r| r.cells.len()).max().unwrap_or(0);
    if widest < 2 {
        return Err(whole(name, &no_headings::one_column(&records.all)));
    }
    for (index, record) in records.all.iter().enumerate() {
        reading.take(index, record, &records.all[index + 1..]).map_err(|message| BadTable::At {
            name: name.into(),
            line: record.line,
            message,
        })?;
    }
    if reading.section.is_none() {
        let numbers = records.all.first().is_some_and(|first| reading.is_mostly_numbers(first));
        let why = if numbers { NO_HEADINGS.into() } else { no_headings::unknown(&records.all) };
        return Err(whole(name, &why));
    }
    finish::finished(reading.table, reading.lost, reading.sizes, &records.all)
}

/// A row of headings and what stands under it; a file may have several.
struct TableSection {
    number: usize,
    headings: Vec<TableHeading>,
    /// Columns that the file lacks and somebody gave.
    given: PublishedRow,
    /// The row above, for cells that are merged with it.
    above: PublishedRow,
}

/// What a row is known by.
type RowKey = (BTreeMap<TableColumn, String>, BTreeMap<TableColumn, u64>);

pub struct RowReading<'m> {
    pub(super) mapping: &'m ColumnMapping,
    pub(super) cells: CellReading<'m>,
    pub(super) table: PublishedTable,
    /// Names that were told: a table may call each row otherwise, and none is looked for among all that was said.
    pub(super) noted: BTreeSet<String>,
    /// The last line that stood alone above headings: what the figures are, and their unit.
    pub(super) title: Option<TableHeading>,
    /// What stood in lines of their own.
    whose: HeadingPlace,
    /// Of them, what no row has come below yet, and the rows when the last of them stood there.
    progress: HeadingPlace,
    whose_rows: usize,
    /// What the figures of a wide table were, for those with the same headings.
    pub(super) figures: Option<(Vec<String>, TableHeading)>,
    section: Option<TableSection>,
    sections: usize,
    /// Names are numbers of copies.
    copies_counted: bool,
    /// The rows of each key, with the section that began them.
    seen: BTreeMap<RowKey, Vec<(usize, usize)>>,
    /// Headings of sizes, each with its place among what was understood.
    sizes: Vec<(usize, String)>,
    lost: LostFigures,
}

impl RowReading<'_> {
    fn take(&mut self, index: usize, record: &TableRecord, below: &[TableRecord]) -> Result<(), String> {
        let filled: Vec<&String> = record.cells.iter().filter(|c| !cells::is_empty(c)).collect();
        if let [alone] = filled[..]
            && let Some(title) = titles::of(alone, self.mapping)
            // `64-byte messages` is a size, and looks like a number with a unit.
            && (!self.cells.is_number(alone) || title.place.bytes.or(title.place.threads).is_some())
        {
            self.title = title.figures.or(self.title.take());
            self.begin_rows_of(title.place);
            return Ok(());
        }
        let may_be_headings = self.section.is_some() || index < HEADINGS_WITHIN;
        if may_be_headings
            && filled.len() > 1
            && !(self.section.is_some() && self.is_data(record))
            && let Some(headings) = self
                .headings(record)
                .or_else(|| self.names_alone(record, below).filter(|_| self.section.is_none()))
        {
            return self.begin(headings, below);
        }
        let Some(mut section) = self.section.take() else { return Ok(()) };
        let done = self.row(&mut section, record);
        self.section = Some(section);
        done
    }

    /// A name, a size or a thread count in a line of its own: those of the rows below.
    fn begin_rows_of(&mut self, place: HeadingPlace) {
        if let (Some(name), Some(section)) = (&place.mechanism, &mut self.section) {
            section.above.texts.insert(TableColumn::Mechanism, name.clone());
        }
        // Lines of progress say one after the other whose turn it is: no row was theirs.
        if self.whose_rows < self.table.rows.len() {
            self.progress = HeadingPlace::default();
        }
        self.whose_rows = self.table.rows.len();
        titles::said_of(&mut self.whose.mechanism, &mut self.progress.mechanism, place.mechanism);
        titles::said_of(&mut self.whose.bytes, &mut self.progress.bytes, place.bytes);
        titles::said_of(&mut self.whose.threads, &mut self.progress.threads, place.threads);
    }

    /// `None`: this is no row of headings.
    fn headings(&self, record: &TableRecord) -> Option<Vec<TableHeading>> {
        let headings: Vec<TableHeading> =
            record.cells.iter().map(|cell| TableHeading::of(cell, self.mapping)).collect();
        let understood = headings.iter().filter(|h| h.is_understood()).count();
        let named = headings.iter().any(TableHeading::is_plain);
        // A row of data may hold sizes and names of mechanisms, too: its first cell is one.
        let wide = headings.len() > 2
            && !headings[0].is_understood()
            && headings[1..].iter().all(|h| h.place.is_some() || h.text.is_empty())
            && (self.section.is_none() || !headings.iter().any(TableHeading::is_number));
        let numbers = headings.iter().filter(|h| h.is_number()).count();
        // The same columns along another axis.
        let again = self.section.as_ref().is_some_and(|section| {
            let texts = section.headings.iter().map(|heading| heading.text.as_str());
            texts.skip(1).eq(record.cells.iter().skip(1).map(String::as_str))
        });
        let is = if named { understood > 1 || again || self.section.is_none() && numbers == 0 } else { wide };
        (is && !(named && self.is_data(record))).then_some(headings)
    }

    /// A row of data, at a glance: to look for headings in it costs time.
    fn is_mostly_numbers(&self, record: &TableRecord) -> bool {
        let numbers = record.cells.iter().filter(|cell| self.cells.is_number(cell)).count();
        numbers * 2 > record.cells.len()
    }

    /// Under the headings that are known, does the row have a figure?
    fn is_data(&self, record: &TableRecord) -> bool {
        let Some(section) = &self.section else { return false };
        let figure = |(heading, cell): (&TableHeading, &String)| {
            heading.is_plain() && heading.column.is_some_and(|c| !c.is_text()) && self.cells.is_number(cell)
        };
        section.headings.iter().zip(&record.cells).any(figure)
    }

    fn begin(&mut self, mut headings: Vec<TableHeading>, below: &[TableRecord]) -> Result<(), String> {
        self.corner_of_columns(&mut headings, below);
        heading::settle(&mut headings)?;
        self.name_corner(&mut headings);
        self.titled_below(below.first());
        let end = below
            .iter()
            .position(|record| {
                !self.is_mostly_numbers(record) && self.headings(record).is_some_and(|h| h.len() > 1)
            })
            .unwrap_or(below.len());
        let cells = CellReading { decimal: self.cells.decimal, mapping: self.mapping };
        let below = Below::of(&below[..end], &cells);
        self.name_figures(&mut headings, &below)?;
        columns::correct(&mut headings, &below);
        self.copies_counted |= (0..headings.len()).any(|at| below.counts_copies(at));
        self.table.differ.extend(statistics::contradictions(&headings, &below));
        let chosen = keys::choose(&mut headings, &below, &mut self.table.differ)?;
        let wide = headings.iter().any(|h| h.place.is_some());
        let completed = keys::complete(&mut headings, &below, wide);
        self.table.understood.extend(chosen.into_iter().chain(completed));
        self.without_units(&mut headings, &below);
        self.note_messages(&headings);
        self.note_parallel(&headings);
        if headings
            .iter()
            .any(|h| h.is_plain() && h.column == Some(TableColumn::Cycles) && h.text.ends_with(":u"))
        {
            self.table.user_mode = true;
            self.once("user mode only (:u): what the kernel spent is not in the counts".into());
        }
        for (at, heading) in headings.iter().enumerate() {
            self.say(heading, below.bare_figure(at));
        }
        self.say_unnamed(&headings, &below);
        let given = self.given(&headings)?;
        let said = headings.iter().filter_map(|h| h.column).filter(|c| *c != TableColumn::Ignored);
        let places = headings.iter().filter_map(|h| h.place.as_ref()).flat_map(HeadingPlace::axes);
        let columns: Vec<TableColumn> = said
            .chain(places)
            .chain(given.texts.keys().copied())
            .chain(given.figures.keys().copied())
            .collect();
        for column in columns {
            if !self.table.has(column) {
                self.table.columns.push(column);
            }
        }
        self.sections += 1;
        self.section =
            Some(TableSection { number: self.sections, headings, given, above: PublishedRow::default() });
        Ok(())
    }

    /// Does the table speak of messages, or of their fields?
    fn note_messages(&mut self, headings: &[TableHeading]) {
        let sizes = headings.iter().filter(|h| h.is_plain() && h.column == Some(TableColumn::MessageBytes));
        for heading in sizes {
            self.table.messages |=
                vocabulary::is_message(&heading.text) || columns::costs_of_messages(headings);
            self.table.fields |= vocabulary::is_field(&heading.text);
        }
    }

    /// `bare`: figures below it have no unit of their own.
    fn say(&mut self, heading: &TableHeading, bare: bool) {
        let text = &heading.text;
        // A size at a name is neither: `bytes, A1`.
        let left = heading
            .place
            .as_ref()
            .map_or(heading.column.is_none(), |_| heading.column.is_some_and(TableColumn::is_place));
        let noted = |left: bool| format!("{text} {left}");
        let mapped = self.mapping.column(text).is_some();
        if mapped || text.is_empty() || !self.noted.insert(noted(left)) {
            return;
        }
        let is_size = heading.is_plain() && heading.column == Some(TableColumn::MessageBytes);
        match columns::said(heading, bare) {
            // Whether it is one of messages, the whole table says.
            Some(_) if is_size => self.sizes.push((self.table.understood.len(), text.clone())),
            said => self.table.understood.extend(self.in_own_words(heading, said)),
        }
        let elsewhere = self.noted.contains(&noted(!left));
        self.table.left_out.retain(|known| !elsewhere || *known != format!("{text:?}"));
        if left || elsewhere {
            let of = if elsewhere { " of one table" } else { "" };
            self.table.left_out.push(format!("{text:?}{of}"));
        }
    }

    /// Columns that an assignment fixes: what the mapping says must be missing here; what was given for all files
    /// fills in.
    fn given(&self, headings: &[TableHeading]) -> Result<PublishedRow, String> {
        let mut given = PublishedRow::default();
        let has = |column| {
            headings.iter().any(|h| {
                h.column == Some(column) || h.place.as_ref().is_some_and(|p| p.axes().contains(&column))
            })
        };
        for (column, text, must) in self.mapping.fixed() {
            if !has(column) {
                self.cells.fill(&mut given, column, text, None)?;
            } else if must {
                return Err(format!("the mapping fixes {}, and the table has such a column", column.title()));
            }
        }
        Ok(given)
    }

    fn row(&mut self, section: &mut TableSection, record: &TableRecord) -> Result<(), String> {
        let first = record.cells.first().map(|cell| vocabulary::bare(cell)).unwrap_or_default();
        let figure = |(heading, cell): (&TableHeading, &String)| {
            heading.column.is_some_and(|c| !c.is_text()) && self.cells.is_number(cell)
        };
        let cells = section.headings.iter().zip(&record.cells);
        if titles::NOTES.iter().any(|word| first.starts_with(word)) || !cells.clone().any(figure) {
            self.table.notes += 1;
            return Ok(());
        }
        let left = |(at, (heading, cell)): (usize, (&TableHeading, &String))| {
            let failed = !heading.is_understood() && cells::has_failed(cell);
            let known =
                |name: &str| self.noted.contains(name) || summary_rows::begins(&self.table.rows, name);
            let sums_up = summary_rows::sums_up(at, heading, cell, known);
            (failed || sums_up).then(|| format!("{:?} is {cell:?}", heading.text))
        };
        if let Some(told) = cells.enumerate().find_map(left) {
            self.lost.row(record.line, told);
            return Ok(());
        }
        let TableSection { number, headings, given, above } = section;
        let mut base = PublishedRow { line: record.line, ..given.clone() };
        let mut along: BTreeMap<&HeadingPlace, PublishedRow> = BTreeMap::new();
        let blank = String::new();
        let cells = record.cells.iter().chain(std::iter::repeat(&blank));
        for (heading, cell) in headings.iter().zip(cells) {
            let Some(column) = heading.column.filter(|c| *c != TableColumn::Ignored) else { continue };
            let row = heading.place.as_ref().map_or(&mut base, |place| along.entry(place).or_default());
            // `n/a` is a name like others: the way has no such thing.
            if cells::is_blank(cell) || cells::is_empty(cell) && !column.is_text() {
                let measured = !AXES.contains(&column) && !column.is_text();
                if measured && cell.contains(char::is_alphabetic) {
                    self.lost.cell(record.line, cell);
                } else {
                    self.table.empty += usize::from(measured);
                }
            } else if column.is_text() || column.is_place() || self.cells.is_figure_of(column, cell) {
                self.fill(row, column, heading, cell)?;
                if column.is_measure() && cells::has_more(cell) {
                    self.once("what stands in brackets behind a figure is left out".into());
                }
            } else {
                self.lost.cell(record.line, cell);
            }
        }
        row_units::one_unit(headings, &record.cells, &mut base);
        self.merged(headings, above, &mut base);
        above.clone_from(&base);
        self.named_above(&along.keys().flat_map(|place| place.axes()).collect(), &mut base);
        if along.is_empty() {
            self.keep(*number, base);
            return Ok(());
        }
        for (place, mut row) in along {
            if row.figures.is_empty() {
                continue;
            }
            row.line = base.line;
            row_units::unit_of_runs(headings, place, &mut row);
            row.texts.extend(base.texts.clone());
            row.figures.extend(base.figures.clone());
            if let Some(mechanism) = &place.mechanism {
                self.name(mechanism);
                row.texts.insert(TableColumn::Mechanism, mechanism.clone());
            }
            row.set(place.numbers());
            if place.repetition.is_some() && !self.table.has(TableColumn::Repetition) {
                self.table.columns.push(TableColumn::Repetition);
            }
            self.keep(*number, row);
        }
        Ok(())
    }

    /// What lines above say of a row that does not say it: `along` are the axes of its columns.
    fn named_above(&mut self, along: &BTreeSet<TableColumn>, row: &mut PublishedRow) {
        let mut said = Vec::new();
        let lacks = |column, row: &PublishedRow| {
            !along.contains(&column) && !row.texts.contains_key(&column) && !row.figures.contains_key(&column)
        };
        if let Some(name) = self.whose.mechanism.clone().filter(|_| lacks(TableColumn::Mechanism, row)) {
            self.name(&name);
            row.texts.insert(TableColumn::Mechanism, name);
            said.push(TableColumn::Mechanism);
        }
        for (column, number) in
            [(TableColumn::MessageBytes, self.whose.bytes), (TableColumn::Threads, self.whose.threads)]
        {
            if let Some(number) = number.filter(|_| lacks(column, row)) {
                row.set([(column, number as f64)]);
                said.push(column);
            }
        }
        said.retain(|column| !self.table.has(*column));
        self.table.columns.extend(said);
    }

    /// Cells of an axis that are empty belong to the cell above.
    fn merged(&mut self, headings: &[TableHeading], above: &PublishedRow, row: &mut PublishedRow) {
        let mut took = false;
        for column in
            AXES.into_iter().filter(|axis| headings.iter().any(|h| h.is_plain() && h.column == Some(*axis)))
        {
            if row.texts.contains_key(&column) || row.figures.contains_key(&column) {
                continue;
            }
            if let Some(text) = above.texts.get(&column) {
                row.texts.insert(column, text.clone());
                took = true;
            }
            if let Some(figure) = above.figures.get(&column) {
                row.figures.insert(column, *figure);
                took = true;
            }
        }
        if took && self.noted.insert("\u{0}merged".into()) {
            self.table.understood.push("an empty name, size or thread count is that of the row above".into());
        }
    }

    /// A row of a later section joins the one with the same name, size and threads, if it has other figures.
    fn keep(&mut self, section: usize, row: PublishedRow) {
        if row.figures.contains_key(&TableColumn::Spread) && !self.table.has(TableColumn::Spread) {
            self.table.columns.push(TableColumn::Spread);
        }
        let known = self.seen.entry(row.key()).or_default();
        let joins = known.iter().find(|(index, began)| {
            let has = &self.table.rows[*index].figures;
            *began != section
                && row
                    .figures
                    .iter()
                    // `1KB` and `1024` are rounded otherwise, and one place.
                    .filter(|(column, _)| !column.is_place())
                    .all(|(column, figure)| has.get(column).is_none_or(|known| known == figure))
        });
        match joins {
            Some((index, _)) => {
                if !finish::joined(&mut self.table.rows[*index], row.figures) {
                    self.lost.row(row.line, finish::REPEATED.into());
                }
            }
            None => {
                known.push((self.table.rows.len(), section));
                self.table.rows.push(row);
            }
        }
    }

    fn fill(
        &mut self,
        row: &mut PublishedRow,
        column: TableColumn,
        heading: &TableHeading,
        cell: &str,
    ) -> Result<(), String> {
        match column {
            TableColumn::Mechanism => self.name_under(cell, &heading.text),
            TableColumn::Variant if self.cells.is_number(cell) => {
                return self.cells.fill(row, column, &format!("{} {cell}", heading.text), None);
            }
            _ => {}
        }
        self.cells.fill(row, column, cell, heading.unit)
    }

    pub(super) fn once(&mut self, told: String) {
        if self.noted.insert(told.clone()) {
            self.table.understood.push(told);
        }
    }

    /// `two` below `Copy` is two-copy.
    fn name_under(&mut self, text: &str, heading: &str) {
        let heading = if self.copies_counted { "copy" } else { heading };
        let both = format!("{text} {heading}");
        if let Some(role) = vocabulary::exact_role(&both).filter(|_| vocabulary::role(text).is_none()) {
            self.table.roles.entry(text.trim().into()).or_insert(role);
        }
        self.name(text);
    }

    /// The role of a name, by its words or by its reader's.
    fn name(&mut self, text: &str) {
        if cells::is_empty(text) || !self.noted.insert(text.into()) {
            return;
        }
        let role = match self.mapping.mechanism(text) {
            Some(NameMeaning::Mechanism(id)) => {
                self.table.understood.push(format!("{text:?} is {id}, as you say"));
                return;
            }
            Some(NameMeaning::Role(role)) => {
                self.table.roles.insert(text.trim().into(), role);
                Some(role)
            }
            None => self.table.role(text),
        };
        match role {
            Some(role) if vocabulary::bare(role.word()) == vocabulary::bare(text) => {}
            Some(role) => {
                self.table.understood.push(format!("{text:?} stands for {}, by its name", role.word()))
            }
            None => self.table.unknown.push(format!("{text:?}")),
        }
    }
}
