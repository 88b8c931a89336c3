//! Other people's tables (CSV, JSON of other tools) and the mapping of their words: a table, or an error that
//! names the file. The same text is a published table of operations, too.

use super::Seen;
use std::path::Path;
use syscost_analyze::operations::beside::Beside;
use syscost_tables::overtakes::{overtakes, sentences};
use syscost_tables::summary::TableSummary;
use syscost_tables::{self as table, ColumnMapping, remark::remarks};

pub fn look(bytes: &[u8], _: &Path) -> Seen {
    let text = String::from_utf8_lossy(bytes);
    let beside = Beside::table("theirs", &text);
    let mapping = ColumnMapping::from_toml(&text, "mapping.toml");
    if let Err(error) = &mapping {
        assert!(error.to_string().contains("mapping.toml"), "{error}");
    }
    let understood = beside.is_ok() || mapping.is_ok();
    match table::read("theirs.csv", &text, &mapping.unwrap_or_default()) {
        Ok(table) => {
            assert!(!table.rows.is_empty(), "a table has rows");
            let (remarks, overtakes) = (remarks(&table), overtakes(&table));
            sentences(&overtakes);
            remarks.iter().for_each(|remark| assert!(!remark.claim().is_empty()));
            TableSummary::of(&table, &remarks, &overtakes);
            Seen::Understood
        }
        Err(error) => {
            assert!(error.to_string().contains("theirs.csv"), "{error}");
            Seen::of(understood)
        }
    }
}
