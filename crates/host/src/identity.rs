//! Is this the machine that an earlier part of a run was measured on? By what the fingerprint says of it that decides
//! figures and does not change while a machine is up, and by its id, which tells twins apart. What either side does
//! not know decides nothing.

use crate::Fact;
use crate::fingerprint::{BOOT, MACHINE};

/// Any other value of one of these is another machine, or the same one after a change that no figure outlasts.
const DECIDES: [&str; 10] = [
    "architecture",
    "cpu_model",
    "cpu_cores",
    "cpu_sockets",
    "kernel_release",
    "hypervisor",
    "clocksource",
    "page_bytes",
    "memory_bytes",
    MACHINE,
];
/// Of the memory: a kernel keeps some for itself, a hypervisor lends some.
const MEMORY: &str = "memory_bytes";
const MEMORY_WITHIN: f64 = 1.0 / 16.0;
const LONGEST_VALUE: usize = 60;

/// Facts of a run of the lab: how long its guest took by the clock of the machine around it, in all and until it measured.
pub const LAB_SECONDS: &str = "lab_seconds";
pub const LAB_START_SECONDS: &str = "lab_seconds_start";

/// Facts in which any two runs differ: no cause.
const PASSING: [&str; 4] = ["uptime_seconds", "tick_counter_difference_ppm", LAB_SECONDS, LAB_START_SECONDS];

/// Facts that are measured anew by each run, so that any two differ: less than this apart, nothing is known to have changed.
const MEASURED_APART: f64 = 1.25;
const MEASURED: [&str; 4] =
    ["clock_reading_ns", "core_hertz", "memory_available_bytes", "tick_counter_hertz"];
/// Devices of others come and go.
const OTHERS: &str = "network_devices";

/// Can this fact be a cause of what a run costs?
pub fn lasts(id: &str) -> bool {
    !PASSING.contains(&id)
}

/// Is it a measured number, the same but for how it was measured?
pub fn is_as_measured(id: &str, before: &str, now: &str) -> bool {
    let near = |(a, b): (f64, f64)| a > 0.0 && b > 0.0 && (a / b).ln().abs() < MEASURED_APART.ln();
    MEASURED.contains(&id) && before.parse().ok().zip(now.parse().ok()).is_some_and(near)
}

/// What the machine says otherwise than before of what may move figures: `SMT: on -> off`. What is measured anew has its
/// place in the conditions of each session.
pub fn changes(before: &[Fact], now: &[Fact]) -> Vec<String> {
    let asked = now
        .iter()
        .filter(|fact| lasts(&fact.id) && !MEASURED.contains(&fact.id.as_str()) && fact.id != OTHERS);
    let both = asked.filter_map(|fact| Some((fact, before.iter().find(|then| then.id == fact.id)?)));
    let differ = both.filter(|(fact, then)| fact.value != then.value);
    let told = |value: &Option<String>| value.as_deref().map_or("unknown".into(), shown);
    differ
        .map(|(fact, then)| format!("{}: {} -> {}", fact.title, told(&then.value), told(&fact.value)))
        .collect()
}

/// What tells the machines of two fingerprints apart; `None`: nothing does.
pub fn difference(
    before: impl Fn(&str) -> Option<String>,
    now: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    // In a container the id is that of its image, and the boot that of the kernel below.
    let same_boot = before(BOOT).is_some() && before(BOOT) == now(BOOT);
    let asked = DECIDES.iter().filter(|id| **id != MACHINE || !same_boot);
    let both = asked.filter_map(|id| Some((id, before(id)?, now(id)?)));
    let differ = both.filter(|(id, then, now)| !alike(id, then, now));
    let all: Vec<String> =
        differ.map(|(id, then, now)| format!("{id} was {}, is {}", shown(&then), shown(&now))).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn alike(id: &str, then: &str, now: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok().filter(|n| *n > 0.0);
    match (number(then), number(now)) {
        (Some(then), Some(now)) if id == MEMORY => (then / now).ln().abs() < MEMORY_WITHIN,
        _ => then == now,
    }
}

/// It may be a stranger's text.
fn shown(value: &str) -> String {
    let text: String = value.chars().take(LONGEST_VALUE).collect();
    text.escape_debug().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn machine() -> BTreeMap<&'static str, &'static str> {
        let facts = [
            ("architecture", "x86_64"),
            ("cpu_model", "AMD EPYC 9R14"),
            ("cpu_cores", "2"),
            ("cpu_sockets", "1"),
            ("kernel_release", "6.18.5"),
            ("hypervisor", "KVM"),
            ("clocksource", "tsc"),
            ("page_bytes", "4096"),
            ("memory_bytes", "8000000000"),
            (MACHINE, "4dcf5324"),
        ];
        facts.into_iter().chain([("cpu_governor", "performance")]).collect()
    }

    fn apart(change: (&'static str, &'static str)) -> Option<String> {
        let (before, mut now) = (machine(), machine());
        now.insert(change.0, change.1);
        difference(|id| before.get(id).map(ToString::to_string), |id| now.get(id).map(ToString::to_string))
    }

    #[test]
    fn each_thing_that_decides_figures_tells_machines_apart() {
        assert_eq!(apart(("cpu_model", "AMD EPYC 9R14")), None);
        for id in DECIDES {
            let said = apart((id, "77")).unwrap_or_else(|| panic!("{id}"));
            assert!(said.starts_with(&format!("{id} was {}, is 77", machine()[id])), "{said}");
        }
        assert_eq!(apart(("cpu_governor", "powersave")), None, "a setting is no machine");
        assert_eq!(apart(("memory_bytes", "8100000000")), None);
        assert!(apart(("memory_bytes", "16000000000")).is_some());
        assert!(apart(("memory_bytes", "7400000000")).is_some(), "a sixteenth is kept or lent, no more");
        let ugly = apart(("cpu_model", "\u{1b}[2J\n")).unwrap();
        assert!(!ugly.contains(char::is_control), "{ugly:?}");
    }

    #[test]
    fn twins_are_told_apart_by_their_ids_and_a_container_is_no_other_machine() {
        let of = |boot: &'static str, id: &'static str| {
            let machine: BTreeMap<_, _> =
                machine().into_iter().chain([(BOOT, boot), (MACHINE, id)]).collect();
            move |fact: &str| machine.get(fact).map(ToString::to_string)
        };
        let said = difference(of("b1", "one"), of("b2", "two"));
        assert_eq!(said.as_deref(), Some("machine_id_hash was one, is two"));
        assert_eq!(difference(of("b1", "one"), of("b1", "image")), None, "one boot is one machine");
        assert_eq!(difference(of("b1", "one"), of("b2", "one")), None, "a machine may be started again");
    }

    #[test]
    fn what_may_move_figures_is_a_change_and_what_passes_is_none() {
        let facts = |pairs: &[(&str, Option<&str>)]| -> Vec<Fact> {
            let fact = |(id, value): &(&str, Option<&str>)| Fact {
                id: id.to_string(),
                title: id.to_uppercase(),
                value: value.map(String::from),
                source: String::new(),
            };
            pairs.iter().map(fact).collect()
        };
        let before = facts(&[
            ("smt", Some("on")),
            ("boot_id", Some("a")),
            ("uptime_seconds", Some("5")),
            ("turbo", None),
        ]);
        assert!(changes(&before, &before).is_empty());
        let now = facts(&[
            ("smt", None),
            ("boot_id", Some("b")),
            ("uptime_seconds", Some("1")),
            ("turbo", Some("on")),
        ]);
        assert_eq!(changes(&before, &now), ["SMT: on -> unknown", "BOOT_ID: a -> b", "TURBO: unknown -> on"]);
    }

    #[test]
    fn what_one_side_does_not_know_decides_nothing() {
        let now = machine();
        assert_eq!(difference(|_| None, |id| now.get(id).map(ToString::to_string)), None);
        assert_eq!(difference(|id| now.get(id).map(ToString::to_string), |_| None), None);
    }
}
