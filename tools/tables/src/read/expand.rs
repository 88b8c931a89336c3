//! Wide layouts: headings that are values. Runs (`run1_gbps`) and names whose role is known beside a known quantity
//! (`A1_throughput_gbps`) are read as they stand; every other one by `--wide`.

use super::plan::{ColumnPlan, ColumnUse};
use crate::dictionary::{self, Quality};
use crate::options::number_in;
use crate::{ReadingOptions, TableColumn, role, unit};
use std::collections::BTreeMap;

/// What stands across, and the columns that are values of it.
pub struct AcrossColumns {
    pub column: TableColumn,
    pub of: BTreeMap<usize, ColumnUse>,
}

/// Of the columns of numbers that nothing else means.
pub fn across(
    headings: &[String],
    numeric: &[usize],
    options: &ReadingOptions,
    named: bool,
) -> Result<Option<AcrossColumns>, String> {
    let all = |column: TableColumn, of: &dyn Fn(&str) -> Option<ColumnUse>| AcrossColumns {
        column,
        of: numeric.iter().filter_map(|at| Some((*at, of(&headings[*at])?))).collect(),
    };
    if let Some(wide) = &options.wide {
        let found = all(wide.across, &|heading| {
            let given = wide.unit.clone();
            let cut = cut_unit(heading);
            let (unit, unit_text) = given.map_or((cut.1, cut.2), |(unit, text)| (Some(unit), text));
            let value = if wide.across.is_text() {
                cut.0.trim_matches(['_', ' ', '-']).to_string()
            } else {
                number_in(heading)?
            };
            Some(ColumnUse::Across { value, column: wide.quantity, unit, unit_text })
        });
        let bare = found.of.values().any(|of| matches!(of, ColumnUse::Across { column, unit: None, .. } if super::cell::dimension(*column).is_some_and(|(_, plain)| !plain)));
        return match found.of.is_empty() {
            true => Err(format!("--wide: no heading is a value of {}", wide.across.title())),
            false if bare => Err(format!(
                "--wide: {} needs a unit: --wide {}={}:Gbit/s (or us)",
                wide.quantity.title(),
                wide.across.id(),
                wide.quantity.id()
            )),
            false => Ok(Some(found)),
        };
    }
    let runs = all(TableColumn::Repetition, &run);
    if runs.of.len() > 1 {
        return Ok(Some(runs));
    }
    let names = all(TableColumn::Mechanism, &name_and_quantity);
    Ok((!named && names.of.len() > 1 && names.of.len() == numeric.len()).then_some(names))
}

/// A heading without the unit that it ends with.
fn cut_unit(heading: &str) -> (&str, Option<unit::UnitScale>, String) {
    let cuts = heading.char_indices().filter(|(_, c)| matches!(c, '_' | ' ' | '('));
    let found = cuts
        .filter_map(|(at, _)| Some((at, unit::parse(&heading[at + 1..]).ok()?)))
        .find(|(_, unit)| matches!(unit.dimension, unit::Dimension::Rate | unit::Dimension::Time));
    match found {
        Some((at, unit)) => (&heading[..at], Some(unit), heading[at + 1..].trim_matches([')', ' ']).into()),
        None => (heading, None, String::new()),
    }
}

/// `run1_gbps`, `Trial 2 (Gbps)`, `throughput_run3_gbps`: a repetition of a known quantity.
fn run(heading: &str) -> Option<ColumnUse> {
    let lower = heading.to_lowercase();
    let (at, word) = ["repetition", "iteration", "trial", "run", "rep", "iter"]
        .iter()
        .find_map(|word| Some((lower.find(word)?, *word)))?;
    let behind = lower[at + word.len()..].trim_start_matches([' ', '_', '#']);
    let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
    let rest = behind.get(digits.len()..)?;
    let whole = format!("{} {}", lower.get(..at)?, rest.trim_start_matches(['_', '-'])).trim().to_string();
    let meaning = dictionary::heading(whole.trim_matches(['_', '-', ' ', '(', ')']), false);
    let meaning = if meaning.column.is_some() { meaning } else { dictionary::heading(&whole, false) };
    let column = meaning.column.filter(|column| column.is_measure() && meaning.quality == Quality::Mean)?;
    // A unit is needed where the quantity has one.
    let known = meaning.unit.is_some() || super::cell::dimension(column).is_none();
    (known && !digits.is_empty()).then_some(ColumnUse::Across {
        value: digits,
        column,
        unit: meaning.unit,
        unit_text: meaning.unit_text,
    })
}

/// `A1_throughput_gbps`, `Two-Copy Latency (us)`: a name whose role is known before a quantity with its unit.
fn name_and_quantity(heading: &str) -> Option<ColumnUse> {
    let cuts: Vec<usize> =
        heading.char_indices().filter(|(_, c)| matches!(c, '_' | ' ' | '-')).map(|(at, _)| at).collect();
    cuts.into_iter().rev().find_map(|at| {
        let (name, rest) = (&heading[..at], &heading[at + 1..]);
        role::meant(name)?;
        let meaning = dictionary::heading(rest, false);
        let column =
            meaning.column.filter(|column| column.is_measure() && meaning.quality == Quality::Mean)?;
        let known = meaning.unit.is_some() || super::cell::dimension(column).is_none();
        known.then(|| ColumnUse::Across {
            value: name.trim().into(),
            column,
            unit: meaning.unit,
            unit_text: meaning.unit_text,
        })
    })
}

/// The single runs come before their mean and its spread.
pub fn only_runs_or_mean(plan: &mut ColumnPlan) {
    let across: Vec<TableColumn> = plan
        .uses
        .iter()
        .filter_map(|of| if let ColumnUse::Across { column, .. } = of { Some(*column) } else { None })
        .collect();
    for of in &mut plan.uses {
        if matches!(of, ColumnUse::Read { column, .. } if across.contains(column)) {
            *of = ColumnUse::Ignored;
        }
    }
}

/// What headings that are values look like: two names of known roles, numbers of threads, or sizes.
pub fn suggested(headings: &[String], numeric: &[usize], sizes: bool) -> Option<String> {
    let many = |is: &dyn Fn(&str) -> bool| numeric.iter().filter(|at| is(&headings[**at])).count() > 1;
    let lower = |text: &str| text.to_lowercase();
    if many(&|text| role::of(text).is_some()) {
        return Some("--wide mechanism=throughput:Gbit/s (or latency:us)".into());
    }
    if many(&|text| {
        sizes && number_in(text).is_some_and(|number| number.len() == text.len())
            || number_in(text).is_some() && (lower(text).contains("thread") || lower(text).starts_with('t'))
    }) {
        return Some("--wide threads=throughput:Gbit/s (or latency:us)".into());
    }
    many(&|text| {
        number_in(text).is_some_and(|number| number.len() == text.len() || text.ends_with(['B', 'b', 's']))
    })
    .then(|| "--wide size=throughput:Gbit/s (or threads=..., latency:us)".into())
}
