//! Code of the user's own: what of it nobody can see.

use std::collections::{BTreeMap, BTreeSet};
use syscost_experiment::plan::Plan;
use syscost_experiment::run::Warning;
use syscost_measure::probe;

pub fn unseen(plan: &Plan) -> Option<Warning> {
    let mut objects: BTreeMap<(String, &str), BTreeSet<&str>> = BTreeMap::new();
    let mut cases = Vec::new();
    for case in &plan.cases {
        let codes = probe::own_code(&case.point);
        for code in &codes {
            let sha256 = code.object.sha256.get(..12).unwrap_or(&code.object.sha256);
            objects.entry((code.object.asked(), sha256)).or_default().insert(code.name());
        }
        cases.extend((!codes.is_empty()).then_some(case.index));
    }
    let told = |((path, sha256), names): (&(String, &str), &BTreeSet<&str>)| {
        format!("{} of {path} (SHA-256 {sha256})", names.iter().copied().collect::<Vec<_>>().join(", "))
    };
    let told: Vec<String> = objects.iter().map(told).collect();
    (!cases.is_empty()).then(|| Warning {
        id: "own_code".into(),
        observed: format!("code of your own: {}", told.join("; ")),
        consequence: "its copies in user space and its system calls are unseen, and so is what an operation without check() \
                      leaves out"
            .into(),
        remedy: "add them to `counts`, and give an operation a check(): docs/own-code.md".into(),
        cases,
    })
}
