//! The traps of calls, processes, threads and switches: a call that is folded away, a fork whose
//! resident set nobody states, ends that share a CPU by luck, a formula that says something else
//! than what was computed. No timed figure decides anything here.

use crate::common::{SYSCOST, skipped};
use crate::formula;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use syscost_core::axis::{Point, Value};
use syscost_core::units::Unit;
use syscost_host::topology::Topology;
use syscost_measure::probe::prediction::{Input, Inputs, Known, PredictedCost, RowRef};
use syscost_measure::probe::{self, Probe};
use syscost_sys::affinity;

/// The probes of this file.
const PROBES: &[&str] =
    &["procedure_call", "system_call", "process_create", "thread_create", "context_switch"];

/// These, and every probe of the second suite.
fn predicting() -> impl Iterator<Item = &'static dyn Probe> {
    let named = PROBES.iter().map(|id| probe::find(id).expect("in the list"));
    let more = probe::ALL.iter().copied().filter(|probe| probe.suite() == Some(probe::OS_MORE_SUITE));
    named.chain(more)
}

fn operations() -> impl Iterator<Item = &'static dyn Probe> {
    probe::ALL.iter().copied().filter(|probe| probe.suite().is_some())
}

/// Measures these probes as briefly as can be, in a directory that goes with the test; the record.
fn measured(probes: &str) -> serde_json::Value {
    let dir = tempfile::tempdir().expect("a directory");
    let (spec, out) = (dir.path().join("spec.toml"), dir.path().join("run"));
    let timing = "[timing]\nwarmup = \"100us\"\nwindow = \"200us\"\nwindows = 2\n";
    let rounds = "name = \"t\"\nprecision = \"50%\"\nmin_rounds = 6\nmax_rounds = 6\ntime_limit = \"60s\"\n";
    std::fs::write(&spec, format!("{rounds}{timing}{probes}")).expect("written");
    let run = Command::new(SYSCOST)
        .arg("run")
        .arg(&spec)
        .arg("--out")
        .arg(&out)
        .arg("-q")
        .output()
        .expect("starts");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let record: serde_json::Value = read(&out.join("run.json"));
    assert_eq!(record["failures"], serde_json::json!([]));
    record
}

fn read(file: &Path) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(file).expect("written")).expect("JSON")
}

/// The cases of a record with what each said of itself.
fn told(record: &serde_json::Value) -> Vec<(Point, serde_json::Value)> {
    let cases = record["plan"]["cases"].as_array().expect("cases").iter();
    let told = |case: &serde_json::Value| {
        let point = serde_json::from_value(case["point"].clone()).expect("a point");
        (point, record["settings"][case["index"].to_string()].clone())
    };
    cases.map(told).collect()
}

#[test]
fn a_fork_states_its_parents_resident_set() {
    let asked = [1 << 20, 24 << 20];
    let record = measured(
        "[[probe]]\nid = \"process_create\"\nhow = [\"fork\"]\nresident_bytes = [\"1M\", \"24M\"]\n",
    );
    let told = told(&record);
    assert_eq!(told.len(), asked.len());
    let mut stated = Vec::new();
    for ((point, facts), asked) in told.iter().zip(asked) {
        let bytes = |fact: &str| facts[fact].as_str().and_then(|text| text.parse::<u64>().ok());
        let resident = bytes("parent.resident_set_bytes").expect("stated");
        let of_files = bytes("parent.resident_of_files_bytes").expect("stated");
        // The program's own is within what is asked, and as large as 2 MiB without optimisation.
        let anonymous = resident - of_files;
        assert!(anonymous >= asked * 9 / 10, "{point}: {facts}");
        assert!(anonymous < (asked + asked / 50).max(3 << 20), "{point}: {facts}");
        assert!(bytes("parent.anonymous_huge_bytes").is_none_or(|bytes| bytes == 0), "{point}: {facts}");
        // What is resident of files is of the program, and differs a little from process to process.
        stated.push(resident - of_files);
    }
    assert!(stated[1] - stated[0] >= 22 << 20, "the difference is what was touched: {stated:?}");
}

#[test]
fn ends_of_a_switch_are_on_the_cpus_asked_for() {
    let tokens = "token = [\"pipe\", \"eventfd\", \"futex\"]\n";
    let record = measured(&format!("[[probe]]\nid = \"context_switch\"\n{tokens}"));
    for (point, facts) in told(&record) {
        let cpus = facts["starter.cpus"].as_str().unwrap_or_else(|| panic!("{point}: {facts}"));
        let (here, there) = cpus.split_once(" and ").expect("two CPUs");
        assert_eq!(here == there, point.text_at("placement") == Some("same"), "{point}: {cpus}");
        assert!(facts["starter.switches_per_round_trip"].is_string(), "{point}");
    }
}

#[test]
fn on_one_cpu_what_needs_two_is_skipped_with_the_reason() {
    // A process starts with the CPUs of the thread that starts it.
    let record = std::thread::spawn(|| {
        let cpu = Topology::read().cpus()[0].id;
        affinity::restrict(&[cpu]).expect("a CPU that is allowed");
        let first = "[[probe]]\nid = \"context_switch\"\ntoken = [\"pipe\"]\n";
        measured(&format!("{first}[[probe]]\nid = \"thread_create\"\n[[probe]]\nid = \"procedure_call\"\n"))
    });
    let record = record.join().expect("measured");
    for (point, _) in told(&record) {
        assert!(point.text_at("placement") != Some("different"), "{point}");
    }
    let skips = record["plan"]["skips"].as_array().expect("skips");
    assert_eq!(skips.len(), 2, "two kinds between cores: {skips:?}");
    for skip in skips {
        let said = |field: &str| skip[field].as_str().is_some_and(|text| !text.is_empty());
        assert!(said("reason") && said("remedy"), "{skip}");
    }
}

/// What a program of binutils says of the binary; `None`: it is not here.
fn binutils(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).arg(SYSCOST).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn the_disassembly_of_a_call_loop_holds_its_call() {
    let Some(symbols) = binutils("nm", &["-n"]) else {
        return eprintln!("skipped: no binutils here");
    };
    if syscost_sys::procedure::calls(0).is_none() {
        return eprintln!("skipped: no loops for this processor");
    }
    let lines: Vec<&str> = symbols.lines().collect();
    if lines.is_empty() {
        let test = "the_disassembly_of_a_call_loop_holds_its_call";
        return skipped(
            test,
            "the program is stripped; .ci/nightly builds one with CARGO_PROFILE_RELEASE_STRIP=none",
        );
    }
    let address = |line: &str| format!("0x{}", line.split(' ').next().unwrap_or_default());
    let mut targets = BTreeSet::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.contains("syscost_calls_")) {
        let (start, stop) = (address(line), address(lines[at + 1]));
        let range = ["-d", "--no-show-raw-insn", "--start-address", &start, "--stop-address", &stop];
        let code = binutils("objdump", &range).expect("it came with nm");
        let calls: Vec<&str> =
            code.lines().filter(|line| line.contains("\tcall ") || line.contains("\tbl\t")).collect();
        assert_eq!(calls.len(), 1, "{code}");
        let target = calls[0].split('<').nth(1).unwrap_or_default();
        assert!(target.contains("syscost_procedure_"), "it calls {target}: {code}");
        targets.insert(target.to_string());
    }
    assert_eq!(
        targets.len(),
        8,
        "a loop for each number of arguments calls a procedure of its own: {targets:?}"
    );
}

/// A machine on which everything is known: a number for each name, none like another.
struct Everything;

impl Known for Everything {
    fn fact(&self, id: &str) -> Option<Input> {
        let value = if id.ends_with("hertz") { 3.1e9 } else { 4096.0 };
        Some(Input::new(id, value, Unit::Hertz, id))
    }

    fn says(&self, _: &str) -> Option<String> {
        Some("AuthenticAMD family 23 model 49".into())
    }

    fn row(&self, row: &RowRef) -> Option<Input> {
        let value = 100.0 + format!("{row:?}").bytes().map(f64::from).sum::<f64>() / 97.0;
        Some(Input::new("", value, Unit::Nanoseconds, "a test"))
    }
}

/// Every point of a probe's default study.
fn points(probe: &dyn Probe) -> Vec<Point> {
    let mut points = vec![Point::default()];
    for axis in probe.axes() {
        let with = |point: &Point| -> Vec<Point> {
            let values: Vec<Value> = axis.default();
            let one = |value: Value| {
                let mut point = point.clone();
                point.set(axis.id, value);
                point
            };
            values.into_iter().map(one).collect()
        };
        points = points.iter().flat_map(with).collect();
    }
    points
}

/// What the formula gives for its own inputs, in nanoseconds.
fn by_formula(cost: &PredictedCost) -> Result<f64, String> {
    let value = |name: &str| {
        let input = cost.inputs.iter().find(|input| input.name == name)?;
        // Cycles over cycles per nanosecond are nanoseconds.
        let scale = if input.unit == Unit::Hertz { 1e-9 } else { 1.0 };
        Some(input.value? * scale)
    };
    formula::evaluate(&cost.formula, &value)
}

#[test]
fn a_formula_says_what_was_computed_and_names_every_input() {
    let mut predictions = 0;
    for probe in predicting() {
        let id = probe.about().id;
        for point in points(probe) {
            let Some(cost) = probe.predict(&point, Inputs::new(&Everything)) else { continue };
            predictions += 1;
            let predicted = cost.predicted.unwrap_or_else(|| panic!("{id} {point}: everything is known"));
            let value = by_formula(&cost).unwrap_or_else(|error| panic!("{id} {point}: {error}"));
            assert!(
                (value / predicted - 1.0).abs() < 1e-9,
                "{id} {point}: {} = {value}, not {predicted}",
                cost.formula
            );
            for input in &cost.inputs {
                let named = formula::names(&cost.formula).contains(&input.name);
                assert!(named, "{id} {point}: {} is not in {}", input.name, cost.formula);
            }
        }
    }
    assert!(predictions > 20, "{predictions} predictions were made");
}

#[test]
fn no_row_predicts_itself() {
    for probe in operations() {
        let id = probe.about().id;
        for point in points(probe) {
            struct Watch<'a>(&'a str, &'a Point);
            impl Known for Watch<'_> {
                fn fact(&self, id: &str) -> Option<Input> {
                    Everything.fact(id)
                }
                fn says(&self, id: &str) -> Option<String> {
                    Everything.says(id)
                }
                fn row(&self, row: &RowRef) -> Option<Input> {
                    assert!(!row.means(self.0, self.1), "{} {} asks for itself", self.0, self.1);
                    Everything.row(row)
                }
            }
            probe.predict(&point, Inputs::new(&Watch(id, &point)));
        }
    }
}

#[test]
fn every_row_that_is_asked_for_is_measured() {
    for probe in operations() {
        let id = probe.about().id;
        for point in points(probe) {
            struct Keep(std::cell::RefCell<Vec<RowRef>>);
            impl Known for Keep {
                fn fact(&self, id: &str) -> Option<Input> {
                    Everything.fact(id)
                }
                fn says(&self, id: &str) -> Option<String> {
                    Everything.says(id)
                }
                fn row(&self, row: &RowRef) -> Option<Input> {
                    self.0.borrow_mut().push(row.clone());
                    Everything.row(row)
                }
            }
            let keep = Keep(Default::default());
            probe.predict(&point, Inputs::new(&keep));
            for row in keep.0.into_inner() {
                let asked = probe::find(row.probe).unwrap_or_else(|| panic!("{id}: no probe {}", row.probe));
                let metric = asked.metrics().iter().any(|metric| metric.id == row.metric);
                let there = points(asked).iter().any(|point| row.means(row.probe, point));
                assert!(metric && there, "{id} {point} asks for {row:?}, which no run of the suite has");
            }
        }
    }
}
