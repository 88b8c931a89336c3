//! Rows of a quick run that there is no time for.

use super::Session;
use syscost_experiment::plan::{NO_TIME, Skip, rows_time};
use syscost_host::Unavailable;

impl Session<'_> {
    /// Leaves a row out of a quick run that has no time for it; true when it did. Once it has a sample it stays. The
    /// report names what was left out in one sentence: on a slow machine it is a screen of rows.
    pub(super) fn leaves_out(&mut self, number: usize) -> bool {
        if !(self.spec.quick && self.spec.only_rows()) {
            return false;
        }
        let limit = rows_time(self.end.saturating_duration_since(self.started));
        if self.schedule.affordable(limit).contains(&number) {
            return false;
        }
        for index in self.schedule.block(number).own.clone() {
            let case = &self.plan.cases[index];
            let remedy = format!("without --quick, or alone: syscost run {}", case.probe);
            let why = Unavailable { reason: NO_TIME.into(), remedy };
            self.run.record.plan.skips.push(Skip {
                probe: case.probe.clone(),
                point: case.point.clone(),
                why,
            });
            self.schedule.give_up(index);
        }
        true
    }
}
