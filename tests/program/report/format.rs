//! FORMAT.md names every key of a run's record.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("FORMAT.md")
}

/// Keys of objects whose own keys are data: axis ids, names that the kernel reported, threads of the kernel.
const DATA: [&str; 4] = ["axes", "point", "settings", "spent_ns"];

/// Every key that run.json can have is documented: the record of a run is walked, values aside.
#[test]
fn every_key_of_the_record_is_documented() {
    let text = fs::read_to_string(path()).expect("FORMAT.md");
    let record = serde_json::to_value(crate::report::common::small_run().record).unwrap();
    let mut keys = BTreeSet::new();
    walk(&record, &mut keys);
    // Under these the keys are data.
    for data in DATA {
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
                if !DATA.contains(&key.as_str()) {
                    walk(value, keys);
                }
            }
        }
        serde_json::Value::Array(list) => list.iter().for_each(|v| walk(v, keys)),
        _ => {}
    }
}
