//! Whatever ends a run, nothing stays: no worker, no namespace, no link; and the run continues.

use crate::common::{self, SYSCOST, soon};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use syscost_experiment::run::State;
use syscost_experiment::run::files::RunDir;

/// Names of network interfaces in this namespace.
fn links() -> Vec<String> {
    let entries = std::fs::read_dir("/sys/class/net").expect("sysfs is mounted");
    let mut names: Vec<String> = entries.filter_map(|e| e.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    names
}

fn start(out: &Path, path: &str) -> Child {
    Command::new(SYSCOST)
        .args(["run", "--mechanism", "send,sendmsg", "--size", "64,64K", "--threads", "1,2", "--path", path])
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

fn end_and_look(path: &str, signal: i32) {
    let directory = tempfile::tempdir().expect("a scratch directory");
    let out = directory.path().join("run");
    let links_before = links();
    let mut child = start(&out, path);
    soon("the first samples", || samples_exist(&out));
    soon("a worker", || !common::workers_of(child.id()).is_empty());
    let workers = common::workers_of(child.id());
    common::signal(child.id(), signal);
    let status = child.wait().expect("the child ends");
    soon("the end of the workers", || workers.iter().all(|worker| !common::workers().contains(worker)));
    assert_eq!(links(), links_before, "no link stays");
    let run = RunDir::load(&out).expect("the directory is valid");
    assert!(!run.samples.is_empty());
    if signal == libc::SIGINT {
        assert_eq!(run.record.state, State::Interrupted, "{status}");
    }
    let before = run.samples.len();
    let output = common::syscost(&["run", "--resume", out.to_str().expect("UTF-8"), "--time-limit", "3s"]);
    // 1: a round may fail on a machine that is busy with other tests; the run says so.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", common::said(&output));
    let resumed = RunDir::load(&out).expect("the directory is valid");
    assert!(resumed.samples.len() > before, "the run continued");
    assert_eq!(&resumed.samples[..before], &run.samples[..], "what was measured is kept");
    assert!(out.join("report.html").exists() && out.join("results.csv").exists());
}

#[test]
fn ctrl_c_leaves_a_run_that_continues() {
    end_and_look("loopback", libc::SIGINT);
}

#[test]
fn kill_9_leaves_nothing_behind() {
    if common::namespaces_allowed("kill_9_leaves_nothing_behind") {
        end_and_look("veth", libc::SIGKILL);
    }
}
