//! Modelled caches: what a guest's messages miss, by side and mode, and never taken for hardware.
//!
//! Without the emulator, a compiler or a network at the first time these tests say so and are no pass.

use crate::common::{SYSCOST, said, skipped};
use crate::nightly::lab::Lab;
use std::process::Command;
use syscost_analyze::cells::Cells;

const COUNTERS: [&str; 5] = ["instructions", "l1i_misses", "l1d_misses", "l2_misses", "llc_misses"];

/// The copy that a gathering send saves, from one cold buffer into another.
const TWO_WAYS: &str = r#"
name = "two-ways"
seed = 1
min_rounds = 2
max_rounds = 2
time_limit = "20m"
[timing]
warmup = "2ms"
window = "10ms"
windows = 1
[[probe]]
id = "transfer"
mechanism = ["pack_send", "sendmsg"]
message_bytes = "64K"
threads = [1, 2]
path = "veth"
"#;

#[test]
fn a_copy_that_is_saved_is_its_lines_read_and_written() {
    let lab = Lab::alone();
    let spec = lab.folder().join("two-ways.toml");
    std::fs::write(&spec, TWO_WAYS).unwrap();
    let caches = "l1i=32K/8,l1d=32K/8,l2=1M/16,llc=32M/16";
    let test = "a_copy_that_is_saved_is_its_lines_read_and_written";
    let Some(run) =
        lab.brings(test, &[spec.to_str().unwrap(), "--count", "cache", "--caches", caches, "--limit", "10m"])
    else {
        return;
    };
    assert_eq!(run.record.modelled_caches(), Some(caches));
    let cells = Cells::of(&run);
    let of = |case: usize, metric: &str| {
        cells.estimate(case, metric).unwrap_or_else(|| panic!("no {metric} of case {case}")).value
    };
    for case in &run.record.plan.cases {
        for counter in COUNTERS {
            let part = |name: &str| of(case.index, name);
            let whole = part(&format!("{counter}_per_message"));
            let near = |sum: f64| (sum - whole).abs() <= 0.02 * whole + 1.0;
            let sides = ["sender", "receiver"].map(|side| part(&format!("{side}_{counter}_per_message")));
            let [user, kernel, softirq] =
                ["user", "kernel", "softirq"].map(|mode| part(&format!("{counter}_{mode}_per_message")));
            assert!(near(sides[0] + sides[1]), "{counter}: {whole} is not {sides:?}");
            assert!(
                near(user + kernel) && softirq <= kernel,
                "{counter}: {whole} is not {user} and {kernel}"
            );
        }
        // A message that the receiver's CPU takes from the sender's is in none of its own caches.
        assert!(of(case.index, "receiver_l2_misses_per_message") > 900.0, "{:?}", case.point);
        assert!(of(case.index, "instructions_softirq_per_message") > 1000.0, "{:?}", case.point);
    }
    let saved = of(0, "l1d_misses_per_message") - of(case_of(&run, "sendmsg"), "l1d_misses_per_message");
    assert!((1900.0..2300.0).contains(&saved), "{saved} lines, not 1,024 read and 1,024 written");
    assert!(cells.of_metric("throughput").next().is_none(), "a time of an emulated CPU");
    let page = std::fs::read_to_string(lab.out().join("report.html")).unwrap();
    assert!(page.contains("modelled cache") && page.contains(caches), "the page takes it for hardware");
}

fn case_of(run: &syscost_experiment::run::Run, mechanism: &str) -> usize {
    let one = |case: &&syscost_experiment::plan::Case| {
        case.point.text_at("mechanism") == Some(mechanism) && case.point.int_at("threads") == Some(1)
    };
    run.record.plan.cases.iter().find(one).expect("planned").index
}

/// An operation of each kind: batches, single ones, a partner, a child.
const OPERATIONS: &str = r#"
name = "operations"
seed = 1
min_rounds = 1
max_rounds = 1
time_limit = "20m"
[timing]
warmup = "500us"
window = "4ms"
windows = 1
[[probe]]
id = "system_call"
call = ["getppid", "pipe_write_read"]
[[probe]]
id = "process_create"
how = "fork"
resident_bytes = "1M"
[[probe]]
id = "context_switch"
between = "process"
token = "pipe"
placement = "same"
[[probe]]
id = "page_fault"
fault = "minor_anonymous"
"#;

#[test]
fn operations_are_counted_in_every_cache_and_marked_as_a_model_s() {
    let lab = Lab::alone();
    let spec = lab.folder().join("operations.toml");
    std::fs::write(&spec, OPERATIONS).unwrap();
    let test = "operations_are_counted_in_every_cache_and_marked_as_a_model_s";
    let Some(run) = lab.brings(test, &[spec.to_str().unwrap(), "--count", "cache", "--limit", "10m"]) else {
        return;
    };
    let cells = Cells::of(&run);
    let of = |case: usize, metric: String| {
        cells.estimate(case, &metric).unwrap_or_else(|| panic!("no {metric} of case {case}")).value
    };
    for case in &run.record.plan.cases {
        for counter in COUNTERS {
            let [whole, user, kernel] =
                ["", "_user", "_kernel"].map(|mode| of(case.index, format!("{counter}{mode}_per_operation")));
            assert!((user + kernel - whole).abs() <= 0.01 * whole + 0.1, "{counter} of {:?}", case.point);
        }
    }
    let first = |probe: &str, counter: &str| {
        let case = run.record.plan.cases.iter().find(|case| case.probe.as_str() == probe).expect("planned");
        of(case.index, format!("{counter}_per_operation"))
    };
    assert!((200.0..900.0).contains(&first("system_call", "instructions")), "of getppid");
    assert!(first("system_call", "l1d_misses") < 2.0, "a call alone keeps its lines");
    // A fresh page of 64 lines is cleared.
    assert!(first("page_fault", "l1d_misses") >= 64.0, "of a fault");
    assert!(first("context_switch", "instructions") > first("system_call", "instructions"), "of a switch");
    assert!(first("process_create", "l1d_misses") > first("context_switch", "l1d_misses"), "of a fork");
    let results = std::fs::read_to_string(lab.out().join("results.csv")).unwrap();
    let counted = |row: &&str| row.contains("_misses") || row.contains("instructions");
    let rows: Vec<&str> = results.lines().skip(1).filter(counted).collect();
    assert!(
        !rows.is_empty() && rows.iter().all(|row| row.ends_with("modelled cache, emulated CPU\"")),
        "{rows:?}"
    );
}

/// Measures, counts in the lab where this machine has no counters, and writes what the assignment asks for.
#[test]
#[ignore = "nightly: .ci/nightly"]
fn one_command_makes_all_files_of_a_course() {
    let place = tempfile::tempdir().unwrap();
    let mut command = Command::new(SYSCOST);
    let course = ["course", "pa02", "--roll", "MT25999", "--quick", "--out", "course"];
    let output = command.current_dir(&place).args(course).output().unwrap();
    let words = said(&output);
    assert!(output.status.success() && words.contains("measuring for about"), "{words}");
    let folder = place.path().join("course");
    let names =
        std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let names: Vec<String> = names.collect();
    assert!(names.iter().any(|name| name.ends_with(".csv")), "{names:?}");
    assert!(names.iter().filter(|name| name.ends_with(".svg")).count() >= 4, "{names:?}");
    if words.contains("cache misses stay empty") {
        return skipped("one_command_makes_all_files_of_a_course", &words);
    }
    let read = |end: &str| {
        let name =
            names.iter().find(|name| name.ends_with(end)).unwrap_or_else(|| panic!("no {end}: {names:?}"));
        std::fs::read_to_string(folder.join(name)).unwrap()
    };
    let report = read("_Report.md");
    if !words.contains("syscost lab --count cache") {
        // Hardware counted them.
        return assert!(!report.contains("has not measured cache misses"), "{report}");
    }
    assert!(report.contains("Modelled cache, emulated CPU") && report.contains("falls most"), "{report}");
    for level in ["l1d", "l1i", "l2"] {
        let plot = format!("_modelled-{level}-misses-per-message-by-size.svg");
        assert!(names.iter().any(|name| name.ends_with(&plot)), "no {plot}: {names:?}");
    }
    let results = read("_Results.csv");
    let mut rows = results.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(','));
    let headings: Vec<&str> = rows.next().expect("headings").collect();
    let at = headings.iter().position(|name| *name == "modelled_l1d_misses_per_message").expect("a column");
    let cells: Vec<Option<&str>> = rows.map(|mut row| row.nth(at)).collect();
    let positive =
        |cell: &Option<&str>| cell.and_then(|text| text.parse().ok()).is_some_and(|n: f64| n > 0.0);
    assert!(cells.len() == 12 && cells.iter().all(positive), "each cell was counted: {cells:?}");
}

#[test]
fn what_cannot_be_modelled_is_refused_before_anything_boots() {
    let lab = Lab::alone();
    for (arguments, why) in [
        (&["--caches", "l1d=32K/8"][..], "needs --count cache"),
        (&["--count", "cache", "--caches", "l1d=33K/10"], "cannot be modelled"),
        (&["--count", "cache", "--caches", "l5=1M/8"], "none of l1i, l1d, l2, llc"),
        (&["--count", "cache", "--arch", "aarch64"], "--arch x86_64"),
    ] {
        let output = lab.command(arguments).output().unwrap();
        assert!(!output.status.success() && said(&output).contains(why), "{arguments:?}: {}", said(&output));
    }
}
