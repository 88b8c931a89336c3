//! The start of a run: a new record, or an interrupted one taken up again.
//!
//! It says what made the run and what weakens it before anything is measured.

use super::RunOptions;
use super::calendar::{Calendar, Moment};
use crate::worker::path::{another_host, facts_before, is_made};
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use syscost_experiment::plan::{Case, Plan};
use syscost_experiment::run::directory::OpenDirectory;
use syscost_experiment::run::files::RunDir;
use syscost_experiment::run::{Record, ResumedSession, Run, SCHEMA, State, TimeSpent, Tool, Warning};
use syscost_host::namespaces::carried::DifferingSetting;
use syscost_host::remote::consent;
use syscost_host::remote::transport::rsh;
use syscost_host::topology::{Placement, Topology};
use syscost_host::{Fact, cleaner, fingerprint, identity, namespaces, packet_sockets as taps, remote};
use syscost_measure::mechanism::{self, Reuse};
use syscost_measure::probe::directory;
use syscost_measure::probe::transfer::axes::{MECHANISM, PATH, PLACEMENT, THREADS};
use syscost_measure::probe::transfer::{far, planted};
use syscost_sys::clock::monotonic_ns;
use syscost_sys::{place, program, random};

/// Removes what killed runs left where this one writes; or killed workers of this run, at its end.
pub fn sweep(plan: &Plan) {
    let named: BTreeSet<&str> = plan.cases.iter().filter_map(|case| case.point.text(directory::ID)).collect();
    named.into_iter().for_each(|directory| cleaner::sweep(Path::new(directory)));
}

pub fn create(options: &RunOptions, began: Moment) -> Result<(RunDir, Run)> {
    sweep(&options.plan);
    let host = fingerprint::facts();
    let mut record = Record {
        schema: SCHEMA,
        id: random::token().context("the kernel gives no random numbers")?,
        tool: tool()?,
        started_unix_ns: began.unix_ns,
        elapsed_ns: 0,
        sessions: 1,
        state: State::Running,
        command: options.command.clone(),
        names: options.names.clone(),
        host,
        spec: options.spec.clone(),
        plan: options.plan.clone(),
        settings: Default::default(),
        missing: Vec::new(),
        warnings: first_warnings(&options.plan),
        failures: Vec::new(),
        predictions: Vec::new(),
        audits: Vec::new(),
        time_spent: Some(TimeSpent::default()),
        conditions: Vec::new(),
        slice_rounds: 0,
        sample_rows: 0,
        resumed: Vec::new(),
        thread_clock: None,
        own_cost: Vec::new(),
    };
    record.warnings.extend(emulated(&record));
    record.warnings.extend(copied_to_hosts());
    record.warnings.extend(both_elsewhere(&options.plan));
    record.warnings.extend(differing_settings(&options.plan));
    record.warnings.extend(packet_sockets(&options.plan));
    record.warnings.extend(unlike_cores(&options.plan, &Topology::read()));
    let mut dir = RunDir::create(&options.out, &record)?;
    if warn_of_no_lock(&mut record, &dir) {
        dir.write_record(&record)?;
    }
    let samples = dir.no_samples()?;
    Ok((dir, Run { record, samples, slices: Default::default(), profiles: Vec::new() }))
}

pub fn resume(options: &RunOptions, began: Moment) -> Result<(RunDir, Run)> {
    let (mut dir, mut run) = RunDir::resume(&options.out)?;
    let now = fingerprint::facts();
    same_machine(&run.record, &now)?;
    let hosts = planned_hosts(&run.record.plan);
    own_hosts(dir.directory(), &hosts, place::is_ours)?;
    rsh::set(run.record.spec.rsh.as_deref());
    hosts.into_iter().try_for_each(consent::to_path).map_err(consent::refused)?;
    sweep(&run.record.plan);
    warn_of_no_lock(&mut run.record, &dir);
    run.record.state = State::Running;
    // A stage of refinement is in the record before its first sample is in the file.
    if options.plan.refinements.len() > run.record.plan.refinements.len() {
        run.record.plan = options.plan.clone();
        dir.write_record(&run.record)?;
    } else {
        // Another end at which verdicts are read. A stage of refinement is no end.
        run.record.sessions += 1;
        let began_ns = Calendar::of(&run, began).since_start(monotonic_ns());
        run.record.resumed.push(ResumedSession::of(&run.record.host, now, began_ns, tool()?));
    }
    run.tell_sessions();
    Ok((dir, run))
}

/// Samples of two machines are no one run: nothing in the file would tell them apart.
fn same_machine(record: &Record, now: &[Fact]) -> Result<()> {
    match identity::difference(value_of(&record.host), value_of(now)) {
        None => Ok(()),
        Some(what) => bail!(
            "this is not the machine that the run was measured on, or it was changed since ({what}); figures of both \
             would be mixed; another machine's figures are a run of their own: {}",
            record.command.join(" ")
        ),
    }
}

fn value_of(facts: &[Fact]) -> impl Fn(&str) -> Option<String> {
    |id| facts.iter().find(|fact| fact.id == id).and_then(|fact| fact.value.clone())
}

fn planned_hosts(plan: &Plan) -> BTreeSet<&str> {
    plan.cases.iter().filter_map(|case| another_host(&case.point)).collect()
}

/// A directory of somebody else's does not decide which host we log in to, with our keys.
fn own_hosts(dir: &OpenDirectory, hosts: &BTreeSet<&str>, is_own: impl Fn(u32) -> bool) -> Result<()> {
    if hosts.is_empty() {
        return Ok(());
    }
    match dir.stranger(is_own).context("cannot see whose the run's directory is")? {
        None => Ok(()),
        Some(owner) => bail!(
            "the run's directory belongs to another user (id {owner}), and to continue it would log in to {}; if that \
             is what you want, make it yours: cp -r {} OWN_DIR; syscost run --resume OWN_DIR",
            hosts.iter().copied().collect::<Vec<_>>().join(", "),
            dir.path().display()
        ),
    }
}

/// Without locks two runs could write into one directory; says whether this is news.
fn warn_of_no_lock(record: &mut Record, dir: &RunDir) -> bool {
    const ID: &str = "no_lock";
    let news = !dir.is_locked() && record.warnings.iter().all(|warning| warning.id != ID);
    if news {
        record.warnings.push(Warning {
            id: ID.into(),
            observed: "the file system of the run's directory has no locks".into(),
            consequence: "a second syscost that writes there would not be kept out".into(),
            remedy: "start no other one there, or name a directory on a local disk with --out".into(),
            cases: Vec::new(),
        });
    }
    news
}

fn tool() -> Result<Tool> {
    Ok(Tool {
        version: env!("CARGO_PKG_VERSION").into(),
        profile: if cfg!(debug_assertions) { "debug" } else { "release" }.into(),
        binary_sha256: program::sha256().context("cannot read this program's own file")?,
    })
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

/// Settings of the caller that the kernel does not take in the namespaces of a run.
fn differing_settings(plan: &Plan) -> Option<Warning> {
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

/// The two ends of a case on a fast and a slow core.
fn unlike_cores(plan: &Plan, topology: &Topology) -> Option<Warning> {
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

/// Who sees what leaves an end of a path makes its zero-copy sends copy: one warning a path. A pair that is made for
/// the run has nobody in it.
pub fn packet_sockets(plan: &Plan) -> Vec<Warning> {
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

/// What weakens the run before it starts: a debug build, defaults that this machine cannot do.
fn first_warnings(plan: &Plan) -> Vec<Warning> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;
    use syscost_core::axis::{Point, Value};
    use syscost_experiment::plan::Case;
    use syscost_experiment::spec::Spec;

    fn options(out: &Path, path: &str) -> RunOptions {
        let mut point = Point::default();
        point.set("path", Value::text(path));
        let case = Case { index: 0, probe: "transfer".into(), point, twin_of: None };
        let plan = Plan { cases: vec![case], ..Plan::default() };
        let spec = Spec::named("timer").expect("a probe is a spec");
        RunOptions {
            baton: None,
            out: out.into(),
            resume: false,
            spec,
            plan,
            command: Vec::new(),
            names: Default::default(),
            profile: false,
            part: None,
        }
    }

    #[test]
    fn a_run_is_continued_on_the_machine_that_it_was_measured_on_or_not_at_all() {
        let scratch = tempfile::tempdir().unwrap();
        let out = scratch.path().join("run");
        let command = ["syscost", "run", "timer"].map(String::from).to_vec();
        let options = RunOptions { command, ..options(&out, "loopback") };
        let (mut dir, Run { mut record, .. }) = create(&options, Moment::now()).unwrap();
        dir.write_record(&record).unwrap();
        drop(dir);
        let (mut dir, run) = resume(&options, Moment::now()).expect("the same machine goes on");
        assert_eq!(run.record.sessions, 2);
        let kernel =
            record.host.iter_mut().find(|fact| fact.id == "kernel_release").expect("every kernel says");
        kernel.value = Some("2.6.0-another".into());
        dir.write_record(&record).unwrap();
        drop(dir);
        let refused = resume(&options, Moment::now()).map(drop).unwrap_err().to_string();
        assert!(
            refused.contains("kernel_release was 2.6.0-another, is ")
                && refused.ends_with("a run of their own: syscost run timer"),
            "{refused}"
        );
        assert_eq!(RunDir::record(&out).unwrap().sessions, 1, "nothing was changed");
    }

    #[test]
    fn a_strangers_directory_logs_in_nowhere() {
        let scratch = tempfile::tempdir().unwrap();
        let check = |name: &str, path: &str, own: u32| {
            let options = options(&scratch.path().join(name), path);
            let (dir, run) = create(&options, Moment::now()).unwrap();
            let plan = &run.record.plan;
            own_hosts(dir.directory(), &planned_hosts(plan), |user| user == own)
                .map_err(|error| error.to_string())
        };
        let me = scratch.path().metadata().unwrap().uid();
        let refused = check("theirs", "ssh://lab", me + 1).unwrap_err();
        assert!(refused.contains("ssh://lab") && refused.contains(&format!("(id {me})")), "{refused}");
        assert_eq!(check("mine", "ssh://lab", me), Ok(()));
        assert_eq!(check("local", "loopback", me + 1), Ok(()), "nobody is logged in to");
    }
}
