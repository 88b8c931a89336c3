//! The cases of a run, their seeded interleaved order, and what is skipped and why.
//!
//! A plan is made from a spec and what this machine allows, before anything is measured. It
//! measures nothing itself.

mod blocks;
mod expand;
mod refine;
mod thin;
mod twins;

pub use blocks::{BlockVisit, RivalBlock};
pub use refine::Refinement;
pub use thin::{NO_TIME, Thinned, rows_rounds, rows_time};

use crate::spec::{ProbeSpec, Spec};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::time::Duration;
use syscost_core::axis::{Axis, Kind, Name, Point, Value};
use syscost_core::stats::random::Random;
use syscost_host::Unavailable;
use syscost_host::allowance::Rooms;
use syscost_host::remote::transport::rsh;
use syscost_host::settings::clock_counts_instructions;
use syscost_measure::mechanism::THREADS;
use syscost_measure::probe::{self, Probe};

/// A probe at a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Index in the plan; `case` column of the files.
    pub index: usize,
    pub probe: Name,
    pub point: Point,
    /// This case repeats that one, to show what identical cases differ by (A/A). Never part of a comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub twin_of: Option<usize>,
}

/// A case that was asked for and cannot run here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Skip {
    pub probe: Name,
    pub point: Point,
    #[serde(flatten)]
    pub why: Unavailable,
}

/// A default that this machine cannot do, and what is measured instead. Only values that nobody
/// named are replaced: what was asked for is measured or skipped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Substitution {
    pub probe: String,
    pub axis: String,
    pub wanted: Value,
    pub used: Value,
    #[serde(flatten)]
    pub why: Unavailable,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub cases: Vec<Case>,
    pub skips: Vec<Skip>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub substitutions: Vec<Substitution>,
    /// Default values that a quick run has no time for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thinned: Vec<Thinned>,
    /// Stages that added cases to those that were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refinements: Vec<Refinement>,
    /// Another run of the same plan and seed was measured beside it, slice by slice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub side_by_side: bool,
}

/// Beyond this a plan is a mistake: one round of it would take hours.
pub const MOST_CASES: usize = 100_000;

/// Starting and joining the fresh workers of one round, beside its windows.
const ROUND_OVERHEAD: Duration = Duration::from_millis(15);

/// Why a spec cannot be planned here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("there is no probe {0:?} in this version of syscost")]
    NoProbe(String),
    #[error(
        "this asks for more than {MOST_CASES} cases of {probe} ({count} and counting): \
         name fewer values of --{flag}, which has {values}"
    )]
    TooManyCases { probe: String, count: usize, flag: &'static str, values: usize },
    #[error(
        "its {entries} entries ask for more than {MOST_CASES} cases together: name fewer values, or make two \
         experiments of it"
    )]
    TooManyTogether { entries: usize },
    #[error(
        "no case of this plan has room; {probe} at {point}: {}; {}", why.reason, why.remedy
    )]
    NoRoom { probe: String, point: String, why: Unavailable },
    #[error(
        "--{flag} applies to no case of this plan: what was named beside it has no such setting (syscost axes says \
         which values have)"
    )]
    AppliesToNothing { flag: &'static str },
}

/// How long a plan takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TimeEstimate {
    /// One visit of every case.
    pub round: Duration,
    /// The fewest rounds the spec allows, or the time limit if that is less.
    pub least: Duration,
    /// The most rounds the spec allows, or the time limit if that is less.
    pub most: Duration,
    /// How many whole rounds fit into the time limit.
    pub rounds_in_limit: u64,
}

impl Plan {
    /// Every case of the spec that this machine can run, and every one that it cannot.
    pub fn make(spec: &Spec) -> Result<Plan, PlanError> {
        Plan::make_within(spec, Some(&Rooms::here()))
    }

    /// As [`Plan::make`], with this much room (`None`: unknown, so that nothing is skipped for lack of it).
    pub fn make_within(spec: &Spec, rooms: Option<&Rooms>) -> Result<Plan, PlanError> {
        // What `rsh:` means is asked for from here on.
        rsh::set(spec.rsh.as_deref());
        let plan = Plan::whole(spec, rooms)?;
        if spec.quick { thin::thinned(spec, plan, rooms) } else { Ok(plan) }
    }

    fn whole(spec: &Spec, rooms: Option<&Rooms>) -> Result<Plan, PlanError> {
        let mut no_room = None;
        let mut plan = Plan::default();
        let mut seen = HashSet::new();
        for entry in &spec.probes {
            let probe = probe::find(&entry.probe).ok_or_else(|| PlanError::NoProbe(entry.probe.clone()))?;
            let axes = probe.axes();
            // One grid has no point twice; two grids of one probe may.
            let repeated = spec.probes.iter().filter(|other| other.probe == entry.probe).count() > 1;
            let entry = &plan.substitute(probe, &axes, entry, spec.quick);
            let grid = expand::grid(probe, &axes, entry, spec.quick)?;
            // Each entry keeps the limit by itself; many of them are as much of a mistake.
            if plan.cases.len() + plan.skips.len() + grid.points.len() > MOST_CASES {
                return Err(PlanError::TooManyTogether { entries: spec.probes.len() });
            }
            // What this machine allows is asked once per combination of words (see [`Probe::available`]).
            let mut answers: Vec<Option<Result<(), Unavailable>>> = vec![None; grid.words];
            let id = Name::from(probe.about().id);
            for (words, point) in grid.points {
                if repeated && !seen.insert((id.clone(), point.clone())) {
                    continue;
                }
                if answers[words].is_none() {
                    plan.note_refusals(probe, &axes, entry, &point);
                }
                let answer = match rooms.and_then(|rooms| lacking(probe, &axes, &point, rooms)) {
                    Some(why) => {
                        no_room.get_or_insert((id.to_string(), point.to_string(), why.clone()));
                        Err(why)
                    }
                    None => answers[words].get_or_insert_with(|| probe.available(&point)).clone(),
                };
                plan.add(&id, point, answer);
            }
        }
        if let Some((probe, point, why)) = no_room.filter(|_| plan.cases.is_empty()) {
            return Err(PlanError::NoRoom { probe, point, why });
        }
        plan.refuse_what_applies_to_nothing(spec)?;
        // A count repeats itself: a twin of it would say nothing.
        let twins = if clock_counts_instructions() { Vec::new() } else { twins::choose(&plan.cases) };
        for twin in twins {
            let Case { probe, point, .. } = plan.cases[twin].clone();
            plan.cases.push(Case { index: plan.cases.len(), probe, point, twin_of: Some(twin) });
        }
        Ok(plan)
    }

    /// A value that was named and that no case has is a study that was not asked for.
    fn refuse_what_applies_to_nothing(&self, spec: &Spec) -> Result<(), PlanError> {
        let planned = || {
            let cases = self.cases.iter().map(|case| &case.point);
            cases.chain(self.skips.iter().map(|skip| &skip.point))
        };
        for entry in &spec.probes {
            let axes = probe::find(&entry.probe).map(|probe| probe.axes()).unwrap_or_default();
            let unused = |axis: &&Axis| {
                let said = !entry.axes.get(axis.id).is_some_and(|values| axis.is_unsaid(values));
                said && entry.kept.contains(axis.id) && !planned().any(|point| point.get(axis.id).is_some())
            };
            if let Some(axis) = axes.iter().find(unused) {
                return Err(PlanError::AppliesToNothing { flag: axis.flag });
            }
        }
        Ok(())
    }

    /// Defaults that another host refuses, each once.
    fn note_refusals(&mut self, probe: &dyn Probe, axes: &[Axis], entry: &ProbeSpec, point: &Point) {
        for axis in axes.iter().filter(|axis| !entry.axes.contains_key(axis.id)) {
            let (Some(used), Some(why)) = (point.get(axis.id), probe.refusal(axis.id, point)) else {
                continue;
            };
            let (id, wanted) = (axis.id.to_string(), axis.default().pop());
            let probe = probe.about().id.to_string();
            let noted =
                wanted.map(|wanted| Substitution { probe, axis: id, wanted, used: used.clone(), why });
            let known = &self.substitutions;
            let new = noted.filter(|noted| !known.contains(noted));
            self.substitutions.extend(new);
        }
    }

    /// The entry with those defaults replaced that this machine cannot do.
    fn substitute(&mut self, probe: &dyn Probe, axes: &[Axis], entry: &ProbeSpec, quick: bool) -> ProbeSpec {
        let mut entry = entry.clone();
        for axis in axes.iter().filter(|axis| !entry.axes.contains_key(axis.id)).collect::<Vec<_>>() {
            for value in entry.values(axis, quick) {
                let Some((used, why)) = probe.substitute(axis.id, &value) else { continue };
                let (id, wanted) = (axis.id.to_string(), value);
                self.substitutions.push(Substitution {
                    probe: probe.about().id.to_string(),
                    axis: id.clone(),
                    wanted: wanted.clone(),
                    used: used.clone(),
                    why,
                });
                let values =
                    entry.axes.entry(id).or_insert_with(|| if quick { axis.quick() } else { axis.default() });
                values.iter_mut().filter(|v| **v == wanted).for_each(|v| *v = used.clone());
            }
        }
        entry
    }

    /// Cases that were planned, and found to be impossible here when they were tried.
    pub fn given_up(&self) -> HashSet<usize> {
        let skipped: HashSet<(&Name, &Point)> = self.skips.iter().map(|s| (&s.probe, &s.point)).collect();
        let cases = self.cases.iter().filter(|case| skipped.contains(&(&case.probe, &case.point)));
        cases.map(|case| case.index).collect()
    }

    fn add(&mut self, probe: &Name, point: Point, answer: Result<(), Unavailable>) {
        let probe = probe.clone();
        match answer {
            Ok(()) => self.cases.push(Case { index: self.cases.len(), probe, point, twin_of: None }),
            Err(why) => self.skips.push(Skip { probe, point, why }),
        }
    }

    /// What these cases have no room for where one pair of workers plays them in turns: every one has its memory and its
    /// receiving threads then.
    pub fn lacks_together(&self, cases: &[usize], rooms: &Rooms) -> Option<Unavailable> {
        let points =
            || cases.iter().filter_map(|case| self.cases.get(*case)).map(|case| (&case.probe, &case.point));
        let needs =
            |(id, point): (&Name, &Point)| probe::find(id).map_or(0, |probe| probe.needs(point).memory_bytes);
        let threads = || points().map(|(_, point)| point.int(THREADS).unwrap_or(1));
        let sending = threads().max().unwrap_or(0);
        rooms.lacks(points().map(needs).fold(0, u64::saturating_add), 2, sending + threads().sum::<u64>())
    }

    /// The order in which a round visits these cases: shuffled, the same for the same seed, round
    /// and cases, so that drift of the machine does not look like a difference between cases.
    pub fn order(&self, seed: u64, round: u32, among: &[usize]) -> Vec<usize> {
        let mut order = among.to_vec();
        // The round picks a generator, not a position in one: a resumed run goes on in the same order.
        Random::new(Random::derived(seed, u64::from(round))).shuffle(&mut order);
        order
    }

    /// How long one round of a block takes.
    pub fn visit_time(&self, block: &RivalBlock, spec: &Spec) -> Duration {
        if block.in_turns() {
            return ROUND_OVERHEAD + block.time(self, spec.timing);
        }
        let own: Duration = block.cases.iter().map(|case| round_time(&self.cases[*case], spec)).sum();
        // The workers start once.
        let starts = if block.visit == BlockVisit::Together { block.cases.len() as u32 - 1 } else { 0 };
        own.saturating_sub(ROUND_OVERHEAD * starts)
    }

    /// How long one round of a case by itself takes.
    pub fn visit_time_alone(&self, case: &Case, spec: &Spec) -> Duration {
        round_time(case, spec)
    }

    /// How long the plan takes under the spec's rounds and limit.
    pub fn estimate(&self, spec: &Spec) -> TimeEstimate {
        let round: Duration = self.blocks().iter().map(|block| self.visit_time(block, spec)).sum();
        let limit = spec.time_limit();
        let for_rounds = thin::for_rounds(spec).as_nanos();
        let rounds_in_limit = for_rounds.checked_div(round.as_nanos()).map_or(u64::MAX, |n| n as u64);
        TimeEstimate {
            round,
            least: round.saturating_mul(spec.min_rounds).min(limit),
            most: round.saturating_mul(spec.max_rounds).min(limit),
            rounds_in_limit,
        }
    }
}

/// One round of one case, its workers' start included.
fn round_time(case: &Case, spec: &Spec) -> Duration {
    let probe = probe::find(&case.probe);
    let timing = probe.map_or(spec.timing, |p| p.timing(&case.point, spec.timing));
    let set_up = probe.map_or(Duration::ZERO, |p| p.needs(&case.point).set_up);
    let windows = timing.window_ns.saturating_mul(u64::from(timing.windows));
    ROUND_OVERHEAD + set_up + Duration::from_nanos(timing.warmup_ns.saturating_add(windows))
}

/// What a round of this case has no room for.
fn lacking(probe: &dyn Probe, axes: &[Axis], point: &Point, rooms: &Rooms) -> Option<Unavailable> {
    let needed = probe.needs(point).memory_bytes;
    let workers = probe.roles().len() as u64;
    let threads = point.int(THREADS).unwrap_or(1).saturating_mul(workers);
    let Unavailable { reason, remedy } = rooms.lacks(needed, workers, threads)?;
    let fits = |bytes: u64| rooms.lacks(bytes, workers, threads).is_none();
    let smaller = smaller(probe, axes, point, fits).map(|smaller| format!("{smaller}; or "));
    Some(Unavailable { reason, remedy: smaller.unwrap_or_default() + &remedy })
}

/// The axis of this point that, halved until it fits, changes it least.
fn smaller(probe: &dyn Probe, axes: &[Axis], point: &Point, fits: impl Fn(u64) -> bool) -> Option<String> {
    for axis in axes {
        let (Kind::Bytes { min, .. }, Some(asked)) = (axis.kind, point.int_at(axis.id)) else { continue };
        let halves = std::iter::successors(Some(asked / 2), |n| Some(n / 2)).take_while(|n| *n >= min.max(1));
        for value in halves {
            let mut smaller = point.clone();
            smaller.set(axis.id, Value::Int(value));
            if fits(probe.needs(&smaller).memory_bytes) {
                let shown = syscost_core::units::short_bytes(value);
                return Some(format!("--{} {shown} would fit", axis.flag));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests;
