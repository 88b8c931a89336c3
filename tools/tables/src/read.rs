//! From a file's text to a table: comma, tab or semicolon separated, or the JSON of iperf3 and netperf.

use super::unit::UnitScale;
use super::vocabulary;
use super::{BadTable, ColumnMapping, PublishedRow, PublishedTable, TableColumn, cells, iperf3, netperf};
use std::collections::BTreeSet;

/// More than any table of results; those that are not understood are told one by one.
const MOST_COLUMNS: usize = 1000;

/// Reads a table; `name` is the file's, for messages.
pub fn read(name: &str, text: &str, mapping: &ColumnMapping) -> Result<PublishedTable, BadTable> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('{') {
        let json = serde_json::from_str(text).map_err(|e| whole(name, &format!("this is not JSON: {e}")))?;
        return iperf3::table(name, &json).or_else(|| netperf::from_json(name, &json)).unwrap_or_else(|| {
            Err(whole(name, "JSON, but neither of iperf3 (-J) nor of netperf's omni test: a CSV would do"))
        });
    }
    match netperf::from_lines(name, text) {
        Some(table) => table,
        None => separated(name, text, mapping),
    }
}

fn whole(name: &str, message: &str) -> BadTable {
    BadTable::Whole { name: name.into(), message: message.into() }
}

/// A column of the file.
struct HeadedColumn {
    column: TableColumn,
    unit: Option<UnitScale>,
    heading: String,
}

fn separated(name: &str, text: &str, mapping: &ColumnMapping) -> Result<PublishedTable, BadTable> {
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .flexible(true)
        .delimiter(delimiter(text))
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let headings = reader.headers().map_err(|e| whole(name, &e.to_string()))?.clone();
    if headings.len() < 2 {
        return Err(whole(name, "no table: its first line has fewer than two columns"));
    }
    if headings.len() > MOST_COLUMNS {
        let told = format!("its first line has {} columns: is this a table of results?", headings.len());
        return Err(whole(name, &told));
    }
    let mut table = PublishedTable { name: name.into(), ..PublishedTable::default() };
    let places = places(&headings, mapping, &mut table)?;
    let fixed = fixed(name, &places, mapping)?;
    table.columns.extend(fixed.texts.keys().chain(fixed.figures.keys()));
    // A table may call each row otherwise: what was said of a name is not looked for among all that was said.
    let mut noted = BTreeSet::new();
    for record in reader.records() {
        let record = record.map_err(|e| whole(name, &e.to_string()))?;
        let line = record.position().map_or(0, |p| p.line() as usize);
        if record.iter().all(cells::is_empty) {
            continue;
        }
        let mut row = PublishedRow { line, ..fixed.clone() };
        for (place, text) in places.iter().zip(&record) {
            fill(&mut row, place, text, mapping, &mut table, &mut noted).map_err(|message| BadTable::At {
                name: name.into(),
                line,
                message,
            })?;
        }
        table.rows.push(row);
    }
    if table.rows.is_empty() {
        return Err(whole(name, "it has headings and no row"));
    }
    Ok(table)
}

/// The separator that the first line of data has most of.
fn delimiter(text: &str) -> u8 {
    let first = text.lines().find(|l| !l.trim().is_empty() && !l.starts_with('#')).unwrap_or("");
    [b',', b'\t', b';'].into_iter().max_by_key(|d| first.bytes().filter(|b| b == d).count()).unwrap_or(b',')
}

fn places(
    headings: &csv::StringRecord,
    mapping: &ColumnMapping,
    table: &mut PublishedTable,
) -> Result<Vec<HeadedColumn>, BadTable> {
    let mut places: Vec<HeadedColumn> = Vec::new();
    for heading in headings {
        let (column, unit) = meaning(heading, mapping, table)?;
        let many = matches!(column, TableColumn::Spread | TableColumn::Ignored);
        if let Some(other) = places.iter().find(|p| p.column == column && !many) {
            return Err(whole(
                &table.name,
                &format!(
                    "both {:?} and {heading:?} look like {}: say in a mapping file which is, and that the other is \
                     \"ignored\"",
                    other.heading,
                    column.title()
                ),
            ));
        }
        if column != TableColumn::Ignored {
            table.columns.push(column);
        }
        places.push(HeadedColumn { column, unit, heading: heading.to_string() });
    }
    if places.iter().all(|p| p.column == TableColumn::Ignored) {
        let known = "none of its headings is known here: name them in a mapping file (--mapping FILE)";
        return Err(whole(&table.name, known));
    }
    Ok(places)
}

fn meaning(
    heading: &str,
    mapping: &ColumnMapping,
    table: &mut PublishedTable,
) -> Result<(TableColumn, Option<UnitScale>), BadTable> {
    if let Some(meaning) = mapping.column(heading) {
        return Ok(meaning);
    }
    match vocabulary::heading(heading) {
        Ok(Some(found)) => {
            if found.unit.is_none() && !found.column.is_called(heading) {
                table.understood.push(format!("{heading:?} is read as {}", found.column.title()));
            }
            Ok((found.column, found.unit))
        }
        Ok(None) => {
            table.understood.push(format!("{heading:?} is not understood, and left out"));
            Ok((TableColumn::Ignored, None))
        }
        Err(why) => Err(whole(&table.name, &format!("the unit of {heading:?} {why}"))),
    }
}

/// Values of the mapping for columns that the table lacks.
fn fixed(name: &str, places: &[HeadedColumn], mapping: &ColumnMapping) -> Result<PublishedRow, BadTable> {
    let mut fixed = PublishedRow::default();
    for (column, text) in mapping.fixed() {
        if places.iter().any(|p| p.column == column) {
            let told = format!("the mapping fixes {}, and the table has such a column", column.title());
            return Err(whole(name, &told));
        }
        if column.is_text() {
            let text =
                cells::mechanism(text, mapping).filter(|_| column == TableColumn::Mechanism).unwrap_or(text);
            fixed.texts.insert(column, text.to_string());
        } else {
            fixed.figures.insert(column, cells::figure(column, text, None).map_err(|e| whole(name, &e))?);
        }
    }
    Ok(fixed)
}

fn fill(
    row: &mut PublishedRow,
    place: &HeadedColumn,
    text: &str,
    mapping: &ColumnMapping,
    table: &mut PublishedTable,
    noted: &mut BTreeSet<String>,
) -> Result<(), String> {
    match place.column {
        TableColumn::Ignored => {}
        TableColumn::Mechanism => {
            let id = cells::mechanism(text, mapping);
            let known = id.unwrap_or(text);
            let note = match id {
                Some(id) if id != text => format!("{text:?} is {id}"),
                Some(_) => String::new(),
                None => format!("{text:?} is no mechanism known here; it keeps its name"),
            };
            if !note.is_empty() && noted.insert(text.to_string()) {
                table.understood.push(note);
            }
            row.texts.insert(place.column, known.to_string());
        }
        column if column.is_text() => {
            row.texts.insert(column, text.to_string());
        }
        _ if cells::is_empty(text) => table.empty += 1,
        column => {
            row.figures.insert(column, cells::figure(column, text, place.unit)?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(text: &str) -> PublishedTable {
        read("t.csv", text, &ColumnMapping::default()).unwrap_or_else(|e| panic!("{e}"))
    }

    fn told(text: &str) -> String {
        read("t.csv", text, &ColumnMapping::default()).unwrap_err().to_string()
    }

    #[test]
    fn tolerant_of_headings_separators_and_units() {
        let one =
            table("# notes\nmechanism,message_bytes,threads,throughput_gbps\nA1,1024,4,8.58\nA3,64KB,4,\n");
        assert_eq!(one.rows[0].text(TableColumn::Mechanism), vocabulary::mechanism("two-copy"));
        assert_eq!(one.rows[0].value(TableColumn::Throughput), Some(8.58e9));
        assert_eq!(one.rows[1].count(TableColumn::MessageBytes), Some(65536));
        assert_eq!((one.rows[1].line, one.empty), (4, 1));
        let other = table("Impl;Msg Size (KB);Threads;Bandwidth [Mbit/s]\nTwoCopy;1;4;8580\n");
        assert_eq!(other.rows[0].figure(TableColumn::Throughput).unwrap().value, 8.58e9);
        assert_eq!(other.rows[0].count(TableColumn::MessageBytes), Some(1024));
    }

    #[test]
    fn what_is_ambiguous_is_refused_with_its_place() {
        assert!(
            told("mechanism,size,throughput\nA1,64,2.5\n")
                .contains("t.csv:2: the throughput \"2.5\" has no unit")
        );
        assert!(told("mechanism,size,Throughput (GBPS)\nA1,64,2.5\n").contains("bits or bytes"));
        assert!(told("mechanism,size,message size,latency_us\nA1,64,64,1\n").contains("both"));
        assert!(told("mechanism,size,latency_us\nA1,64,quick\n").contains("\"quick\" is no number"));
        assert!(told("colour,flavour\nred,sour\n").contains("mapping file"));
        assert!(told("{\"a\": 1}").contains("neither"));
        assert!(told("x").contains("no table"));
    }

    #[test]
    fn a_mapping_supplies_what_a_table_lacks() {
        let mapping = ColumnMapping::from_toml(
            "[columns]\nSpeed = { is = \"throughput\", unit = \"Gbit/s\" }\n[fixed]\nthreads = \"4\"\n",
            "m",
        )
        .unwrap();
        let table = read("t.csv", "method,size,Speed\nzero-copy,64,1\n", &mapping).unwrap();
        assert_eq!(table.rows[0].count(TableColumn::Threads), Some(4));
        assert!(table.has(TableColumn::Threads) && table.rows[0].value(TableColumn::Throughput) == Some(1e9));
    }

    #[test]
    fn a_table_of_names_that_differ_is_read_in_a_moment() {
        let rows = 20_000;
        let names: String = (0..rows).map(|n| format!("way {n},64,1us\nway {n},64,1us\n")).collect();
        let table = table(&format!("mechanism,message_bytes,latency\n{names}"));
        assert_eq!((table.rows.len(), table.understood.len()), (2 * rows, rows), "each name is said once");
    }

    #[test]
    fn what_is_no_heading_costs_no_time() {
        let long = "_".repeat(1 << 20);
        assert!(told(&format!("{long},{long}\n1,2\n")).contains("mapping file"));
        let many = ",".repeat(1 << 20);
        assert!(told(&format!("mechanism{many}\nsend{many}\n")).contains("1048577 columns"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[ -~\\n]{0,300}") {
            let _ = read("t", &text, &ColumnMapping::default());
        }

        #[test]
        fn no_table_makes_it_panic(cells in prop::collection::vec("[0-9a-zA-Z.,%/ -]{0,12}", 4..24)) {
            let text = format!("mechanism,size,threads,throughput_gbps\n{}", cells.join(","));
            let _ = read("t", &text, &ColumnMapping::default());
        }
    }
}
