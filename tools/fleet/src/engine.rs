//! What starts, places, retries and limits the steps of a fleet: a script an engine, and a row here.
//!
//! A script defines `step NUMBER NAME HOST` and `end`; the steps of the plan follow it, with `wait` between stages. Sources:
//! sbatch(1), srun(1), scontrol(1), squeue(1); the documentation of Kubernetes' Jobs (completionMode: Indexed).

use crate::folder::FleetFolder;
use crate::hosts;
use crate::plan::{FleetPlan, FleetStep};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use syscost_sys::process;

/// Which pod is on which node, as the script of Kubernetes writes it.
const PODS: &str = "pods.csv";

/// A program and its arguments, parts of [`FleetPlan`] between `@`; none: the engine has nothing to say.
type Asked = &'static [&'static str];

pub struct FleetEngine {
    pub id: &'static str,
    /// What `plan` writes: names and texts. The first is the script.
    files: &'static [(&'static str, &'static str)],
    /// Starts the script, whose path follows.
    start: Asked,
    /// Does that hand the fleet over, to a queue?
    queues: bool,
    /// `--path` of a pair, from its sender's side.
    path: &'static str,
    most_hosts: usize,
    /// Can a host run something by itself?
    runs_alone: bool,
    /// A line each of what it says of the fleet.
    status: Asked,
    /// Every host that it knows.
    known: Asked,
    /// What is alike of hosts.
    strata: Asked,
    read_strata: fn(&str) -> Result<BTreeMap<String, String>>,
}

pub static ALL: &[FleetEngine] = &[
    // One allocation whose job steps are the steps: a job a pair would meet the limits on submitted jobs. A step has all
    // CPUs of its node, beside the far ends of other steps (--whole --overlap); a node that dies costs its own (--no-kill).
    FleetEngine {
        id: "slurm",
        files: &[("fleet.sbatch", include_str!("engine/slurm.sh"))],
        start: &["sbatch", "--parsable"],
        queues: true,
        path: "srun:@RECEIVER@",
        most_hosts: usize::MAX,
        runs_alone: true,
        status: &["squeue", "--noheader", "--name", "@NAME@", "--format", "job %i %T %M of %l %R"],
        known: &["sinfo", "--noheader", "--Node", "--format", "%N"],
        strata: &["scontrol", "--oneliner", "show", "topology"],
        read_strata: switches,
    },
    // A Job with a pod on each node, and the Service that gives pods names of their own (`NAME-0.NAME`).
    FleetEngine {
        id: "kubernetes",
        files: &[
            ("fleet.sh", include_str!("engine/kubernetes.sh")),
            ("fleet.json", include_str!("engine/kubernetes.json")),
        ],
        start: &["bash"],
        queues: false,
        path: "kubectl:@SENDER_POD@,@RECEIVER_POD@",
        most_hosts: usize::MAX,
        runs_alone: false,
        status: &[
            "kubectl",
            "get",
            "job",
            "@NAME@",
            "--output",
            "jsonpath={.status.active} pods active, {.status.ready} ready",
        ],
        known: &["kubectl", "get", "nodes", "--output", "jsonpath={.items[*].metadata.name}"],
        strata: &[
            "kubectl",
            "get",
            "nodes",
            "--output",
            "jsonpath={range .items[*]}{.metadata.name},{.metadata.labels.topology\\.kubernetes\\.io/zone} \
             {.metadata.labels.node\\.kubernetes\\.io/instance-type}{\"\\n\"}{end}",
        ],
        read_strata: hosts::kinds,
    },
    // Namespaces of this machine, one step at a time: a first look.
    FleetEngine {
        id: "local",
        files: &[("fleet.sh", include_str!("engine/local.sh"))],
        start: &["bash"],
        queues: false,
        path: "netns:@RECEIVER@",
        most_hosts: 250,
        runs_alone: true,
        status: &[],
        known: &[],
        strata: &[],
        read_strata: hosts::kinds,
    },
];

pub fn find(id: &str) -> Result<&'static FleetEngine> {
    let known = ALL.iter().find(|engine| engine.id == id);
    known.with_context(|| format!("there is no engine {id:?}: slurm, kubernetes or local"))
}

impl FleetEngine {
    /// The files that it takes: name and text.
    pub fn files(
        &self,
        plan: &FleetPlan,
        steps: &[FleetStep],
        place: &Path,
    ) -> Result<Vec<(&'static str, String)>> {
        let hosts = plan.hosts()?;
        if hosts.len() > self.most_hosts {
            bail!("--engine {} takes up to {} hosts, not {}", self.id, self.most_hosts, hosts.len());
        }
        if plan.each.is_some() && !self.runs_alone {
            bail!(
                "--each runs in a pod, whose files nobody could fetch from an image without a shell: name --pairs alone"
            );
        }
        let odd = |c: char| c.is_whitespace() || "'\"\\$`%#".contains(c);
        let place = place.to_str().filter(|path| !self.queues || !path.contains(odd));
        let place = place
            .context("the directory of a fleet of Slurm has no spaces, quotes, $, % or # in its path")?;
        let minutes = plan.minutes(steps);
        let values = [
            ("@NAME@", job_name(plan)),
            ("@ID@", plan.id.clone()),
            ("@VERSION@", env!("CARGO_PKG_VERSION").into()),
            ("@NUMBER@", hosts.len().to_string()),
            ("@STEPS@", steps.len().to_string()),
            ("@MINUTES@", minutes.to_string()),
            ("@SECONDS_IN_ALL@", (minutes * 60).to_string()),
            ("@SECONDS@", plan.step_seconds().to_string()),
            ("@HOSTS@", plan.hosts.replace(' ', "")),
            ("@HOST_NAMES@", hosts.join(" ")),
            ("@HOST_LIST@", serde_json::to_string(&hosts)?),
            ("@BINARY@", plan.binary.clone()),
            ("@PLACE@", place.into()),
        ];
        let filled =
            |text: &str| values.iter().fold(text.to_string(), |t, (key, value)| t.replace(key, value));
        let mut files: Vec<_> = self.files.iter().map(|(name, text)| (*name, filled(text))).collect();
        for stage in steps.chunk_by(|a, b| a.stage == b.stage) {
            let lines =
                stage.iter().map(|step| format!("step {} {} {}\n", step.number, step.name(), step.host));
            files[0].1.extend(lines.chain(["wait\n".to_string()]));
        }
        files[0].1 += "end\n";
        Ok(files)
    }

    /// `--path` of a pair, as its sender runs it.
    pub fn path(&self, folder: &FleetFolder, sender: &str, receiver: &str) -> Result<String> {
        let mut path = self.path.replace("@RECEIVER@", receiver);
        for (part, node) in [("@SENDER_POD@", sender), ("@RECEIVER_POD@", receiver)] {
            if path.contains(part) {
                let file = folder.place.join(PODS);
                let text = std::fs::read_to_string(&file);
                let text = text.with_context(|| format!("cannot read {}", file.display()))?;
                let pod = hosts::kinds(&text)?.remove(node).filter(|pod| hosts::is_name(pod));
                path = path
                    .replace(part, &pod.with_context(|| format!("error: no pod of the fleet is on {node}"))?);
            }
        }
        Ok(path)
    }

    /// Hands the fleet over, or waits for its steps: what to tell the user.
    pub fn submit(&self, folder: &FleetFolder) -> Result<String> {
        let script = folder.place.join(self.files[0].0);
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
        let told = said(self.strata).and_then(|told| (self.read_strata)(&told)).unwrap_or_default();
        told.into_iter().filter(|(host, kind)| hosts.contains(host) && !kind.is_empty()).collect()
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
    fn every_file_is_filled_and_its_script_is_one_that_bash_reads() {
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
            let files = engine.files(&plan, &plan.steps().unwrap(), Path::new("/fleet")).unwrap();
            let placeholder = |word: &str| word.len() > 2 && word.starts_with('@') && word.ends_with('@');
            assert!(files.iter().all(|(_, text)| !text.split_whitespace().any(placeholder)), "{files:?}");
            for (name, text) in &files {
                if name.ends_with(".json") {
                    serde_json::from_str::<serde_json::Value>(text).unwrap();
                } else {
                    let place = tempfile::NamedTempFile::new().unwrap();
                    std::fs::write(&place, text).unwrap();
                    assert!(
                        Command::new("bash").arg("-n").arg(place.path()).status().unwrap().success(),
                        "{text}"
                    );
                }
            }
            assert!(files[0].1.ends_with("wait\nend\n") && files[0].1.contains("\nstep 1 000001-"));
        }
    }
}
