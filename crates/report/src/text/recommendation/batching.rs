//! Batching in words: how much it is worth, and how long it makes a message wait.

use super::AdviceWords;
use crate::Statement;
use syscost_analyze::compare::study::RIVALS;
use syscost_analyze::recommend::advice::Advice;
use syscost_analyze::recommend::batching::{BatchingAdvice, BatchingRange, BatchingVerdict};
use syscost_core::units::significant;
use syscost_measure::mechanism;
use syscost_measure::probe::transfer::axes::RECEIVER;

/// Messages a second at which waiting for a batch is told.
const WAITING_RATE: u64 = 10_000;

/// Tells how long the largest batch that helps makes its first message wait.
pub fn waits<'b>(known: impl Iterator<Item = &'b BatchingAdvice>) -> Option<String> {
    let n = known.filter_map(most_per_call).max()?;
    let ms = significant((n - 1) as f64 * 1e3 / WAITING_RATE as f64);
    Some(format!(
        "What a batch adds to latency was not measured. The first of {n} messages waits for {} more: {ms} ms at {WAITING_RATE} a second.",
        n - 1
    ))
}

/// The largest batch that helps somewhere.
fn most_per_call(known: &BatchingAdvice) -> Option<u64> {
    let BatchingAdvice::Measured(ranges) = known else { return None };
    ranges.iter().filter(|range| helps(range)).map(|range| mechanism::per_call(&range.batched)).max()
}

fn helps(range: &BatchingRange) -> bool {
    matches!(range.verdict, BatchingVerdict::MattersMost | BatchingVerdict::Helps)
}

impl AdviceWords<'_> {
    /// `If your message lies in pieces, batched: pack_send x64 at 1 KiB to 16 KiB (up to 28x cheaper).`
    pub(super) fn batched(&self, lead: &str, advice: &Advice) -> Option<Statement> {
        let Some(BatchingAdvice::Measured(ranges)) = &advice.batching else { return None };
        let best: Vec<&BatchingRange> = ranges.iter().filter(|range| helps(range)).collect();
        let most = best.iter().max_by(|a, b| {
            let far = |range: &BatchingRange| range.gain.ratio.value.max(1.0 / range.gain.ratio.value);
            far(a).total_cmp(&far(b))
        })?;
        let n = mechanism::per_call(&most.batched);
        let name = self.batched_way(most);
        let (from, to) = (best.iter().map(|r| r.from).min()?, best.iter().map(|r| r.to).max()?);
        let sizes = self.words.sizes(self.along, &advice.scope.held).range(from, to);
        let gain =
            format!("{} {}", self.by(advice.metric, most.gain.ratio.value), self.comparative(advice.metric));
        let up_to = if from == to { "" } else { "up to " };
        let text = format!("{lead}, batched: {name} x{n} at {sizes} ({up_to}{gain}).");
        Some(Statement { text, cells: most.cells.clone() })
    }

    /// With its receiver, where that is another one than without a batch, and not the usual one.
    fn batched_way(&self, range: &BatchingRange) -> String {
        let name = range.batched.text(RIVALS).unwrap_or_default();
        let [batched, single] = [&range.batched, &range.single].map(|way| way.get(RECEIVER.id));
        match batched.filter(|own| single != Some(*own) && !self.words.is_default(RECEIVER.id, own)) {
            Some(receiver) => format!("{name} (receiver {})", self.words.value(RECEIVER.id, receiver)),
            None => name.to_string(),
        }
    }

    pub(super) fn batching(&self, advice: &Advice, range: &BatchingRange) -> String {
        let id = advice.metric;
        let sizes = self.words.sizes(self.along, &advice.scope.held).range(range.from, range.to);
        let n = mechanism::per_call(&range.batched);
        let name = self.batched_way(range);
        let up_to = if range.from == range.to { "" } else { "up to " };
        let by = format!("{up_to}{} {}", self.by(id, range.gain.ratio.value), self.comparative(id));
        match range.verdict {
            BatchingVerdict::MattersMost => {
                format!("Batching matters more than the mechanism at {sizes}: {n} a call by {name}, {by}.")
            }
            BatchingVerdict::Helps => format!("Batching helps at {sizes}: {n} a call by {name}, {by}."),
            BatchingVerdict::Costs => format!("Batching costs more at {sizes}: send one message a call."),
            BatchingVerdict::Same => format!("Batching changes nothing at {sizes} (within 3 %)."),
            BatchingVerdict::Undecided => format!("Whether batching helps at {sizes} is undecided."),
        }
    }
}
