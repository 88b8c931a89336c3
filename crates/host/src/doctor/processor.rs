//! Judgements about CPUs, their clocks and their counters.

use super::{Judgement, Live, good};
use crate::files::Root;
use crate::settings;
use syscost_core::units;

pub fn count(_: &Root, live: &Live) -> Judgement {
    let (cpus, cores) = (live.topology.cpus().len(), live.topology.cores());
    let on = if live.topology.is_told() { units::count(cores, "core") } else { "cores not told".into() };
    let check = good(format!("{} on {on} may be used ({})", units::count(cpus, "CPU"), live.topology.show()));
    match (cpus, cores) {
        (..=1, _) => check.bad(
            "sender and receiver cannot run at once: only --placement same is possible",
            "allow more CPUs (taskset, the container's cpuset)",
        ),
        (_, 1) => check.caution(
            "sender and receiver share one core's execution units and caches",
            "allow CPUs of more cores (taskset, the container's cpuset)",
        ),
        (_, 2..4) => check.caution(
            "from two thread pairs on, threads share CPUs: scaling over threads ends there",
            "measure thread counts on a machine with two cores per pair",
        ),
        _ if !live.topology.is_told() => check.unknown("which CPUs share a core cannot be seen"),
        _ => check,
    }
}

pub fn governor(root: &Root, _: &Live) -> Judgement {
    let governors = settings::governors(root);
    let check = good(governors.as_deref().unwrap_or("not told"));
    match governors.as_deref() {
        Some("performance") => check,
        None => check.unknown("the frequency may change during a run, unseen: usual in virtual machines"),
        Some(_) => check.caution(
            "a CPU may start a sample at a low frequency: warm-up gets longer and small sizes look slower",
            "sudo cpupower frequency-set -g performance",
        ),
    }
}

fn on_or_off(setting: Option<bool>) -> &'static str {
    setting.map_or("not told", |on| if on { "on" } else { "off" })
}

pub fn turbo(root: &Root, _: &Live) -> Judgement {
    let turbo = settings::turbo(root);
    let check = good(on_or_off(turbo));
    match turbo {
        Some(false) => check,
        Some(true) => check.caution(
            "the frequency depends on temperature and on how many cores work: thread counts are not compared at one frequency",
            settings::turbo_off_command(root),
        ),
        None => check.unknown("the frequency may rise and fall, unseen"),
    }
}

pub fn smt(root: &Root, _: &Live) -> Judgement {
    let smt = settings::smt(root);
    let check = good(on_or_off(smt));
    match smt {
        Some(false) => check,
        Some(true) => check.caution(
            "whatever runs on a sibling slows a measured thread; pairs are spread over cores before siblings are used",
            "echo off | sudo tee /sys/devices/system/cpu/smt/control",
        ),
        None => check.unknown("hardware threads may be counted as cores"),
    }
}

pub fn clock(_: &Root, live: &Live) -> Judgement {
    let reading = &live.clock;
    let source = reading.clocksource.as_deref().unwrap_or("not told");
    let way = if reading.by_vdso { "without a system call" } else { "by a system call" };
    let observed = format!("{source}, read {way} in {:.0} ns", reading.cost_ns);
    let check = good(observed);
    if !reading.by_vdso {
        let consequence =
            format!("every reading costs {:.0} ns: short samples measure the clock too", reading.cost_ns);
        return check.caution(
            consequence,
            "see /sys/devices/system/clocksource/clocksource0/available_clocksource; boot with tsc=reliable if the counter is sound",
        );
    }
    match reading.clocksource {
        None => check.unknown("whether the kernel trusts this clock cannot be seen"),
        Some(_) => check,
    }
}

/// Two constant clocks of one machine differ by parts in a million.
const TICK_TOLERANCE: f64 = 0.01;

pub fn tick_counter(_: &Root, live: &Live) -> Judgement {
    let rate = match live.tick_invariant {
        Some(true) => "of constant rate",
        Some(false) => "not of constant rate",
        None => "of a rate that may not be constant",
    };
    let difference = live.tick_difference;
    let observed = match difference {
        Some(by) => format!("{rate}; measured {:+.0} ppm from the declared rate", by * 1e6),
        None => format!("{rate}; no rate is declared"),
    };
    let check = good(observed);
    if live.tick_invariant == Some(false) {
        return check.caution(
            "it does not run at one rate: costs in TSC cycles and TSC reference cycles per byte mean nothing",
            "use the figures in nanoseconds",
        );
    }
    match (difference, live.tick_invariant) {
        (Some(by), _) if by.abs() > TICK_TOLERANCE => check.bad(
            "the clock or the counter is off by more than 1 %: every time of a run is in doubt",
            "see dmesg | grep -i tsc and chronyc tracking; on a virtual machine, its host's clock source",
        ),
        (_, None) => check.unknown("costs in TSC cycles may be at a changing rate"),
        _ => check,
    }
}

pub fn counters(root: &Root, live: &Live) -> Judgement {
    let missing = &live.counters_missing;
    let wanted = live.counters_wanted;
    let paranoid = root.number_or_negative("proc/sys/kernel/perf_event_paranoid");
    let paranoid = paranoid.map_or("not told".into(), |n| n.to_string());
    let observed = format!("{} of {wanted} open; perf_event_paranoid = {paranoid}", wanted - missing.len());
    let Some((_, why)) = missing.first() else {
        return good(observed);
    };
    let consequence = if missing.len() == wanted {
        "no cycles, instructions or cache misses; cycles per byte is given in TSC reference cycles"
            .to_string()
    } else {
        let names: Vec<&str> = missing.iter().map(|(id, _)| id.as_str()).collect();
        format!("no values for {}", names.join(", "))
    };
    // Reasons differ where some counters do not exist and others are forbidden: each once.
    let mut reasons: Vec<&str> = Vec::new();
    for (_, why) in missing {
        if !reasons.contains(&why.reason.as_str()) {
            reasons.push(&why.reason);
        }
    }
    let observed = format!("{observed}; {}", reasons.join("; "));
    good(observed).caution(consequence, why.remedy.clone())
}
