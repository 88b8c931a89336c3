//! Terms of a side that goes to sleep, and of the other side, which wakes it.
//!
//! A receiver sleeps when nothing has come, a sender when there is no room or a completion is waited
//! for. The step knows the receiver; what it costs to sleep and to wake is the same for both.

use super::counts::{Count, Subject};
use super::figure::Figure;
use super::steps::Steps;
use super::{About, Group, Side, Term};
use syscost_measure::probe::tcp_path::steps;

const fn about(id: &'static str, title: &'static str, side: Side) -> About {
    About { id, title, side, group: Group::Sleep }
}

/// What the side that wakes another pays.
fn waking(steps: &Steps) -> Option<Figure> {
    Some(steps.sender(steps::WAKE)?.minus(&steps.sender(steps::SINGLE)?))
}

/// What the side that sleeps pays.
fn sleeping(steps: &Steps) -> Option<Figure> {
    Some(steps.receiver(steps::WAKE)?.minus(&steps.receiver(steps::SINGLE)?))
}

pub struct Wake;

impl Term for Wake {
    fn about(&self) -> About {
        about("wake", "waking the receiver", Side::Sender)
    }

    fn count(&self, s: &Subject) -> Count {
        s.sleeps.clone()
    }

    fn unit(&self, _: &Subject, steps: &Steps) -> Option<Figure> {
        waking(steps)
    }
}

pub struct Sleep;

impl Term for Sleep {
    fn about(&self) -> About {
        about("sleep", "the receiver going to sleep and waking up", Side::Receiver)
    }

    fn count(&self, s: &Subject) -> Count {
        s.sleeps.clone()
    }

    fn unit(&self, _: &Subject, steps: &Steps) -> Option<Figure> {
        sleeping(steps)
    }
}

pub struct SenderSleep;

impl Term for SenderSleep {
    fn about(&self) -> About {
        about("sender_sleep", "the sender going to sleep and waking up", Side::Sender)
    }

    fn count(&self, s: &Subject) -> Count {
        s.sender_sleeps.clone()
    }

    fn unit(&self, _: &Subject, steps: &Steps) -> Option<Figure> {
        sleeping(steps)
    }
}

pub struct SenderWake;

impl Term for SenderWake {
    fn about(&self) -> About {
        about("sender_wake", "waking the sender", Side::Receiver)
    }

    fn count(&self, s: &Subject) -> Count {
        s.sender_sleeps.clone()
    }

    fn unit(&self, _: &Subject, steps: &Steps) -> Option<Figure> {
        waking(steps)
    }
}
