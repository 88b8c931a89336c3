//! Rights are used on what is ours alone: no file outside of the run directory is written or cut through a
//! link in it, and nothing in the place of a file makes a reader wait.

use crate::common;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Instant;
use syscost_experiment::run::RunDir;

const VICTIM: &str = "precious\n";

fn text(path: &Path) -> String {
    path.to_str().expect("UTF-8").to_string()
}

fn copied(from: &Path, to: PathBuf) -> PathBuf {
    fs::create_dir(&to).expect("mkdir");
    for file in fs::read_dir(from).expect("the run").flatten() {
        fs::copy(file.path(), to.join(file.file_name())).expect("copy");
    }
    to
}

/// Everything that reads or writes a run directory, each within a moment.
fn use_it(dir: &Path) {
    for arguments in [
        &["report", &text(dir)][..],
        &["explain", "0", &text(dir)],
        &["analyse", &text(&dir.join("results.csv"))],
        &["run", "--resume", &text(dir), "--time-limit", "1s", "--quiet"],
        &["run", "tcp_latency", "--path", "loopback", "--time-limit", "2s", "--quiet", "--out", &text(dir)],
    ] {
        let start = Instant::now();
        let output = common::syscost(arguments);
        assert!(start.elapsed() < common::PATIENCE, "{arguments:?} took {:?}", start.elapsed());
        assert!(
            output.status.code().is_some_and(|code| code <= 2),
            "{arguments:?}: {}",
            common::said(&output)
        );
    }
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn nothing_outside_of_a_run_directory_is_written_through_what_is_in_it() {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let honest = scratch.path().join("honest");
    common::measured(&honest);
    std::thread::scope(|scope| {
        for name in ["run.json", "samples.csv", "histograms.csv", "results.csv", "report.html"] {
            let (scratch, honest) = (scratch.path(), honest.as_path());
            scope.spawn(move || {
                for kind in ["symbolic", "dangling", "hard", "fifo"] {
                    in_the_place_of(name, kind, scratch, honest);
                }
            });
        }
    });
}

fn in_the_place_of(name: &str, kind: &str, scratch: &Path, honest: &Path) {
    let dir = copied(honest, scratch.join(format!("{kind}-{name}")));
    let (place, victim) = (dir.join(name), scratch.join(format!("victim-{kind}-{name}")));
    // What it leads to begins as an honest file, so that nothing else refuses it.
    let content = fs::read_to_string(&place).unwrap_or_else(|_| VICTIM.to_string());
    let _ = fs::remove_file(&place);
    match kind {
        "dangling" => symlink(&victim, &place).expect("symlink"),
        "fifo" => {
            let path = std::ffi::CString::new(text(&place)).expect("no NUL");
            // SAFETY: mkfifo reads the terminated string.
            assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
        }
        _ => {
            fs::write(&victim, &content).expect("a file");
            let link = if kind == "hard" { fs::hard_link } else { |a: &PathBuf, b: &PathBuf| symlink(a, b) };
            link(&victim, &place).expect("a link");
        }
    }
    use_it(&dir);
    match kind {
        "symbolic" | "hard" => {
            assert_eq!(fs::read_to_string(&victim).expect("it stays"), content, "{kind} {name}");
        }
        _ => assert!(!victim.exists(), "{kind} {name}"),
    }
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_run_directory_that_is_swapped_keeps_what_is_written_to_it() {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let (out, moved) = (scratch.path().join("run"), scratch.path().join("moved"));
    let victim = scratch.path().join("victim");
    fs::create_dir(&victim).expect("mkdir");
    let child = std::process::Command::new(common::SYSCOST)
        .args(["run", "tcp_latency", "--path", "loopback", "--time-limit", "120s", "--quiet", "--out"])
        .arg(&out)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("the binary starts");
    common::soon("a sample", || RunDir::load(&out).is_ok_and(|run| !run.samples.is_empty()));
    fs::rename(&out, &moved).expect("rename");
    symlink(&victim, &out).expect("symlink");
    let before = RunDir::load(&moved).expect("the run").samples.len();
    let output = child.wait_with_output().expect("our child");
    let run = RunDir::load(&moved).expect("the run is where it was begun");
    assert!(run.samples.len() >= before, "nothing that was measured is lost");
    assert_eq!(output.status.code(), Some(2), "{}", common::said(&output));
    let said = common::said(&output);
    assert!(said.contains("moved away") && said.contains("--resume"), "{said}");
    for file in ["run.json", "samples.csv", "slices.csv", "histograms.csv"] {
        assert!(!victim.join(file).exists(), "{file} went to where the name leads now");
    }
}
