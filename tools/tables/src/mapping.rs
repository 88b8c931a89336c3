//! A mapping file: what the headings and names of somebody's table mean, where the usual words do not say.
//!
//! ```toml
//! [columns]
//! "Tput" = { is = "throughput", unit = "Gbit/s" }
//! "notes" = { is = "ignored" }
//! [mechanisms]
//! "variant B" = "zero-copy"
//! [fixed]          # columns that the table lacks because they never change
//! threads = "4"
//! ```

use super::unit::{self, UnitScale};
use super::vocabulary::{self, bare};
use super::{BadTable, TableColumn};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnMapping {
    #[serde(default)]
    columns: BTreeMap<String, Meaning>,
    #[serde(default)]
    mechanisms: BTreeMap<String, String>,
    #[serde(default)]
    fixed: BTreeMap<TableColumn, String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Meaning {
    is: TableColumn,
    unit: Option<String>,
}

impl ColumnMapping {
    /// Reads a mapping; `name` is the file's, for messages.
    pub fn from_toml(text: &str, name: &str) -> Result<ColumnMapping, BadTable> {
        let wrong = |message: String| BadTable::Whole { name: name.into(), message };
        let mapping: ColumnMapping = toml::from_str(text).map_err(|e| wrong(e.to_string()))?;
        for (heading, meaning) in &mapping.columns {
            if let Some(unit) = &meaning.unit {
                unit::parse(unit).map_err(|why| wrong(format!("{heading:?}: {unit:?} {why}")))?;
            }
        }
        if let Some((name, means)) =
            mapping.mechanisms.iter().find(|(_, means)| vocabulary::mechanism(means).is_none())
        {
            return Err(wrong(format!(
                "{name:?}: there is no mechanism {means:?} (syscost list names them)"
            )));
        }
        Ok(mapping)
    }

    pub(super) fn column(&self, heading: &str) -> Option<(TableColumn, Option<UnitScale>)> {
        let meaning = self.columns.iter().find(|(name, _)| bare(name) == bare(heading))?.1;
        Some((meaning.is, meaning.unit.as_deref().and_then(|u| unit::parse(u).ok())))
    }

    pub(super) fn mechanism(&self, name: &str) -> Option<&'static str> {
        let means = self.mechanisms.iter().find(|(known, _)| bare(known) == bare(name))?.1;
        vocabulary::mechanism(means)
    }

    pub(super) fn fixed(&self) -> impl Iterator<Item = (TableColumn, &str)> {
        self.fixed.iter().map(|(column, text)| (*column, text.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_names_what_the_words_do_not() {
        let text = "[columns]\nSpeed = { is = \"throughput\", unit = \"Mbit/s\" }\n[mechanisms]\nB = \"zero-copy\"\n\
                    [fixed]\nthreads = \"4\"\n";
        let mapping = ColumnMapping::from_toml(text, "m.toml").unwrap();
        let (column, unit) = mapping.column("SPEED").unwrap();
        assert_eq!((column, unit.unwrap().factor), (TableColumn::Throughput, 1e6));
        assert_eq!(mapping.mechanism("b"), vocabulary::mechanism("zero-copy"));
        assert_eq!(mapping.fixed().collect::<Vec<_>>(), [(TableColumn::Threads, "4")]);
    }

    #[test]
    fn mistakes_are_named() {
        let told = |text: &str| ColumnMapping::from_toml(text, "m.toml").unwrap_err().to_string();
        assert!(told("[columns]\nx = { is = \"speed\" }").contains("speed"));
        assert!(told("[columns]\nx = { is = \"latency\", unit = \"parsec\" }").contains("parsec"));
        assert!(told("[mechanisms]\nx = \"pigeon\"").contains("syscost list"));
        assert!(told("[colums]").contains("colums"));
    }
}
