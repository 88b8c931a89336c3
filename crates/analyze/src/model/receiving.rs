//! Terms of the receiver's work.

use super::counts::{Count, Subject};
use super::figure::Figure;
use super::steps::Steps;
use super::{About, Group, Side, Term};
use syscost_measure::probe::tcp_path::steps;

/// Small segments that a receive call of the step takes.
fn taken() -> Option<f64> {
    let step = steps::ALL.iter().find(|step| step.id == steps::TRANSMIT)?;
    Some(step.calls as f64)
}

/// What each small segment costs beside the call that takes it.
fn by_segment(steps: &Steps) -> Option<Figure> {
    let (many, one) = (steps.receiver(steps::TRANSMIT)?, steps.receiver(steps::SINGLE)?);
    Some(many.minus(&one).over(taken()? - 1.0))
}

pub struct Receive;

impl Term for Receive {
    fn about(&self) -> About {
        About {
            id: "receive",
            title: "receive calls, with their acknowledgements",
            side: Side::Receiver,
            group: Group::Receive,
        }
    }

    fn count(&self, s: &Subject) -> Count {
        s.receive_calls.clone()
    }

    fn unit(&self, _: &Subject, steps: &Steps) -> Option<Figure> {
        Some(steps.receiver(steps::SINGLE)?.minus(&by_segment(steps)?))
    }
}

pub struct TakeSegment;

impl Term for TakeSegment {
    fn about(&self) -> About {
        About { id: "take", title: "segments taken", side: Side::Receiver, group: Group::Receive }
    }

    fn count(&self, s: &Subject) -> Count {
        s.segments.clone()
    }

    fn unit(&self, _: &Subject, steps: &Steps) -> Option<Figure> {
        by_segment(steps)
    }
}
