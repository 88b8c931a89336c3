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
//!
//! What an assignment fixes for every file (threads, seconds, units) is given beside it, and a column of the table
//! comes first.

use super::unit::{self, DecimalMark, Dimension, NoUnit, UnitScale};
use super::vocabulary::{self, bare};
use super::{BadTable, TableColumn};
use serde::Deserialize;
use std::collections::BTreeMap;
use syscost_measure::mechanism::{self, Class};

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnMapping {
    #[serde(default)]
    columns: BTreeMap<String, Meaning>,
    #[serde(default)]
    mechanisms: BTreeMap<String, String>,
    #[serde(default)]
    fixed: BTreeMap<TableColumn, String>,
    /// Between whole and decimal digits, where the file leaves it open.
    #[serde(default)]
    decimal: Option<DecimalMark>,
    /// Of columns that a table lacks.
    #[serde(skip)]
    given: BTreeMap<TableColumn, String>,
    /// Of figures that name none; one for each kind of quantity.
    #[serde(skip)]
    units: Vec<UnitScale>,
}

/// What a name of the table stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NameMeaning {
    /// This way of sending.
    Mechanism(&'static str),
    /// The table's own way, in this role.
    Role(Class),
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
                scale(unit).map_err(|why| wrong(format!("{heading:?}: {unit:?} {why}")))?;
            }
        }
        if let Some((name, means)) = mapping.mechanisms.iter().find(|(_, means)| meant(means).is_none()) {
            return Err(wrong(format!(
                "{name:?}: there is no mechanism {means:?} (syscost list names them)"
            )));
        }
        Ok(mapping)
    }

    pub(super) fn column(&self, heading: &str) -> Option<(TableColumn, Option<UnitScale>)> {
        let meaning = self.columns.iter().find(|(name, _)| bare(name) == bare(heading))?.1;
        Some((meaning.is, meaning.unit.as_deref().and_then(|u| scale(u).ok())))
    }

    /// Do headings and names mean what they say?
    pub(super) fn is_plain(&self) -> bool {
        self.columns.is_empty() && self.mechanisms.is_empty()
    }

    pub(super) fn mechanism(&self, name: &str) -> Option<NameMeaning> {
        let means = self.mechanisms.iter().find(|(known, _)| bare(known) == bare(name))?.1;
        meant(means)
    }

    /// `two_copy=send_fields`: what a name of the tables stands for.
    pub fn give_meaning(&mut self, text: &str) -> Result<(), String> {
        let (name, means) = text.split_once('=').ok_or_else(|| format!("{text:?} is not NAME=MECHANISM"))?;
        if bare(name).is_empty() {
            return Err(format!("{text:?} names nothing"));
        }
        meant(means).ok_or_else(|| format!("{means:?} is no mechanism (syscost list names them)"))?;
        self.mechanisms.insert(name.trim().into(), means.trim().into());
        Ok(())
    }

    /// A value for every table that lacks the column.
    pub fn give(&mut self, column: TableColumn, text: impl ToString) {
        self.given.insert(column, text.to_string());
    }

    /// A unit for figures that name none.
    pub fn give_unit(&mut self, text: &str) -> Result<(), String> {
        self.units.push(unit::parse(text).map_err(|why| format!("{text:?} {why}"))?);
        Ok(())
    }

    pub(super) fn unit(&self, dimension: Dimension) -> Option<UnitScale> {
        self.units.iter().find(|unit| unit.dimension == dimension).copied()
    }

    /// The unit of figures of which nothing else is known.
    pub(super) fn only_unit(&self) -> Option<UnitScale> {
        if let [one] = self.units[..] { Some(one) } else { None }
    }

    pub(super) fn decimal(&self) -> Option<DecimalMark> {
        self.decimal
    }

    /// Where nobody says another.
    pub(super) fn with_decimal(&self, mark: Option<DecimalMark>) -> ColumnMapping {
        ColumnMapping { decimal: self.decimal.or(mark), ..self.clone() }
    }

    /// Values for columns that a table lacks; true: it must lack them.
    pub(super) fn fixed(&self) -> impl Iterator<Item = (TableColumn, &str, bool)> {
        let fixed = self.fixed.iter().map(|(column, text)| (*column, text.as_str(), true));
        let given = self.given.iter().filter(|(column, _)| !self.fixed.contains_key(column));
        fixed.chain(given.map(|(column, text)| (*column, text.as_str(), false)))
    }
}

fn meant(text: &str) -> Option<NameMeaning> {
    let id = mechanism::ALL.iter().map(|m| m.about().id).find(|id| bare(id) == bare(text));
    id.map(NameMeaning::Mechanism).or_else(|| vocabulary::role(text).map(NameMeaning::Role))
}

/// A unit, or so many of one: `8 B` where a column counts fields of eight bytes.
fn scale(text: &str) -> Result<UnitScale, NoUnit> {
    match unit::number(text, DecimalMark::Point) {
        Some((many, _, Some(of))) => {
            unit::parse(of).map(|unit| UnitScale { factor: many * unit.factor, ..unit })
        }
        _ => unit::parse(text),
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
        assert_eq!(mapping.mechanism("b"), Some(NameMeaning::Role(Class::ZeroCopy)));
        assert_eq!(mapping.fixed().collect::<Vec<_>>(), [(TableColumn::Threads, "4", true)]);
    }

    #[test]
    fn a_name_is_given_a_mechanism_by_its_user() {
        let mut mapping = ColumnMapping::default();
        mapping.give_meaning("two_copy=send_fields").unwrap();
        assert_eq!(mapping.mechanism("Two-Copy"), Some(NameMeaning::Mechanism("send_fields")));
        assert!(mapping.give_meaning("two_copy").unwrap_err().contains("NAME=MECHANISM"));
        assert!(mapping.give_meaning("x=pigeon").unwrap_err().contains("syscost list"));
    }

    #[test]
    fn a_unit_may_be_several_of_one() {
        assert_eq!(scale("8 B").map(|s| s.factor), Ok(8.0));
        assert_eq!(scale("us").map(|s| s.factor), Ok(1e3));
        assert!(scale("8 parsec").is_err());
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
