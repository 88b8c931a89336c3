//! Which cases still need rounds, and how long a visit of each block takes.
//!
//! Time goes to open decisions first: a case whose every comparison is settled gives its time to the others (racing),
//! and gets more only when nothing is open and its own figure is not as precise as asked.

mod quick;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use syscost_core::sample::{self, Better, Metric, Sample};
use syscost_core::stats::{self, Estimate};
use syscost_experiment::plan::{BlockVisit, Case, Plan, RivalBlock};
use syscost_experiment::run::{Run, SliceFigure};
use syscost_experiment::spec::Spec;
use syscost_measure::probe;
use syscost_measure::probe::transfer::axes::MESSAGE_BYTES;

/// A case that failed this often without a success between is given up.
const FAILURES_ALLOWED: u32 = 2;
/// Where it had worked before, only when it has failed for so long: a link may be down for a while.
const OUTAGE: Duration = Duration::from_secs(10);
/// Rounds of which nothing can be used are made up for, up to so many visits for each round asked for.
pub const MOST_VISITS_PER_ROUND: usize = 2;
/// Rounds of a case that takes turns before its comparisons may settle: of fewer, the scatter is not known.
const LEAST_TURNS: u32 = 4;
/// One round of so many has windows.
const WINDOWS: u32 = 2;

/// What is known of one case so far.
#[derive(Default)]
struct CaseProgress {
    /// Round values of each decisive metric.
    values: Vec<Vec<f64>>,
    /// Rounds in which it ran.
    rounds: BTreeSet<u32>,
    /// Of those, how many left something to use: others were disturbed from beginning to end.
    used: usize,
    failures_in_a_row: u32,
    failing_since: Option<Instant>,
    given_up: bool,
    /// Is its block played in turns?
    in_turns: bool,
    /// Are its values those of slices? Windows are then beside them.
    by_slices: bool,
    has_windows: bool,
    /// Is every comparison of it settled?
    settled: bool,
}

/// How long visits of a block took.
#[derive(Clone, Copy, Default)]
struct VisitTimes {
    first: Duration,
    /// Of those after the first, which may have made files or links.
    longest: Duration,
}

pub struct RoundSchedule<'a> {
    pub plan: &'a Plan,
    pub spec: &'a Spec,
    decisive: Vec<Vec<Metric>>,
    cases: Vec<CaseProgress>,
    blocks: Vec<RivalBlock>,
    /// By block, see [`Plan::neighbours`].
    neighbours: Vec<usize>,
    times: Vec<VisitTimes>,
    /// Cases that need more rounds: kept with every visit, since looking at all of them takes as long as the
    /// plan is large.
    open: BTreeSet<usize>,
    /// Cases that were told to be done.
    told: BTreeSet<usize>,
    /// Earlier ones are left as they are.
    first_case: usize,
}

impl<'a> RoundSchedule<'a> {
    pub fn new(plan: &'a Plan, spec: &'a Spec) -> RoundSchedule<'a> {
        let decisive: Vec<Vec<Metric>> = plan.cases.iter().map(decisive_metrics).collect();
        let mut cases: Vec<CaseProgress> = decisive
            .iter()
            .map(|metrics| CaseProgress {
                values: vec![Vec::new(); metrics.len()],
                ..CaseProgress::default()
            })
            .collect();
        let blocks = plan.blocks();
        for block in blocks.iter().filter(|block| block.in_turns()) {
            block.cases.iter().for_each(|case| cases[*case].in_turns = true);
        }
        let times = vec![VisitTimes::default(); blocks.len()];
        let mut schedule = RoundSchedule {
            plan,
            spec,
            decisive,
            cases,
            neighbours: plan.neighbours(&blocks),
            blocks,
            times,
            open: BTreeSet::new(),
            told: BTreeSet::new(),
            first_case: 0,
        };
        (0..schedule.cases.len()).for_each(|case| schedule.look_at(case));
        schedule
    }

    /// After anything happened to a case.
    fn look_at(&mut self, case: usize) {
        if self.needs_more(case) {
            self.open.insert(case);
        } else {
            self.open.remove(&case);
        }
    }

    /// The same for the cases from this one on.
    pub fn starting_at(self, first_case: usize) -> RoundSchedule<'a> {
        RoundSchedule { first_case, ..self }
    }

    /// What an interrupted run already measured, and which cases it gave up.
    pub fn recalling(mut self, run: &Run) -> RoundSchedule<'a> {
        for case in &self.plan.cases {
            let own = run.samples.of_case(case.index);
            let mut rounds: BTreeMap<u32, Vec<&Sample>> = BTreeMap::new();
            for sample in own.iter() {
                rounds.entry(sample.round).or_default().push(sample);
            }
            for (round, samples) in rounds {
                self.measured(case.index, round, &samples);
            }
        }
        // Rounds of a block have slices always, and windows in some.
        for case in &self.plan.cases {
            let rounds: BTreeSet<u32> = run.slices.rounds_of(case.index).collect();
            for round in rounds {
                self.saw_levels(run, case.index, round);
                if !self.has_round(case.index, round) {
                    self.took_turn(case.index, round);
                }
            }
        }
        self.plan.given_up().into_iter().for_each(|case| self.give_up(case));
        // An earlier session told of these.
        self.told = (0..self.cases.len()).filter(|case| !self.open.contains(case)).collect();
        self
    }

    /// Takes in the slices of a case in one round.
    pub fn saw_levels(&mut self, run: &Run, case: usize, round: u32) {
        let level = |figure| run.slices.level_in(&[case], round, figure);
        if let (Some(wall), Some(cpu)) = (level(SliceFigure::Wall), level(SliceFigure::TotalCpu)) {
            self.saw_slices(case, wall.exp(), cpu.exp());
        }
    }

    /// Takes in one visit's samples.
    pub fn measured(&mut self, case: usize, round: u32, samples: &[&Sample]) {
        let point = &self.plan.cases[case].point;
        let progress = &mut self.cases[case];
        for (metric, values) in self.decisive[case].iter().zip(&mut progress.values) {
            if !progress.by_slices {
                values.extend(sample::round_value(samples, metric, point));
            }
        }
        progress.has_windows = true;
        progress.rounds.insert(round);
        progress.used += usize::from(samples.iter().any(|sample| sample.usable()));
        progress.failures_in_a_row = 0;
        progress.failing_since = None;
        self.look_at(case);
    }

    /// Takes in what the slices of a round say: nanoseconds of wall time and of CPU time a message.
    fn saw_slices(&mut self, case: usize, wall_ns: f64, cpu_ns: f64) {
        let bytes = self.plan.cases[case].point.int(MESSAGE_BYTES).unwrap_or(1) as f64;
        let progress = &mut self.cases[case];
        if !progress.by_slices {
            progress.by_slices = true;
            progress.values.iter_mut().for_each(Vec::clear);
        }
        for (metric, values) in self.decisive[case].iter().zip(&mut progress.values) {
            values.push(if metric.better == Better::Higher { 8e9 * bytes / wall_ns } else { cpu_ns / bytes });
        }
    }

    /// Takes in a round in which the case had slices and no window.
    pub fn took_turn(&mut self, case: usize, round: u32) {
        let progress = &mut self.cases[case];
        progress.rounds.insert(round);
        progress.used += 1;
        self.look_at(case);
    }

    /// Is it time for windows of these? In every second round, and in the first of each.
    pub fn wants_windows(&self, players: &[usize], round: u32) -> bool {
        round % WINDOWS == 0 || players.iter().any(|case| !self.cases[*case].has_windows)
    }

    /// How long a visit of a block took.
    pub fn took(&mut self, block: usize, time: Duration) {
        let times = &mut self.times[block];
        match times.first.is_zero() {
            true => times.first = time,
            false => times.longest = times.longest.max(time),
        }
    }

    /// Every comparison of these cases is settled, and of no others.
    pub fn settle(&mut self, settled: &BTreeSet<usize>) {
        for case in 0..self.cases.len() {
            if self.cases[case].settled != settled.contains(&case) {
                self.cases[case].settled = !self.cases[case].settled;
                self.look_at(case);
            }
        }
    }

    /// Takes in a failed visit; true when the case is now given up.
    pub fn failed(&mut self, case: usize) -> bool {
        let progress = &mut self.cases[case];
        progress.failures_in_a_row += 1;
        let since = *progress.failing_since.get_or_insert_with(Instant::now);
        let worked = !progress.rounds.is_empty();
        if progress.failures_in_a_row >= FAILURES_ALLOWED && (!worked || since.elapsed() >= OUTAGE) {
            progress.given_up = true;
        }
        self.look_at(case);
        self.given_up(case)
    }

    /// The case cannot be measured here.
    pub fn give_up(&mut self, case: usize) {
        self.cases[case].given_up = true;
        self.look_at(case);
    }

    /// Cases that get no more rounds and have some, each told once, with the number of its rounds.
    pub fn newly_done(&mut self, at_end: bool) -> Vec<(usize, usize)> {
        let over = |case: &usize| self.has_rounds(*case) && (at_end || !self.open.contains(case));
        let own = self.first_case..self.cases.len();
        let new: Vec<usize> = own.filter(|case| !self.told.contains(case)).filter(over).collect();
        self.told.extend(&new);
        new.into_iter().map(|case| (case, self.cases[case].rounds.len())).collect()
    }

    pub fn has_rounds(&self, case: usize) -> bool {
        !self.cases[case].rounds.is_empty()
    }

    pub fn has_round(&self, case: usize, round: u32) -> bool {
        self.cases[case].rounds.contains(&round)
    }

    pub fn blocks(&self) -> impl Iterator<Item = &RivalBlock> {
        self.blocks.iter()
    }

    /// Rounds of the case in turns that has most, once that is as many as a settled comparison needs.
    pub fn rounds_in_turns(&self) -> Option<usize> {
        let in_turns = self.cases.iter().filter(|progress| progress.in_turns);
        in_turns.filter(|progress| progress.used >= self.least(progress)).map(|progress| progress.used).max()
    }

    fn given_up(&self, case: usize) -> bool {
        self.cases[case].given_up
    }

    /// Cases that are not yet as precise as asked and may still become so.
    pub fn pending(&self) -> impl Iterator<Item = usize> {
        self.open.range(self.first_case..).copied()
    }

    /// Is any case of the whole plan not yet as precise as asked?
    pub fn unfinished(&self) -> bool {
        !self.open.is_empty()
    }

    pub fn block(&self, number: usize) -> &RivalBlock {
        &self.blocks[number]
    }

    /// The blocks that this round is to visit: those with open decisions, and when there are none or it is their turn, those
    /// whose figures are not as precise as asked.
    pub fn due(&self, round: u32) -> Vec<usize> {
        let racing = self.racing();
        let any_in_turns = self.blocks.iter().any(|block| block.in_turns());
        let is_due = |block: &RivalBlock| {
            let aside = any_in_turns && block.is_aside();
            (!aside || RivalBlock::visited_aside(round))
                && self.wanted(block, round, racing).any(|case| !self.cases[case].rounds.contains(&round))
        };
        (0..self.blocks.len()).filter(|number| is_due(&self.blocks[*number])).collect()
    }

    /// These blocks in a random order, but neighbours one after the other: what is compared is measured close in time.
    pub fn order(&self, round: u32, due: &[usize]) -> Vec<usize> {
        let shuffled = self.plan.order(self.spec.seed, round, due);
        let mut turn: BTreeMap<usize, usize> = BTreeMap::new();
        for block in &shuffled {
            let next = turn.len();
            turn.entry(self.neighbours[*block]).or_insert(next);
        }
        let mut order = shuffled;
        order.sort_by_key(|block| turn[&self.neighbours[*block]]);
        order
    }

    /// Is any decision open?
    fn racing(&self) -> bool {
        self.pending().any(|case| self.is_open(case))
    }

    fn is_open(&self, case: usize) -> bool {
        let progress = &self.cases[case];
        !progress.in_turns || !progress.settled || progress.used < self.least(progress)
    }

    /// Cases of a block that need this round. The control of a block in turns is there whenever a rival is.
    fn wanted<'s>(
        &'s self,
        block: &'s RivalBlock,
        round: u32,
        racing: bool,
    ) -> impl Iterator<Item = usize> + 's {
        let racing = racing && !RivalBlock::plays_settled(round);
        let along = block.visit == BlockVisit::AlongThreads;
        let own = if along { &block.cases } else { &block.own };
        let pending = own.iter().copied().filter(|case| *case >= self.first_case && self.open.contains(case));
        pending.filter(move |case| !racing || self.is_open(*case))
    }

    /// The cases of a block that this round is to visit one by one.
    pub fn due_of(&self, block: &RivalBlock, round: u32) -> Vec<usize> {
        if block.visit == BlockVisit::AlongThreads {
            return Vec::new();
        }
        let racing = self.racing();
        self.wanted(block, round, racing).filter(|case| !self.cases[*case].rounds.contains(&round)).collect()
    }

    /// All of a block that is measured together, once any of it is due: what is precise by itself may be subtracted from
    /// what is not.
    pub fn measured_together(&self, block: &RivalBlock, round: u32) -> Vec<usize> {
        if block.visit != BlockVisit::Together || self.due_of(block, round).len() < 2 {
            return Vec::new();
        }
        let fresh = |case: &usize| !self.given_up(*case) && !self.cases[*case].rounds.contains(&round);
        block.cases.iter().copied().filter(fresh).collect()
    }

    /// Who takes turns in this round: the control, and the rivals with something open. Empty: nobody can.
    pub fn players(&self, block: &RivalBlock, round: u32) -> Vec<usize> {
        let racing = self.racing();
        let (controls, rivals) = block.cases.split_at(block.controls);
        let playing = |case: &&usize| self.wanted(block, round, racing).any(|wanted| wanted == **case);
        let rivals: Vec<usize> = rivals.iter().filter(playing).copied().collect();
        let controls = controls.iter().filter(|case| !self.given_up(**case));
        let nobody = rivals.is_empty() && !self.plan.side_by_side;
        if !block.in_turns() || nobody || self.given_up(block.cases[0]) {
            return Vec::new();
        }
        controls.copied().chain(rivals).collect()
    }

    fn least(&self, progress: &CaseProgress) -> usize {
        let least =
            if progress.in_turns { self.spec.min_rounds.min(LEAST_TURNS) } else { self.spec.min_rounds };
        least as usize
    }

    fn needs_more(&self, case: usize) -> bool {
        let Spec { precision, confidence, min_rounds, max_rounds, .. } = *self.spec;
        let progress = &self.cases[case];
        // A machine that is disturbed all the time is visited twice as often, and no more.
        let visits = (max_rounds as usize).saturating_mul(MOST_VISITS_PER_ROUND);
        if self.given_up(case) || progress.used >= max_rounds as usize || progress.rounds.len() >= visits {
            return false;
        }
        progress.used < self.least(progress)
            || (progress.in_turns && !progress.settled)
            || progress
                .values
                .iter()
                .filter(|values| !values.is_empty())
                .any(|values| stats::needs_more(values, precision, confidence, min_rounds, max_rounds))
    }

    /// How long the next visit of a block may take.
    pub fn expected(&self, block: usize) -> Duration {
        let VisitTimes { first, longest } = self.times[block];
        let seen = [longest, first].into_iter().find(|time| !time.is_zero());
        seen.unwrap_or_else(|| self.plan.visit_time(&self.blocks[block], self.spec))
    }

    /// The first decisive metric and its estimate so far.
    pub fn estimate(&self, case: usize) -> (&'static str, Option<Estimate>) {
        match (self.decisive[case].first(), self.cases[case].values.first()) {
            (Some(metric), Some(values)) => {
                (metric.id, stats::median_interval(values, self.spec.confidence, metric.unit))
            }
            _ => ("", None),
        }
    }
}

fn decisive_metrics(case: &Case) -> Vec<Metric> {
    let Some(probe) = probe::find(&case.probe) else { return Vec::new() };
    let wanted = probe.decisive();
    probe.metrics().into_iter().filter(|m| wanted.contains(&m.id)).collect()
}

#[cfg(test)]
mod tests;
