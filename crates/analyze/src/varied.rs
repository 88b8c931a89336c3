//! The axes on which the cases of a run differ.

use std::collections::BTreeSet;
use syscost_core::axis::{Name, Value};
use syscost_experiment::run::Run;

/// Their ids.
pub fn axes(run: &Run) -> BTreeSet<String> {
    // Points mostly have the same names in the same order: the place of the one before is looked at first.
    let mut first: Vec<(&Name, &Value, bool)> = Vec::new();
    for case in &run.record.plan.cases {
        for (place, (name, value)) in case.point.iter().enumerate() {
            let here = first.get(place).is_some_and(|known| known.0 == name).then_some(place);
            match here.or_else(|| first.iter().position(|known| known.0 == name)) {
                Some(known) => first[known].2 |= first[known].1 != value,
                None => first.push((name, value, false)),
            }
        }
    }
    first.into_iter().filter(|axis| axis.2).map(|(name, ..)| name.to_string()).collect()
}
