//! A machine made of files, one whose rows cost what a test says, and a round that has begun.

use crate::probe::Channel;
use crate::probe::prediction::{Found, Known, RowRef};
use std::fs;
use syscost_core::units::Unit;
use syscost_host::files::Root;

pub struct Machine(tempfile::TempDir);

impl Machine {
    pub fn empty() -> Machine {
        Machine(tempfile::tempdir().unwrap())
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn root(&self) -> Root {
        Root::at(self.0.path())
    }
}

/// Every row of a probe costs so many nanoseconds; the core runs at one cycle a nanosecond.
pub struct Costs(Vec<(&'static str, f64)>);

impl Costs {
    pub fn of(rows: &[(&'static str, f64)]) -> Costs {
        Costs(rows.to_vec())
    }
}

impl Known for Costs {
    fn fact(&self, id: &str) -> Option<Found> {
        let found = || Found { value: 1e9, unit: Unit::Hertz, source: "a test".into(), case: None };
        (id == "core_hertz").then(found)
    }

    fn says(&self, _: &str) -> Option<String> {
        None
    }

    fn row(&self, row: &RowRef) -> Option<Found> {
        let (_, value) = self.0.iter().find(|(probe, _)| *probe == row.probe)?;
        Some(Found { value: *value, unit: Unit::Nanoseconds, source: "a test".into(), case: None })
    }
}

/// A round of one role that has begun.
pub struct Begun;

impl Channel for Begun {
    fn offer(&mut self, _: serde_json::Value) -> anyhow::Result<()> {
        Ok(())
    }

    fn ready(&mut self) -> anyhow::Result<()> {
        Ok(())
    }
}
