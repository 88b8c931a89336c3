//! Whatever ends a run, nothing stays: no worker, no namespace, no link; and the run continues.

use crate::common::{self, SYSCOST, soon};
use crate::reliability::left::{self, Marked};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use syscost_experiment::run::State;
use syscost_experiment::run::files::RunDir;
use syscost_host::namespaces::HOLDER_SUBCOMMAND;
use tempfile::TempDir;

/// Makes namespaces, and is over soon.
const CHECK: [&str; 8] = ["check", "transfer", "--mechanism", "send", "--size", "64", "--path", "veth"];

/// Everything that ever was a process of the run bears this; a link in a namespace of the run's own goes with the
/// last of them, which the kernel does.
fn start(mut tool: Command, out: &Path, path: &str, mark: &Marked) -> Child {
    mark.put_on(&mut tool);
    tool.args(["run", "--mechanism", "send,sendmsg", "--size", "64,64K", "--threads", "1,2", "--path", path])
        .args(["--time-limit", "60s", "--seed", "7", "--out"])
        .arg(out)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts")
}

fn samples_exist(out: &Path) -> bool {
    RunDir::load(out).is_ok_and(|run| run.samples.len() > 8)
}

fn end_and_look(tool: &dyn Fn() -> Command, directory: &Path, path: &str, signal: i32) {
    let (out, mark) = (directory.join("run"), Marked::new());
    let mut child = start(tool(), &out, path, &mark);
    soon("the first samples", || samples_exist(&out));
    soon("a worker", || mark.processes().into_iter().any(|pid| left::role(pid) == "worker"));
    common::signal(child.id(), signal);
    let status = child.wait().expect("the child ends");
    mark.wait_until_all_ended(Duration::from_secs(20));
    let run = RunDir::load(&out).expect("the directory is valid");
    assert!(!run.samples.is_empty());
    if signal == libc::SIGINT {
        assert_eq!(run.record.state, State::Interrupted, "{status}");
    }
    let before = run.samples.len();
    // On a busy machine a round may take longer than the first of these.
    let resumed = ["3s", "10s", "30s"].into_iter().find_map(|limit| {
        let resume = ["run", "--time-limit", limit, "--resume"];
        let output = tool().args(resume).arg(&out).output().expect("the binary starts");
        // 1: a round may fail on a machine that is busy with other tests; the run says so.
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", common::said(&output));
        Some(RunDir::load(&out).expect("the directory is valid")).filter(|run| run.samples.len() > before)
    });
    let resumed = resumed.expect("the run continued");
    assert_eq!(&resumed.samples[..before], &run.samples[..], "what was measured is kept");
    assert!(out.join("report.html").exists() && out.join("results.csv").exists());
}

fn ours() -> Command {
    Command::new(SYSCOST)
}

#[test]
fn ctrl_c_leaves_a_run_that_continues() {
    let directory = tempfile::tempdir().expect("a scratch directory");
    end_and_look(&ours, directory.path(), "loopback", libc::SIGINT);
}

#[test]
fn kill_9_leaves_nothing_behind() {
    if common::namespaces_allowed("kill_9_leaves_nothing_behind") {
        let directory = tempfile::tempdir().expect("a scratch directory");
        end_and_look(&ours, directory.path(), "veth", libc::SIGKILL);
    }
}

/// Who makes the namespaces of an ordinary user is a process of its own.
#[test]
fn kill_9_of_an_ordinary_user_leaves_nothing_behind() {
    let test = "kill_9_of_an_ordinary_user_leaves_nothing_behind";
    if let Some((directory, tool)) = an_ordinary_user(test) {
        end_and_look(&tool, directory.path(), "veth", libc::SIGKILL);
    }
}

/// It lives for some milliseconds: it is waited for at every start.
#[test]
fn kill_9_while_an_ordinary_user_s_namespaces_are_made_leaves_nothing_behind() {
    let test = "kill_9_while_an_ordinary_user_s_namespaces_are_made_leaves_nothing_behind";
    let Some((_directory, tool)) = an_ordinary_user(test) else { return };
    for kills_tool in [true, false] {
        let hit = (0..STARTS).find_map(|_| kill_at_the_start(&tool, kills_tool));
        let Some(output) = hit else { panic!("no holder was met in {STARTS} starts") };
        if !kills_tool {
            let said = common::said(&output);
            assert!(matches!(output.status.code(), Some(0 | 2)), "{}: {said}", output.status);
            // Killed once its work was taken over it is not missed.
            assert!(said.contains("no network namespace") || said.contains("verified"), "{said}");
        }
    }
}

const STARTS: usize = 100;

/// Kills the tool, or the process that makes its namespaces, while there is one; `None`: there was none.
fn kill_at_the_start(tool: &dyn Fn() -> Command, kills_tool: bool) -> Option<Output> {
    let mark = Marked::new();
    let mut command = tool();
    mark.put_on(&mut command);
    command.args(CHECK).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the binary starts");
    let killed = loop {
        let holder = mark.processes().into_iter().find(|pid| left::role(*pid) == HOLDER_SUBCOMMAND);
        match holder {
            Some(_) if kills_tool => break mark.kill(child.id()).is_some(),
            Some(holder) => break mark.kill(holder).is_some(),
            None if child.try_wait().expect("our child").is_some() => break false,
            None => {}
        }
    };
    let output = child.wait_with_output().expect("it ends");
    mark.wait_until_all_ended(Duration::from_secs(20));
    killed.then_some(output)
}

/// Where the program lies for an ordinary user, and a command that starts it as one; `None`: such a user gets no
/// namespace here.
fn an_ordinary_user(test: &str) -> Option<(TempDir, impl Fn() -> Command)> {
    if !common::is_root(test) {
        return None;
    }
    let (directory, program) = common::open_to_all();
    let tool = move || {
        let mut command = Command::new(&program);
        common::as_nobody(&mut command);
        command
    };
    let said = common::said(&tool().args(CHECK).output().expect("the binary starts"));
    if !said.contains("verified") {
        common::skipped(test, &said);
        return None;
    }
    Some((directory, tool))
}
