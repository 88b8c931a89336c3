//! Every snippet of docs/cookbook.md, run on a recorded run. What a machine lacks is said.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Prints the rows of a query, as the other snippets print theirs.
const QUERY: &str = "import duckdb, sys\nfor row in duckdb.sql(sys.stdin.read()).fetchall(): print(*row)";

/// A fenced block: the words behind its fence, and its text.
struct Snippet {
    words: Vec<String>,
    text: String,
}

fn skipped(reason: &str) {
    eprintln!("skipped: cookbook: {reason}");
}

fn said(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn snippets(page: &str) -> Vec<Snippet> {
    let blocks = page.split("\n```").skip(1).step_by(2);
    let snippet = |block: &str| {
        let (words, text) = block.split_once('\n').expect("a fence ends its line");
        Snippet { words: words.split(' ').map(String::from).collect(), text: format!("{text}\n") }
    };
    blocks.map(snippet).collect()
}

/// A directory as `syscost run` leaves it, and in it two runs a side of a gate: this one.
fn recorded() -> tempfile::TempDir {
    let (dir, run) = (tempfile::tempdir().expect("a directory"), root().join("docs/runs/default"));
    for file in files(&run) {
        fs::copy(&file, dir.path().join(file.file_name().expect("a name"))).expect("a copy");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_syscost"))
        .arg("report")
        .arg(dir.path())
        .output()
        .expect("it starts");
    assert!(output.status.success(), "{}", said(&output));
    for again in ["base/1", "base/2", "new/1", "new/2"] {
        let place = dir.path().join("runs").join(again);
        fs::create_dir_all(&place).expect("a directory");
        for file in files(&run) {
            fs::copy(&file, place.join(file.file_name().expect("a name"))).expect("a copy");
        }
        let record = fs::read_to_string(place.join("run.json")).expect("a record");
        let own = record.replacen("\"id\": \"", &format!("\"id\": \"{}-", again.replace('/', "-")), 1);
        fs::write(place.join("run.json"), own).expect("written");
    }
    dir
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).expect("the recorded run").map(|entry| entry.expect("a file").path()).collect()
}

/// Python with the packages that .ci/run keeps beside what is built.
fn python() -> Command {
    let mut python = Command::new("python3");
    python.env("PYTHONPATH", root().join("target/python"));
    python
}

fn works(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// What a kind of snippet is run by; `None`: it is not installed.
fn interpreter(kind: &str) -> Option<Command> {
    let imports = |module: &str| works(python().args(["-c", &format!("import {module}")]));
    let (there, mut command, arguments): (bool, Command, &[&str]) = match kind {
        "jq" => (works(Command::new("jq").arg("--version")), Command::new("sh"), &["-e"]),
        "gate" => (true, Command::new("sh"), &["-e"]),
        "pandas" => (imports("pandas"), python(), &["-"]),
        "duckdb" => (imports("duckdb"), python(), &["-c", QUERY]),
        _ => panic!("nothing runs {kind}"),
    };
    let program = Path::new(env!("CARGO_BIN_EXE_syscost")).parent().expect("a folder");
    let others = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(program.to_path_buf()).chain(std::env::split_paths(&others));
    command.args(arguments).env("PATH", std::env::join_paths(all).expect("a search path"));
    there.then_some(command)
}

fn run(mut command: Command, text: &str, dir: &Path) -> Output {
    let command =
        command.current_dir(dir).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
    child.wait_with_output().expect("it ends")
}

/// As many as the data has, and each of some kind.
fn every_problem_is_told(answer: &str, dir: &Path) {
    let text = fs::read_to_string(dir.join("findings.json")).expect("the findings");
    let findings: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let count = findings["problems"].as_array().expect("a list").len();
    let numbers = answer.lines().map(|line| line.split(' ').next().and_then(|word| word.parse().ok()));
    let numbers: Vec<usize> = numbers.map(|number| number.expect("a count")).collect();
    assert!(count > 100 && numbers[0] == count, "{count}: {answer}");
    assert_eq!(numbers[1..].iter().sum::<usize>(), count, "{answer}");
}

#[test]
fn every_snippet_of_the_cookbook_runs() {
    let page = fs::read_to_string(root().join("docs/cookbook.md")).expect("the page");
    let dir = recorded();
    let mut answers: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for Snippet { words, text } in snippets(&page) {
        *kinds.entry(words[1].clone()).or_default() += 1;
        let Some(command) = interpreter(&words[1]) else {
            skipped(&format!("{} is not installed", words[1]));
            continue;
        };
        let output = run(command, &text, dir.path());
        assert!(output.status.success(), "{text}\n{}", said(&output));
        let answer = String::from_utf8(output.stdout).expect("text");
        assert!(words[1] == "gate" || !answer.trim().is_empty(), "it prints nothing: {text}");
        if words.get(2).is_some_and(|question| question == "careful") {
            every_problem_is_told(&answer, dir.path());
        } else if let Some(question) = words.get(2) {
            answers.entry(question.clone()).or_default().push(answer);
        }
    }
    assert!(["jq", "pandas", "duckdb", "gate"].iter().all(|kind| kinds.contains_key(*kind)), "{kinds:?}");
    for (question, answers) in answers {
        assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{question}: {answers:#?}");
        assert!(
            answers.iter().all(|answer| answer.lines().count() == 8),
            "a line for each size: {answers:#?}"
        );
    }
}

#[test]
fn the_gate_of_the_cookbook_closes() {
    let page = fs::read_to_string(root().join("docs/cookbook.md")).expect("the page");
    let gate = snippets(&page).into_iter().find(|snippet| snippet.words[1] == "gate").expect("there is one");
    // Identical runs did not become cheaper by a tenth.
    let stricter = gate.text.replace("--budget 10%", "--budget=-10%");
    let dir = recorded();
    let output = run(interpreter("gate").expect("a shell"), &stricter, dir.path());
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("over"), "{}", said(&output));
}
