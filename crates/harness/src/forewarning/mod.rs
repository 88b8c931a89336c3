//! What weakens a run before anything is measured: one warning each, in the record from the start.

pub mod packet_sockets;
mod cores;
mod own_code;
mod settings;

use syscost_experiment::plan::Plan;
use syscost_experiment::run::{Record, Warning};
use syscost_host::remote;
use syscost_host::topology::Topology;
use syscost_measure::probe::transfer::{far, planted};

pub fn of(record: &Record) -> Vec<Warning> {
    let plan = &record.plan;
    let mut warnings = planned(plan);
    warnings.extend(own_code::unseen(plan));
    warnings.extend(emulated(record));
    warnings.extend(copied_to_hosts());
    warnings.extend(both_elsewhere(plan));
    warnings.extend(settings::differing(plan));
    warnings.extend(packet_sockets::of_paths(plan));
    warnings.extend(cores::unlike(plan, &Topology::read()));
    warnings
}

/// An emulated machine executes the same instructions and takes any time for them.
fn emulated(record: &Record) -> Option<Warning> {
    let emulator = record.emulator()?;
    Some(Warning {
        id: "emulated".into(),
        observed: format!("this machine is emulated in software ({emulator}): counts only"),
        consequence: "what was counted holds; times and rates mean nothing and are left out".into(),
        remedy: "for times, run syscost on the machine itself".into(),
        cases: Vec::new(),
    })
}

/// Planning may have put this program on other hosts: the only thing that stays there.
fn copied_to_hosts() -> Vec<Warning> {
    let warning = |copy: remote::InstalledCopy| Warning {
        id: "copied_to_host".into(),
        observed: format!("copied syscost to {}", copy.place),
        consequence: "it stays there, so that the next run need not copy it; no figure is touched by it"
            .into(),
        remedy: format!("to remove it: {}", copy.removal),
        cases: Vec::new(),
    };
    remote::copies().into_iter().map(warning).collect()
}

/// Facts, noise and time of the machine that the harness runs on say nothing of such cases.
fn both_elsewhere(plan: &Plan) -> Option<Warning> {
    let cases: Vec<usize> =
        plan.cases.iter().filter(|case| far::both(&case.point)).map(|case| case.index).collect();
    (!cases.is_empty()).then(|| Warning {
        id: "both_ends_elsewhere".into(),
        observed: "neither end of the path is on this machine".into(),
        consequence: "facts of both ends are with their cases; load, steal time and throttling there were not watched, and \
                      what is said of the machine is said of the one that syscost was started on"
            .into(),
        remedy: "look at both ends before and after with `syscost doctor` there".into(),
        cases,
    })
}

/// A debug build, planted differences, defaults that this machine cannot do, and cases without time.
fn planned(plan: &Plan) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = plan
        .substitutions
        .iter()
        .map(|substitution| Warning {
            id: format!("{}_fallback", substitution.axis),
            observed: format!(
                "{} {} is not possible here: {}",
                substitution.axis, substitution.wanted, substitution.why.reason
            ),
            consequence: format!("{} was measured instead", substitution.used),
            remedy: substitution.why.remedy.clone(),
            cases: Vec::new(),
        })
        .collect();
    // Probes that share an axis share what becomes of it.
    let mut said = std::collections::BTreeSet::new();
    warnings.retain(|warning| said.insert((warning.id.clone(), warning.observed.clone())));
    let left_out: Vec<String> = plan.thinned.iter().map(|thinned| thinned.what()).collect();
    warnings.extend((!left_out.is_empty()).then(|| Warning {
        id: "quick_thinned".into(),
        observed: "a quick run has no time for so many cases".into(),
        consequence: format!("left out: {}", left_out.join("; ")),
        remedy: "name the values to keep, run a probe alone, or run without --quick".into(),
        cases: Vec::new(),
    }));
    if let Ok(planted) = std::env::var(planted::VARIABLE) {
        warnings.push(Warning {
            id: "planted".into(),
            observed: format!("differences are planted: {}={planted}", planted::VARIABLE),
            consequence:
                "these rivals are not what their names say; the run tries whether differences are found"
                    .into(),
            remedy: format!("unset {}", planted::VARIABLE),
            cases: Vec::new(),
        });
    }
    if cfg!(debug_assertions) {
        warnings.push(Warning {
            id: "debug_build".into(),
            observed: "this syscost was built without optimisation".into(),
            consequence: "user-space costs (memcpy, loops) are far too high".into(),
            remedy: "cargo build --release".into(),
            cases: Vec::new(),
        });
    }
    warnings
}
