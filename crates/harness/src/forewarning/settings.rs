//! Settings of the network that are not those of whoever starts the run.

use crate::worker::path::is_made;
use syscost_experiment::plan::Plan;
use syscost_experiment::run::Warning;
use syscost_host::namespaces;
use syscost_host::namespaces::carried::DifferingSetting;

/// Settings of the caller that the kernel does not take in the namespaces of a run.
pub fn differing(plan: &Plan) -> Option<Warning> {
    let cases: Vec<usize> =
        plan.cases.iter().filter(|case| is_made(&case.point)).map(|case| case.index).collect();
    let differing = &namespaces::carried().filter(|_| !cases.is_empty())?.differing;
    let told: Vec<String> = differing.iter().map(DifferingSetting::sentence).collect();
    Some(Warning {
        id: "differing_settings".into(),
        observed: format!("between namespaces other settings are in force: {}", told.join("; ")),
        consequence: "cases between namespaces were measured with the settings there".into(),
        remedy: differing.first()?.remedy().into(),
        cases,
    })
}
