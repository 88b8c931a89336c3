//! One round of one case: a fresh worker per role, started together, joined into samples.

use super::blame::{self, POST_MORTEM, short};
use super::gate::{self, ReportGate};
use super::launch::Worker;
use super::moments::{RoundMoments, forget_other_clocks, place_slices, stamp};
use super::path::{Paths, another_host};
use super::result::{BlockResult, RoundResult};
use std::collections::{BTreeMap, BTreeSet};
use std::slice;
use std::time::{Duration, Instant};
use syscost_core::axis::Point;
use syscost_core::sample::Sample;
use syscost_experiment::plan::Case;
use syscost_experiment::run::STOOD_STILL;
use syscost_host::scratch::Scratch;
use syscost_host::{Unavailable, allowance, counters, scarce};
use syscost_measure::own::OwnCode;
use syscost_measure::probe::{self, BlockTask, Probe, RoleReport, Task, Timing};
use syscost_measure::worker::child::STOPPED;
use syscost_measure::worker::protocol::{self, Deadline, FromWorker, ToWorker};
use syscost_sys::clock::monotonic_ns;
use syscost_sys::process;

/// Why a round gave no samples.
#[derive(Debug, thiserror::Error)]
pub enum RoundError {
    #[error("interrupted")]
    Interrupted,
    #[error("{0}")]
    Unavailable(#[from] Unavailable),
    #[error("{0}")]
    Failed(String),
}

/// The moment when every role is set up and none has begun: what an observer may want to know.
pub struct ReadyRound<'a> {
    /// What the roles offered, in their order.
    pub offers: &'a [serde_json::Value],
    /// Inode numbers of the network namespaces on both sides of the path.
    pub near_namespace: u32,
    /// `None`: on another host.
    pub far_namespace: Option<u32>,
    /// Process ids of the last role on each side; 0 for one that is on another host.
    pub near_pid: u32,
    pub far_pid: u32,
    /// Every process of this host, and its role.
    pub pids: BTreeMap<u32, String>,
}

/// What is the same for every round of a run.
pub struct RoundOptions<'a> {
    pub timing: Timing,
    pub tsc_hz: Option<f64>,
    /// Count instead of timing, from this group of hardware counters on.
    pub counting: Option<u32>,
    pub verify_all: bool,
    /// Count copies instead of timing.
    pub audited: bool,
    /// A round that takes longer than its windows plus this is given up.
    pub patience: Duration,
    pub interrupted: &'a dyn Fn() -> bool,
}

impl<'a> RoundOptions<'a> {
    /// A timed round, of which not every byte is verified.
    pub fn of(timing: Timing, patience: Duration, interrupted: &'a dyn Fn() -> bool) -> RoundOptions<'a> {
        let (tsc_hz, counting) = (None, None);
        RoundOptions { timing, tsc_hz, counting, verify_all: false, audited: false, patience, interrupted }
    }
}

/// Called between setting up and beginning; its error ends the round.
pub type Observer<'a> = &'a mut dyn FnMut(&ReadyRound<'_>) -> Result<(), RoundError>;

/// Runs one round of a case.
pub fn round(
    case: &Case,
    terms: &RoundOptions<'_>,
    paths: &mut Paths,
    scratch: &mut Scratch,
) -> Result<RoundResult, RoundError> {
    observed_round(case, terms, paths, scratch, None)
}

/// Runs one round of a case, and calls `observe` when all is set up and nothing has begun.
pub fn observed_round(
    case: &Case,
    terms: &RoundOptions<'_>,
    paths: &mut Paths,
    scratch: &mut Scratch,
    observe: Option<Observer<'_>>,
) -> Result<RoundResult, RoundError> {
    let probe = find_probe(case)?;
    // Before the clock runs: a large file takes seconds to make, once a run.
    let files = scratch.paths(&probe.needs(&case.point).files)?;
    let mut stage = RoundDriver::new(probe, case, terms, None, files);
    let reports = stage.reports(paths, observe)?;
    stage.result(&case.point, reports, paths.facts(&case.point))
}

/// Runs one round of a block, whose rivals are those of `block` in their order; `case` is the first of them.
pub fn block_round(
    case: &Case,
    block: &BlockTask,
    terms: &RoundOptions<'_>,
    paths: &mut Paths,
) -> Result<BlockResult, RoundError> {
    let mut stage = RoundDriver::new(find_probe(case)?, case, terms, Some(block), Vec::new());
    let reports = stage.reports(paths, None)?;
    let mut slices: Vec<_> = reports.iter().flat_map(|report| report.slices.iter().copied()).collect();
    place_slices(&case.point, &mut slices, stage.moments.ready_ns);
    let mut rivals = Vec::with_capacity(block.rivals.len());
    for (place, point) in block.rivals.iter().enumerate() {
        let own = reports.iter().map(|report| RoleReport {
            marks: report.marks.clone(),
            missing: report.missing.clone(),
            ..report.rivals.get(place).cloned().unwrap_or_default()
        });
        rivals.push(stage.result(point, own.collect(), paths.facts(point))?);
    }
    Ok(BlockResult { slices, rivals, moments: stage.moments })
}

fn find_probe(case: &Case) -> Result<&'static dyn Probe, RoundError> {
    probe::find(&case.probe)
        .ok_or_else(|| RoundError::Failed(format!("this syscost has no probe {}", case.probe)))
}

/// A probe records what it declares: a file of samples has no column for anything else.
fn declared(probe: &dyn Probe, samples: &[Sample]) -> Result<(), RoundError> {
    let known = probe.quantities();
    let recorded = samples.iter().flat_map(|sample| sample.quantities.iter());
    match recorded.into_iter().find(|(id, _)| !known.iter().any(|quantity| quantity.id == *id)) {
        Some((id, _)) => Err(RoundError::Failed(format!(
            "{} records {id:?}, which is none of its quantities",
            probe.about().id
        ))),
        None => Ok(()),
    }
}

struct RoundDriver<'a> {
    probe: &'static dyn Probe,
    case: &'a Case,
    terms: &'a RoundOptions<'a>,
    block: Option<&'a BlockTask>,
    files: Vec<String>,
    timing: Timing,
    deadline: Deadline,
    moments: RoundMoments,
    far_tsc_hz: Option<f64>,
}

impl<'a> RoundDriver<'a> {
    fn new(
        probe: &'static dyn Probe,
        case: &'a Case,
        terms: &'a RoundOptions<'a>,
        block: Option<&'a BlockTask>,
        files: Vec<String>,
    ) -> RoundDriver<'a> {
        let mut timing = probe.timing(&case.point, terms.timing);
        if terms.counting.is_some() {
            timing.windows = counters::GROUPS as u32;
        }
        let windows = timing.warmup_ns + timing.window_ns * u64::from(timing.windows);
        let measuring_ns = block.map_or(windows, |block| {
            let slices = block.slice_ns * u64::from(block.passes);
            (block.warmup_ns + slices + windows) * block.rivals.len() as u64
        });
        let deadline = Deadline::at(Instant::now() + Duration::from_nanos(measuring_ns) * 2 + terms.patience);
        let began_ns = monotonic_ns();
        let moments = RoundMoments { began_ns, ready_ns: began_ns };
        RoundDriver { probe, case, terms, block, files, timing, deadline, moments, far_tsc_hz: None }
    }

    /// Fresh workers play their roles.
    fn reports(
        &mut self,
        paths: &mut Paths,
        observe: Option<Observer<'_>>,
    ) -> Result<Vec<RoleReport>, RoundError> {
        let oom_kills = allowance::oom_kills();
        let mut workers = self.start(paths)?;
        let played = self.play(&mut workers, paths, observe);
        played.map_err(|error| {
            let RoundError::Failed(message) = error else { return error };
            let (roles, own) = (self.probe.roles(), self.own_code().map(|code| code.told()));
            RoundError::Failed(blame::told(message, roles, &workers, oom_kills, own.collect()))
        })
    }

    /// What of the user's own these cases call, each once.
    fn own_code(&self) -> impl Iterator<Item = &'static OwnCode> {
        let points = self.block.map_or(slice::from_ref(&self.case.point), |block| &block.rivals);
        let mut codes: Vec<&OwnCode> = points.iter().flat_map(probe::own_code).collect();
        codes.sort_by_key(|code| (code.name(), code.entry.kind));
        codes.dedup_by_key(|code| (code.name(), code.entry.kind));
        codes.into_iter()
    }

    /// What the roles report of one case, joined and verified.
    fn result(
        &self,
        point: &Point,
        mut reports: Vec<RoleReport>,
        mut settings: BTreeMap<String, String>,
    ) -> Result<RoundResult, RoundError> {
        let (probe, heard_ns) = (self.probe, monotonic_ns());
        forget_other_clocks(probe, point, &mut reports);
        let mut samples = probe
            .merge(point, &reports)
            .map_err(|why| RoundError::Failed(format!("the work was not done right: {why}")))?;
        stamp(&mut samples, heard_ns);
        let stood_still = (!self.deadline.stood_still.is_zero()).then(|| STOPPED.to_string());
        let marks: BTreeSet<String> =
            reports.iter().flat_map(|r| r.marks.iter().cloned()).chain(stood_still).collect();
        samples.iter_mut().for_each(|sample| sample.marks.extend(marks.iter().cloned()));
        declared(probe, &samples)?;
        gate::samples(&samples)
            .map_err(|what| RoundError::Failed(format!("the workers' reports come to {what}")))?;
        let mut missing = Vec::new();
        let mut totals = BTreeMap::new();
        for (role, report) in probe.roles().iter().zip(reports) {
            totals.extend(report.totals.into_iter().map(|(id, value)| (format!("{role}.{id}"), value)));
            settings.extend(report.facts.into_iter().map(|(id, value)| (format!("{role}.{id}"), value)));
            missing.extend(report.missing.into_iter().map(|m| probe::Missing {
                quantity: if probe.roles().len() > 1 { format!("{role}_{}", m.quantity) } else { m.quantity },
                why: m.why,
            }));
        }
        Ok(RoundResult { samples, settings, missing, totals, moments: self.moments })
    }

    /// Starts every role's process first: their start-up overlaps.
    fn start(&self, paths: &mut Paths) -> Result<Vec<Worker>, RoundError> {
        let mut workers = Vec::new();
        for role in self.probe.roles() {
            let seat = paths.seat(&self.case.point, self.probe.far(role))?;
            let baton = self.block.and_then(|block| block.baton);
            workers.push(Worker::start(&seat.place, baton).map_err(|error| {
                RoundError::Failed(scarce::cannot_start("a worker process", error).to_string())
            })?);
        }
        Ok(workers)
    }

    /// From the tasks to the reports.
    fn play(
        &mut self,
        workers: &mut [Worker],
        paths: &mut Paths,
        observe: Option<Observer<'_>>,
    ) -> Result<Vec<RoleReport>, RoundError> {
        let offers = self.cast(workers, paths)?;
        if let Some(observe) = observe {
            let mut namespace = |far| -> Result<Option<u32>, RoundError> {
                let place = paths.seat(&self.case.point, far)?.place;
                place
                    .net_namespace()
                    .map_err(|error| RoundError::Failed(format!("a network namespace: {error}")))
            };
            let (near_namespace, far_namespace) = (namespace(false)?.unwrap_or(0), namespace(true)?);
            let (mut near_pid, mut far_pid, mut pids) = (0, 0, BTreeMap::new());
            for (role, worker) in self.probe.roles().iter().zip(workers.iter()) {
                *(if self.probe.far(role) { &mut far_pid } else { &mut near_pid }) =
                    worker.pid().unwrap_or(0);
                pids.extend(worker.pid().map(|pid| (pid, role.to_string())));
            }
            observe(&ReadyRound { offers: &offers, near_namespace, far_namespace, near_pid, far_pid, pids })?;
        }
        self.perform(workers)
    }

    /// Gives each role its task, with the offer of the one before, until all are ready. Returns the
    /// offers.
    fn cast(
        &mut self,
        workers: &mut [Worker],
        paths: &mut Paths,
    ) -> Result<Vec<serde_json::Value>, RoundError> {
        let probe = self.probe;
        let token = syscost_sys::random::token()
            .map_err(|e| RoundError::Failed(format!("the kernel gives no random numbers: {e}")))?;
        let mut offers: Vec<serde_json::Value> = Vec::new();
        let last = workers.len() - 1;
        for (i, (role, worker)) in probe.roles().iter().zip(workers.iter_mut()).enumerate() {
            let seat = paths.seat(&self.case.point, probe.far(role))?;
            let (address, ports) = (seat.address.clone(), seat.ports);
            let tsc_hz = seat.place.tsc_hz(self.terms.tsc_hz);
            if probe.far(role) && another_host(&self.case.point).is_some() {
                self.far_tsc_hz = tsc_hz;
            }
            let task = Task {
                probe: self.case.probe.to_string(),
                role: role.to_string(),
                point: self.case.point.clone(),
                timing: self.timing,
                token: token.clone(),
                tsc_hz,
                counting: self.terms.counting,
                block: self.block.cloned(),
                verify_all: self.terms.verify_all,
                audited: self.terms.audited,
                address: seat.address,
                ports: seat.ports,
                peer: offers.last().cloned(),
                files: self.files.clone(),
                own: self.own_code().map(|code| code.object.clone()).collect(),
            };
            let task = ToWorker::Task { task: Box::new(task) };
            self.tell(role, worker, &task)?;
            if i < last {
                match self.hear(role, worker)? {
                    FromWorker::Offer { offer } => {
                        gate::offer(&offer, &address, ports).map_err(|what| self.lied(role, &what))?;
                        offers.push(offer);
                    }
                    other => return Err(self.unexpected(role, &other)),
                }
            }
        }
        for (place, frame) in self.hear_all(workers)?.into_iter().enumerate() {
            match frame {
                FromWorker::Ready => {}
                other => return Err(self.unexpected(probe.roles()[place], &other)),
            }
        }
        Ok(offers)
    }

    /// Starts all roles and collects their reports, in role order.
    fn perform(&mut self, workers: &mut [Worker]) -> Result<Vec<RoleReport>, RoundError> {
        let roles = self.probe.roles();
        self.moments.ready_ns = monotonic_ns();
        for (role, worker) in roles.iter().zip(workers.iter_mut()) {
            self.tell(role, worker, &ToWorker::Go)?;
        }
        let mut reports = Vec::new();
        let frames = self.hear_all(workers)?;
        let took = Duration::from_nanos(monotonic_ns().saturating_sub(self.moments.ready_ns));
        let gate = ReportGate::of(self.timing, self.block, took);
        for (place, frame) in frames.into_iter().enumerate() {
            match frame {
                FromWorker::Done { report } => {
                    // Slices are the sender's, whose clock is this machine's.
                    let far = self.probe.far(roles[place]);
                    gate.of_far(self.far_tsc_hz.filter(|_| far))
                        .admits(&report, !far)
                        .map_err(|what| self.lied(roles[place], &what))?;
                    reports.push(*report);
                }
                other => return Err(self.unexpected(roles[place], &other)),
            }
        }
        Ok(reports)
    }

    /// One frame of every role, in the order in which they speak: what goes wrong on one side is heard at
    /// once, and not only when another has waited for it in vain.
    fn hear_all(&mut self, workers: &mut [Worker]) -> Result<Vec<FromWorker>, RoundError> {
        let roles = self.probe.roles();
        let mut frames: Vec<Option<FromWorker>> = workers.iter().map(|_| None).collect();
        while let Some(first) = frames.iter().position(Option::is_none) {
            let silent: Vec<usize> = (first..frames.len()).filter(|place| frames[*place].is_none()).collect();
            let lines: Vec<_> = silent.iter().map(|place| workers[*place].line()).collect();
            let began = Instant::now();
            let ready = process::wait_for_any(&lines, protocol::LOOK)
                .map_err(|error| RoundError::Failed(format!("cannot wait for the workers: {error}")))?;
            self.deadline.waited(protocol::LOOK, began.elapsed());
            let over = (self.terms.interrupted)() || self.deadline.has_passed();
            // Hearing one that is silent when time is up says so.
            let spoke = silent.iter().zip(ready).find(|(_, ready)| *ready || over);
            if let Some((place, _)) = spoke {
                let frame = self.listen(roles[*place], &mut workers[*place])?;
                if let FromWorker::Failed { peer_lost: true, .. } = frame {
                    if let Some(cause) = self.cause_elsewhere(*place, workers) {
                        return Err(cause);
                    }
                }
                frames[*place] = Some(self.told(roles[*place], frame)?);
            }
        }
        Ok(frames.into_iter().flatten().collect())
    }

    /// Why another role went away, where it says so itself within a moment.
    fn cause_elsewhere(&self, heard: usize, workers: &mut [Worker]) -> Option<RoundError> {
        let until = Instant::now() + POST_MORTEM;
        let others = self
            .probe
            .roles()
            .iter()
            .zip(workers.iter_mut())
            .enumerate()
            .filter(|(place, _)| *place != heard);
        for (_, (role, worker)) in others {
            loop {
                let left = until.saturating_duration_since(Instant::now());
                // Only one that has something to say is heard: waiting for a frame in vain would end it.
                if process::wait_for_any(&[worker.line()], left).ok()? != [true] {
                    break;
                }
                match worker.hear(&mut Deadline::at(until), self.terms.interrupted).ok()? {
                    FromWorker::Failed { peer_lost: true, .. } => break,
                    frame @ FromWorker::Failed { .. } => return self.told(role, frame).err(),
                    _ => {}
                }
            }
        }
        None
    }

    /// A worker that listens no more has said why, in a frame or with its last words.
    fn tell(&mut self, role: &str, worker: &mut Worker, frame: &ToWorker) -> Result<(), RoundError> {
        match worker.tell(frame) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {
                Err(self.hear(role, worker).map_or_else(|why| why, |said| self.unexpected(role, &said)))
            }
            Err(error) => Err(self.lost(role, &error)),
        }
    }

    fn hear(&mut self, role: &str, worker: &mut Worker) -> Result<FromWorker, RoundError> {
        let frame = self.listen(role, worker)?;
        self.told(role, frame)
    }

    /// Whatever it says, a failure too.
    fn listen(&mut self, role: &str, worker: &mut Worker) -> Result<FromWorker, RoundError> {
        let heard = worker.hear(&mut self.deadline, self.terms.interrupted);
        heard.map_err(|error| self.lost(role, &error))
    }

    /// What it says, where that is not the end of the round.
    fn told(&self, role: &str, frame: FromWorker) -> Result<FromWorker, RoundError> {
        match frame {
            FromWorker::Unavailable { why } => Err(RoundError::Unavailable(gate::reason(why))),
            FromWorker::Failed { causes, .. } => {
                Err(RoundError::Failed(short(format!("the {role} says: {}", causes.join(": ")))))
            }
            frame => Ok(frame),
        }
    }

    fn lost(&self, role: &str, error: &std::io::Error) -> RoundError {
        if (self.terms.interrupted)() {
            return RoundError::Interrupted;
        }
        if error.kind() == std::io::ErrorKind::TimedOut {
            return RoundError::Failed(short(format!(
                "the {role} did not answer in time and was ended: it, the other side or the link between them \
                 {STOOD_STILL} ({error})"
            )));
        }
        RoundError::Failed(short(format!("lost the {role}: {error}")))
    }

    /// What cannot be costs the round.
    fn lied(&self, role: &str, what: &str) -> RoundError {
        RoundError::Failed(short(format!("the {role} reported {what}")))
    }

    fn unexpected(&self, role: &str, frame: &FromWorker) -> RoundError {
        RoundError::Failed(short(format!("the {role} said something out of turn: {frame:?}")))
    }
}
