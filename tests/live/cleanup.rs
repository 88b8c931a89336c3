//! Whatever ends a run, nothing stays: no worker, no namespace, no link; and the run continues.

use crate::common::{self, SYSCOST, soon};
use crate::reliability::left::{self, Marked};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use syscost_experiment::run::State;
use syscost_experiment::run::files::RunDir;

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

/// Namespaces of an ordinary user have a keeper, a process of its own.
#[test]
fn kill_9_of_an_ordinary_user_leaves_nothing_behind() {
    let test = "kill_9_of_an_ordinary_user_leaves_nothing_behind";
    if !common::is_root(test) {
        return;
    }
    let (directory, program) = common::open_to_all();
    let tool = || {
        let mut command = Command::new(&program);
        common::as_nobody(&mut command);
        command
    };
    let check = ["check", "transfer", "--mechanism", "send", "--size", "64", "--path", "veth"];
    let said = common::said(&tool().args(check).output().expect("the binary starts"));
    if !said.contains("verified") {
        return common::skipped(test, &said);
    }
    end_and_look(&tool, directory.path(), "veth", libc::SIGKILL);
}
