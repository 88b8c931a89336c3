//! Programs of the user's own that take turns, as ways to send and as operations: what they cost, and what goes wrong.

use super::own_code::{EXAMPLES, SHORT_RUN, checked, compiled, failed, run};
use crate::common::{self, said};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A program of Python that speaks the protocol, with this in place of what it does in its turn.
fn liar(turn: &str) -> String {
    let text = fs::read_to_string(format!("{EXAMPLES}/turns.py")).unwrap();
    let (begin, _) = text.split_once("    for _ in range").unwrap();
    format!("{begin}    if messages == 0:\n        print(0, 0, file=answers)\n        continue\n{turn}\n")
}

#[test]
fn a_program_that_goes_wrong_fails_by_its_name_and_nothing_of_it_is_left() {
    if Command::new("python3").arg("--version").output().is_err() {
        return common::skipped("a_program_that_goes_wrong", "there is no python3");
    }
    let folder = tempfile::tempdir().unwrap();
    let all = "messages, messages * len(message), file=answers";
    let liars = [
        ("lies", format!("    print({all})"), &["handed over 0 B"][..]),
        (
            "fewer",
            "    out.sendall(message)\n    print(1, len(message), file=answers)".into(),
            &["says that it sent 1"],
        ),
        ("dies", "    os.abort()".into(), &["SIGABRT"]),
        ("hangs", "    import time\n    time.sleep(600)".into(), &["did not answer in time"]),
        ("swaps", format!("    out.sendall(message[::-1] * messages)\n    print({all})"), &[]),
    ];
    let write = |name: &str, text: &str| fs::write(folder.path().join(format!("{name}.py")), text).unwrap();
    liars.iter().for_each(|(name, turn, _)| write(name, &liar(turn)));
    write("mute", "print('no pipe is this')\n");
    write("works", &fs::read_to_string(format!("{EXAMPLES}/turns.py")).unwrap());
    let names: Vec<&str> = liars.iter().map(|(name, ..)| *name).chain(["mute", "works"]).collect();
    let here = folder.path().display();
    let values: Vec<String> =
        names.iter().map(|name| format!("turns_{name}=program:python3 {here}/{name}.py")).collect();
    let done = checked(folder.path(), "--mechanism", &values.join(","), "mechanism");
    assert_eq!(done.len(), names.len(), "{done:?}");
    assert!(done.contains(&("turns_works".into(), None)), "{done:?}");
    liars.iter().for_each(|(name, _, words)| failed(&done, &format!("turns_{name}"), words));
    failed(&done, "turns_mute", &["ended while it was needed", "exit status: 0"]);
    let left = Command::new("pgrep").args(["-f", &folder.path().display().to_string()]).output();
    if let Ok(left) = left {
        assert!(left.stdout.is_empty(), "left: {}", String::from_utf8_lossy(&left.stdout));
    }
    let missing = run(folder.path(), &["plan", "--mechanism", "program:./nowhere"]);
    assert!(said(&missing).contains("cannot read ./nowhere"), "{}", said(&missing));
}

#[test]
fn programs_take_turns_with_a_mechanism_and_cost_what_it_costs() {
    let test = "programs_take_turns";
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("turns");
    let made = Command::new("gcc")
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"])
        .args([&program, Path::new(&format!("{EXAMPLES}/turns.c"))])
        .output();
    let mut rivals = vec!["send".to_string()];
    match made {
        Ok(made) => {
            assert!(made.status.success(), "{}", said(&made));
            rivals.push("program:./turns".into());
        }
        Err(_) => common::skipped(test, "there is no gcc"),
    }
    match Command::new("python3").arg("--version").output() {
        Ok(_) => rivals.push(format!("py=program:python3 {EXAMPLES}/turns.py")),
        Err(_) => common::skipped(test, "there is no python3"),
    }
    let done = run(folder.path(), &[&["run", "--mechanism", &rivals.join(",")][..], &SHORT_RUN].concat());
    // 1: a round may fail on a machine that is busy with other tests.
    assert!(matches!(done.status.code(), Some(0 | 1)), "{}", said(&done));
    let record: Value =
        serde_json::from_slice(&fs::read(folder.path().join("run/run.json")).unwrap()).unwrap();
    let cases = record["plan"]["cases"].as_array().unwrap();
    let slices = fs::read_to_string(folder.path().join("run/slices.csv")).unwrap();
    let columns: Vec<&str> = slices.lines().next().unwrap().split(',').collect();
    let column = |name: &str| columns.iter().position(|own| *own == name).expect(name);
    let (cpu, messages) = (column("sender_cpu_ns"), column("messages"));
    // CPU time of a message: the median over slices.
    let cost = |name: &str| {
        let case = cases.iter().position(|case| case["point"]["mechanism"] == name).expect(name).to_string();
        let rows = slices.lines().map(|row| row.split(',').collect::<Vec<_>>()).filter(|row| row[2] == case);
        let number = |text: &str| text.parse::<f64>().unwrap();
        let mut costs: Vec<f64> = rows.map(|row| number(row[cpu]) / number(row[messages])).collect();
        assert!(costs.len() > 3, "{name} took turns");
        costs.sort_by(f64::total_cmp);
        costs[costs.len() / 2]
    };
    let send = cost("send");
    for name in ["turns", "py"].iter().take(rivals.len() - 1) {
        let ratio = cost(name) / send;
        eprintln!("{name}: {ratio:.3} of send");
        assert!((0.7..if *name == "py" { 3.0 } else { 1.4 }).contains(&ratio), "{name}: {ratio} of send");
    }
    let settings = record["settings"].to_string();
    assert!(rivals.len() == 1 || settings.contains("program_turn_cpu_ns"), "{settings}");
}

/// An operation of Python that speaks the protocol, with this as what it does in its turn.
fn operation(turn: &str) -> String {
    let text = fs::read_to_string(format!("{EXAMPLES}/operation.py")).unwrap();
    let (begin, _) = text.split_once("    for _ in range").unwrap();
    format!("{begin}{turn}\n")
}

#[test]
fn programs_are_operations_and_what_goes_wrong_is_a_failed_case() {
    let test = "programs_are_operations";
    if Command::new("python3").arg("--version").output().is_err() {
        return common::skipped(test, "there is no python3");
    }
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().display();
    let turns = [
        ("fewer", "    print(iterations // 2, file=answers)", &["says that it did"][..]),
        ("tells", "    print('the sum is 4', file=answers)", &["and was \"the sum is 4\""]),
        ("dies", "    os.abort()", &["SIGABRT"]),
        ("hangs", "    import time\n    time.sleep(600)", &["did not answer in time"]),
    ];
    for (name, turn, _) in turns {
        fs::write(folder.path().join(format!("{name}.py")), operation(turn)).unwrap();
    }
    let values = |name: &&str| format!("op_{name}=program:python3 {here}/{name}.py");
    let names: Vec<&str> = turns.iter().map(|(name, ..)| *name).collect();
    let works = format!("works=program:python3 {EXAMPLES}/operation.py");
    let all: Vec<String> = names.iter().map(values).chain([works]).collect();
    let done = checked(folder.path(), "--operation", &all.join(","), "own_operation");
    assert!(done.contains(&("works".into(), None)), "{done:?}");
    turns.iter().for_each(|(name, _, words)| failed(&done, &format!("op_{name}"), words));
    assert_eq!(done.len(), names.len() + 1, "{done:?}");
}

#[test]
fn a_program_costs_what_the_same_operation_costs_in_an_object() {
    let test = "a_program_costs_what_the_same_operation_costs";
    let folder = tempfile::tempdir().unwrap();
    // 2 us of work, once as a program and once as an object.
    let work = "static unsigned long work(unsigned long times) { unsigned long sum = 0; while (times--) \
                for (volatile unsigned n = 0; n < 2000; n++) sum += n; return sum; }\n";
    let program = fs::read_to_string(format!("{EXAMPLES}/operation.c")).unwrap();
    let (begin, rest) = program.split_once("        for (unsigned long i").unwrap();
    let (_, end) = rest.split_once("        fprintf").unwrap();
    let program = format!("{work}{begin}        sum += work(iterations);\n        fprintf{end}");
    let object = format!(
        r#"#include "syscost.h"
{work}
static int run(void *context, uint64_t times, syscost_done *done)
{{
    done->bytes += (work(times) & 0) + (context ? 1 : 0);
    done->operations += times;
    return 0;
}}
static void *setup(const syscost_case *in) {{ static int one; (void)in; return &one; }}
static const syscost_operation mine =
    {{ .size = sizeof mine, .name = "object", .summary = "adds", .setup = setup, .run = run }};
static const syscost_operation *const all[] = {{ &mine }};
const syscost_exports syscost_object =
    {{ .version = SYSCOST_VERSION, .size = sizeof(syscost_exports), .operations = all, .operation_count = 1 }};
"#
    );
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("work.c", &program);
    write("object.c", &object);
    let source = folder.path().join("object.c");
    let built = compiled(test, "gcc", source.to_str().unwrap(), &folder.path().join("object.so"), &[]);
    if built.is_none() {
        return;
    }
    let made = Command::new("gcc")
        .args(["-O2", "-o", "work", "work.c"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", said(&made));
    let rivals = ["run", "--operation", "./object.so,work=program:./work", "--time-limit", "6s"];
    let done = run(folder.path(), &[&rivals[..], &["--quiet", "--out", "run"]].concat());
    assert!(done.status.success(), "{}", said(&done));
    let results = fs::read_to_string(folder.path().join("run/results.csv")).unwrap();
    let mut rows = csv::Reader::from_reader(results.as_bytes());
    let columns = rows.headers().unwrap().clone();
    let column = |name: &str| columns.iter().position(|own| own == name).expect(name);
    let [operation, metric, value] = ["own_operation", "metric", "value"].map(column);
    let rows: Vec<_> = rows.records().map(|row| row.unwrap()).collect();
    let cost = |name: &str| {
        let row = rows.iter().find(|row| &row[operation] == name && &row[metric] == "cost").expect(name);
        row[value].parse::<f64>().unwrap()
    };
    let ratio = cost("work") / cost("object");
    eprintln!("the program: {ratio:.3} of the object");
    // Handing over a turn takes several us: batches as short as those of an object would cost it again.
    assert!((0.8..1.25).contains(&ratio), "{ratio}");
}
