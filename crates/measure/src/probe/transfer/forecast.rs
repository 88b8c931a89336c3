//! What a message costs before anybody measured it: on the straight line between a smaller and a larger message. The line
//! is a cost of the message and a cost of each byte. Nothing of the case itself is used, and nothing is fitted to it.

use crate::probe::formula;
use crate::probe::prediction::{Input, PredictedCost};
use syscost_core::units::Unit;

/// The metric that is forecast.
pub const METRIC: &str = "total_cpu_ns_per_message";
const LINE: &str = "smaller + (larger - smaller) * (bytes - smaller_bytes) / (larger_bytes - smaller_bytes)";

/// A message of another size that was measured; nothing else differs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OtherSize {
    pub case: usize,
    pub bytes: u64,
    pub ns: f64,
}

/// Of a message of so many bytes, between the two.
pub fn forecast(bytes: u64, [smaller, larger]: [OtherSize; 2]) -> PredictedCost {
    let cost = |name: &str, of: OtherSize| {
        let source = format!("{METRIC} of case {} so far", of.case);
        Input { case: Some(of.case), ..Input::new(name, of.ns, Unit::Nanoseconds, source) }
    };
    let size = |name: &str, bytes: u64, source: &str| Input::new(name, bytes as f64, Unit::Bytes, source);
    let inputs = vec![
        cost("smaller", smaller),
        cost("larger", larger),
        size("bytes", bytes, "this case"),
        size("smaller_bytes", smaller.bytes, "the smaller message"),
        size("larger_bytes", larger.bytes, "the larger message"),
    ];
    let predicted = formula::value(LINE, |name| inputs.iter().find(|input| input.name == name)?.value);
    PredictedCost { formula: LINE.into(), base_hardware: None, software_overhead: None, predicted, inputs }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_costs_what_lies_between_a_smaller_and_a_larger_one() {
        let [smaller, larger] =
            [(3, 1024, 5_000.0), (9, 5120, 9_000.0)].map(|(case, bytes, ns)| OtherSize { case, bytes, ns });
        let found = forecast(2048, [smaller, larger]);
        assert_eq!(found.predicted, Some(6_000.0));
        let cases: Vec<usize> = found.inputs.iter().filter_map(|input| input.case).collect();
        assert_eq!(cases, [3, 9]);
    }
}
