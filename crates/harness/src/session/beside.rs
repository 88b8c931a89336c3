//! A run beside another: it passes the baton between its visits.

use super::Session;
use anyhow::{Context, Result};
use std::time::Duration;

impl Session<'_> {
    /// Passes the baton, where there is one: the time limit is of this run's own time.
    /// Returns what was waited for the other run since the last time.
    pub(super) fn let_the_other(&mut self) -> Result<Duration> {
        let Some(baton) = &self.baton else { return Ok(Duration::ZERO) };
        let waited = baton.pass().context("the process that runs this beside another is gone")?;
        let before = std::mem::replace(&mut self.end, self.own_end + waited);
        Ok(self.end.saturating_duration_since(before))
    }
}
