//! Course layouts from recorded runs: tables that parse, files that open, a script whose values are the
//! table's, and nothing overwritten that a person writes in.

use crate::report::common::{self, Shape};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use syscost_analyze::whole::Analysis;
use syscost_course::{Artefact, cse221, pa02};
use syscost_experiment::run::{Run, RunDir};

const ROLL: &str = "MT25999";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn laid_out(run: &Run) -> Vec<Artefact> {
    pa02::artefacts(run, &Analysis::of(run), ROLL, None, None).expect("the run has all three")
}

fn named<'a>(files: &'a [Artefact], end: &str) -> &'a Artefact {
    files.iter().find(|f| f.name.ends_with(end)).unwrap_or_else(|| panic!("no {end}"))
}

fn text(file: &Artefact) -> &str {
    std::str::from_utf8(&file.content).expect("text")
}

/// Rows by heading.
fn rows(table: &str) -> Vec<std::collections::BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    reader.deserialize().map(|row| row.expect("as many fields as headings")).collect()
}

fn tool(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}

#[test]
fn a_counter_that_the_machine_lacks_is_an_empty_cell_with_its_reason() {
    let run = common::small_run();
    let table = laid_out(&run);
    let rows = rows(text(named(&table, "Results.csv")));
    assert_eq!(rows.len(), 3 * 4 * 2, "implementations x sizes x threads");
    for row in &rows {
        let [value, low, high] =
            ["", "_low", "_high"].map(|end| row[&format!("throughput_gbps{end}")].parse::<f64>().unwrap());
        assert!(0.0 < low && low <= value && value <= high, "{row:?}");
        assert_eq!((row["cycles_per_byte"].as_str(), row["l1_misses_per_message_low"].as_str()), ("", ""));
        assert!(row["not_measured"].contains("no hardware performance counters"), "{row:?}");
        // Nobody timed exchanges in this run: there is no other way to a latency.
        assert_eq!(row["latency_us"], "");
        assert!(row["not_measured"].contains("latency is not threads over throughput"), "{row:?}");
        assert!(row["context_switches_per_message"].parse::<f64>().unwrap() > 0.0);
    }
    let counted = common::run(&Shape { counters: true, ..common::small() });
    let table = laid_out(&counted);
    let rows = self::rows(text(named(&table, "Results.csv")));
    assert!(rows.iter().all(|row| row["cycles_per_byte"].parse::<f64>().unwrap() > 0.0));
}

/// A run of counts of two sizes: 100 misses of each side and mode with two-copy, 60 with one-copy, 90 with zero-copy.
fn counts(emulated: bool) -> Run {
    let mut run = common::run(&Shape { sizes: vec![1024, 16384], rounds: 3, ..common::small() });
    let mut fact = run.record.host[0].clone();
    (fact.id, fact.value) = ("emulated".into(), Some("TCG".into()));
    run.record.host.extend(emulated.then_some(fact));
    run.record.id = "counts".into();
    let each = |mechanism: &str| match mechanism {
        "pack_send" => 100.0,
        "sendmsg" => 60.0,
        _ => 90.0,
    };
    for sample in &mut run.samples {
        let misses =
            each(run.record.plan.cases[sample.case].point.text_at("mechanism").unwrap()) * sample.ops;
        for (side, mode) in
            [("sender", "user"), ("sender", "kernel"), ("receiver", "user"), ("receiver", "kernel")]
        {
            sample.quantities.insert(format!("{side}_l1d_misses_{mode}"), Some(misses));
            sample.quantities.insert(format!("{side}_llc_misses_{mode}"), Some(sample.ops));
        }
    }
    run
}

#[test]
fn counts_of_an_emulator_have_columns_of_their_own_and_answer_which_level_falls() {
    let run = common::run(&Shape { counters: true, ..common::small() });
    let analysis = Analysis::of(&run);
    let laid_out = |counts: &Run| {
        let counted = Analysis::of(counts);
        pa02::artefacts(&run, &analysis, ROLL, None, Some((counts, &counted)))
    };
    let files = laid_out(&counts(true)).expect("all three were counted");
    let (with, without) =
        (rows(text(named(&files, "Results.csv"))), rows(text(named(&self::laid_out(&run), "Results.csv"))));
    for (row, plain) in with.iter().zip(&without) {
        let counted = ["1024", "16384"].contains(&row["message_bytes"].as_str());
        let misses = match row["name"].as_str() {
            _ if !counted => "",
            "two-copy" => "400",
            "one-copy" => "240",
            _ => "360",
        };
        assert_eq!(row["modelled_l1d_misses_per_message"], misses, "{row:?}");
        assert!(counted || row["not_measured"].contains("the run of counts does not have this place"));
        // What hardware counters say stands beside it, and the row is judged by timed figures alone.
        for column in
            ["cycles_per_byte", "cache_misses_per_message", "l1_misses_per_message", "runs", "confidence"]
        {
            assert_eq!(row[column], plain[column], "{column}");
        }
        assert_eq!(plain["modelled_l1d_misses_per_message"], "");
        assert!(plain["not_measured"].contains("syscost lab --count cache"), "{plain:?}");
    }
    let report = text(named(&files, "Report.md"));
    let level = "misses\\_per\\_message falls most: 400 with two-copy, 240 with one-copy (modelled cache, emulated CPU).";
    assert!(report.contains(level) && report.contains("at 16 KiB and 1 thread"), "{report}");
    let plot = named(&files, "modelled-l1d-misses-per-message-by-size.svg");
    assert!(text(plot).contains("modelled cache, emulated CPU"));
    let script = text(named(&files, "Plots.py"));
    assert!(script.contains("Modelled cache: run counts.") && script.contains("--cache CACHE RUN"));
    let refused = laid_out(&counts(false)).unwrap_err().to_string();
    assert!(
        refused.contains("not made in an emulator") && refused.contains("lab --count cache"),
        "{refused}"
    );
}

/// Compiles the script, reads its data without running it, and compares them with the table.
const CHECK: &str = r#"
import ast, csv, sys
source = open(sys.argv[1]).read()
tree = ast.parse(source)
compile(tree, sys.argv[1], "exec")
data = {node.targets[0].id: node.value for node in tree.body if isinstance(node, ast.Assign)}
columns, script = ast.literal_eval(data["COLUMNS"]), ast.literal_eval(data["ROWS"])
table = list(csv.DictReader(open(sys.argv[2])))
read = lambda column, text: text if column == "name" else float(text) if text else None
assert script == [[read(column, row[column]) for column in columns] for row in table]
print(sum(value is not None for row in script for value in row))
"#;

#[test]
fn the_script_compiles_and_its_values_are_the_table_s() {
    if !tool("python3") {
        eprintln!("skipped: python3 is not installed");
        return;
    }
    for counters in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let files = laid_out(&common::run(&Shape { counters, ..common::small() }));
        let paths: Vec<PathBuf> = ["Plots.py", "Results.csv"]
            .iter()
            .map(|end| {
                let file = named(&files, end);
                fs::write(dir.path().join(&file.name), &file.content).unwrap();
                dir.path().join(&file.name)
            })
            .collect();
        let checked = Command::new("python3").args(["-c", CHECK]).args(&paths).output().unwrap();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
        let values: usize = String::from_utf8_lossy(&checked.stdout).trim().parse().unwrap();
        assert!(values >= 24 * (3 + 3 * 4), "{values}");
        if !Command::new("python3").args(["-c", "import matplotlib"]).output().unwrap().status.success() {
            eprintln!("skipped: matplotlib is not installed, so the script was not run");
            continue;
        }
        assert!(Command::new("python3").arg(&paths[0]).status().unwrap().success());
        let drawn = fs::read_dir(dir.path())
            .unwrap()
            .filter(|e| e.as_ref().unwrap().path().extension().is_some_and(|e| e == "png"));
        assert_eq!(drawn.count(), 5);
    }
}

#[test]
fn a_recorded_text_is_no_program_of_a_script() {
    let mut run = common::small_run();
    run.record.id = "\"\"\"\nimport os\\".into();
    let files = laid_out(&run);
    let script = text(named(&files, "Plots.py"));
    assert!(script.contains(r#"Run \"\"\"\\x0aimport os\\ by syscost"#), "{script}");
}

#[test]
fn the_report_has_every_question_and_leaves_the_answers_to_the_student() {
    let files = laid_out(&common::small_run());
    let report = text(named(&files, "Report.md"));
    for heading in [
        "### A1.",
        "### A2.",
        "### A3.",
        "### 1.",
        "### 2.",
        "### 3.",
        "### 4.",
        "### 5.",
        "### 6.",
        "## AI use",
    ] {
        assert!(report.contains(&format!("\n{heading}")), "{heading}");
    }
    assert_eq!(report.matches("*Your explanation:*").count(), 9);
    assert!(report.contains("AMD EPYC") && report.contains("copied in"));
    let svgs: Vec<&Artefact> = files.iter().filter(|f| f.name.ends_with(".svg")).collect();
    assert!(!svgs.is_empty() && svgs.iter().all(|f| report.contains(&format!("]({})", f.name))));
}

#[test]
fn a_run_that_lacks_what_is_shown_says_which_command_has_it() {
    let refused = |shape: Shape| {
        let run = common::run(&shape);
        pa02::artefacts(&run, &Analysis::of(&run), ROLL, None, None).unwrap_err().to_string()
    };
    let two = refused(Shape { mechanisms: vec!["pack_send", "sendmsg"], ..common::small() });
    assert!(two.contains("no transfer by zero-copy") && two.contains("`syscost run pa02-60`"), "{two}");
    let both = refused(Shape { paths: vec!["veth", "loopback"], ..common::small() });
    assert!(both.contains("several cases at one size and thread count") && both.contains("path"), "{both}");
    let run = common::small_run();
    let none = cse221::artefacts(&run, &Analysis::of(&run)).unwrap_err().to_string();
    assert!(none.contains("no measured operation") && none.contains("`syscost run cse221`"), "{none}");
}

#[test]
fn operations_have_prediction_interval_and_deviation() {
    let run = RunDir::load(&root().join("docs/runs/os")).expect("it is recorded");
    let files = cse221::artefacts(&run, &Analysis::of(&run)).unwrap();
    let rows = rows(text(named(&files, "table.csv")));
    assert!((40..90).contains(&rows.len()), "what the course asks for: {}", rows.len());
    let mut predicted = 0;
    for row in &rows {
        let field = |id: &str| row[id].parse::<f64>().ok();
        let [measured, low, high] =
            ["measured", "measured_low", "measured_high"].map(|id| field(id).unwrap());
        assert!(low <= measured && measured <= high, "{row:?}");
        assert!(
            field("standard_deviation").is_some_and(|sd| sd >= 0.0) || field("trials") == Some(1.0),
            "{row:?}"
        );
        match field("predicted") {
            Some(_) => predicted += 1,
            None => assert!(!row["not_predicted"].is_empty(), "{row:?}"),
        }
    }
    assert!(predicted > 20, "{predicted}");
    let report = text(named(&files, "report.md"));
    assert!(report.contains("## 2. Machine description") && report.contains("*Methodology:*"));
}

#[test]
fn a_recorded_text_is_no_markup_of_a_report() {
    const TAG: &str = "`<img src=http://stranger.example/x>";
    let mut run = RunDir::load(&root().join("docs/runs/os")).expect("it is recorded");
    let tool = &mut run.record.tool;
    (tool.version, tool.profile) = (TAG.into(), TAG.into());
    (run.record.id, run.record.command) = (TAG.into(), vec![TAG.into()]);
    let files = cse221::artefacts(&run, &Analysis::of(&run)).unwrap();
    let report = text(named(&files, ".md"));
    // Between backticks a tag is text; a backtick of a stranger's would end them.
    let outside: String = report.replace("\\`", "'").split('`').step_by(2).collect();
    assert!(report.contains("stranger.example"), "it is shown");
    assert!(!outside.contains("<img"), "{}", outside.split("<img").next().unwrap_or_default());
}

#[test]
fn what_a_student_has_written_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let make = || {
        let run = root().join("tests/data/small-run");
        let told = Command::new(env!("CARGO_BIN_EXE_syscost"))
            .args(["course", "pa02", "--roll", ROLL, "--json"])
            .arg(run)
            .arg("--out")
            .arg(dir.path())
            .output()
            .unwrap();
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        serde_json::from_slice::<serde_json::Value>(&told.stdout).unwrap()
    };
    assert_eq!(make()["kept"].as_array().unwrap().len(), 0);
    let report = dir.path().join(format!("{ROLL}_Report.md"));
    let table = dir.path().join(format!("{ROLL}_Part_C_Results.csv"));
    fs::write(&report, "mine").unwrap();
    fs::write(&table, "stale").unwrap();
    assert_eq!(make()["kept"].as_array().unwrap().len(), 2, "the report and the README");
    assert_eq!(fs::read_to_string(&report).unwrap(), "mine");
    assert_ne!(fs::read_to_string(&table).unwrap(), "stale");
}

/// A baseline of eight sends is two-copy too: the table, the evidence and the report are then of it.
#[test]
fn what_counts_as_two_copy_is_asked_for() {
    let run = common::run(&Shape {
        mechanisms: vec!["send_fields", "pack_send", "sendmsg", "msg_zerocopy"],
        ..common::small()
    });
    let analysis = Analysis::of(&run);
    let laid_out =
        |two_copy| pa02::artefacts(&run, &analysis, ROLL, two_copy, None).expect("the run has all three");
    let (plain, fields) =
        (laid_out(None), laid_out(Some(pa02::two_copy("send_fields").expect("it is two-copy"))));
    for (files, mechanism) in [(&plain, "pack_send"), (&fields, "send_fields")] {
        let rows = rows(text(named(files, "Results.csv")));
        for row in &rows {
            let case = &run.record.plan.cases[row["case"].parse::<usize>().expect("a number")];
            let of = case.point.text(syscost_measure::probe::transfer::axes::MECHANISM);
            assert_eq!(of, Some(row["interface"].as_str()), "the case is the row's");
        }
        assert!(rows.iter().filter(|row| row["name"] == "two-copy").all(|row| row["interface"] == mechanism));
        assert!(
            text(named(files, "Report.md"))
                .contains(&format!("Two-copy is {}", mechanism.replace('_', "\\_")))
        );
    }
    let told = pa02::two_copy("sendmsg").unwrap_err();
    assert!(told.contains("pack_send") && told.contains("send_fields"), "{told}");
}

/// Pages of a PDF, and its text where a tool reads it.
fn read_pdf(path: &Path) -> (usize, Option<String>) {
    let told = |program: &str, more: &[&str]| {
        let output =
            Command::new(program).arg(path).args(more).output().ok().filter(|o| o.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let content = String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    let pages = content.split("/Type /Page").skip(1).filter(|rest| !rest.starts_with('s')).count();
    (pages, told("pdftotext", &["-layout", "-"]))
}

#[test]
fn a_report_is_printed_with_what_its_student_wrote() {
    const WRITTEN: &str = "Written by the student, and printed.";
    let dir = tempfile::tempdir().unwrap();
    let make = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_syscost"));
        command.args(["course", "cse221"]).arg(root().join("docs/runs/os")).arg("--out").arg(dir.path());
        command.args(more).output().unwrap()
    };
    assert!(make(&[]).status.success());
    let report = dir.path().join("cse221_report.md");
    let text = fs::read_to_string(&report).unwrap();
    fs::write(&report, text.replacen("*Your conclusions:*", WRITTEN, 1)).unwrap();
    let printed = make(&["--pdf"]);
    let said = String::from_utf8_lossy(&printed.stderr).into_owned();
    let page = fs::read_to_string(dir.path().join("cse221_report.html")).unwrap();
    assert!(
        page.contains(WRITTEN) && page.matches("<svg").count() >= 8,
        "the page stays where nothing prints it"
    );
    if !printed.status.success() {
        assert!(said.contains("apt-get install chromium") && said.contains("cse221_report.html"), "{said}");
        return eprintln!("skipped: {said}");
    }
    let (pages, text) = read_pdf(&dir.path().join("cse221_report.pdf"));
    assert!((3..=15).contains(&pages), "{pages} pages");
    let Some(text) = text else { return eprintln!("skipped: pdftotext is not installed (poppler-utils)") };
    for asked in ["Procedure call, by the number of arguments", "Size of the file cache", WRITTEN] {
        assert!(text.contains(asked), "{asked} in {text}");
    }
    let left: Vec<String> =
        fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into()).collect();
    assert!(!left.iter().any(|name| name.starts_with('.')), "{left:?}");
}
