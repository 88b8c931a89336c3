//! What disturbed a round from outside: stolen time, throttling, sleep, another run.

use syscost_host::conditions::Conditions;
use syscost_host::noise;

/// Steal time above this share of a round's CPU time marks its samples.
const STEAL_LIMIT: f64 = 0.10;

/// A machine that slept did so for longer; two clocks are never read at one moment.
const SUSPENDED_NS: u64 = 100_000_000;

/// Why a round's samples are suspect.
pub fn marks(between: &noise::Noise) -> Vec<String> {
    let cpus: Vec<usize> = between.steal_ns_by_cpu.keys().copied().collect();
    let seen = [
        ("steal", between.steal_fraction(&cpus).is_some_and(|share| share > STEAL_LIMIT)),
        ("throttled", between.throttle_events.is_some_and(|n| n > 0)),
        ("suspended", between.suspended_ns > SUSPENDED_NS),
    ];
    seen.into_iter().filter(|(_, seen)| *seen).map(|(mark, _)| mark.to_string()).collect()
}

/// What the run beside this one used would be taken for work of strangers.
pub fn forget_the_other(is_there: bool, during: &mut Conditions) {
    if is_there {
        (during.others_share, during.load_average) = (None, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_slept_or_was_disturbed_marks_the_round() {
        let quiet = noise::Noise::default();
        assert!(marks(&quiet).is_empty());
        let slept = noise::Noise { suspended_ns: 3_000_000_000, ..quiet };
        assert_eq!(marks(&slept), ["suspended"]);
    }
}
