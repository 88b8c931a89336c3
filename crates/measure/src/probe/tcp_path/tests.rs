//! Both sides of every step on loopback, in two threads: the work is done and both agree on it.

use super::sides;
use super::steps::{self, Sleeper, StepKind};
use super::*;
use crate::fixture::played;
use crate::probe::BlockTask;
use syscost_core::axis::Point;

fn task(step: &str, role: &str, peer: Option<serde_json::Value>) -> Task {
    let mut point = Point::default();
    point.set(STEP.id, Value::text(step));
    point.set("path", Value::text("loopback"));
    point.set("placement", Value::text("none"));
    Task {
        probe: ID.into(),
        role: role.into(),
        token: format!("a token of {step}"),
        address: "127.0.0.1".into(),
        peer,
        ..Task::of(point, Timing { warmup_ns: 1_000_000, window_ns: 1_000_000, windows: 2 })
    }
}

fn agree(step: &steps::PathStep, reports: &[RoleReport]) {
    let samples = sides::merge(reports).expect(step.id);
    assert_eq!(samples.len(), 2, "{}", step.id);
    for sample in &samples {
        assert!(sample.ops > 0.0 && sample.bytes == sample.ops * (step.bytes * step.calls) as f64);
        assert!(sample.get("call_ns").is_some() && sample.get("receive_ns").is_some(), "{}", step.id);
        assert_eq!(sample.get("completion_ns").is_some(), step.how == StepKind::Lent, "{}", step.id);
    }
}

/// The steps that work here.
fn steps_here() -> Vec<&'static steps::PathStep> {
    if mechanism::zerocopy_available().is_ok() {
        return steps::ALL.iter().collect();
    }
    eprintln!("skipped: lent steps: this kernel lends no memory to TCP");
    steps::ALL.iter().filter(|step| step.how != StepKind::Lent).collect()
}

#[test]
fn every_step_moves_its_bytes_and_both_sides_agree() {
    for step in steps_here() {
        agree(step, &played(&TcpPath, |role, peer| task(step.id, role, peer)));
    }
}

#[test]
fn one_visit_measures_all_steps_each_on_its_own_connection() {
    let steps = steps_here();
    let rivals: Vec<Point> = steps.iter().map(|step| task(step.id, SENDER, None).point).collect();
    let reports = played(&TcpPath, |role, peer| Task {
        block: Some(BlockTask { rivals: rivals.clone(), ..BlockTask::default() }),
        ..task(steps[0].id, role, peer)
    });
    assert!(reports.iter().all(|side| side.rivals.len() == steps.len() && side.windows.is_empty()));
    for (place, step) in steps.iter().enumerate() {
        agree(step, &[reports[0].rivals[place].clone(), reports[1].rivals[place].clone()]);
    }
}

#[test]
fn a_turn_fits_into_one_receive_call_and_its_pieces_are_whole() {
    for step in steps::ALL {
        assert!(step.bytes * step.calls <= sides::BUFFER_BYTES, "{}", step.id);
        assert_eq!(step.bytes % step.pieces, 0, "{}", step.id);
    }
    assert!(steps::ALL.iter().all(|step| step.asleep == Sleeper::Nobody || step.bytes == steps::SMALL_BYTES));
}

#[test]
fn sides_that_disagree_are_no_measurement() {
    let report =
        |bytes: f64| RoleReport { totals: [("bytes".to_string(), bytes)].into(), ..RoleReport::default() };
    assert!(sides::merge(&[report(64.0), report(128.0)]).unwrap_err().contains("128"));
    assert!(sides::merge(&[RoleReport::default(), RoleReport::default()]).is_err());
}
