//! Kubernetes: an Indexed Job with a pod on each node, and a headless Service that names them. Steps are started in the
//! pods with `kubectl exec`, which is what `--path kubectl:SENDER,RECEIVER` does.
//!
//! Sources: the documentation of Jobs (completionMode: Indexed), kubectl exec.

use super::{Engine, said};
use crate::drive;
use crate::folder::FleetFolder;
use crate::plan::{FleetPlan, FleetStep};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use syscost_experiment::run::directory::OpenDirectory;

/// A Job with a pod on each node, and the Service that gives pods names of their own (`NAME-0.NAME`).
const TEMPLATE: &str = include_str!("kubernetes.json");
const MANIFEST: &str = "fleet.json";
/// Which pod is on which node.
const PODS: &str = "pods.csv";
const PACKAGE: &str = "kubectl";
/// Pulling an image takes this long now and then.
const READY_SECONDS: u64 = 300;

pub struct Kubernetes;

impl Engine for Kubernetes {
    fn id(&self) -> &'static str {
        "kubernetes"
    }

    fn about(&self) -> &'static str {
        "An Indexed Job with a pod on each node; steps by kubectl exec"
    }

    fn files(&self, plan: &FleetPlan, steps: &[FleetStep], _: &Path) -> Result<Vec<(String, String)>> {
        if plan.each.is_some() {
            bail!(
                "--each runs in a pod, whose files nobody could fetch from an image without a shell: name --pairs alone"
            );
        }
        let hosts = plan.hosts()?;
        let text = TEMPLATE
            .replace("NAME", &name(plan))
            .replace("FLEET", &plan.id)
            .replace("VERSION", env!("CARGO_PKG_VERSION"))
            .replace("\"NUMBER\"", &hosts.len().to_string())
            .replace("\"SECONDS\"", &(plan.minutes(steps) * 60).to_string())
            .replace("\"HOSTS\"", &serde_json::to_string(&hosts)?);
        let list: Value = serde_json::from_str(&text)?;
        Ok(vec![(MANIFEST.into(), serde_json::to_string_pretty(&list)? + "\n")])
    }

    fn path(&self, folder: &FleetFolder, sender: &str, receiver: &str) -> Result<String> {
        let pods = pods(folder)?;
        let of =
            |node: &str| pods.get(node).with_context(|| format!("error: no pod of the fleet is on {node}"));
        Ok(format!("kubectl:{},{}", of(sender)?, of(receiver)?))
    }

    fn submit(&self, folder: &FleetFolder) -> Result<String> {
        let name = name(&folder.plan);
        let manifest = folder.place.join(MANIFEST);
        let manifest = manifest.to_str().context("the path is no text")?;
        said("kubectl", &["apply", "--filename", manifest], PACKAGE)?;
        let hosts = folder.plan.hosts()?.len().to_string();
        let (ready, limit) =
            (format!("--for=jsonpath={{.status.ready}}={hosts}"), format!("--timeout={READY_SECONDS}s"));
        // Pods that do not start cost their own steps.
        let late = said("kubectl", &["wait", &ready, &format!("job/{name}"), &limit], PACKAGE).err();
        place_pods(folder)?;
        let at_once = folder.plan.hosts()?.len() / 2;
        let driven = drive::steps(folder, at_once, |_, _| Ok(()), |_, _| {})?;
        let mut told =
            format!("{} done, {} failed, {} done before", driven.done, driven.failed, driven.before);
        if let Some(why) = late {
            told += &format!(" (not every pod was ready: {why})");
        }
        if driven.failed == 0 {
            said("kubectl", &["delete", "--wait=false", "--filename", manifest], PACKAGE)?;
        } else {
            told += &format!("; the pods wait for another submit, or: kubectl delete -f {manifest}");
        }
        Ok(told)
    }

    fn status(&self, folder: &FleetFolder) -> Result<Vec<String>> {
        let mut phases: BTreeMap<String, usize> = BTreeMap::new();
        for pod in items(&pods_of(folder, &[])?) {
            let phase = pod["status"]["phase"].as_str().unwrap_or("unknown").to_lowercase();
            *phases.entry(phase).or_default() += 1;
        }
        Ok(phases.into_iter().map(|(phase, number)| format!("{number} pods {phase}")).collect())
    }

    fn strata(&self, hosts: &[String]) -> BTreeMap<String, String> {
        let nodes = said("kubectl", &["get", "nodes", "--output", "json"], PACKAGE).unwrap_or_default();
        let nodes: Value = serde_json::from_str(&nodes).unwrap_or_default();
        kinds(&nodes, hosts)
    }

    fn unknown(&self, hosts: &[String]) -> Option<Vec<String>> {
        let nodes = said("kubectl", &["get", "nodes", "--output", "name"], PACKAGE).ok()?;
        let known: Vec<&str> = nodes.lines().filter_map(|line| line.strip_prefix("node/")).collect();
        Some(hosts.iter().filter(|host| !known.contains(&host.as_str())).cloned().collect())
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list["items"].as_array().into_iter().flatten()
}

/// The pods of the fleet, of which more may be asked.
fn pods_of(folder: &FleetFolder, more: &[&str]) -> Result<Value> {
    let selector = format!("job-name={}", name(&folder.plan));
    let asked = ["get", "pods", "--selector", &selector, "--output", "json"];
    let told = said("kubectl", &[&asked, more].concat(), PACKAGE)?;
    serde_json::from_str(&told).context("kubectl get says no JSON")
}

fn name(plan: &FleetPlan) -> String {
    format!("syscost-{}", plan.id)
}

/// Zone and instance type of each node, by the well-known labels.
fn kinds(nodes: &Value, hosts: &[String]) -> BTreeMap<String, String> {
    let of = |node: &Value| {
        let name = node["metadata"]["name"].as_str()?;
        let labels = &node["metadata"]["labels"];
        let told = ["topology.kubernetes.io/zone", "node.kubernetes.io/instance-type"];
        let told: Vec<&str> = told.iter().filter_map(|label| labels[*label].as_str()).collect();
        (hosts.iter().any(|host| host == name) && !told.is_empty())
            .then(|| (name.to_string(), told.join(" ")))
    };
    items(nodes).filter_map(of).collect()
}

/// Writes which pod is on which node, as the engine placed them.
fn place_pods(folder: &FleetFolder) -> Result<()> {
    let mut text = "node,pod\n".to_string();
    for pod in items(&pods_of(folder, &["--field-selector", "status.phase=Running"])?) {
        if let (Some(node), Some(pod)) = (pod["spec"]["nodeName"].as_str(), pod["metadata"]["name"].as_str())
        {
            text += &format!("{node},{pod}\n");
        }
    }
    if text.lines().count() < 2 {
        bail!("no pod of the fleet runs: kubectl describe job/{}", name(&folder.plan));
    }
    OpenDirectory::make(&folder.place)?.replace(PODS, text.as_bytes())?;
    Ok(())
}

fn pods(folder: &FleetFolder) -> Result<BTreeMap<String, String>> {
    let path = folder.place.join(PODS);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let row = |line: &str| line.split_once(',').map(|(node, pod)| (node.to_string(), pod.to_string()));
    let pods: BTreeMap<String, String> = text.lines().skip(1).filter_map(row).collect();
    if let Some(wrong) = pods.iter().flat_map(|(a, b)| [a, b]).find(|name| !crate::hosts::is_name(name)) {
        bail!("{wrong:?} in {} is no name", path.display());
    }
    Ok(pods)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn zones_and_instance_types_are_kinds_of_hosts() {
        let nodes = json!({ "items": [
            { "metadata": { "name": "a", "labels": { "topology.kubernetes.io/zone": "z1", "node.kubernetes.io/instance-type": "m5" } } },
            { "metadata": { "name": "b", "labels": {} } },
            { "metadata": { "name": "c", "labels": { "topology.kubernetes.io/zone": "z2" } } }] });
        let told = kinds(&nodes, &["a".into(), "b".into()]);
        assert_eq!(told.into_iter().collect::<Vec<_>>(), [("a".to_string(), "z1 m5".to_string())]);
    }
}
