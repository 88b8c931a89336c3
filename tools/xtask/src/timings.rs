//! The seconds that each dependency takes of a cold build, beside its reason in CONTRIBUTING.md.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;

/// What cargo's page says of one compilation or build script.
#[derive(Deserialize)]
struct BuildUnit {
    name: String,
    duration: f64,
}

/// The guide with the column of seconds made anew; `timings` is the page of `cargo build --timings`.
pub fn filled(guide: &str, timings: &str) -> Result<String> {
    let (_, units) =
        timings.split_once("const UNIT_DATA = ").context("this is no page of cargo's timings")?;
    let units: Vec<BuildUnit> = serde_json::from_str(units.split(";\n").next().unwrap_or_default())?;
    let mut seconds: BTreeMap<&str, f64> = BTreeMap::new();
    for unit in &units {
        *seconds.entry(&unit.name).or_default() += unit.duration;
    }
    let (before, table) = guide.split_once("| crate | for |").context("the guide has no table of crates")?;
    let (rows, after) = table.split_once("\n\n").context("the table ends")?;
    let row = |row: &str| {
        let cells: Vec<&str> = row.trim_matches(['|', ' ']).split(" | ").take(2).collect();
        let names = cells[0].split(',').map(str::trim);
        let known: Vec<f64> = names.filter_map(|name| seconds.get(name).copied()).collect();
        let shown = if known.is_empty() { "-".into() } else { format!("{:.1}", known.iter().sum::<f64>()) };
        format!("\n| {} | {shown} |", cells.join(" | "))
    };
    // The heading's rest and its rule.
    let rows: String = rows.lines().skip(2).map(row).collect();
    Ok(format!("{before}| crate | for | s |\n|---|---|---|{rows}\n\n{after}"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn seconds_stand_beside_reasons_and_are_replaced() {
        let page = |seconds: f64| {
            format!(
                "const UNIT_DATA = [{{\"name\": \"a\", \"duration\": {seconds}}}, {{\"name\": \"b\", \"duration\": 1}}, \
                 {{\"name\": \"a\", \"duration\": 0.5}}];\nlet x = [];\n"
            )
        };
        let guide =
            "# x\n\n| crate | for |\n|---|---|\n| a, b | letters |\n| *for tests:* c | tests |\n\nmore\n";
        let once = super::filled(guide, &page(2.0)).unwrap();
        let row = |seconds: &str| {
            format!("|---|---|---|\n| a, b | letters | {seconds} |\n| *for tests:* c | tests | - |\n\nmore\n")
        };
        assert!(once.ends_with(&row("3.5")), "{once}");
        assert!(super::filled(&once, &page(1.0)).unwrap().ends_with(&row("2.5")));
    }
}
