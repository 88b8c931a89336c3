//! Rounds of blocks: one pair of workers plays all rivals of a point, and what is settled gives its time away.

use super::disturbance::marks;
use super::{Session, with_samples};
use crate::worker::{self, BlockResult, RoundError};
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};
use syscost_core::axis::Point;
use syscost_core::decide::{AGAINST_CONTROL, Contrast, Looks, Verdict, decide};
use syscost_core::stats::random::Random;
use syscost_experiment::plan::{BlockVisit, RivalBlock};
use syscost_experiment::run::{
    FIND_SENDER, LEAVE_OUT, OUT_OF_MEMORY, OwnShare, RoundRatio, SENT_BY_OTHERS, STOOD_STILL, SliceFigure,
    SliceRow, Warning, own_cost,
};
use syscost_host::modelled;
use syscost_host::noise::Noise;
use syscost_host::settings::clock_counts_instructions;
use syscost_measure::probe::transfer::axes::THREADS;
use syscost_measure::probe::{self, BlockTask, Slice};

/// Between two slices the run beside this one may begin, count copies or write its report.
const BESIDE: Duration = Duration::from_secs(300);

impl Session<'_> {
    /// Where clocks count instructions, a visit repeats in this order and in no other.
    pub(super) fn case_order(&self, round: u32, due: Vec<usize>) -> Vec<usize> {
        if clock_counts_instructions() { due } else { self.plan.order(self.spec.seed, round, &due) }
    }

    /// The same of blocks.
    pub(super) fn block_order(&self, round: u32, due: &[usize]) -> Vec<usize> {
        if clock_counts_instructions() { due.to_vec() } else { self.schedule.order(round, due) }
    }

    /// Visits each case once, and keeps nothing of it, where clocks count instructions: in a kernel that has just booted the first
    /// visit of a case costs up to 1 % more than all that follow, which agree. False when the user interrupted it.
    pub fn first_visits(&mut self) -> Result<bool> {
        // With modelled caches a visit takes seconds, and the first one's per cent is within the interval of rounds.
        if !clock_counts_instructions() || modelled::opened().is_some() {
            return Ok(true);
        }
        let began = Instant::now();
        for case in &self.plan.cases {
            // What fails here fails in the rounds, and is told there.
            if let Err(RoundError::Interrupted) = self.round(case, None) {
                return Ok(false);
            }
        }
        self.spend(|spent| &mut spent.warm_up_ns, began.elapsed());
        Ok(true)
    }

    /// Plays a round of a block with one pair of workers: its cases in turns, or those that are measured together though
    /// nobody compares them. False when the user interrupted it. `None`: its cases are to be visited one by one, since
    /// they cannot share workers, or could not now.
    pub(super) fn play_block(&mut self, block: &RivalBlock, round: u32) -> Result<Option<bool>> {
        let in_turns = block.in_turns();
        let mut players = match in_turns {
            true => self.schedule.players(block, round),
            false => self.schedule.measured_together(block, round),
        };
        // Without a rival that was given up since, the others may be able to.
        let failed = |apart: &Vec<usize>| !in_turns || *apart == players;
        if clock_counts_instructions()
            || players.is_empty()
            || self.apart.get(&block.id()).is_some_and(failed)
        {
            return Ok(None);
        }
        let lacking = || self.plan.lacks_together(&players, &self.rooms);
        if let Some(why) = in_turns.then(lacking).flatten() {
            self.apart.insert(block.id(), players);
            self.warn_apart(block, &why.reason);
            return Ok(None);
        }
        let asked = players.clone();
        let seed = self.seed(block, round);
        if in_turns {
            // Twins are not always twins: what a place in memory or among connections costs goes round.
            Random::new(seed).shuffle(&mut players);
        }
        for case in &players {
            self.forecast(*case)?;
        }
        let along = block.visit == BlockVisit::AlongThreads;
        let baton = self.baton.as_ref().filter(|_| in_turns).map(|baton| baton.number());
        let windows = !in_turns || !along && self.schedule.wants_windows(&players, round);
        let (task, timing) = match in_turns {
            true => {
                let task = BlockTask { baton, ..block.task(self.plan, &players, self.far, seed) };
                (task, RivalBlock::timing(self.spec.timing, windows))
            }
            false => (RivalBlock::together_task(self.plan, &players, seed), self.spec.timing),
        };
        let own = players.iter().any(|case| !probe::own_code(&self.plan.cases[*case].point).is_empty());
        let terms = self.terms(timing, if baton.is_some() { BESIDE } else { Duration::ZERO }, own);
        let before = (Instant::now(), Noise::now());
        match worker::block_round(&self.plan.cases[players[0]], &task, &terms, &mut self.paths) {
            Ok(played) => {
                let noise = Noise::now().since(&before.1);
                let span = played.span();
                self.account(span);
                self.note_quota(&noise, &players);
                self.keep_turns(block, round, &players, played, &marks(&noise), windows)
            }
            Err(RoundError::Interrupted) => Ok(Some(false)),
            Err(error) => {
                self.spend(|spent| &mut spent.failed_ns, before.0.elapsed());
                self.apart.insert(block.id(), asked);
                // Of those that nobody compares, whatever keeps one from working then says so of that one.
                if in_turns {
                    self.warn_apart(block, &error.to_string());
                }
                Ok(None)
            }
        }
    }

    /// Keeps the slices and then the windows of a round of a block.
    fn keep_turns(
        &mut self,
        block: &RivalBlock,
        round: u32,
        players: &[usize],
        played: BlockResult,
        marks: &[String],
        windows: bool,
    ) -> Result<Option<bool>> {
        let row = |(rival, slice): &(usize, Slice)| SliceRow {
            block: block.id(),
            round,
            case: players[*rival],
            slice: Slice { start_ns: self.calendar.since_start(slice.start_ns), ..*slice },
        };
        let rows: Vec<SliceRow> = played.slices.iter().map(row).collect();
        if !rows.is_empty() {
            self.dir.append_slices(&rows)?;
        }
        self.run.slices.saw(&rows);
        for (index, done) in players.iter().copied().zip(played.rivals) {
            let spent = |row: &&SliceRow| row.slice.sender_cpu_ns + row.slice.receiver_cpu_ns;
            let slices_cpu_ns = rows.iter().filter(|row| row.case == index).map(|row| spent(&row)).sum();
            self.note_own(done.own_share(index, slices_cpu_ns));
            // The control's windows are those of the first of its blocks.
            if !block.own.contains(&index) || self.schedule.has_round(index, round) {
                continue;
            }
            self.visits += 1;
            self.schedule.saw_levels(&self.run, index, round);
            if !windows {
                self.schedule.took_turn(index, round);
                self.tell_visit(index, round);
                continue;
            }
            let done = match with_samples(done) {
                Ok(done) => done,
                Err(error) => {
                    self.note_failure(index, round, &error);
                    continue;
                }
            };
            self.take_in(index, round, done, marks.to_vec())?;
            let case = &self.plan.cases[index];
            let fits = Instant::now() + self.plan.visit_time_alone(case, self.spec) * 2 < self.end;
            if self.counting.due(case) && fits && !self.count(case, round)? {
                return Ok(Some(false));
            }
        }
        Ok(Some(true))
    }

    /// Takes in what the harness itself cost a case in a timed round.
    pub(super) fn note_own(&mut self, share: Option<OwnShare>) {
        if let Some(share) = share {
            own_cost::add_to(&mut self.run.record.own_cost, share);
        }
    }

    /// What keeps a block from being played in turns shows in its cases too, or is memory or limits that each alone keeps.
    fn warn_apart(&mut self, block: &RivalBlock, why: &str) {
        let observed = format!("rivals could not take turns in one pair of processes: {why}");
        let warnings = &mut self.run.record.warnings;
        if let Some(said) = warnings.iter_mut().find(|warning| warning.observed == observed) {
            said.cases.extend(
                block.cases.iter().filter(|case| !said.cases.contains(case)).copied().collect::<Vec<_>>(),
            );
            return;
        }
        self.warn(Warning {
            id: "rivals_apart".into(),
            observed,
            consequence:
                "they are measured one after the other: differences of a few per cent stay undecided longer"
                    .into(),
            remedy: remedy(why).into(),
            cases: block.cases.clone(),
        });
    }

    /// Looks at the comparisons so far: rivals whose every comparison is settled give their time to the others. A look may
    /// spend half of what the one before it might, so there is one only after half as many rounds again: a comparison that
    /// takes forty rounds would settle at no look if there were forty.
    pub(super) fn race(&mut self) {
        let blocks: Vec<RivalBlock> =
            self.schedule.blocks().filter(|block| block.in_turns()).cloned().collect();
        // Side by side a rival that one run is done with would have no partner in the other.
        let rounds = self.schedule.rounds_in_turns().filter(|rounds| *rounds >= self.next_look);
        let Some(rounds) = rounds.filter(|_| !blocks.is_empty() && !self.plan.side_by_side) else { return };
        self.next_look = (rounds * 3).div_ceil(2);
        self.looks += 1;
        let mut pools: BTreeMap<(String, String), usize> = BTreeMap::new();
        let mut contrasts: [Vec<Contrast>; 2] = [Vec::new(), Vec::new()];
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        let mut places: BTreeMap<Point, usize> = BTreeMap::new();
        for block in &blocks {
            let controls = &block.cases[..block.controls];
            let next = places.len();
            let shared = self.plan.cases[controls[0]].point.without(THREADS.id);
            let place = *places.entry(shared).or_insert(next);
            let rivals = &block.cases[block.controls..];
            for (i, a) in rivals.iter().enumerate() {
                let against = std::iter::once(controls).chain(rivals[i + 1..].chunks(1));
                for b in against {
                    let next = pools.len();
                    let pool = *pools.entry((self.chosen(*a), self.chosen(b[0]))).or_insert(next);
                    let weight = if controls.contains(&b[0]) { AGAINST_CONTROL } else { 1.0 };
                    for (figure, all) in
                        [SliceFigure::TotalCpu, SliceFigure::Wall].into_iter().zip(&mut contrasts)
                    {
                        let ratios = self.run.slices.log_ratios(&[*a], b, figure);
                        all.push(Contrast { weight, place, ..RoundRatio::contrast(&ratios, pool) });
                    }
                    pairs.push((*a, b[0]));
                }
            }
        }
        let look = Looks::interim(self.spec.confidence, self.looks);
        let mut open: BTreeSet<usize> = BTreeSet::new();
        for contrasts in &contrasts {
            let decided = decide(contrasts, &look).points;
            let left = decided.iter().zip(&pairs).filter(|(d, _)| d.verdict == Verdict::Undecided);
            open.extend(left.flat_map(|(_, (a, b))| [*a, *b]));
        }
        let all = blocks.iter().flat_map(|block| block.cases.iter().copied());
        self.schedule.settle(&all.filter(|case| !open.contains(case)).collect());
    }

    /// What tells a case from its rivals, in words.
    fn chosen(&self, case: usize) -> String {
        let case = &self.plan.cases[case];
        let chosen = probe::find(&case.probe).map(|probe| probe.coordinates(&case.point, true));
        format!("{} {}", case.probe, chosen.unwrap_or_default())
    }
}

/// What lets rivals take turns that could not. One that stands still does so however few and however rich they are.
fn remedy(why: &str) -> &'static str {
    if why.contains(STOOD_STILL) {
        return LEAVE_OUT;
    }
    if why.contains(SENT_BY_OTHERS) {
        return FIND_SENDER;
    }
    if why.contains(OUT_OF_MEMORY) {
        return "give the run more memory, or name fewer mechanisms, threads or connections";
    }
    "name fewer mechanisms, threads or connections"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rival_that_stands_still_is_to_be_left_out() {
        let silent = "the receiver did not answer in time and was ended: the other side stood still";
        assert_eq!(remedy(silent), LEAVE_OUT);
        assert!(remedy("the sender says: cannot open a socket: Too many open files").contains("fewer"));
    }
}
