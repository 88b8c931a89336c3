//! `profile.json`: where the CPU time of cases went, by samples of what the kernel executed.
//!
//! Only what was seen: stacks by the names of functions, counted by round. What they mean is decided where it is read, so
//! that a better table of functions says more of an old file.

mod stored;

use super::directory::OpenDirectory;
use super::errors::{LoadError, WriteError, read_error};
use super::open::{open_file, unreadable};
use serde::{Deserialize, Serialize};
use std::io::Read;
use std::path::Path;
use stored::StoredProfiles;
use syscost_core::axis::{Name, Point};
use syscost_host::files::Root;
use syscost_host::sampling::{SampledEvent, SampledScope};

pub const PROFILE: &str = "profile.json";
/// Ten thousand cases stay below.
const LARGEST: u64 = 64 << 20;

/// What `profile.json` holds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProfileFile {
    pub tool: String,
    /// Release of the kernel whose functions these are.
    pub kernel: String,
    pub profiles: Vec<Profile>,
}

/// One case, sampled: its stacks by name, or as they lie in the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile<S = SampledStack> {
    pub probe: Name,
    pub point: Point,
    pub event: SampledEvent,
    /// Nanoseconds or cycles between two samples, as asked.
    pub period: u64,
    pub scope: SampledScope,
    /// Fresh workers each; they alternate with rounds that are not sampled.
    pub rounds: Vec<ProfiledRound>,
    pub stacks: Vec<S>,
}

/// One sampled round and the one without sampling beside it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProfiledRound {
    pub elapsed_ns: f64,
    pub ops: f64,
    /// Nanoseconds or cycles that each sample stands for: more than the period where the kernel's timers are coarser, and
    /// where they miss what runs between two sleeps.
    pub per_sample: f64,
    /// Samples of the case: its processes and the softirqs that ran for it.
    pub samples: u64,
    pub idle_samples: u64,
    /// Samples of other processes.
    pub other_samples: u64,
    /// Samples that found no room; later windows have fewer.
    pub lost: u64,
    /// What disturbed either round.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<String>,
    pub unsampled_elapsed_ns: f64,
    pub unsampled_ops: f64,
}

/// A stack and how often it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampledStack {
    /// Whose it is, then functions from the outermost on; joined by semicolons.
    pub stack: String,
    /// By round.
    pub samples: Vec<u32>,
}

impl SampledStack {
    pub fn total(&self) -> u64 {
        self.samples.iter().map(|n| u64::from(*n)).sum()
    }

    /// Whose it is, and its functions.
    pub fn split(&self) -> (&str, impl DoubleEndedIterator<Item = &str>) {
        let (owner, functions) = self.stack.split_once(';').unwrap_or((&self.stack, ""));
        (owner, functions.split(';').filter(|function| !function.is_empty()))
    }
}

impl<S> Profile<S> {
    /// The same with its stacks in another form.
    fn with<T>(&self, stacks: Vec<T>) -> Profile<T> {
        let Profile { probe, point, rounds, .. } = self;
        let (event, period, scope) = (self.event, self.period, self.scope);
        Profile {
            probe: probe.clone(),
            point: point.clone(),
            event,
            period,
            scope,
            rounds: rounds.clone(),
            stacks,
        }
    }
}

impl Profile {
    /// Samples of the case.
    pub fn samples(&self) -> u64 {
        self.rounds.iter().map(|round| round.samples).sum()
    }

    /// CPU time an operation, in the unit of the event; `None` where samples were lost, or nothing was done.
    pub fn sampled_per_op(&self) -> Option<f64> {
        let whole = self.rounds.iter().all(|round| round.lost == 0);
        let ops: f64 = self.rounds.iter().map(|round| round.ops).sum();
        let spent: f64 = self.rounds.iter().map(|round| round.samples as f64 * round.per_sample).sum();
        (whole && ops > 0.0).then(|| spent / ops)
    }
}

impl ProfileFile {
    /// Sampled on this machine by this version of the tool.
    pub fn of_this_kernel(tool: &str, profiles: Vec<Profile>) -> ProfileFile {
        let kernel = Root::here().text("proc/sys/kernel/osrelease").unwrap_or_default();
        ProfileFile { tool: tool.into(), kernel: kernel.trim().into(), profiles }
    }

    pub fn write(&self, dir: &OpenDirectory) -> Result<(), WriteError> {
        dir.replace_with(PROFILE, |file| {
            serde_json::to_writer(&mut *file, &StoredProfiles::of(self))?;
            file.write_all(b"\n")
        })
    }

    /// Nothing where no profile was made.
    pub fn load(dir: &Path) -> Result<ProfileFile, LoadError> {
        let file = match open_file(dir, PROFILE) {
            Err(LoadError::NotARun { .. }) => return Ok(ProfileFile::default()),
            file => file?,
        };
        let mut json = Vec::new();
        file.take(LARGEST).read_to_end(&mut json).map_err(|e| read_error(dir, PROFILE, e))?;
        let damaged = |reason: String| LoadError::Record { path: dir.join(PROFILE), reason };
        let read: StoredProfiles = serde_json::from_slice(&json).map_err(|e| damaged(unreadable(&e)))?;
        read.file().map_err(damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> Profile {
        let rounds =
            vec![ProfiledRound { ops: 4.0, samples: 3, per_sample: 100.0, ..ProfiledRound::default() }];
        let stacks = vec![SampledStack { stack: "sender;entry;tcp_sendmsg".into(), samples: vec![3] }];
        let (event, scope) = (SampledEvent::CpuClock, SampledScope::Machine);
        Profile {
            probe: "transfer".into(),
            point: Point::default(),
            event,
            period: 100,
            scope,
            rounds,
            stacks,
        }
    }

    #[test]
    fn a_file_is_read_as_it_was_written_and_its_absence_is_no_error() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(ProfileFile::load(dir.path()).unwrap(), ProfileFile::default());
        let file = ProfileFile { tool: "t".into(), kernel: "k".into(), profiles: vec![profile()] };
        file.write(&OpenDirectory::make(dir.path()).unwrap()).unwrap();
        assert_eq!(ProfileFile::load(dir.path()).unwrap(), file);
    }

    #[test]
    fn lost_samples_leave_shares_and_no_time() {
        let mut profile = profile();
        assert_eq!(profile.sampled_per_op(), Some(75.0));
        profile.rounds[0].lost = 1;
        assert_eq!(profile.sampled_per_op(), None);
        let (owner, functions) = profile.stacks[0].split();
        assert_eq!((owner, functions.collect::<Vec<_>>()), ("sender", vec!["entry", "tcp_sendmsg"]));
    }
}
