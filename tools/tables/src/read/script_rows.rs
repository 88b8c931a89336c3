//! The rows of a script: each list of figures along the axis that it is drawn over, or that comments and titles tell.

use super::heading::{HeadingPlace, TableHeading};
use super::layout::TableRecord;
use super::script_calls::{ScriptDrawing, runs_over};
use super::script_lists::{NamedList, PLACES};
use super::script_tables::{NOTHING, ScriptRecords};
use super::script_value::ListKey;
use super::titles;
use crate::{ColumnMapping, TableColumn};
use crate::{naming, vocabulary};
use std::collections::{BTreeMap, BTreeSet};

pub struct ScriptRows<'t> {
    pub drawing: &'t ScriptDrawing<'t>,
    pub mapping: &'t ColumnMapping,
    pub axes: Vec<NamedList>,
    pub figures: Vec<NamedList>,
}

impl ScriptRows<'_> {
    /// Under a line of headings for each axis, its places and figures; and the lists whose axis is not known.
    pub fn records(&self) -> Result<ScriptRecords, String> {
        let named = |list: &&NamedList| list.keys.is_empty() && !list.name.is_empty();
        let names = self.axes.iter().chain(&self.figures).filter(named);
        let mut seen = BTreeSet::new();
        if let Some(twice) = names.map(|list| &list.name).find(|name| !seen.insert(*name)) {
            return Err(format!("this script gives {twice:?} twice: put the figures of one plot into a CSV"));
        }
        let mut by_axis: BTreeMap<usize, Vec<NamedList>> = BTreeMap::new();
        let mut doubtful = Vec::new();
        for list in self.figures.iter().filter(|list| !self.is_share(list)) {
            let placed = self.placed(list).and_then(|figures| Ok((self.axis_of(&figures)?, figures)));
            match placed {
                Ok((Some(axis), figures)) => {
                    by_axis.entry(axis).or_default().push(figures);
                }
                Ok((None, _)) => doubtful.push((list, NOTHING.to_string())),
                Err(question) => doubtful.push((list, question)),
            }
        }
        if let ([(_, question), ..], true) = (&doubtful[..], by_axis.is_empty()) {
            return Err(question.clone());
        }
        let mut all = Vec::new();
        for (axis, mut lists) in by_axis {
            let axis = &self.axes[axis];
            self.tell_places(&mut lists, axis);
            // Lists at places of their own are rows, the others columns.
            let mut sections: BTreeMap<(Vec<&str>, String), Vec<NamedList>> = BTreeMap::new();
            let mut named = BTreeSet::new();
            for list in lists {
                let places = list.place(self.mapping).0.as_cells();
                let heading = if places.is_empty() { String::new() } else { self.labelled(&list) };
                let titles = places.into_iter().map(|(title, _)| title).collect();
                let name = self.labelled(&list);
                if !named.insert((list.place(self.mapping).0, name.clone())) {
                    return Err(format!(
                        "several lists of this script are {name:?}: put the figures of one plot into a CSV"
                    ));
                }
                sections.entry((titles, heading)).or_default().push(list);
            }
            for ((titles, heading), lists) in sections {
                let places = titles.iter().map(|title| title.to_string()).chain([self.axis_heading(axis)]);
                let wide = heading.is_empty();
                let columns: Vec<&[NamedList]> = if wide { vec![&lists] } else { lists.chunks(1).collect() };
                let figures =
                    if wide { lists.iter().map(|list| self.labelled(list)).collect() } else { vec![heading] };
                all.push(TableRecord { line: axis.line, cells: places.chain(figures).collect() });
                for lists in columns {
                    let places = lists[0].place(self.mapping).0.as_cells();
                    all.extend((0..axis.cells.len()).map(|at| {
                        let figures = lists.iter().map(|list| list.cells[at].clone());
                        let places = places.iter().map(|(_, place)| place.clone());
                        let cells = places.chain([axis.cells[at].clone()]).chain(figures).collect();
                        TableRecord { line: lists[0].line, cells }
                    }));
                }
            }
        }
        if all.is_empty() {
            return Err(
                "its figures are shares (per byte, per million): no test of syscost reads them".into()
            );
        }
        let mut names: Vec<String> = doubtful.iter().map(|(list, _)| format!("{:?}", list.name)).collect();
        names.dedup();
        Ok((all, names))
    }

    fn axis_heading(&self, axis: &NamedList) -> String {
        let named = axis.axis(self.mapping).filter(|column| *column == TableColumn::Mechanism);
        let of_texts = named.or_else(|| axis.labels(self.mapping));
        of_texts.map_or_else(|| axis.heading(self.mapping), TableColumn::title)
    }

    /// Figures that the plot calls a share of something: `Cache misses per million operations`.
    fn is_share(&self, list: &NamedList) -> bool {
        let label = self.drawing.axis_label(list, "ylabel").filter(|_| self.drawing.is_plain(list));
        label.is_some_and(|text| {
            naming::column_of(text).is_none() && vocabulary::tokens(text).iter().any(|word| word == "per")
        })
    }

    /// Lists of lists with the places of the outer ones.
    fn placed(&self, list: &NamedList) -> Result<NamedList, String> {
        let mut list = list.clone();
        for depth in 0..list.keys.len() {
            let ListKey::At(at, of) = list.keys[depth] else { continue };
            let axis = self.outer(&list, of)?;
            list.keys[depth] = ListKey::Text(self.place(axis, at));
        }
        Ok(list)
    }

    fn outer(&self, list: &NamedList, many: usize) -> Result<usize, String> {
        let all = self.fitting(list, many, true);
        let names: Vec<&str> = all.iter().map(|at| self.axes[*at].name.as_str()).collect();
        let slice = || {
            let (axis, outer) = self.drawing.sliced(list, &names)?;
            all.iter().copied().find(|at| (self.axes[*at].name == axis) == outer)
        };
        match all[..] {
            [] => Err(NOTHING.into()),
            [one] => Ok(one),
            _ => slice().ok_or_else(|| self.question(list, &all)),
        }
    }

    /// As a heading says it: `64 B`, `4 threads`, `A1`.
    fn place(&self, axis: usize, at: usize) -> String {
        let axis = &self.axes[axis];
        let cell = &axis.cells[at];
        let heading = TableHeading::of(&self.axis_heading(axis), self.mapping);
        let number = cell.parse::<f64>().ok();
        match (axis.axis(self.mapping), number) {
            (Some(TableColumn::MessageBytes), Some(number)) => {
                format!("{} B", number * heading.unit.map_or(1.0, |unit| unit.factor))
            }
            (Some(TableColumn::Threads), Some(number)) => format!("{number} threads"),
            _ => cell.clone(),
        }
    }

    /// Axes of so many places, each once, that a list may run over: none at one place of which it stands.
    fn fitting(&self, list: &NamedList, many: usize, ways: bool) -> Vec<usize> {
        let fixed = list.fixed(self.mapping);
        let drawn_over = |name: &String| self.drawing.over(list, &[name.as_str()]) == Some(name.as_str());
        let column = |at: usize| self.axes[at].axis(self.mapping);
        let fits = |at: &usize| {
            let axis = &self.axes[*at];
            let comment = axis.name.is_empty();
            let named = column(*at) == Some(TableColumn::Mechanism);
            axis.cells.len() == many
                && (!comment || axis.line == list.line)
                && (!named || ways || drawn_over(&axis.name))
                && column(*at).is_none_or(|column| !fixed.contains(&column))
        };
        let mut all: Vec<usize> = (0..self.axes.len()).filter(fits).collect();
        if !ways && all.is_empty() {
            all = self.fitting(list, many, true);
        }
        let drawn = |at: &usize| drawn_over(&self.axes[*at].name);
        all.sort_by_key(|at| !drawn(at));
        let mut once: Vec<usize> = Vec::new();
        for at in all {
            if !once.iter().any(|known| self.is_same(&self.axes[*known], &self.axes[at])) {
                once.push(at);
            }
        }
        once
    }

    fn question(&self, list: &NamedList, among: &[usize]) -> String {
        let names: Vec<&str> = among.iter().map(|at| self.axes[*at].name.as_str()).collect();
        format!(
            "are the figures of {:?} those of {}? All have {} values: put them into a CSV",
            list.name,
            names.join(" or of "),
            self.axes[among[0]].cells.len()
        )
    }

    /// The axis that a list is drawn over, else the one of its length that neither its name nor a comment rules out.
    fn axis_of(&self, figures: &NamedList) -> Result<Option<usize>, String> {
        let of = |at: usize| self.axes[at].axis(self.mapping);
        let fitting = self.fitting(figures, figures.cells.len(), false);
        let [first, others @ ..] = &fitting[..] else { return Ok(None) };
        if others.is_empty() {
            return Ok(Some(*first));
        }
        let names: Vec<&str> = self.axes.iter().map(|axis| axis.name.as_str()).collect();
        let drawn = self.drawing.over(figures, &names).or(self.drawing.ticks(figures, &names));
        let drawn = self.axes.iter().find(|axis| Some(axis.name.as_str()) == drawn);
        if let Some(axis) = drawn
            && let Some(at) = fitting.iter().find(|at| self.is_same(&self.axes[**at], axis))
        {
            return Ok(Some(*at));
        }
        let only = |columns: &[TableColumn]| {
            let mut along =
                fitting.iter().filter(|at| of(**at).is_some_and(|column| columns.contains(&column)));
            along.next().copied().filter(|_| along.next().is_none())
        };
        let label = self.drawing.label(figures, "xlabel", TableColumn::is_place);
        let labelled = label.and_then(naming::column_of).and_then(|named| only(&[named.column]));
        let said = |texts: Vec<&str>| -> (Vec<TableColumn>, Vec<TableColumn>) {
            let all: Vec<_> = texts.iter().map(|text| runs_over(text, self.mapping)).collect();
            (
                all.iter().flat_map(|said| said.0.clone()).collect(),
                all.into_iter().flat_map(|said| said.1).collect(),
            )
        };
        let comments = [self.drawing.comment(figures.line), self.drawing.section(figures.line)];
        let (over, at_one) = said(comments.concat());
        let (titled, _) = said(self.drawing.titles(figures));
        let free: Vec<TableColumn> = PLACES.into_iter().filter(|column| !at_one.contains(column)).collect();
        let by_name = figures.name.rsplit_once("_by_").or_else(|| figures.name.rsplit_once("_vs_"));
        let by_name = by_name.and_then(|(_, axis)| TableHeading::of(axis, self.mapping).column);
        let told = labelled
            .or_else(|| only(&titled))
            .or_else(|| only(&[by_name?]))
            .or_else(|| only(&over))
            .or_else(|| only(&free).filter(|_| free.len() == 1));
        told.map(Some).ok_or_else(|| self.question(figures, &fitting))
    }

    /// What titles and comments say of axes that the lists do not run over: one place that is said of all of a quantity,
    /// or several of them.
    fn tell_places(&self, lists: &mut [NamedList], axis: &NamedList) {
        let quantity = |list: &NamedList| TableHeading::of(&self.labelled(list), self.mapping).column;
        let quantities: Vec<Option<TableColumn>> = lists.iter().map(quantity).collect();
        for column in PLACES.into_iter().filter(|column| axis.axis(self.mapping) != Some(*column)) {
            let told: Vec<Option<String>> = lists.iter().map(|list| self.told_place(list, column)).collect();
            let different: BTreeSet<&String> = told.iter().flatten().collect();
            let said = |at: usize| told[at].is_some() || lists[at].fixed(self.mapping).contains(&column);
            let all = |of: Option<TableColumn>| (0..lists.len()).all(|at| quantities[at] != of || said(at));
            let taken: Vec<bool> = quantities.iter().map(|of| different.len() > 1 || all(*of)).collect();
            for ((list, told), _) in lists.iter_mut().zip(told).zip(taken).filter(|(_, taken)| *taken) {
                list.keys.splice(..0, told.map(ListKey::Text));
            }
        }
        for list in lists.iter_mut().filter(|_| axis.axis(self.mapping) != Some(TableColumn::Mechanism)) {
            let told = self.told_way(list).map(ListKey::Text);
            list.keys.splice(..0, told);
        }
    }

    /// `Zero-Copy: latency by message size`
    fn told_way(&self, list: &NamedList) -> Option<String> {
        let texts = self.drawing.titles(list).into_iter();
        let ways = texts.filter_map(|text| titles::of(text, self.mapping)?.place.mechanism);
        let mut exact = ways.filter(|name| vocabulary::exact_role(name).is_some());
        exact.next().filter(|_| !list.fixed(self.mapping).contains(&TableColumn::Mechanism))
    }

    fn told_place(&self, list: &NamedList, column: TableColumn) -> Option<String> {
        let comments = [self.drawing.comment(list.line), self.drawing.section(list.line)];
        let texts = self.drawing.curve(list).into_iter().chain(self.drawing.titles(list));
        let texts = texts.chain(comments.into_iter().flatten());
        let places = texts.filter_map(|text| titles::of(text, self.mapping)).map(|title| title.place);
        let place = |place: HeadingPlace| match column {
            TableColumn::Threads => place.threads.map(|n| format!("{n} threads")),
            _ => place.bytes.map(|n| format!("{n} B")),
        };
        places.filter_map(place).next().filter(|_| !list.fixed(self.mapping).contains(&column))
    }

    /// The same places, as numbers or as texts.
    fn is_same(&self, one: &NamedList, other: &NamedList) -> bool {
        let places = |list: &NamedList| -> Vec<Option<u64>> {
            let place = |cell: &String| {
                let place = TableHeading::of(cell, self.mapping).place.unwrap_or_default();
                place.bytes.or(place.threads).or(cell.parse().ok())
            };
            list.cells.iter().map(place).collect()
        };
        one.cells == other.cells
            || one.axis(self.mapping) == other.axis(self.mapping)
                && places(one) == places(other)
                && places(one).iter().all(Option::is_some)
    }

    /// Its heading with what the plot calls its axis: the quantity, or the unit alone.
    fn labelled(&self, list: &NamedList) -> String {
        let heading = list.heading(self.mapping);
        let mut known = TableHeading::of(&heading, self.mapping);
        // `results` of what, the plot says.
        if known.column == Some(TableColumn::Measured) {
            known.column = None;
        }
        let measure = known.column.filter(|column| column.is_measure());
        let fits = |column: TableColumn| measure.is_none_or(|of| of == column) && column.is_measure();
        let plain = self.drawing.is_plain(list);
        let finer = |column: TableColumn| {
            known.column == Some(TableColumn::Cycles)
                && self.drawing.draws(list)
                && [TableColumn::CyclesPerByte, TableColumn::CyclesPerMessage].contains(&column)
        };
        let fits = |column: TableColumn| fits(column) || finer(column);
        let own = self.drawing.label(list, "ylabel", fits).filter(|_| plain);
        // Millions are those of what is drawn, and this is not drawn itself.
        let counted = measure.is_some_and(naming::is_count);
        let only = || self.drawing.only_label(fits).filter(|_| plain && !counted);
        let Some(label) = own.map(str::to_string).or_else(only).filter(|_| known.unit.is_none()) else {
            return heading;
        };
        if !known.is_understood() && !list.keys.is_empty() {
            return label;
        }
        let Some(place) = known.place.or(measure.map(|_| HeadingPlace::default())) else {
            return format!("{heading}, {label}");
        };
        let places = [
            place.mechanism,
            place.bytes.map(|bytes| format!("{bytes} B")),
            place.threads.map(|threads| format!("{threads} threads")),
            place.number.map(|number| number.to_string()),
        ];
        places.into_iter().flatten().chain([label]).collect::<Vec<_>>().join(", ")
    }
}
