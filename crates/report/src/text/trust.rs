//! Whether to believe a run, in words.

use crate::text::words::{count, minutes, percent};
use syscost_analyze::trust::{Trust, TrustFact, TrustLevel, TrustReason};
use syscost_experiment::run::State;

/// Other work that takes less does not show in a figure.
const QUIET: f64 = 0.01;

/// `You can rely on this: 92 % of 128 comparisons are decided, identical cases agree within 0.8 %.`
pub fn headline(trust: &Trust) -> String {
    let start = match trust.level {
        TrustLevel::Good => "You can rely on this",
        TrustLevel::Fair => "Rely on this with care",
        TrustLevel::Poor => "Do not rely on this",
    };
    let worst = trust.reasons.iter().filter(|r| r.level == trust.level && r.level > TrustLevel::Good);
    let usual = || {
        trust.reasons.iter().filter(|r| matches!(r.fact, TrustFact::Decided { .. } | TrustFact::Twins { .. }))
    };
    let mut told: Vec<&TrustReason> = worst.chain(usual()).collect();
    told.truncate(2);
    let told: Vec<String> = told.iter().map(|reason| phrase(&reason.fact)).collect();
    if told.is_empty() { format!("{start}.") } else { format!("{start}: {}.", told.join(", ")) }
}

/// Every reason, the worst first.
pub fn reasons(trust: &Trust) -> Vec<(TrustLevel, String)> {
    let mut sorted: Vec<&TrustReason> = trust.reasons.iter().collect();
    sorted.sort_by_key(|reason| std::cmp::Reverse(reason.level));
    sorted.into_iter().map(|reason| (reason.level, sentence(&reason.fact))).collect()
}

/// A part of the headline.
fn phrase(fact: &TrustFact) -> String {
    match fact {
        TrustFact::NoSamples => "no usable sample was recorded".into(),
        TrustFact::Emulated { by } => format!("{by} emulated the machine"),
        TrustFact::Decided { decided, comparisons, .. } => {
            let share = percent(*decided as f64 / *comparisons as f64);
            format!("{share} of {} decided", count(*comparisons, "comparison"))
        }
        TrustFact::Twins { low, high, .. } => {
            let apart = low.ln().abs().max(high.ln().abs()).exp_m1();
            format!("identical cases within {}", percent(apart))
        }
        TrustFact::NoTwins => "no case was measured twice".into(),
        TrustFact::Machine { others_share, steal_share, .. } => match (others_share, steal_share) {
            (others, stolen) if others.unwrap_or(0.0).max(stolen.unwrap_or(0.0)) < QUIET => {
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
        },
        TrustFact::FewRounds { rounds, asked } => {
            format!("{} instead of {asked}", count(*rounds as usize, "round"))
        }
        TrustFact::Contradictions { cases } => {
            format!("the copies of {} do not add up", count(*cases, "case"))
        }
        TrustFact::FailedRounds { rounds } => {
            format!("{} failed", count(*rounds, "round"))
        }
    }
}

fn sentence(fact: &TrustFact) -> String {
    let mut phrase = phrase(fact);
    if let Some(first) = phrase.get_mut(0..1) {
        first.make_ascii_uppercase();
    }
    match fact {
        TrustFact::Decided { minutes_needed: Some(more), .. } => {
            format!("{phrase}. About {} more would decide half of the others.", minutes(*more))
        }
        TrustFact::Twins { farthest, pairs, .. } => {
            format!(
                "{phrase}; the farthest of {} is {} apart.",
                count(*pairs as usize, "pair"),
                percent(*farthest)
            )
        }
        TrustFact::Ended { state: State::Running | State::Interrupted } => {
            format!("{phrase}. Continue it: `syscost run --resume DIR`.")
        }
        _ => format!("{phrase}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_headline_says_the_worst_first_in_few_words() {
        let decided = TrustFact::Decided {
            metric: "throughput",
            decided: 46,
            comparisons: 50,
            minutes_needed: Some(3.0),
        };
        let twins = TrustFact::Twins {
            metric: "throughput",
            ratio: 1.002,
            low: 0.997,
            high: 1.007,
            farthest: 0.02,
            pairs: 5,
        };
        let good = |fact| TrustReason { level: TrustLevel::Good, fact };
        let mut trust = Trust { level: TrustLevel::Good, reasons: vec![good(decided), good(twins)] };
        assert_eq!(
            headline(&trust),
            "You can rely on this: 92 % of 50 comparisons decided, identical cases within 0.7 %."
        );
        let fact = TrustFact::Ended { state: State::Interrupted };
        trust.reasons.push(TrustReason { level: TrustLevel::Fair, fact });
        trust.level = TrustLevel::Fair;
        assert_eq!(
            headline(&trust),
            "Rely on this with care: the run was interrupted, 92 % of 50 comparisons decided."
        );
        let told = reasons(&trust);
        assert!(told[0].1.contains("--resume"), "{told:?}");
        assert!(told.iter().all(|(_, text)| text.ends_with('.') && text.split_whitespace().count() < 25));
    }
}
