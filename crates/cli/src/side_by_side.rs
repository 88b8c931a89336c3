//! Runs that measure side by side: a process each, of which only the one that has the baton does anything. A block's slices
//! alternate between their pairs of workers.

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};
use syscost_experiment::spec::Spec;
use syscost_experiment::variants::Variant;
use syscost_host::remote::target;
use syscost_measure::probe::transfer::axes::PATH;
use syscost_sys::baton::{Baton, BatonGrant, BatonOrder, question};
use syscost_sys::{process, signals};

/// How often the end of a run is looked for.
const LOOK: Duration = Duration::from_millis(200);

/// Why these variants have to take turns as whole runs; `None`: they can run side by side.
pub fn hindrance(variants: &[Variant], spec: &Spec) -> Option<String> {
    if let Some(variant) = variants.iter().find(|one| one.before.is_some() || one.after.is_some()) {
        return Some(format!("variant {} changes the machine around its runs", variant.label));
    }
    if spec.refine.is_some() {
        return Some("the experiment adds cases while it runs".into());
    }
    let mut paths = spec.probes.iter().filter_map(|probe| probe.axes.get(PATH.id)).flatten();
    if paths.any(|path| path.as_text().is_some_and(target::is_meant)) {
        return Some("the receiver is on another host".into());
    }
    None
}

/// A run, and the other end of its line.
struct RunBeside {
    child: Child,
    line: File,
    status: Option<ExitStatus>,
}

/// Runs the commands to their ends, several of them by turns: how each ended. A request to stop is passed on once, if
/// they heed one.
pub fn all(commands: Vec<Command>, heed: bool) -> Result<Vec<ExitStatus>> {
    let turns = commands.len() > 1;
    let mut runs = commands.into_iter().map(|command| start(command, turns)).collect::<Result<Vec<_>>>()?;
    let mut order = BatonOrder::of(runs.len());
    let mut told = !heed;
    while runs.iter().any(|run| run.status.is_none()) {
        let open: Vec<usize> = (0..runs.len()).filter(|run| !order.has_ended(*run)).collect();
        let lines: Vec<_> = open.iter().map(|run| runs[*run].line.as_fd()).collect();
        let ready = process::wait_for_any(&lines, LOOK).context("cannot wait for the runs")?;
        if !ready.contains(&true) {
            look_after(&mut runs, &mut order)?;
        }
        for (run, _) in open.into_iter().zip(ready).filter(|(_, ready)| *ready) {
            let grant = match question(&runs[run].line) {
                Ok(question) => order.asked(run, question, Instant::now()),
                Err(_) => order.ended(run, Instant::now()),
            };
            grant_to(&runs, &mut order, grant);
        }
        if signals::caught() && !std::mem::replace(&mut told, true) {
            for run in runs.iter().filter(|run| run.status.is_none()) {
                kill_process(Pid::from_child(&run.child), Signal::TERM).context("cannot stop a run")?;
            }
        }
    }
    Ok(runs.iter().filter_map(|run| run.status).collect())
}

fn start(mut command: Command, turns: bool) -> Result<RunBeside> {
    let (baton, line) = Baton::line().context("cannot make a line to a run")?;
    if turns {
        baton.hand_to(&mut command);
        command.arg(format!("--baton={}", baton.number()));
    }
    // A Ctrl-C of the terminal is for this process, which passes it on once: a second one ends a run at once.
    process::apart_on_exec(&mut command);
    process::die_with_parent_on_exec(&mut command);
    let child = command.spawn().context("cannot start a run")?;
    Ok(RunBeside { child, line, status: None })
}

/// Who has ended passes nothing on, also where something that it started holds its line.
fn look_after(runs: &mut [RunBeside], order: &mut BatonOrder) -> Result<()> {
    for run in 0..runs.len() {
        if runs[run].status.is_none() {
            runs[run].status = runs[run].child.try_wait()?;
        }
        if runs[run].status.is_some() && !order.has_ended(run) {
            let grant = order.ended(run, Instant::now());
            grant_to(runs, order, grant);
        }
    }
    Ok(())
}

/// A run that is gone hands on what it would have got.
fn grant_to(runs: &[RunBeside], order: &mut BatonOrder, mut grant: Option<BatonGrant>) {
    while let Some(given) = grant {
        grant = match given.tell(&runs[given.run].line) {
            Ok(()) => None,
            Err(_) => order.ended(given.run, Instant::now()),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variant(label: &str) -> Variant {
        Variant { label: label.into(), ..Variant::default() }
    }

    #[test]
    fn what_changes_the_machine_or_is_elsewhere_takes_turns_as_whole_runs() {
        let spec = Spec::named("default").unwrap();
        let with = |change: fn(&mut Variant)| {
            let mut changed = variant("new");
            change(&mut changed);
            hindrance(&[variant("old"), changed], &spec)
        };
        assert!(with(|one| one.before = Some("true".into())).unwrap().contains("new changes the machine"));
        let mut far = spec.clone();
        far.set_axis("path", &["ssh://lab"]).unwrap();
        let both = [variant("old"), variant("new")];
        assert!(hindrance(&both, &far).unwrap().contains("another host"));
        let refines = Spec::named("crossover").unwrap();
        assert_eq!(
            refines.refine.is_some(),
            hindrance(&both, &refines).is_some_and(|why| why.contains("adds cases"))
        );
    }

    #[test]
    fn runs_that_end_or_never_ask_stop_nobody() {
        let shell = |line: &str| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", line]);
            command
        };
        let ended = all(vec![shell("exit 3"), shell("exit 0")], true).unwrap();
        assert_eq!(ended.iter().map(|status| status.code().unwrap()).collect::<Vec<_>>(), [3, 0]);
    }
}
