//! The pass of a run that samples where CPU time goes, before its first round.

use super::Session;
use crate::profile::{self, DueProfiles, Profiler};
use crate::worker::RoundError;
use anyhow::Result;
use std::time::Instant;
use syscost_experiment::run::profile::ProfileFile;

/// The share of what is left of the time limit that it may take.
const SHARE: u32 = 3;

impl Session<'_> {
    /// Samples one case of each way to move data, every operation, and other sizes where time is left; false when the user interrupted it. Without the right
    /// the run goes on, with a warning.
    pub fn profiles(&mut self) -> Result<bool> {
        let DueProfiles { needed, other_sizes } =
            profile::due(&self.run.record.spec, self.plan, &self.run.profiles);
        if needed.is_empty() && other_sizes.is_empty() {
            return Ok(true);
        }
        let profiler = match Profiler::attach() {
            Ok(profiler) => profiler,
            Err(why) => {
                self.warn(profile::refused(&why));
                return Ok(true);
            }
        };
        let began = Instant::now();
        let until = began + self.end.saturating_duration_since(began) / SHARE;
        for (done, case) in needed.iter().chain(&other_sizes).enumerate() {
            if Instant::now() >= until {
                if done < needed.len() {
                    self.warn(profile::cut_short(needed.len() - done));
                }
                break;
            }
            match profile::in_run(&profiler, case, &mut self.paths, &mut self.scratch) {
                Ok(profile) => self.run.profiles.push(profile),
                Err(RoundError::Interrupted) => return Ok(false),
                // The rounds of the case meet the same, and say so.
                Err(RoundError::Unavailable(_)) => {}
                Err(RoundError::Failed(message)) => self.warn(profile::broken(case, &message)),
            }
        }
        self.spend(|spent| &mut spent.profiles_ns, began.elapsed());
        let file = ProfileFile::of_this_kernel(&self.run.record.tool.version, self.run.profiles.clone());
        self.dir.write_profile(&file)?;
        self.keep_record()?;
        Ok(true)
    }
}
