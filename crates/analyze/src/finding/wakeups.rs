//! Do wake-ups decide? A side that takes everything at once empties the queue and sleeps, and the other pays for
//! waking it: then throughput is decided by how often a side sleeps, whatever moves the bytes.
//!
//! Pairs that differ in the read size alone, and mechanisms beside the control. Said only where throughput is
//! significantly higher on the side that sleeps less, round after round (signed ranks, Holm over all that were looked
//! at), by half at least, and where a generous price of a sleep covers what was lost.

use super::pairs::refs;
use super::{Evidence, Finding, SentenceAnswer};
use crate::Statement;
use crate::compare::Comparisons;
use crate::compare::groups::Groups;
use crate::compare::study::RIVALS;
use crate::words::{Words, count, figure};
use syscost_core::sample::Better;
use syscost_core::stats::{Estimate, holm, signed_rank};
use syscost_core::units::{Unit, significant};
use syscost_measure::mechanism;
use syscost_measure::probe::transfer::axes::THREADS;
use syscost_measure::receiver::options::READ_BYTES;

pub struct WakeUps;

const SPEED: &str = "throughput";
const RATE: &str = "messages_per_second";
/// Sleeps per message, and whose they are.
const SLEEPS: [(&str, &str); 2] = [
    ("receiver_voluntary_switches_per_message", "receiver"),
    ("sender_voluntary_switches_per_message", "sender"),
];
/// How much more often the slower one sleeps.
const FACTOR: f64 = 1.5;
/// A sleep with its wake-up on an idle CPU costs no more.
const DEAREST_NS: f64 = 1e5;

/// What is compared: an axis, and what its values are called.
const KINDS: [(&str, &str); 2] = [(READ_BYTES.id, "read sizes"), (RIVALS.id, "mechanisms and the control")];

impl Finding for WakeUps {
    fn id(&self) -> &'static str {
        "wake_ups"
    }

    fn asked(&self, evidence: &Evidence<'_>) -> bool {
        let words = Words::of(evidence.run);
        KINDS.iter().any(|(axis, _)| words.varies(axis)) && evidence.cells.of_metric(SPEED).next().is_some()
    }

    fn answer(&self, evidence: &Evidence<'_>) -> SentenceAnswer {
        let words = Words::of(evidence.run);
        let kinds: Vec<WakeupKind> =
            KINDS.iter().filter_map(|(axis, plural)| WakeupKind::of(evidence, axis, plural)).collect();
        if kinds.is_empty() {
            return SentenceAnswer::CannotBeAnswered {
                because:
                    "no two read sizes, and no mechanism beside the control, have their throughput and their \
                          sleeps in it"
                        .into(),
                command: "syscost run transfer --read-bytes buffer,message".into(),
            };
        }
        let mut caveats = vec![
            "that a side sleeps less where throughput is higher is evidence, not proof: a faster side also finds \
             less to wait for"
                .to_string(),
        ];
        if !words.varies(READ_BYTES.id) {
            caveats.push(
                "the receiver read in one size only; `syscost run transfer --read-bytes buffer,message` compares"
                    .into(),
            );
        }
        SentenceAnswer::Found {
            statements: kinds.iter().map(|kind| kind.statement(evidence, &words)).collect(),
            caveats,
        }
    }
}

/// The pairs along one axis.
struct WakeupKind {
    axis: &'static str,
    plural: &'static str,
    /// All that were looked at: both cases.
    pairs: Vec<(usize, usize)>,
    differ: usize,
    /// Largest first.
    decided: Vec<Decided>,
}

/// A pair that wake-ups decide.
struct Decided {
    fast: usize,
    slow: usize,
    /// Throughput, fast over slow.
    ratio: Estimate,
    sleeps: Sleeps,
}

/// Of one side of a pair.
struct Sleeps {
    metric: &'static str,
    whose: &'static str,
    of_fast: f64,
    of_slow: f64,
    /// What a sleep has to cost to account for the difference.
    each_ns: f64,
    p: f64,
}

impl WakeupKind {
    /// `None`: nothing to compare.
    fn of(evidence: &Evidence<'_>, axis: &'static str, plural: &'static str) -> Option<WakeupKind> {
        let groups = Groups::of(evidence.run, axis);
        let all = Comparisons::of(evidence.run, evidence.cells, &groups, SPEED)?;
        let has_sleeps = |case: usize| SLEEPS.iter().any(|(id, _)| evidence.cells.cell(case, id).is_some());
        let control = |case: usize| evidence.run.case(case)?.point.text(RIVALS);
        let wanted = |a: usize, b: usize| {
            axis != RIVALS.id || [a, b].iter().any(|c| control(*c) == Some(mechanism::control().about().id))
        };
        let looked: Vec<_> = all
            .pairs
            .iter()
            .filter(|pair| wanted(pair.a, pair.b) && has_sleeps(pair.a) && has_sleeps(pair.b))
            .collect();
        let mut differ = 0;
        let mut candidates = Vec::new();
        for pair in &looked {
            let Some(fast) = pair.better(Better::Higher) else { continue };
            let slow = if pair.a == fast { pair.b } else { pair.a };
            differ += 1;
            candidates.extend(SLEEPS.iter().filter_map(|(metric, whose)| {
                let sleeps = Sleeps::of(evidence, (metric, whose), fast, slow)?;
                Some(Decided { fast, slow, ratio: pair.seen_from(fast), sleeps })
            }));
        }
        let adjusted = holm(&candidates.iter().map(|c| c.sleeps.p).collect::<Vec<_>>());
        let alpha = 1.0 - evidence.run.record.spec.confidence;
        let significant = candidates.into_iter().zip(adjusted).filter(|(_, p)| *p < alpha).map(|(c, _)| c);
        let mut decided: Vec<Decided> = significant.filter(|c| c.sleeps.explain()).collect();
        // Of both sides of a pair the one that saves more sleeps.
        decided.sort_by(|a, b| a.sleeps.each_ns.total_cmp(&b.sleeps.each_ns));
        let mut seen = std::collections::BTreeSet::new();
        decided.retain(|one| seen.insert((one.fast, one.slow)));
        decided.sort_by(|a, b| b.ratio.value.total_cmp(&a.ratio.value));
        let pairs: Vec<(usize, usize)> = looked.iter().map(|pair| (pair.a, pair.b)).collect();
        (!pairs.is_empty()).then_some(WakeupKind { axis, plural, pairs, differ, decided })
    }

    fn statement(&self, evidence: &Evidence<'_>, words: &Words) -> Statement {
        let of_all = || self.pairs.iter().flat_map(|(a, b)| [*a, *b]).collect::<Vec<_>>();
        let pairs = count(self.pairs.len(), "pair");
        let Some(most) = self.decided.first() else {
            let text = if self.differ == 0 {
                format!(
                    "Throughput differs significantly at none of {pairs} of {}: nothing shows that wake-ups decide.",
                    self.plural
                )
            } else {
                format!(
                    "Wake-ups do not decide between {}: throughput differs significantly at {} of {pairs}, and sleeps account \
                     for none of them.",
                    self.plural, self.differ
                )
            };
            return Statement { text, cells: refs(SPEED, of_all()) };
        };
        let named = |case: usize| {
            let point = &evidence.run.case(case)?.point;
            Some(words.value(self.axis, point.get(self.axis)?))
        };
        let place = evidence.run.case(most.fast).map(|case| {
            let apart: Vec<&str> = if self.axis == RIVALS.id { vec![RIVALS.id] } else { Vec::new() };
            let who = case.point.text(RIVALS).filter(|_| apart.is_empty());
            let at = words.place(&case.point, &[RIVALS.id, self.axis]);
            who.map_or(at.clone(), |who| format!("{who}, {at}"))
        });
        let Sleeps { whose, of_fast, of_slow, each_ns, .. } = &most.sleeps;
        let text = format!(
            "Wake-ups decide between {} at {} of {pairs}: the faster one sleeps less. Largest: {} is {} faster than {} \
             ({}). There the {whose} sleeps {} instead of {} times a message; each sleep saved accounts for {}.",
            self.plural,
            self.decided.len(),
            named(most.fast).unwrap_or_default(),
            words.factor(&most.ratio),
            named(most.slow).unwrap_or_default(),
            place.unwrap_or_default(),
            significant(*of_fast),
            significant(*of_slow),
            figure(*each_ns, Unit::Nanoseconds),
        );
        let mut cells = refs(SPEED, self.decided.iter().flat_map(|one| [one.fast, one.slow]).collect());
        cells.extend(refs(most.sleeps.metric, vec![most.fast, most.slow]));
        Statement { text, cells }
    }
}

impl Sleeps {
    fn of(
        evidence: &Evidence<'_>,
        (metric, whose): (&'static str, &'static str),
        fast: usize,
        slow: usize,
    ) -> Option<Sleeps> {
        let cell = |case: usize, id: &str| evidence.cells.cell(case, id);
        let (a, b) = (cell(fast, metric)?, cell(slow, metric)?);
        let message_ns = |case: usize| {
            let threads = evidence.run.case(case)?.point.int(THREADS).unwrap_or(1) as f64;
            Some(threads * 1e9 / cell(case, RATE)?.estimate.value)
        };
        let (of_fast, of_slow) = (a.estimate.value, b.estimate.value);
        let each_ns = (message_ns(slow)? - message_ns(fast)?) / (of_slow - of_fast);
        let of_round: std::collections::BTreeMap<u32, f64> = a.rounds.iter().collect();
        let differences: Vec<f64> =
            b.rounds.iter().filter_map(|(round, slow)| Some(slow - of_round.get(&round)?)).collect();
        let p = signed_rank(&differences).p;
        Some(Sleeps { metric, whose, of_fast, of_slow, each_ns, p })
    }

    /// Are there enough more of them, and may they cost so much?
    fn explain(&self) -> bool {
        self.of_slow >= FACTOR * self.of_fast && self.each_ns > 0.0 && self.each_ns <= DEAREST_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use crate::whole::Analysis;
    use syscost_core::axis::{Point, Value};
    use syscost_experiment::run::Run;

    /// One mechanism with two read sizes: what was made as a second mechanism reads a message a call.
    fn planted(cost_ns: fn(&Point) -> f64, sleeps: [f64; 2]) -> Run {
        let mut run = Synthetic {
            mechanisms: vec!["send", "sendmsg"],
            sizes: vec![64, 1024],
            threads: vec![1],
            cost_ns,
            rounds: 12,
            noise: 0.01,
            ..Default::default()
        }
        .run();
        let by_message: Vec<bool> =
            run.record.plan.cases.iter().map(|c| c.point.text(RIVALS) == Some("sendmsg")).collect();
        for case in &mut run.record.plan.cases {
            case.point.set(READ_BYTES.id, Value::Int(by_message[case.index].into()));
            case.point.set(RIVALS.id, Value::text("send"));
        }
        for (number, sample) in run.samples.iter_mut().enumerate() {
            let each = sleeps[usize::from(by_message[sample.case])] * (1.0 + 0.01 * (number % 3) as f64);
            let messages = sample.get("receiver_messages").expect("a transfer counts its messages");
            sample.quantities.insert("receiver_voluntary_switches".into(), Some(each * messages));
        }
        run
    }

    fn told(run: &Run) -> String {
        let analysis = Analysis::of(run);
        match &WakeUps.answer(&analysis.evidence(run)) {
            SentenceAnswer::Found { statements, .. } => statements[0].text.clone(),
            other => panic!("{other:?}"),
        }
    }

    fn message_is_faster(p: &Point) -> f64 {
        if p.text(RIVALS) == Some("sendmsg") { 1000.0 } else { 1800.0 }
    }

    #[test]
    fn the_read_size_that_sleeps_less_is_faster_and_what_a_sleep_would_cost_is_said() {
        let text = told(&planted(message_is_faster, [0.3, 0.01]));
        assert!(
            text.starts_with(
                "Wake-ups decide between read sizes at 2 of 2 pairs: the faster one sleeps less."
            ),
            "{text}"
        );
        assert!(text.contains("Largest: message is 1.8") && text.contains("faster than buffer"), "{text}");
        assert!(text.contains("the receiver sleeps 0.0101 instead of 0.303 times a message"), "{text}");
        assert!(text.contains("each sleep saved accounts for"), "{text}");
    }

    #[test]
    fn nothing_is_put_down_to_sleeps_that_are_equal_more_or_too_few() {
        for sleeps in [[0.3, 0.3], [0.01, 0.3], [0.000_003, 0.000_001]] {
            let text = told(&planted(message_is_faster, sleeps));
            assert!(text.starts_with("Wake-ups do not decide between read sizes"), "{sleeps:?}: {text}");
            assert!(text.contains("differs significantly at 2 of 2 pairs"), "{text}");
        }
        let text = told(&planted(|_| 1000.0, [0.3, 0.01]));
        assert!(text.contains("differs significantly at none of 2 pairs of read sizes"), "{text}");
    }
}
