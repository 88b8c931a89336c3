//! Every way between two processes without TCP, every byte verified, and what is left afterwards.

use crate::common;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use syscost_experiment::plan::Plan;
use syscost_experiment::spec::Spec;
use syscost_harness::{self as measure, Event};

/// Checks every case of the axes given; each must run and verify.
fn all_verify(axes: &[(&str, &str)]) {
    common::use_real_binary();
    let mut spec = Spec::named("local_transfer").expect("the probe is a spec");
    for (flag, values) in axes {
        spec.set_axis(flag, &[values]).expect("valid values");
    }
    let plan = Plan::make(&spec).expect("a plan");
    assert!(plan.skips.is_empty(), "{:?}", plan.skips);
    let mut done = 0;
    let (failures, _) =
        measure::check(&plan, &mut |event| done += usize::from(matches!(event, Event::CaseDone { .. })))
            .expect("the check runs");
    assert!(failures.is_empty(), "{failures:#?}");
    assert!(done > 0 && done == plan.cases.len());
}

#[test]
fn every_way_at_sizes_around_lines_pages_pieces_and_the_ring() {
    all_verify(&[("size", "8,9,63,64,1000,4096,65537,524289,1M"), ("threads", "1"), ("placement", "none")]);
}

#[test]
fn every_way_with_threads_batches_and_both_ends_on_one_cpu() {
    all_verify(&[
        ("size", "13,4K,100000"),
        ("threads", "1,3"),
        ("batch", "1,7,128"),
        ("placement", "same"),
        ("alignment", "page"),
    ]);
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

/// Waits for something that must happen soon.
fn soon(what: &str, mut happened: impl FnMut() -> bool) {
    let start = Instant::now();
    while !happened() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what} did not happen within a minute");
        syscost_sys::sleep::sleep(Duration::from_millis(5));
    }
}
