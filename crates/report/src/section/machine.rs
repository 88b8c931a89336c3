//! The machine, as the run recorded it: what decides figures first, the rest folded away.

use super::unless_empty;
use crate::material::Material;
use crate::{Block, Section};
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::units::Unit;
use syscost_host::Fact;
use syscost_measure::probe::transfer::axes::PATH;

/// What a reader wants to know before any figure.
const FIRST: &[&str] = &[
    "cpu_model",
    "cpus_allowed",
    "cpu_cores",
    "smt",
    "cpu_governor",
    "turbo",
    "cpu_base_hertz",
    "tick_counter_hertz",
    "memory_bytes",
    "numa_nodes",
    "directory_disk_model",
    "directory_disk_rotational",
    "directory_file_system",
    "kernel_release",
    "distribution",
    "c_library",
    "hypervisor",
    "container",
    "cpu_quota_cpus",
    "clocksource",
    "congestion_control",
    "irq_time_accounting",
];

/// How settings of a path begin: its ends, and what lies between.
const ENDS: [&str; 4] = ["sender_", "receiver_", "path_", "mtu"];

pub fn section(m: &Material) -> Option<Section> {
    let facts = &m.run.record.host;
    let (first, rest): (Vec<&Fact>, Vec<&Fact>) =
        facts.iter().filter(|f| f.value.is_some()).partition(|f| FIRST.contains(&f.id.as_str()));
    let unknown: Vec<&str> = facts.iter().filter(|f| f.value.is_none()).map(|f| f.title.as_str()).collect();
    let mut blocks = Vec::new();
    if !first.is_empty() {
        blocks.push(Block::Facts { folded: None, facts: shown(&first) });
    }
    if !rest.is_empty() {
        let title = format!(
            "{} more facts: caches, pages, disks, network devices, mitigations, TCP settings, rights",
            rest.len()
        );
        blocks.push(Block::Facts { folded: Some(title), facts: shown(&rest) });
    }
    blocks.extend(paths(m));
    if !unknown.is_empty() {
        blocks.push(Block::Text(format!("This machine does not say: {}.", unknown.join("; "))));
    }
    unless_empty("machine", "The machine", blocks)
}

/// What was recorded of each path between two places: both ends, and the far host where it is another one.
fn paths(m: &Material) -> Vec<Block> {
    // What cases of one path differ in, such as its MTU, has several values.
    let mut told: BTreeMap<&str, BTreeMap<&str, BTreeSet<&str>>> = BTreeMap::new();
    for (case, settings) in &m.run.record.settings {
        let Some(path) = m.run.case(*case).and_then(|case| case.point.text(PATH)) else { continue };
        let own = settings.iter().filter(|(name, _)| ENDS.iter().any(|end| name.starts_with(end)));
        let facts = told.entry(path).or_default();
        own.for_each(|(name, value)| _ = facts.entry(name).or_default().insert(value));
    }
    let row = |(name, values): (&str, BTreeSet<&str>)| {
        let values: Vec<&str> = values.into_iter().collect();
        (name.replace('_', " "), values.join(" or "), String::new())
    };
    let block = |(path, facts): (&str, BTreeMap<&str, BTreeSet<&str>>)| Block::Facts {
        folded: Some(format!("{} facts of the path {path}: devices and settings of both ends", facts.len())),
        facts: facts.into_iter().map(row).collect(),
    };
    told.into_iter().filter(|(_, facts)| !facts.is_empty()).map(block).collect()
}

fn shown(facts: &[&Fact]) -> Vec<(String, String, String)> {
    let row = |f: &&Fact| Some((title(f), value(f)?, f.source.clone()));
    facts.iter().filter_map(row).collect()
}

/// The unit that a fact's id ends with. An MTU is set and known as a plain number of bytes.
fn unit(fact: &Fact) -> Option<Unit> {
    if fact.id.ends_with("_mtu_bytes") {
        return None;
    }
    [("_bytes", Unit::Bytes), ("_hertz", Unit::Hertz), ("_bits_per_second", Unit::BitsPerSecond)]
        .into_iter()
        .find(|(end, _)| fact.id.ends_with(end))
        .map(|u| u.1)
}

/// A number in its unit; what is not one number stays as recorded.
pub fn value(fact: &Fact) -> Option<String> {
    let recorded = fact.value.clone()?;
    let number = unit(fact).zip(recorded.parse::<f64>().ok());
    Some(number.map_or(recorded, |(unit, n)| unit.format(n)))
}

/// The title, without a unit that the value shows.
fn title(fact: &Fact) -> String {
    let bare = fact
        .title
        .strip_suffix(", bytes")
        .or(fact.title.strip_suffix(", Hz"))
        .or(fact.title.strip_suffix(", bit/s"));
    let has_unit = unit(fact).is_some() && fact.value.as_ref().is_some_and(|v| v.parse::<f64>().is_ok());
    bare.filter(|_| has_unit).unwrap_or(&fact.title).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_mtu_is_a_plain_number() {
        let shown = |id: &str, named: &str, recorded: &str| {
            let (value_of, source) = (Some(recorded.to_string()), String::new());
            let fact = Fact { id: id.into(), title: named.into(), value: value_of, source };
            format!("{} {}", title(&fact), value(&fact).unwrap())
        };
        assert_eq!(shown("eth0_mtu_bytes", "eth0: MTU, bytes", "1500"), "eth0: MTU, bytes 1500");
        assert_eq!(shown("cache_bytes", "cache, bytes", "2048"), "cache 2 KiB");
    }
}
