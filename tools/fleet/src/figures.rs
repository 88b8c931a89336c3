//! What a fleet has measured, as tables: a row a figure, a row a step, a row a fact of a host.

use crate::folder::{FleetFolder, TABLES};
use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use syscost_experiment::run::directory::OpenDirectory;
use syscost_report::escape;

pub const FIGURES: &str = "figures.csv";
pub const STEPS: &str = "steps.csv";
pub const FACTS: &str = "facts.csv";

/// A figure of one step's run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FleetFigure {
    pub step: usize,
    /// Measured alone, or as the sender.
    pub host: String,
    /// Empty: alone.
    pub receiver: String,
    pub repeat: usize,
    pub probe: String,
    /// Every coordinate but the path.
    pub point: String,
    pub metric: String,
    pub unit: String,
    pub value: f64,
}

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    Done,
    Failed,
    /// Not started yet, or running.
    Open,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepOutcome {
    pub step: usize,
    pub host: String,
    pub receiver: String,
    pub state: StepState,
    /// The run that counts.
    pub run: String,
    pub syscost: String,
    /// Attempts that did not become the step's run.
    pub attempts: usize,
    /// The last words of a step that failed.
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFact {
    pub host: String,
    pub id: String,
    pub title: String,
    pub value: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct FleetTables {
    pub figures: Vec<FleetFigure>,
    pub steps: Vec<StepOutcome>,
    pub facts: Vec<HostFact>,
}

impl FleetTables {
    /// Each file is replaced as a whole.
    pub fn write(&self, folder: &FleetFolder) -> Result<()> {
        let place = OpenDirectory::make(&folder.place.join(TABLES))?;
        place.replace(FIGURES, &bytes(&self.figures)?)?;
        place.replace(FACTS, &bytes(&self.facts)?)?;
        place.replace(STEPS, &bytes(&self.steps)?)?;
        Ok(())
    }

    pub fn read(folder: &FleetFolder) -> Result<FleetTables> {
        Ok(FleetTables {
            figures: rows(folder, FIGURES)?,
            steps: rows(folder, STEPS)?,
            facts: rows(folder, FACTS)?,
        })
    }

    pub fn count(&self, state: StepState) -> usize {
        self.steps.iter().filter(|step| step.state == state).count()
    }
}

fn bytes<T: Serialize>(rows: &[T]) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    rows.iter().try_for_each(|row| writer.serialize(row))?;
    let plain = writer.into_inner().map_err(|error| error.into_error()).context("in memory")?;
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in csv::ReaderBuilder::new().has_headers(false).from_reader(plain.as_slice()).records() {
        writer.write_record(row?.iter().map(escape::cell))?;
    }
    writer.into_inner().map_err(|error| error.into_error()).context("in memory")
}

fn rows<T: DeserializeOwned>(folder: &FleetFolder, name: &str) -> Result<Vec<T>> {
    let path = folder.place.join(TABLES).join(name);
    let about = || format!("cannot read {}: syscost fleet collect writes it", path.display());
    let mut reader = csv::Reader::from_path(&path).with_context(about)?;
    reader.deserialize().collect::<Result<Vec<T>, _>>().with_context(about)
}
