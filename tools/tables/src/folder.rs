//! Files of one kind in a folder: what their names say that their tables do not tells them apart.

use super::file_name::{self, NamePlace, set_text};
use super::{PublishedRow, PublishedTable, RowSource, TableColumn, vocabulary};
use std::collections::BTreeSet;
use std::path::Path;

/// More names are counted.
const MOST_NAMES: usize = 4;

/// Single runs of a tool are one table, and so are tables of the same columns whose files' names say which name, size
/// or thread count each is of. All others stay as they are.
pub fn together(tables: Vec<PublishedTable>) -> Vec<PublishedTable> {
    let kind = |table: &PublishedTable| {
        let columns = table.columns.iter().copied().filter(|_| !table.single);
        (table.single, columns.collect::<BTreeSet<_>>())
    };
    let mut groups: Vec<Vec<(usize, PublishedTable)>> = Vec::new();
    for (at, table) in tables.into_iter().enumerate() {
        match groups.iter_mut().find(|group| kind(&group[0].1) == kind(&table)) {
            Some(group) => group.push((at, table)),
            None => groups.push(vec![(at, table)]),
        }
    }
    // In the order of the files.
    let whole = |group: Vec<(usize, PublishedTable)>| {
        let (at, group): (Vec<usize>, Vec<PublishedTable>) = group.into_iter().unzip();
        let tables = if group[0].single { vec![singles(group)] } else { places(group) };
        at.into_iter().zip(tables)
    };
    let mut all: Vec<(usize, PublishedTable)> = groups.into_iter().flat_map(whole).collect();
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, table)| table).collect()
}

fn singles(mut group: Vec<PublishedTable>) -> PublishedTable {
    if group.len() == 1 {
        return group.swap_remove(0);
    }
    let names = places_of(&group);
    let mut given = Vec::new();
    for (table, name) in group.iter_mut().zip(&names) {
        let words: Vec<&String> = name.mechanism.iter().chain(&name.rest).collect();
        // A tool's own name is that of its rows; how it sent stands in the file's.
        let all: Vec<String> = words.into_iter().cloned().collect();
        if !all.is_empty() && !named(table, &all) {
            set_text(table, TableColumn::Variant, &all.join("_"));
            given.push(TableColumn::Variant);
        }
        given.extend(fill(table, name));
    }
    join(group, given)
}

/// Do its rows have these names already?
fn named(table: &PublishedTable, words: &[String]) -> bool {
    let has = |word: &String| {
        table.rows.iter().all(|row| row.texts.values().any(|text| text.contains(word.as_str())))
    };
    words.iter().all(has)
}

fn places(mut group: Vec<PublishedTable>) -> Vec<PublishedTable> {
    if let [table] = &mut group[..] {
        alone(table);
        return group;
    }
    let mut names = places_of(&group);
    if names.iter().any(|name| name.mechanism.is_some()) {
        names.iter_mut().for_each(unknown_role);
    }
    let said = |name: &NamePlace| {
        (name.mechanism.clone(), name.places.iter().map(|(c, v)| (*c, v.to_bits())).collect::<Vec<_>>())
    };
    let distinct: BTreeSet<_> = names.iter().map(said).collect();
    let told = |(table, name): (&PublishedTable, &NamePlace)| {
        name.places.keys().any(|column| !table.has(*column))
            || name.mechanism.is_some() && !table.has(TableColumn::Mechanism)
    };
    let lacking = distinct.len() == group.len() && group.iter().zip(&names).all(told);
    // A file a row, each of which says itself where it stands.
    let whole = |table: &PublishedTable| {
        table.rows.len() == 1 && table.has(TableColumn::Mechanism) && table.has(TableColumn::MessageBytes)
    };
    if group.iter().all(whole) || !lacking && each_of_its_own(&group, &names) {
        return vec![join(group, Vec::new())];
    }
    if !lacking {
        return group;
    }
    let given = group.iter_mut().zip(&names).flat_map(|(table, name)| fill(table, name)).collect();
    vec![join(group, given)]
}

/// Has each file rows of its own, by what all of them say and its name says, too?
fn each_of_its_own(group: &[PublishedTable], names: &[NamePlace]) -> bool {
    let own = |(table, name): (&PublishedTable, &NamePlace)| {
        let all = |(column, value): &(&TableColumn, &f64)| {
            table.rows.iter().all(|row| row.value(**column) == Some(**value))
        };
        let places: Vec<(TableColumn, u64)> =
            name.places.iter().filter(all).map(|(column, value)| (*column, value.to_bits())).collect();
        (mechanism_said(table), places)
    };
    let all: BTreeSet<_> = group.iter().zip(names).map(own).collect();
    let columns = |(name, places): &(Option<String>, Vec<(TableColumn, u64)>)| {
        (name.is_some(), places.iter().map(|(column, _)| *column).collect::<Vec<_>>())
    };
    all.len() == group.len() && all.iter().map(columns).collect::<BTreeSet<_>>().len() == 1
}

/// The one name of all rows, where the file's says it.
fn mechanism_said(table: &PublishedTable) -> Option<String> {
    let names: BTreeSet<Option<&str>> =
        table.rows.iter().map(|row| row.text(TableColumn::Mechanism)).collect();
    let name = names.first().copied().flatten().filter(|_| names.len() == 1)?;
    let words = file_name::words(&table.name).1;
    let is = |some: &[&str]| vocabulary::bare(&some.concat()) == vocabulary::bare(name);
    let role = vocabulary::role(name);
    let said = (1..=words.len()).any(|many| words.windows(many).any(is))
        || role.is_some() && vocabulary::role(&words.join(" ")) == role;
    said.then(|| vocabulary::bare(name))
}

/// Of one file, numbers with a word alone are told: others may be a date.
fn alone(table: &mut PublishedTable) {
    let said = NamePlace::of(&file_name::words(&table.name).1, false);
    let given = if table.has(TableColumn::Operation) { Vec::new() } else { said.fill(table) };
    if !given.is_empty() {
        table.understood.insert(0, format!("the file's name says {}", syscost_core::units::and(&given)));
    }
}

/// Beside names of ways to send, other words name ways, too.
fn unknown_role(name: &mut NamePlace) {
    if name.mechanism.is_none() && !name.rest.is_empty() {
        name.mechanism = Some(std::mem::take(&mut name.rest).join("_"));
    }
}

fn fill(table: &mut PublishedTable, name: &NamePlace) -> Vec<TableColumn> {
    let before = table.columns.len();
    name.fill(table);
    table.columns[before..].to_vec()
}

/// What the folders that differ say, and the files' own names.
fn places_of(group: &[PublishedTable]) -> Vec<NamePlace> {
    let all: Vec<(Vec<&str>, Vec<&str>)> = group.iter().map(|table| file_name::words(&table.name)).collect();
    let many = all.len() > 1;
    let common = |word: &str| many && all.iter().all(|(_, own)| own.contains(&word));
    let in_all = |folder: &&&str| all.iter().all(|(others, _)| others.contains(*folder));
    let folders_all: Vec<&str> = all[0].0.iter().filter(in_all).copied().filter(|_| many).collect();
    let of = |(folders, own): &(Vec<&str>, Vec<&str>)| {
        let apart =
            folders.iter().filter(|folder| !many || !all.iter().all(|(others, _)| others.contains(folder)));
        let mut words: Vec<&str> = apart.filter(|_| many).flat_map(|folder| file_name::cut(folder)).collect();
        let folders = words.len();
        // A number that all names have may be a date; a size is a power of two.
        let dated =
            |word: &str| common(word) && word.parse::<u64>().is_ok_and(|n| !n.is_power_of_two() || n < 64);
        let says = |at: &usize| !dated(own[*at]) || *at > 0 && file_name::is_axis(own[at - 1]);
        words.extend((0..own.len()).filter(says).map(|at| own[at]));
        // What all stand in says where all rows are.
        let shared = folders_all.iter().flat_map(|folder| file_name::cut(folder)).collect::<Vec<_>>();
        let mut said = NamePlace::within(&words, folders, true);
        for (column, value) in NamePlace::within(&shared, shared.len(), false).places {
            if [TableColumn::MessageBytes, TableColumn::Threads].contains(&column) {
                said.places.entry(column).or_insert(value);
            }
        }
        said.rest.retain(|word| !common(word));
        said
    };
    all.iter().map(of).collect()
}

fn join(mut group: Vec<PublishedTable>, given: Vec<TableColumn>) -> PublishedTable {
    let name = name_of(&group);
    let source =
        |table: &PublishedTable, row: &PublishedRow| RowSource { file: table.name.clone(), line: row.line };
    let sources: Vec<RowSource> =
        group.iter().flat_map(|table| table.rows.iter().map(|row| source(table, row))).collect();
    let many = group.len() > 1;
    if many {
        group.iter_mut().for_each(name_lines);
    }
    let mut group = group.into_iter();
    let mut all = group.next().unwrap_or_default();
    all.name = name;
    group.for_each(|table| all.take_in(table));
    all.columns.sort_unstable();
    all.columns.dedup();
    let given: BTreeSet<TableColumn> = given.into_iter().collect();
    if !given.is_empty() {
        let titles: Vec<String> = given.into_iter().map(TableColumn::title).collect();
        all.understood.insert(0, format!("the files' names say {}", syscost_core::units::and(&titles)));
    }
    if many {
        all.rows.iter_mut().enumerate().for_each(|(index, row)| row.line = index + 1);
        all.sources = sources;
    }
    all
}

/// A line of one of several files is named with it.
fn name_lines(table: &mut PublishedTable) {
    let file = format!("({}, line ", table.name);
    table.understood.iter_mut().for_each(|text| *text = text.replace("(line ", &file));
}

/// All of few files; of many their folder and number.
fn name_of(group: &[PublishedTable]) -> String {
    let names: Vec<&str> = group.iter().map(|table| table.name.as_str()).collect();
    if names.len() <= MOST_NAMES {
        return names.join(", ");
    }
    let folders: BTreeSet<&Path> = names.iter().filter_map(|name| Path::new(name).parent()).collect();
    let folder =
        folders.first().filter(|_| folders.len() == 1).map(|folder| format!(" in {}", folder.display()));
    format!("{}{}", syscost_core::units::count(names.len(), "file"), folder.unwrap_or_default())
}
