//! Slurm: one allocation whose job steps are the steps of the fleet. A job a pair would meet the limits on submitted jobs.
//!
//! Sources: sbatch(1), srun(1), scontrol(1), squeue(1).

use super::{Engine, said};
use crate::folder::FleetFolder;
use crate::plan::{FleetPlan, FleetStep};
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// `--whole --overlap`: a step has all CPUs of its node, beside the far ends of other steps. `--no-kill`: a node that dies
/// costs the steps that needed it.
const TEMPLATE: &str = include_str!("slurm.sh");
const SCRIPT: &str = "fleet.sbatch";
const PACKAGE: &str = "Slurm's client";

pub struct Slurm;

impl Engine for Slurm {
    fn id(&self) -> &'static str {
        "slurm"
    }

    fn about(&self) -> &'static str {
        "One sbatch allocation whose job steps are the steps of the fleet"
    }

    fn files(&self, plan: &FleetPlan, steps: &[FleetStep], place: &Path) -> Result<Vec<(String, String)>> {
        let odd = |c: char| c.is_whitespace() || "'\"\\$`%#".contains(c);
        let place = place.to_str().filter(|path| !path.contains(odd));
        let place = place
            .context("the directory of a fleet of Slurm has no spaces, quotes, $, % or # in its path")?;
        Ok(vec![(SCRIPT.into(), script(plan, steps, place)?)])
    }

    fn path(&self, _: &FleetFolder, _: &str, receiver: &str) -> Result<String> {
        Ok(format!("srun:{receiver}"))
    }

    fn submit(&self, folder: &FleetFolder) -> Result<String> {
        let running = self.status(folder)?;
        if !running.is_empty() {
            bail!("the fleet is in the queue already: {}; scancel it first", running.join("; "));
        }
        let script = folder.place.join(SCRIPT);
        let script = script.to_str().context("the path is no text")?;
        let job = said("sbatch", &["--parsable", script], PACKAGE)?;
        Ok(format!("job {}", job.trim()))
    }

    fn status(&self, folder: &FleetFolder) -> Result<Vec<String>> {
        let name = job_name(&folder.plan);
        let queue =
            said("squeue", &["--noheader", "--name", &name, "--format", "job %i %T %M of %l %R"], PACKAGE)?;
        Ok(queue.lines().map(|line| line.trim().to_string()).filter(|line| !line.is_empty()).collect())
    }

    fn strata(&self, hosts: &[String]) -> BTreeMap<String, String> {
        let topology = said("scontrol", &["--oneliner", "show", "topology"], PACKAGE).unwrap_or_default();
        switches(&topology, &hosts.iter().map(String::as_str).collect())
    }

    fn unknown(&self, hosts: &[String]) -> Option<Vec<String>> {
        let known = said("sinfo", &["--noheader", "--Node", "--format", "%N"], PACKAGE).ok()?;
        let known: BTreeSet<&str> = known.split_whitespace().collect();
        Some(hosts.iter().filter(|host| !known.contains(host.as_str())).cloned().collect())
    }
}

fn job_name(plan: &FleetPlan) -> String {
    format!("syscost-{}", plan.id)
}

/// The lowest switch of each host: `SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[1-2]`.
fn switches(topology: &str, hosts: &BTreeSet<&str>) -> BTreeMap<String, String> {
    let field = |line: &str, name: &str| {
        line.split_whitespace()
            .find_map(|word| word.strip_prefix(name)?.strip_prefix('=').map(str::to_string))
    };
    let mut found = BTreeMap::new();
    for line in topology.lines().filter(|line| field(line, "Level").as_deref() == Some("0")) {
        let (Some(switch), Some(nodes)) = (field(line, "SwitchName"), field(line, "Nodes")) else { continue };
        let nodes = crate::hosts::expand(&nodes).unwrap_or_default();
        for node in nodes.into_iter().filter(|node| hosts.contains(node.as_str())) {
            found.insert(node, switch.clone());
        }
    }
    found
}

fn script(plan: &FleetPlan, steps: &[FleetStep], place: &str) -> Result<String> {
    let mut text = TEMPLATE
        .replace("@NAME@", &job_name(plan))
        .replace("@NUMBER@", &plan.hosts()?.len().to_string())
        .replace("@MINUTES@", &plan.minutes(steps).to_string())
        .replace("@SECONDS@", &plan.step_seconds().to_string())
        .replace("@HOSTS@", &plan.hosts.replace(' ', ""))
        .replace("@BINARY@", &plan.binary)
        .replace("@PLACE@", place);
    for stage in steps.chunk_by(|a, b| a.stage == b.stage) {
        let lines = stage.iter().map(|step| format!("step {} {} {}\n", step.number, step.name(), step.host));
        text.extend(lines.chain(["wait\n".to_string()]));
    }
    Ok(text + "exit 0\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_are_read_as_slurm_tells_them() {
        let told = "SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[1-2]\nSwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[3-4]\n\
                    SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=s[0-1]\n";
        let found = switches(told, &["n1", "n3"].into());
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            [("n1".into(), "s0".into()), ("n3".to_string(), "s1".to_string())]
        );
    }
}
