//! Expansion, order, twins, limits.

use super::*;
use crate::spec::ProbeSpec;
use proptest::prelude::*;
use syscost_core::axis::Value;
use syscost_host::allowance::Room;

/// A spec of the first probe with these values, on paths that need no namespaces.
fn spec(changes: &[(&str, &str)]) -> Spec {
    let mut spec = Spec::named(probe::ALL[0].about().id).unwrap();
    for (flag, values) in changes {
        spec.set_axis(flag, &[values]).unwrap();
    }
    spec
}

fn make(changes: &[(&str, &str)]) -> Plan {
    Plan::make_within(&spec(changes), None).unwrap()
}

fn firsts(plan: &Plan) -> Vec<&Case> {
    plan.cases.iter().filter(|c| c.twin_of.is_none()).collect()
}

#[test]
fn axes_multiply_in_order_and_one_that_does_not_apply_is_absent() {
    let plan =
        make(&[("path", "loopback"), ("size", "64,128,64"), ("threads", "1,2"), ("mechanism", "pack_send")]);
    let points: Vec<(u64, u64)> = firsts(&plan)
        .iter()
        .map(|c| (c.point.int_at("message_bytes").unwrap(), c.point.int_at("threads").unwrap()))
        .collect();
    assert_eq!(points, [(64, 1), (64, 2), (128, 1), (128, 2)]);
    assert!(plan.cases.iter().all(|c| c.point.get("mtu").is_none()), "a loopback has no MTU of ours");
    assert!(plan.cases.iter().enumerate().all(|(i, c)| c.index == i));
}

#[test]
fn the_same_case_asked_twice_is_planned_once() {
    let mut twice = spec(&[("path", "loopback"), ("size", "64,1K"), ("threads", "1")]);
    let again = twice.probes[0].clone();
    let once = Plan::make_within(&twice, None).unwrap();
    twice.probes.push(again);
    assert_eq!(Plan::make_within(&twice, None).unwrap(), once);
}

#[test]
fn the_control_of_every_block_is_measured_twice() {
    let plan = make(&[("path", "loopback"), ("size", "64,1K,4K"), ("threads", "1,2,8")]);
    let twins: Vec<&Case> = plan.cases.iter().filter(|c| c.twin_of.is_some()).collect();
    let mut points = Vec::new();
    for twin in &twins {
        let of = &plan.cases[twin.twin_of.unwrap()];
        assert_eq!((&twin.probe, &twin.point, of.twin_of), (&of.probe, &of.point, None));
        assert_eq!(twin.point.text_at("mechanism"), Some("send"));
        points.push(&twin.point);
    }
    points.sort();
    points.dedup();
    assert_eq!((points.len(), twins.len()), (9, 9));
    assert!(plan.cases[..plan.cases.len() - 9].iter().all(|c| c.twin_of.is_none()), "twins come last");
}

#[test]
fn cases_without_rivals_have_a_few_twins_spread_over_the_plan() {
    let plan = make(&[("path", "loopback"), ("threads", "1,2,4,8"), ("mechanism", "send")]);
    let of: Vec<usize> = plan.cases.iter().filter_map(|case| case.twin_of).collect();
    let first_twin = plan.cases.iter().position(|case| case.twin_of.is_some()).unwrap();
    assert_eq!((of.len(), of[0], of[3]), (4, 0, first_twin - 1), "{of:?}");
}

#[test]
fn a_run_of_named_values_plans_these_alone_and_the_study_keeps_its_rulers() {
    let plan = |named: &[(&str, &str)], study: bool| {
        let mut spec = Spec::named("default").unwrap();
        named.iter().for_each(|(flag, value)| spec.set_axis(flag, &[value]).unwrap());
        if !study {
            spec.leave_out_rulers(&named.iter().map(|(flag, _)| *flag).collect::<Vec<_>>());
        }
        Plan::make_within(&spec, None).unwrap()
    };
    let probes = |plan: &Plan| plan.cases.iter().map(|c| c.probe.to_string()).collect::<HashSet<_>>().len();
    let named =
        [("mechanism", "send,sendmsg,pack_send"), ("path", "loopback"), ("size", "4K"), ("threads", "2")];
    let asked = plan(&named, false);
    assert_eq!((firsts(&asked).len(), asked.cases.len(), probes(&asked)), (3, 4, 1), "the control twice");
    let one = [("mechanism", "send"), ("path", "loopback"), ("size", "64"), ("threads", "1")];
    assert_eq!(plan(&one, false).cases.len(), 1);
    assert_eq!(probes(&plan(&named, true)), 5, "the study was named: its rulers stay");
    assert_eq!(probes(&plan(&[], false)), 5, "no value was named: the whole study");
    assert_eq!(probes(&plan(&[("way", "pipe"), ("path", "loopback")], false)), 2, "a ruler that was named");
}

#[test]
fn quick_values_are_taken_where_none_are_named() {
    let mut quick = spec(&[("path", "loopback"), ("threads", "4"), ("mechanism", "pack_send")]);
    quick.set_quick();
    let plan = Plan::make_within(&quick, None).unwrap();
    let size = probe::ALL[0].axes().into_iter().find(|a| a.flag == "size").unwrap();
    let sizes: Vec<Value> = firsts(&plan).iter().map(|c| c.point.get(size.id).unwrap().clone()).collect();
    assert_eq!(sizes, size.quick());
    assert!(plan.cases.iter().all(|c| c.point.int_at("threads") == Some(4)));
}

#[test]
fn a_case_without_room_is_skipped_with_one_that_fits_and_a_plan_of_none_is_refused() {
    let room = |left: f64, by: &str| Room { left, limit: left, by: by.into(), raise: "give more".into() };
    let memory = Rooms { memory: Some(room((4u64 << 30) as f64, "this machine")), tasks: None };
    let large = [("size", "1G"), ("threads", "16"), ("mechanism", "pack_send")];
    let error = Plan::make_within(&spec(&large), Some(&memory)).unwrap_err().to_string();
    assert!(error.contains("needs 32 GiB of memory, and this machine has 4 GiB"), "{error}");
    assert!(error.ends_with("--size 64M would fit; or give more"), "{error}");
    let some = spec(&[("size", "1M,1G"), large[1], large[2]]);
    let plan = Plan::make_within(&some, Some(&memory)).unwrap();
    assert_eq!((firsts(&plan).len(), plan.skips.len()), (1, 1));
    let tasks = Rooms { memory: None, tasks: Some(room(20.0, "the control group")) };
    let plan = Plan::make_within(&spec(&[("size", "1M"), ("threads", "2,32")]), Some(&tasks)).unwrap();
    assert!(
        plan.skips.iter().all(|skip| skip.why.reason.contains("68 processes and threads")),
        "{:?}",
        plan.skips
    );
    assert!(!plan.cases.is_empty() && !plan.skips.is_empty());
}

#[test]
fn too_many_cases_are_refused_with_the_axis_to_cut() {
    let sizes: Vec<Value> = (8..2008).map(Value::Int).collect();
    let mut spec = spec(&[("mechanism", "pack_send")]);
    spec.probes[0].axes.insert("message_bytes".into(), sizes);
    spec.probes[0].axes.insert("threads".into(), (1..=100).map(Value::Int).collect());
    let error = Plan::make_within(&spec, None).unwrap_err();
    assert!(matches!(error, PlanError::TooManyCases { flag: "size", values: 2000, .. }), "{error}");
}

#[test]
fn a_probe_of_another_version_is_named() {
    let mut spec = spec(&[]);
    spec.probes.push(ProbeSpec::of("teleport"));
    assert_eq!(Plan::make_within(&spec, None).unwrap_err(), PlanError::NoProbe("teleport".into()));
}

#[test]
fn the_estimate_is_rounds_of_windows_within_the_limit() {
    let spec =
        spec(&[("path", "loopback"), ("size", "64,128"), ("threads", "1"), ("mechanism", "pack_send")]);
    let plan = Plan::make_within(&spec, None).unwrap();
    let estimate = plan.estimate(&spec);
    let timing = probe::find("transfer").unwrap().timing(&plan.cases[0].point, spec.timing);
    let one = ROUND_OVERHEAD
        + Duration::from_nanos(timing.warmup_ns + u64::from(timing.windows) * timing.window_ns);
    assert_eq!(plan.cases.len(), 4);
    assert_eq!(estimate.round, one * 4);
    assert_eq!(estimate.least, one * 4 * spec.min_rounds);
    let short = Spec { time_limit_ns: 1_000_000_000, ..spec };
    assert_eq!(plan.estimate(&short).most, Duration::from_secs(1));
    // Audits, counting and slow starts take their part.
    let rounds = plan.estimate(&short).rounds_in_limit;
    assert!((1..Duration::from_secs(1).div_duration_f64(one * 4) as u64).contains(&rounds), "{rounds}");
}

proptest! {
    #[test]
    fn order_is_a_permutation_that_the_seed_and_round_fix(seed: u64, round in 0u32..99, n in 0usize..40) {
        let plan = Plan::default();
        let among: Vec<usize> = (0..n).map(|i| i * 3).collect();
        let order = plan.order(seed, round, &among);
        prop_assert_eq!(&order, &plan.order(seed, round, &among));
        let mut sorted = order;
        sorted.sort_unstable();
        prop_assert_eq!(sorted, among);
    }
}

/// It was dropped without a word, from a study that its title promised.
#[test]
fn rounds_and_seeds_give_different_orders() {
    let among: Vec<usize> = (0..50).collect();
    let order = |seed, round| Plan::default().order(seed, round, &among);
    assert_ne!(order(1, 0), order(1, 1));
    assert_ne!(order(1, 0), order(2, 0));
}

#[test]
fn an_option_that_no_case_has_is_refused() {
    let plan = |options: &[(&str, &str)]| {
        let mut spec = Spec::named("transfer").unwrap();
        options.iter().for_each(|(flag, value)| spec.set_axis(flag, &[value]).unwrap());
        Plan::make_within(&spec, None)
    };
    let refused = plan(&[("path", "loopback"), ("mtu", "9000")]).unwrap_err().to_string();
    assert!(refused.starts_with("--mtu applies to no case of this plan"), "{refused}");
    assert!(plan(&[("mechanism", "send_fields"), ("batch", "8")]).is_err());
    assert!(plan(&[("path", "loopback,veth"), ("mtu", "9000")]).is_ok(), "cases over veth have it");
}

/// A run from before there were shapes has the same points as one that names the usual one.
#[test]
fn the_usual_shape_is_no_coordinate_and_another_says_the_size() {
    let few = [("path", "loopback"), ("mechanism", "send,sendmsg"), ("threads", "1"), ("size", "64,1K")];
    let with = |named: &[(&str, &str)]| make(&[&few[..], named].concat());
    assert_eq!(with(&[("fields", "8")]).cases, with(&[]).cases);
    assert!(with(&[]).cases.iter().all(|case| case.point.get("fields").is_none()));
    let mixed = with(&[("fields", "8/100,rest/24,512K")]);
    let seen: Vec<(&str, u64)> = mixed
        .cases
        .iter()
        .filter(|case| case.twin_of.is_none() && case.point.text_at("mechanism") == Some("send"))
        .map(|case| (case.point.text_at("fields").unwrap(), case.point.int_at("message_bytes").unwrap()))
        .collect();
    assert_eq!(seen, [("8", 64), ("8", 1024), ("100,rest", 1024), ("24,512K", 24 + (512 << 10))]);
    assert!(mixed.skips.iter().all(|skip| skip.why.reason.contains("a byte for every piece")));
    assert_eq!(mixed.skips.len(), 2, "64 B have no room for 100: {:?}", mixed.skips);
    let many = with(&[("mechanism", "pack_send,sendmsg"), ("fields", "100x10"), ("batch", "10,64")]);
    assert_eq!((many.cases.iter().filter(|c| c.twin_of.is_none()).count(), many.skips.len()), (3, 1));
    assert!(many.skips[0].why.remedy.contains("--batch 10"), "{:?}", many.skips);
}
