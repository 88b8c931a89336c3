//! What the program is made of obeys deny.toml: licences, sources, duplicates; and CONTRIBUTING.md says what each
//! dependency is for. Needs no tool but cargo, and no network. Advisories are cargo-deny's, which has both.
//!
//! Source of the rules: the documentation of cargo-deny; of licence expressions: SPDX 2.3, annex D.

use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Deserialize)]
struct Policy {
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
struct Licenses {
    allow: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Bans {
    skip: Vec<Skip>,
}

#[derive(Deserialize)]
struct Skip {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: Vec<String>,
    allow_git: Vec<String>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
    root: String,
}

#[derive(Deserialize)]
struct Node {
    id: String,
}

#[derive(Deserialize, Clone)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    /// `None`: of this repository.
    source: Option<String>,
    dependencies: Vec<Wanted>,
}

#[derive(Deserialize, Clone)]
struct Wanted {
    name: String,
    req: String,
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn policy() -> Policy {
    let text = std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml is there");
    toml::from_str(&text).expect("deny.toml is a policy")
}

/// What is built for Linux on this kind of processor, tests included; and which package is ours.
fn packages() -> (Vec<Package>, String) {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--all-features"])
        .args(["--filter-platform", &target, "--manifest-path"])
        .arg(root().join("Cargo.toml"))
        .output()
        .expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Metadata = serde_json::from_slice(&output.stdout).expect("cargo's own format");
    let used: BTreeSet<&str> = metadata.resolve.nodes.iter().map(|node| node.id.as_str()).collect();
    let packages: Vec<Package> =
        metadata.packages.iter().filter(|p| used.contains(p.id.as_str())).cloned().collect();
    assert!(packages.len() > 30, "the dependencies were found");
    (packages, metadata.resolve.root)
}

/// Does one way of reading the expression need allowed licences only? `None`: it is no expression.
fn allowed(expression: &str, allow: &BTreeSet<String>) -> Option<bool> {
    // Crates of the time before SPDX write a slash for OR.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (answer, rest) = any(&words, allow)?;
    rest.is_empty().then_some(answer)
}

type Read<'w> = Option<(bool, &'w [&'w str])>;

fn any<'w>(words: &'w [&'w str], allow: &BTreeSet<String>) -> Read<'w> {
    let (mut answer, mut rest) = all(words, allow)?;
    while let Some((&"OR", after)) = rest.split_first() {
        let (other, after) = all(after, allow)?;
        (answer, rest) = (answer || other, after);
    }
    Some((answer, rest))
}

fn all<'w>(words: &'w [&'w str], allow: &BTreeSet<String>) -> Read<'w> {
    let (mut answer, mut rest) = one(words, allow)?;
    while let Some((&"AND", after)) = rest.split_first() {
        let (other, after) = one(after, allow)?;
        (answer, rest) = (answer && other, after);
    }
    Some((answer, rest))
}

fn one<'w>(words: &'w [&'w str], allow: &BTreeSet<String>) -> Read<'w> {
    match words {
        ["(", rest @ ..] => {
            let (answer, rest) = any(rest, allow)?;
            Some((answer, rest.strip_prefix(&[")"])?))
        }
        [name, "WITH", exception, rest @ ..] => {
            Some((allow.contains(&format!("{name} WITH {exception}")), rest))
        }
        ["OR" | "AND" | "WITH" | ")", ..] | [] => None,
        [name, rest @ ..] => Some((allow.contains(*name), rest)),
    }
}

#[test]
fn licences_are_those_of_the_policy() {
    let allow = policy().licenses.allow;
    let (packages, _) = packages();
    for package in packages.iter().filter(|p| p.source.is_some()) {
        let license =
            package.license.as_deref().unwrap_or_else(|| panic!("{} names no licence", package.name));
        assert_eq!(
            allowed(license, &allow),
            Some(true),
            "{} {} is under {license}, which deny.toml does not allow",
            package.name,
            package.version
        );
    }
    let needed = |licence: &String| {
        let less: BTreeSet<String> = allow.iter().filter(|other| *other != licence).cloned().collect();
        packages.iter().filter_map(|p| p.license.as_deref()).any(|text| allowed(text, &less) == Some(false))
    };
    let idle: Vec<&String> = allow.iter().filter(|licence| !needed(licence)).collect();
    // Every crate under Apache-2.0 alone may go; the project's own choice stays.
    assert!(
        idle.iter().all(|licence| *licence == "Apache-2.0"),
        "deny.toml allows what nothing needs: {idle:?}"
    );
}

#[test]
fn expressions_are_read_as_spdx_means_them() {
    let allow = BTreeSet::from(["MIT", "Zlib"].map(String::from));
    let cases = [
        ("MIT", Some(true)),
        ("GPL-3.0", Some(false)),
        ("GPL-3.0 OR MIT", Some(true)),
        ("GPL-3.0/MIT", Some(true)),
        ("GPL-3.0 AND MIT", Some(false)),
        ("(GPL-3.0 OR MIT) AND Zlib", Some(true)),
        ("GPL-3.0 OR MIT AND BSD-3-Clause", Some(false)),
        ("MIT WITH LLVM-exception", Some(false)),
        ("(MIT", None),
        ("MIT MIT", None),
        ("OR", None),
        ("", None),
    ];
    for (expression, answer) in cases {
        assert_eq!(allowed(expression, &allow), answer, "{expression}");
    }
}

#[test]
fn every_crate_comes_from_where_the_policy_says() {
    let sources = policy().sources;
    assert!(sources.allow_git.is_empty());
    let (packages, root) = packages();
    for package in &packages {
        match &package.source {
            None => assert_eq!(package.id, root, "{} comes from another folder", package.name),
            Some(source) => {
                let from = source.strip_prefix("registry+").unwrap_or(source);
                let known = sources.allow_registry.iter().any(|allowed| allowed == from);
                assert!(known, "{} comes from {source}", package.name);
            }
        }
        if package.id == root {
            let any =
                package.dependencies.iter().filter(|d| d.req == "*").map(|d| &d.name).collect::<Vec<_>>();
            assert!(any.is_empty(), "any version of {any:?} would do");
        }
    }
}

/// `syn@2` means 2.0.119, as cargo-deny reads it.
fn is_skipped(skip: &Skip, name: &str, version: &str) -> bool {
    let (wanted, prefix) = skip.name.split_once('@').expect("deny.toml: crate@version");
    wanted == name && (version == prefix || version.starts_with(&format!("{prefix}.")))
}

#[test]
fn a_second_version_of_a_crate_has_its_reason() {
    let skips = policy().bans.skip;
    let (packages, _) = packages();
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in &packages {
        versions.entry(&package.name).or_default().insert(&package.version);
    }
    for (name, versions) in &versions {
        let skipped = |version: &&&str| skips.iter().any(|skip| is_skipped(skip, name, version));
        let rest: Vec<&&str> = versions.iter().filter(|v| !skipped(v)).collect();
        assert!(rest.len() <= 1, "{name} is built {} times: {rest:?}", rest.len());
    }
    for skip in &skips {
        let (name, _) = skip.name.split_once('@').expect("deny.toml: crate@version");
        let twice =
            versions.get(name).is_some_and(|v| v.len() > 1 && v.iter().any(|v| is_skipped(skip, name, v)));
        assert!(twice, "deny.toml skips {}, of which there is only one: take it out", skip.name);
        assert!(!skip.reason.is_empty());
    }
}

#[test]
fn contributing_says_what_each_dependency_is_for() {
    let guide = std::fs::read_to_string(root().join("CONTRIBUTING.md")).expect("it is there");
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
    let (packages, root) = packages();
    let ours = packages.iter().find(|p| p.id == root).expect("our own package");
    let used: BTreeSet<String> = ours.dependencies.iter().map(|d| d.name.clone()).collect();
    assert_eq!(listed, used, "the table of dependencies in CONTRIBUTING.md (left) and Cargo.toml (right)");
}

#[test]
fn the_oldest_rust_is_one_number_everywhere() {
    let read = |file: &str| std::fs::read_to_string(root().join(Path::new(file))).expect("it is there");
    let manifest: toml::Table = toml::from_str(&read("Cargo.toml")).expect("a manifest");
    let stated = manifest["package"]["rust-version"].as_str().expect("a version").to_string();
    assert!(read("README.md").contains(&format!("Rust ({stated} or newer)")), "README.md: Rust {stated}");
    assert!(read("docs/install.md").contains(&format!("Rust {stated}")), "docs/install.md: Rust {stated}");
}

/// Names and versions of a lock file.
fn locked(path: &str) -> BTreeSet<(String, String)> {
    #[derive(Deserialize)]
    struct Lock {
        package: Vec<Named>,
    }
    #[derive(Deserialize)]
    struct Named {
        name: String,
        version: String,
    }
    let text = std::fs::read_to_string(root().join(path)).expect("a lock file");
    let lock: Lock = toml::from_str(&text).expect("cargo's own format");
    lock.package.into_iter().map(|package| (package.name, package.version)).collect()
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
