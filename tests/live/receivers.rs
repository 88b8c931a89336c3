//! Every receiver beside every mechanism: each byte is verified by those that see it, and counted by all.
//! What this machine cannot do, or a pair cannot do together, is skipped with its reason and said.

use crate::common;
use std::collections::BTreeMap;
use syscost_core::axis::Point;
use syscost_experiment::plan::Plan;
use syscost_measure::{mechanism, receiver};

/// Checks every case of the axes given; each must verify, or have been skipped for a reason that depends on
/// one of the ways or on rights. Returns the points that were verified.
fn verified(test: &str, axes: &[(&str, &str)]) -> Vec<Point> {
    let plan = common::plan("transfer", axes);
    let (done, skips) = common::checked(&plan);
    // One line a reason: what one machine lacks is lacking at every point.
    let mut reasons: BTreeMap<&str, (usize, &Point)> = BTreeMap::new();
    for skip in plan.skips.iter().chain(&skips) {
        assert!(!skip.why.reason.is_empty() && !skip.why.remedy.is_empty(), "{skip:?}");
        reasons.entry(&skip.why.reason).or_insert((0, &skip.point)).0 += 1;
    }
    for (reason, (cases, first)) in reasons {
        common::skipped(test, &format!("{cases} cases, the first at {first}: {reason}"));
    }
    let planned = plan.cases.iter().filter(|case| case.twin_of.is_none()).count();
    assert_eq!(done.len() + skips.len(), planned, "nothing is lost");
    done
}

/// Every receiver that this machine has was beside the control, and every mechanism beside its control.
fn covered(points: &[Point]) {
    let seen = |axis: &str, id: &str| points.iter().any(|point| point.text_at(axis) == Some(id));
    for receive in receiver::ALL.iter().filter(|r| r.available().is_ok()) {
        assert!(seen("receiver", receive.about().id), "{} received nothing", receive.about().id);
    }
    for mechanism in mechanism::ALL.iter().filter(|m| m.available().is_ok()) {
        assert!(seen("mechanism", mechanism.about().id), "{} sent nothing", mechanism.about().id);
    }
}

const ALL: [(&str, &str); 2] = [("mechanism", "all"), ("receiver", "all")];

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn every_pair_on_loopback() {
    let rest = [("path", "loopback"), ("size", "8,1000,65537"), ("threads", "1,2")];
    covered(&verified("every_pair_on_loopback", &[&ALL[..], &rest].concat()));
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn every_pair_between_namespaces() {
    const TEST: &str = "every_pair_between_namespaces";
    if common::namespaces_allowed(TEST) {
        let rest = [("path", "veth"), ("size", "1000,65537"), ("threads", "1")];
        covered(&verified(TEST, &[&ALL[..], &rest].concat()));
    }
}

#[test]
fn every_receiver_waits_in_every_way() {
    let plain = mechanism::control().about().id;
    let test = "every_receiver_waits_in_every_way";
    let axes = [("mechanism", plain), ("receiver", "all"), ("path", "loopback"), ("size", "9,64K")];
    let rest = [
        ("threads", "1"),
        ("waiting", "sleep,spin"),
        ("low-water", "1,16K,1M"),
        ("receive-batch", "1,5,128"),
    ];
    let points = verified(test, &[&axes[..], &rest].concat());
    assert!(points.iter().any(|point| point.text_at("waiting") == Some("spin")), "{points:?}");
    // Busy polling needs a right: where it is missing, that is the answer.
    let polling = [("busy-poll", "0,50"), ("size", "64K"), ("threads", "1")];
    let points = verified(test, &[&axes[..3], &polling].concat());
    assert!(points.iter().any(|point| point.int_at("busy_poll_us") == Some(0)), "{points:?}");
}

/// A link that is made for the receiver gets the MTU that it needs, unless somebody named another.
#[test]
fn a_receiver_gets_the_link_that_it_wants() {
    let plan = |axes: &[(&str, &str)]| common::plan("transfer", axes);
    let mtus = |plan: Plan, id: &str| -> Vec<u64> {
        let points = plan.cases.into_iter().map(|case| case.point);
        let mut mtus: Vec<u64> =
            points.filter(|p| p.text_at("receiver") == Some(id)).filter_map(|p| p.int_at("mtu")).collect();
        mtus.sort_unstable();
        mtus.dedup();
        mtus
    };
    if !common::namespaces_allowed("a_receiver_gets_the_link_that_it_wants") {
        return;
    }
    let axes =
        [("mechanism", "send"), ("receiver", "all"), ("path", "veth"), ("size", "64K"), ("threads", "1")];
    for receive in receiver::ALL.iter().filter(|r| r.available().is_ok()) {
        let id = receive.about().id;
        let wanted = receive.wants("mtu", &Point::default()).and_then(|value| value.as_int());
        assert_eq!(mtus(plan(&axes), id), [wanted.unwrap_or(1500)], "{id}");
        assert_eq!(mtus(plan(&[&axes[..], &[("mtu", "1500,9000")]].concat()), id), [1500, 9000], "{id}");
    }
}
