//! Every mechanism x receiver x size x thread count x path x switch, every byte verified.

use crate::common::{self, all_verify};
use syscost_experiment::run::files::RunDir;
use syscost_measure::probe;

#[test]
fn every_link_setting() {
    if common::namespaces_allowed("every_link_setting") {
        all_verify(
            "transfer",
            &[
                ("path", "veth"),
                ("size", "4K"),
                ("threads", "1"),
                ("mtu", "1280,1500,9000"),
                ("offloads", "on,off"),
            ],
        );
    }
}

const TWO_THREADS: [(&str, &str); 3] = [("path", "loopback"), ("size", "1000,64K"), ("threads", "2")];
const SOCKETS: [(&str, &str); 3] =
    [("nodelay", "on,off"), ("congestion", "reno"), ("socket-buffer", "0,16K")];
const FIELDS: [(&str, &str); 2] = [("alignment", "heap,page"), ("placement", "same,none")];

#[test]
fn every_socket_setting() {
    all_verify("transfer", &[&TWO_THREADS[..], &SOCKETS].concat());
}

#[test]
fn every_field_setting() {
    all_verify("transfer", &[&TWO_THREADS[..], &FIELDS].concat());
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn every_socket_setting_with_every_field_setting() {
    all_verify("transfer", &[&TWO_THREADS[..], &SOCKETS, &FIELDS].concat());
}

#[test]
fn the_ring_keeps_its_limits() {
    all_verify(
        "transfer",
        &[
            ("path", "loopback"),
            ("mechanism", "msg_zerocopy"),
            ("size", "64,64K"),
            ("threads", "1"),
            ("reap-batch", "1,7,64"),
            ("in-flight", "1,5,256"),
        ],
    );
}

/// A worker is small beside its message buffers.
#[test]
fn workers_are_small() {
    const OWN: u64 = 64 << 20;
    let directory = tempfile::tempdir().expect("a scratch directory");
    let out = directory.path().join("run");
    let probe = "[[probe]]\nid = \"transfer\"\nmechanism = [\"send\", \"msg_zerocopy\"]\nmessage_bytes = [64, \"1M\"]\n\
                 threads = 8\npath = \"loopback\"";
    let spec = common::experiment(directory.path(), 1, "60s", ("5ms", "5ms", 2), probe);
    let (spec, dir) = (spec.to_str().expect("UTF-8"), out.to_str().expect("UTF-8"));
    let output = common::syscost(&["run", spec, "--quiet", "--out", dir]);
    // 1 where a round got no CPU in time; those that did are enough here.
    assert!(output.status.code() < Some(2), "{}", common::said(&output));
    let run = RunDir::load(&out).expect("a valid run");
    let probe = probe::find("transfer").expect("the probe");
    let mut seen = 0;
    let plan = &run.record.plan;
    for (case, settings) in &run.record.settings {
        // One pair of workers holds the messages of all rivals of a block.
        let rivals =
            plan.blocks().into_iter().find(|block| block.cases.contains(case)).expect("in a block").cases;
        let buffers: u64 = rivals.iter().map(|case| probe.needs(&plan.cases[*case].point).memory_bytes).sum();
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
    all_verify("transfer", &[("path", "loopback"), ("size", "1000"), ("threads", "32")]);
}

/// In turns and one by one: our own code is in every figure, and is less than what it stands beside.
#[test]
fn what_the_harness_costs_is_priced_for_every_case() {
    let dir = tempfile::tempdir().unwrap();
    let rivals = "\"send\", \"sendmsg\", \"msg_zerocopy\"";
    for (name, mechanisms, threads) in [("turns", rivals, "1, 2"), ("alone", "\"send\"", "1")] {
        let out = dir.path().join(name);
        let probe = format!(
            "[[probe]]\nid = \"transfer\"\nmechanism = [{mechanisms}]\nmessage_bytes = [64, \"64K\"]\nthreads = [{threads}]\n\
             path = \"loopback\""
        );
        let spec = common::experiment(dir.path(), 2, "60s", ("5ms", "10ms", 1), &probe);
        let done = common::syscost(&["run", spec.to_str().unwrap(), "--out", out.to_str().unwrap()]);
        let page =
            std::fs::read_to_string(out.join("report.html")).unwrap_or_else(|e| panic!("{e}: {done:?}"));
        assert!(page.contains("The harness's own share of CPU time"), "{name}");
        let run = RunDir::load(&out).unwrap();
        assert_eq!(run.slices.is_empty(), name == "alone");
        // A round that got no CPU in time has nothing to price.
        let measured = |case: usize| {
            run.samples.iter().any(|s| s.case == case) || run.slices.iter().any(|row| row.case == case)
        };
        assert!(run.record.plan.cases.iter().any(|case| measured(case.index)), "{name}: {done:?}");
        for case in run.record.plan.cases.iter().filter(|case| measured(case.index)) {
            let own = run.record.own_cost.iter().find(|own| own.case == case.index);
            let Some(own) = own else { panic!("{name}: nothing is known of {}", case.index) };
            let slices = run.slices.iter().filter(|row| row.case == case.index);
            let spent: u64 = slices.map(|row| row.slice.sender_cpu_ns + row.slice.receiver_cpu_ns).sum();
            assert_eq!(own.slices_cpu_ns, spent, "{name}: {own:?}");
            let shares = [own.of_slices().filter(|_| name == "turns"), own.of_windows()];
            let in_order = shares.iter().flatten().all(|share| (1e-6..0.5).contains(share));
            assert!(in_order && (spent > 0) == (name == "turns"), "{name}: {own:?}");
        }
    }
}
