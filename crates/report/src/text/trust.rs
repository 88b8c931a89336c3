//! Whether to believe a run, in words.

use crate::text::figures::{metric, times};
use crate::text::words::{capital, count, minutes, percent};
use syscost_analyze::trust::{Trust, TrustFact, TrustLevel, TrustReason};
use syscost_experiment::run::State;
use syscost_host::conditions::QUIET_SHARE;

/// Reasons of a headline.
const TOLD: usize = 3;

/// `You can rely on this: 30 of 32 comparisons of CPU time decided, 28 of 32 of throughput, identical cases within 0.8 %.`
pub fn headline(trust: &Trust) -> String {
    let start = match trust.level {
        TrustLevel::Good => "You can rely on this",
        TrustLevel::Fair => "Rely on this with care",
        TrustLevel::Poor => "Do not rely on this",
    };
    // A reason to believe it is none for care.
    let (why, beside): (Vec<&TrustReason>, Vec<&TrustReason>) =
        in_headline(trust).into_iter().partition(|reason| reason.level == trust.level);
    let joined = |reasons: &[&TrustReason]| {
        let mut decided = 0;
        let words = |reason: &&TrustReason| match &reason.fact {
            fact @ TrustFact::Decided { metric, decided: some, comparisons, .. } => {
                decided += 1;
                if decided == 1 {
                    phrase(fact)
                } else {
                    format!("{some} of {comparisons} of {}", title(metric))
                }
            }
            // The facts beside it say of which metric and how sure.
            TrustFact::Twins { low, high, .. } => {
                format!("identical cases within {}", percent(low.ln().abs().max(high.ln().abs()).exp_m1()))
            }
            fact => phrase(fact),
        };
        reasons.iter().map(words).collect::<Vec<String>>().join(", ")
    };
    let why = if why.is_empty() { String::new() } else { format!(": {}", joined(&why)) };
    let beside = if beside.is_empty() { String::new() } else { format!(" {}.", capital(&joined(&beside))) };
    format!("{start}{why}.{beside}")
}

/// The worst reasons, then what every run is judged by: the comparisons that its tables show, by each metric, and identical
/// cases.
fn in_headline(trust: &Trust) -> Vec<&TrustReason> {
    let worst = |r: &&TrustReason| r.level == trust.level && r.level > TrustLevel::Good;
    let usual = |r: &&TrustReason| matches!(r.fact, TrustFact::Decided { .. } | TrustFact::Twins { .. });
    let others = trust.reasons.iter().filter(|r| usual(r) && !worst(r));
    let mut told: Vec<&TrustReason> = trust.reasons.iter().filter(worst).chain(others).take(TOLD).collect();
    told.sort_by_key(|r| (r.level != trust.level, matches!(r.fact, TrustFact::Twins { .. })));
    told
}

/// What stands beside the headline: of what it says only what follows.
pub fn facts(trust: &Trust) -> Vec<String> {
    let told = in_headline(trust);
    let fact = |reason: &TrustReason| match reason.fact {
        // Its sentence goes on behind the phrase.
        TrustFact::Twins { .. } => Some(sentence(&reason.fact)),
        _ if told.contains(&reason) => then(&reason.fact),
        // How long it would take, the first metric says.
        TrustFact::Decided { .. } => Some(capital(&phrase(&reason.fact))),
        _ => Some(sentence(&reason.fact)),
    };
    let mut worst_first: Vec<&TrustReason> = trust.reasons.iter().collect();
    worst_first.sort_by_key(|reason| std::cmp::Reverse(reason.level));
    worst_first.into_iter().filter_map(fact).map(|text| text.trim_end_matches('.').into()).collect()
}

/// A part of the headline.
fn phrase(fact: &TrustFact) -> String {
    match fact {
        TrustFact::NoSamples => "no usable sample was recorded".into(),
        TrustFact::Emulated { by, caches: None } => format!("counts alone hold, {by} emulated the machine"),
        TrustFact::Emulated { by, caches: Some(caches) } => {
            format!("misses are those of a modelled cache ({caches}), {by} emulated the CPU")
        }
        TrustFact::Decided { metric, decided, comparisons, .. } => {
            format!("{decided} of {} of {} decided", count(*comparisons, "comparison"), title(metric))
        }
        TrustFact::Twins { metric, low, high, farthest, .. } => {
            let apart = low.ln().abs().max(high.ln().abs()).exp_m1();
            // Few pairs bound their mean no closer than each of them is.
            let average = if apart < *farthest { " on average" } else { "" };
            format!("identical cases within {}{average} in {}", percent(apart), title(metric))
        }
        TrustFact::NoTwins => "no case was measured twice".into(),
        TrustFact::Machine { others_share, steal_share, .. } => match (others_share, steal_share) {
            (others, stolen) if others.unwrap_or(0.0).max(stolen.unwrap_or(0.0)) < QUIET_SHARE => {
                "the machine was quiet".into()
            }
            (_, Some(stolen)) if *stolen >= others_share.unwrap_or(0.0) => {
                format!("the hypervisor took {} of the CPU time", percent(*stolen))
            }
            (Some(others), _) => format!("other work took {} of the CPU time", percent(*others)),
            _ => "other work cannot be seen here".into(),
        },
        TrustFact::Level { slow_share, .. } => {
            format!("the machine was slow for {} of the samples", percent(*slow_share))
        }
        TrustFact::Counters { present: true } => "hardware counters are present".into(),
        TrustFact::Counters { present: false } => "hardware counters are missing".into(),
        TrustFact::Ledger { present: true } => "copies were counted in the kernel".into(),
        TrustFact::Ledger { present: false } => "copies were not counted".into(),
        TrustFact::Ended { state } => match state {
            State::Running => "the run has not ended".into(),
            State::Interrupted => "the run was interrupted".into(),
            State::TimeLimit => "the time limit ended the run".into(),
            State::Complete => "the run is complete".into(),
            State::NothingMeasured => "nothing could be measured".into(),
        },
        TrustFact::FewRounds { rounds, asked } => {
            format!("{} instead of {asked}", count(*rounds as usize, "round"))
        }
        TrustFact::SlicesApart { cases, of, factor } => format!(
            "CPU time of short slices is significantly apart from that of a steady stream in {cases} of {} (up to {})",
            count(*of, "case"),
            times(*factor)
        ),
        TrustFact::Unsteady { cases, of } => {
            format!("{cases} of {} have two levels or change", count(*of, "case"))
        }
        TrustFact::Imprecise { cases, of, asked } => {
            format!("{cases} of {} are less precise than ±{}", count(*of, "case"), percent(*asked))
        }
        TrustFact::Contradictions { cases } => {
            format!("the copies of {} do not add up", count(*cases, "case"))
        }
        TrustFact::FailedRounds { rounds } => {
            format!("{} failed", count(*rounds, "round"))
        }
    }
}

/// In two words at most, per byte or not: two of its phrases have to fit into a sentence.
fn title(id: &'static str) -> &'static str {
    if id.contains("cpu") { "CPU time" } else { metric(id).map_or(id, |metric| metric.title) }
}

/// What is said of it in a sentence of its own.
fn then(fact: &TrustFact) -> Option<String> {
    match fact {
        TrustFact::Decided { metric, minutes_needed: Some(more), .. } => Some(format!(
            "About {} more would decide half of the others in {}.",
            minutes(*more),
            title(metric)
        )),
        TrustFact::Ended { state: State::Running | State::Interrupted } => {
            Some("Continue it: `syscost run --resume DIR`.".into())
        }
        TrustFact::Imprecise { .. } => Some("Give it more time: `--time-limit`.".into()),
        _ => None,
    }
}

fn sentence(fact: &TrustFact) -> String {
    let phrase = capital(&phrase(fact));
    match fact {
        TrustFact::Twins { farthest, pairs, .. } => {
            let all = count(*pairs as usize, "pair");
            format!("{phrase} (95 % CI), {all} within {}.", percent(*farthest))
        }
        _ => [Some(format!("{phrase}.")), then(fact)].into_iter().flatten().collect::<Vec<_>>().join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It was said: within 18 % on average, 4 pairs within 17 %.
    #[test]
    fn no_average_is_said_to_be_beyond_each_of_its_pairs() {
        let (metric, ratio, low, high) = ("throughput", 1.0, 0.95, 1.18);
        let twins = |farthest| sentence(&TrustFact::Twins { metric, ratio, low, high, farthest, pairs: 4 });
        let few = "Identical cases within 18 % in throughput (95 % CI), 4 pairs within 17 %.";
        assert_eq!(twins(0.17), few);
        assert!(twins(0.2).starts_with("Identical cases within 18 % on average"), "{}", twins(0.2));
    }
}
