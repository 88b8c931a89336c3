//! Which rows a quick run has time for: a plan knows how long a visit takes on a quiet machine, the first visits how long
//! it takes here and now. Few rows that are known tell more than many that are not.

use super::RoundSchedule;
use std::collections::BTreeSet;
use std::time::Duration;
use syscost_experiment::plan::{RivalBlock, rows_rounds};
use syscost_measure::probe;

/// Visits before what they took says how slow the machine is.
const ENOUGH: usize = 6;

impl RoundSchedule<'_> {
    /// Blocks that there is time for: each for as many rounds as its figure needs, what people ask about first, then the
    /// quickest.
    pub fn affordable(&self, limit: Duration) -> BTreeSet<usize> {
        let slowness = self.slowness();
        let mut wanted: Vec<(bool, Duration, usize)> = (0..self.blocks.len())
            .map(|number| {
                let block = &self.blocks[number];
                let planned = self.plan.visit_time(block, self.spec).mul_f64(slowness);
                (!self.asked_about(block), planned, number)
            })
            .collect();
        wanted.sort();
        let mut left = limit;
        let fits = |(_, visit, number): (bool, Duration, usize)| {
            let needed = visit * rows_rounds(self.spec);
            left = left.checked_sub(needed)?;
            Some(number)
        };
        wanted.into_iter().filter_map(fits).collect()
    }

    /// How many times longer than planned visits take here; a quick machine is no reason to plan for more.
    fn slowness(&self) -> f64 {
        let seen = || (0..self.blocks.len()).filter(|number| !self.times[*number].first.is_zero());
        if seen().count() < ENOUGH {
            return 1.0;
        }
        // The sum rather than the median: on a loaded machine few long visits take most of the time.
        let planned = |number: usize| self.plan.visit_time(&self.blocks[number], self.spec);
        let took: Duration = seen().map(|number| self.times[number].first).sum();
        let planned: Duration = seen().map(planned).sum();
        (took.as_secs_f64() / planned.as_secs_f64().max(1e-6)).max(1.0)
    }

    /// Is it among the figures that a report opens with?
    fn asked_about(&self, block: &RivalBlock) -> bool {
        block.cases.iter().any(|case| {
            let case = &self.plan.cases[*case];
            let row = probe::find(&case.probe).and_then(|probe| probe.row(&case.point));
            row.is_some_and(|row| row.told_as.is_some())
        })
    }
}
