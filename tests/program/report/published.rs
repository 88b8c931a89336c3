//! Published tables of results: what is known to be wrong with them is found, from the figures alone.

use assert_cmd::Command;
use serde_json::Value;
use syscost_measure::mechanism::Class;

/// Table 1 of a course report: 4 threads, loopback, 5 s a cell, one run a cell.
const FOUR_THREADS: &str = include_str!("../../data/published/pa02-mt25057.csv");

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
    assert!(zero.iter().all(|a| a.starts_with("pack_send has ")), "{zero:?}");
    assert!(zero.iter().all(|a| a.contains("at all 5 sizes (256 B to 64 KiB) with 4 threads")), "{zero:?}");
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

/// The help names every tool that is read.
#[test]
fn the_help_names_every_tool_that_is_read() {
    let output = Command::cargo_bin("syscost").unwrap().args(["analyse", "--help"]).output().unwrap();
    let help = String::from_utf8_lossy(&output.stdout).replace('\n', " ");
    for tool in syscost_tables::tools() {
        assert!(help.contains(tool.as_str()), "{tool}");
    }
}

fn hand_ins(more: &[&str]) -> std::process::Output {
    let dir = format!("{}/tests/data/hand-ins", env!("CARGO_MANIFEST_DIR"));
    let files = std::fs::read_dir(dir).expect("it is there").map(|entry| entry.expect("a file").path());
    Command::cargo_bin("syscost").unwrap().arg("analyse").args(files).args(more).output().unwrap()
}

/// The same figures, as students write them: quantities as columns, units in cells, decimal commas, other encodings.
#[test]
fn a_table_in_any_form_that_is_read_has_the_figures_that_were_written_into_it() {
    let figures =
        [("pack_send", 64, 1, 0.126e9), ("sendmsg", 1024, 4, 7.6e9), ("msg_zerocopy", 65536, 4, 117.9e9)];
    let wide = |option: &str| {
        let mut options = syscost_tables::ReadingOptions::default();
        options.give_wide(option).expect("a layout");
        options
    };
    let layouts = [
        ("threads-as-columns.csv", wide("threads=throughput:Gbit/s")),
        ("mechanisms-as-columns.csv", wide("mechanism=throughput:Gbit/s")),
        ("sizes-as-columns.csv", wide("size=throughput:Gbit/s")),
        ("units-in-cells.tsv", Default::default()),
        ("utf-16.csv", Default::default()),
        ("perf-counters.csv", Default::default()),
    ];
    for (layout, options) in layouts {
        let path = format!("{}/tests/data/hand-ins/{layout}", env!("CARGO_MANIFEST_DIR"));
        let text = syscost_tables::decode(layout, std::fs::read(path).expect("it is there")).expect("text");
        let table = syscost_tables::read(layout, &text, &options).remove(0).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(table.rows.len(), 18, "{layout}");
        for (mechanism, bytes, threads, rate) in figures {
            use syscost_tables::TableColumn::{Mechanism, MessageBytes, Threads, Throughput};
            let at = |row: &&syscost_tables::PublishedRow| {
                row.text(Mechanism).is_some_and(|name| syscost_tables::role::of(name) == Class::of(mechanism))
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
    let output = hand_ins(&["--json"]);
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("doubtful.csv:2") && told.contains("--decimal ,"), "{told}");
    assert!(told.contains("--wide mechanism=throughput:Gbit/s"), "what nobody can know is asked for: {told}");
    let all: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    let of = |end: &str| {
        let named = |one: &&Value| one["file"].as_str().is_some_and(|file| file.ends_with(end));
        all.iter().find(named).unwrap_or_else(|| panic!("no {end}"))
    };
    let five = &of("five-runs.csv")["summary"];
    assert_eq!((&five["cells"], &five["runs"][0]), (&18.into(), &5.into()));
    assert_eq!(of("instant.csv")["summary"]["contradictions"][0], "not_its_totals");
    assert!(of("doubtful.csv")["error"].as_str().is_some_and(|error| error.contains("decimal")));
    let cannot_say = of("with-spread.csv")["summary"]["cannot_say"].as_array().expect("a list");
    assert!(!cannot_say.contains(&"significance".into()));
}

/// What the assignment fixes is given once, and tells what a table alone does not.
#[test]
fn threads_seconds_and_units_are_given_once_for_all_files() {
    let given = [
        "--json",
        "--threads",
        "4",
        "--seconds",
        "5",
        "--column",
        "throughput=throughput:Gbit/s",
        "--column",
        "latency=latency:us",
    ];
    let output = hand_ins(&given);
    let all: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    let of = |end: &str| {
        let named = |one: &&Value| one["file"].as_str().is_some_and(|file| file.ends_with(end));
        all.iter().find(named).unwrap_or_else(|| panic!("no {end}"))
    };
    let derived = remarks(of("quantities-as-columns.csv"), "derived_latency").concat();
    assert!(derived.contains("latency is threads / messages per second"), "{derived}");
    assert_eq!(remarks(of("no-unit.csv"), "derived_latency").len(), 1);
    assert!(remarks(of("perf-counters.csv"), "not_its_totals").is_empty(), "its own duration comes first");
}

/// They have a reader that knows more of them.
#[test]
fn results_of_this_program_are_refused_with_the_commands_that_read_them() {
    let path = format!("{}/tests/golden/small-run.results.csv", env!("CARGO_MANIFEST_DIR"));
    let output = Command::cargo_bin("syscost").unwrap().args(["analyse", &path]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("syscost report") && told.contains("syscost compare"), "{told}");
}

/// Whatever `analyse` reads may stand beside a run: transfers by mechanism, size and threads; what fits nothing is told.
#[test]
fn a_table_of_any_kind_is_shown_beside_a_run() {
    let dir = tempfile::tempdir().expect("a directory");
    let (run, data) =
        (concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/small-run"), dir.path().join("a.csv"));
    let beside = |table: &str, more: &[&str]| {
        std::fs::write(&data, table).expect("written");
        let mut report = Command::cargo_bin("syscost").unwrap();
        report.args(["report", run, "--out"]).arg(dir.path()).arg("--beside").arg(&data).args(more);
        let output = report.output().unwrap();
        let page = std::fs::read_to_string(dir.path().join("report.html")).unwrap_or_default();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned(), page)
    };
    let record = std::fs::read(format!("{run}/run.json")).expect("a run");
    let record: Value = serde_json::from_slice(&record).expect("JSON");
    let point = &record["plan"]["cases"][0]["point"];
    let [size, threads] = ["message_bytes", "threads"].map(|axis| point[axis].as_u64().expect("a number"));
    let name = point["mechanism"].as_str().expect("a name");
    let (code, told, page) =
        beside(&format!("impl,{size}\n{name},0.5\n"), &["--wide", "size=throughput:Gbit/s"]);
    assert!(code == Some(0) && page.contains("500 Mbit/s"), "options of analyse are taken: {told}");
    let (_, told, page) =
        beside(&format!("impl,size,threads,gbps\n{name},{size},{threads},0.25\n{name},3,77,9\n"), &[]);
    assert!(page.contains("250 Mbit/s") && page.contains("theirs / ours"), "{told}");
    assert!(!page.contains(">9 Gbit/s<"), "nobody measured that here");
    let (code, told, _) = beside("impl,size,gbps\ncarrier pigeon,64,1\n", &[]);
    assert!(code == Some(0) && told.contains("nothing of") && told.contains("no case of this run"), "{told}");
    let (code, told, _) = beside("impl,size,speed\nA1,64,1\n", &[]);
    assert!(code == Some(2) && told.contains("--column"), "{told}");
}
