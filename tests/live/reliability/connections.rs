//! Very many connections and threads: every byte arrives on each, slowly; and a limit that is too low is named.

use super::left::Marked;
use crate::common::{self, said};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use syscost_core::axis::Point;
use syscost_experiment::plan::{Case, Skip};
use syscost_experiment::run::files::RunDir;
use syscost_measure::receiver;

/// Checks every case of these axes, byte by byte. Returns the points that were verified, and what was skipped.
fn verified(axes: &[(&str, &str)]) -> (Vec<Point>, Vec<Skip>) {
    let plan = common::plan("transfer", axes);
    let (done, skips) = common::checked(&plan);
    (done, plan.skips.into_iter().chain(skips).collect())
}

/// Threads of a side and connections of each.
const CROWDS: [(&str, &str); 4] = [("1", "1000"), ("4", "250"), ("64", "1"), ("64", "16")];

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_thousand_connections_and_64_threads_move_every_byte() {
    let veth = common::namespaces_allowed("a_thousand_connections_and_64_threads_move_every_byte, over veth");
    for path in if veth { &["veth", "loopback"][..] } else { &["loopback"] } {
        for (threads, connections) in CROWDS {
            let crowd = [("path", *path), ("threads", threads), ("connections", connections)];
            let axes = [&crowd[..], &[("mechanism", "send,msg_zerocopy"), ("size", "1000")]].concat();
            let (done, skips) = verified(&axes);
            assert_eq!((done.len(), skips.len()), (2, 0), "{crowd:?}: {skips:?}");
        }
    }
}

/// A transfer of each crowd.
fn crowds(path: &str) -> String {
    let entry = |(threads, connections): (&str, &str)| {
        format!(
            "[[probe]]\nid = \"transfer\"\nmechanism = \"send\"\nmessage_bytes = 64\npath = \"{path}\"\n\
             threads = {threads}\nconnections = {connections}\n"
        )
    };
    CROWDS.map(entry).concat()
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn rounds_of_many_connections_measure_and_leave_nothing() {
    let veth = common::namespaces_allowed("rounds_of_many_connections_measure_and_leave_nothing, over veth");
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let probes = crowds(if veth { "veth" } else { "loopback" });
    // Its two rounds end it long before, but on a busy machine.
    let spec = common::experiment(scratch.path(), 2, "240s", ("20ms", "50ms", 2), &probes);
    let out = scratch.path().join("run");
    let mut command = Command::new(common::SYSCOST);
    command.arg("run").arg(&spec).arg("--out").arg(&out);
    let mark = Marked::new();
    mark.put_on(&mut command);
    let output = command.output().expect("the binary starts");
    let text = said(&output);
    mark.wait_until_all_ended(common::PATIENCE);
    let run = RunDir::load(&out).expect("a valid run");
    common::sound(output.status.code().unwrap_or(2), &run, &text);
    assert!(run.record.plan.skips.is_empty(), "{text}");
    for case in run.record.plan.cases.iter().filter(|case| case.twin_of.is_none()) {
        let samples: Vec<_> = run.samples.iter().filter(|sample| sample.case == case.index).collect();
        let rounds: BTreeSet<u32> = samples.iter().map(|sample| sample.round).collect();
        // A round that got no CPU in time says so.
        let still = run.record.failures.iter().filter(|failure| failure.case == case.index).count();
        assert!(rounds.len() + still >= 2, "{}: {text}", case.point);
        assert!(
            samples.iter().all(|s| s.verified && s.get("sender_system_calls") > Some(0.0)),
            "{samples:?}"
        );
        assert!(still > 0 || samples.iter().any(|s| s.bytes > 0.0), "{samples:?}");
    }
}

/// Each pair of ways either moves every byte over several connections or says why it cannot.
#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn every_way_serves_several_connections_or_says_why_not() {
    const TEST: &str = "every_way_serves_several_connections_or_says_why_not";
    let axes = [("path", "loopback"), ("threads", "2"), ("connections", "5")];
    let control = syscost_measure::mechanism::control().about().id;
    let all = [("mechanism", "all"), ("receiver", receiver::control().about().id), ("size", "65537")];
    let waiting = [
        ("mechanism", control),
        ("receiver", "all"),
        ("waiting", "sleep,spin"),
        ("low-water", "1,64K"),
        ("size", "9"),
    ];
    for ways in [&all[..], &waiting] {
        let (done, skips) = verified(&[&axes[..], ways].concat());
        assert!(!done.is_empty());
        let mut reasons: BTreeMap<&str, &Skip> = BTreeMap::new();
        for skip in &skips {
            assert!(!skip.why.reason.is_empty() && !skip.why.remedy.is_empty(), "{skip:?}");
            reasons.insert(&skip.why.reason, skip);
        }
        for skip in reasons.values() {
            common::skipped(TEST, &format!("{}: {}", skip.point, skip.why.reason));
        }
        for point in &done {
            assert_ne!(point.text_at("waiting"), Some("spin"), "{point}");
        }
    }
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_limit_on_descriptors_is_raised_where_it_may_be_and_named_where_it_may_not() {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    // Until it has samples, where it can have any.
    let run = |soft: u64, hard: u64, connections: &str, mechanism: &str, measures: bool| {
        let once = |limit: &str| {
            let out = scratch.path().join(format!("{mechanism}-{soft}-{limit}"));
            let mut command = Command::new(common::SYSCOST);
            command
                .args(["run", "transfer", "--quick", "--mechanism", mechanism, "--size", "64"])
                .args(["--path", "loopback", "--connections", connections, "--time-limit", limit, "--out"])
                .arg(&out);
            common::limit(&mut command, libc::RLIMIT_NOFILE, soft, hard);
            let output = command.output().expect("the binary starts");
            let run = RunDir::load(&out).expect("a valid run");
            (output.status.code(), said(&output), run)
        };
        let named = |text: &str| text.contains(&format!("may have {soft} files"));
        common::given_time(
            |(_, text, run)| (!measures || !run.samples.is_empty()) && (soft < hard || named(text)),
            once,
        )
    };
    let (status, text, raised) = run(64, 4096, "500", "send", true);
    common::sound(status.unwrap_or(2), &raised, &text);

    let (status, text, record) = run(200, 200, "1,500", "send", true);
    assert_eq!(status, Some(1), "{text}");
    let many = |case: &Case| case.point.int_at("connections") == Some(500);
    // A round that got no CPU in time says that it stood still.
    let failures: Vec<_> =
        record.record.failures.iter().filter(|f| !f.message.contains("stood still")).collect();
    assert!(!failures.is_empty(), "{text}");
    for failure in failures {
        let message = &failure.message;
        assert!(many(&record.record.plan.cases[failure.case]), "{message}");
        assert!(message.contains("may have 200 files") && message.contains("ulimit -n 4096"), "{message}");
    }
    // The one that fits is measured.
    assert!(record.samples.iter().any(|s| !many(&record.record.plan.cases[s.case])), "{text}");

    // Enough for the sockets, too few for what the mechanism opens for each of them.
    let (status, text, record) = run(200, 200, "150", "splice", false);
    assert_eq!(status, Some(common::wanted_status(&record)), "{text}");
    assert!(text.contains("may have 200 files") && text.contains("ulimit -n"), "{text}");
}
