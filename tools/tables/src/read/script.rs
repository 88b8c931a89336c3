//! Scripts that draw: the figures stand in them as lists, `sizes = [64, 1024]` and `two_copy_gbps = [0.2, 3.1]`. Nothing
//! is run: lists and dictionaries of plain values are read, all else is left out.

use super::heading::TableHeading;
use super::layout::TableRecord;
use super::objects;
use super::script_calls::ScriptDrawing;
use super::script_curves;
use super::script_lists::{NamedList, columns, count_copies, listed, name_ways, place_keys};
use super::script_rows::ScriptRows;
use super::script_run::{self, ScriptAssignment};
use super::script_tables::{NOTHING, ScriptRecords, frame, has_lists_alone, said, titled, with_units};
use super::script_value::is_script;
use crate::vocabulary;
use crate::{ColumnMapping, TableColumn};
use std::collections::{BTreeMap, BTreeSet};

/// More than any script of figures has.
const MOST_LISTS: usize = 1000;

/// `None`: this is no script with lists.
pub fn records(text: &str, mapping: &ColumnMapping) -> Option<Result<ScriptRecords, String>> {
    let script_run::ScriptRun { assigned: values, calls } = script_run::run(text);
    let script = is_script(text);
    let mut lists: Vec<NamedList> = values.iter().flat_map(listed).collect();
    if lists.len() > MOST_LISTS {
        return None;
    }
    keep_parts_or_whole(&mut lists);
    count_copies(&mut lists);
    let drawing = ScriptDrawing::of(text, calls);
    let framed = values.iter().find_map(|value| frame(&value.value, mapping));
    if let Some(records) = framed.or_else(|| columns(&lists, mapping)) {
        return Some(Ok((with_units(records, &drawing, mapping), said(&[], &[]))));
    }
    match of_lists(&drawing, &values, lists.clone(), mapping) {
        Some(Ok(read)) => Some(Ok(read)),
        other => {
            let drawn = script_curves::records(&drawing, &lists, mapping).map(Ok);
            drawn.or(other).or_else(|| script.then(|| Err(NOTHING.into())))
        }
    }
}

/// Of lists that say what they are, by their names and by what they are drawn over.
fn of_lists(
    drawing: &ScriptDrawing,
    values: &[ScriptAssignment],
    mut lists: Vec<NamedList>,
    mapping: &ColumnMapping,
) -> Option<Result<ScriptRecords, String>> {
    label_axis(drawing, &mut lists, mapping);
    label_curves(drawing, &mut lists, mapping);
    find_ways(drawing, &mut lists);
    let (mut axes, mut others): (Vec<NamedList>, Vec<NamedList>) =
        lists.into_iter().partition(|list| list.axis(mapping).is_some());
    place_keys(&mut others, &axes, mapping);
    axes.extend(others.iter().filter_map(|list| drawing.axis_in_comment(list, mapping)));
    let (mut figures, left): (Vec<NamedList>, Vec<NamedList>) =
        others.into_iter().partition(|list| list.is_understood(mapping));
    name_ways(&mut figures, mapping);
    let left: Vec<String> =
        left.iter().filter(|list| list.numbers).map(|list| format!("{:?}", list.heading(mapping))).collect();
    if !axes.is_empty() && !figures.is_empty() {
        let lists = ScriptRows { drawing, mapping, axes, figures };
        return Some(lists.records().map(|(records, doubtful)| (records, said(&left, &doubtful))));
    }
    // Below the headings of two rows or more: colours by name are one row.
    let values: Vec<&ScriptAssignment> =
        values.iter().filter(|value| !has_lists_alone(&value.value, mapping)).collect();
    let titled: Vec<TableRecord> =
        values.iter().filter_map(|value| titled(value, drawing, mapping)).flatten().collect();
    if !titled.is_empty() {
        return Some(Ok((titled, said(&left, &[]))));
    }
    let objects = values.iter().filter_map(|value| objects::records(&value.value.json(), mapping));
    if let Some(records) = objects.max_by_key(Vec::len).filter(|records| records.len() > 2) {
        let title = drawing.only_label(TableColumn::is_measure);
        let title = title.map(|title| TableRecord { line: records[0].line, cells: vec![title] });
        let records = with_units(records, drawing, mapping);
        return Some(Ok((title.into_iter().chain(records).collect(), said(&left, &[]))));
    }
    None
}

/// A list whose parts, `a1[1::2]`, are all drawn is those; of another the whole is read.
fn keep_parts_or_whole(lists: &mut Vec<NamedList>) {
    let whole = |list: &NamedList| list.name.split_once('[').map(|(whole, _)| whole.to_string());
    let mut figures: BTreeMap<String, usize> = BTreeMap::new();
    for (list, of) in lists.iter().filter_map(|list| Some((list, whole(list)?))) {
        *figures.entry(of).or_default() += list.cells.len();
    }
    let taken_apart = |list: &&NamedList| figures.get(&list.name) == Some(&list.cells.len());
    let apart: BTreeSet<String> = lists.iter().filter(taken_apart).map(|list| list.name.clone()).collect();
    lists.retain(|list| match whole(list) {
        Some(of) => apart.contains(&of),
        None => !apart.contains(&list.name),
    });
}

/// A variable of figures whose name tells neither an axis nor a quantity.
fn says_nothing(list: &NamedList, mapping: &ColumnMapping) -> bool {
    list.numbers && list.keys.is_empty() && list.axis(mapping).is_none() && !list.is_understood(mapping)
}

/// `x`, which others are drawn over: what the plots' axis is called.
fn label_axis(drawing: &ScriptDrawing, lists: &mut [NamedList], mapping: &ColumnMapping) {
    let others = lists.to_vec();
    for list in lists.iter_mut().filter(|list| says_nothing(list, mapping)) {
        let after = drawing.drawn_over(list, true);
        let drawn = others.iter().filter(|other| after.contains(other.name.as_str()));
        let labels: BTreeSet<&str> =
            drawn.filter_map(|other| drawing.label(other, "xlabel", TableColumn::is_place)).collect();
        list.label = labels.first().filter(|_| labels.len() == 1).map(|label| label.to_string());
    }
}

/// `plot(sizes, two, label="Two-copy")`
fn label_curves(drawing: &ScriptDrawing, lists: &mut [NamedList], mapping: &ColumnMapping) {
    let mut known: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    let drawn = |list: &NamedList| says_nothing(list, mapping) && drawing.is_plain(list);
    for (at, list) in lists.iter_mut().enumerate().filter(|(_, list)| drawn(list)) {
        let Some(curve) = drawing.curve(list) else { continue };
        // Its own name calls it so, too.
        let called = list.called.clone().unwrap_or_else(|| list.name.clone());
        let own = called.split('_').find(|word| {
            let class = vocabulary::exact_role(word);
            class.is_some() && class == vocabulary::exact_role(curve)
        });
        let Some(of) = drawing.label(list, "ylabel", TableColumn::is_measure) else { continue };
        // `cache_A1_8T`
        let place = |word: &&str| {
            let known = TableHeading::of(word, mapping).place.unwrap_or_default();
            known.threads.is_some() || known.bytes.is_some()
        };
        let places = called.split('_').filter(place).map(|place| format!("{place}, ")).collect::<String>();
        let heading = format!("{}, {places}{of}", own.unwrap_or(curve));
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
        let drawn = drawing.drawn_over(list, false).into_iter().any(|name| figures.contains(name));
        list.ways = drawn && list.cells.iter().any(way);
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
