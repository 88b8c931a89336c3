//! The record of a run and its files: `run.json` and `samples.csv`.
//!
//! Right of this module everything is pure: it computes from a [`Run`] and touches nothing.
//! [`files`] keeps the directory, [`rows`] reads and writes the lines of `samples.csv`, [`samples`] finds
//! those of a case again; an [`Audit`] is what was counted of a case's copies.

pub mod audit;
mod errors;
pub mod group;
pub mod files;
pub mod directory;
mod appended;
pub mod histograms;
pub mod leftovers;
mod lines;
mod open;
pub mod own_cost;
pub mod profile;
pub mod rows;
pub mod samples;
pub mod sessions;
pub mod settings;
pub mod time_spent;
pub mod slices;

use crate::plan::{Case, Plan};
use crate::spec::Spec;
use serde::{Deserialize, Serialize};
use syscost_host::conditions::Conditions;
use syscost_host::modelled;
use syscost_host::settings::INSTRUCTIONS;
use syscost_host::thread_clock::ThreadClock;
use syscost_host::{Fact, Unavailable};
use syscost_measure::probe::prediction::Prediction;

pub use audit::{Audit, CpuTimes, KernelThreadTimes};
pub use files::{LoadError, ResumeError, RunDir, WriteError};
pub use own_cost::OwnShare;
pub use profile::{Profile, ProfiledRound, SampledStack};
pub use samples::{SampleTally, Samples};
pub use sessions::ResumedSession;
pub use slices::{RoundRatio, SliceFigure, SliceRow, Slices};
pub use syscost_host::identity::{LAB_SECONDS, LAB_START_SECONDS};
pub use time_spent::{RoundSpan, TimeSpent};

/// Version of the directory's format; readers refuse a newer one.
pub const SCHEMA: u32 = 1;

/// Who counted, where no hardware did.
pub const MODELLED: &str = "modelled cache, emulated CPU";
pub const EMULATED_CPU: &str = "emulated CPU";

/// Which syscost made the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    pub version: String,
    /// `release` or `debug` (a debug build times nothing that may be published).
    pub profile: String,
    pub binary_sha256: String,
}

/// What its user called a run: what comparisons of runs go by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunNames {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Runs of one group repeat one experiment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Of the software that is measured: a commit, a version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Runs of the same turn were measured next to each other, one of each variant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
}

/// Names the warning of a used-up CPU quota: what limits its cases is not to be told from their times.
pub const CPU_QUOTA: &str = "cpu_quota";

/// In the message of a round in which something was waited for in vain.
pub const STOOD_STILL: &str = "stood still";
/// Words of a failure by which readers tell a worker that somebody ended from one that the kernel ended when memory ran out.
pub const SENT_BY_OTHERS: &str = "which syscost did not send";
pub const FIND_SENDER: &str = "find out who sent it (dmesg, journalctl -k), then run it again";
pub const OUT_OF_MEMORY: &str = "out of memory";
/// `syscost check` ends before such a case comes to its standstill.
pub const LEAVE_OUT: &str = "run it again; leave out a case that stands still each time, such as a low-water mark above the data in flight";

/// Something that weakens a figure: what was seen, what it means, what to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    /// `steal_time`, `debug_build`, `loopback_fallback`
    pub id: String,
    pub observed: String,
    pub consequence: String,
    /// The next command.
    pub remedy: String,
    /// The cases it concerns; empty = the whole run.
    pub cases: Vec<usize>,
}

/// A case that was started and failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    pub case: usize,
    pub round: u32,
    pub message: String,
}

/// How quiet the machine was before a session, and during it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionConditions {
    pub before: Conditions,
    /// Without the session's own work.
    pub during: Conditions,
}

/// Quantities that this machine could not provide (each reason once).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MissingQuantities {
    pub quantities: Vec<String>,
    #[serde(flatten)]
    pub why: Unavailable,
}

/// How the run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Still running, or killed: the files are valid as they stand.
    Running,
    /// Every case reached the precision asked, or its maximum of rounds.
    Complete,
    /// The time limit came first: every case has its precision stated.
    TimeLimit,
    /// Ctrl-C or SIGTERM.
    Interrupted,
    /// Not one planned case could be measured.
    NothingMeasured,
}

/// `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub schema: u32,
    pub id: String,
    pub tool: Tool,
    /// Unix time at the start.
    pub started_unix_ns: u64,
    /// Wall-clock time spent measuring, over all sessions of a resumed run.
    pub elapsed_ns: u64,
    /// How often measuring was begun: each end is a look at the data.
    pub sessions: u32,
    pub state: State,
    /// The command line as given.
    pub command: Vec<String>,
    pub names: RunNames,
    pub host: Vec<Fact>,
    pub spec: Spec,
    pub plan: Plan,
    /// Settings as the kernel reported them back, per case: role -> name -> value.
    #[serde(with = "settings")]
    pub settings: settings::ByCase,
    pub missing: Vec<MissingQuantities>,
    pub warnings: Vec<Warning>,
    pub failures: Vec<Failure>,
    /// Each written before the first sample of its case.
    pub predictions: Vec<Prediction>,
    /// The copies of one case of each way to move data.
    pub audits: Vec<Audit>,
    /// Where the time went, where that was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_spent: Option<TimeSpent>,
    /// How quiet the machine was, by session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<SessionConditions>,
    /// Rounds of blocks that were written to `slices.csv`: what is lost of it is seen.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub slice_rounds: u32,
    /// Rows of `samples.csv` when this was written: what is lost of it is seen.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sample_rows: u32,
    /// Sessions after the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<ResumedSession>,
    /// What a thread's CPU time holds here; absent where nothing was audited, or this machine does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_clock: Option<ThreadClock>,
    /// What the harness's own code took of the CPU time of each case; empty where nothing was timed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_cost: Vec<OwnShare>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Record {
    /// What a fact of the host says; `None`: the machine did not say.
    pub fn fact(&self, id: &str) -> Option<&str> {
        self.host.iter().find(|fact| fact.id == id)?.value.as_deref()
    }

    /// What the machine was like during all sessions together.
    pub fn during(&self) -> Option<Conditions> {
        let sessions: Vec<Conditions> =
            self.conditions.iter().map(|session| session.during.clone()).collect();
        Conditions::joined(&sessions)
    }

    /// What emulated every instruction of the machine that was measured: its times mean nothing, its
    /// counts hold.
    pub fn emulator(&self) -> Option<&str> {
        self.fact("emulated").filter(|value| *value != "no")
    }

    /// The caches whose misses an emulator counted: a model, and no hardware counter.
    pub fn modelled_caches(&self) -> Option<&str> {
        self.fact("modelled_caches")
    }

    /// Who counted a metric, where no hardware did: empty for everything else, times included.
    pub fn counted_by(&self, metric: &str) -> &'static str {
        let counted = modelled::NAMES.iter().any(|name| metric.contains(name));
        match self.modelled_caches() {
            Some(_) if counted => MODELLED,
            None if counted && self.repeats() => EMULATED_CPU,
            _ => "",
        }
    }

    /// Was this measured where the same work executes the same instructions each time?
    pub fn repeats(&self) -> bool {
        self.fact("clock_counts") == Some(INSTRUCTIONS)
    }

    /// Instructions in a nanosecond of the guest's clocks, where these count instructions. The guest's kernel calibrates
    /// its clock to the counter, in parts per million.
    pub fn clock_instructions(&self) -> Option<f64> {
        // A thread's clock goes on while other CPUs execute, and caches are modelled for two of them.
        (self.repeats() && self.modelled_caches().is_none()).then_some(())?;
        let by_counter =
            self.fact("tick_counter_hertz").filter(|_| self.fact("architecture") == Some("x86_64"));
        Some(by_counter.and_then(|hertz| hertz.parse().ok()).map_or(1.0, |hertz: f64| hertz / 1e9))
    }
}

/// A record with its samples: all that estimates and reports are computed from.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub record: Record,
    pub samples: Samples,
    /// What rivals cost that took turns; none of probes that do not.
    pub slices: Slices,
    /// Where CPU time went, of the cases that were sampled.
    pub profiles: Vec<Profile>,
}

impl Run {
    /// Was any case measured, with its work done right?
    pub fn has_measured(&self) -> bool {
        self.record.plan.cases.iter().any(|case| self.samples.verified(case.index))
    }

    /// A case of the plan by its index.
    pub fn case(&self, index: usize) -> Option<&Case> {
        let cases = &self.record.plan.cases;
        // The index is the position in every plan that syscost makes; a hand-made one may differ.
        cases.get(index).filter(|c| c.index == index).or_else(|| cases.iter().find(|c| c.index == index))
    }
}
