//! Where CPU time went, from samples: shares by class of work, with intervals over rounds.
//!
//! Samples of one round are correlated (one pair of processes, one placement of buffers). The interval of a share is
//! therefore that of a ratio of sums over rounds: Student's t with one degree of freedom less than rounds.
//! Source: Cochran, "Sampling techniques", 3rd ed., section 6.4.

pub mod classify;
pub mod functions;

use functions::CodeClass;
use std::collections::BTreeMap;
use syscost_core::stats::{RatioEstimate, paired_ratio, student};
use syscost_experiment::run::Profile;

/// Of every interval here.
pub const LEVEL: f64 = 0.95;

/// A share of the case's CPU time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampledShare {
    pub share: f64,
    pub low: f64,
    pub high: f64,
}

/// One class of work.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassTime {
    pub class: CodeClass,
    pub share: SampledShare,
    /// By whose it is (a role, or softirqs elsewhere), as shares of the case's CPU time.
    pub by_owner: BTreeMap<String, f64>,
    /// The functions that had most of it, as shares of the case's CPU time.
    pub top: Vec<(String, f64)>,
}

/// One case's CPU time.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileBreakdown {
    /// Every class, in the order of the table.
    pub classes: Vec<ClassTime>,
    pub samples: u64,
    /// CPU time an operation in the event's unit; absent where samples were lost.
    pub per_op: Option<f64>,
    /// Samples of other processes for each sample of the case.
    pub others: f64,
    /// Time an operation in sampled rounds over that in the rounds beside them.
    pub overhead: Option<RatioEstimate>,
}

/// Functions named for a class.
const TOP: usize = 3;

impl ProfileBreakdown {
    /// `None`: no sample of the case.
    pub fn of(profile: &Profile) -> Option<ProfileBreakdown> {
        let samples = profile.samples();
        if samples == 0 {
            return None;
        }
        let whole = samples as f64;
        let mut by_round = vec![vec![0.0; profile.rounds.len()]; CodeClass::COUNT];
        let mut owners: Vec<BTreeMap<String, f64>> = vec![BTreeMap::new(); CodeClass::COUNT];
        let mut functions: Vec<BTreeMap<&str, u64>> = vec![BTreeMap::new(); CodeClass::COUNT];
        for sampled in &profile.stacks {
            let (owner, names) = sampled.split();
            let place = classify::stack(names) as usize;
            for (sum, n) in by_round[place].iter_mut().zip(&sampled.samples) {
                *sum += f64::from(*n);
            }
            *owners[place].entry(owner.to_string()).or_default() += sampled.total() as f64 / whole;
            let innermost = sampled.split().1.next_back().unwrap_or_default();
            *functions[place].entry(innermost).or_default() += sampled.total();
        }
        let rounds: Vec<f64> = profile.rounds.iter().map(|round| round.samples as f64).collect();
        let classes = CodeClass::all().map(|class| {
            let place = class as usize;
            ClassTime {
                class,
                share: share(&by_round[place], &rounds),
                by_owner: std::mem::take(&mut owners[place]),
                top: top(&functions[place], whole),
            }
        });
        let others: u64 = profile.rounds.iter().map(|round| round.other_samples).sum();
        Some(ProfileBreakdown {
            classes: classes.collect(),
            samples,
            per_op: profile.sampled_per_op(),
            others: others as f64 / whole,
            overhead: overhead(profile),
        })
    }

    pub fn share(&self, class: CodeClass) -> SampledShare {
        self.classes[class as usize].share
    }
}

fn top(functions: &BTreeMap<&str, u64>, whole: f64) -> Vec<(String, f64)> {
    let mut sorted: Vec<(&str, u64)> = functions.iter().map(|(name, n)| (*name, *n)).collect();
    sorted.sort_by_key(|(name, n)| (std::cmp::Reverse(*n), *name));
    sorted.into_iter().take(TOP).map(|(name, n)| (name.to_string(), n as f64 / whole)).collect()
}

/// The ratio of sums over rounds, and its interval by the residuals of rounds. Where no round saw any, at most three samples
/// would have been expected (the rule of three).
fn share(part: &[f64], whole: &[f64]) -> SampledShare {
    let (sum, all): (f64, f64) = (part.iter().sum(), whole.iter().sum());
    let share = sum / all;
    let n = whole.len() as f64;
    if sum == 0.0 {
        return SampledShare { share, low: 0.0, high: (3.0 / all).min(1.0) };
    }
    if n < 2.0 {
        return SampledShare { share, low: 0.0, high: 1.0 };
    }
    let squares: f64 = part.iter().zip(whole).map(|(part, whole)| (part - share * whole).powi(2)).sum();
    let error = (squares * n / (n - 1.0)).sqrt() / all;
    let half = student::critical(1.0 - LEVEL, n - 1.0) * error;
    SampledShare { share, low: (share - half).max(0.0), high: (share + half).min(1.0) }
}

/// By pairs of rounds, of which neither was disturbed.
fn overhead(profile: &Profile) -> Option<RatioEstimate> {
    let usable = || profile.rounds.iter().enumerate().filter(|(_, round)| round.marks.is_empty());
    let per_op = |ns: f64, ops: f64| ns / ops.max(1.0);
    let sampled: Vec<(u32, f64)> = usable().map(|(i, r)| (i as u32, per_op(r.elapsed_ns, r.ops))).collect();
    let plain: Vec<(u32, f64)> =
        usable().map(|(i, r)| (i as u32, per_op(r.unsampled_elapsed_ns, r.unsampled_ops))).collect();
    paired_ratio(&sampled, &plain, LEVEL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_core::axis::Point;
    use syscost_core::stats::random::Random;
    use syscost_experiment::run::{ProfiledRound, SampledStack};
    use syscost_host::sampling::{SampledEvent, SampledScope};

    fn profile(rounds: &[(u32, u32)]) -> Profile {
        let round = |(copy, tcp): &(u32, u32)| ProfiledRound {
            samples: u64::from(copy + tcp),
            elapsed_ns: 110.0,
            ops: 1.0,
            unsampled_elapsed_ns: 100.0,
            unsampled_ops: 1.0,
            ..ProfiledRound::default()
        };
        let stack = |stack: &str, of: fn(&(u32, u32)) -> u32| SampledStack {
            stack: stack.into(),
            samples: rounds.iter().map(of).collect(),
        };
        Profile {
            probe: "transfer".into(),
            point: Point::default(),
            event: SampledEvent::CpuClock,
            period: 100,
            scope: SampledScope::Machine,
            rounds: rounds.iter().map(round).collect(),
            stacks: vec![
                stack("sender;do_syscall_64;tcp_sendmsg;_copy_from_iter", |r| r.0),
                stack("receiver;do_syscall_64;tcp_recvmsg", |r| r.1),
            ],
        }
    }

    #[test]
    fn shares_add_up_and_say_whose_they_are() {
        let breakdown = ProfileBreakdown::of(&profile(&[(30, 10), (60, 20), (28, 12)])).unwrap();
        assert!((breakdown.share(CodeClass::Copy).share - 118.0 / 160.0).abs() < 1e-12);
        let sum: f64 = breakdown.classes.iter().map(|class| class.share.share).sum();
        assert!((sum - 1.0).abs() < 1e-12);
        let copy = &breakdown.classes[CodeClass::Copy as usize];
        assert_eq!(copy.by_owner.keys().collect::<Vec<_>>(), ["sender"]);
        assert_eq!(copy.top[0].0, "_copy_from_iter");
        assert_eq!(breakdown.overhead.unwrap().estimate.value.round(), 1.0);
        assert!(ProfileBreakdown::of(&profile(&[])).is_none());
    }

    /// Rounds whose true shares differ, as rounds do: an interval over samples would hold the mean in half of them only.
    #[test]
    fn the_interval_covers_the_mean_share_although_samples_of_a_round_are_correlated() {
        let mut random = Random::new(7);
        let (mut covered, mut narrow) = (0, 0);
        const TRIALS: u32 = 600;
        for _ in 0..TRIALS {
            let mut round = || {
                let p = 0.4 + 0.05 * random.normal();
                let copy = (0..400).filter(|_| random.unit() < p).count() as u32;
                (copy, 400 - copy)
            };
            let rounds: Vec<(u32, u32)> = (0..8).map(|_| round()).collect();
            let of = ProfileBreakdown::of(&profile(&rounds)).unwrap().share(CodeClass::Copy);
            covered += u32::from(of.low <= 0.4 && 0.4 <= of.high);
            let binomial = 1.96 * (0.4f64 * 0.6 / 3200.0).sqrt();
            narrow += u32::from((of.share - 0.4).abs() <= binomial);
        }
        assert!(covered * 100 >= TRIALS * 93, "{covered} of {TRIALS}");
        assert!(narrow * 100 < TRIALS * 80, "samples as replicates: {narrow} of {TRIALS}");
    }

    #[test]
    fn what_no_sample_showed_is_not_nothing() {
        let none = ProfileBreakdown::of(&profile(&[(0, 100), (0, 200)])).unwrap().share(CodeClass::Copy);
        assert_eq!((none.share, none.low), (0.0, 0.0));
        assert!((none.high - 0.01).abs() < 1e-12);
    }
}
