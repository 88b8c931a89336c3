//! Packet sockets on the way of what is sent without a copy.

use crate::worker::path::{facts_before, is_made};
use std::collections::{BTreeMap, BTreeSet};
use syscost_experiment::plan::{Case, Plan};
use syscost_experiment::run::Warning;
use syscost_host::packet_sockets as taps;
use syscost_measure::mechanism::{self, Reuse};
use syscost_measure::probe::transfer::axes::{MECHANISM, PATH};

/// Who sees what leaves an end of a path makes its zero-copy sends copy: one warning a path. A pair that is made for
/// the run has nobody in it.
pub fn of_paths(plan: &Plan) -> Vec<Warning> {
    let lends = |case: &&Case| {
        let mechanism = case.point.text(MECHANISM).and_then(mechanism::find);
        mechanism.is_some_and(|mechanism| mechanism.about().facts.reuse == Reuse::AtCompletion)
    };
    let mut paths: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for case in plan.cases.iter().filter(lends).filter(|case| !is_made(&case.point)) {
        paths.entry(case.point.text(PATH).unwrap_or_default()).or_default().push(case.index);
    }
    let warning = |(path, cases): (&str, Vec<usize>)| {
        let facts = facts_before(path);
        let holders: BTreeSet<&str> = taps::of_ends(&facts).collect();
        let holders = holders.into_iter().collect::<Vec<_>>().join(", ");
        (!holders.is_empty()).then(|| Warning {
            id: "packet_sockets".into(),
            observed: format!("over {path} every packet is seen by the packet socket of {holders}"),
            consequence: taps::CONSEQUENCE.into(),
            remedy: taps::REMEDY.into(),
            cases,
        })
    };
    paths.into_iter().filter_map(warning).collect()
}
