//! The machine that figures are from: what a published table tells of it, and the same of a run's own.

use std::collections::BTreeMap;
use syscost_core::units::Unit;
use syscost_experiment::run::Run;
use syscost_host::fingerprint::C_LIBRARY;

/// What a table may tell of its machine, in lines `# id: text` before its header; with what reports call it.
pub const MACHINE: &[(&str, &str)] = &[
    ("processor", "processor"),
    (CLOCK, "clock"),
    ("caches", "caches"),
    ("memory", "memory"),
    ("kernel", "kernel"),
    ("compiled", "compiled by"),
];
/// The frequency of the cores, in hertz.
const CLOCK: &str = "clock_hertz";

/// By the ids of [`MACHINE`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparedMachine(BTreeMap<&'static str, String>);

impl ComparedMachine {
    /// From the comments of a table; and the comments that tell something else, as one text.
    pub fn told<'t>(comments: impl Iterator<Item = &'t str>) -> (ComparedMachine, String) {
        let (mut machine, mut rest) = (ComparedMachine::default(), Vec::new());
        for comment in comments {
            let told = comment.split_once(": ");
            match told.and_then(|(id, value)| Some((MACHINE.iter().find(|known| known.0 == id)?.0, value))) {
                Some((id, value)) => drop(machine.0.insert(id, value.into())),
                None => rest.push(comment),
            }
        }
        (machine, rest.join(" "))
    }

    /// From the facts of a run.
    pub fn of(run: &Run) -> ComparedMachine {
        let fact = |id: &str| run.record.fact(id).map(str::to_string);
        let bytes = |id: &str| Some(Unit::Bytes.format(fact(id)?.parse().ok()?));
        let caches = [("L1", "cache_l1d_bytes"), ("L2", "cache_l2_bytes"), ("L3", "cache_l3_bytes")];
        let caches: Vec<String> =
            caches.iter().filter_map(|(level, id)| Some(format!("{level} {}", bytes(id)?))).collect();
        let told = [
            ("processor", fact("cpu_model")),
            (CLOCK, fact("core_hertz")),
            ("caches", Some(caches.join(", ")).filter(|caches| !caches.is_empty())),
            ("memory", bytes("memory_bytes")),
            ("kernel", fact("kernel_release").map(|k| format!("Linux {k}"))),
            ("compiled", fact(C_LIBRARY).map(|library| format!("rustc, {library}"))),
        ];
        ComparedMachine(told.into_iter().filter_map(|(id, value)| Some((id, value?))).collect())
    }

    pub fn says(&self, id: &str) -> Option<String> {
        match self.clock_hertz().filter(|_| id == CLOCK) {
            Some(hertz) => Some(Unit::Hertz.format(hertz)),
            None => self.0.get(id).cloned(),
        }
    }

    pub fn clock_hertz(&self) -> Option<f64> {
        self.0.get(CLOCK)?.parse().ok().filter(|hertz: &f64| hertz.is_finite() && *hertz > 0.0)
    }
}
