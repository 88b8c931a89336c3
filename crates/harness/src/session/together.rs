//! Cases that one pair of workers measures in one visit, though nobody compares them.

use super::disturbance::marks;
use super::{Session, with_samples};
use crate::worker::{self, RoundError};
use anyhow::Result;
use std::time::{Duration, Instant};
use syscost_experiment::plan::RivalBlock;
use syscost_host::noise::Noise;
use syscost_host::settings::clock_counts_instructions;

impl Session<'_> {
    /// Visits all of such a block; false when the user interrupted it. `None`: its cases are to be visited one by one.
    pub(super) fn visit_together(&mut self, block: &RivalBlock, round: u32) -> Result<Option<bool>> {
        let cases = self.schedule.measured_together(block, round);
        if cases.is_empty() || clock_counts_instructions() || self.apart.contains_key(&block.id()) {
            return Ok(None);
        }
        for case in &cases {
            self.forecast(*case)?;
        }
        let task = RivalBlock::together_task(self.plan, &cases, self.seed(block, round));
        let terms = self.terms(self.spec.timing, Duration::ZERO);
        let before = (Instant::now(), Noise::now());
        let played = match worker::block_round(&self.plan.cases[cases[0]], &task, &terms, &mut self.paths) {
            Ok(played) => played,
            Err(RoundError::Interrupted) => return Ok(Some(false)),
            // Whatever keeps one of them from working then says so of that one.
            Err(_) => {
                self.spend(|spent| &mut spent.failed_ns, before.0.elapsed());
                self.apart.insert(block.id(), cases);
                return Ok(None);
            }
        };
        let noise = Noise::now().since(&before.1);
        self.account(played.span());
        self.note_quota(&noise, &cases);
        for (index, done) in cases.into_iter().zip(played.rivals) {
            self.visits += 1;
            match with_samples(done) {
                Ok(done) => self.take_in(index, round, done, marks(&noise))?,
                Err(error) => self.note_failure(index, round, &error),
            }
        }
        Ok(Some(true))
    }
}
