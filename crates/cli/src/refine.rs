//! Measures a run in stages: the grid that was asked for, then what narrows the borders in it.
//!
//! Each stage is decided by what the run has recorded, and is written into its plan before it is
//! measured: a run that is killed goes on with the stage it was in.

use anyhow::Result;
use std::time::{Duration, Instant};
use syscost_analyze::refine;
use syscost_experiment::run::{Run, State};
use syscost_experiment::spec::{Refine, Spec};
use syscost_harness::{self as measure, Event, Part, RunOptions};

/// Below this a stage cannot bring a claim.
const SHORTEST: Duration = Duration::from_secs(2);

/// Measures the options; where their experiment does not refine, in one go.
pub fn measure(options: RunOptions, watch: &mut dyn FnMut(&Event<'_>)) -> Result<Run> {
    match options.spec.refine.clone() {
        Some(refine) => RefinementStages {
            end: Instant::now() + options.part.map_or(options.spec.time_limit(), |part| part.limit),
            refine,
            shown: Vec::new(),
            started: false,
            watch,
        }
        .run(options),
        None => measure::measure(options, watch),
    }
}

struct RefinementStages<'w> {
    end: Instant,
    refine: Refine,
    /// Warnings that were shown: each part would show those of the record again.
    shown: Vec<String>,
    started: bool,
    watch: &'w mut dyn FnMut(&Event<'_>),
}

impl RefinementStages<'_> {
    fn run(mut self, options: RunOptions) -> Result<Run> {
        // The first part of this session: the grid, or the stage that a resumed run was in.
        let part = match options.plan.refinements.last() {
            None => Part { first_case: 0, limit: self.refine.before(self.left()) },
            Some(stage) => Part { first_case: stage.first_case, limit: self.left() / 2 },
        };
        let again = |run: &Run, first_case, limit| RunOptions {
            resume: true,
            profile: false,
            plan: run.record.plan.clone(),
            part: Some(Part { first_case, limit }),
            ..options.clone()
        };
        let mut run = self.part_of(RunOptions { part: Some(part), ..options.clone() })?;
        while self.goes_on(&run) && self.add_stage(&mut run, &options.spec) {
            let stages = &run.record.plan.refinements;
            let first = stages.last().map_or(0, |stage| stage.first_case);
            run = self.part_of(again(&run, first, self.share(stages.len() - 1)))?;
        }
        // What is left goes to the cases that are not as precise as asked, wherever they are.
        if matches!(run.record.state, State::TimeLimit | State::NothingMeasured) && self.left() > SHORTEST {
            run = self.part_of(again(&run, 0, self.left()))?;
        }
        (self.watch)(&Event::Finished { state: run.record.state });
        Ok(run)
    }

    fn left(&self) -> Duration {
        self.end.saturating_duration_since(Instant::now())
    }

    fn goes_on(&self, run: &Run) -> bool {
        run.record.state != State::Interrupted
            && run.record.plan.refinements.len() < self.refine.stages as usize
            && self.left() > SHORTEST
    }

    /// The time of a stage after so many: what is left, in equal parts.
    fn share(&self, done: usize) -> Duration {
        let stages = (self.refine.stages as usize).saturating_sub(done).max(1);
        self.left() / stages as u32
    }

    /// Plans the next stage by what was measured; false where nothing is wanted.
    fn add_stage(&mut self, run: &mut Run, spec: &Spec) -> bool {
        let plan = &mut run.record.plan;
        let budget = (self.refine.most_cases as usize).saturating_sub(plan.refined());
        let time = self.share(plan.refinements.len());
        let visit = plan.cases.first().map_or(Duration::ZERO, |case| plan.visit_time_alone(case, spec));
        // More than fit into the stage would leave all of them without a claim.
        let fit = time.as_nanos() / (visit * spec.min_rounds).as_nanos().max(1);
        let wanted = refine::wanted(run, &self.refine.axes, budget.min(fit as usize));
        let points = wanted.into_iter().flat_map(|w| w.points.into_iter().map(move |p| (w.probe.clone(), p)));
        let points: Vec<_> = points.collect();
        let plan = &mut run.record.plan;
        let cases = plan.refine(&points);
        if cases > 0 {
            (self.watch)(&Event::Refined { stage: plan.refinements.len(), cases });
        }
        cases > 0
    }

    /// One part; the end of the whole run is told once.
    fn part_of(&mut self, options: RunOptions) -> Result<Run> {
        let (watch, shown, started) = (&mut *self.watch, &mut self.shown, &mut self.started);
        measure::measure(options, &mut |event| match event {
            Event::Finished { .. } => {}
            Event::Started { .. } if *started => {}
            Event::Machine { .. } if std::mem::replace(started, true) => {}
            Event::Warning { warning } if shown.contains(&warning.observed) => {}
            Event::Warning { warning } => {
                shown.push(warning.observed.clone());
                watch(event);
            }
            event => watch(event),
        })
    }
}
