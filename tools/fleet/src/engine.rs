//! What starts, places, retries and limits the steps of a fleet: a script an engine, and a row here.
//!
//! A script defines `step NUMBER NAME HOST` and `end`; the steps of the plan follow it, with `wait` between stages. Sources:
//! sbatch(1), srun(1), scontrol(1), squeue(1).

use crate::folder::FleetFolder;
use crate::hosts;
use crate::plan::{FleetPlan, FleetStep};
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::{fs, io};
use syscost_sys::process;

/// A program and its arguments, parts of [`FleetPlan`] between `@`; none: the engine has nothing to say.
type EngineQuestion = &'static [&'static str];

pub struct FleetEngine {
    pub id: &'static str,
    /// What `plan` writes: its name and text.
    script: (&'static str, &'static str),
    /// Starts the script, whose path follows.
    start: EngineQuestion,
    /// Does that hand the fleet over, to a queue?
    queues: bool,
    /// `--path` of a pair, as its sender runs it; the receiver follows.
    path: &'static str,
    most_hosts: usize,
    /// A line each of what it says of the fleet.
    status: EngineQuestion,
    /// Every host that it knows.
    known: EngineQuestion,
    /// What is alike of hosts.
    topology: EngineQuestion,
}

pub static ALL: &[FleetEngine] = &[
    // One allocation whose job steps are the steps: a job a pair would meet the limits on submitted jobs. A step has all
    // CPUs of its node, beside the far ends of other steps (--whole --overlap); a node that dies costs its own (--no-kill).
    FleetEngine {
        id: "slurm",
        script: ("fleet.sbatch", include_str!("engine/slurm.sh")),
        start: &["sbatch", "--parsable"],
        queues: true,
        path: "srun:",
        most_hosts: usize::MAX,
        status: &["squeue", "--noheader", "--name", "@NAME@", "--format", "job %i %T %M of %l %R"],
        known: &["sinfo", "--noheader", "--Node", "--format", "%N"],
        topology: &["scontrol", "--oneliner", "show", "topology"],
    },
    // Namespaces of this machine, one step at a time: a first look.
    FleetEngine {
        id: "local",
        script: ("fleet.sh", include_str!("engine/local.sh")),
        start: &["bash"],
        queues: false,
        path: "netns:",
        most_hosts: 250,
        status: &[],
        known: &[],
        topology: &[],
    },
];

pub fn find(id: &str) -> Result<&'static FleetEngine> {
    let known = ALL.iter().find(|engine| engine.id == id);
    known.with_context(|| format!("there is no engine {id:?}: slurm or local"))
}

impl FleetEngine {
    /// Its script: name and text.
    pub fn script(&self, plan: &FleetPlan, steps: &[FleetStep], place: &Path) -> Result<(&str, String)> {
        let hosts = plan.hosts()?;
        if hosts.len() > self.most_hosts {
            bail!("--engine {} takes up to {} hosts, not {}", self.id, self.most_hosts, hosts.len());
        }
        let odd = |c: char| c.is_whitespace() || "'\"\\$`%#".contains(c);
        let place = place.to_str().filter(|path| !self.queues || !path.contains(odd));
        let place = place
            .context("the directory of a fleet of Slurm has no spaces, quotes, $, % or # in its path")?;
        let values = [
            ("@NAME@", job_name(plan)),
            ("@NUMBER@", hosts.len().to_string()),
            ("@STEPS@", steps.len().to_string()),
            ("@MINUTES@", plan.minutes(steps).to_string()),
            ("@SECONDS@", plan.step_seconds().to_string()),
            ("@HOSTS@", plan.hosts.replace(' ', "")),
            ("@HOST_NAMES@", hosts.join(" ")),
            ("@BINARY@", plan.binary.clone()),
            ("@PLACE@", place.into()),
        ];
        let (name, template) = self.script;
        let mut text =
            values.iter().fold(template.to_string(), |text, (key, value)| text.replace(key, value));
        for stage in steps.chunk_by(|a, b| a.stage == b.stage) {
            let lines =
                stage.iter().map(|step| format!("step {} {} {}\n", step.number, step.name(), step.host));
            text.extend(lines.chain(["wait\n".to_string()]));
        }
        Ok((name, text + "end\n"))
    }

    /// What `submit` would start that `plan` does not write: lines of the script, and another program.
    pub fn others(&self, folder: &FleetFolder, here: &str) -> Result<Vec<String>> {
        let (name, own) =
            self.script(&folder.plan, &folder.plan.steps()?, &std::path::absolute(&folder.place)?)?;
        let path = folder.place.join(name);
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        // Sites add their account and partition.
        let notes = |line: &&str| line.starts_with("#SBATCH ") || line.trim().is_empty();
        let own: BTreeSet<&str> = own.lines().collect();
        let others = text.lines().filter(|line| !own.contains(line) && !notes(line)).map(String::from);
        let binary = Some(folder.plan.binary.clone()).filter(|binary| binary != here);
        Ok(others.chain(binary).collect())
    }

    /// `--path` of a pair, as its sender runs it.
    pub fn path(&self, receiver: &str) -> String {
        format!("{}{receiver}", self.path)
    }

    /// Hands the fleet over, or waits for its steps: what to tell the user.
    pub fn submit(&self, folder: &FleetFolder) -> Result<String> {
        let script = folder.place.join(self.script.0);
        let script = script.to_str().context("the path is no text")?;
        let command = [self.start, &[script]].concat();
        if self.queues {
            let running = self.status(folder)?;
            if !running.is_empty() {
                bail!("the fleet is in the queue already: {}; scancel it first", running.join("; "));
            }
            return Ok(format!("job {}", said(&command)?.trim()));
        }
        let mut start = Command::new(command[0]);
        start.args(&command[1..]).stdin(Stdio::null()).stdout(Stdio::null());
        process::die_with_parent_on_exec(&mut start);
        let status = start.status().with_context(|| format!("cannot start {}", command[0]))?;
        match status.code() {
            Some(0) => Ok("every step is done".into()),
            Some(1) => Ok("some steps failed: syscost fleet status says which".into()),
            _ => bail!("the steps were not measured ({status})"),
        }
    }

    /// What it says of the fleet, a line each.
    pub fn status(&self, folder: &FleetFolder) -> Result<Vec<String>> {
        let name = job_name(&folder.plan);
        let asked: Vec<&str> =
            self.status.iter().map(|word| if *word == "@NAME@" { &name } else { *word }).collect();
        let told = said(&asked)?;
        Ok(told.lines().map(|line| line.trim().to_string()).filter(|line| !line.is_empty()).collect())
    }

    /// What is alike of hosts, where the engine tells: host -> kind.
    pub fn strata(&self, hosts: &[String]) -> BTreeMap<String, String> {
        let told = said(self.topology).and_then(|told| switches(&told)).unwrap_or_default();
        told.into_iter().filter(|(host, _)| hosts.contains(host)).collect()
    }

    /// Hosts that it does not know; none where it cannot be asked here.
    pub fn unknown(&self, hosts: &[String]) -> Vec<String> {
        let told = said(self.known).unwrap_or_default();
        let known: Vec<&str> = told.split_whitespace().collect();
        hosts.iter().filter(|host| !known.is_empty() && !known.contains(&host.as_str())).cloned().collect()
    }
}

fn job_name(plan: &FleetPlan) -> String {
    format!("syscost-{}", plan.id)
}

/// The lowest switch of each host: `SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-2]`.
fn switches(topology: &str) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for line in topology.lines() {
        let fields: BTreeMap<&str, &str> =
            line.split_whitespace().filter_map(|word| word.split_once('=')).collect();
        if let (Some(&"0"), Some(switch), Some(nodes)) =
            (fields.get("Level"), fields.get("SwitchName"), fields.get("Nodes"))
        {
            found.extend(hosts::expand(nodes)?.into_iter().map(|node| (node, switch.to_string())));
        }
    }
    Ok(found)
}

/// What a program says; an error with its own words where it fails.
fn said(asked: &[&str]) -> Result<String> {
    let Some((program, arguments)) = asked.split_first() else { return Ok(String::new()) };
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let Output { status, stdout, stderr } = match output {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            bail!("{program} is not here: run this where the engine's client is, or use --engine local")
        }
        other => other.with_context(|| format!("cannot start {program}"))?,
    };
    if !status.success() {
        let words = String::from_utf8_lossy(&stderr);
        let first = words.lines().find(|line| !line.trim().is_empty()).unwrap_or("it says no reason");
        bail!("{program} refused: {}", first.trim());
    }
    Ok(String::from_utf8_lossy(&stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::PAIR_RUN;

    #[test]
    fn switches_are_read_as_slurm_tells_them() {
        let told = "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[1-2]\nSwitchName=s1 Level=0 LinkSpeed=1 Nodes=n3\n\
                    SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-3] Switches=s[0-1]\n";
        let found = switches(told).unwrap();
        let kinds: Vec<_> = found.iter().map(|(host, kind)| (host.as_str(), kind.as_str())).collect();
        assert_eq!(kinds, [("n1", "s0"), ("n2", "s0"), ("n3", "s1")]);
    }

    #[test]
    fn every_script_is_filled_and_one_that_bash_reads() {
        for engine in ALL {
            let plan = FleetPlan {
                id: "f1".into(),
                hosts: "n[1-4]".into(),
                engine: engine.id.into(),
                each: None,
                pairs: Some("all".into()),
                pair_run: PAIR_RUN.into(),
                repeats: 1,
                seed: 7,
                binary: "/usr/bin/syscost".into(),
                strata: BTreeMap::new(),
            };
            let (_, text) = engine.script(&plan, &plan.steps().unwrap(), Path::new("/fleet")).unwrap();
            assert!(!text.contains('@') || text.contains("$@"), "{text}");
            assert!(text.ends_with("wait\nend\n") && text.contains("\nstep 1 000001-"));
            let place = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(&place, &text).unwrap();
            assert!(Command::new("bash").arg("-n").arg(place.path()).status().unwrap().success(), "{text}");
        }
    }
}
