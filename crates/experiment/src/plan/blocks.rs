//! Which cases are compared with one another, and so are measured close in time.
//!
//! Cases of one probe that differ only in what their user chooses (mechanism, receiver, messages a call) are rivals. Where
//! the probe can, one pair of workers plays a block of them in turns, with the control twice (A/A); where it cannot, they
//! are visited one after the other.
//!
//! Where a probe says so (the steps of a path), one visit measures all values of an axis together, though nobody compares
//! them: they are subtracted from one another.

use super::{Case, Plan};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use syscost_core::axis::{Name, Point};
use syscost_measure::probe::transfer::axes::THREADS;
use syscost_measure::probe::{self, BlockTask, Probe, Timing};

/// Rivals of a block beside the control: each keeps threads and warm connections.
const MOST_RIVALS: usize = 6;

/// Each rival's first, untimed turn in a fresh pair of workers.
const WARMUP_NS: u64 = 2_000_000;
/// How long the slices of a round take together, about: long beside starting a pair of workers.
const SLICES_NS: u64 = 100_000_000;
/// Slices of 250 us scatter a fifth less in the same time, and their ratios are up to 3 % off those of 1 ms: what starting a
/// slice costs is a part of each.
const SLICE_NS: u64 = 500_000;
/// Slices of several numbers of threads: to start eight takes a tenth of a shorter one.
const ALONG_THREADS_NS: u64 = 2_000_000;
/// Where round trips are not of this machine, slices are this much longer.
const FARTHER: u64 = 8;
/// Of a round: fewer say nothing of their scatter.
const LEAST_PASSES: u64 = 6;
/// Between two turns: closing one and starting the next.
const BETWEEN_NS: u64 = 60_000;

/// What nobody compares is visited in every round until it has so many, and then in one of so many.
const ASIDE: u32 = 3;

/// A rival whose every comparison is settled plays in one round of so many, one that has windows: its own figures are asked
/// for too, and comparisons that no time decides would keep it out to the end.
const SETTLED: u32 = 4;

/// How the cases of a block are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockVisit {
    /// Each by a pair of workers of its own.
    Apart,
    /// The same of what a reader holds against one another beside the rivals of the study.
    Adjacent,
    /// One pair of workers plays them in turns.
    InTurns,
    /// The same of one way at several numbers of threads.
    AlongThreads,
    /// One pair of workers measures all of them in a visit.
    Together,
}

/// Cases that a round visits together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RivalBlock {
    /// The control first and its twin after it, where it has one; all others once.
    pub cases: Vec<usize>,
    /// How many of them are the control.
    pub controls: usize,
    /// Those of `cases` whose windows this block measures; the control's are measured by the first of its blocks.
    pub own: Vec<usize>,
    pub visit: BlockVisit,
}

impl RivalBlock {
    pub fn in_turns(&self) -> bool {
        matches!(self.visit, BlockVisit::InTurns | BlockVisit::AlongThreads)
    }

    /// The turns of these of its cases, in this order.
    pub fn task(&self, plan: &Plan, players: &[usize], far: bool, seed: u64) -> BlockTask {
        let rivals: Vec<Point> = players.iter().map(|case| plan.cases[*case].point.clone()).collect();
        let slice_ns = self.slice_ns(far);
        let pass_ns = rivals.len() as u64 * (slice_ns + BETWEEN_NS);
        let passes = (SLICES_NS / pass_ns.max(1)).clamp(LEAST_PASSES, 200) as u32;
        BlockTask { rivals, warmup_ns: WARMUP_NS, slice_ns, passes, seed, baton: None }
    }

    fn slice_ns(&self, far: bool) -> u64 {
        let along = self.visit == BlockVisit::AlongThreads;
        (if along { ALONG_THREADS_NS } else { SLICE_NS }) * if far { FARTHER } else { 1 }
    }

    /// The visit of cases that are measured together.
    pub fn together_task(plan: &Plan, cases: &[usize], seed: u64) -> BlockTask {
        let rivals = cases.iter().map(|case| plan.cases[*case].point.clone()).collect();
        BlockTask { rivals, seed, ..BlockTask::default() }
    }

    /// Of the window that each rival has after its slices, if it has one: the connection is warm.
    pub fn timing(base: Timing, windows: bool) -> Timing {
        let windows = base.windows.min(u32::from(windows));
        Timing { warmup_ns: base.warmup_ns.min(WARMUP_NS), windows, ..base }
    }

    /// How long a round takes beside starting its workers.
    pub(super) fn time(&self, plan: &Plan, base: Timing) -> Duration {
        let windows = self.visit != BlockVisit::AlongThreads;
        let of = |case: &usize| {
            let case = &plan.cases[*case];
            let timing = RivalBlock::timing(base, windows);
            let timing = probe::find(&case.probe).map_or(timing, |p| p.timing(&case.point, timing));
            let windows = timing.warmup_ns.saturating_add(timing.window_ns * u64::from(timing.windows));
            windows.saturating_add(WARMUP_NS)
        };
        Duration::from_nanos(self.cases.iter().map(of).fold(SLICES_NS, u64::saturating_add))
    }

    /// Is it beside what the study compares? A twin is no rival.
    pub fn is_aside(&self) -> bool {
        self.cases.len() == self.controls && !self.in_turns()
    }

    /// Does a round beside blocks in turns visit such a case?
    pub fn visited_aside(round: u32) -> bool {
        round < ASIDE || round % ASIDE == 0
    }

    /// Does a round play rivals that are settled?
    pub fn plays_settled(round: u32) -> bool {
        round % SETTLED == SETTLED / 2
    }

    /// How many of so many rounds do.
    pub fn rounds_aside(rounds: u32) -> u32 {
        (0..rounds).filter(|round| RivalBlock::visited_aside(*round)).count() as u32
    }

    /// What rows of `slices.csv` call it.
    pub fn id(&self) -> usize {
        *self.cases.get(self.controls).unwrap_or(&self.cases[0])
    }
}

impl Plan {
    /// Every case of the plan, in blocks; a case that is compared with none is one by itself.
    pub fn blocks(&self) -> Vec<RivalBlock> {
        let twins: BTreeMap<usize, usize> =
            self.cases.iter().filter_map(|case| Some((case.twin_of?, case.index))).collect();
        let groups = groups(&self.cases);
        let blocks = groups.iter().flat_map(|group| blocks_of(group, &twins, self.side_by_side));
        let along = if self.side_by_side { Vec::new() } else { along_threads(&groups) };
        blocks.chain(along).collect()
    }

    /// The cases that their rivals are held against.
    pub fn controls(&self) -> BTreeSet<usize> {
        let blocks = self.blocks();
        blocks.iter().filter(|block| block.cases.len() > block.controls).map(|block| block.cases[0]).collect()
    }

    /// For each of these blocks a number that it shares with those whose rows it is compared with: cases of one
    /// probe that differ in words alone (threads and processes, placements, paths).
    pub fn neighbours(&self, blocks: &[RivalBlock]) -> Vec<usize> {
        let mut numbers: BTreeMap<(&Name, Point), usize> = BTreeMap::new();
        let of = |block: &RivalBlock| {
            let case = &self.cases[block.cases[0]];
            let mut place = case.point.clone();
            place.retain(|axis| case.point.get(axis).is_some_and(|value| value.as_text().is_none()));
            let next = numbers.len();
            *numbers.entry((&case.probe, place)).or_insert(next)
        };
        blocks.iter().map(of).collect()
    }
}

/// Cases of one probe that differ only in what their user chooses, in plan order. Twins stand in none.
pub(super) fn groups(cases: &[Case]) -> Vec<Vec<&Case>> {
    let mut places: BTreeMap<(&Name, Point), usize> = BTreeMap::new();
    let mut groups: Vec<Vec<&Case>> = Vec::new();
    for case in cases.iter().filter(|case| case.twin_of.is_none()) {
        let given =
            probe::find(&case.probe).map_or_else(|| case.point.clone(), |probe| place(probe, &case.point));
        let place = *places.entry((&case.probe, given)).or_insert(groups.len());
        groups.resize_with(groups.len().max(place + 1), Vec::new);
        groups[place].push(case);
    }
    groups
}

/// Where this is, whatever the user chooses and whatever is measured together, and whatever comes with its value only (the
/// reap batch of one mechanism).
fn place(probe: &dyn Probe, point: &Point) -> Point {
    let mut place = probe.coordinates(point, false);
    let about = probe.about();
    let mut usual = point.clone();
    let adjacent = about.adjacent.and_then(|id| probe.axes().into_iter().find(|axis| axis.id == id));
    let default = adjacent.and_then(|axis| Some((axis.id, axis.default().first()?.clone())));
    default.into_iter().for_each(|(id, value)| usual.set(id, value));
    place.retain(|axis| {
        ![about.together, about.adjacent].contains(&Some(axis)) && probe.applies(axis, &usual)
    });
    place
}

/// Can one pair of workers play all of a group?
pub(super) fn takes_turns(group: &[&Case]) -> bool {
    group.len() > 1 && can_take_turns(group)
}

fn can_take_turns(group: &[&Case]) -> bool {
    let can = |case: &&Case| probe::find(&case.probe).is_some_and(|p| p.takes_turns(&case.point));
    group.iter().all(can)
}

/// The case that its rivals are held against.
pub(super) fn control<'a>(group: &[&'a Case]) -> Option<&'a Case> {
    let first = *group.first()?;
    let ways = group.iter().map(|case| (*case, &case.point));
    probe::find(&first.probe).and_then(|probe| probe::plain_control(probe, ways)).or(Some(first))
}

fn blocks_of(group: &[&Case], twins: &BTreeMap<usize, usize>, side_by_side: bool) -> Vec<RivalBlock> {
    let Some(control) = control(group) else { return Vec::new() };
    let with_twin = |case: &Case| [Some(case.index), twins.get(&case.index).copied()].into_iter().flatten();
    // The rival of a case alone is itself, in the run beside this one.
    let alone = side_by_side && group.len() == 1 && can_take_turns(group);
    if alone {
        let cases: Vec<usize> = with_twin(control).collect();
        let controls = cases.len();
        return vec![RivalBlock { own: cases.clone(), controls, cases, visit: BlockVisit::InTurns }];
    }
    if !takes_turns(group) {
        let others = group.iter().filter(|case| case.index != control.index);
        let cases: Vec<usize> =
            [&control].into_iter().chain(others).flat_map(|case| with_twin(case)).collect();
        let controls = with_twin(control).count();
        let about = probe::find(&control.probe).filter(|_| group.len() > 1).map(|probe| probe.about());
        let visit = match about.map(|about| (about.together, about.adjacent)) {
            Some((Some(_), _)) => BlockVisit::Together,
            Some((_, Some(_))) => BlockVisit::Adjacent,
            _ => BlockVisit::Apart,
        };
        return vec![RivalBlock { own: cases.clone(), cases, controls, visit }];
    }
    let others: Vec<usize> = group.iter().map(|c| c.index).filter(|case| *case != control.index).collect();
    let block = |(number, others): (usize, &[usize])| {
        let controls: Vec<usize> = with_twin(control).collect();
        let cases: Vec<usize> = controls.iter().chain(others).copied().collect();
        let own = if number == 0 { cases.clone() } else { others.to_vec() };
        RivalBlock { cases, own, controls: controls.len(), visit: BlockVisit::InTurns }
    };
    // As even as possible: eight are four and four, not six and two.
    let pieces = others.len().div_ceil(MOST_RIVALS);
    others.chunks(others.len().div_ceil(pieces)).enumerate().map(block).collect()
}

/// A block for each place whose control was asked for at several numbers of threads, fewest first: levels of blocks that
/// are visited one after the other differ by more than threads do.
fn along_threads(groups: &[Vec<&Case>]) -> Vec<RivalBlock> {
    let mut places: BTreeMap<(&Name, Point), Vec<&Case>> = BTreeMap::new();
    for control in groups.iter().filter_map(|group| control(group)) {
        if control.point.int(THREADS).is_some() && can_take_turns(&[control]) {
            places.entry((&control.probe, control.point.without(THREADS.id))).or_default().push(control);
        }
    }
    let block = |mut controls: Vec<&Case>| {
        controls.sort_by_key(|case| case.point.int(THREADS));
        let cases = controls.iter().map(|case| case.index).collect();
        RivalBlock { cases, controls: 1, own: Vec::new(), visit: BlockVisit::AlongThreads }
    };
    places.into_values().filter(|controls| controls.len() > 1).map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Spec;

    fn plan(named: &[(&str, &str)]) -> Plan {
        let mut spec = Spec::named("default").unwrap();
        spec.probes.truncate(1);
        named.iter().for_each(|(flag, value)| spec.set_axis(flag, &[value]).unwrap());
        Plan::make_within(&spec, None).unwrap()
    }

    #[test]
    fn rivals_of_a_point_are_one_block_with_the_control_twice() {
        let plan = plan(&[("path", "loopback"), ("size", "64,1M"), ("threads", "1,2")]);
        let (blocks, along): (Vec<RivalBlock>, Vec<RivalBlock>) =
            plan.blocks().into_iter().partition(|block| block.visit == BlockVisit::InTurns);
        assert_eq!(blocks.len(), 4);
        for block in &along {
            let threads = block.cases.iter().map(|case| plan.cases[*case].point.int(THREADS));
            assert_eq!(threads.collect::<Vec<_>>(), [Some(1), Some(2)], "of one size");
            assert!(block.own.is_empty() && block.controls == 1 && block.in_turns());
        }
        assert_eq!(along.len(), 2, "each size has one more");
        for block in &blocks {
            let of = |case: usize| &plan.cases[case];
            assert!(block.in_turns() && block.own == block.cases);
            assert_eq!(of(block.cases[0]).point.text_at("mechanism"), Some("send"));
            assert_eq!(of(block.cases[1]).twin_of, Some(block.cases[0]));
            let given = |case: usize| probe::find("transfer").unwrap().coordinates(&of(case).point, false);
            assert!(block.cases.iter().all(|case| given(*case) == given(block.cases[0])));
        }
        let mut all: Vec<usize> = blocks.iter().flat_map(|block| block.own.clone()).collect();
        all.sort_unstable();
        assert_eq!(all, (0..plan.cases.len()).collect::<Vec<_>>(), "each case once");
    }

    #[test]
    fn many_rivals_are_several_blocks_that_share_the_control() {
        let plan = plan(&[("path", "loopback"), ("size", "64"), ("threads", "1"), ("mechanism", "all")]);
        let blocks = plan.blocks();
        assert!(blocks.len() >= 2, "{blocks:?}");
        assert!(blocks.iter().all(|block| block.cases.len() <= MOST_RIVALS + 2));
        assert!(blocks.iter().all(|block| block.cases[..2] == blocks[0].cases[..2]), "{blocks:?}");
        let mut ids: Vec<usize> = blocks.iter().map(RivalBlock::id).collect();
        ids.dedup();
        assert_eq!(ids.len(), blocks.len());
        let own: usize = blocks.iter().map(|block| block.own.len()).sum();
        assert_eq!(own, plan.cases.len());
    }

    #[test]
    fn mechanisms_whose_latency_is_compared_are_visited_one_after_the_other() {
        let plan = Plan::make_within(&Spec::named("latency").unwrap(), None).unwrap();
        let blocks = plan.blocks();
        let mechanisms = |block: &RivalBlock| {
            let of = |case: &usize| plan.cases[*case].point.text_at("mechanism");
            block.cases.iter().filter_map(of).collect::<std::collections::BTreeSet<_>>().len()
        };
        let several: Vec<&RivalBlock> = blocks.iter().filter(|block| mechanisms(block) > 1).collect();
        assert!(several.len() >= 5 && several.iter().all(|block| block.visit == BlockVisit::Adjacent));
        assert_eq!(blocks.iter().map(|block| block.cases.len()).sum::<usize>(), plan.cases.len());
    }

    #[test]
    fn a_case_alone_takes_turns_with_the_run_beside_it() {
        let named = [("path", "loopback"), ("size", "64,4K"), ("threads", "1"), ("mechanism", "send")];
        let plan = Plan { side_by_side: true, ..plan(&named) };
        let alone = |block: &RivalBlock| block.own == block.cases && block.controls == block.cases.len();
        assert_eq!(plan.blocks().len(), 2);
        assert!(plan.blocks().iter().all(|block| block.in_turns() && alone(block)));
    }

    #[test]
    fn what_is_measured_together_is_one_block_a_place_without_a_control() {
        let mut spec = Spec::named("tcp_path").unwrap();
        spec.set_axis("path", &["loopback,veth"]).unwrap();
        let plan = Plan::make_within(&spec, None).unwrap();
        let blocks = plan.blocks();
        let paths = |block: &RivalBlock| -> std::collections::BTreeSet<String> {
            let path = |case: &usize| plan.cases[*case].point.text_at("path").unwrap().to_string();
            block.cases.iter().map(path).collect()
        };
        assert!(blocks.iter().all(|block| block.visit == BlockVisit::Together && !block.is_aside()));
        assert!(blocks.iter().all(|block| block.cases.len() > 9 && paths(block).len() == 1), "{blocks:?}");
        assert_eq!(blocks.iter().map(|block| block.own.len()).sum::<usize>(), plan.cases.len());
        let together = plan.visit_time(&blocks[0], &spec);
        let alone: Duration =
            blocks[0].cases.iter().map(|case| plan.visit_time_alone(&plan.cases[*case], &spec)).sum();
        assert!(together < alone, "workers start once: {together:?} and {alone:?}");
    }

    #[test]
    fn placements_of_the_plainest_way_follow_one_another_in_every_round() {
        let mut spec = Spec::named("default").unwrap();
        spec.probes.retain(|entry| entry.probe == "placed_transfer");
        spec.set_axis("path", &["loopback"]).unwrap();
        let plan = Plan::make_within(&spec, None).unwrap();
        let blocks = plan.blocks();
        assert_eq!(blocks.len(), 2, "one a size: {blocks:?}");
        assert!(blocks.iter().all(|block| block.visit == BlockVisit::Adjacent && !block.is_aside()));
        assert!(blocks.iter().all(|block| block.cases.len() == 3 && !block.in_turns()), "{blocks:?}");
    }

    #[test]
    fn what_has_no_rival_or_cannot_take_turns_stays_by_itself() {
        let alone = plan(&[("path", "loopback"), ("size", "64,4K"), ("threads", "1"), ("mechanism", "send")]);
        assert!(alone.blocks().iter().all(|block| !block.in_turns()));
        let twins = alone.blocks().into_iter().filter(|block| block.cases.len() == 2);
        assert!(twins.into_iter().all(|block| block.is_aside()), "a twin is no rival");
        let marked = plan(&[("path", "loopback"), ("size", "64"), ("threads", "1"), ("low-water", "1,64K")]);
        assert!(
            marked.blocks().iter().all(|block| !block.in_turns()),
            "the end of a turn would not be taken"
        );
        let many = plan(&[("path", "loopback"), ("size", "64"), ("threads", "1"), ("connections", "1000")]);
        let blocks = many.blocks();
        assert!(blocks.len() == 1 && !blocks[0].in_turns() && blocks[0].cases.len() > 2, "{blocks:?}");
    }
}
