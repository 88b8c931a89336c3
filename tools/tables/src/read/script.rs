//! Scripts that draw: the figures stand in them as lists, `sizes = [64, 1024]` and `two_copy_gbps = [0.2, 3.1]`. Nothing
//! is run: lists and dictionaries of plain values are read, all else is left out.

use super::heading::{HeadingPlace, TableHeading};
use super::layout::TableRecord;
use super::objects;
use super::script_calls::{PLACES, ScriptDrawing, runs_over};
use super::script_lists::{ListKey, NamedList, axis_in_comment, columns, count_copies, listed, place_keys};
use super::script_tables::{frame, has_lists_alone, only_label, said, titled, with_units};
use super::script_value::{self, ScriptAssignment, is_script};
use super::titles;
use crate::{ColumnMapping, TableColumn};
use crate::{naming, vocabulary};
use std::collections::{BTreeMap, BTreeSet};

/// More than any script of figures has.
const MOST_LISTS: usize = 1000;

/// The records of a script, and what is to be said of them.
pub type ScriptRecords = (Vec<TableRecord>, Vec<String>);

/// `None`: this is no script with lists.
pub fn records(text: &str, mapping: &ColumnMapping) -> Option<Result<ScriptRecords, String>> {
    let values = script_value::assigned(text);
    let script = is_script(text);
    let mut lists: Vec<NamedList> =
        values.iter().flat_map(|value| listed(value.line, &value.name, &[], &value.value)).collect();
    if lists.len() > MOST_LISTS {
        return None;
    }
    count_copies(&mut lists);
    let framed = values.iter().find_map(|value| frame(&value.value, mapping));
    if let Some(records) = framed.or_else(|| columns(&lists, mapping)) {
        return Some(Ok((with_units(records, text, mapping), said(&[], &[]))));
    }
    let drawing = ScriptDrawing::of(text);
    label_axis(&drawing, &mut lists, mapping);
    label_curves(&drawing, &mut lists, mapping);
    find_ways(&drawing, &mut lists);
    let (mut axes, mut others): (Vec<NamedList>, Vec<NamedList>) =
        lists.into_iter().partition(|list| list.axis(mapping).is_some());
    place_keys(&mut others, &axes, mapping);
    axes.extend(others.iter().filter_map(|list| axis_in_comment(&drawing, list, mapping)));
    let (figures, left): (Vec<NamedList>, Vec<NamedList>) =
        others.into_iter().partition(|list| list.is_understood(mapping));
    let left: Vec<String> =
        left.iter().filter(|list| list.numbers).map(|list| format!("{:?}", list.heading(mapping))).collect();
    if !axes.is_empty() && !figures.is_empty() {
        let lists = Lists { drawing, text, mapping, axes, figures };
        return Some(lists.records().map(|(records, doubtful)| (records, said(&left, &doubtful))));
    }
    // Below the headings of two rows or more: colours by name are one row.
    let values: Vec<&ScriptAssignment> =
        values.iter().filter(|value| !has_lists_alone(&value.value, mapping)).collect();
    let titled: Vec<TableRecord> =
        values.iter().filter_map(|value| titled(value, text, mapping)).flatten().collect();
    if !titled.is_empty() {
        return Some(Ok((titled, said(&left, &[]))));
    }
    let objects = values.iter().filter_map(|value| objects::records(&value.value.json(), mapping));
    if let Some(records) = objects.max_by_key(Vec::len).filter(|records| records.len() > 2) {
        let title = only_label(text, TableColumn::is_measure);
        let title = title.map(|title| TableRecord { line: records[0].line, cells: vec![title] });
        let records = with_units(records, text, mapping);
        return Some(Ok((title.into_iter().chain(records).collect(), said(&left, &[]))));
    }
    script.then(|| Err(NOTHING.into()))
}

pub const NOTHING: &str = "a script in which syscost finds no lists of plain figures over sizes or threads: give the table that it reads";

/// `x`, which others are drawn over: what the plots' axis is called.
fn label_axis(drawing: &ScriptDrawing, lists: &mut [NamedList], mapping: &ColumnMapping) {
    let names: BTreeSet<String> = lists.iter().map(|list| list.name.clone()).collect();
    let unknown = |list: &&mut NamedList| {
        list.numbers && list.keys.is_empty() && list.axis(mapping).is_none() && !list.is_understood(mapping)
    };
    for list in lists.iter_mut().filter(unknown) {
        let drawn = drawing.after(&list.name).into_iter().filter(|name| names.contains(*name));
        let labels: BTreeSet<&str> =
            drawn.filter_map(|name| drawing.label(name, "xlabel", TableColumn::is_place)).collect();
        list.label = labels.first().filter(|_| labels.len() == 1).map(|label| label.to_string());
    }
}

/// `plot(sizes, two, label="Two-copy")`
fn label_curves(drawing: &ScriptDrawing, lists: &mut [NamedList], mapping: &ColumnMapping) {
    let unknown = |list: &NamedList| {
        list.numbers && list.keys.is_empty() && list.axis(mapping).is_none() && !list.is_understood(mapping)
    };
    let mut known: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, list) in lists.iter_mut().enumerate().filter(|(_, list)| unknown(list)) {
        let Some(curve) = drawing.curve(&list.name) else { continue };
        // Its own name calls it so, too.
        let called = list.called.clone().unwrap_or_else(|| list.name.clone());
        let own = called.split('_').find(|word| {
            let class = vocabulary::exact_role(word);
            class.is_some() && class == vocabulary::exact_role(curve)
        });
        let Some(of) = drawing.label(&list.name, "ylabel", TableColumn::is_measure) else { continue };
        let heading = format!("{}, {of}", own.unwrap_or(curve));
        let said = TableHeading::of(&heading, mapping);
        let named = said.place.is_some_and(|place| place.mechanism.is_some());
        if named && said.column.is_some_and(TableColumn::is_measure) {
            known.entry(heading.clone()).or_default().push(at);
            list.label = Some(heading);
        }
    }
    // A name that two lists are drawn by is of one place each, which nothing says.
    for at in known.into_values().filter(|all| all.len() > 1).flatten() {
        lists[at].label = None;
    }
}

/// Texts that bars are drawn over are names where one of them is that of a way to send.
fn find_ways(drawing: &ScriptDrawing, lists: &mut [NamedList]) {
    let figures: BTreeSet<String> =
        lists.iter().filter(|list| list.numbers).map(|list| list.name.clone()).collect();
    for list in lists.iter_mut().filter(|list| !list.numbers && list.keys.is_empty()) {
        let way = |cell: &String| vocabulary::exact_role(cell).is_some() || vocabulary::is_control(cell);
        let drawn = drawing.drawn_over(&list.name).into_iter().any(|name| figures.contains(name));
        list.ways = drawn && list.cells.iter().any(way);
    }
}

struct Lists<'t> {
    drawing: ScriptDrawing<'t>,
    text: &'t str,
    mapping: &'t ColumnMapping,
    axes: Vec<NamedList>,
    figures: Vec<NamedList>,
}

impl Lists<'_> {
    /// Under a line of headings for each axis, its places and figures; and the lists whose axis is not known.
    fn records(&self) -> Result<ScriptRecords, String> {
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
            for list in lists {
                let places = list.place(self.mapping).0.as_cells();
                let heading = if places.is_empty() { String::new() } else { self.labelled(&list) };
                let titles = places.into_iter().map(|(title, _)| title).collect();
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
        let label =
            self.drawing.axis_label(&list.name, "ylabel").filter(|_| self.drawing.is_plain(&list.name));
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
            let (axis, outer) = self.drawing.sliced(&list.name, &names)?;
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
        let drawn_over =
            |name: &String| self.drawing.over(&list.name, &[name.as_str()]) == Some(name.as_str());
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
        let drawn = self.drawing.over(&figures.name, &names).or(self.drawing.ticks(&figures.name, &names));
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
        let label = self.drawing.label(&figures.name, "xlabel", TableColumn::is_place);
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
        let (titled, _) = said(self.drawing.titles(&figures.name));
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

    /// What titles and comments say of axes that the lists do not run over; one place that is said of some is that of all.
    fn tell_places(&self, lists: &mut [NamedList], axis: &NamedList) {
        for column in PLACES.into_iter().filter(|column| axis.axis(self.mapping) != Some(*column)) {
            let told: Vec<Option<String>> = lists.iter().map(|list| self.told_place(list, column)).collect();
            let different: BTreeSet<&String> = told.iter().flatten().collect();
            let said = |(list, told): (&NamedList, &Option<String>)| {
                told.is_some() || list.fixed(self.mapping).contains(&column)
            };
            if different.len() > 1 || lists.iter().zip(&told).all(said) {
                for (list, told) in lists.iter_mut().zip(told) {
                    list.keys.splice(..0, told.map(ListKey::Text));
                }
            }
        }
        for list in lists.iter_mut().filter(|_| axis.axis(self.mapping) != Some(TableColumn::Mechanism)) {
            let told = self.told_way(list).map(ListKey::Text);
            list.keys.splice(..0, told);
        }
    }

    /// `Zero-Copy: latency by message size`
    fn told_way(&self, list: &NamedList) -> Option<String> {
        let texts = self.drawing.titles(&list.name).into_iter();
        let ways = texts.filter_map(|text| titles::of(text, self.mapping)?.place.mechanism);
        let mut exact = ways.filter(|name| vocabulary::exact_role(name).is_some());
        exact.next().filter(|_| !list.fixed(self.mapping).contains(&TableColumn::Mechanism))
    }

    fn told_place(&self, list: &NamedList, column: TableColumn) -> Option<String> {
        let comments = [self.drawing.comment(list.line), self.drawing.section(list.line)];
        let texts = self.drawing.titles(&list.name).into_iter().chain(comments.into_iter().flatten());
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
        let plain = self.drawing.is_plain(&list.name);
        let finer = |column: TableColumn| {
            known.column == Some(TableColumn::Cycles)
                && self.drawing.draws(&list.name)
                && [TableColumn::CyclesPerByte, TableColumn::CyclesPerMessage].contains(&column)
        };
        let fits = |column: TableColumn| fits(column) || finer(column);
        let own = self.drawing.label(&list.name, "ylabel", fits).filter(|_| plain);
        // Millions are those of what is drawn, and this is not drawn itself.
        let counted = measure.is_some_and(naming::is_count);
        let only = || only_label(self.text, fits).filter(|_| plain && !counted);
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

#[cfg(test)]
mod tests {
    use crate::{ColumnMapping, PublishedTable, TableColumn, read};

    fn of(text: &str) -> Result<PublishedTable, String> {
        read("plot.py", text, &ColumnMapping::default()).map_err(|e| e.to_string())
    }

    #[test]
    fn dictionaries_are_tables_and_curves_are_named_by_their_labels() {
        let nested = "T = [1]\nTHROUGHPUT = {'A1': {64: {1: 0.25, 8: 1.5}}, 'A2': {64: {1: 0.5, 8: 2.5}}}\n\
                      plt.ylabel('Throughput (Gbps)')\n";
        let table = of(nested).unwrap();
        let last = &table.rows[3];
        assert_eq!(
            (last.count(TableColumn::Threads), last.value(TableColumn::Throughput)),
            (Some(8), Some(2.5e9)),
            "{table:?}"
        );
        let lists = "THROUGHPUT = {'A1': {64: [0.25, 1.5]}, 'A2': {64: [0.5, 2.5]}}\nimport x\n";
        assert!(of(&format!("import x\n{lists}")).is_err(), "what its lists run over, nothing says");
        let curves = |label: &str| {
            let plots = format!("plt.plot(sizes, one, label='A1')\nplt.plot(sizes, two, label='{label}')\n");
            of(&format!(
                "import x\nsizes = [64, 1024]\none = [1, 2]\ntwo = [3, 4]\n{plots}plt.ylabel('Throughput (Gbps)')\n"
            ))
        };
        let names: Vec<_> = curves("A2")
            .unwrap()
            .rows
            .iter()
            .filter_map(|row| row.text(TableColumn::Mechanism).map(str::to_string))
            .collect();
        assert_eq!(names, ["A1", "A2", "A1", "A2"]);
        assert!(curves("A1").is_err(), "one name for two curves names neither");
    }

    #[test]
    fn lists_are_columns_and_an_axis_that_is_doubtful_is_asked_for() {
        let lists = "import matplotlib.pyplot as plt\nsizes = [64, 1 << 10]  # bytes\nthreads = [1, 4]\n\
                     a1 = [0.25, 2.5]\na3 = [0.125,\n      9.5]\nplt.ylabel('Throughput (Gbps)')\n";
        let drawn = of(&format!("{lists}plt.plot(sizes, a1)\nplt.plot(sizes, a3, label='A3')\n")).unwrap();
        let last = &drawn.rows[3];
        assert_eq!(
            (
                last.text(TableColumn::Mechanism),
                last.count(TableColumn::MessageBytes),
                last.value(TableColumn::Throughput)
            ),
            (Some("a3"), Some(1024), Some(9.5e9))
        );
        assert!(of(lists).unwrap_err().contains("sizes or of threads"), "{:?}", of(lists));
        let twice = "sizes = [64, 1024]\na1_gbps = [1, 2]\na1_gbps = [3, 4]\n";
        assert!(of(twice).unwrap_err().contains("twice"), "{:?}", of(twice));
        let computed = "sizes = [64, 1024]\na1_gbps = [1, 2]\na2_gbps = [x * 8 for x in raw]\n";
        let table = of(computed).unwrap();
        assert_eq!(table.rows.len(), 2, "what is computed is not read");
    }
}
