//! The studies that are run, and whom they compare: `studies.toml`.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyDefinitions {
    pub control: String,
    #[serde(rename = "study")]
    pub studies: Vec<DecidingStudy>,
}

/// A study, as often as it is run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecidingStudy {
    pub name: String,
    pub runs: u32,
    pub time_limit: String,
    /// Rivals that play the control and spin for so many per cent of its time.
    #[serde(default)]
    pub plants: BTreeMap<String, u32>,
    /// Another process spins on a CPU meanwhile.
    #[serde(default)]
    pub busy: bool,
}

pub fn defined() -> &'static StudyDefinitions {
    static DEFINED: LazyLock<StudyDefinitions> =
        LazyLock::new(|| toml::from_str(include_str!("studies.toml")).expect("a test reads it"));
    &DEFINED
}
