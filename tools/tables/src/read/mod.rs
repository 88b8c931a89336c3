//! From a file's text to a table: comma, tab, semicolon or bar separated, or the JSON of iperf3 and netperf.

mod alike_lines;
mod arithmetic;
mod beside;
mod columns;
mod curves;
mod finish;
mod grouped;
pub(crate) mod heading;
mod keys;
mod layout;
mod markup;
mod no_headings;
mod objects;
mod own;
mod page;
mod figure_lines;
mod pairs;
mod perf;
mod perf_program;
mod reshape;
mod row_labels;
mod row_units;
mod rows;
mod script;
mod script_builtin;
mod script_calls;
mod script_curves;
mod script_expression;
mod script_lists;
mod script_loops;
mod script_rows;
mod script_run;
mod script_syntax;
mod script_tables;
mod script_value;
mod script_words;
mod sections;
mod several;
mod statistics;
mod summary_rows;
mod sockperf;
mod system;
mod tex;
mod titles;
mod tools;
mod unit_columns;
mod wide;
mod worded;
mod worded_rows;

use super::{BadTable, ColumnMapping, PublishedTable, cells};
use layout::{TableRecord, TableRecords};
use serde_json::Value;

/// How it is said that a script has lists that are not understood: sizes may be among them.
pub const LISTS_LEFT: &str = "lists left out";

/// More than any table of results; those that are not understood are told one by one.
const MOST_COLUMNS: usize = 1000;

/// A file's bytes as text: UTF-8, UTF-16 with its mark (what spreadsheets call Unicode), else Latin-1.
pub fn decode(name: &str, bytes: Vec<u8>) -> Result<String, BadTable> {
    let wide = |from_bytes: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes[2..].chunks_exact(2).map(|pair| from_bytes([pair[0], pair[1]])).collect();
        String::from_utf16(&units).map_err(|_| whole(name, "this is not text (UTF-16 that is broken)"))
    };
    match bytes.get(..2) {
        Some([0xff, 0xfe]) => return wide(u16::from_le_bytes),
        Some([0xfe, 0xff]) => return wide(u16::from_be_bytes),
        _ => {}
    }
    if bytes.contains(&0) {
        return Err(whole(name, "this is not text: export the sheet as CSV"));
    }
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|e| e.as_bytes().iter().map(|byte| char::from(*byte)).collect()))
}

/// Reads a table; `name` is the file's, for messages. Whatever reads it, a table has a row.
pub fn read(name: &str, text: &str, mapping: &ColumnMapping) -> Result<PublishedTable, BadTable> {
    let mut table = any(name, text, mapping)?;
    table.understood.retain(|said| !of_own_heading(said, text));
    finish::legend(&mut table, text);
    if table.rows.is_empty() {
        let said = [table.understood.join("; "), table.left_out.join(", ")].join(" ");
        let why = if said.trim().is_empty() { String::new() } else { format!(" ({})", said.trim()) };
        return Err(whole(
            name,
            &format!("no whole result stands in it{why}: give the output of a complete run"),
        ));
    }
    Ok(table)
}

/// Headings that readers write where a text has none.
const OWN: [&str; 9] = [
    "mechanism",
    "variant",
    "size",
    "threads",
    "operation",
    "measured",
    "run",
    "standard deviation",
    worded::UNNAMED,
];

/// Nothing needs saying of a heading that the text does not have.
fn of_own_heading(said: &str, text: &str) -> bool {
    let Some(own) = OWN
        .into_iter()
        .find(|own| said.strip_prefix('"').is_some_and(|said| said.starts_with(&format!("{own}\" is "))))
    else {
        return false;
    };
    let marks = [',', ';', '|', '\t', '&', '"', ':', '='];
    let heads = |line: &str| {
        line.split_whitespace().next() == Some(own) || line.split(marks).any(|cell| cell.trim() == own)
    };
    !text.lines().any(heads)
}

fn any(name: &str, text: &str, mapping: &ColumnMapping) -> Result<PublishedTable, BadTable> {
    let text = text.trim_start_matches('\u{feff}');
    let drawn = markup::without_boxes(text);
    let text = drawn.as_deref().unwrap_or(text);
    let untagged = markup::without_tags(text);
    let text = untagged.as_deref().unwrap_or(text);
    let Some((others, line)) = system::without(text) else { return page_or_one(name, text, mapping) };
    page_or_one(name, &others, mapping).map(|mut table| {
        table.understood.push(format!("the description of a machine is left out (from line {line})"));
        table
    })
}

fn page_or_one(name: &str, text: &str, mapping: &ColumnMapping) -> Result<PublishedTable, BadTable> {
    match page::table(name, text, mapping) {
        None => one(name, text, mapping),
        Some(Err(why)) => {
            tools::table(name, &page::without_tables(text)).filter(Result::is_ok).unwrap_or(Err(why))
        }
        Some(Ok(mut table)) => {
            let others = tools::named(name, &page::without_tables(text));
            let left = others.iter().map(|tool| format!("the output of {tool} on the page is left out"));
            table.understood.extend(left);
            Ok(table)
        }
    }
}

fn one(name: &str, text: &str, mapping: &ColumnMapping) -> Result<PublishedTable, BadTable> {
    // It takes time to look for them.
    let documents = std::cell::LazyCell::new(|| tools::documents(text).map(|(documents, _)| documents));
    if looks_like_json(text) {
        let json = serde_json::from_str(text).or_else(|error| objects::lines(text).ok_or(error));
        match json {
            Ok(json) => {
                if let Some(code) = notebook(&json) {
                    let nothing = whole(name, script_tables::NOTHING);
                    let table =
                        of_script(name, &code, mapping).filter(|table| table.as_ref() != Err(&nothing));
                    return table.unwrap_or_else(|| Err(whole(name, NOTEBOOK)));
                }
                return tools::of_json(name, &json).unwrap_or_else(|| of_objects(name, &json, mapping));
            }
            // A log's lines may begin with the time in brackets.
            Err(error) if documents.is_none() => {
                let read =
                    tools::table(name, text).or_else(|| of_lines(name, text, mapping)).filter(Result::is_ok);
                return read.unwrap_or_else(|| Err(whole(name, &format!("this is not JSON: {error}"))));
            }
            Err(_) => {}
        }
    }
    if let Some(table) = tools::table(name, text) {
        return table;
    }
    if let Some(documents) = &*documents {
        return of_objects(name, &Value::Array(documents.clone()), mapping);
    }
    if let Some(instead) = tools::refused(text).next() {
        return Err(whole(name, instead));
    }
    if let Some(table) = embedded(name, text, mapping) {
        return table;
    }
    if let Some(table) = of_script(name, text, mapping) {
        return table;
    }
    if let Some(all) = curves::records(text) {
        return rows_of(name, all, mapping);
    }
    if curves::is_gnuplot(text) {
        return Err(whole(name, "a gnuplot script without figures: give the file that it plots"));
    }
    if let Some(pairs::PairsRecords { all, figures, said }) = pairs::records(text, mapping) {
        let table = rows_of(name, all, mapping);
        let instead = if figures || table.is_err() { of_words(name, text, mapping) } else { None };
        return match instead {
            Some(table) => Ok(table),
            None => table.map(|mut table| {
                table.understood.extend(said);
                sections::entitle(&mut table, text, mapping);
                table
            }),
        };
    }
    separated(name, text, mapping).or_else(|why| match of_lines(name, text, mapping) {
        Some(Ok(table)) => Ok(table),
        // A question about a line says more than what lines have in common.
        Some(Err(other)) if matches!(why, BadTable::Whole { .. }) => Err(other),
        _ => Err(why),
    })
}

fn separated(name: &str, text: &str, mapping: &ColumnMapping) -> Result<PublishedTable, BadTable> {
    let barred = markup::with_bars(text);
    let records =
        TableRecords::of(barred.as_deref().unwrap_or(text), mapping).map_err(|why| whole(name, &why))?;
    own::table(name, &records).unwrap_or_else(|| rows_of(name, records, mapping))
}

/// Lines that say the same again with other figures. `None`: another text.
fn of_words(name: &str, text: &str, mapping: &ColumnMapping) -> Option<PublishedTable> {
    let worded_rows::WordedRecords { all, left, lost } = worded_rows::records(text, mapping)?;
    let unnamed = all.first().is_some_and(|head| head.cells.iter().any(|cell| cell == worded::UNNAMED));
    let mut table = rows_of(name, all, mapping).ok()?;
    if unnamed {
        table.understood.push("a time that nothing names is taken as latency".into());
    }
    table.understood.push("lines in words: what comes again with other figures is a row".into());
    table.understood.extend(perf_program::left_out(&left, ""));
    table.understood.extend(perf_program::left_out(&lost, "partly "));
    sections::entitle(&mut table, text, mapping);
    Some(table)
}

/// Text without columns: words about transfers, a figure a line, lines that are alike, or other words.
fn of_lines(name: &str, text: &str, mapping: &ColumnMapping) -> Option<Result<PublishedTable, BadTable>> {
    let words = of_words(name, text, mapping).map(Ok);
    if words.as_ref().is_some_and(|table| table.as_ref().is_ok_and(PublishedTable::is_transfer)) {
        return words;
    }
    let rows = |all: Vec<TableRecord>| rows_of(name, all, mapping);
    if let Some((all, said)) = figure_lines::records(text, mapping) {
        return Some(rows(all).map(|mut table| {
            table.understood.extend(said);
            table
        }));
    }
    let alike = alike_lines::records(text, mapping);
    let alike = alike.map(|all| all.map_err(|why| whole(name, &why)).and_then(rows));
    alike.filter(|table| table.is_ok() || words.is_none()).or(words)
}

const NOTEBOOK: &str =
    "a notebook in which syscost finds no lists of plain figures: give the table that it reads or prints";

fn of_script(name: &str, text: &str, mapping: &ColumnMapping) -> Option<Result<PublishedTable, BadTable>> {
    let table = |(all, said): (Vec<TableRecord>, Vec<String>)| {
        let mut table = rows_of(name, all, mapping)?;
        table.understood.extend(said);
        table.scattered = true;
        Ok(table)
    };
    let records = script::records(text, mapping)?;
    Some(records.map_err(|why| whole(name, &why)).and_then(table))
}

/// A script's only text of several lines that is a table: `data = """size,gbps`.
fn embedded(name: &str, text: &str, mapping: &ColumnMapping) -> Option<Result<PublishedTable, BadTable>> {
    let texts = script_value::is_script(text).then(|| text.split("\"\"\"").skip(1).step_by(2))?;
    let table = |of: &&str| {
        let rows: Vec<usize> = of.trim().lines().map(|line| line.matches([',', ';', '\t']).count()).collect();
        rows.len() > 2 && rows[0] > 1 && rows.iter().all(|cells| *cells == rows[0])
    };
    let mut tables = texts.filter(table);
    let only = tables.next().filter(|_| tables.next().is_none())?;
    Some(one(name, only.trim(), mapping))
}

/// The code of a Jupyter notebook is a script.
fn notebook(json: &Value) -> Option<String> {
    json.get("nbformat")?;
    let cells = json.get("cells")?.as_array()?.iter();
    let code = cells.filter(|cell| cell.get("cell_type").and_then(Value::as_str) == Some("code"));
    let lines = |source: &Value| match source {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    };
    Some(code.filter_map(|cell| cell.get("source")).map(|source| lines(source) + "\n").collect())
}

fn of_objects(name: &str, json: &Value, mapping: &ColumnMapping) -> Result<PublishedTable, BadTable> {
    let none = "JSON without a list of results that is known here, and of no tool (iperf3 -J, fio, netperf): a CSV would do";
    let (all, said) = objects::records_and_left(json, mapping).ok_or_else(|| whole(name, none))?;
    let mut table = rows_of(name, all, mapping)?;
    table.understood.extend(said);
    Ok(table)
}

/// A log's lines may begin with a bracket, too: `[two_copy] size=64`.
fn looks_like_json(text: &str) -> bool {
    let Some(inside) = text.trim_start().strip_prefix('[') else { return text.trim_start().starts_with('{') };
    // `[2026-02-04 10:00:01] [INFO] impl=A1`
    let behind = inside.lines().next().and_then(|line| Some(line.split_once(']')?.1.trim_start()));
    if behind.is_some_and(|rest| rest.starts_with(|c: char| c.is_alphabetic() || c == '[')) {
        return false;
    }
    inside.trim_start().starts_with(|c: char| "{[\"-]".contains(c) || c.is_ascii_digit())
}

fn rows_of(
    name: &str,
    records: impl Into<TableRecords>,
    mapping: &ColumnMapping,
) -> Result<PublishedTable, BadTable> {
    let mut records = records.into();
    for cell in records.all.iter_mut().flat_map(|record| &mut record.cells) {
        if let Some(text) = cells::unit_of_both(cell) {
            *cell = text;
        }
    }
    let reshaped = reshape::reshape(&mut records, mapping);
    let mut table = rows::table(name, &records, mapping)?;
    table.understood.extend(reshaped);
    table.derive();
    Ok(table)
}

fn whole(name: &str, message: &str) -> BadTable {
    BadTable::Whole { name: name.into(), message: message.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TableColumn;
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
        assert_eq!(one.rows[0].text(TableColumn::Mechanism), Some("A1"), "what it is stays the author's");
        assert_eq!(one.rows[0].value(TableColumn::Throughput), Some(8.58e9));
        assert_eq!(one.rows[1].count(TableColumn::MessageBytes), Some(65536));
        assert_eq!((one.rows[1].line, one.empty), (4, 1));
        let other = table("Impl;Msg Size (KB);Threads;Bandwidth [Mbit/s]\nTwoCopy;1;4;8580\n");
        assert_eq!(other.rows[0].figure(TableColumn::Throughput).unwrap().value, 8.58e9);
        assert_eq!(other.rows[0].count(TableColumn::MessageBytes), Some(1024));
    }

    #[test]
    fn what_is_ambiguous_is_refused_with_its_place() {
        let two = told("mechanism,msg size,message size,latency_us\nA1,64,32,1\nA1,64,64,1\nA1,32,32,1\n");
        assert!(two.contains("both"), "{two}");
        assert!(
            told("mechanism,size,latency_us\nA1,small,1\nA1,64,2\nA2,64,2\n")
                .contains("\"small\" is no number")
        );
        assert!(told("colour,flavour\nred,sour\n").contains("mapping file"));
        assert!(told("{\"a\": 1}").contains("no tool"));
        assert!(told("x").contains("no table"));
    }

    #[test]
    fn a_name_in_a_line_of_its_own_is_that_of_the_rows_below() {
        let rows = "Size (B),Threads,Gbps\n64,1,2\n64,4,3\n";
        for mark in ["=== NAME ===", "NAME,,", "# NAME", "NAME:"] {
            let text = format!(
                "{}\n{rows}{}\n{rows}",
                mark.replace("NAME", "Two-Copy"),
                mark.replace("NAME", "Zero-Copy")
            );
            let table = table(&text);
            let names: Vec<_> = table.rows.iter().map(|row| row.text(TableColumn::Mechanism)).collect();
            let expected = ["Two-Copy", "Two-Copy", "Zero-Copy", "Zero-Copy"].map(Some);
            assert_eq!(names, expected, "{mark}");
        }
    }

    #[test]
    fn rows_that_sum_up_are_no_runs_and_cells_may_say_what_they_are() {
        let runs = table("Part,Size,Run,Gbps\nA1,64,1,2\nA1,64,2,3\nA1,64,avg,2.5\n");
        assert_eq!((runs.rows.len(), runs.notes), (2, 0));
        assert_eq!(runs.understood[0], "a row where \"Run\" is \"avg\" is left out (line 4)");
        let wide = table("Impl,Size,T=1,T=4\nA1,64,2 Gbps,3 Gbps\nA2,64,2 Gbps,4 Gbps\n");
        assert_eq!((wide.rows.len(), wide.rows[3].value(TableColumn::Throughput)), (4, Some(4e9)));
        let lines =
            table("{\"impl\":\"A1\",\"size\":64,\"gbps\":2}\n{\"impl\":\"A2\",\"size\":64,\"gbps\":3}\n");
        assert_eq!(lines.rows[1].value(TableColumn::Throughput), Some(3e9));
        let cells = "{\"threads\":1,\"gbps\":2},{\"threads\":4,\"gbps\":3}";
        let by_size = format!("{{\"64\":[{cells}],\"4096\":[{cells}]}}");
        for text in [
            format!(
                "{{\"host\":{{\"cpus\":4}},\"runs\":{{\"two_copy\":{by_size},\"zero_copy\":{by_size}}}}}"
            ),
            format!(
                "[{{\"mode\":\"two_copy\",\"sizes\":{by_size}}},{{\"mode\":\"zero_copy\",\"sizes\":{by_size}}}]"
            ),
        ] {
            let nested = table(&text);
            let place = |row: &crate::PublishedRow| {
                (row.count(TableColumn::MessageBytes), row.count(TableColumn::Threads))
            };
            let mut places: Vec<_> = nested.rows.iter().map(place).collect();
            places.sort();
            places.dedup();
            assert_eq!((nested.rows.len(), places.len()), (8, 4), "{text}");
            assert!(nested.left_out.is_empty() || text.contains("host"), "{:?}", nested.left_out);
            assert!(nested.rows.iter().all(|row| row.text(TableColumn::Mechanism).is_some()));
        }
        let columns = table("{\"impl\":[\"A1\",\"A2\"],\"size\":[64,64],\"gbps\":[2,3]}");
        assert_eq!(columns.rows[1].value(TableColumn::Throughput), Some(3e9));
        let ends = table("impl,size,client_cycles,server_cycles\nA1,64,1,2\nA2,64,3,4\n");
        assert!(!ends.has(TableColumn::Variant) && ends.rows[1].value(TableColumn::Cycles) == Some(4.0));
        // A quantity a line and a name a column is no output of perf stat.
        let counts = "Size,Threads,Metric,Two-Copy,One-Copy\n64,1,Cycles,90,80\n64,1,Instructions,70,60\n";
        let counted = table(counts);
        assert_eq!((counted.rows.len(), counted.rows[1].value(TableColumn::Instructions)), (2, Some(60.0)));
        assert!(
            told("     1.000145,2634,,context-switches,1000145000,100.00,2.6,K/sec\n")
                .contains("perf stat -I")
        );
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
        assert_eq!((table.rows.len(), table.unknown.len()), (2 * rows, rows), "each name is said once");
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
