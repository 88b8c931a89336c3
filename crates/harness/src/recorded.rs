//! A run whose rounds somebody else measures: commands that took turns. It has the record and the files of every run.

use super::RunOptions;
use super::begin;
use super::calendar::{Calendar, Moment};
use anyhow::Result;
use std::collections::BTreeMap;
use std::fs;
use syscost_core::sample::Sample;
use syscost_experiment::run::files::{RECORD, RunDir, SAMPLES};
use syscost_experiment::run::{Run, SessionConditions, State, settings};
use syscost_host::conditions::ConditionsWatch;
use syscost_sys::clock::monotonic_ns;

/// A run that takes in what was measured.
pub struct RecordedRun {
    dir: RunDir,
    run: Run,
    calendar: Calendar,
    began_ns: u64,
    watch: ConditionsWatch,
}

impl RecordedRun {
    /// Begins it in a directory that holds no other.
    pub fn begin(options: &RunOptions) -> Result<RecordedRun> {
        let began = Moment::now();
        let before = ConditionsWatch::at_rest(super::WATCH);
        let (dir, mut run) = begin::create(options, began)?;
        run.record.time_spent = None;
        run.record.conditions.push(SessionConditions { during: before.clone(), before });
        let calendar = Calendar::of(&run, began);
        Ok(RecordedRun { dir, run, calendar, began_ns: monotonic_ns(), watch: ConditionsWatch::begin() })
    }

    /// Keeps samples whose start is of CLOCK_MONOTONIC.
    pub fn keep(&mut self, mut samples: Vec<Sample>) -> Result<()> {
        for sample in &mut samples {
            sample.start_ns = sample.start_ns.map(|ns| self.calendar.since_start(ns));
        }
        let written = self.dir.append(&samples)?;
        self.run.samples.written(&samples, written);
        Ok(())
    }

    /// What is known of a case beside its figures, by role and name.
    pub fn note(&mut self, case: usize, found: BTreeMap<String, String>) {
        let all = &mut self.run.record.settings;
        let like = settings::like(all.values().next(), found);
        all.insert(case, like);
    }

    /// Ends it early: what was measured stays, and of a run without any nothing does.
    pub fn abandon(self) -> Result<()> {
        if self.run.samples.tally().samples > 0 {
            return self.close(State::Interrupted).map(drop);
        }
        let place = self.dir.path().to_path_buf();
        drop(self);
        [RECORD, SAMPLES].iter().try_for_each(|file| fs::remove_file(place.join(file)))?;
        // It may have been there before.
        let _ = fs::remove_dir(place);
        Ok(())
    }

    /// Keeps how it ended.
    pub fn close(mut self, state: State) -> Result<Run> {
        let record = &mut self.run.record;
        record.state = if self.run.samples.tally().samples == 0 { State::NothingMeasured } else { state };
        record.elapsed_ns = monotonic_ns() - self.began_ns;
        record.sample_rows = self.run.samples.tally().samples as u32;
        if let Some(own) = record.conditions.last_mut() {
            own.during = self.watch.seen();
        }
        self.dir.write_record(&self.run.record)?;
        Ok(self.run)
    }
}
