//! Outputs that nobody reads or that are full, and surroundings without HOME, TERM or LANG: the exit status and the
//! message are those that are documented, and the run is complete.

use crate::common::{self, SYSCOST, said};
use std::fs::OpenOptions;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use syscost_experiment::run::{RunDir, State};

#[derive(Clone, Copy, Debug, PartialEq)]
enum To {
    /// Writes end with ENOSPC.
    Full,
    /// There is no descriptor at all.
    Closed,
    /// A pipe whose reader has gone.
    Broken,
}

const EACH: [To; 3] = [To::Full, To::Closed, To::Broken];

/// The status that is documented: 2 for an output that cannot be written, and none for one that nobody waits for.
fn status(to: To) -> i32 {
    if to == To::Full { 2 } else { 0 }
}

fn lead(command: &mut Command, descriptor: i32, to: To) {
    let stdio = match to {
        To::Full => {
            OpenOptions::new().write(true).open("/dev/full").expect("a device of every machine").into()
        }
        To::Broken => Stdio::from(syscost_sys::pipe::pipe().expect("a pipe").1),
        To::Closed => Stdio::null(),
    };
    if descriptor == 1 {
        command.stdout(stdio)
    } else {
        command.stderr(stdio)
    };
    if to == To::Closed {
        // SAFETY: close takes a number; the descriptor is the child's own.
        unsafe {
            command.pre_exec(move || {
                libc::close(descriptor);
                Ok(())
            })
        };
    }
}

/// A run into a directory here, by a command that is prepared.
fn run_into(folder: &Path, name: &str, prepare: impl Fn(&mut Command)) -> (PathBuf, Output) {
    let once = |limit: &str| {
        let out = folder.join(format!("{name}-{limit}"));
        let mut command = Command::new(SYSCOST);
        command
            .args(["run", "transfer", "--mechanism", "send", "--size", "4K", "--threads", "1", "--quick"])
            .args(["--path", "loopback", "--time-limit", limit, "--out"])
            .arg(&out);
        prepare(&mut command);
        let output = command.output().expect("the binary starts");
        (out, output)
    };
    let measured = |(out, _): &(PathBuf, Output)| RunDir::load(out).is_ok_and(|run| !common::starved(&run));
    common::given_time(measured, once)
}

fn complete(out: &Path, output: &Output) {
    let run = RunDir::load(out).expect("a valid run");
    assert!(run.record.state != State::Running, "{:?}", run.record.state);
    if output.status.code() != Some(2) {
        common::sound(output.status.code().expect("it ended by itself"), &run, &said(output));
    }
    for file in ["results.csv", "report.html"] {
        assert!(out.join(file).metadata().is_ok_and(|file| file.len() > 0), "{file}");
    }
}

fn no_panic(output: &Output) {
    assert!(!said(output).contains("panicked") && output.status.code().is_some(), "{}", said(output));
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_run_is_complete_whatever_its_outputs_lead_to() {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    std::thread::scope(|scope| {
        for to in EACH {
            let scratch = scratch.path();
            scope.spawn(move || {
                let leads = |descriptor| {
                    run_into(scratch, &format!("{descriptor}-{to:?}"), |command| {
                        lead(command, descriptor, to)
                    })
                };
                let (out, output) = leads(1);
                no_panic(&output);
                assert_eq!(output.status.code() == Some(2), status(to) == 2, "{to:?}: {}", said(&output));
                assert_eq!(said(&output).contains("standard output"), to == To::Full, "{}", said(&output));
                complete(&out, &output);

                // Nothing ends because nobody reads what is told beside it.
                let (out, output) = leads(2);
                assert!(!output.stdout.is_empty(), "the report is printed");
                complete(&out, &output);
            });
        }
    });
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn every_command_says_when_its_output_cannot_be_written() {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let (out, made) = run_into(scratch.path(), "run", |_| ());
    complete(&out, &made);
    let out = out.to_str().expect("UTF-8");
    let commands: [&[&str]; 9] = [
        &["list"],
        &["doctor"],
        &["doctor", "--json"],
        &["plan", "transfer", "--path", "loopback"],
        &["report", out],
        &["completions", "bash"],
        &["man"],
        &["--help"],
        &["--version"],
    ];
    for arguments in commands {
        for to in EACH {
            let mut command = Command::new(SYSCOST);
            command.args(arguments);
            lead(&mut command, 1, to);
            let output = command.output().expect("the binary starts");
            no_panic(&output);
            assert_eq!(output.status.code(), Some(status(to)), "{arguments:?} {to:?}: {}", said(&output));
            let told = String::from_utf8_lossy(&output.stderr).contains("cannot write to standard output");
            assert_eq!(told, to == To::Full, "{arguments:?} {to:?}: {}", said(&output));
        }
    }
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn strange_surroundings_change_no_word_of_a_report() {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let (out, made) = run_into(scratch.path(), "run", |command| {
        command.env_clear();
    });
    complete(&out, &made);
    let report = |surroundings: &[(&str, &[u8])]| {
        let mut command = Command::new(SYSCOST);
        command.arg("report").arg(&out).env_clear();
        for (name, value) in surroundings {
            command.env(name, std::ffi::OsStr::from_bytes(value));
        }
        let output = command.output().expect("the binary starts");
        assert!(output.status.success(), "{surroundings:?}: {}", said(&output));
        output.stdout
    };
    let plain = report(&[]);
    assert!(!plain.is_empty());
    let odd: [&[(&str, &[u8])]; 6] = [
        &[("TERM", b"dumb"), ("LANG", b"C")],
        &[("TERM", b"\xff\xfe"), ("LANG", b"\xff"), ("HOME", b"\xff")],
        &[("TERM", b"../../etc/passwd"), ("HOME", b"/nonexistent"), ("LC_ALL", b"tr_TR.UTF-8")],
        &[("COLUMNS", b"0"), ("LINES", b"-1"), ("NO_COLOR", b"")],
        &[("COLUMNS", b"99999999999999999999"), ("TERM", b""), ("PATH", b"")],
        &[("TMPDIR", b"/nonexistent"), ("RUST_BACKTRACE", b"full"), ("TZ", b"Mars/Olympus")],
    ];
    for surroundings in odd {
        assert!(report(surroundings) == plain, "{surroundings:?}");
        let mut command = Command::new(SYSCOST);
        command.arg("doctor").env_clear();
        for (name, value) in surroundings {
            command.env(name, std::ffi::OsStr::from_bytes(value));
        }
        no_panic(&command.output().expect("the binary starts"));
    }
    assert!(common::syscost(&["report", out.to_str().expect("UTF-8")]).status.success());
}
