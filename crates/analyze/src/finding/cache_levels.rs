//! Which cache level's misses fall most, and between which mechanisms? Misses per message of ways on the
//! same place, compared like every other metric; of what is significant, the largest ratio of each level.
//!
//! Needs hardware counters, which most virtual machines do not have: then there is no answer, and no guess.

use super::pairs::known;
use super::{Evidence, Finding, SentenceAnswer};
use crate::compare::family::Family;
use crate::compare::study::RIVALS;
use crate::compare::{Comparison, Comparisons};
use crate::words::{self, Words, and, count};
use crate::{CellRef, Statement};
use std::collections::BTreeSet;
use syscost_core::sample::Better;
use syscost_core::units::significant;

pub struct CacheLevels;

/// Misses, the nearest cache first, and the counter behind each.
const LEVELS: [(&str, &str, &str); 3] = [
    ("l1d_misses_per_message", "l1d_misses", "the L1 data cache"),
    ("llc_misses_per_message", "llc_misses", "the last-level cache"),
    ("cache_misses_per_message", "cache_misses", "the caches by the processor's general event"),
];

impl Finding for CacheLevels {
    fn id(&self) -> &'static str {
        "cache_levels"
    }

    fn answer(&self, evidence: &Evidence<'_>) -> SentenceAnswer {
        let levels = levels(evidence);
        if levels.is_empty() {
            return uncounted(evidence);
        }
        let words = Words::of(evidence.run);
        let mut falls: Vec<(&str, &Comparison)> =
            levels.iter().filter_map(|(name, all)| Some((*name, most(all)?))).collect();
        falls.sort_by(|a, b| b.1.strength().total_cmp(&a.1.strength()));
        let mut statements: Vec<Statement> = falls
            .iter()
            .enumerate()
            .filter_map(|(place, (level, pair))| {
                fall(evidence, &words, level, pair, place == 0 && falls.len() > 1)
            })
            .collect();
        for (level, all) in levels.iter().filter(|(_, all)| most(all).is_none()) {
            statements.push(none(level, all));
        }
        SentenceAnswer::Found { statements, caveats: caveats(&levels) }
    }

    fn compared(&self, evidence: &Evidence<'_>) -> Vec<Family<'static>> {
        levels(evidence).into_iter().map(|(_, all)| Family::made(all)).collect()
    }
}

/// The levels that were counted, by name.
fn levels(evidence: &Evidence<'_>) -> Vec<(&'static str, Comparisons)> {
    let compare = |(metric, _, name): &(&'static str, &'static str, &'static str)| {
        let found = Comparisons::of(evidence.run, evidence.cells, evidence.groups, metric)?;
        (!found.pairs.is_empty()).then_some((*name, found))
    };
    LEVELS.iter().filter_map(compare).collect()
}

fn uncounted(evidence: &Evidence<'_>) -> SentenceAnswer {
    let counters = |name: &String| LEVELS.iter().any(|(_, counter, _)| name.contains(counter));
    let why = evidence.run.record.missing.iter().find(|missing| missing.quantities.iter().any(counters));
    match why {
        Some(missing) => SentenceAnswer::CannotBeAnswered {
            because: format!("cache misses were not counted: {}", missing.why.reason),
            command: format!("syscost run, after this: {}", missing.why.remedy),
        },
        None => SentenceAnswer::CannotBeAnswered {
            because: "it has no count of cache misses of two ways of doing the same".into(),
            command: "syscost run, on a machine that has hardware counters: syscost doctor says which".into(),
        },
    }
}

/// The significant difference with the largest ratio.
fn most(all: &Comparisons) -> Option<&Comparison> {
    let differing = all.pairs.iter().filter(|pair| pair.better(Better::Lower).is_some());
    differing.max_by(|a, b| a.strength().total_cmp(&b.strength()))
}

/// From whom to whom misses fall, at which place, and how much.
fn fall(
    evidence: &Evidence<'_>,
    words: &Words,
    level: &str,
    pair: &Comparison,
    first: bool,
) -> Option<Statement> {
    let fewer = pair.better(Better::Lower)?;
    let more = if fewer == pair.a { pair.b } else { pair.a };
    let case = evidence.run.case(fewer)?;
    let name = |case: usize| Some(evidence.run.case(case)?.point.get(RIVALS.id)?.to_string());
    let figure = |case: usize| Some(significant(evidence.cells.cell(case, pair.metric)?.estimate.value));
    let ratio = pair.seen_from(fewer);
    let most = if first { "fall most of all levels" } else { "fall most" };
    let text = format!(
        "Misses of {level} {most} from {} to {} at {}: {} per message instead of {}, {} ({}).",
        name(more)?,
        name(fewer)?,
        words.place(&case.point, &known(words)),
        figure(fewer)?,
        figure(more)?,
        words::difference(ratio.value),
        words.interval(&ratio)
    );
    let cells = [fewer, more].map(|case| CellRef { case, metric: pair.metric }).to_vec();
    Some(Statement { text, cells })
}

fn none(level: &str, all: &Comparisons) -> Statement {
    let cells: BTreeSet<CellRef> = all
        .pairs
        .iter()
        .flat_map(|p| [p.a, p.b])
        .map(|case| CellRef { case, metric: all.metric.id })
        .collect();
    let text = format!(
        "In misses of {level} no difference is significant between any of {}.",
        count(all.pairs.len(), "compared pair")
    );
    Statement { text, cells: cells.into_iter().collect() }
}

fn caveats(levels: &[(&str, Comparisons)]) -> Vec<String> {
    let mut caveats =
        vec!["misses are those of both sides, in user space and in the kernel; a fall in them is no cause by itself".to_string()];
    let missing: Vec<String> = LEVELS
        .iter()
        .filter(|(_, _, name)| levels.iter().all(|(level, _)| level != name))
        .map(|(_, _, name)| (*name).to_string())
        .collect();
    if !missing.is_empty() {
        caveats.push(format!("misses of {} were not counted", and(&missing)));
    }
    caveats
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use crate::whole::Analysis;
    use syscost_experiment::run::{MissingQuantities, Run};
    use syscost_host::Unavailable;

    fn answer(run: &Run) -> SentenceAnswer {
        let analysis = Analysis::of(run);
        CacheLevels.answer(&analysis.evidence(run))
    }

    /// sendmsg misses L1 40 % less than the others at 64 KiB; the last level is the same for all.
    fn counted() -> Run {
        let mut run = Synthetic { rounds: 12, noise: 0.02, ..Default::default() }.run();
        let cases = run.record.plan.cases.clone();
        for sample in &mut run.samples {
            let point = &cases[sample.case].point;
            let less =
                point.text_at("mechanism") == Some("sendmsg") && point.int_at("message_bytes") == Some(65536);
            let wobble = 1.0 + 0.01 * ((sample.round * 7 + sample.case as u32 * 3) % 5) as f64;
            for (counter, each) in [("l1d_misses", if less { 60.0 } else { 100.0 }), ("llc_misses", 10.0)] {
                for side in ["sender", "receiver"] {
                    for mode in ["user", "kernel"] {
                        let counts = each * wobble * sample.ops / 4.0;
                        sample.quantities.insert(format!("{side}_{counter}_{mode}"), Some(counts));
                    }
                }
            }
        }
        run
    }

    #[test]
    fn a_planted_fall_is_found_at_its_level_place_and_pair() {
        let SentenceAnswer::Found { statements, caveats } = answer(&counted()) else { panic!("counted") };
        let text = &statements[0].text;
        assert!(text.starts_with("Misses of the L1 data cache fall most from "), "{text}");
        assert!(
            text.contains(" to sendmsg at 64 KiB and ") && text.contains("% below (99.94 % interval"),
            "{text}"
        );
        assert_eq!(statements[0].cells.len(), 2);
        assert_eq!(
            statements[1].text,
            "In misses of the last-level cache no difference is significant between any of 30 compared pairs."
        );
        assert!(caveats[1].contains("the processor's general event were not counted"), "{caveats:?}");
    }

    #[test]
    fn without_counters_there_is_no_guess() {
        let mut run = Synthetic::default().run();
        let SentenceAnswer::CannotBeAnswered { command, .. } = answer(&run) else { panic!("not counted") };
        assert!(command.contains("syscost doctor"));
        let why = Unavailable { reason: "no PMU".into(), remedy: "use the bare machine".into() };
        let quantities = vec!["sender_l1d_misses_user".into()];
        run.record.missing.push(MissingQuantities { quantities, why });
        let SentenceAnswer::CannotBeAnswered { because, command } = answer(&run) else {
            panic!("not counted")
        };
        assert_eq!(because, "cache misses were not counted: no PMU");
        assert!(command.ends_with("use the bare machine"));
    }
}
