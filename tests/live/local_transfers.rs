//! Every way between two processes without TCP, every byte verified, and what is left afterwards.

use crate::common::{self, all_verify, soon};
use std::process::{Command, Stdio};

#[test]
fn every_way_at_sizes_around_lines_and_pages() {
    all_verify(
        "local_transfer",
        &[("size", "8,9,63,64,1000,4096,65537,524289,1M"), ("threads", "1"), ("placement", "none")],
    );
}

#[test]
fn every_way_with_threads_batches_and_both_ends_on_one_cpu() {
    all_verify(
        "local_transfer",
        &[
            ("size", "13,4K,100000"),
            ("threads", "1,3"),
            ("batch", "1,7,128"),
            ("placement", "same"),
            ("alignment", "page"),
        ],
    );
}

#[test]
fn kill_9_while_it_streams_leaves_no_worker() {
    let folder = tempfile::tempdir().expect("a directory");
    let mut run = Command::new(common::SYSCOST)
        .args(["run", "local_transfer", "--size", "64K", "--time-limit", "60s", "--out"])
        .arg(folder.path().join("run"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    // Both sides of a round, which end only with the harness or its clock.
    let mut workers = Vec::new();
    soon("a round", || {
        workers = common::workers_of(run.id());
        workers.len() == 2
    });
    run.kill().expect("it runs");
    run.wait().expect("reaped");
    soon("the end of the workers", || workers.iter().all(|worker| !common::workers().contains(worker)));
}
