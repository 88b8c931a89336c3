//! The lists of a script with the names and keys that lead to them, and what those say.

use super::columns::COPIES;
use super::heading::{HeadingPlace, SMALLEST_SIZE, TableHeading};
use super::layout::TableRecord;
use super::script_run::ScriptAssignment;
use super::script_value::{ListKey, ScriptKind, ScriptValue};
use crate::vocabulary;
use crate::{ColumnMapping, TableColumn};
use std::collections::{BTreeMap, BTreeSet};

pub const PLACES: [TableColumn; 2] = [TableColumn::MessageBytes, TableColumn::Threads];

/// A list with the names that lead to it.
#[derive(Clone, Default)]
pub struct NamedList {
    pub line: usize,
    /// The variable.
    pub name: String,
    /// What leads to it inside: numbers with the axis that they are places of.
    pub keys: Vec<ListKey>,
    /// The same as it stands in the script.
    pub path: Vec<ListKey>,
    pub cells: Vec<String>,
    pub numbers: bool,
    /// What the plot calls its axis, or its curve.
    pub label: Option<String>,
    /// The variable with words that it leaves away.
    pub called: Option<String>,
    /// Names of ways to send that something is drawn over.
    pub ways: bool,
    /// The key that names it, as those of lists beside it name ways to send.
    pub way: Option<String>,
}

impl NamedList {
    /// As a heading: the variable's name stands there where it is understood; `sizes` are those of `size`.
    pub fn heading(&self, mapping: &ColumnMapping) -> String {
        if let Some(label) = &self.label {
            return label.clone();
        }
        let keys = self.place(mapping).1.join(", ");
        let name = self.quantity();
        let both = if keys.is_empty() { name.clone() } else { format!("{keys}, {name}") };
        let singular = name.strip_suffix(['s', 'S']).unwrap_or_default();
        // `sizes_kb`
        let words: Vec<&str> = name.split('_').map(|word| word.strip_suffix('s').unwrap_or(word)).collect();
        let words = words.join("_");
        let candidates = [both.as_str(), keys.as_str(), singular, words.as_str()];
        let understood = |text: &&&str| !text.is_empty() && TableHeading::of(text, mapping).is_understood();
        let found = candidates.iter().find(understood).map_or(both.clone(), |text| text.to_string());
        // `bytes_two_copy` are what was sent: the sizes are those of all.
        let known = TableHeading::of(&found, mapping);
        let of_one = known.place.is_some_and(|place| place.mechanism.is_some());
        if self.numbers && of_one && known.column == Some(TableColumn::MessageBytes) {
            return format!("total {found}");
        }
        found
    }

    /// What its keys say of places, and the keys that say something else.
    pub fn place(&self, mapping: &ColumnMapping) -> (HeadingPlace, Vec<&str>) {
        let (mut all, mut others) = (HeadingPlace::default(), Vec::new());
        for key in self.keys.iter().filter_map(ListKey::text) {
            let said = TableHeading::of(key, mapping);
            match said.place.filter(|place| said.column.is_none() && !place.as_cells().is_empty()) {
                Some(place) => {
                    all.mechanism = all.mechanism.or(place.mechanism);
                    all.bytes = all.bytes.or(place.bytes);
                    all.threads = all.threads.or(place.threads);
                }
                None => others.push(key),
            }
        }
        all.mechanism = all.mechanism.or(self.way.clone());
        (all, others)
    }

    /// The variable without the words for what it runs over: `latency_by_threads`, `cycles_data`.
    fn quantity(&self) -> String {
        let called = self.called.as_deref().unwrap_or(&self.name);
        let called = called.split_once('[').map_or(called, |(whole, _)| whole);
        let cut = ["_by_", "_vs_", "_BY_", "_VS_"].iter().find_map(|word| called.split_once(word));
        let name = cut.map_or(called, |(name, _)| name);
        let name = name.strip_prefix("x_").unwrap_or(name);
        let words = plain_name(name).split('_').map(|word| match word {
            "tp" | "thr" | "thru" => "throughput",
            word => word,
        });
        words.collect::<Vec<_>>().join("_")
    }

    /// What its rows are places of; of no column: a list of figures.
    pub fn axis(&self, mapping: &ColumnMapping) -> Option<TableColumn> {
        let distinct: BTreeSet<&String> = self.cells.iter().collect();
        if distinct.len() < self.cells.len() {
            return None;
        }
        if self.ways {
            return Some(TableColumn::Mechanism);
        }
        if let Some(column) = self.labels(mapping) {
            return Some(column);
        }
        let heading = TableHeading::of(&self.heading(mapping), mapping);
        let role = |cell: &String| vocabulary::exact_role(cell).is_some();
        if !self.numbers && self.cells.iter().all(role) {
            return Some(TableColumn::Mechanism);
        }
        let column = heading.column.filter(|_| heading.is_plain())?;
        let names = column == TableColumn::Mechanism && !self.numbers;
        let numbers = self.cells.iter().all(|cell| cell.parse::<f64>().is_ok());
        (names || numbers && PLACES.contains(&column)).then_some(column)
    }

    /// Texts that are places: `["1KB", "4KB"]`.
    pub fn labels(&self, mapping: &ColumnMapping) -> Option<TableColumn> {
        let place = |cell: &String| TableHeading::of(cell, mapping).place;
        let places: Option<Vec<_>> = self.cells.iter().map(place).collect();
        let places = places.filter(|all| !self.numbers && !all.is_empty())?;
        let all = |of: fn(&HeadingPlace) -> Option<u64>| places.iter().all(|place| of(place).is_some());
        let columns =
            [(TableColumn::MessageBytes, all(|p| p.bytes)), (TableColumn::Threads, all(|p| p.threads))];
        columns.into_iter().find(|(_, is)| *is).map(|(column, _)| column)
    }

    /// Axes at one place of which it stands, by its keys and its name.
    pub fn fixed(&self, mapping: &ColumnMapping) -> Vec<TableColumn> {
        let place = TableHeading::of(&self.heading(mapping), mapping).place.unwrap_or_default();
        place.axes().into_iter().chain(self.place(mapping).0.axes()).collect()
    }

    /// Figures of a name, or of a quantity: positions and colours are neither.
    pub fn is_understood(&self, mapping: &ColumnMapping) -> bool {
        let heading = TableHeading::of(&self.heading(mapping), mapping);
        let placed = heading.place.is_some() || !self.place(mapping).0.as_cells().is_empty();
        self.numbers && (placed || heading.column.is_some_and(TableColumn::is_measure))
    }
}

/// Keys that are numbers are places of the axis that has them all, else sizes where they are large.
pub fn place_keys(lists: &mut [NamedList], axes: &[NamedList], mapping: &ColumnMapping) {
    let mut beside: BTreeMap<(usize, usize), BTreeSet<u64>> = BTreeMap::new();
    let number = |key: &ListKey| key.text().and_then(|text| text.parse::<u64>().ok());
    for list in &*lists {
        for (depth, number) in list.keys.iter().enumerate().filter_map(|(at, key)| Some((at, number(key)?))) {
            beside.entry((list.line, depth)).or_default().insert(number);
        }
    }
    for list in lists {
        for (depth, key) in list.keys.iter_mut().enumerate() {
            let (Some(number), Some(all)) = (number(key), beside.get(&(list.line, depth))) else { continue };
            let has = |axis: &&NamedList| {
                axis.numbers && all.iter().all(|number| axis.cells.contains(&number.to_string()))
            };
            let columns: BTreeSet<TableColumn> =
                axes.iter().filter(has).filter_map(|axis| axis.axis(mapping)).collect();
            let size = match (columns.first(), columns.len()) {
                (Some(column), 1) => *column == TableColumn::MessageBytes,
                _ if all.iter().any(|number| *number >= SMALLEST_SIZE) => true,
                _ => continue,
            };
            *key = ListKey::Text(format!("{number} {}", if size { "B" } else { "threads" }));
        }
    }
}

/// `{"Two-Copy": [2, 3], "sendfile": [3, 4]}`: where one key is a way to send, those beside it are names as well.
pub fn name_ways(lists: &mut [NamedList], mapping: &ColumnMapping) {
    let is_way = |key: &ListKey| key.text().is_some_and(|key| vocabulary::exact_role(key).is_some());
    let mut ways = BTreeSet::new();
    for list in &*lists {
        ways.extend(list.keys.iter().position(is_way).map(|depth| (list.line, depth)));
    }
    for list in lists.iter_mut().filter(|list| !list.keys.iter().any(is_way)) {
        let mut keys = list.keys.iter().enumerate().filter(|(depth, _)| ways.contains(&(list.line, *depth)));
        let key = keys.find_map(|(_, key)| key.text());
        list.way = key.filter(|key| !TableHeading::of(key, mapping).is_understood()).map(String::from);
    }
}

/// A list that is a column: of which name, and its heading.
struct ListColumn<'l> {
    list: &'l NamedList,
    of: Vec<String>,
    heading: String,
    column: Option<TableColumn>,
    /// Its name says whose it is, `A1_threads`: others have an axis of their own.
    by_name: bool,
}

impl<'l> ListColumn<'l> {
    fn of(list: &'l NamedList, mapping: &ColumnMapping) -> Option<ListColumn<'l>> {
        let column = |of: Vec<String>, heading: String, by_name| {
            let known = TableHeading::of(&heading, mapping);
            let plain = known.is_plain();
            plain.then_some(ListColumn { list, of, heading, column: known.column, by_name })
        };
        match list.keys.last().and_then(ListKey::text) {
            Some(key) => {
                let outer = list.keys.iter().rev().skip(1).filter_map(ListKey::text);
                column(outer.map(String::from).collect(), key.into(), false)
            }
            None => column(Vec::new(), list.heading(mapping), false).or_else(|| {
                let parts =
                    list.name.match_indices('_').map(|(at, _)| (&list.name[..at], &list.name[at + 1..]));
                let role = |text: &str| vocabulary::exact_role(text).is_some();
                let mut parts = parts.flat_map(|(one, other)| [(one, other), (other, one)]);
                parts.find_map(|(way, rest)| {
                    let of = role(way).then(|| vec![way.to_string()])?;
                    column(of, NamedList { name: rest.into(), ..list.clone() }.heading(mapping), true)
                })
            }),
        }
    }

    fn is_key(&self) -> bool {
        self.column.is_some_and(|column| PLACES.contains(&column) || column.is_text())
    }
}

/// Lists of one length are columns where places come again in them and no two rows are of the same places.
pub fn columns(lists: &[NamedList], mapping: &ColumnMapping) -> Option<Vec<TableRecord>> {
    // `{"two_copy": {"threads": [1, 1, 2], "size": [64, 128, 64], "gbps": [2, 3, 3]}}`
    let mut frames: BTreeMap<(usize, Vec<String>), Vec<ListColumn>> = BTreeMap::new();
    let columns: Vec<ListColumn> = lists.iter().filter_map(|list| ListColumn::of(list, mapping)).collect();
    // An axis of all is over those of one.
    let common: BTreeSet<usize> = columns
        .iter()
        .filter(|column| column.list.keys.is_empty() && !column.by_name && column.is_key())
        .map(|column| column.list.cells.len())
        .collect();
    for column in columns {
        let line = if column.list.keys.is_empty() { 0 } else { column.list.line };
        frames.entry((line, column.of.clone())).or_default().push(column);
    }
    let mut all: Vec<TableRecord> = Vec::new();
    for ((_, outer), mut lists) in frames {
        let rows = lists.iter().map(|column| column.list.cells.len()).max()?;
        lists.retain(|column| column.list.cells.len() == rows);
        let keys: Vec<&ListColumn> = lists.iter().filter(|column| column.is_key()).collect();
        let distinct = |row: &dyn Fn(usize) -> Vec<String>| (0..rows).map(row).collect::<BTreeSet<_>>().len();
        let again = |key: &&ListColumn| distinct(&|at| vec![key.list.cells[at].clone()]) < rows;
        let apart = distinct(&|at| keys.iter().map(|key| key.list.cells[at].clone()).collect()) == rows;
        let framed = keys.len() > 1 && keys.iter().all(again)
            || !keys.is_empty() && lists[0].by_name && !common.contains(&rows);
        if !framed || keys.len() == lists.len() || !apart {
            continue;
        }
        if outer.iter().any(|key| vocabulary::exact_role(key).is_none()) {
            return None;
        }
        let names = outer.iter().map(|_| "mechanism".to_string());
        let line = lists[0].list.line;
        let cells = names.chain(lists.iter().map(|column| column.heading.clone())).collect();
        all.push(TableRecord { line, cells });
        let cells = |at: usize| lists.iter().map(move |column| column.list.cells[at].clone());
        all.extend(
            (0..rows).map(|at| TableRecord { line, cells: outer.iter().cloned().chain(cells(at)).collect() }),
        );
    }
    (!all.is_empty()).then_some(all)
}

/// `lat_two`, `lat_zero`: variables that count copies.
pub fn count_copies(lists: &mut [NamedList]) {
    let words = |name: &str| name.split('_').map(str::to_ascii_lowercase).collect::<Vec<_>>();
    let counts = |name: &str| {
        let words = words(name);
        let at = words.iter().position(|word| COPIES.contains(&word.as_str()))?;
        // `two` alone is called by its curve's label.
        (words.len() > 1 && words.get(at + 1).is_none_or(|next| !next.starts_with("cop")))
            .then(|| words[at].clone())
    };
    let said: BTreeSet<String> = lists.iter().filter_map(|list| counts(&list.name)).collect();
    if said.len() < 2 || !said.contains("zero") {
        return;
    }
    for list in lists.iter_mut().filter(|list| counts(&list.name).is_some()) {
        let word = |word: &str| match COPIES.contains(&word.to_ascii_lowercase().as_str()) {
            true => format!("{word}copy"),
            false => word.to_string(),
        };
        list.called = Some(list.name.split('_').map(word).collect::<Vec<_>>().join("_"));
    }
}

/// Without a word that every variable may have.
pub fn plain_name(name: &str) -> &str {
    ["_data", "_DATA", "_values"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name)
}

/// The lists of a variable.
pub fn listed(of: &ScriptAssignment) -> Vec<NamedList> {
    inside(of, &[], &of.value)
}

fn inside(of: &ScriptAssignment, keys: &[ListKey], value: &ScriptValue) -> Vec<NamedList> {
    let inner = |key: ListKey, value: &ScriptValue| {
        let keys: Vec<ListKey> = keys.iter().cloned().chain([key]).collect();
        inside(of, &keys, value)
    };
    match &value.is {
        ScriptKind::List(all) if all.iter().all(|one| matches!(one.is, ScriptKind::List(_))) => {
            let at = |(at, value)| inner(ListKey::At(at, all.len()), value);
            all.iter().enumerate().flat_map(at).collect()
        }
        ScriptKind::List(all) => {
            let numbers = all.iter().all(|one| matches!(one.is, ScriptKind::Number(_)));
            let cells: Option<Vec<String>> = all.iter().map(|one| one.cell().map(String::from)).collect();
            let list = |cells| NamedList {
                line: of.line,
                name: of.name.clone(),
                keys: keys.to_vec(),
                path: keys.to_vec(),
                cells,
                numbers,
                ..Default::default()
            };
            cells.filter(|cells| cells.len() > 1).map(list).into_iter().collect()
        }
        ScriptKind::Dictionary(of) => {
            of.iter().flat_map(|(key, value)| inner(ListKey::Text(key.clone()), value)).collect()
        }
        _ => Vec::new(),
    }
}
