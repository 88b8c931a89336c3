//! Terms of the bytes that the CPU copies: in user memory, into the kernel, and out of it.

use super::counts::{Count, Subject};
use super::figure::Figure;
use super::steps::Steps;
use super::{About, Group, Side, Term};
use syscost_measure::probe::tcp_path::steps;

/// Bytes of a turn of the largest step, on the receiver's side: two calls.
const TAKEN: f64 = 2.0 * steps::LARGE_BYTES as f64;

fn bytes(s: &Subject, wanted: bool) -> Count {
    Count::rule(if wanted { s.message_bytes } else { 0.0 }, "bytes of the message")
}

pub struct Pack;

impl Term for Pack {
    fn about(&self) -> About {
        About { id: "pack", title: "copy in user memory", side: Side::Sender, group: Group::UserCopy }
    }

    fn count(&self, s: &Subject) -> Count {
        bytes(s, s.handling.packs)
    }

    /// The message and its copy are at work, at the cache level that holds both.
    fn unit(&self, s: &Subject, steps: &Steps) -> Option<Figure> {
        steps.user_copy(2 * s.call_bytes as u64)
    }
}

pub struct CopyIn;

impl Term for CopyIn {
    fn about(&self) -> About {
        About { id: "copy_in", title: "copy into the kernel", side: Side::Sender, group: Group::CopyIn }
    }

    fn count(&self, s: &Subject) -> Count {
        bytes(s, !s.handling.lends)
    }

    fn unit(&self, _: &Subject, steps: &Steps) -> Option<Figure> {
        steps.copy_in()
    }
}

pub struct CopyOut;

impl Term for CopyOut {
    fn about(&self) -> About {
        About { id: "copy_out", title: "copy out of the kernel", side: Side::Receiver, group: Group::CopyOut }
    }

    fn count(&self, s: &Subject) -> Count {
        bytes(s, true)
    }

    /// Whoever filled the pages, the copy reads them in another core's caches.
    fn unit(&self, _: &Subject, steps: &Steps) -> Option<Figure> {
        let (copied, dropped) = (steps.receiver(steps::LARGE)?, steps.receiver(steps::DROPPED)?);
        Some(copied.minus(&dropped).over(TAKEN))
    }
}
