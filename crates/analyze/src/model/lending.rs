//! Terms of memory that is lent to the kernel (MSG_ZEROCOPY): what a call costs more, what a lent byte
//! costs, and what taking completions costs.

use super::counts::{Count, Subject};
use super::figure::Figure;
use super::steps::Steps;
use super::{About, Group, Side, Term};
use syscost_measure::probe::tcp_path::steps;

pub struct Lend;

impl Term for Lend {
    fn about(&self) -> About {
        About { id: "lend", title: "calls that lend", side: Side::Sender, group: Group::Lent }
    }

    fn count(&self, s: &Subject) -> Count {
        s.calls.with(if s.handling.lends { s.calls.n } else { 0.0 })
    }

    /// A notification and the first page's pin: what one small lent piece costs more than a copied one.
    fn unit(&self, _: &Subject, steps: &Steps) -> Option<Figure> {
        Some(steps.sender(steps::LENT)?.minus(&steps.sender(steps::SINGLE)?))
    }
}

pub struct LentBytes;

impl Term for LentBytes {
    fn about(&self) -> About {
        About {
            id: "lent_bytes",
            title: "pages pinned and orphan copy",
            side: Side::Sender,
            group: Group::Lent,
        }
    }

    fn count(&self, s: &Subject) -> Count {
        Count::rule(if s.handling.lends { s.message_bytes } else { 0.0 }, "bytes of the message")
    }

    /// By byte: on this path whatever has to be done with lent pages is done for each of them.
    fn unit(&self, _: &Subject, steps: &Steps) -> Option<Figure> {
        let (large, small) = (steps.sender(steps::LENT_LARGE)?, steps.sender(steps::LENT)?);
        Some(large.minus(&small).over((steps::LARGE_BYTES - steps::SMALL_BYTES) as f64))
    }
}

pub struct Completions;

impl Term for Completions {
    fn about(&self) -> About {
        About {
            id: "completions",
            title: "looks for completions",
            side: Side::Sender,
            group: Group::Completions,
        }
    }

    fn count(&self, s: &Subject) -> Count {
        s.looks.with(if s.handling.lends { s.looks.n } else { 0.0 })
    }

    fn unit(&self, _: &Subject, steps: &Steps) -> Option<Figure> {
        steps.completion(steps::LENT)
    }
}
