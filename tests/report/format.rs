//! FORMAT.md names every column, axis, quantity and metric: its tables are made from the registries.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use syscost_course::{cse221, pa02};
use syscost_experiment::run::histograms;
use syscost_experiment::run::rows::{Column, FIXED};
use syscost_measure::probe;
use syscost_report::csv;

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("FORMAT.md")
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn columns(columns: &[Column]) -> String {
    let mut out = String::from("| column | meaning |\n|---|---|\n");
    for column in columns {
        let _ = writeln!(out, "| `{}` | {} |", column.id, cell(column.help));
    }
    out
}

fn axes() -> String {
    let mut out = String::from("| axis | probe | unit | flag | meaning |\n|---|---|---|---|---|\n");
    for probe in probe::ALL {
        for axis in probe.axes() {
            let (id, unit) = (probe.about().id, axis.unit.symbol());
            let _ =
                writeln!(out, "| `{}` | {id} | {unit} | `--{}` | {} |", axis.id, axis.flag, cell(axis.help));
        }
    }
    out
}

fn quantities() -> String {
    let mut out = String::from("| quantity | probe | unit | meaning |\n|---|---|---|---|\n");
    for probe in probe::ALL {
        for q in probe.quantities() {
            let (id, unit) = (probe.about().id, q.unit.symbol());
            let _ = writeln!(out, "| `{}` | {id} | {unit} | {} |", q.id, cell(q.help));
        }
    }
    out
}

fn metrics() -> String {
    let mut out = String::from("| metric | probe | unit | better | meaning |\n|---|---|---|---|---|\n");
    for probe in probe::ALL {
        for m in probe.metrics() {
            let better = format!("{:?}", m.better).to_lowercase();
            let (id, unit) = (probe.about().id, m.unit.symbol());
            let _ = writeln!(out, "| `{}` | {id} | {unit} | {better} | {} |", m.id, cell(m.help));
        }
    }
    out
}

/// The text with what stands between `<!-- begin: NAME -->` and `<!-- end: NAME -->` replaced.
fn filled(text: &str) -> String {
    let parts = [
        ("samples columns", columns(FIXED)),
        ("histograms columns", columns(histograms::COLUMNS)),
        ("results columns before", columns(csv::BEFORE)),
        ("results columns after", columns(csv::AFTER)),
        ("axes", axes()),
        ("quantities", quantities()),
        ("metrics", metrics()),
        ("pa02 columns", columns(&pa02::columns())),
        ("cse221 columns", columns(cse221::COLUMNS)),
    ];
    let mut text = text.to_string();
    for (name, table) in parts {
        let (begin, end) = (format!("<!-- begin: {name} -->\n"), format!("<!-- end: {name} -->"));
        let from = text.find(&begin).unwrap_or_else(|| panic!("FORMAT.md lacks {begin}")) + begin.len();
        let to = text.find(&end).unwrap_or_else(|| panic!("FORMAT.md lacks {end}"));
        text.replace_range(from..to, &table);
    }
    text
}

#[test]
fn format_md_is_what_the_registries_say() {
    let text = fs::read_to_string(path()).expect("FORMAT.md");
    let wanted = filled(&text);
    if std::env::var_os("SYSCOST_BLESS").is_some() {
        fs::write(path(), &wanted).unwrap();
        return;
    }
    if text != wanted {
        let old: BTreeSet<&str> = text.lines().collect();
        let missing: Vec<&str> = wanted.lines().filter(|l| !old.contains(l)).take(5).collect();
        panic!(
            "FORMAT.md is out of date (first missing lines: {missing:#?}).\nRegenerate its tables: SYSCOST_BLESS=1 cargo test --test report format"
        );
    }
}

/// Every key that run.json can have is documented: the record of a run is walked, values aside.
#[test]
fn every_key_of_the_record_is_documented() {
    let text = fs::read_to_string(path()).expect("FORMAT.md");
    let record = serde_json::to_value(crate::common::small_run().record).unwrap();
    let mut keys = BTreeSet::new();
    walk(&record, &mut keys);
    // Under these the keys are data: axis ids and names that the kernel reported.
    for data in ["axes", "point", "settings"] {
        assert!(keys.contains(data));
    }
    for key in keys {
        assert!(text.contains(&format!("`{key}`")), "FORMAT.md does not name `{key}` of run.json");
    }
}

fn walk(value: &serde_json::Value, keys: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(map) => {
            for (key, value) in map {
                keys.insert(key.clone());
                if !["axes", "point", "settings"].contains(&key.as_str()) {
                    walk(value, keys);
                }
            }
        }
        serde_json::Value::Array(list) => list.iter().for_each(|v| walk(v, keys)),
        _ => {}
    }
}
