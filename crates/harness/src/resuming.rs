//! An interrupted run taken up again: on the machine that it was measured on, and by whom it belongs to.

use super::RunOptions;
use super::begin::{sweep, tool, warn_of_no_lock};
use super::calendar::{Calendar, Moment};
use crate::worker::path::another_host;
use anyhow::{Context, Result, anyhow, bail};
use std::collections::BTreeSet;
use syscost_experiment::plan::Plan;
use syscost_experiment::run::directory::OpenDirectory;
use syscost_experiment::run::files::RunDir;
use syscost_experiment::run::{Record, ResumedSession, Run, State};
use syscost_host::remote::consent;
use syscost_host::remote::transport::rsh;
use syscost_host::{Fact, fingerprint, identity};
use syscost_measure::own::OwnObject;
use syscost_sys::clock::monotonic_ns;
use syscost_sys::place;

pub fn resume(options: &RunOptions, began: Moment) -> Result<(RunDir, Run)> {
    let (mut dir, mut run) = RunDir::resume(&options.out)?;
    let now = fingerprint::facts();
    same_machine(&run.record, &now)?;
    let hosts = planned_hosts(&run.record.plan);
    let objects = &run.record.spec.own;
    own_directory(dir.directory(), &hosts, objects, place::is_ours)?;
    objects.iter().try_for_each(|object| object.is_unchanged().map_err(|why| anyhow!(why)))?;
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

/// A directory of somebody else's decides neither which host we log in to, with our keys, nor what code we run.
fn own_directory(
    dir: &OpenDirectory,
    hosts: &BTreeSet<&str>,
    objects: &[OwnObject],
    is_own: impl Fn(u32) -> bool,
) -> Result<()> {
    let hosts = hosts.iter().copied().collect::<Vec<_>>().join(", ");
    let logs_in = (!hosts.is_empty()).then(|| format!("log in to {hosts}"));
    let runs = objects.first().map(|object| format!("run code of {}", object.path));
    let Some(what) = logs_in.or(runs) else { return Ok(()) };
    match dir.stranger(is_own).context("cannot see whose the run's directory is")? {
        None => Ok(()),
        Some(owner) => bail!(
            "the run's directory belongs to another user (id {owner}), and to continue it would {what}; if that is what \
             you want, make it yours: cp -r {} OWN_DIR; syscost run --resume OWN_DIR",
            dir.path().display()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::begin::create;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;
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
            own_directory(dir.directory(), &planned_hosts(plan), &[], |user| user == own)
                .map_err(|error| error.to_string())
        };
        let me = scratch.path().metadata().unwrap().uid();
        let refused = check("theirs", "ssh://lab", me + 1).unwrap_err();
        assert!(refused.contains("ssh://lab") && refused.contains(&format!("(id {me})")), "{refused}");
        assert_eq!(check("mine", "ssh://lab", me), Ok(()));
        assert_eq!(check("local", "loopback", me + 1), Ok(()), "nobody is logged in to");
    }
}
