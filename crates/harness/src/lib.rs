//! Executes a plan and appends to a run: rounds over all pending cases in seeded order, until
//! every case is as precise as asked or the time limit comes.
//!
//! It owns processes and files; it computes nothing that a report shows.

mod event;
pub mod worker;
mod check;
pub mod audit;
mod calendar;
mod forewarning;
mod begin;
mod resuming;
mod counting;
mod forecast;
pub mod profile;
pub mod own;
pub mod recorded;
pub mod rights;
mod schedule;
mod session;

pub use check::{UnfinishedCases, check};
pub use event::Event;
pub use forewarning::packet_sockets::of_paths as packet_sockets;

use crate::worker::path::Paths;
use anyhow::{Context, Result};
use calendar::{Calendar, Moment};
use schedule::RoundSchedule;
use session::Session;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};
use syscost_experiment::plan::Plan;
use syscost_experiment::run::{Run, RunNames, State};
use syscost_experiment::spec::Spec;
use syscost_host::conditions::ConditionsWatch;
use syscost_host::remote;
use syscost_host::remote::transport::rsh;
use syscost_sys::baton::Baton;
use syscost_sys::signals;

/// A round that takes this much longer than its windows is given up.
const PATIENCE: Duration = Duration::from_secs(20);
/// The same where code of the user's own runs: it may hang, and the rest has a minute.
const OWN_PATIENCE: Duration = Duration::from_secs(5);
/// How long the machine is looked at before anything is measured: a tick of steal is 10 ms.
const WATCH: Duration = Duration::from_millis(200);
/// At most this part of a short run's time.
const WATCH_SHARE: u32 = 50;

/// What to measure and where to keep it.
#[derive(Clone)]
pub struct RunOptions {
    pub out: PathBuf,
    /// Continue the run in `out`; spec and plan are then the recorded ones.
    pub resume: bool,
    pub spec: Spec,
    pub plan: Plan,
    /// The command line, for the record.
    pub command: Vec<String>,
    pub names: RunNames,
    /// Sample where CPU time goes, in a pass of its own before the rounds.
    pub profile: bool,
    /// `None`: the whole plan, for the whole time limit of the spec.
    pub part: Option<Part>,
    /// Another run of the same plan measures beside this one: only who holds this does anything.
    pub baton: Option<Rc<Baton>>,
}

/// A part of a run: the cases from one on, for some of its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub first_case: usize,
    pub limit: Duration,
}

/// Measures a plan into a run directory, which holds the run whatever happens.
pub fn measure(options: RunOptions, watch: &mut dyn FnMut(&Event<'_>)) -> Result<Run> {
    signals::catch().context("cannot catch Ctrl-C")?;
    let (started, began) = (Instant::now(), Moment::now());
    let (dir, run) =
        if options.resume { resuming::resume(&options, began)? } else { begin::create(&options, began)? };
    let calendar = Calendar::of(&run, began);
    rsh::set(run.record.spec.rsh.as_deref());
    let (plan, spec) = (run.record.plan.clone(), run.record.spec.clone());
    let part = options.part.unwrap_or(Part { first_case: 0, limit: options.spec.time_limit() });
    let schedule = RoundSchedule::new(&plan, &spec).starting_at(part.first_case).recalling(&run);
    watch(&Event::Started {
        cases: plan.cases.len(),
        skips: plan.skips.len(),
        estimate_ns: plan.estimate(&spec).most.as_nanos() as u64,
    });
    let watching = Instant::now();
    let before = ConditionsWatch::at_rest(WATCH.min(part.limit / WATCH_SHARE));
    let watched = watching.elapsed();
    watch(&Event::Machine { status: before.status(), before: &before });
    for warning in &run.record.warnings {
        watch(&Event::Warning { warning });
    }
    let paths = Paths::new(&plan_id(&options)).recalling(&run);
    let end = started + part.limit;
    remote::patience::end_by(end + session::GRACE);
    let mut session =
        Session::new(schedule, (dir, run, calendar), paths, (end, options.baton.clone()), watch);
    session.watched(before, watched);
    let prepared =
        session.audits()? && (!options.profile || session.profiles()?) && session.first_visits()?;
    let state = if prepared { session.rounds()? } else { State::Interrupted };
    let run = session.close(state)?;
    begin::sweep(&plan);
    watch(&Event::Finished { state: run.record.state });
    Ok(run)
}

/// A short run id that fits into the names of links.
fn plan_id(options: &RunOptions) -> String {
    let name = options.out.to_string_lossy();
    let hash =
        name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    format!("{:06x}", (hash ^ u64::from(std::process::id())) & 0xff_ffff)
}
