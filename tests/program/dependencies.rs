//! CONTRIBUTING.md says what each dependency is for, and versions are one number everywhere. Licences, sources and
//! duplicates are cargo-deny's (.ci/supply).

use std::collections::BTreeSet;
use std::path::Path;

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn manifest() -> toml::Table {
    toml::from_str(&read("Cargo.toml")).expect("a manifest")
}

#[test]
fn contributing_says_what_each_dependency_is_for() {
    let guide = read("CONTRIBUTING.md");
    let table = guide
        .split("\n## Dependencies\n")
        .nth(1)
        .and_then(|rest| rest.split("\n## ").next())
        .expect("a table");
    let first = |row: &str| row.strip_prefix("| ")?.split(" | ").next().map(str::to_string);
    let listed: BTreeSet<String> = table
        .lines()
        .filter_map(first)
        .filter(|cell| cell != "crate")
        .flat_map(|cell| {
            let names = cell.replace("*for tests:*", "");
            names.split(',').map(|name| name.trim().to_string()).collect::<Vec<_>>()
        })
        .collect();
    let manifest = manifest();
    let dependencies = manifest["workspace"]["dependencies"].as_table().expect("a table");
    let used: BTreeSet<String> =
        dependencies.keys().filter(|name| !name.starts_with("syscost-")).cloned().collect();
    assert_eq!(listed, used, "the table of dependencies in CONTRIBUTING.md (left) and Cargo.toml (right)");
}

#[test]
fn the_oldest_rust_is_one_number_everywhere() {
    let manifest = manifest();
    let stated = manifest["workspace"]["package"]["rust-version"].as_str().expect("a version");
    assert!(read("README.md").contains(&format!("Rust ({stated} or newer)")), "README.md: Rust {stated}");
    assert!(read("docs/install.md").contains(&format!("Rust {stated}")), "docs/install.md: Rust {stated}");
}

/// Names and versions of a lock file.
fn locked(path: &str) -> BTreeSet<(String, String)> {
    let lock: toml::Table = toml::from_str(&read(path)).expect("cargo's own format");
    let field = |package: &toml::Value, name: &str| package[name].as_str().expect("a string").to_string();
    let packages = lock["package"].as_array().expect("packages");
    packages.iter().map(|package| (field(package, "name"), field(package, "version"))).collect()
}

#[test]
fn the_fuzzed_parsers_are_built_with_what_the_program_is_built_with() {
    let (ours, fuzzed) = (locked("Cargo.lock"), locked("fuzz/Cargo.lock"));
    let names: BTreeSet<&String> = ours.iter().map(|(name, _)| name).collect();
    let shared: BTreeSet<_> = fuzzed.iter().filter(|(name, _)| names.contains(name)).cloned().collect();
    assert!(shared.len() > 30, "the shared dependencies were found");
    let other: Vec<_> = shared.difference(&ours).collect();
    assert!(other.is_empty(), "cd fuzz && cargo update -p NAME --precise VERSION for {other:?}");
}
