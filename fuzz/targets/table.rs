//! Other people's tables (CSV, Markdown, output of other tools) and what their reader says of them: a table, or an error
//! that names the file.

use super::Seen;
use std::path::Path;
use syscost_tables::compare::{compare, sentences};
use syscost_tables::summary::TableSummary;
use syscost_tables::{self as table, ReadingOptions, remark::remarks};

pub fn look(bytes: &[u8], _: &Path) -> Seen {
    let text = String::from_utf8_lossy(bytes);
    let mut understood = false;
    let mut options = ReadingOptions::default();
    // A first line that is an option is one.
    if let Some((first, _)) = text.split_once('\n') {
        let given = [options.give_column(first), options.give_wide(first), options.give_name(first)];
        understood |= given.iter().any(Result::is_ok);
        options = ReadingOptions::default();
    }
    for table in table::read("theirs.csv", &text, &options) {
        match table {
            Ok(table) => {
                assert!(!table.rows.is_empty(), "a table has rows");
                let remarks = remarks(&table);
                let comparisons = compare(&table, &remarks);
                sentences(&table, comparisons.as_deref().unwrap_or_default());
                remarks.iter().for_each(|remark| assert!(!remark.claim().is_empty()));
                TableSummary::of(&table, &remarks, &comparisons);
                understood = true;
            }
            Err(error) => assert!(error.to_string().contains("theirs.csv"), "{error}"),
        }
    }
    Seen::of(understood)
}
