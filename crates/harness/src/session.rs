//! One session of a run: audits, then rounds over the pending cases, each kept before the next.

mod beside;
mod disturbance;
mod leaving_out;
mod missing;
mod profiles;
mod quota;
mod settings_of_cases;
mod turns;

use super::audit::{self, Auditor};
use super::calendar::Calendar;
use super::counting::CountingSchedule;
use super::schedule::{MOST_VISITS_PER_ROUND, RoundSchedule};
use super::{Event, OWN_PATIENCE, PATIENCE, forecast};
use crate::worker::path::{Paths, another_host};
use crate::worker::{self, RoundError, RoundOptions, RoundResult};
use anyhow::Result;
use disturbance::marks;
use missing::note_missing;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::{Duration, Instant};
use syscost_core::sample::{COUNTING, Sample};
use syscost_core::stats::random::Random;
use syscost_experiment::plan::{Case, Plan, RivalBlock, Skip};
use syscost_experiment::run::files::RunDir;
use syscost_experiment::run::{
    Failure, RoundSpan, Run, STOOD_STILL, SessionConditions, State, TimeSpent, Warning,
};
use syscost_experiment::spec::Spec;
use syscost_host::allowance::Rooms;
use syscost_host::conditions::{Conditions, ConditionsWatch};
use syscost_host::scratch::Scratch;
use syscost_host::settings::clock_counts_instructions;
use syscost_host::{clock, noise};
use syscost_measure::probe::{self, Timing};
use syscost_sys::{baton::Baton, signals, sleep::sleep};

/// How far past the time limit a last round may run before it is cut off.
pub const GRACE: Duration = Duration::from_secs(2);
/// How long a run waits after a round in which nothing worked.
const PAUSE: Duration = Duration::from_millis(500);
/// The share of the time limit that counting copies may take before the first round.
const AUDIT_SHARE: u32 = 10;
const AUDIT_SHARE_EMULATED: u32 = 2;
pub struct Session<'a> {
    plan: &'a Plan,
    spec: &'a Spec,
    schedule: RoundSchedule<'a>,
    counting: CountingSchedule,
    watch: &'a mut dyn FnMut(&Event<'_>),
    dir: RunDir,
    run: Run,
    paths: Paths,
    scratch: Scratch,
    tsc_hz: Option<f64>,
    calendar: Calendar,
    conditions: ConditionsWatch,
    started: Instant,
    end: Instant,
    before_ns: u64,
    visits: u64,
    /// See [`forecast::sizes_beside`] and [`forecast::stages`].
    beside: forecast::SizesBeside,
    stages: Vec<usize>,
    /// What there was to give when the session began.
    rooms: Rooms,
    /// Cases whose prediction was asked for, whatever the answer.
    forecast: BTreeSet<usize>,
    /// By block: the rivals that could not share a pair of workers.
    apart: BTreeMap<usize, Vec<usize>>,
    /// Looks at the comparisons so far.
    looks: u32,
    /// Rounds from which on there is another.
    next_look: usize,
    /// Is one side on another host?
    far: bool,
    /// Another run measures beside this one.
    baton: Option<Rc<Baton>>,
    /// The end, but for what was waited for the other run.
    own_end: Instant,
}

impl<'a> Session<'a> {
    pub fn new(
        schedule: RoundSchedule<'a>,
        (dir, mut run, calendar): (RunDir, Run, Calendar),
        paths: Paths,
        (end, baton): (Instant, Option<Rc<Baton>>),
        watch: &'a mut dyn FnMut(&Event<'_>),
    ) -> Session<'a> {
        let counting = CountingSchedule::new(schedule.plan, &run);
        note_missing(&mut run.record.missing, counting.missing().to_vec());
        let far = schedule.plan.cases.iter().any(|case| another_host(&case.point).is_some());
        let beside = forecast::sizes_beside(schedule.plan);
        Session {
            plan: schedule.plan,
            spec: schedule.spec,
            stages: forecast::stages(schedule.plan, &run.record.host, &beside),
            beside,
            counting,
            schedule,
            watch,
            dir,
            before_ns: run.record.elapsed_ns,
            calendar,
            run,
            paths,
            scratch: Scratch::default(),
            tsc_hz: clock::constant_tick_rate(),
            conditions: ConditionsWatch::begin(),
            started: Instant::now(),
            end,
            visits: 0,
            forecast: BTreeSet::new(),
            rooms: Rooms::here(),
            apart: BTreeMap::new(),
            looks: 0,
            next_look: 0,
            far,
            baton,
            own_end: end,
        }
    }

    /// Takes in what the machine was like before the session, and how long that was looked at.
    pub fn watched(&mut self, before: Conditions, took: Duration) {
        self.run.record.conditions.push(SessionConditions { during: before.clone(), before });
        self.before_ns += took.as_nanos() as u64;
        self.spend(|spent| &mut spent.watching_ns, took);
    }

    /// Counts time by what it was for, in a run that has done so from its start.
    fn spend(&mut self, part: fn(&mut TimeSpent) -> &mut u64, took: Duration) {
        if let Some(spent) = &mut self.run.record.time_spent {
            *part(spent) += took.as_nanos() as u64;
        }
    }

    /// Counts the copies of one case of each way to move data, before anything is timed; false when
    /// the user interrupted it.
    pub fn audits(&mut self) -> Result<bool> {
        let due = audit::due(self.plan, &self.run.record.audits);
        if due.is_empty() || clock_counts_instructions() {
            return Ok(true);
        }
        // Where only counts hold, they are what the time is for.
        let share = if self.run.record.emulator().is_some() { AUDIT_SHARE_EMULATED } else { AUDIT_SHARE };
        let until = Instant::now() + self.end.saturating_duration_since(Instant::now()) / share;
        let began = Instant::now();
        let mut auditor = Auditor::attach(until.saturating_duration_since(began));
        for (done, case) in due.iter().enumerate() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.warn(audit::cut_short(due.len() - done));
                break;
            }
            match auditor.audit(case, &mut self.paths, &mut self.scratch, PATIENCE.min(left + GRACE)) {
                Ok(audit) => {
                    (self.watch)(&Event::CaseAudited { case, audit: &audit });
                    self.run.record.audits.push(audit);
                }
                Err(RoundError::Interrupted) => return Ok(false),
                // The rounds of the case meet the same, and say so.
                Err(RoundError::Unavailable(_)) => {}
                Err(RoundError::Failed(message)) => self.warn(audit::broken(case, &message)),
            }
        }
        if self.run.record.thread_clock.is_none() {
            let left = self.end.saturating_duration_since(Instant::now());
            self.run.record.thread_clock = audit::thread_clock(left);
        }
        // Its programs and maps are files too, and where few are allowed the record needs one.
        drop(auditor);
        self.spend(|spent| &mut spent.audits_ns, began.elapsed());
        self.keep_record()?;
        Ok(true)
    }

    fn warn(&mut self, warning: Warning) {
        (self.watch)(&Event::Warning { warning: &warning });
        self.run.record.warnings.push(warning);
    }

    pub fn rounds(&mut self) -> Result<State> {
        let mut state = State::Complete;
        // Only failures can make a round number come up without samples, so a multiple of the maximum ends.
        for round in 0..self.spec.max_rounds.saturating_mul(MOST_VISITS_PER_ROUND as u32) {
            let due = self.schedule.due(round);
            if self.schedule.pending().next().is_none() {
                break;
            }
            if due.is_empty() {
                continue;
            }
            let cases = due.iter().map(|number| self.schedule.block(*number).own.len()).sum();
            (self.watch)(&Event::RoundStarted { round, cases });
            let mut visited = false;
            let before = (self.visits, self.run.record.failures.len());
            for block in self.order(round, &due) {
                if signals::caught() {
                    return Ok(State::Interrupted);
                }
                if round == 0 && self.leaves_out(block) {
                    continue;
                }
                // A slow block that no longer fits leaves its time to quicker ones.
                if Instant::now() + self.schedule.expected(block) > self.end {
                    state = State::TimeLimit;
                    continue;
                }
                visited = true;
                let began = Instant::now();
                if !self.visit_block(block, round)? {
                    return Ok(State::Interrupted);
                }
                let waited = self.let_the_other()?;
                self.schedule.took(block, began.elapsed().saturating_sub(waited));
                let now = Instant::now();
                (self.watch)(&Event::Progress {
                    visits: self.visits,
                    pending_cases: self.schedule.pending().count(),
                    elapsed_ns: (now - self.started).as_nanos() as u64,
                    time_left_ns: self.end.saturating_duration_since(now).as_nanos() as u64,
                });
            }
            self.race();
            self.tell_done(false);
            self.keep_record()?;
            if !visited {
                break;
            }
            let failed = self.run.record.failures.len() - before.1;
            if failed as u64 == self.visits - before.0 {
                let began = Instant::now();
                self.pause();
                self.spend(|spent| &mut spent.failed_ns, began.elapsed());
            }
        }
        Ok(state)
    }

    /// Visits the cases of a block: in turns, or one after the other; false when the user interrupted it.
    fn visit_block(&mut self, number: usize, round: u32) -> Result<bool> {
        let block = self.schedule.block(number).clone();
        if let Some(going_on) = self.play_block(&block, round)? {
            return Ok(going_on);
        }
        let due = self.schedule.due_of(&block, round);
        for case in self.case_order(round, due) {
            if signals::caught() || !self.visit(case, round)? {
                return Ok(false);
            }
            self.visits += 1;
        }
        Ok(true)
    }

    /// After a round in which nothing worked: what is gone for a moment (a link, a route) may come back, and
    /// trying without a pause would use up the rounds.
    fn pause(&self) {
        let until = (Instant::now() + PAUSE).min(self.end);
        while Instant::now() < until && !signals::caught() {
            sleep(Duration::from_millis(20));
        }
    }

    /// The order of blocks; in the first round rows come after those that their predictions need.
    fn order(&self, round: u32, due: &[usize]) -> Vec<usize> {
        let mut order = self.block_order(round, due);
        if round == 0 {
            let stage =
                |block: &usize| self.schedule.block(*block).cases.iter().map(|case| self.stages[*case]).max();
            order.sort_by_key(stage);
        }
        order
    }

    /// Before the first round of a case: writes down what it should cost, and with it every other
    /// case that could be predicted now and has no sample yet.
    fn forecast(&mut self, index: usize) -> Result<()> {
        let now = self.calendar.unix_ns();
        let record = &mut self.run.record;
        let known = record.predictions.iter_mut().find(|p| p.case == index);
        match known {
            Some(prediction) => {
                // In a resumed run, whose calendar may have been set back since.
                prediction.first_round_unix_ns.get_or_insert(now.max(prediction.made_unix_ns + 1));
                return Ok(());
            }
            None if self.forecast.contains(&index) => return Ok(()),
            None => {}
        }
        let stage = self.stages[index];
        for case in self.plan.cases.iter().filter(|c| self.stages[c.index] == stage && c.twin_of.is_none()) {
            // Marked whether it has samples or not: in a run that goes on nothing is looked for twice.
            if self.forecast.insert(case.index) && !self.run.samples.has(case.index) {
                let prediction = forecast::predict(&self.run, case, &self.beside, now);
                self.run.record.predictions.extend(prediction);
            }
        }
        self.keep_record()?;
        let first = self.calendar.unix_ns();
        let own = self.run.record.predictions.iter_mut().find(|p| p.case == index);
        if let Some(prediction) = own {
            prediction.first_round_unix_ns = Some(first);
        }
        Ok(())
    }

    /// Runs one round of one case; false when the user interrupted it.
    fn visit(&mut self, index: usize, round: u32) -> Result<bool> {
        let case = &self.plan.cases[index];
        self.forecast(index)?;
        let before = (Instant::now(), noise::Noise::now());
        match self.round(case, None) {
            Ok(done) => {
                let took = before.0.elapsed();
                self.account(done.span());
                self.note_own(done.own_share(index, 0));
                let noise = noise::Noise::now().since(&before.1);
                self.note_quota(&noise, &[index]);
                self.take_in(index, round, done, marks(&noise))?;
                if self.counting.due(case) && Instant::now() + took * 2 < self.end {
                    return self.count(case, round);
                }
            }
            Err(RoundError::Interrupted) => return Ok(false),
            Err(RoundError::Unavailable(why)) if !self.schedule.has_rounds(index) => {
                (self.watch)(&Event::CaseSkipped { case, why: &why });
                let (probe, point) = (case.probe.clone(), case.point.clone());
                self.run.record.plan.skips.push(Skip { probe, point, why });
                self.schedule.give_up(index);
            }
            Err(error) => {
                self.note_failure(index, round, &error);
                // Code that has never worked is the user's to mend: the others take turns without it.
                if !probe::own_code(&case.point).is_empty() && !self.schedule.has_rounds(index) {
                    self.schedule.give_up(index);
                }
                self.spend(|spent| &mut spent.failed_ns, before.0.elapsed());
            }
        }
        Ok(true)
    }

    fn tell_visit(&mut self, index: usize, round: u32) {
        let (metric, estimate) = self.schedule.estimate(index);
        (self.watch)(&Event::CaseVisited { round, case: &self.plan.cases[index], metric, estimate });
    }

    /// Tells of cases that get no more rounds; at the run's end that is all of them.
    fn tell_done(&mut self, at_end: bool) {
        for (index, rounds) in self.schedule.newly_done(at_end) {
            let (metric, estimate) = self.schedule.estimate(index);
            (self.watch)(&Event::CaseDone { case: &self.plan.cases[index], rounds, metric, estimate });
        }
    }

    /// Takes in how a timed round spent its time.
    fn account(&mut self, round: RoundSpan) {
        if let Some(spent) = &mut self.run.record.time_spent {
            spent.add_round(round);
        }
    }

    fn note_failure(&mut self, index: usize, round: u32, error: &RoundError) {
        let message = error.to_string();
        (self.watch)(&Event::CaseFailed { round, case: &self.plan.cases[index], message: &message });
        self.run.record.failures.push(Failure { case: index, round, message });
        self.schedule.failed(index);
    }

    /// Of a round that begins now and may wait for something else for so long.
    fn terms(&self, timing: Timing, beside: Duration, own: bool) -> RoundOptions<'static> {
        let patience = if own { OWN_PATIENCE } else { PATIENCE };
        let patience = patience.min(self.end.saturating_duration_since(Instant::now()) + GRACE) + beside;
        RoundOptions { tsc_hz: self.tsc_hz, ..RoundOptions::of(timing, patience, &signals::caught) }
    }

    /// Of what is drawn in a round of a block.
    fn seed(&self, block: &RivalBlock, round: u32) -> u64 {
        Random::derived(self.spec.seed, u64::from(round) << 32 | block.id() as u64)
    }

    fn round(&mut self, case: &Case, counting: Option<u32>) -> Result<RoundResult, RoundError> {
        let own = !probe::own_code(&case.point).is_empty();
        let terms = RoundOptions { counting, ..self.terms(self.spec.timing, Duration::ZERO, own) };
        worker::round(case, &terms, &mut self.paths, &mut self.scratch).and_then(with_samples)
    }

    /// Runs the round again with hardware counters; false when the user interrupted it. The case has its times
    /// whatever becomes of it.
    fn count(&mut self, case: &Case, round: u32) -> Result<bool> {
        let began = Instant::now();
        match self.round(case, Some(0)) {
            Ok(done) if self.counting.counted(case, &done.samples, began.elapsed()) => {
                let mut samples = done.samples;
                samples.iter_mut().for_each(|sample| sample.index += self.spec.timing.windows);
                self.keep(case.index, round, RoundResult { samples, ..done }, vec![COUNTING.into()])?;
            }
            Ok(done) => self.note_missing(done.missing),
            Err(RoundError::Interrupted) => return Ok(false),
            Err(_) => self.counting.failed(case, began.elapsed()),
        }
        self.spend(|spent| &mut spent.counting_ns, began.elapsed());
        Ok(true)
    }

    /// A visit's samples: kept, and told of.
    fn take_in(&mut self, index: usize, round: u32, done: RoundResult, marks: Vec<String>) -> Result<()> {
        let samples = self.keep(index, round, done, marks)?;
        self.schedule.measured(index, round, &samples.iter().collect::<Vec<_>>());
        self.tell_visit(index, round);
        Ok(())
    }

    /// Appends a round's samples and notes what its workers reported.
    fn keep(
        &mut self,
        case: usize,
        round: u32,
        done: RoundResult,
        marks: Vec<String>,
    ) -> Result<Vec<Sample>> {
        let mut samples = done.samples;
        for sample in &mut samples {
            (sample.case, sample.round) = (case, round);
            sample.start_ns = sample.start_ns.map(|ns| self.calendar.since_start(ns));
            sample.marks.extend(marks.iter().cloned());
        }
        let written = self.dir.append(&samples)?;
        self.run.samples.written(&samples, written);
        self.note_settings(case, done.settings);
        self.note_missing(done.missing);
        Ok(samples)
    }

    fn keep_record(&mut self) -> Result<()> {
        self.run.record.elapsed_ns = self.before_ns + self.started.elapsed().as_nanos() as u64;
        if let Some(own) = self.run.record.conditions.last_mut() {
            own.during = self.conditions.seen();
            disturbance::forget_the_other(self.baton.is_some(), &mut own.during);
        }
        self.run.record.slice_rounds = self.run.slices.block_rounds();
        self.run.record.sample_rows = self.run.samples.tally().samples as u32;
        self.dir.write_record(&self.run.record)?;
        Ok(())
    }

    /// Keeps how it ended.
    pub fn close(mut self, state: State) -> Result<Run> {
        let over = state == State::Complete && self.schedule.unfinished();
        let state = if over { State::TimeLimit } else { state };
        let state = if self.run.has_measured() || state == State::Interrupted {
            state
        } else {
            State::NothingMeasured
        };
        self.run.record.state = state;
        self.run.tell_sessions();
        self.tell_done(true);
        self.keep_record()?;
        Ok(self.run)
    }
}

/// A round in which nothing came to its end is a failure, not silence: a stream that stood still
/// through every window must show in the report.
fn with_samples(done: RoundResult) -> Result<RoundResult, RoundError> {
    if done.samples.is_empty() {
        return Err(RoundError::Failed(format!(
            "no window came to its end: the work {STOOD_STILL} throughout"
        )));
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_without_samples_is_a_failure() {
        let round = |samples| RoundResult {
            samples,
            settings: Default::default(),
            missing: Vec::new(),
            totals: Default::default(),
            moments: Default::default(),
        };
        assert!(with_samples(round(vec![Sample::default()])).is_ok());
        assert!(matches!(with_samples(round(Vec::new())), Err(RoundError::Failed(_))));
    }
}
