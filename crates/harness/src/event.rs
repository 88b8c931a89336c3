//! What a measurement tells whoever watches it: the progress line, or a script reading JSON lines.

use serde::Serialize;
use syscost_core::stats::Estimate;
use syscost_experiment::plan::Case;
use syscost_experiment::run::{Audit, State, Warning};
use syscost_host::Unavailable;
use syscost_host::conditions::Conditions;
use syscost_host::doctor::Status;

/// One step of a run, in the order in which they happen.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event<'a> {
    Started {
        cases: usize,
        skips: usize,
        /// How long the run may take: its time limit, or less.
        estimate_ns: u64,
    },
    /// How quiet the machine is, before anything is measured.
    Machine {
        status: Status,
        #[serde(flatten)]
        before: &'a Conditions,
    },
    RoundStarted {
        round: u32,
        /// Cases that this round visits.
        cases: usize,
    },
    /// One case had one round.
    CaseVisited {
        round: u32,
        case: &'a Case,
        /// The first decisive metric so far.
        metric: &'static str,
        estimate: Option<Estimate>,
    },
    /// The case gets no more rounds: its comparisons are settled and its figure is precise, or the run ends. Told
    /// once; where a later look reopens one of its comparisons, more rounds may follow.
    CaseDone {
        case: &'a Case,
        rounds: usize,
        metric: &'static str,
        estimate: Option<Estimate>,
    },
    /// The copies of one case were counted, in an untimed round.
    CaseAudited {
        case: &'a Case,
        audit: &'a Audit,
    },
    CaseFailed {
        round: u32,
        case: &'a Case,
        message: &'a str,
    },
    /// The case was tried and is impossible here.
    CaseSkipped {
        case: &'a Case,
        why: &'a Unavailable,
    },
    /// The run goes on with cases that narrow borders in its grid.
    Refined {
        stage: usize,
        cases: usize,
    },
    Warning {
        warning: &'a Warning,
    },
    Progress {
        /// Visits made in this session.
        visits: u64,
        /// Cases that are not yet as precise as asked.
        pending_cases: usize,
        elapsed_ns: u64,
        time_left_ns: u64,
    },
    Finished {
        state: State,
    },
}
