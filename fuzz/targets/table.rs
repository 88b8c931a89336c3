//! Other people's tables (CSV, JSON of other tools) and the mapping of their words: a table, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use syscost::table::{self, Mapping, overtakes::overtakes};

fuzz_target!(|text: &str| {
    let mapping = Mapping::from_toml(text, "mapping.toml").unwrap_or_default();
    match table::read("fuzzed.csv", text, &mapping) {
        Ok(table) => drop(overtakes(&table)),
        Err(error) => assert!(error.to_string().contains("fuzzed.csv"), "{error}"),
    }
});
