//! Published tables of results: what is known to be wrong with them is found, from the figures alone.

use assert_cmd::Command;
use serde_json::Value;

/// Table 1 of a course report: 4 threads, loopback, 5 s a cell, one run a cell.
const FOUR_THREADS: &str = include_str!("../data/published/pa02-mt25057.csv");

fn analysed(file: &str) -> Value {
    let path = format!("{}/tests/data/published/{file}", env!("CARGO_MANIFEST_DIR"));
    let output = Command::cargo_bin("syscost").unwrap().args(["analyse", "--json", &path]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let documents: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    documents.into_iter().next().expect("one table")
}

fn remarks<'v>(table: &'v Value, id: &str) -> Vec<&'v str> {
    let all = table["remarks"].as_array().expect("a list");
    all.iter().filter(|r| r["id"] == id).map(|r| r["text"].as_str().expect("text")).collect()
}

fn answers(table: &Value) -> Vec<&str> {
    table["answers"].as_array().expect("a list").iter().map(|a| a.as_str().expect("text")).collect()
}

#[test]
fn zero_copy_beats_two_copy_at_no_size_and_its_latency_was_divided() {
    let table = analysed("pa02-mt25057.csv");
    let zero: Vec<&str> = answers(&table).into_iter().filter(|a| a.contains("zero-copy")).collect();
    assert_eq!(zero.len(), 2, "by throughput and by cycles: {zero:?}");
    assert!(zero.iter().all(|a| a.contains("at no size (5 sizes, 256 B to 64 KiB)")), "{zero:?}");
    assert!(remarks(&table, "derived_latency")[0].contains("in 15 of 15 rows"));
    assert!(remarks(&table, "no_replicates")[0].contains("one run a cell"));
    let [cliff] = &remarks(&table, "cliff")[..] else { panic!("one cliff") };
    assert!(cliff.contains("from 256 B to 1 KiB the throughput falls 50 times"), "{cliff}");
}

#[test]
fn throughput_that_falls_as_threads_rise_is_found_with_what_rose_beside_it() {
    let table = analysed("pa02-mt25064.csv");
    let falls = remarks(&table, "falls_with_threads");
    assert_eq!(falls.len(), 3, "{falls:?}");
    assert!(
        falls
            .iter()
            .all(|f| f.contains("from 4 threads to 8 threads") && f.contains("context switches rise"))
    );
    assert!(remarks(&table, "derived_latency").is_empty(), "it has no latency");
    assert_eq!(table["empty_cells"], 33);
}

#[test]
fn predictions_of_an_operating_system_report_are_held_against_what_was_measured() {
    let table = analysed("cse221-2023.csv");
    let [off] = &remarks(&table, "off_prediction")[..] else { panic!("said once") };
    assert!(off.contains("8 of 25") && off.contains("connection_setup (loopback) 24.2 times"), "{off}");
    assert!(answers(&table).is_empty() && remarks(&table, "no_replicates").is_empty());
}

#[test]
fn the_same_table_in_other_peoples_headings_says_the_same() {
    let dir = tempfile::tempdir().expect("a directory");
    let renamed = FOUR_THREADS
        .replace(
            "mechanism,message_bytes,threads,throughput_gbps",
            "Copy Type;Msg Size (bytes);Threads;Tput [Gbit/s]",
        )
        .replace("latency_us,cycles_per_byte", "Avg Latency (us);Cycles/Byte")
        .replace("pack_send", "A1")
        .replace("msg_zerocopy", "Zero Copy")
        .replace("sendmsg", "OneCopy");
    let body: String =
        renamed.lines().filter(|l| !l.starts_with('#')).map(|l| l.replace(',', ";") + "\n").collect();
    let path = dir.path().join("theirs.csv");
    std::fs::write(&path, body).expect("written");
    let output =
        Command::cargo_bin("syscost").unwrap().args(["analyse", "--json"]).arg(&path).output().unwrap();
    let documents: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(answers(&documents[0]), answers(&analysed("pa02-mt25057.csv")));
}

/// The table and the mapping file that FORMAT.md shows, read as it says.
#[test]
fn the_mapping_file_of_the_format_is_read() {
    let format = include_str!("../../FORMAT.md");
    let block = |language: &str| {
        let after = format.split_once("## Tables for `analyse`").expect("the section").1;
        let (_, block) =
            after.split_once(&format!("```{language}\n")).unwrap_or_else(|| panic!("no {language}"));
        block.split_once("```").expect("closed").0.to_string()
    };
    let dir = tempfile::tempdir().expect("a directory");
    let (table, mapping) = (dir.path().join("theirs.csv"), dir.path().join("theirs.toml"));
    std::fs::write(&table, block("csv")).expect("written");
    std::fs::write(&mapping, block("toml")).expect("written");
    let analyse = |more: &[&std::ffi::OsStr]| {
        let mut command = Command::cargo_bin("syscost").unwrap();
        command.args(["analyse", "--json"]).arg(&table).args(more).output().unwrap()
    };
    assert_eq!(analyse(&[]).status.code(), Some(2), "without the mapping it is ambiguous");
    let output = analyse(&["--mapping".as_ref(), mapping.as_os_str()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let documents: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    let told = answers(&documents[0]);
    assert!(
        told.iter()
            .any(|a| a.contains("With 4 threads, by throughput, zero-copy") && a.contains("only at 64 KiB")
                || a.contains("from between 4 KiB and 64 KiB up")),
        "{told:?}"
    );
}

#[test]
fn what_is_ambiguous_is_refused_with_its_place_and_status_two() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("t.csv");
    std::fs::write(&path, "mechanism,size,throughput\nA1,64,2.5\n").expect("written");
    let output = Command::cargo_bin("syscost").unwrap().arg("analyse").arg(&path).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        told.contains("t.csv:2") && told.contains("has no unit") && told.contains("mapping file"),
        "{told}"
    );
}
