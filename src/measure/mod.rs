//! Executes a plan and appends to a run: rounds over all pending cases in seeded order, until
//! every case is as precise as asked or the time limit comes.
//!
//! It owns processes and files; it computes nothing that a report shows.

mod event;
mod schedule;

pub use event::Event;

use crate::host::scratch::Scratch;
use crate::host::{clock, fingerprint, noise};
use crate::plan::Plan;
use crate::probe::Missing;
use crate::run::files::RunDir;
use crate::run::{Failure, MissingQuantities, Record, Run, SCHEMA, State, Tool, Warning};
use crate::sample::Sample;
use crate::spec::Spec;
use crate::sys::{program, random, signals};
use crate::worker::path::Paths;
use crate::worker::{self, Round, RoundError, Terms};
use anyhow::{Context, Result};
use schedule::Schedule;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A round that takes this much longer than its windows is given up.
const PATIENCE: Duration = Duration::from_secs(20);
/// How far past the time limit a last round may run before it is cut off.
const GRACE: Duration = Duration::from_secs(2);
/// Steal time above this share of a round's CPU time marks its samples.
const STEAL_LIMIT: f64 = 0.10;

/// What to measure and where to keep it.
pub struct Options {
    pub out: PathBuf,
    /// Continue the run in `out`; spec and plan are then the recorded ones.
    pub resume: bool,
    pub spec: Spec,
    pub plan: Plan,
    /// The command line, for the record.
    pub command: Vec<String>,
}

/// How it went. The run is in its directory, whatever happened.
pub struct Outcome {
    pub run: Run,
}

/// Measures a plan into a run directory.
pub fn measure(options: Options, watch: &mut dyn FnMut(&Event<'_>)) -> Result<Outcome> {
    signals::catch().context("cannot catch Ctrl-C")?;
    let started = Instant::now();
    let tsc_hz = tick_rate();
    let (mut dir, mut run) = if options.resume { resume(&options)? } else { create(&options)? };
    let before_ns = run.record.elapsed_ns;
    let end = started + options.spec.time_limit();
    let plan = run.record.plan.clone();
    let spec = run.record.spec.clone();
    let mut schedule = Schedule::new(&plan, &spec);
    recall(&mut schedule, &run);
    watch(&Event::Started {
        cases: plan.cases.len(),
        skips: plan.skips.len(),
        estimate_ns: plan.estimate(&spec).most.as_nanos() as u64,
    });
    for warning in &run.record.warnings {
        watch(&Event::Warning { warning });
    }
    let mut session = Session {
        dir: &mut dir,
        run: &mut run,
        paths: Paths::new(&plan_id(&options)),
        scratch: Scratch::default(),
        tsc_hz,
        started,
        end,
        before_ns,
        visits: 0,
    };
    let state = session.rounds(&plan, &spec, &mut schedule, watch)?;
    session.close(state)?;
    watch(&Event::Finished { state });
    Ok(Outcome { run })
}

/// The rate of the time-stamp counter, unless it is known to vary.
fn tick_rate() -> Option<f64> {
    clock::tick_counter().filter(|counter| counter.invariant != Some(false)).map(|counter| counter.hertz)
}

/// A short run id that fits into the names of links.
fn plan_id(options: &Options) -> String {
    let name = options.out.to_string_lossy();
    let hash =
        name.bytes().fold(0xcbf2_9ce4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    format!("{:06x}", (hash ^ u64::from(std::process::id())) & 0xff_ffff)
}

fn create(options: &Options) -> Result<(RunDir, Run)> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let record = Record {
        schema: SCHEMA,
        id: random::token().context("the kernel gives no random numbers")?,
        tool: tool()?,
        started_unix_ns: now.as_nanos() as u64,
        elapsed_ns: 0,
        state: State::Running,
        command: options.command.clone(),
        host: fingerprint::facts(),
        spec: options.spec.clone(),
        plan: options.plan.clone(),
        settings: Default::default(),
        missing: Vec::new(),
        warnings: first_warnings(&options.plan),
        failures: Vec::new(),
        predictions: Vec::new(),
    };
    let dir = RunDir::create(&options.out, &record)?;
    Ok((dir, Run { record, samples: Vec::new() }))
}

fn resume(options: &Options) -> Result<(RunDir, Run)> {
    let (dir, mut run) = RunDir::resume(&options.out)?;
    let tool = tool()?;
    if run.record.tool != tool {
        run.record.warnings.push(Warning {
            id: "resumed_by_another_build".into(),
            observed: format!(
                "the run was started by syscost {} ({}) and continued by {} ({})",
                run.record.tool.version,
                short(&run.record.tool.binary_sha256),
                tool.version,
                short(&tool.binary_sha256)
            ),
            consequence: "its rounds may not be comparable".into(),
            remedy: "syscost run --out NEW_DIR".into(),
            cases: Vec::new(),
        });
    }
    run.record.state = State::Running;
    Ok((dir, run))
}

fn short(hash: &str) -> &str {
    hash.get(..12).unwrap_or(hash)
}

fn tool() -> Result<Tool> {
    Ok(Tool {
        version: env!("CARGO_PKG_VERSION").into(),
        profile: if cfg!(debug_assertions) { "debug" } else { "release" }.into(),
        binary_sha256: program::sha256().context("cannot read this program's own file")?,
    })
}

/// What weakens the run before it starts: a debug build, defaults that this machine cannot do.
fn first_warnings(plan: &Plan) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = plan
        .substitutions
        .iter()
        .map(|substitution| Warning {
            id: format!("{}_fallback", substitution.axis),
            observed: format!(
                "{} {} is not possible here: {}",
                substitution.axis, substitution.wanted, substitution.why.reason
            ),
            consequence: format!("{} was measured instead", substitution.used),
            remedy: substitution.why.remedy.clone(),
            cases: Vec::new(),
        })
        .collect();
    if cfg!(debug_assertions) {
        warnings.push(Warning {
            id: "debug_build".into(),
            observed: "this syscost was built without optimisation".into(),
            consequence: "user-space costs (memcpy, loops) are far too high".into(),
            remedy: "cargo build --release".into(),
            cases: Vec::new(),
        });
    }
    warnings
}

/// Tells the schedule what an interrupted run already measured.
fn recall(schedule: &mut Schedule<'_>, run: &Run) {
    let mut rounds: std::collections::BTreeMap<(usize, u32), Vec<&Sample>> = Default::default();
    for sample in &run.samples {
        rounds.entry((sample.case, sample.round)).or_default().push(sample);
    }
    for ((case, round), samples) in rounds {
        schedule.measured(case, round, &samples, Duration::ZERO);
    }
}

struct Session<'a> {
    dir: &'a mut RunDir,
    run: &'a mut Run,
    paths: Paths,
    scratch: Scratch,
    tsc_hz: Option<f64>,
    started: Instant,
    end: Instant,
    before_ns: u64,
    visits: u64,
}

impl Session<'_> {
    fn rounds(
        &mut self,
        plan: &Plan,
        spec: &Spec,
        schedule: &mut Schedule<'_>,
        watch: &mut dyn FnMut(&Event<'_>),
    ) -> Result<State> {
        // Only failures can make a round number come up without samples, so twice the maximum ends.
        for round in 0..spec.max_rounds.saturating_mul(2) {
            let due = schedule.due(round);
            if schedule.pending().is_empty() {
                break;
            }
            if due.is_empty() {
                continue;
            }
            watch(&Event::RoundStarted { round, cases: due.len() });
            for case in plan.order(spec.seed, round, &due) {
                if signals::caught() {
                    return Ok(State::Interrupted);
                }
                if Instant::now() + schedule.expected(case) > self.end {
                    return Ok(State::TimeLimit);
                }
                if !self.visit(plan, spec, case, round, schedule, watch)? {
                    return Ok(State::Interrupted);
                }
                self.visits += 1;
                let now = Instant::now();
                watch(&Event::Progress {
                    visits: self.visits,
                    pending_cases: schedule.pending().len(),
                    elapsed_ns: (now - self.started).as_nanos() as u64,
                    time_left_ns: self.end.saturating_duration_since(now).as_nanos() as u64,
                });
            }
            self.keep_record()?;
        }
        Ok(State::Complete)
    }

    /// Runs one round of one case; false when the user interrupted it.
    fn visit(
        &mut self,
        plan: &Plan,
        spec: &Spec,
        index: usize,
        round: u32,
        schedule: &mut Schedule<'_>,
        watch: &mut dyn FnMut(&Event<'_>),
    ) -> Result<bool> {
        let case = &plan.cases[index];
        let before = (Instant::now(), noise::Reading::now());
        let terms = Terms {
            timing: spec.timing,
            tsc_hz: self.tsc_hz,
            verify_all: false,
            patience: PATIENCE.min(self.end.saturating_duration_since(before.0) + GRACE),
            interrupted: &signals::caught,
        };
        match worker::round(case, &terms, &mut self.paths, &mut self.scratch).and_then(with_samples) {
            Ok(done) => {
                let took = before.0.elapsed();
                let noise = noise::Reading::now().since(&before.1);
                self.note_quota(&noise, index);
                let marks = marks(&noise);
                let samples = self.keep(index, round, done, marks)?;
                schedule.measured(index, round, &samples.iter().collect::<Vec<_>>(), took);
                let (metric, estimate) = schedule.estimate(index);
                watch(&Event::CaseDone { round, case, metric, estimate });
                self.run.samples.extend(samples);
            }
            Err(RoundError::Interrupted) => return Ok(false),
            Err(error) => {
                let message = error.to_string();
                watch(&Event::CaseFailed { round, case, message: &message });
                self.run.record.failures.push(Failure { case: index, round, message });
                schedule.failed(index);
            }
        }
        Ok(true)
    }

    /// Appends a round's samples and notes what its workers reported.
    fn keep(&mut self, case: usize, round: u32, done: Round, marks: Vec<String>) -> Result<Vec<Sample>> {
        let mut samples = done.samples;
        for sample in &mut samples {
            (sample.case, sample.round) = (case, round);
            sample.marks.extend(marks.iter().cloned());
        }
        self.dir.append(&samples)?;
        self.run.record.settings.entry(case).or_insert(done.settings);
        note_missing(&mut self.run.record.missing, done.missing);
        Ok(samples)
    }

    /// A used-up CPU quota slows every sample of a container alike: the run says so, and goes on.
    fn note_quota(&mut self, noise: &noise::NoiseBetween, case: usize) {
        if noise.throttled_periods.is_none_or(|periods| periods == 0) {
            return;
        }
        let warnings = &mut self.run.record.warnings;
        match warnings.iter_mut().find(|warning| warning.id == "cpu_quota") {
            Some(warning) if warning.cases.contains(&case) => {}
            Some(warning) => warning.cases.push(case),
            None => warnings.push(Warning {
                id: "cpu_quota".into(),
                observed: "the control group used up its CPU quota during these cases".into(),
                consequence:
                    "throughput is what the quota allows, not what the machine can do; CPU time per message \
                              still stands"
                        .into(),
                remedy: "run outside the container, or with a larger CPU quota".into(),
                cases: vec![case],
            }),
        }
    }

    fn keep_record(&mut self) -> Result<()> {
        self.run.record.elapsed_ns = self.before_ns + self.started.elapsed().as_nanos() as u64;
        self.dir.write_record(&self.run.record)?;
        Ok(())
    }

    fn close(&mut self, state: State) -> Result<()> {
        self.run.record.state = state;
        self.keep_record()
    }
}

/// A round in which nothing came to its end is a failure, not silence: a stream that stood still
/// through every window must show in the report.
fn with_samples(done: Round) -> Result<Round, RoundError> {
    if done.samples.is_empty() {
        return Err(RoundError::Failed("no window came to its end: the work stood still throughout".into()));
    }
    Ok(done)
}

/// Why a round's samples are suspect.
fn marks(between: &noise::NoiseBetween) -> Vec<String> {
    let cpus: Vec<usize> = between.steal_ns_by_cpu.keys().copied().collect();
    let seen = [
        ("steal", between.steal_fraction(&cpus).is_some_and(|share| share > STEAL_LIMIT)),
        ("throttled", between.throttle_events.is_some_and(|n| n > 0)),
    ];
    seen.into_iter().filter(|(_, seen)| *seen).map(|(mark, _)| mark.to_string()).collect()
}

/// Adds quantities that could not be measured, each reason once.
fn note_missing(known: &mut Vec<MissingQuantities>, missing: Vec<Missing>) {
    for Missing { quantity, why } in missing {
        match known.iter_mut().find(|m| m.why == why) {
            Some(entry) if entry.quantities.contains(&quantity) => {}
            Some(entry) => entry.quantities.push(quantity),
            None => known.push(MissingQuantities { quantities: vec![quantity], why }),
        }
    }
}

/// Runs every case once, verifying every byte; times nothing and writes nothing. Returns the
/// failures.
pub fn check(plan: &Plan, watch: &mut dyn FnMut(&Event<'_>)) -> Result<Vec<Failure>> {
    signals::catch().context("cannot catch Ctrl-C")?;
    let mut paths = Paths::new(&random::token().context("the kernel gives no random numbers")?[..6]);
    let mut scratch = Scratch::default();
    let mut failures = Vec::new();
    watch(&Event::Started { cases: plan.cases.len(), skips: plan.skips.len(), estimate_ns: 0 });
    for case in plan.cases.iter().filter(|case| case.twin_of.is_none()) {
        let terms = Terms {
            timing: crate::probe::Timing { warmup_ns: 1_000_000, window_ns: 2_000_000, windows: 1 },
            tsc_hz: None,
            verify_all: true,
            patience: PATIENCE,
            interrupted: &signals::caught,
        };
        match worker::round(case, &terms, &mut paths, &mut scratch) {
            Ok(_) => watch(&Event::CaseDone { round: 0, case, metric: "", estimate: None }),
            Err(RoundError::Interrupted) => break,
            Err(error) => {
                let message = error.to_string();
                watch(&Event::CaseFailed { round: 0, case, message: &message });
                failures.push(Failure { case: case.index, round: 0, message });
            }
        }
    }
    let state = if signals::caught() { State::Interrupted } else { State::Complete };
    watch(&Event::Finished { state });
    Ok(failures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_without_samples_is_a_failure() {
        let round = |samples| Round { samples, settings: Default::default(), missing: Vec::new() };
        assert!(with_samples(round(vec![Sample::default()])).is_ok());
        assert!(matches!(with_samples(round(Vec::new())), Err(RoundError::Failed(_))));
    }
}
