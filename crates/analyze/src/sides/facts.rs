//! What is known of two sides beside their figures: what forbids to compare them, and what differs.

use super::RunFigures;
use std::collections::{BTreeMap, BTreeSet};
use syscost_experiment::plan::Case;
use syscost_experiment::run::settings::Settings;
use syscost_experiment::run::{LAB_SECONDS, LAB_START_SECONDS, Record};
use syscost_host::fingerprint::C_LIBRARY;
use syscost_host::identity;
use syscost_host::settings::{STACK, setting_name};
use syscost_measure::probe::transfer::axes::{LOOPBACK, PATH};

/// Why two sides are not compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incomparable {
    SameRun { id: String },
    DebugBuild,
    CLibrary { base: String, candidate: String },
}

/// A fact that no run of one side shares with a run of the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DifferingFact {
    /// What kind of cause it is.
    pub cause: &'static str,
    pub title: String,
    pub base: String,
    pub candidate: String,
}

/// Facts that name a run, and cannot be a cause of what it costs.
pub const IDENTITY: &str = "identity";

const SYSCOST: &str = "syscost";
const REVISION: &str = "revision";

/// The cause that a fact belongs to, by how its id begins; anything else is a setting.
const CAUSES: &[(&str, &str)] = &[
    ("boot_id", IDENTITY),
    ("machine_id_hash", IDENTITY),
    ("host_name", IDENTITY),
    ("uptime_seconds", IDENTITY),
    (LAB_SECONDS, IDENTITY),
    (LAB_START_SECONDS, IDENTITY),
    ("kernel_", "kernel"),
    ("vulnerability_", "kernel"),
    ("cpu_", "processor"),
    ("architecture", "processor"),
    ("core_hertz", "processor"),
    ("tick_counter_", "processor"),
    ("clock_reading_ns", "processor"),
    ("cache_", "processor"),
    ("memory_", "memory"),
    ("cloud_", "machine"),
    ("hypervisor", "machine"),
    ("tool_", SYSCOST),
    ("limit_", "rights"),
    ("effective_uid", "rights"),
    ("capabilities", "rights"),
    ("revision", REVISION),
];

pub fn refusal(base: &[RunFigures], candidate: &[RunFigures]) -> Option<Incomparable> {
    let all = || base.iter().chain(candidate);
    let mut seen = BTreeSet::new();
    if let Some(run) = all().find(|run| !seen.insert(&run.record.id)) {
        return Some(Incomparable::SameRun { id: run.record.id.clone() });
    }
    if all().any(|run| run.record.tool.profile == "debug") {
        return Some(Incomparable::DebugBuild);
    }
    let library = |run: &RunFigures| run.record.fact(C_LIBRARY).map(str::to_string);
    let libraries: BTreeSet<String> = all().filter_map(library).collect();
    (libraries.len() > 1).then(|| {
        let of = |side: &[RunFigures]| side.iter().filter_map(library).collect::<BTreeSet<_>>();
        let shown = |side| of(side).into_iter().collect::<Vec<_>>().join(", ");
        Incomparable::CLibrary { base: shown(base), candidate: shown(candidate) }
    })
}

/// Facts in which the sides differ, by cause.
pub fn differing(base: &[RunFigures], candidate: &[RunFigures]) -> Vec<DifferingFact> {
    let (a, b) = (values(base), values(candidate));
    let both = a.iter().filter_map(|(id, of_base)| Some((id, of_base, b.get(id)?)));
    // What changes within a side (free memory, a measured clock) is no property of it. Boots are its replicates, and each
    // run has one binary.
    let lasts = |id: &str, values: &BTreeSet<String>| {
        values.len() == 1 || [IDENTITY, SYSCOST, REVISION].contains(&cause(id))
    };
    let apart = both.filter(|(id, of_base, of_candidate)| {
        let tells = identity::lasts(id) && lasts(id, &of_base.1) && lasts(id, &of_candidate.1);
        let measured = of_base.1.first().zip(of_candidate.1.first());
        let as_measured = measured.is_some_and(|(a, b)| identity::is_as_measured(id, a, b));
        tells && of_base.1.is_disjoint(&of_candidate.1) && !as_measured
    });
    let mut all: Vec<DifferingFact> = apart
        .map(|(id, (title, of_base), (_, of_candidate))| DifferingFact {
            cause: cause(id),
            title: title.clone(),
            base: shown(of_base),
            candidate: shown(of_candidate),
        })
        .collect();
    all.sort_by(|a, b| (a.cause, &a.title).cmp(&(b.cause, &b.title)));
    all
}

type Values = BTreeMap<String, (String, BTreeSet<String>)>;

fn values(side: &[RunFigures]) -> Values {
    let mut all = Values::new();
    let mut add = |id: &str, title: &str, value: &str| {
        let entry = all.entry(id.into()).or_insert_with(|| (title.into(), BTreeSet::new()));
        entry.1.insert(value.into());
    };
    for run in side {
        let tool = &run.record.tool;
        add("tool_version", "syscost", &tool.version);
        add("tool_binary", "binary of syscost", tool.binary_sha256.get(..12).unwrap_or(&tool.binary_sha256));
        if let Some(revision) = &run.record.names.revision {
            add("revision", "revision", revision);
        }
        for object in &run.record.spec.own {
            let build = object.sha256.get(..12).unwrap_or(&object.sha256);
            let offered = object.codes.iter();
            offered.for_each(|code| {
                add(&format!("own_{}", code.name), &format!("object of your {}", code.name), build)
            });
        }
        for fact in &run.record.host {
            let measured = in_force(&run.record, &fact.id);
            measured.iter().for_each(|value| add(&fact.id, &fact.title, value));
            if let Some(value) = fact.value.as_ref().filter(|_| measured.is_empty()) {
                add(&fact.id, &fact.title, value);
            }
        }
        for others in carried(&run.record) {
            add("carried_settings", "other settings of the network", &others);
        }
    }
    all
}

/// A setting of the network as both ends of the run's cases had it: where it was measured, which need not be where
/// syscost was started. Empty where no case has one of its own, or some case was measured on loopback here.
fn in_force<'a>(record: &'a Record, id: &str) -> BTreeSet<&'a str> {
    let here = |case: &Case| case.point.text(PATH) == Some(LOOPBACK);
    let Some(name) = STACK.iter().find(|(own, ..)| *own == id).map(|(_, _, file)| setting_name(file)) else {
        return BTreeSet::new();
    };
    if record.plan.cases.iter().any(here) {
        return BTreeSet::new();
    }
    let ends = [name.to_string(), format!("receiver_{name}")];
    let of_case =
        |settings: &'a Settings| ends.iter().filter_map(|end| settings.get(end).map(|value| &**value));
    record.settings.values().flat_map(of_case).collect()
}

/// Those that were carried into the namespaces of the run, beside those that have a fact of their own.
fn carried(record: &Record) -> BTreeSet<String> {
    let has_own = |setting: &&str| {
        STACK.iter().any(|(_, _, file)| setting.starts_with(&format!("net.{}=", file.replace('/', "."))))
    };
    let of_case = |settings: &Settings| {
        settings.get("tcp_sack")?;
        let all = settings.get("carried_settings").map_or("", |text| &**text);
        let others: Vec<&str> = all.split("; ").filter(|one| !one.is_empty() && !has_own(one)).collect();
        Some(if others.is_empty() { "the kernel's own".to_string() } else { others.join("; ") })
    };
    record.settings.values().filter_map(of_case).collect()
}

/// What kind of cause a fact is.
pub fn cause(id: &str) -> &'static str {
    CAUSES.iter().find(|(begins, _)| id.starts_with(begins)).map_or("settings", |(_, cause)| cause)
}

fn shown(values: &BTreeSet<String>) -> String {
    match values.iter().next() {
        Some(one) if values.len() == 1 => one.clone(),
        _ => format!("{} values", values.len()),
    }
}
