//! What the harness keeps of root's rights, or of those of its file: what its plan needs until the command has ended.
//!
//! A thread keeps capabilities of its own, so whoever calls this speaks for itself and for what it starts later.
//! Source: capabilities(7).

use crate::audit;
use crate::worker::path::{another_host, has_link};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use syscost_experiment::plan::Plan;
use syscost_experiment::run::files::RECORD;
use syscost_experiment::spec::Spec;
use syscost_host::counters;
use syscost_measure::probe::rights::{COUNT_IN_THE_KERNEL, COUNT_ON_DEBIAN, LOW_PORTS, OTHER_USERS};
use syscost_measure::probe::{self, directory};
use syscost_sys::capability::{self, CapabilitySet};
use syscost_sys::{access, program};

/// Each worker takes what its role does not need out of its own bounding set.
const OF_WORKERS: CapabilitySet = CapabilitySet::SETPCAP;
/// Makes links between namespaces, and starts workers in them.
const NAMESPACES: CapabilitySet = CapabilitySet::NET_ADMIN.union(CapabilitySet::SYS_ADMIN);
/// Attaches programs to the kernel and reads its symbols; kernel threads whose /proc is hidden (`hidepid`).
const OBSERVING: CapabilitySet = CapabilitySet::BPF
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::SYS_ADMIN)
    .union(CapabilitySet::SYS_RESOURCE)
    .union(CapabilitySet::SYSLOG)
    .union(CapabilitySet::SYS_PTRACE);
/// Files and directories of other users, and handing files over to them.
const OTHERS_FILES: CapabilitySet = CapabilitySet::DAC_OVERRIDE
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::CHOWN)
    .union(CapabilitySet::FOWNER);
/// Ends what a server started as another user, and removes what that left.
const SERVERS: CapabilitySet = OTHERS_FILES.union(CapabilitySet::KILL);

/// What a run keeps, before its first round and from then on.
pub struct RunRights {
    setting_up: CapabilitySet,
    rounds: CapabilitySet,
    /// ssh, podman and the like are the user's, configured to start anything: they have what root has.
    leads_elsewhere: bool,
}

impl RunRights {
    /// Of a run that writes into this directory.
    pub fn of(plan: &Plan, spec: &Spec, out: &Path, profiles: bool) -> RunRights {
        let rounds = needed(plan, Some(out));
        let observes = profiles || !audit::due(plan, &[]).is_empty();
        let setting_up = if observes { rounds | OBSERVING } else { rounds };
        // Stages of a refinement count copies between their rounds.
        let rounds = if spec.refine.is_some() { setting_up } else { rounds };
        RunRights { setting_up, rounds, leads_elsewhere: leads_elsewhere(plan) }
    }

    /// Before anything is measured.
    pub fn keep_for_setting_up(&self) -> io::Result<()> {
        keep(self.setting_up, self.leads_elsewhere)
    }

    /// When copies were counted and what is sampled was sampled.
    pub fn keep_for_rounds(&self) -> io::Result<()> {
        keep(self.rounds, self.leads_elsewhere)
    }
}

/// Of a command that goes through a plan once, and writes into this directory if any: `check`, `audit`, `profile`.
pub fn keep_for_one_pass(plan: &Plan, out: Option<&Path>, observes: bool) -> io::Result<()> {
    let observing = if observes { OBSERVING } else { CapabilitySet::empty() };
    keep(needed(plan, out) | observing, leads_elsewhere(plan))
}

fn keep(kept: CapabilitySet, leads_elsewhere: bool) -> io::Result<()> {
    if leads_elsewhere { capability::hold_only(kept) } else { capability::limit_to(kept) }
}

fn leads_elsewhere(plan: &Plan) -> bool {
    plan.cases.iter().any(|case| another_host(&case.point).is_some())
}

/// In every round.
fn needed(plan: &Plan, out: Option<&Path>) -> CapabilitySet {
    let mut kept = OF_WORKERS | of_roles(plan);
    if plan.cases.iter().any(|case| has_link(&case.point)) {
        kept |= NAMESPACES;
    }
    if leads_elsewhere(plan) {
        kept |= LOW_PORTS.capability | OTHERS_FILES;
    }
    if !places(plan, out).iter().all(|place| is_open(place)) {
        kept |= OTHERS_FILES;
    }
    kept
}

/// What workers keep has to be held by who starts them.
fn of_roles(plan: &Plan) -> CapabilitySet {
    let planned: BTreeSet<&str> = plan.cases.iter().map(|case| &*case.probe).collect();
    let probes = planned.into_iter().filter_map(probe::find);
    let rights = probes.flat_map(|probe| probe.roles().iter().flat_map(move |role| probe.rights(role).0));
    let mut kept: CapabilitySet = rights.map(|right| right.capability).collect();
    if kept.contains(COUNT_IN_THE_KERNEL.capability) && counters::needs_admin() {
        kept |= COUNT_ON_DEBIAN.capability;
    }
    if kept.contains(OTHER_USERS.capability) {
        kept |= SERVERS;
    }
    kept
}

/// Where a command writes, and what it executes.
fn places(plan: &Plan, out: Option<&Path>) -> BTreeSet<PathBuf> {
    let files = plan.cases.iter().filter_map(|case| {
        let needs = probe::find(&case.probe)?.needs(&case.point);
        Some(needs.files.into_iter().map(|file| PathBuf::from(file.directory)))
    });
    let named = plan.cases.iter().filter_map(|case| case.point.text(directory::ID)).map(PathBuf::from);
    files.flatten().chain(named).chain(out.map(PathBuf::from)).chain([program::path()]).collect()
}

/// A run that goes on also writes into its files.
fn is_open(place: &Path) -> bool {
    let is_run = place.join(RECORD).exists();
    access::is_open(place) && (!is_run || access::holds_only_ours(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_keeps_what_its_roles_and_paths_need_and_no_more() {
        let of = |toml: &str| {
            let spec = Spec::from_toml(toml, "test").unwrap();
            let plan = Plan::make(&spec).unwrap();
            let scratch = tempfile::tempdir().unwrap();
            let rights = RunRights::of(&plan, &spec, &scratch.path().join("run"), false);
            // Of the place where this test's own binary lies nothing is known.
            (rights.setting_up.difference(OTHERS_FILES), rights.rounds.difference(OTHERS_FILES))
        };
        assert_eq!(of("[[probe]]\nid = \"timer\"\n"), (OF_WORKERS, OF_WORKERS));
        let transfer = "[[probe]]\nid = \"transfer\"\nmechanism = \"send\"\npath = \"loopback\"\n";
        let (setting_up, rounds) = of(transfer);
        assert!(setting_up.contains(OBSERVING) && rounds.contains(CapabilitySet::PERFMON), "{rounds:?}");
        for gone in [CapabilitySet::BPF, CapabilitySet::SYSLOG, CapabilitySet::SYS_PTRACE] {
            assert!(!rounds.contains(gone), "{rounds:?}");
        }
        for never in [CapabilitySet::SYS_MODULE, CapabilitySet::SYS_RAWIO, CapabilitySet::SETUID] {
            assert!(!setting_up.contains(never), "{setting_up:?}");
        }
    }
}
