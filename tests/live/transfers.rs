//! Every mechanism x receiver x size x thread count x path x switch, every byte verified.

use crate::common;
use syscost_experiment::plan::Plan;
use syscost_experiment::run::files::RunDir;
use syscost_experiment::spec::Spec;
use syscost_harness::{self as measure, Event};
use syscost_measure::probe;

pub fn spec(axes: &[(&str, &str)]) -> Spec {
    let mut spec = Spec::named("transfer").expect("the probe is a spec");
    for (flag, values) in axes {
        spec.set_axis(flag, &[values]).expect("valid values");
    }
    spec
}

/// Checks every case of the axes given; each must run and verify.
pub fn all_verify(axes: &[(&str, &str)]) {
    common::use_real_binary();
    let plan = Plan::make(&spec(axes)).expect("a plan");
    assert!(plan.skips.is_empty(), "{:?}", plan.skips);
    let mut done = 0;
    let (failures, _) =
        measure::check(&plan, &mut |event| done += usize::from(matches!(event, Event::CaseDone { .. })))
            .expect("the check runs");
    assert!(failures.is_empty(), "{failures:#?}");
    assert_eq!(done, plan.cases.iter().filter(|case| case.twin_of.is_none()).count());
}

#[test]
fn every_mechanism_on_loopback() {
    all_verify(&[("path", "loopback"), ("size", "8,9,64,1000,4096,65537,1M"), ("threads", "1,3")]);
}

#[test]
fn every_mechanism_between_namespaces() {
    if common::namespaces_allowed("every_mechanism_between_namespaces") {
        all_verify(&[("path", "veth"), ("size", "8,1000,65537"), ("threads", "1,2")]);
    }
}

#[test]
fn every_link_setting() {
    if common::namespaces_allowed("every_link_setting") {
        all_verify(&[
            ("path", "veth"),
            ("size", "4K"),
            ("threads", "1"),
            ("mtu", "1280,1500,9000"),
            ("offloads", "on,off"),
        ]);
    }
}

#[test]
fn every_socket_and_field_setting() {
    all_verify(&[
        ("path", "loopback"),
        ("size", "1000,64K"),
        ("threads", "2"),
        ("nodelay", "on,off"),
        ("congestion", "reno"),
        ("socket-buffer", "0,16K"),
        ("alignment", "heap,page"),
        ("placement", "same,none"),
    ]);
}

#[test]
fn the_ring_keeps_its_limits() {
    all_verify(&[
        ("path", "loopback"),
        ("mechanism", "msg_zerocopy"),
        ("size", "64,64K"),
        ("threads", "1"),
        ("reap-batch", "1,7,64"),
        ("in-flight", "1,5,256"),
    ]);
}

/// A worker is small beside its message buffers.
#[test]
fn workers_are_small() {
    const OWN: u64 = 64 << 20;
    let directory = tempfile::tempdir().expect("a scratch directory");
    let out = directory.path().join("run");
    let spec = directory.path().join("one-round.toml");
    let text = "name = \"one\"\nmin_rounds = 1\nmax_rounds = 1\ntime_limit = \"60s\"\n[timing]\nwarmup = \"5ms\"\n\
                window = \"5ms\"\nwindows = 2\n[[probe]]\nid = \"transfer\"\nmechanism = [\"send\", \"msg_zerocopy\"]\n\
                message_bytes = [64, \"1M\"]\nthreads = 8\npath = \"loopback\"\n";
    std::fs::write(&spec, text).expect("written");
    let (spec, dir) = (spec.to_str().expect("UTF-8"), out.to_str().expect("UTF-8"));
    let output = common::syscost(&["run", spec, "--quiet", "--out", dir]);
    // 1 where a round got no CPU in time; those that did are enough here.
    assert!(output.status.code() < Some(2), "{}", common::said(&output));
    let run = RunDir::load(&out).expect("a valid run");
    let probe = probe::find("transfer").expect("the probe");
    let mut seen = 0;
    for (case, settings) in &run.record.settings {
        let buffers = probe.needs(&run.record.plan.cases[*case].point).memory_bytes;
        for role in probe.roles() {
            let peak: u64 = settings[&format!("{role}.peak_resident_bytes")].parse().expect("a number");
            assert!(peak < OWN + buffers, "{role} of case {case}: {peak} B with {buffers} B of messages");
            seen += 1;
        }
    }
    assert!(seen >= 4, "{settings:?}", settings = run.record.settings);
}

/// A thread count above the CPUs, and far above.
#[test]
fn many_threads() {
    all_verify(&[("path", "loopback"), ("size", "1000"), ("threads", "32")]);
}
