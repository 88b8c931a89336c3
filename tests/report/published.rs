//! Published tables of results: what is known to be wrong with them is found, from the figures alone.

use assert_cmd::Command;
use serde_json::Value;
use syscost_measure::mechanism::Class;

/// Table 1 of a course report: 4 threads, loopback, 5 s a cell, one run a cell.
const FOUR_THREADS: &str = include_str!("../data/published/pa02-mt25057.csv");

fn analysed(file: &str) -> Value {
    let path = format!("{}/tests/data/published/{file}", env!("CARGO_MANIFEST_DIR"));
    let output = Command::cargo_bin("syscost").unwrap().args(["analyse", "--json", &path]).output().unwrap();
    assert_ne!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    let documents: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    let table = documents.into_iter().next().expect("one table");
    let contradictions = table["summary"]["contradictions"].as_array().expect("a list").len();
    assert_eq!(output.status.code(), Some(i32::from(contradictions > 0)), "1 where it contradicts itself");
    table
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
    let zero: Vec<&str> = answers(&table).into_iter().filter(|a| a.contains("msg_zerocopy")).collect();
    assert_eq!(zero.len(), 2, "by throughput and by cycles: {zero:?}");
    assert!(
        zero.iter().all(|a| a.contains("at no size with 4 threads (compared at 5 sizes, 256 B to 64 KiB)")),
        "{zero:?}"
    );
    assert!(remarks(&table, "derived_latency")[0].contains("In 15 of 15 rows"));
    assert!(remarks(&table, "no_replicates")[0].contains("One row a cell"));
    let [cliff] = &remarks(&table, "cliff")[..] else { panic!("one cliff") };
    assert!(cliff.contains("256 B to 1 KiB, 50x"), "{cliff}");
}

#[test]
fn throughput_that_falls_as_threads_rise_is_found_with_what_rose_beside_it() {
    let table = analysed("pa02-mt25064.csv");
    let [falls] = &remarks(&table, "falls_with_threads")[..] else { panic!("said once") };
    assert!(
        falls.contains("in 3 of ") && falls.contains("msg_zerocopy at 64 KiB, 4 to 8 threads, by 66 %"),
        "{falls}"
    );
    assert!(falls.contains("Context switches rise more than 3x in 3 of them"), "{falls}");
    assert!(remarks(&table, "derived_latency").is_empty(), "it has no latency");
    assert_eq!(table["empty_cells"], 33);
}

#[test]
fn predictions_of_an_operating_system_report_are_held_against_what_was_measured() {
    let table = analysed("cse221-2023.csv");
    let [off] = &remarks(&table, "off_prediction")[..] else { panic!("said once") };
    assert!(off.contains("8 of 25") && off.contains("connection_setup (loopback) 24.2x above"), "{off}");
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
    let mut told: Vec<String> = answers(&documents[0])
        .iter()
        .map(|a| {
            a.replace("Zero Copy", "msg_zerocopy").replace("OneCopy", "sendmsg").replace("A1", "pack_send")
        })
        .collect();
    let table = analysed("pa02-mt25057.csv");
    let mut ours = answers(&table);
    told.sort();
    ours.sort_unstable();
    assert_eq!(told, ours, "their names, and what they are taken for");
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
    let alone = analyse(&[]);
    let documents: Vec<Value> = serde_json::from_slice(&alone.stdout).expect("JSON");
    assert_eq!(remarks(&documents[0], "no_unit").len(), 1, "without the mapping it is a question");
    let output = analyse(&["--mapping".as_ref(), mapping.as_os_str()]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let documents: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    let told = answers(&documents[0]);
    assert!(
        told.iter().any(|a| a.starts_with("variant B") && a.contains("from 64 KiB up with 4 threads")),
        "{told:?}"
    );
}

#[test]
fn what_is_ambiguous_is_refused_with_its_place_and_status_two() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("t.csv");
    std::fs::write(&path, "mechanism,size,throughput_gbps\nA1,large,2.5\nA1,64,2.5\nA2,64,2.5\n")
        .expect("written");
    let output = Command::cargo_bin("syscost").unwrap().arg("analyse").arg(&path).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("t.csv:2") && told.contains("\"large\" is no number"), "{told}");
}

fn hand_ins(more: &[&str]) -> std::process::Output {
    let dir = format!("{}/tests/data/hand-ins", env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(dir).expect("it is there").map(|entry| entry.expect("a file").path());
    Command::cargo_bin("syscost").unwrap().arg("analyse").args(files).args(more).output().unwrap()
}

/// The same figures, as students write them: sizes, threads, mechanisms or quantities as columns, two tables in a
/// file, merged cells, units in cells, decimal commas, other encodings.
#[test]
fn a_table_in_any_layout_has_the_figures_that_were_written_into_it() {
    let figures =
        [("pack_send", 64, 1, 0.126e9), ("sendmsg", 1024, 4, 7.6e9), ("msg_zerocopy", 65536, 4, 117.9e9)];
    let layouts = [
        "sizes-as-columns.csv",
        "mechanisms-as-columns.csv",
        "threads-as-columns.csv",
        "from-a-readme.md",
        "merged-cells.csv",
        "units-in-cells.tsv",
        "utf-16.csv",
        "perf-counters.csv",
    ];
    for layout in layouts {
        let path = format!("{}/tests/data/hand-ins/{layout}", env!("CARGO_MANIFEST_DIR"));
        let text = syscost_tables::decode(layout, std::fs::read(path).expect("it is there")).expect("text");
        let table =
            syscost_tables::read(layout, &text, &Default::default()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(table.rows.len(), 18, "{layout}");
        for (mechanism, bytes, threads, rate) in figures {
            use syscost_tables::TableColumn::{Mechanism, MessageBytes, Threads, Throughput};
            let plays = |name: &str| match table.role(name) {
                // Two calls of one interface tell no role.
                None => (name, mechanism) == ("send()/recv()", "pack_send"),
                role => role == Class::of(mechanism),
            };
            let at = |row: &&syscost_tables::PublishedRow| {
                row.text(Mechanism).is_some_and(plays)
                    && (row.count(MessageBytes), row.count(Threads)) == (Some(bytes), Some(threads))
            };
            let found = table.rows.iter().find(at).and_then(|row| row.value(Throughput));
            assert!(
                found.is_some_and(|found| (found / rate - 1.0).abs() < 0.01),
                "{layout}: {mechanism}: {found:?}"
            );
        }
    }
}

#[test]
fn a_bad_file_is_named_and_the_others_are_analysed() {
    let output = hand_ins(&["--csv"]);
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("doubtful.csv") && !told.contains("no-unit.csv"), "{told}");
    let mut reader = csv::Reader::from_reader(&output.stdout[..]);
    let rows: Vec<std::collections::BTreeMap<String, String>> =
        reader.deserialize().map(|row| row.expect("a row")).collect();
    let row =
        |end: &str| rows.iter().find(|row| row["file"].ends_with(end)).unwrap_or_else(|| panic!("no {end}"));
    assert_eq!(
        (row("five-runs.csv")["cells"].as_str(), row("five-runs.csv")["runs_min"].as_str()),
        ("18", "5")
    );
    assert_eq!(row("instant.csv")["found"], "not_its_totals");
    assert!(row("doubtful.csv")["error"].contains("decimal") && row("doubtful.csv")["cells"].is_empty());
    assert!(!row("with-spread.csv")["cannot_say"].contains("significant"));
}

/// What the assignment fixes is given once, and tells what a table alone does not.
#[test]
fn threads_seconds_and_units_are_given_once_for_all_files() {
    let of = |more: &[&str]| {
        let output = hand_ins(&[&["--json"], more].concat());
        let all: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
        move |end: &str| {
            let named = |one: &&Value| one["file"].as_str().is_some_and(|file| file.ends_with(end));
            all.iter().find(named).cloned().unwrap_or_else(|| panic!("no {end}"))
        }
    };
    let alone = of(&[]);
    let given = of(&["--threads", "4", "--seconds", "5", "--unit", "Gbit/s,us"]);
    let of_rate = |of: &Value| remarks(of, "derived_latency").concat();
    let (no_threads, threads) = (of_rate(&alone("two-sections.csv")), of_rate(&given("two-sections.csv")));
    assert!(no_threads.contains("latency is 4 / messages per second"), "{no_threads}");
    assert!(threads.contains("latency is threads / messages per second"), "{threads}");
    assert_eq!(remarks(&alone("no-unit.csv"), "no_unit").len(), 2, "a question for each quantity");
    assert_eq!(remarks(&given("no-unit.csv"), "derived_latency").len(), 1);
    assert!(
        remarks(&given("perf-counters.csv"), "not_its_totals").is_empty(),
        "its own duration comes first"
    );
}

#[test]
fn results_of_this_program_are_a_table() {
    let path = format!("{}/tests/golden/small-run.results.csv", env!("CARGO_MANIFEST_DIR"));
    let output = Command::cargo_bin("syscost").unwrap().args(["analyse", "--json", &path]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let documents: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(
        (&documents[0]["summary"]["cells"], &documents[0]["summary"]["runs"][0]),
        (&24.into(), &7.into())
    );
    assert!(!answers(&documents[0]).is_empty());
}
