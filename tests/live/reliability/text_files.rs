//! Text files that a user names: what is larger than any such file is refused, and never read in part.
//!
//! Every command runs with an address space that a whole read would not fit into.

use crate::common::{SYSCOST, limit, said};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Of address space; the largest text that is read, a record of 256 MiB, fits into it.
const ROOM_BYTES: u64 = 1 << 30;

/// One that would wait for ever is ended, and has another status than a refusal.
fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.arg("60").arg(SYSCOST).args(arguments);
    limit(&mut command, libc::RLIMIT_AS, ROOM_BYTES, ROOM_BYTES);
    command.output().expect("the binary starts")
}

/// A file of so many bytes that begins with this text; the rest is a hole, which reads as zeros.
fn large(folder: &Path, name: &str, text: &str, bytes: u64) -> PathBuf {
    let path = folder.join(name);
    let mut file = File::create(&path).expect("a file");
    file.write_all(text.as_bytes()).expect("written");
    file.set_len(bytes).expect("a hole");
    path
}

fn refused(arguments: &[&str], words: &[&str]) {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", said(&output));
    assert!(output.stdout.is_empty(), "{arguments:?} shows something of it: {}", said(&output));
    let told = said(&output);
    for word in words {
        assert!(told.contains(word), "{arguments:?} does not say {word:?}: {told}");
    }
}

fn small_run() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/small-run")
}

#[test]
fn a_text_beyond_its_limit_is_refused_and_never_read_in_part() {
    let folder = tempfile::tempdir().expect("a directory");
    let text = |path: &Path| path.to_str().expect("UTF-8").to_string();
    let rows = "mechanism,message_bytes,throughput_gbps\nsend,64,1.5\n";
    let table = text(&large(folder.path(), "table.csv", rows, (16 << 20) + 1));
    let whole = text(&large(folder.path(), "whole.csv", rows, rows.len() as u64));
    let experiment = text(&large(folder.path(), "mine.toml", "#", 64 << 30));
    refused(&["analyse", &table], &["table.csv", "larger than 16 MiB"]);
    refused(&["analyse", "/dev/zero"], &["/dev/zero", "larger than 16 MiB"]);
    refused(&["plan", &experiment], &["mine.toml", "larger than 1 MiB", "syscost list"]);
    refused(&["run", "/dev/zero"], &["/dev/zero", "larger than 1 MiB"]);
    assert!(run(&["analyse", &whole]).status.success(), "one that is not too large is read");
}

#[test]
fn an_experiment_of_too_many_cases_is_refused_before_it_takes_memory() {
    let folder = tempfile::tempdir().expect("a directory");
    let list = |count: u64| (1..=count).map(|n| (64 * n).to_string()).collect::<Vec<_>>().join(",");
    let threads = (1..=1000).map(|n: u64| n.to_string()).collect::<Vec<_>>().join(",");
    let grid = |sizes: u64, more: &str| {
        let sizes = list(sizes);
        format!(
            "[[probe]]\nid = \"transfer\"\nmechanism = [\"send\"]\npath = [\"loopback\"]\n\
             message_bytes = [{sizes}]\nthreads = [{threads}]\n{more}\n"
        )
    };
    let plan = |name: &str, text: &str, why: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).expect("written");
        refused(&["plan", file.to_str().unwrap()], &["more than 100000 cases", why, "name fewer"]);
    };
    plan("wide.toml", &grid(90, &format!("socket_buffer_bytes = [{}]", list(8000))), "and counting");
    // None of these is too large by itself.
    plan("long.toml", &(0..4).map(|n| grid(60 + n, "")).collect::<String>(), "4 entries");
}

#[test]
fn figures_beside_a_run_are_a_whole_table_or_none() {
    let folder = tempfile::tempdir().expect("a directory");
    let (run, out) = (small_run(), folder.path().join("out"));
    // Cut anywhere in its empty lines, it would still be a table: of one row less.
    let mut text = String::from("operation,variant,unit,measured\nsystem call,getpid,ns,100\n");
    text += &"\n".repeat(17 << 20);
    text += "system call,getppid,ns,100\n";
    let table = folder.path().join("published.csv");
    std::fs::write(&table, text).expect("written");
    let arguments = ["report", run.to_str().unwrap(), "--out", out.to_str().unwrap(), "--beside"];
    refused(&[&arguments[..], &[table.to_str().unwrap()]].concat(), &["published.csv", "larger than 16 MiB"]);
    refused(&[&arguments[..], &["/dev/zero"]].concat(), &["/dev/zero", "larger than 16 MiB"]);
    assert!(!out.join("report.html").exists(), "no page is made of a part");
}

#[test]
fn a_record_beyond_its_limit_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a directory");
    large(folder.path(), "run.json", "{", (256 << 20) + 1);
    refused(&["report", folder.path().to_str().unwrap()], &["run.json", "larger than 256 MiB"]);
}
