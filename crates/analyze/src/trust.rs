//! Whether to believe a run: how much it decided, how far identical cases are apart, and how quiet the machine was.

use crate::Problem;
use crate::cells::Cells;
use crate::cells::precision::Precision;
use crate::cells::turn_metrics::steady_id;
use crate::compare::Comparison;
use crate::compare::identical::Identical;
use crate::compare::study::Study;
use crate::finding::layers::places_of;
use crate::finding::{Answer, Evidence};
use crate::latency::Latency;
use crate::level::MachineLevel;
use crate::problem::ProblemKind;
use serde::Serialize;
use std::collections::BTreeSet;
use syscost_core::decide::{Decision, MARGIN, Verdict};
use syscost_experiment::plan::Case;
use syscost_experiment::run::{Run, State};
use syscost_host::conditions::{Conditions, load_status, steal_status};
use syscost_host::doctor::Status;
use syscost_measure::probe;

/// What slices and windows both know, and from which factor and share of cases on their difference counts.
const OF_SLICES: &str = "total_cpu_ns_per_message";
const FAR_APART: f64 = 1.5;
const MANY_APART: f64 = 0.1;
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
/// With more unsteady cases, a figure taken at random may be a mixture.
const MOSTLY_STEADY: f64 = 0.25;
/// With fewer rounds hardly anything is known of the scatter.
const FEWEST_ROUNDS: u32 = 3;

/// How far to rely on the figures of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Trust {
    /// The worst of the reasons.
    pub level: TrustLevel,
    pub reasons: Vec<TrustReason>,
}

/// The best first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TrustLevel {
    Good,
    Fair,
    /// Also before anything was judged.
    #[default]
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
        /// Those that it modelled, where it counted their misses.
        #[serde(skip_serializing_if = "Option::is_none")]
        caches: Option<String>,
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
    /// Cases whose CPU time by slices is far from that of their windows, and by what factor at most.
    SlicesApart {
        cases: usize,
        of: usize,
        factor: f64,
    },
    /// Cases with two levels, a drift or a change of level.
    Unsteady {
        cases: usize,
        of: usize,
    },
    /// Cases without an interval as narrow as asked.
    Imprecise {
        cases: usize,
        of: usize,
        asked: f64,
    },
}

impl Trust {
    pub fn of(evidence: &Evidence<'_>, answers: &[Answer], level: Option<&MachineLevel>) -> Trust {
        let Evidence { run, cells, studies, latency, .. } = evidence;
        if cells.is_empty() {
            let reason = TrustReason { level: TrustLevel::Poor, fact: TrustFact::NoSamples };
            return Trust { level: TrustLevel::Poor, reasons: vec![reason] };
        }
        let first = studies.first();
        let emulated = run.record.emulator().map(|by| TrustReason {
            // No time of it is shown or compared, and what was counted holds.
            level: TrustLevel::Fair,
            fact: TrustFact::Emulated {
                by: by.to_string(),
                caches: run.record.modelled_caches().map(str::to_string),
            },
        });
        let reasons = emulated
            .into_iter()
            .chain(contradictions(run))
            .chain(failed(run))
            .chain(first.and_then(|study| decided(run, study, &layers(answers))))
            .chain(figures(evidence, first))
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
fn figures(evidence: &Evidence<'_>, first: Option<&Study>) -> Vec<TrustReason> {
    let Evidence { run, cells, .. } = evidence;
    if run.record.emulator().is_some() {
        return Vec::new();
    }
    match first.filter(|study| !study.comparisons.pairs.is_empty()) {
        Some(study) => few_rounds(run, study).into_iter().chain(slices_apart(run, cells)).collect(),
        None => {
            let rounds = fewest_rounds(run, cells).into_iter();
            rounds.chain(imprecise(run, cells)).chain(unsteady(evidence)).collect()
        }
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
    let decisions = decisions(run, study);
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
    let fact = TrustFact::Decided { metric: all.metric.id, decided, comparisons, minutes_needed: half };
    (comparisons > 0).then(|| TrustReason { level: by_limits(-share, -DECIDED.0, -DECIDED.1), fact })
}

/// Of a study what tables show: against the control, over all thread counts where that is asked. Of rivals without a
/// control every pair.
fn decisions<'s>(run: &Run, study: &'s Study) -> Vec<&'s Decision> {
    let all = &study.comparisons;
    let of = |shown: &dyn Fn(&Comparison) -> bool| -> Vec<&'s Decision> {
        let over = all.over_threads.iter().filter(|over| over.pairs.iter().any(|at| shown(&all.pairs[*at])));
        let alone = all.pairs.iter().filter(|pair| pair.over.is_none() && shown(pair));
        over.map(|over| &over.decision).chain(alone.map(|pair| &pair.decision)).collect()
    };
    let controls = run.record.plan.controls();
    let shown = of(&|pair| controls.contains(&pair.a) != controls.contains(&pair.b));
    if shown.is_empty() { of(&|_| true) } else { shown }
}

/// With so few hardly anything is known of the scatter; what more would decide is told with what is open.
fn few_rounds(run: &Run, study: &Study) -> Option<TrustReason> {
    let rounds = study.comparisons.pairs.iter().map(|pair| pair.decision.rounds).max()?;
    let fact = TrustFact::FewRounds { rounds, asked: run.record.spec.min_rounds };
    (rounds < FEWEST_ROUNDS).then_some(TrustReason { level: TrustLevel::Poor, fact })
}

/// Where others use the CPUs, a short slice pays for cold caches and for being woken, and a window hardly.
fn slices_apart(run: &Run, cells: &Cells) -> Option<TrustReason> {
    let factor = |case: &Case| {
        let slices = cells.estimate(case.index, OF_SLICES)?;
        let windows = cells.cell(case.index, steady_id(OF_SLICES)?)?.estimate;
        let disjoint = slices.low > windows.high || windows.low > slices.high;
        let ratio = slices.value / windows.value;
        Some(if disjoint { ratio.max(1.0 / ratio) } else { 1.0 })
    };
    let cases = run.record.plan.cases.iter().filter(|case| case.twin_of.is_none());
    let all: Vec<f64> = cases.filter_map(factor).collect();
    let apart = all.iter().filter(|factor| **factor > FAR_APART).count();
    let level =
        if apart as f64 > MANY_APART * all.len() as f64 { TrustLevel::Fair } else { TrustLevel::Good };
    let factor = all.iter().copied().reduce(f64::max)?;
    let fact = TrustFact::SlicesApart { cases: apart, of: all.len(), factor };
    (apart > 0).then_some(TrustReason { level, fact })
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

/// More rounds make an interval of them narrow, and not a figure that they have in common.
fn unsteady(evidence: &Evidence<'_>) -> Option<TrustReason> {
    let unsteady = |problem: &&Problem| {
        use ProblemKind::{Drift, NoSteadyState, Shift, TwoLevels};
        matches!(problem.kind, TwoLevels { .. } | Drift { .. } | Shift { .. } | NoSteadyState)
    };
    let found: BTreeSet<usize> =
        evidence.problems.iter().filter(unsteady).map(|problem| problem.case).collect();
    let (_, of) = Precision::reached(evidence.run, evidence.cells);
    let fact = TrustFact::Unsteady { cases: found.len(), of };
    let many = found.len() as f64 > MOSTLY_STEADY * of as f64;
    many.then_some(TrustReason { level: TrustLevel::Fair, fact })
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
    let Conditions { others_share, steal_share, cpus, .. } = run.record.during()?;
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
    let ((lowest, highest), slow_share) = (level.range(), level.slow_share());
    let fact = TrustFact::Level { lowest, highest, slow_share };
    let trust = if slow_share > MOSTLY_SLOW { TrustLevel::Fair } else { TrustLevel::Good };
    (level.changed && slow_share >= WORTH_TELLING).then_some(TrustReason { level: trust, fact })
}

fn ended(run: &Run) -> Option<TrustReason> {
    let state = run.record.state;
    let level = match state {
        State::Complete | State::NothingMeasured => return None,
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
mod tests;
