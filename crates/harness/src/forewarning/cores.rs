//! Ends of a path on cores of two kinds.

use crate::worker::path::another_host;
use syscost_experiment::plan::{Case, Plan};
use syscost_experiment::run::Warning;
use syscost_host::topology::{Placement, Topology};
use syscost_measure::probe::transfer::axes::{PLACEMENT, THREADS};

/// The two ends of a case on a fast and a slow core.
pub fn unlike(plan: &Plan, topology: &Topology) -> Option<Warning> {
    let unlike = |case: &Case| {
        let placement = Placement::parse(case.point.text(PLACEMENT)?).ok()?;
        let here = another_host(&case.point).is_none();
        let pins = here.then(|| topology.place(&placement, case.point.int(THREADS)? as usize).ok())??;
        Some((case.index, topology.unlike(&pins)?))
    };
    let found: Vec<(usize, String)> = plan.cases.iter().filter_map(unlike).collect();
    Some(Warning {
        id: "unlike_cores".into(),
        observed: format!("sender and receiver are on unlike cores: {}", found.first()?.1),
        consequence: "what a message costs depends on which end has the fast core".into(),
        remedy: "name CPUs of one kind: --placement SENDER:RECEIVER (lscpu -e shows them)".into(),
        cases: found.into_iter().map(|(case, _)| case).collect(),
    })
}
