//! Follows CONTRIBUTING.md to the letter: copies the tree, adds the file and the two lines that it
//! shows, and sees that the new mechanism, operation and finding build, are listed and do their work.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The code blocks that follow a marker `<!-- example: PATH -->`, up to the next text.
fn blocks(guide: &str, path: &str) -> Vec<String> {
    let marker = format!("<!-- example: {path} -->\n");
    let mut rest = guide.split_once(&marker).unwrap_or_else(|| panic!("no example for {path}")).1;
    let mut blocks = Vec::new();
    while let Some(block) = rest.strip_prefix("```rust\n") {
        let (code, after) = block.split_once("```\n").expect("the block is closed");
        blocks.push(code.to_string());
        rest = after;
    }
    blocks
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
    for name in ["crates", "tools", "Cargo.toml", "Cargo.lock", "README.md"] {
        copy(&root.join(name), &to.join(name));
    }
    let guide = fs::read_to_string(root.join("CONTRIBUTING.md")).expect("CONTRIBUTING.md");
    for (file, list) in [
        ("crates/measure/src/mechanism/sendto.rs", "dyn Mechanism"),
        ("crates/measure/src/probe/yield_cpu.rs", "dyn Probe"),
        ("crates/analyze/src/finding/repeats.rs", "dyn Finding"),
    ] {
        add(&guide, to, file, &format!("pub static ALL: {list} = [
"));
    }
}

/// One file, and one line in its room's list.
fn add(guide: &str, to: &Path, file: &str, start: &str) {
    let (room, _) = file.rsplit_once('/').expect("a room");
    let [code] = blocks(guide, file).try_into().expect("one block");
    fs::write(to.join(file), code).expect("written");
    let list = format!("{room}/mod.rs");
    let [line] = blocks(guide, &list).try_into().expect("one line");
    let list = to.join(list);
    let before = fs::read_to_string(&list).expect("readable");
    assert!(before.contains(start), "the list of {room} is where the guide says");
    fs::write(&list, before.replacen(start, &format!("{start}{line}"), 1)).expect("written");
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
    let plain = |line: &str| !line.starts_with("syscost-") || !line.contains("opt-level");
    let lines: Vec<&str> = renamed.lines().filter(|line| plain(line)).collect();
    assert_ne!(renamed, text, "the manifest names the package and its program");
    fs::write(manifest, lines.join("\n")).expect("written");
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
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--offline", "--quiet"]).current_dir(&tree);
    build.env("CARGO_TARGET_DIR", profile.parent().expect("target"));
    if profile.ends_with("release") {
        build.arg("--release");
    }
    ran("cargo build", &build.output().expect("cargo"));
    let syscost = |arguments: &[&str]| {
        let output = Command::new(profile.join(PROGRAM)).args(arguments).output().expect("it starts");
        ran(&arguments.join(" "), &output)
    };
    assert!(syscost(&["list"]).contains("\n  sendto "), "list");
    assert!(syscost(&["run", "-h"]).contains("sendto"), "help");
    assert!(syscost(&["completions", "bash"]).contains("sendto"), "completions");
    let checked =
        syscost(&["check", "--mechanism", "sendto", "--path", "loopback", "--quick", "--placement", "none"]);
    assert!(checked.starts_with("verified"), "{checked}");
    assert!(syscost(&["list"]).contains("\n  yield_cpu "), "list");
    assert!(syscost(&["plan", "os", "--cases"]).contains("yield_cpu"), "it is a row of the suite");
    let checked = syscost(&["check", "yield_cpu"]);
    assert!(checked.starts_with("verified"), "{checked}");
    let out = tempfile::tempdir().expect("a directory");
    let (run, out) = (root.join("docs/runs/default"), out.path());
    syscost(&["report", run.to_str().expect("UTF-8"), "--out", out.to_str().expect("UTF-8")]);
    let page = fs::read_to_string(out.join("report.html")).expect("the page");
    assert!(page.contains("Did TCP have to send anything twice?"), "an old run is asked");
    assert!(page.contains("No: no segment was retransmitted in 164 cases."), "and answered");
}
