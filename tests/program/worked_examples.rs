//! Follows CONTRIBUTING.md to the letter: copies the tree, adds each template as the file and the line that the
//! guide names, and sees that they build without a warning, are listed and do their work.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use syscost_experiment::run::Audit;
use syscost_experiment::run::audit::Balance;
use syscost_measure::ledger::Ledger;

/// The list that names a new file, and its line there.
struct Example {
    list: String,
    line: String,
}

/// What stands between backticks in a row.
fn quoted(row: &str) -> Vec<String> {
    row.split('`').skip(1).step_by(2).map(str::to_string).collect()
}

/// Files to copy: each template, and where it goes; with the list and the line that name it, where the row has them.
fn examples(guide: &str) -> Vec<(String, String, Option<Example>)> {
    let rows = guide.lines().filter(|line| line.contains("| `docs/templates/"));
    rows.map(|row| match quoted(row).as_slice() {
        [template, file] => (template.clone(), file.clone(), None),
        [template, file, list, line] => {
            (template.clone(), file.clone(), Some(Example { list: list.clone(), line: line.clone() }))
        }
        _ => panic!("two or four paths and lines in {row}"),
    })
    .collect()
}

/// Adds the lines that stand in a table of file, line before and line.
fn add_lines(guide: &str, to: &Path) -> usize {
    let rows = guide.lines().filter(|line| line.starts_with("| `crates/")).map(quoted);
    let mut added = 0;
    for row in rows {
        let [file, after, line] = row.as_slice() else { panic!("three in {row:?}") };
        let text = fs::read_to_string(to.join(file)).expect("readable");
        let (start, rest) = text.split_once(&format!("{after}\n")).unwrap_or_else(|| panic!("{after}"));
        fs::write(to.join(file), format!("{start}{after}\n{line}\n{rest}")).expect("written");
        added += 1;
    }
    added
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).expect("made");
        for entry in fs::read_dir(from).expect("readable") {
            let entry = entry.expect("readable");
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        fs::copy(from, to).expect("copied");
    }
}

/// The tree with what the guide adds to it.
fn follow_the_guide(root: &Path, to: &Path) {
    let folders = ["crates", "tools", "docs", "tests", ".cargo"];
    for name in folders.into_iter().chain(["Cargo.toml", "Cargo.lock", "README.md", "clippy.toml"]) {
        copy(&root.join(name), &to.join(name));
    }
    let guide = fs::read_to_string(root.join("CONTRIBUTING.md")).expect("CONTRIBUTING.md");
    let examples = examples(&guide);
    assert_eq!(examples.len(), 4, "a mechanism, a probe, and a finding with its words");
    assert_eq!(add_lines(&guide, to), 5);
    for (template, file, named) in examples {
        fs::copy(root.join(template), to.join(file)).expect("copied");
        let Some(Example { list, line }) = named else { continue };
        let text = fs::read_to_string(to.join(&list)).expect("readable");
        let (start, rest) = text.split_once("pub static ALL: dyn ").expect("a list");
        let (kind, rest) = rest.split_once(" = [\n").expect("a list");
        let added = format!("{start}pub static ALL: dyn {kind} = [\n        {line}\n{rest}");
        fs::write(to.join(list), added).expect("written");
    }
}

fn ran(what: &str, output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{what}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// The name of the copy's program: in the shared target directory `syscost` is the tree's.
const PROGRAM: &str = "syscost-with-examples";

/// Nothing is timed here, so the copy is compiled without optimisation; its dependencies are the tree's.
fn rename_program(manifest: &Path) {
    let text = fs::read_to_string(manifest).expect("readable");
    let renamed = text.replacen("name = \"syscost\"\n", &format!("name = \"{PROGRAM}\"\n"), 2);
    assert_ne!(renamed, text, "the manifest names the package and its program");
    let (before, levels) = renamed.split_once("[profile.release.package]\n").expect("levels by package");
    let levels: Vec<&str> = levels.lines().filter(|line| !line.starts_with("syscost-")).collect();
    let ours = text.lines().filter_map(|line| line.split_once(" = { path = \"").map(|(name, _)| name));
    let ours: String = ours
        .filter(|name| name.starts_with("syscost-"))
        .chain([PROGRAM, "xtask"])
        .map(|name| format!("{name} = {{ opt-level = 0 }}\n"))
        .collect();
    let whole = format!("{before}[profile.release.package]\n{ours}{}", levels.join("\n"));
    fs::write(manifest, whole).expect("written");
}

/// The guide's one command, twice: what it writes is up to date, as tests/program/generated.rs asks.
fn regenerated(tree: &Path, cargo: impl Fn(&[&str]) -> Command) {
    let task = tree.join("tools/xtask/src/main.rs");
    let text = fs::read_to_string(&task).expect("readable");
    let renamed = text.replace("\"syscost\"", &format!("{PROGRAM:?}"));
    assert_ne!(renamed, text, "it builds and starts the program by name");
    fs::write(task, renamed).expect("written");
    let regenerate =
        || ran("cargo xtask regenerate", &cargo(&["xtask", "regenerate"]).output().expect("cargo"));
    let written = regenerate();
    let made = |file: &str| ["README.md", "docs/", "tests/golden/"].iter().any(|place| file.contains(place));
    assert!(!written.is_empty() && written.lines().all(made), "{written}");
    assert_eq!(regenerate(), "", "nothing is stale any more");
}

/// The new mechanism's copies, counted in the kernel where it lets us.
fn audited(syscost: impl Fn(&[&str]) -> String) {
    if let Err(why) = Ledger::attach() {
        eprintln!("skipped: the audit of the worked example: {}", why.reason);
        return;
    }
    let told = syscost(&["audit", "--json", "--mechanism", "sendto", "--path", "loopback", "--size", "4K"]);
    let last = told.lines().last().expect("a document");
    let document: serde_json::Value = serde_json::from_str(last).expect("JSON");
    let audits: Vec<Audit> = serde_json::from_value(document["audits"].clone()).expect("audits");
    let [audit] = audits.as_slice() else { panic!("{document}") };
    assert_eq!(audit.user_copied, audit.delivered_bytes, "one copy in user space");
    assert_eq!(audit.balance(), Some(Balance { sent: 0, delivered: 0, readings: 0 }), "exact");
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn the_worked_examples_are_true() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // One place, so that a second test run finds what the first compiled.
    let tree = Path::new(env!("CARGO_TARGET_TMPDIR")).join("worked-examples");
    let _ = fs::remove_dir_all(&tree);
    follow_the_guide(root, &tree);
    rename_program(&tree.join("Cargo.toml"));
    let binary = PathBuf::from(env!("CARGO_BIN_EXE_syscost"));
    let profile = binary.parent().expect("target/<profile>");
    let cargo = |task: &[&str]| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(task).current_dir(&tree).env("CARGO_NET_OFFLINE", "true");
        cargo.env("CARGO_TARGET_DIR", profile.parent().expect("target"));
        cargo
    };
    let build: &[&str] =
        if profile.ends_with("release") { &["build", "--quiet", "--release"] } else { &["build", "--quiet"] };
    ran("cargo build", &cargo(build).output().expect("cargo"));
    let clippy = ["clippy", "--quiet", "--release", "-p", "syscost-measure", "-p", "syscost-analyze"];
    ran("cargo clippy", &cargo(&clippy).args(["--", "-D", "warnings"]).output().expect("cargo"));
    let syscost = |arguments: &[&str]| {
        let output = Command::new(profile.join(PROGRAM)).args(arguments).output().expect("it starts");
        ran(&arguments.join(" "), &output)
    };
    assert!(syscost(&["list"]).contains("\n  sendto "), "list");
    assert!(syscost(&["help", "axes"]).contains("sendto"), "help");
    assert!(syscost(&["completions", "bash"]).contains("sendto"), "completions");
    let checked =
        syscost(&["check", "--mechanism", "sendto", "--path", "loopback", "--quick", "--placement", "none"]);
    assert!(checked.starts_with("verified"), "{checked}");
    audited(syscost);
    assert!(syscost(&["list"]).contains("\n  yield_cpu "), "list");
    assert!(syscost(&["plan", "os", "--cases"]).contains("yield_cpu"), "it is a row of the suite");
    let checked = syscost(&["check", "yield_cpu"]);
    assert!(checked.starts_with("verified"), "{checked}");
    let out = tempfile::tempdir().expect("a directory");
    let (run, out) = (root.join("docs/runs/default"), out.path());
    syscost(&["report", run.to_str().expect("UTF-8"), "--out", out.to_str().expect("UTF-8")]);
    let page = fs::read_to_string(out.join("report.html")).expect("the page");
    assert!(page.contains("Did TCP have to send anything twice?"), "an old run is asked");
    let answered = ["No segment was retransmitted in 198 cases.", "of 198 cases retransmitted."]
        .map(|said| page.contains(said));
    assert!(answered.contains(&true), "and answered");
    regenerated(&tree, cargo);
}
