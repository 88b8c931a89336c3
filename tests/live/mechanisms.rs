//! Every mechanism that this machine has, whether in the default study or not: several messages to a
//! call, MSG_MORE, its own axes, every byte verified; and what an ordinary user may not have.

use crate::common::{self, all_verify};
use std::process::Command;
use syscost_measure::mechanism;
use syscost_measure::probe;

/// Those that can run here; of the others it is said why.
fn available(test: &str) -> Vec<&'static dyn mechanism::Mechanism> {
    let mut can = Vec::new();
    for mechanism in mechanism::ALL.iter().copied() {
        match mechanism.available() {
            Ok(()) => can.push(mechanism),
            Err(why) => {
                common::skipped(test, &format!("{}: {} -> {}", mechanism.about().id, why.reason, why.remedy));
                assert!(!why.remedy.is_empty());
            }
        }
    }
    can
}

fn names(mechanisms: &[&dyn mechanism::Mechanism]) -> String {
    mechanisms.iter().map(|m| m.about().id).collect::<Vec<_>>().join(",")
}

/// Those with this axis.
fn with(test: &str, axis: &str) -> String {
    let mut having = available(test);
    having.retain(|m| m.about().axes.iter().any(|a| a.id == axis));
    assert!(!having.is_empty(), "{axis}");
    names(&having)
}

#[test]
fn all_of_them_on_loopback() {
    let all = names(&available("all_of_them_on_loopback"));
    all_verify(
        "transfer",
        &[("path", "loopback"), ("mechanism", &all), ("size", "8,9,64,1000,65537,1M"), ("threads", "1,3")],
    );
}

/// Very unequal pieces, a single one, a thousand of a byte, and one that ends in the middle of a page.
#[test]
fn all_of_them_in_any_shape() {
    let all = names(&available("all_of_them_in_any_shape"));
    let one = [("path", "loopback"), ("mechanism", &all[..]), ("threads", "1")];
    all_verify("transfer", &[&one[..], &[("fields", "24,512K/1x9/3x4097,1/8x64")]].concat());
    all_verify("transfer", &[&one[..], &[("fields", "24,rest/rest,3x7/17"), ("size", "64,65537")]].concat());
    all_verify("transfer", &[&one[..], &[("fields", "1024x1"), ("receiver", "recv,recvmsg")]].concat());
    let paged =
        [("fields", "24,8x4K,rest"), ("size", "100000"), ("alignment", "page"), ("receiver", "recvmsg")];
    all_verify("transfer", &[&one[..], &paged].concat());
}

#[test]
fn all_of_them_between_namespaces() {
    const TEST: &str = "all_of_them_between_namespaces";
    if common::namespaces_allowed(TEST) {
        let all = names(&available(TEST));
        all_verify(
            "transfer",
            &[("path", "veth"), ("mechanism", &all), ("size", "1000,65537"), ("threads", "1")],
        );
    }
}

#[test]
fn several_messages_to_a_call() {
    let several = with("several_messages_to_a_call", mechanism::MESSAGES_PER_CALL.id);
    let axes = [("path", "loopback"), ("mechanism", &several), ("size", "8,1000,65537"), ("threads", "1")];
    all_verify("transfer", &[&axes[..], &[("batch", "8,64,128")]].concat());
}

/// What is held back must neither be lost at the end nor make a sender wait for its own bytes.
#[test]
fn more_that_never_follows() {
    let more = with("more_that_never_follows", mechanism::MSG_MORE.id);
    all_verify(
        "transfer",
        &[
            ("path", "loopback"),
            ("mechanism", &more),
            ("size", "8,1000,65537"),
            ("threads", "1"),
            ("msg-more", "on"),
            ("nodelay", "on,off"),
        ],
    );
}

#[test]
fn pipes_and_lent_pages_keep_their_limits() {
    let piped = with("pipes_and_lent_pages_keep_their_limits", "pipe_bytes");
    all_verify(
        "transfer",
        &[
            ("path", "loopback"),
            ("mechanism", &piped),
            ("size", "4096,65537"),
            ("threads", "1"),
            ("alignment", "heap,page"),
            ("batch", "1,64"),
            ("pipe-size", "4K,1M"),
            ("page-reuse", "read,acknowledged"),
        ],
    );
}

/// The packed copy of a call and the ring of lent pages are memory that a plan must know of.
#[test]
fn memory_grows_with_the_messages_of_a_call() {
    let probe = probe::find("transfer").expect("the probe");
    for id in with("memory_grows_with_the_messages_of_a_call", mechanism::MESSAGES_PER_CALL.id).split(',') {
        let bytes = |batch: &str| {
            let axes =
                [("path", "loopback"), ("mechanism", id), ("size", "1M"), ("threads", "1"), ("batch", batch)];
            let plan = common::plan("transfer", &axes);
            probe.needs(&plan.cases[0].point).memory_bytes
        };
        assert!(bytes("128") >= 128 << 20, "{id}: {}", bytes("128"));
        assert!(bytes("128") > bytes("1"), "{id}");
    }
}

/// An ordinary user may not have a pipe of 64 MiB: a skip with its reason, not a failure.
#[test]
fn a_pipe_that_is_refused_is_a_skip() {
    const TEST: &str = "a_pipe_that_is_refused_is_a_skip";
    if !common::is_root(TEST) {
        return;
    }
    let (_directory, program) = common::open_to_all();
    let piped = with(TEST, "pipe_bytes");
    let arguments = ["check", "transfer", "--mechanism", &piped, "--size", "64K", "--threads", "1"];
    let mut command = Command::new(program);
    common::as_nobody(&mut command).args(arguments);
    let output = command.args(["--path", "loopback", "--pipe-size", "64M"]).output().expect("it starts");
    let told = common::said(&output);
    assert!(told.contains("can run here") && told.contains("fs.pipe-max-size"), "{told}");
    assert!(!told.contains("failed"), "{told}");
}
