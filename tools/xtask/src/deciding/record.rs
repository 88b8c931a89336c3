//! The record of the studies: `studies.csv` (rows) and `studies.json` (machine, commands, time), and the page made of them.

use super::rows::{self, StudyRow};
use super::shown::{self, FoundPart};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

const ROWS: &str = "studies.csv";
const FACTS: &str = "studies.json";

/// One run of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyFacts {
    pub study: String,
    pub run: u32,
    pub command: String,
    pub environment: BTreeMap<String, String>,
    /// What else ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
    pub binary_sha256: String,
    pub exit_status: Option<i32>,
    pub cases: usize,
    pub seconds: f64,
    /// Share of wall time that was timed.
    pub efficiency: Option<f64>,
    /// Sizes at which it is decided where scaling with threads stops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaling: Option<FoundPart>,
    /// Others' share of the CPUs, and time stolen from them, while it ran.
    pub others_share: Option<f64>,
    pub steal_share: Option<f64>,
    /// Ids of the run's warnings.
    pub warnings: Vec<String>,
}

/// Everything that is known of the studies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StudyRecord {
    pub facts: StudiesFacts,
    pub rows: Vec<StudyRow>,
}

/// `studies.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StudiesFacts {
    /// By the ids that run.json has for them.
    pub machine: BTreeMap<String, Option<String>>,
    pub studies: Vec<StudyFacts>,
}

impl StudyRecord {
    /// An empty record where there is none.
    pub fn load(folder: &Path) -> Result<StudyRecord> {
        if !folder.join(FACTS).exists() {
            return Ok(StudyRecord::default());
        }
        let read = |name| {
            let path = folder.join(name);
            std::fs::read_to_string(&path).with_context(|| path.display().to_string())
        };
        Ok(StudyRecord {
            facts: serde_json::from_str(&read(FACTS)?).context(FACTS)?,
            rows: rows::parse(&read(ROWS)?).context(ROWS)?,
        })
    }

    pub fn save(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join(ROWS), rows::text(&self.rows)?)?;
        let facts = serde_json::to_string_pretty(&self.facts)?;
        Ok(std::fs::write(folder.join(FACTS), facts + "\n")?)
    }

    pub fn forget(&mut self, study: &str) {
        self.rows.retain(|row| row.study != study);
        self.facts.studies.retain(|facts| facts.study != study);
    }

    /// The part of the page that the record makes.
    pub fn page(&self, folder: &str) -> String {
        if self.facts.studies.is_empty() {
            return "No study is recorded here yet. `cargo xtask deciding` records them.\n\n".into();
        }
        let of_default = self.facts.studies.iter().filter(|facts| facts.study == "default");
        let scaling: Vec<FoundPart> = of_default.filter_map(|facts| facts.scaling).collect();
        format!("{}{}", shown::text(&self.rows, &scaling), self.measured(folder))
    }

    /// Where the studies were run, and where their rows and commands are.
    fn measured(&self, folder: &str) -> String {
        let fact = |id: &str| self.facts.machine.get(id).cloned().flatten().unwrap_or("unknown".into());
        format!(
            "Measured on {} (CPUs {}, virtual machine: {}), Linux {}, by `cargo xtask deciding`: \
             [every row]({folder}/{ROWS}), [machine, commands and conditions]({folder}/{FACTS}).\n\n",
            fact("cpu_model"),
            fact("cpus_online"),
            fact("hypervisor"),
            fact("kernel_release"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(study: &str, run: u32) -> StudyFacts {
        StudyFacts {
            study: study.into(),
            run,
            command: "syscost run default".into(),
            environment: BTreeMap::from([("SYSCOST_PLANT".into(), "sendmsg=send+5".into())]),
            beside: None,
            binary_sha256: "00".into(),
            exit_status: Some(0),
            cases: 160,
            seconds: 59.0 + f64::from(run),
            efficiency: Some(0.624),
            scaling: None,
            others_share: None,
            steal_share: None,
            warnings: vec!["planted".into()],
        }
    }

    #[test]
    fn a_record_comes_back_and_forgets_a_study() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(StudyRecord::load(folder.path()).unwrap(), StudyRecord::default());
        let machine = BTreeMap::from([("cpu_model".into(), Some("X".into())), ("hypervisor".into(), None)]);
        let facts = StudiesFacts { machine, studies: vec![facts("aa", 1), facts("aa", 2), facts("long", 1)] };
        let mut record = StudyRecord { facts, rows: Vec::new() };
        record.save(folder.path()).unwrap();
        assert_eq!(StudyRecord::load(folder.path()).unwrap(), record);
        let page = record.page("runs/deciding");
        assert!(page.contains("Measured on X (CPUs unknown, virtual machine: unknown)"), "{page}");
        record.forget("aa");
        assert_eq!(record.facts.studies.len(), 1);
    }
}
