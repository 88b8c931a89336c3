//! A fleet's plan: one that reads back the same and whose steps an engine may write into its script, or an error.

use super::Seen;
use std::collections::BTreeSet;
use std::path::Path;
use syscost_fleet::plan::FleetPlan;

pub fn look(bytes: &[u8], _: &Path) -> Seen {
    let Ok(text) = std::str::from_utf8(bytes) else { return Seen::Refused };
    let Ok(plan) = FleetPlan::read(text) else { return Seen::Refused };
    let again = FleetPlan::read(&plan.write().expect("TOML"));
    assert_eq!(again.as_ref().ok(), Some(&plan), "{again:?}");
    let steps = plan.steps().expect("it was checked");
    for stage in steps.chunk_by(|a, b| a.stage == b.stage) {
        let mut busy = BTreeSet::new();
        for step in stage {
            let free = |host: &String| busy.insert(host.clone());
            assert!([Some(&step.host), step.receiver.as_ref()].into_iter().flatten().all(free), "{step:?}");
            let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            assert!(step.name().chars().all(plain) && !step.host.starts_with('-'), "{step:?}");
        }
    }
    Seen::Understood
}
