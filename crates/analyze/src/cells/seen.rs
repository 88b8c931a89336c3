//! One pass over the samples of a run: the cells of each case, what is wrong with its samples, and whether its
//! rounds warm up.
//!
//! A file of samples may be larger than memory, and to read it costs more than all the arithmetic: everything
//! that looks at every sample does it here, together, one case after another on every CPU. Nothing is judged.

use crate::cells::estimates::{Cell, Cells, cells_of_case};
use crate::cells::quality::{self, Judged, WarmUps};
use crate::cells::sanity::{Limits, Look};
use crate::cells::turns::Turns;
use crate::level::{self, TimedVisit};
use crate::parallel::in_parallel;
use syscost_core::sample::Sample;
use syscost_core::stats::RatioEstimate;
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;

/// What the samples of a run show.
#[derive(Debug, Default)]
pub struct Seen {
    pub cells: Cells,
    /// In the order of the plan.
    pub looks: Vec<Look>,
    pub warm_ups: WarmUps,
    /// When each round of each case was measured, and what it cost.
    pub visits: Vec<TimedVisit>,
}

impl Cells {
    pub fn of(run: &Run) -> Cells {
        Seen::of(run, &[]).cells
    }
}

impl Seen {
    pub fn of(run: &Run, judged: &[Judged]) -> Seen {
        let plan = &run.record.plan.cases;
        let slots = plan.iter().map(|c| c.index + 1).max().unwrap_or(0);
        let mut per_case = vec![Box::default(); slots];
        let (mut looks, mut warm_ups) = (Vec::with_capacity(plan.len()), WarmUps::new());
        let mut visits = Vec::new();
        let turns = Turns::of(run);
        for (case, of_case) in plan.iter().zip(in_parallel(plan, |case| OfCase::of(run, case, judged))) {
            per_case[case.index] = turns.with(run, case.index, of_case.cells);
            looks.push(of_case.look);
            visits.extend(of_case.visits);
            let ratios = of_case.warm_ups.into_iter();
            warm_ups.extend(ratios.map(|(metric, ratio)| ((case.index, metric), ratio)));
        }
        Seen { cells: Cells::from_cases(per_case), looks, warm_ups, visits }
    }
}

struct OfCase {
    cells: Box<[Cell]>,
    look: Look,
    warm_ups: Vec<(&'static str, RatioEstimate)>,
    visits: Vec<TimedVisit>,
}

impl OfCase {
    fn of(run: &Run, case: &Case, judged: &[Judged]) -> OfCase {
        let limits = Limits::of(case, run.record.spec.timing);
        let own = run.samples.of_case(case.index);
        let mut look = Look::default();
        let mut sound: Vec<&Sample> = Vec::new();
        for sample in own.iter() {
            let fault = limits.fault(sample);
            look.count(sample, fault);
            if sample.counts() && fault.is_none() {
                sound.push(sample);
            }
        }
        sound.sort_by_key(|s| (s.round, s.index));
        // A twin is the same place again; its own troubles are no other's.
        let judged = judged.iter().filter(|(probe, _)| case.probe == *probe && case.twin_of.is_none());
        let confidence = run.record.spec.confidence;
        let warm_up = |(_, metric): &Judged| {
            Some((metric.id, quality::warm_up(own.iter(), metric, &case.point, confidence)?))
        };
        OfCase {
            cells: cells_of_case(case, &sound, &run.record),
            look,
            visits: level::visits(case, &sound),
            warm_ups: judged.filter_map(warm_up).collect(),
        }
    }
}
