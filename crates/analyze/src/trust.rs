//! Whether to believe a run: how much it decided, how far identical cases are apart, and how quiet the machine was.

use crate::cells::Cells;
use crate::cells::precision::Precision;
use crate::compare::identical::Identical;
use crate::compare::study::Study;
use crate::finding::Answer;
use crate::finding::layers::places_of;
use crate::latency::Latency;
use crate::level::MachineLevel;
use serde::Serialize;
use syscost_core::decide::{Decision, MARGIN, Verdict};
use syscost_experiment::plan::Case;
use syscost_experiment::run::{Run, State};
use syscost_host::conditions::{Conditions, load_status, steal_status};
use syscost_host::doctor::Status;
use syscost_measure::probe;

/// What the hardware counts, if it does.
const CYCLES: &str = "cycles_per_byte";
/// From these shares of decided comparisons on a run is good, or fair.
const DECIDED: (f64, f64) = (0.75, 0.4);
/// Identical cases may differ by so many margins in a fair run.
const FAIR_MARGINS: f64 = 3.0;
/// Share of the samples that a slow machine may spoil.
const MOSTLY_SLOW: f64 = 0.25;
/// A smaller share of slow samples moves no median.
const WORTH_TELLING: f64 = 0.01;
/// With fewer cases as precise as asked, one taken at random is likelier to miss it.
const MOSTLY_PRECISE: f64 = 0.5;
/// With fewer rounds hardly anything is known of the scatter.
const FEWEST_ROUNDS: u32 = 3;

/// How far to rely on the figures of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trust {
    /// The worst of the reasons.
    pub level: TrustLevel,
    pub reasons: Vec<TrustReason>,
}

/// The best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TrustLevel {
    Good,
    Fair,
    Poor,
}

impl TrustLevel {
    fn milder(self) -> TrustLevel {
        match self {
            TrustLevel::Poor => TrustLevel::Fair,
            TrustLevel::Fair | TrustLevel::Good => TrustLevel::Good,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrustReason {
    pub level: TrustLevel,
    #[serde(flatten)]
    pub fact: TrustFact,
}

/// What is known, whether it is good or not.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", content = "of", rename_all = "snake_case")]
pub enum TrustFact {
    NoSamples,
    /// The record of an emulated machine: its times mean nothing.
    Emulated {
        by: String,
    },
    /// Comparisons by a metric: over thread counts where there are several, else by point.
    Decided {
        metric: &'static str,
        decided: usize,
        comparisons: usize,
        /// Of more measuring that would decide half of the others; `None`: more than a day, or nothing is open.
        minutes_needed: Option<f64>,
    },
    /// What identical cases differ by: the mean ratio with its 95 % interval, and the largest difference of a pair.
    Twins {
        metric: &'static str,
        ratio: f64,
        low: f64,
        high: f64,
        farthest: f64,
        pairs: u32,
    },
    NoTwins,
    /// The shares of all CPUs' time that others used and that the hypervisor took.
    Machine {
        load_average: Option<f64>,
        others_share: Option<f64>,
        steal_share: Option<f64>,
    },
    /// The machine's speed changed during the run: so much of the samples were taken while it was slow.
    Level {
        lowest: f64,
        highest: f64,
        slow_share: f64,
    },
    /// Were there hardware counters?
    Counters {
        present: bool,
    },
    /// Were copies counted in the kernel?
    Ledger {
        present: bool,
    },
    /// How the run ended, where not by itself.
    Ended {
        state: State,
    },
    /// Cases whose bytes of copies do not add up.
    Contradictions {
        cases: usize,
    },
    FailedRounds {
        rounds: usize,
    },
    /// Behind the median comparison, or where nothing is compared behind nine of ten cases; and what was asked.
    FewRounds {
        rounds: u32,
        asked: u32,
    },
    /// Cases without an interval as narrow as asked.
    Imprecise {
        cases: usize,
        of: usize,
        asked: f64,
    },
}

impl Trust {
    pub fn of(
        run: &Run,
        cells: &Cells,
        studies: &[Study],
        latency: &Latency,
        answers: &[Answer],
        level: Option<&MachineLevel>,
    ) -> Trust {
        if cells.is_empty() {
            let reason = TrustReason { level: TrustLevel::Poor, fact: TrustFact::NoSamples };
            return Trust { level: TrustLevel::Poor, reasons: vec![reason] };
        }
        let first = studies.first();
        let emulated = run.record.emulator().map(|by| TrustReason {
            level: TrustLevel::Poor,
            fact: TrustFact::Emulated { by: by.to_string() },
        });
        let reasons = emulated
            .into_iter()
            .chain(contradictions(run))
            .chain(failed(run))
            .chain(first.and_then(|study| decided(run, study, &layers(answers))))
            .chain(figures(run, cells, first))
            .chain(first.map(twins))
            .chain(by_other_metrics(run, studies, latency))
            .chain(machine(run))
            .chain(level.and_then(changed))
            .chain(ended(run))
            .chain(first.into_iter().flat_map(|_| what_was_counted(run, cells)));
        let reasons: Vec<TrustReason> = reasons.collect();
        let level = reasons.iter().map(|reason| reason.level).max().unwrap_or(TrustLevel::Good);
        Trust { level, reasons }
    }
}

/// What comparisons stand on is their rounds. Where nothing is compared, each case has to stand by itself.
fn figures(run: &Run, cells: &Cells, first: Option<&Study>) -> Vec<TrustReason> {
    match first.filter(|study| !study.comparisons.pairs.is_empty()) {
        Some(study) => few_rounds(run, study).into_iter().collect(),
        None => fewest_rounds(run, cells).into_iter().chain(imprecise(run, cells)).collect(),
    }
}

/// A run is judged by its first metric, one of latency by its times. What else is compared counts one level less: that
/// it is open leaves those answers as they are. Identical cases are told of the first alone: the interval of windows, of
/// which a run has few, was outside the truth in 12 of 100 synthetic runs, where 5 were to be.
fn by_other_metrics(run: &Run, studies: &[Study], latency: &Latency) -> Vec<TrustReason> {
    let others = studies.get(1..).unwrap_or_default();
    let open = others.iter().chain(&latency.studies).filter_map(|study| decided(run, study, &[]));
    open.map(|reason| TrustReason { level: reason.level.milder(), ..reason }).collect()
}

fn by_limits(value: f64, good: f64, fair: f64) -> TrustLevel {
    match value {
        v if v <= good => TrustLevel::Good,
        v if v <= fair => TrustLevel::Fair,
        _ => TrustLevel::Poor,
    }
}

/// Layers of a network are compared by the first metric too, each beside the path that lacks it.
fn layers(answers: &[Answer]) -> Vec<Verdict> {
    let shown = answers.iter().flat_map(|answer| &answer.shown);
    shown.filter_map(places_of).flatten().map(|place| place.verdict).collect()
}

fn decided(run: &Run, study: &Study, beside: &[Verdict]) -> Option<TrustReason> {
    let all = &study.comparisons;
    let alone = all.pairs.iter().filter(|pair| pair.over.is_none()).map(|pair| &pair.decision);
    let decisions: Vec<&Decision> = all.over_threads.iter().map(|over| &over.decision).chain(alone).collect();
    let open: Vec<&Decision> =
        decisions.iter().copied().filter(|d| d.verdict == Verdict::Undecided).collect();
    let open_beside = beside.iter().filter(|verdict| **verdict == Verdict::Undecided).count();
    let comparisons = decisions.len() + beside.len();
    let decided = comparisons - open.len() - open_beside;
    let share = decided as f64 / comparisons.max(1) as f64;
    let pace = all.pace(run);
    // Of a single round nothing is known that would tell.
    let known = open.iter().filter(|d| d.level > 0.0);
    let mut minutes: Vec<f64> = known.map(|d| pace.minutes_needed(d).unwrap_or(f64::INFINITY)).collect();
    minutes.sort_by(f64::total_cmp);
    let half = minutes.get(minutes.len().saturating_sub(1) / 2).copied().filter(|half| half.is_finite());
    let fact = TrustFact::Decided {
        metric: all.metric.id,
        decided,
        comparisons,
        minutes_needed: half,
    };
    (comparisons > 0).then(|| TrustReason { level: by_limits(-share, -DECIDED.0, -DECIDED.1), fact })
}

fn few_rounds(run: &Run, study: &Study) -> Option<TrustReason> {
    let asked = run.record.spec.min_rounds;
    // What is decided gets no more of them.
    let mut all: Vec<u32> = study.comparisons.pairs.iter().map(|pair| pair.decision.rounds).collect();
    all.sort_unstable();
    let rounds = *all.get(all.len() / 2)?;
    let level = if rounds < FEWEST_ROUNDS { TrustLevel::Poor } else { TrustLevel::Fair };
    (rounds < asked).then_some(TrustReason { level, fact: TrustFact::FewRounds { rounds, asked } })
}

/// Of cases that stand by themselves.
fn fewest_rounds(run: &Run, cells: &Cells) -> Option<TrustReason> {
    let asked = run.record.spec.min_rounds;
    let decisive = |case: &Case| Some(*probe::find(&case.probe)?.decisive().first()?);
    let cases = run.record.plan.cases.iter();
    let measured = cases.filter_map(|case| Some(cells.cell(case.index, decisive(case)?)?.estimate.n));
    let mut all: Vec<u32> = measured.collect();
    all.sort_unstable();
    let rounds = *all.get(all.len() / 10)?;
    let level = if rounds < FEWEST_ROUNDS { TrustLevel::Poor } else { TrustLevel::Fair };
    (rounds < asked).then_some(TrustReason { level, fact: TrustFact::FewRounds { rounds, asked } })
}

fn imprecise(run: &Run, cells: &Cells) -> Option<TrustReason> {
    let (reached, of) = Precision::reached(run, cells);
    let fact = TrustFact::Imprecise { cases: of - reached, of, asked: run.record.spec.precision };
    ((reached as f64) < MOSTLY_PRECISE * of as f64).then_some(TrustReason { level: TrustLevel::Fair, fact })
}

fn contradictions(run: &Run) -> Option<TrustReason> {
    let cases = run.record.audits.iter().filter(|audit| audit.balanced() == Some(false)).count();
    (cases > 0).then_some(TrustReason { level: TrustLevel::Poor, fact: TrustFact::Contradictions { cases } })
}

fn failed(run: &Run) -> Option<TrustReason> {
    let rounds = run.record.failures.len();
    (rounds > 0).then_some(TrustReason { level: TrustLevel::Fair, fact: TrustFact::FailedRounds { rounds } })
}

fn twins(study: &Study) -> TrustReason {
    let Some(Identical { ratio, low, high, farthest, twins }) = study.comparisons.identical else {
        return TrustReason { level: TrustLevel::Good, fact: TrustFact::NoTwins };
    };
    let apart = low.ln().abs().max(high.ln().abs());
    let (good, fair) = ((1.0 + MARGIN).ln(), (1.0 + FAIR_MARGINS * MARGIN).ln());
    let metric = study.comparisons.metric.id;
    let fact = TrustFact::Twins { metric, ratio, low, high, farthest, pairs: twins };
    TrustReason { level: by_limits(apart, good, fair), fact }
}

fn machine(run: &Run) -> Option<TrustReason> {
    let during: Vec<Conditions> =
        run.record.conditions.iter().map(|session| session.during.clone()).collect();
    let during = Conditions::joined(&during)?;
    let Conditions { others_share, steal_share, cpus, .. } = during;
    // Load makes a run longer; what it decided holds. Stolen time makes figures wrong.
    // The load average during a run is its own.
    let busy = load_status(others_share, None, cpus) == Status::Bad;
    let stolen = steal_share.is_some_and(|share| steal_status(share) == Status::Bad);
    let level = match (stolen, busy) {
        (true, _) => TrustLevel::Poor,
        (false, true) => TrustLevel::Fair,
        _ => TrustLevel::Good,
    };
    let load_average = run.record.conditions.first().and_then(|session| session.before.load_average);
    let known = others_share.is_some() || steal_share.is_some() || load_average.is_some();
    let fact = TrustFact::Machine { load_average, others_share, steal_share };
    known.then_some(TrustReason { level, fact })
}

fn changed(level: &MachineLevel) -> Option<TrustReason> {
    let (lowest, highest) = level.range();
    let all: usize = level.stretches.iter().map(|stretch| stretch.samples).sum();
    let slow: usize = level.slow().map(|stretch| stretch.samples).sum();
    let slow_share = slow as f64 / all.max(1) as f64;
    let fact = TrustFact::Level { lowest, highest, slow_share };
    let trust = if slow_share > MOSTLY_SLOW { TrustLevel::Fair } else { TrustLevel::Good };
    (level.changed && slow_share >= WORTH_TELLING).then_some(TrustReason { level: trust, fact })
}

fn ended(run: &Run) -> Option<TrustReason> {
    let state = run.record.state;
    let level = match state {
        State::Complete => return None,
        // Each case has its precision stated, and what was decided is counted above.
        State::TimeLimit => TrustLevel::Good,
        State::Interrupted | State::Running => TrustLevel::Fair,
    };
    Some(TrustReason { level, fact: TrustFact::Ended { state } })
}

/// Costs hold without them; why they are what they are is not seen.
fn what_was_counted(run: &Run, cells: &Cells) -> [TrustReason; 2] {
    let counters = TrustFact::Counters { present: cells.of_metric(CYCLES).next().is_some() };
    let ledger = TrustFact::Ledger { present: run.record.audits.iter().any(|audit| audit.counts.is_some()) };
    [counters, ledger].map(|fact| TrustReason { level: TrustLevel::Good, fact })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{self, Synthetic};
    use crate::whole::Analysis;
    use syscost_experiment::run::SessionConditions;

    fn trust(run: &Run) -> Trust {
        Analysis::of(run).trust
    }

    fn planted() -> Synthetic {
        let cost_ns = |p: &syscost_core::axis::Point| match p.text_at("mechanism") {
            Some("sendmsg") => 1300.0,
            _ => 1000.0,
        };
        Synthetic { cost_ns, noise: 0.005, rounds: 14, twin_every: 4, ..Default::default() }
    }

    fn fact(trust: &Trust, wanted: fn(&TrustFact) -> bool) -> &TrustReason {
        trust.reasons.iter().find(|reason| wanted(&reason.fact)).unwrap_or_else(|| panic!("{trust:#?}"))
    }

    #[test]
    fn a_quiet_run_that_decides_is_good_and_says_what_was_not_counted() {
        let found = trust(&planted().run());
        assert_eq!(found.level, TrustLevel::Good, "{found:#?}");
        let decided = fact(&found, |fact| matches!(fact, TrustFact::Decided { .. }));
        let TrustFact::Decided { decided, comparisons, .. } = decided.fact else { panic!() };
        assert!(comparisons == 15 && decided >= 12, "over thread counts: {decided} of {comparisons}");
        let TrustFact::Twins { farthest, pairs, .. } =
            fact(&found, |fact| matches!(fact, TrustFact::Twins { .. })).fact
        else {
            panic!()
        };
        assert!(pairs == 8 && farthest < 0.03, "{farthest} of {pairs}");
        fact(&found, |fact| *fact == TrustFact::Counters { present: false });
        fact(&found, |fact| *fact == TrustFact::Ledger { present: false });
    }

    #[test]
    fn noise_few_rounds_steal_and_a_broken_off_run_lower_it() {
        let noisy = trust(&Synthetic { noise: 0.3, rounds: 6, cost_ns: |_| 1000.0, ..planted() }.run());
        assert_eq!(noisy.level, TrustLevel::Poor, "{noisy:#?}");
        let short = trust(&Synthetic { rounds: 2, ..planted() }.run());
        let few = fact(&short, |fact| *fact == TrustFact::FewRounds { rounds: 2, asked: 6 });
        assert_eq!(few.level, TrustLevel::Poor);
        let mut run = planted().run();
        run.record.state = State::Interrupted;
        assert_eq!(trust(&run).level, TrustLevel::Fair);
        let before = Conditions { watched_ns: 1, cpus: 2, load_average: Some(0.1), ..Conditions::default() };
        let busy = Conditions { others_share: Some(0.5), steal_share: Some(0.0), ..before.clone() };
        let stolen = Conditions { steal_share: Some(0.2), ..busy.clone() };
        run.record.state = State::Complete;
        for (during, level) in [(busy, TrustLevel::Fair), (stolen, TrustLevel::Poor)] {
            run.record.conditions = vec![SessionConditions { before: before.clone(), during }];
            let found = trust(&run);
            assert_eq!(found.level, level, "{found:#?}");
        }
        let without = trust(&Synthetic { twin_every: 0, ..planted() }.run());
        fact(&without, |fact| *fact == TrustFact::NoTwins);
    }

    #[test]
    fn every_metric_says_what_it_decided_and_the_first_weighs_most() {
        let mut run = planted().run();
        for sample in run.samples.iter_mut() {
            sample.elapsed_ns *= 1.0 + 0.5 * f64::from((sample.round * 7 + sample.case as u32 * 3) % 5);
        }
        let found = trust(&run);
        let of = |wanted: &str| {
            let fact = found.reasons.iter().find_map(|reason| match reason.fact {
                TrustFact::Decided { metric, decided, comparisons, .. } if metric == wanted => {
                    Some((reason.level, decided * 10 / comparisons))
                }
                _ => None,
            });
            fact.unwrap_or_else(|| panic!("{found:#?}"))
        };
        assert!(matches!(of("total_cpu_ns_per_byte"), (TrustLevel::Good, 8..)), "{found:#?}");
        assert_eq!(of("throughput"), (TrustLevel::Fair, 0));
        assert_eq!(found.level, TrustLevel::Fair);
        let twins = |metric: &str| {
            found
                .reasons
                .iter()
                .any(|reason| matches!(&reason.fact, TrustFact::Twins { metric: of, .. } if *of == metric))
        };
        assert!(
            twins("total_cpu_ns_per_byte") && !twins("throughput"),
            "by windows their interval is too narrow"
        );
    }

    #[test]
    fn rows_that_stand_by_themselves_are_mostly_as_precise_as_asked_or_need_care() {
        let mut run = synthetic::clocks(10, None, 20.0);
        assert_eq!(trust(&run).level, TrustLevel::Good, "{:#?}", trust(&run));
        let cases = run.record.plan.cases.len();
        let wide = |run: &mut Run, case: usize| {
            for sample in run.samples.iter_mut().filter(|sample| sample.case == case) {
                sample.quantities.insert("low_ns".into(), Some(20.0 + 9.0 * f64::from(sample.round)));
            }
        };
        (0..cases / 2).for_each(|case| wide(&mut run, case));
        assert_eq!(trust(&run).level, TrustLevel::Good, "half of them");
        (cases / 2..cases).for_each(|case| wide(&mut run, case));
        let found = trust(&run);
        let asked = run.record.spec.precision;
        fact(&found, |fact| matches!(fact, TrustFact::Imprecise { .. }));
        let all = TrustFact::Imprecise { cases, of: cases, asked };
        assert!(found.level == TrustLevel::Fair && found.reasons[0].fact == all, "{found:#?}");
        let alone = Synthetic { mechanisms: vec!["send"], rounds: 1, ..planted() }.run();
        assert_eq!(trust(&alone).level, TrustLevel::Poor, "nothing is compared: one round is too few");
    }

    #[test]
    fn a_run_without_samples_is_not_to_be_believed() {
        let found = trust(&Synthetic { rounds: 0, ..planted() }.run());
        let reason = TrustReason { level: TrustLevel::Poor, fact: TrustFact::NoSamples };
        assert_eq!((found.level, &found.reasons[..]), (TrustLevel::Poor, &[reason][..]));
    }
}
