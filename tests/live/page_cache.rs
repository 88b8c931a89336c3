//! A control group with little memory has a small page cache, and the search for its size sees it.

use crate::common::{LimitedGroup, SYSCOST, is_root, said, skipped};
use std::path::Path;

const LIMIT_BYTES: u64 = 128 << 20;

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_small_page_cache_is_seen() {
    const TEST: &str = "a small page cache";
    if !is_root(TEST) {
        return;
    }
    let limit = LIMIT_BYTES.to_string();
    let group = match LimitedGroup::limiting(
        "memory",
        &[("memory.limit_in_bytes", &limit)],
        &[("memory.max", &limit)],
    ) {
        Ok(group) => group,
        Err(why) => return skipped(TEST, &format!("no control group that limits memory: {why}")),
    };
    let out = tempfile::tempdir().unwrap();
    let run = out.path().join("run");
    // Below target/: on a disk, where /tmp may be memory.
    let files = tempfile::tempdir_in(Path::new(SYSCOST).parent().unwrap()).unwrap();
    let output = group
        .command(Path::new(SYSCOST))
        .args(["run", "file_cache", "--file-size", "16M,256M,1G"])
        .args(["--cache-limit", "256M", "--time-limit", "8s", "--dir"])
        .arg(files.path())
        .arg("--out")
        .arg(&run)
        .output()
        .unwrap();
    let said = said(&output);
    let Ok(mut results) = csv::Reader::from_path(run.join("results.csv")) else { panic!("{said}") };
    let header = results.headers().unwrap().clone();
    let column = |name: &str| header.iter().position(|h| h == name).unwrap();
    let (bytes, metric, value) = (column("file_bytes"), column("metric"), column("value"));
    let shares: Vec<(String, f64)> = results
        .records()
        .map(|row| row.unwrap())
        .filter(|row| &row[metric] == "cached_share")
        .map(|row| (row[bytes].to_string(), row[value].parse().unwrap()))
        .collect();
    if shares.len() < 2 && said.contains("did not give") {
        return skipped(TEST, "the disk is too slow to read the file twice");
    }
    let share =
        |size: u64| shares.iter().find(|(bytes, _)| *bytes == size.to_string()).map(|(_, share)| *share);
    assert!(share(16 << 20).is_some_and(|share| share > 0.9), "a small file stays: {shares:?}\n{said}");
    assert!(share(256 << 20).is_some_and(|share| share < 0.6), "a large one does not: {shares:?}\n{said}");
    assert_eq!(share(1 << 30), None, "nothing above the limit is measured: {said}");
    assert_eq!(std::fs::read_dir(files.path()).unwrap().count(), 0, "nothing is left behind");
}

/// Where no group limits it, it makes one of its own, in which the knee lies where the limit is.
#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn the_size_of_the_page_cache_is_told() {
    const TEST: &str = "the size of the page cache";
    if !is_root(TEST) {
        return;
    }
    let out = tempfile::tempdir().unwrap();
    let files = tempfile::tempdir_in(Path::new(SYSCOST).parent().unwrap()).unwrap();
    let mut command = std::process::Command::new(SYSCOST);
    command.args([
        "run",
        "file_cache",
        "--cache-limit",
        "128M",
        "--file-size",
        "16M,32M,40M,64M,80M,96M,128M",
    ]);
    command.args(["--time-limit", "20s", "--dir"]).arg(files.path()).arg("--out").arg(out.path().join("run"));
    let output = command.output().unwrap();
    let said = said(&output);
    let findings = std::fs::read(out.path().join("run/findings.json")).unwrap_or_else(|_| panic!("{said}"));
    let findings: serde_json::Value = serde_json::from_slice(&findings).unwrap();
    let answers = findings["answers"].as_array().unwrap();
    let answer = answers.iter().find(|answer| answer["question"] == "held_size").unwrap();
    let Some(shown) = answer["shown"].get(0) else {
        assert!(!answer["lacks"].is_null(), "{answer}");
        return skipped(TEST, &answer.to_string());
    };
    let number = |name: &str| shown["says"][name].as_f64().unwrap();
    assert_eq!(number("room"), (64u64 << 20) as f64, "{shown}");
    assert!(number("held") <= number("room") && number("lost") > number("room") / 2.0, "{shown}");
    assert!(said.contains("file cache held"), "{said}");
}
