//! What lmbench prints: the lines of its single programs are operations; its summary, whose columns have headings of
//! three lines, is refused by name. Source: lmbench 3, lat_syscall(8), scripts/getsummary.

use super::{BadTable, PublishedFigure, PublishedRow, PublishedTable, TableColumn};
use std::collections::BTreeMap;

/// What a line's figure is in.
const UNITS: [(&str, &str); 2] = [("microseconds", "us"), ("MB/sec", "MB/s")];

/// `None`: not of lmbench.
pub fn from_lines(name: &str, text: &str) -> Option<Result<PublishedTable, BadTable>> {
    if text.trim_start().starts_with("\"stride=") {
        let why = "lat_mem_rd of lmbench: memory latencies are no transfers of messages".to_string();
        return Some(PublishedTable::of_one(name, Err(why), Vec::new()));
    }
    let spaced = |line: &str| line.replace(' ', "").to_ascii_uppercase();
    let of_summary = |line: &str| {
        let line = spaced(line);
        line.contains("LMBENCH") && line.contains("SUMMARY") || line.contains("ISBETTER")
    };
    if text.lines().take(10).any(of_summary) {
        let message =
            "this is a summary of lmbench, which is not read: put one of its tables into a CSV".into();
        return Some(Err(BadTable::Whole { name: name.into(), message }));
    }
    let operation = |(index, line): (usize, &str)| {
        // `stdio BS= 1024: 969 MB/sec` is another program's: lmbench gives no parameters so.
        let (title, rest) = line.rsplit_once(':').filter(|(title, _)| !title.contains('='))?;
        let (value, of) = rest.trim().split_once(' ')?;
        let value: f64 = value.parse().ok()?;
        let (_, of) = UNITS.iter().find(|(written, _)| *written == of.trim())?;
        let texts = [(TableColumn::Operation, title.trim().to_string()), (TableColumn::Unit, of.to_string())];
        let figures = BTreeMap::from([(TableColumn::Measured, PublishedFigure::exact(value))]);
        Some(PublishedRow { line: index + 1, texts: texts.into(), figures })
    };
    let rows: Vec<PublishedRow> = text.lines().enumerate().filter_map(operation).collect();
    (rows.len() > 1).then(|| {
        let table = PublishedTable::of_one(name, Ok(rows), vec!["lmbench: a line is an operation".into()]);
        table.map(|table| PublishedTable { single: false, ..table })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_operations_and_a_summary_is_refused_by_name() {
        let table = from_lines("l", "Simple syscall: 0.0512 microseconds\nSimple read: 0.1 microseconds\n")
            .unwrap()
            .unwrap();
        assert_eq!(table.rows[1].text(TableColumn::Operation), Some("Simple read"));
        assert_eq!(table.rows[0].value(TableColumn::Measured), Some(0.0512));
        let summary = from_lines("l", "\n   L M B E N C H  3 . 0   S U M M A R Y\n  ----\n").unwrap();
        assert!(summary.unwrap_err().to_string().contains("summary of lmbench"));
    }
}
