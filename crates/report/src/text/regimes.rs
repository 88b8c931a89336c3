//! Where do short slices and steady windows differ?

use crate::text::words::{Words, count, percent};
use syscost_analyze::finding::regimes::{RegimePair, RegimesDiffer};
use syscost_core::axis::Point;
use syscost_core::units::significant;
use syscost_measure::probe::Probe;
use syscost_measure::probe::transfer::{self, axes::MECHANISM};

/// `At 12 of 128 pairs, by 4 % to 20 %.`
pub fn headline(differ: &RegimesDiffer) -> String {
    let apart = |pair: &RegimePair| percent(pair.windows_over_slices.value.ln().abs().exp_m1());
    let (Some(largest), Some(smallest)) = (differ.pairs.first(), differ.pairs.last()) else {
        return String::new();
    };
    let range = match (apart(smallest), apart(largest)) {
        (low, high) if low == high => low,
        (low, high) => format!("{low} to {high}"),
    };
    format!("At {} of {}, by {range}.", differ.pairs.len(), count(differ.looked_at, "pair"))
}

pub fn sentence(differ: &RegimesDiffer, words: &Words) -> String {
    let Some(largest) = differ.pairs.first() else { return String::new() };
    // Only transfers take turns.
    let probe: &dyn Probe = &transfer::Transfer;
    let name = |point: &Point| words.way(probe, point, MECHANISM.id);
    let axes = probe.axes();
    let chosen: Vec<&str> = axes.iter().map(|axis| axis.id).filter(|id| probe.chosen(id)).collect();
    let (a, b) = (name(&largest.a_point), name(&largest.b_point));
    let cheap_first = largest.by_slices < 1.0;
    let (dear, other) = if cheap_first { (b, a) } else { (a, b) };
    let times = |ratio: f64| significant(if cheap_first { 1.0 / ratio } else { ratio });
    format!(
        "Largest: {dear} costs {}x the CPU of {other} by slices and {}x by windows. Its place is {}. A slice begins with empty queues.",
        times(largest.by_slices),
        times(largest.by_windows()),
        words.place(&largest.a_point, &chosen),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_analyze::synthetic::{Synthetic, batched};
    use syscost_core::stats::Estimate;
    use syscost_core::units::Unit;

    #[test]
    fn ways_are_named_with_their_messages_per_call_and_the_dearer_first() {
        let run = batched(&Synthetic::default(), &[1, 8]);
        let at = |mechanism: &str, per_call: u64| {
            let fits = |point: &&Point| {
                point.text(MECHANISM) == Some(mechanism)
                    && point.int_at("messages_per_call") == Some(per_call)
            };
            run.record.plan.cases.iter().map(|case| &case.point).find(fits).unwrap().clone()
        };
        let ratio = Estimate { value: 1.2, low: 1.1, high: 1.3, level: 0.95, n: 8, unit: Unit::Ratio };
        let (a_point, b_point) = (at("send", 1), at("send", 8));
        let pair = RegimePair { a: 0, b: 1, a_point, b_point, by_slices: 0.5, windows_over_slices: ratio };
        let said = sentence(&RegimesDiffer { looked_at: 1, pairs: vec![pair] }, &Words::of(&run));
        let told = "Largest: send (messages per call 8) costs 2x the CPU of send by slices and 1.67x by windows. Its place is 64 B and \
                    1 thread over veth (TCP_NODELAY on). A slice begins with empty queues.";
        assert_eq!(said, told);
    }
}
