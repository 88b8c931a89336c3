//! A profile: rounds of a case that are sampled, alternating with rounds that are not.
//!
//! Samples of one round are correlated, so rounds are the replicates of shares. Rounds in pairs also show what sampling
//! itself costs.

use super::audit;
use super::check::{UnfinishedCases, each_case};
use super::{Event, PATIENCE};
use crate::worker::path::Paths;
use crate::worker::{self, RoundError, RoundOptions, RoundResult};
use anyhow::Result;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use syscost_core::sample::Sample;
use syscost_core::units::count;
use syscost_experiment::plan::{Case, Plan};
use syscost_experiment::run::{Profile, ProfiledRound, SampledStack, Warning};
use syscost_experiment::spec::Spec;
use syscost_host::Unavailable;
use syscost_host::sampling::{
    Collected, IDLE, KernelSymbols, OTHERS, SOFTIRQ, SampledEvent, SampledRound, SamplingRight,
};
use syscost_host::scratch::Scratch;
use syscost_host::settings;
use syscost_measure::probe::transfer::axes::MESSAGE_BYTES;
use syscost_measure::probe::{self, Timing};
use syscost_sys::signals;

/// As long as a ring buffer has room for.
const TIMING: Timing = Timing { warmup_ns: 20_000_000, window_ns: 200_000_000, windows: 1 };
/// What the clocks of both ends' threads give, by the operation.
const THREAD_TIME: &str = "total_cpu_ns_per_message";
/// Pairs of rounds of a case, unless asked otherwise.
pub const ROUNDS: u32 = 10;
/// Of a case of a run that has much else to do.
const ROUNDS_IN_RUN: u32 = 6;

/// Samples case after case; the kernel's symbols are read once.
pub struct Profiler {
    right: SamplingRight,
    symbols: KernelSymbols,
}

/// Stacks of a case with their counts by round.
type StackCounts = BTreeMap<String, Vec<u32>>;

impl Profiler {
    /// Where this user may sample the kernel and see its functions' names.
    pub fn attach() -> Result<Profiler, Unavailable> {
        if let Some(emulator) = settings::emulator_here() {
            return Err(Unavailable {
                reason: format!("this machine is emulated in software ({emulator}): its time means nothing"),
                remedy: "profile on the machine itself".into(),
            });
        }
        Ok(Profiler { right: SamplingRight::find()?, symbols: KernelSymbols::read()? })
    }

    /// Plays so many pairs of rounds of the case, fewer where somebody interrupts. Of each pair the sampled round is once
    /// the first, once the second.
    pub fn profile(
        &self,
        case: &Case,
        pairs: u32,
        paths: &mut Paths,
        scratch: &mut Scratch,
        patience: Duration,
    ) -> Result<Profile, RoundError> {
        let mut stacks = StackCounts::new();
        let rounds = until_interrupted(pairs, |pair| {
            let options = RoundOptions::of(TIMING, patience, &signals::caught);
            let mut plain = |paths: &mut Paths| worker::round(case, &options, paths, scratch);
            let early = if pair % 2 == 1 { Some(plain(paths)?) } else { None };
            let mut sampling = None;
            // Of syscost's own functions nobody asked.
            let user_code: Vec<PathBuf> =
                probe::own_code(&case.point).iter().map(|code| PathBuf::from(&code.object.path)).collect();
            let mut begin = |ready: &worker::ReadyRound<'_>| {
                sampling = Some(
                    SampledRound::begin(self.right, ready.pids.clone(), user_code.clone())
                        .map_err(unsampled)?,
                );
                Ok(())
            };
            let sampled = worker::observed_round(case, &options, paths, scratch, Some(&mut begin))?;
            let collected = sampling
                .ok_or_else(|| RoundError::Failed("no worker was sampled".into()))?
                .end()
                .map_err(unsampled)?;
            let plain = match early {
                Some(plain) => plain,
                None => worker::round(case, &options, paths, scratch)?,
            };
            Ok(self.round(case, &sampled, &plain, &collected, &mut stacks, pair as usize))
        })?;
        let stacks = stacks.into_iter().map(|(stack, mut samples)| {
            samples.resize(rounds.len(), 0);
            SampledStack { stack, samples }
        });
        Ok(Profile {
            probe: case.probe.clone(),
            point: case.point.clone(),
            event: self.right.event,
            period: self.right.event.period(),
            scope: self.right.scope,
            stacks: stacks.collect(),
            rounds,
        })
    }

    /// Counts the samples that lie in the round's windows.
    fn round(
        &self,
        case: &Case,
        sampled: &RoundResult,
        plain: &RoundResult,
        collected: &Collected,
        stacks: &mut StackCounts,
        place: usize,
    ) -> ProfiledRound {
        let (elapsed_ns, ops) = work(sampled);
        let (unsampled_elapsed_ns, unsampled_ops) = work(plain);
        let marks = [sampled, plain]
            .into_iter()
            .flat_map(|round| &round.samples)
            .flat_map(|s| s.marks.iter().cloned());
        let mut round = ProfiledRound {
            elapsed_ns,
            ops,
            lost: collected.lost,
            per_sample: collected.per_sample,
            marks: marks.collect(),
            unsampled_elapsed_ns,
            unsampled_ops,
            ..ProfiledRound::default()
        };
        round.marks.sort();
        round.marks.dedup();
        let mut own = 0;
        for sample in collected.samples(&self.symbols).into_iter().filter(|s| in_window(sampled, s.time_ns)) {
            match sample.owner.as_str() {
                IDLE => round.idle_samples += 1,
                OTHERS => round.other_samples += 1,
                owner => {
                    round.samples += 1;
                    own += u64::from(owner != SOFTIRQ);
                    let counts = stacks.entry(format!("{owner};{}", sample.functions.join(";"))).or_default();
                    counts.resize(place + 1, 0);
                    counts[place] += 1;
                }
            }
        }
        // A timer misses part of what runs between two sleeps; the threads' clocks do not.
        let clocked =
            (self.right.event == SampledEvent::CpuClock).then(|| thread_ns(case, sampled)).flatten();
        if let Some(ns) = clocked.filter(|_| own > 0) {
            round.per_sample = ns / own as f64;
        }
        round
    }
}

/// What was sampled before an interruption stays; without a whole pair there is nothing.
fn until_interrupted(
    pairs: u32,
    mut pair: impl FnMut(u32) -> Result<ProfiledRound, RoundError>,
) -> Result<Vec<ProfiledRound>, RoundError> {
    let mut rounds = Vec::new();
    for number in 0..pairs {
        match pair(number) {
            Ok(round) => rounds.push(round),
            Err(RoundError::Interrupted) if !rounds.is_empty() => break,
            Err(error) => return Err(error),
        }
    }
    Ok(rounds)
}

/// How long the windows were, and what was done in them.
fn work(round: &RoundResult) -> (f64, f64) {
    round.samples.iter().fold((0.0, 0.0), |(ns, ops), sample| (ns + sample.elapsed_ns, ops + sample.ops))
}

/// What the workers' threads had of the CPU in the windows, by their clocks; `None` where the probe reads none.
fn thread_ns(case: &Case, round: &RoundResult) -> Option<f64> {
    let per_op = probe::find(&case.probe)?.metrics().into_iter().find(|metric| metric.id == THREAD_TIME)?;
    let spent = |sample: &Sample| Some((per_op.of)(sample, &case.point)? * sample.ops);
    round.samples.iter().map(spent).sum::<Option<f64>>().filter(|ns| *ns > 0.0)
}

fn in_window(round: &RoundResult, time_ns: u64) -> bool {
    round.samples.iter().any(|sample| {
        let start = sample.start_ns.unwrap_or(u64::MAX);
        time_ns >= start && time_ns - start < sample.elapsed_ns as u64
    })
}

fn unsampled(error: std::io::Error) -> RoundError {
    RoundError::Failed(format!("cannot sample: {error}"))
}

/// The cases of a run that get a profile.
pub(crate) struct DueProfiles<'p> {
    /// What is audited, and every operation that moves no data and is no ruler.
    pub needed: Vec<&'p Case>,
    /// The same ways at other sizes, the nearest first: where time is left.
    pub other_sizes: Vec<&'p Case>,
}

pub(crate) fn due<'p>(spec: &Spec, plan: &'p Plan, done: &[Profile]) -> DueProfiles<'p> {
    let given_up = plan.given_up();
    let new = |case: &&Case| !done.iter().any(|p| p.probe == case.probe && p.point == case.point);
    let cases = || plan.cases.iter().filter(|case| case.twin_of.is_none() && !given_up.contains(&case.index));
    let ways = audit::due(plan, &[]);
    let but_size = |case: &Case| (case.probe.clone(), case.point.without(MESSAGE_BYTES.id));
    let shown: Vec<_> = ways.iter().map(|case| but_size(case)).collect();
    let other = |case: &&Case| !ways.contains(case) && shown.contains(&but_size(case));
    let mut other_sizes: Vec<&Case> = cases().filter(other).filter(new).collect();
    other_sizes.sort_by_key(|case| audit::distance(case));
    let asked =
        |case: &&Case| spec.probes.iter().any(|entry| !entry.ruler && entry.probe == case.probe.as_str());
    let alone = cases().filter(|case| !audit::audited(case)).filter(asked);
    DueProfiles { needed: ways.iter().copied().chain(alone).filter(new).collect(), other_sizes }
}

/// One case of a run. A resumed run samples it anew where somebody interrupted.
pub(crate) fn in_run(
    profiler: &Profiler,
    case: &Case,
    paths: &mut Paths,
    scratch: &mut Scratch,
) -> Result<Profile, RoundError> {
    let profile = profiler.profile(case, ROUNDS_IN_RUN, paths, scratch, PATIENCE)?;
    if profile.rounds.len() < ROUNDS_IN_RUN as usize { Err(RoundError::Interrupted) } else { Ok(profile) }
}

/// The right is missing.
pub(crate) fn refused(why: &Unavailable) -> Warning {
    Warning {
        id: "profile_refused".into(),
        observed: format!("no profile was made: {}", why.reason),
        consequence: "where CPU time goes inside the kernel is not known; no figure is touched by it".into(),
        remedy: why.remedy.clone(),
        cases: Vec::new(),
    }
}

/// The time for profiles was over.
pub(crate) fn cut_short(left: usize) -> Warning {
    Warning {
        id: "profiles_cut_short".into(),
        observed: format!("{} not profiled", count(left, "case")),
        consequence: "a third of the time limit was over before them; no figure is touched by it".into(),
        remedy: "a longer --time-limit".into(),
        cases: Vec::new(),
    }
}

/// A profile that did not come to its end.
pub(crate) fn broken(case: &Case, message: &str) -> Warning {
    Warning {
        id: "profile_failed".into(),
        observed: format!("a case could not be profiled: {message}"),
        consequence: "where its CPU time goes is not known; no figure is touched by it".into(),
        remedy: "measure again; `syscost check` says whether the case works".into(),
        cases: vec![case.index],
    }
}

/// What the profiles of a plan brought.
#[derive(Debug, Default)]
pub struct Profiled {
    /// The last has fewer rounds where somebody interrupted it.
    pub profiles: Vec<Profile>,
    pub unfinished: UnfinishedCases,
}

/// Profiles every case of a plan; writes nothing.
pub fn profile(
    plan: &Plan,
    profiler: &Profiler,
    pairs: u32,
    watch: &mut dyn FnMut(&Event<'_>),
) -> Result<Profiled> {
    let mut profiles = Vec::new();
    let unfinished = each_case(plan, |_| true, watch, &mut |case, paths, scratch, watch| {
        profiles.push(profiler.profile(case, pairs, paths, scratch, PATIENCE)?);
        watch(&Event::CaseDone { case, rounds: pairs as usize, metric: "", estimate: None });
        Ok(())
    })?;
    Ok(Profiled { profiles, unfinished })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::RoundMoments;

    fn round_of(sample: Sample) -> RoundResult {
        RoundResult {
            samples: vec![sample],
            settings: BTreeMap::new(),
            missing: Vec::new(),
            totals: BTreeMap::new(),
            moments: RoundMoments::default(),
        }
    }

    #[test]
    fn samples_stand_for_the_time_of_the_threads_where_these_have_clocks() {
        let spec = Spec::named(syscost_experiment::spec::DEFAULT).expect("built in");
        let plan = Plan::make_within(&spec, None).expect("a plan");
        let transfer = plan.cases.iter().find(|case| audit::audited(case)).expect("a transfer");
        let mut sample = Sample { ops: 5.0, ..Sample::default() };
        assert_eq!(thread_ns(transfer, &round_of(sample.clone())), None);
        // Each end's own window: the sender stopped earlier.
        let quantities = [("sender_cpu_ns", 80.0), ("sender_messages", 4.0), ("receiver_cpu_ns", 50.0)];
        for (id, value) in quantities.into_iter().chain([("receiver_messages", 5.0)]) {
            sample.quantities.insert(id.into(), Some(value));
        }
        assert_eq!(thread_ns(transfer, &round_of(sample)), Some(5.0 * 20.0 + 5.0 * 10.0));
    }

    #[test]
    fn rounds_before_an_interruption_stay() {
        let rounds = |end: u32, error: fn() -> RoundError| {
            until_interrupted(10, |pair| if pair < end { Ok(ProfiledRound::default()) } else { Err(error()) })
        };
        assert_eq!(rounds(4, || RoundError::Interrupted).map(|rounds| rounds.len()).ok(), Some(4));
        assert_eq!(rounds(10, || RoundError::Interrupted).map(|rounds| rounds.len()).ok(), Some(10));
        assert!(matches!(rounds(0, || RoundError::Interrupted), Err(RoundError::Interrupted)));
        assert!(matches!(rounds(4, || RoundError::Failed("gone".into())), Err(RoundError::Failed(_))));
    }

    #[test]
    fn samples_count_inside_windows_only() {
        let sample = Sample { start_ns: Some(1000), elapsed_ns: 100.0, ops: 5.0, ..Sample::default() };
        let round = round_of(sample);
        let inside: Vec<bool> = [999, 1000, 1099, 1100].map(|at| in_window(&round, at)).into();
        assert_eq!(inside, [false, true, true, false]);
        assert_eq!(work(&round), (100.0, 5.0));
    }

    #[test]
    fn a_run_profiles_each_way_once_and_a_resumed_one_goes_on() {
        let mut spec = Spec::named(syscost_experiment::spec::DEFAULT).expect("built in");
        for (flag, values) in [("size", "64,64K"), ("threads", "1"), ("path", "loopback")] {
            spec.set_axis(flag, &[values]).expect("values of these axes");
        }
        let plan = Plan::make_within(&spec, None).expect("a plan");
        let DueProfiles { needed, other_sizes } = due(&spec, &plan, &[]);
        let ways = needed.iter().filter(|case| audit::audited(case)).count();
        assert!(ways > 0 && ways < plan.cases.iter().filter(|case| audit::audited(case)).count());
        assert_eq!(needed.len(), ways, "a ruler is no question");
        assert_eq!(other_sizes.len(), ways, "two sizes, of which one stands for the way");
        assert!(other_sizes.iter().all(|case| !needed.contains(case)));
        let done = Profile {
            probe: needed[0].probe.clone(),
            point: needed[0].point.clone(),
            event: syscost_host::sampling::SampledEvent::CpuClock,
            period: 1,
            scope: syscost_host::sampling::SampledScope::Machine,
            rounds: Vec::new(),
            stacks: Vec::new(),
        };
        assert_eq!(due(&spec, &plan, &[done]).needed.len(), needed.len() - 1);
    }
}
