//! Terms of the sender's calls: those that only add to a segment, those whose segment leaves, and
//! what more segments and more pieces cost.

use super::counts::{Count, Subject};
use super::figure::Figure;
use super::steps::Steps;
use super::{About, Group, Side, Term};
use syscost_measure::probe::tcp_path::steps;

pub struct Append;

impl Term for Append {
    fn about(&self) -> About {
        About { id: "append", title: "calls whose bytes wait", side: Side::Sender, group: Group::Calls }
    }

    fn count(&self, s: &Subject) -> Count {
        let n = (s.calls.n - s.segments.n).max(0.0);
        Count {
            n,
            says: format!("calls less segments; segments {}", s.segments.says),
            cells: s.segments.cells.clone(),
        }
    }

    fn unit(&self, _: &Subject, steps: &Steps) -> Option<Figure> {
        steps.sender(steps::APPEND)
    }
}

pub struct Segment;

impl Term for Segment {
    fn about(&self) -> About {
        About { id: "segment", title: "calls that send a segment", side: Side::Sender, group: Group::Calls }
    }

    fn count(&self, s: &Subject) -> Count {
        s.segments.with(s.segments.n.min(s.calls.n))
    }

    /// The call, the way down, and the receive interrupt, which runs in the sender's thread.
    fn unit(&self, s: &Subject, steps: &Steps) -> Option<Figure> {
        if s.small() {
            return steps.sender(steps::TRANSMIT);
        }
        let copied = steps.copy_in()?.times(steps::MIDDLE_BYTES as f64);
        Some(steps.sender(steps::MIDDLE)?.minus(&copied))
    }
}

pub struct Further;

impl Term for Further {
    fn about(&self) -> About {
        About { id: "further", title: "further segments of a call", side: Side::Sender, group: Group::Calls }
    }

    fn count(&self, s: &Subject) -> Count {
        s.segments.with((s.segments.n - s.calls.n).max(0.0))
    }

    fn unit(&self, _: &Subject, steps: &Steps) -> Option<Figure> {
        let (long, large) = (steps.sender(steps::LONG)?, steps.sender(steps::LARGE)?);
        let copied = steps.copy_in()?.times((steps::LONG_BYTES - steps::LARGE_BYTES) as f64);
        Some(long.minus(&large).minus(&copied))
    }
}

pub struct Pieces;

impl Term for Pieces {
    fn about(&self) -> About {
        About { id: "pieces", title: "further pieces of a call", side: Side::Sender, group: Group::Calls }
    }

    fn count(&self, s: &Subject) -> Count {
        let further = s.handling.pieces.saturating_sub(1) as f64;
        s.calls.with(further * s.calls.n)
    }

    fn unit(&self, s: &Subject, steps: &Steps) -> Option<Figure> {
        let (of_eight, of_one) = if s.handling.lends {
            (steps::LENT_PIECES, steps::LENT)
        } else {
            (steps::GATHER, steps::TRANSMIT)
        };
        Some(steps.sender(of_eight)?.minus(&steps.sender(of_one)?).over((steps::PIECES - 1) as f64))
    }
}
