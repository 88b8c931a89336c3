//! Which cache level's misses fall most, and between which mechanisms? Misses per message of ways on the
//! same place, compared like every other metric; of what is significant, the largest ratio of each level.
//!
//! Needs hardware counters, which most virtual machines do not have, or an emulator that models caches, and says which of
//! them it was. Without either there is no answer, and no guess.

use super::pairs::refs;
use super::{Evidence, Finding};
use crate::answer::{AnswerVerdict, CacheLevel, Caveat, ComparisonRef, Lack};
use crate::compare::family::Family;
use crate::compare::study::RIVALS;
use crate::compare::{Comparison, Comparisons};
use crate::finding::{Answer, Says, Shown};
use serde::Serialize;
use syscost_core::axis::Point;
use syscost_core::sample::Better;
use syscost_core::stats::Estimate;

pub struct CacheLevels;

/// Misses, the nearest cache first, and the counter behind each.
const LEVELS: [(CacheLevel, &str, &str); 5] = [
    (CacheLevel::L1Data, "l1d_misses_per_message", "l1d_misses"),
    (CacheLevel::L1Instructions, "l1i_misses_per_message", "l1i_misses"),
    (CacheLevel::L2, "l2_misses_per_message", "l2_misses"),
    (CacheLevel::Last, "llc_misses_per_message", "llc_misses"),
    (CacheLevel::General, "cache_misses_per_message", "cache_misses"),
];

/// Less than a line a message is no difference, however large its ratio.
const LEAST_MISSES: f64 = 1.0;

/// Misses of one level, over every pair of ways.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelMisses {
    pub level: CacheLevel,
    pub pairs: usize,
    /// Of those, significantly.
    pub differ: usize,
    /// The largest significant difference.
    pub largest: Option<FallOfMisses>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FallOfMisses {
    /// Mechanisms, and the misses per message of each.
    pub fewer: String,
    pub more: String,
    pub fewer_misses: f64,
    pub more_misses: f64,
    /// Of the misses of `more` over those of `fewer`.
    pub ratio: Estimate,
    pub place: Point,
}

impl FallOfMisses {
    fn lines(&self) -> f64 {
        self.more_misses - self.fewer_misses
    }
}

impl Finding for CacheLevels {
    fn id(&self) -> &'static str {
        "cache_levels"
    }

    fn answered(&self, evidence: &Evidence<'_>) -> Answer {
        let levels = levels(evidence);
        if levels.is_empty() {
            return uncounted(evidence, self.id());
        }
        let mut told: Vec<(f64, bool, Shown)> =
            levels.iter().map(|(level, all)| shown(evidence, *level, all)).collect();
        told.sort_by(|a, b| b.0.total_cmp(&a.0));
        let falls = told.iter().filter(|(strength, ..)| *strength > 0.0).count();
        let verdict = AnswerVerdict::at(falls, told.len()).or_open(told.iter().any(|(_, open, _)| *open));
        let mut caveats = vec![Caveat::MissesOfBothSides];
        let modelled = evidence.run.record.modelled_caches();
        caveats.extend(modelled.map(|caches| Caveat::ModelledCaches { caches: caches.into() }));
        let counted = |level| levels.iter().any(|(counted, _)| *counted == level);
        let missing: Vec<CacheLevel> =
            LEVELS.iter().map(|(level, ..)| *level).filter(|l| !counted(*l)).collect();
        // An emulator has no other counter that anybody could ask for.
        if !missing.is_empty() && modelled.is_none() {
            caveats.push(Caveat::LevelsNotCounted { levels: missing });
        }
        let shown = told.into_iter().map(|(.., shown)| shown).collect();
        let compared = levels.into_iter().map(|(_, all)| Family::made(all)).collect();
        Answer::found(self.id(), verdict, shown, caveats).comparing(compared)
    }
}

/// The levels that were counted.
fn levels(evidence: &Evidence<'_>) -> Vec<(CacheLevel, Comparisons)> {
    let compare = |(level, metric, _): &(CacheLevel, &str, &str)| {
        let found = Comparisons::of(evidence.run, evidence.cells, evidence.groups, metric)?;
        (!found.pairs.is_empty()).then_some((*level, found))
    };
    LEVELS.iter().filter_map(compare).collect()
}

fn uncounted(evidence: &Evidence<'_>, question: &'static str) -> Answer {
    let counters = |name: &String| LEVELS.iter().any(|(.., counter)| name.contains(counter));
    let why = evidence.run.record.missing.iter().find(|missing| missing.quantities.iter().any(counters));
    let reason = why.map(|missing| (missing.why.reason.clone(), missing.why.remedy.clone()));
    Answer::not_measured(question, Lack::CacheMisses { reason }, "syscost doctor")
}

/// What is to be said of a level, how strong it is, and whether more rounds may tell.
fn shown(evidence: &Evidence<'_>, level: CacheLevel, all: &Comparisons) -> (f64, bool, Shown) {
    let apart = |pair: &&Comparison| fall(evidence, pair).is_some_and(|fall| fall.lines() >= LEAST_MISSES);
    let mut differ: Vec<&Comparison> = all.pairs.iter().filter(apart).collect();
    differ.sort_by(|a, b| b.strength().total_cmp(&a.strength()));
    let says = LevelMisses {
        level,
        pairs: all.pairs.len(),
        differ: differ.len(),
        largest: differ.first().and_then(|pair| fall(evidence, pair)),
    };
    let strength = differ.first().map_or(0.0, |pair| pair.strength());
    let told = if differ.is_empty() { all.pairs.iter().collect() } else { differ };
    let cells = refs(all.metric.id, told.iter().flat_map(|pair| [pair.a, pair.b]).collect());
    let rows = told.into_iter().map(ComparisonRef::from).collect();
    let open = all.pairs.iter().any(Comparison::is_open);
    (strength, open, Shown::comparing(Says::CacheLevels(says), rows, cells))
}

/// From whom to whom misses fall, at which place, and how much.
fn fall(evidence: &Evidence<'_>, pair: &Comparison) -> Option<FallOfMisses> {
    let fewer = pair.better(Better::Lower)?;
    let more = if fewer == pair.a { pair.b } else { pair.a };
    let name = |case: usize| Some(evidence.run.case(case)?.point.get(RIVALS.id)?.to_string());
    let misses = |case: usize| Some(evidence.cells.cell(case, pair.metric)?.estimate.value);
    Some(FallOfMisses {
        fewer: name(fewer)?,
        more: name(more)?,
        fewer_misses: misses(fewer)?,
        more_misses: misses(more)?,
        ratio: pair.seen_from(more),
        place: evidence.run.case(fewer)?.point.without(RIVALS.id),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use crate::whole::Analysis;
    use syscost_experiment::run::{MissingQuantities, Run};
    use syscost_host::Unavailable;

    fn answer(run: &Run) -> Answer {
        let analysis = Analysis::of(run);
        CacheLevels.answered(&analysis.evidence(run))
    }

    fn misses(shown: &Shown) -> &LevelMisses {
        let Says::CacheLevels(misses) = &shown.says else { panic!("{shown:?}") };
        misses
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
        let answer = answer(&counted());
        let [l1, last] = &answer.shown[..] else { panic!("{answer:?}") };
        let found = misses(l1);
        assert_eq!((found.level, found.pairs), (CacheLevel::L1Data, 30));
        let largest = found.largest.as_ref().unwrap();
        assert_eq!((largest.fewer.as_str(), largest.place.int_at("message_bytes")), ("sendmsg", Some(65536)));
        assert!((1.6..1.75).contains(&largest.ratio.value), "{largest:?}");
        assert_eq!(l1.comparisons.len(), found.differ);
        assert_eq!((misses(last).differ, &misses(last).largest, last.comparisons.len()), (0, &None, 30));
        assert_eq!(answer.verdict, AnswerVerdict::Partly);
        assert_eq!(
            answer.caveats[1],
            Caveat::LevelsNotCounted {
                levels: vec![CacheLevel::L1Instructions, CacheLevel::L2, CacheLevel::General]
            }
        );
    }

    #[test]
    fn without_counters_there_is_no_guess() {
        let mut run = Synthetic::default().run();
        assert_eq!(answer(&run).lacks, Some(Lack::CacheMisses { reason: None }));
        let why = Unavailable { reason: "no PMU".into(), remedy: "use the bare machine".into() };
        let quantities = vec!["sender_l1d_misses_user".into()];
        run.record.missing.push(MissingQuantities { quantities, why });
        let reason = Some(("no PMU".into(), "use the bare machine".into()));
        assert_eq!(answer(&run).lacks, Some(Lack::CacheMisses { reason }));
    }
}
