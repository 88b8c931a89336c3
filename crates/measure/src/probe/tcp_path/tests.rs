//! Both sides of every step on loopback, in two threads: the work is done and both agree on it.

use super::sides;
use super::steps::{self, StepKind};
use super::*;
use std::sync::mpsc;
use syscost_core::axis::Point;

/// Hands the receiver's offer over; nobody waits for anybody else.
struct Line(Option<mpsc::Sender<serde_json::Value>>);

impl Channel for Line {
    fn offer(&mut self, offer: serde_json::Value) -> anyhow::Result<()> {
        let line = self.0.as_ref().expect("only the receiver offers");
        Ok(line.send(offer)?)
    }

    fn ready(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}

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

#[test]
fn every_step_moves_its_bytes_and_both_sides_agree() {
    for step in steps::ALL {
        if step.how == StepKind::Lent && mechanism::zerocopy_available().is_err() {
            eprintln!("skipped: {}: this kernel lends no memory to TCP", step.id);
            continue;
        }
        let (tell, told) = mpsc::channel();
        let receiver =
            std::thread::spawn(move || sides::receive(&task(step.id, RECEIVER, None), &mut Line(Some(tell))));
        let peer = told.recv().expect("the receiver offers where it listens");
        let sent = sides::send(&task(step.id, SENDER, Some(peer)), &mut Line(None)).expect(step.id);
        let received = receiver.join().expect("no panic").expect(step.id);
        let samples = sides::merge(&[received, sent]).expect(step.id);
        assert_eq!(samples.len(), 2, "{}", step.id);
        for sample in &samples {
            assert!(sample.ops > 0.0 && sample.bytes == sample.ops * (step.bytes * step.calls) as f64);
            assert!(sample.get("call_ns").is_some() && sample.get("receive_ns").is_some(), "{}", step.id);
            assert_eq!(sample.get("completion_ns").is_some(), step.how == StepKind::Lent, "{}", step.id);
        }
    }
}

#[test]
fn a_turn_fits_into_one_receive_call_and_its_pieces_are_whole() {
    for step in steps::ALL {
        assert!(step.bytes * step.calls <= sides::BUFFER_BYTES, "{}", step.id);
        assert_eq!(step.bytes % step.pieces, 0, "{}", step.id);
    }
    assert_eq!(steps::ALL.iter().filter(|step| step.asleep).count(), 1);
}

#[test]
fn sides_that_disagree_are_no_measurement() {
    let report =
        |bytes: f64| RoleReport { totals: [("bytes".to_string(), bytes)].into(), ..RoleReport::default() };
    assert!(sides::merge(&[report(64.0), report(128.0)]).unwrap_err().contains("128"));
    assert!(sides::merge(&[RoleReport::default(), RoleReport::default()]).is_err());
}
