//! What this machine does not give: quantities that nobody can measure here, and calls that work can do without.

use super::Session;
use syscost_experiment::run::{MissingQuantities, Warning};
use syscost_measure::probe::Missing;
use syscost_sys::optional;

impl Session<'_> {
    /// What the workers, or this process, were refused and can do without is told once.
    pub(super) fn note_missing(&mut self, missing: Vec<Missing>) {
        let of = |quantity: &str| optional::ALL.iter().find(|call| quantity.ends_with(call.id));
        let (refused, missing): (Vec<Missing>, Vec<Missing>) =
            missing.into_iter().partition(|missing| of(&missing.quantity).is_some());
        note_missing(&mut self.run.record.missing, missing);
        let workers = refused.into_iter().map(|missing| (missing.quantity, missing.why.reason));
        let own = optional::refused().into_iter().map(|(id, why)| (id.to_string(), why));
        for (id, error) in workers.chain(own) {
            let Some(call) = of(&id).filter(|call| !call.consequence.is_empty()) else { continue };
            let observed = format!("this system refuses {}", call.call);
            if self.run.record.warnings.iter().any(|warning| warning.observed.starts_with(&observed)) {
                continue;
            }
            self.warn(Warning {
                id: "call_refused".into(),
                observed: format!("{observed} ({error})"),
                consequence: call.consequence.into(),
                remedy: "allow that call in the sandbox".into(),
                cases: Vec::new(),
            });
        }
    }
}

/// Adds quantities that could not be measured, each reason once.
pub(super) fn note_missing(known: &mut Vec<MissingQuantities>, missing: Vec<Missing>) {
    for Missing { quantity, why } in missing {
        match known.iter_mut().find(|m| m.why == why) {
            Some(entry) if entry.quantities.contains(&quantity) => {}
            Some(entry) => entry.quantities.push(quantity),
            None => known.push(MissingQuantities { quantities: vec![quantity], why }),
        }
    }
}
