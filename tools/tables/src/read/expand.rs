//! Wide layouts: headings that are values. Runs (`run1_gbps`) and names whose role is known beside a known quantity
//! (`A1_throughput_gbps`) are read as they stand; every other one by `--wide`.

use crate::dictionary::{self, Quality, ReadAs, WrittenUnit};
use crate::options::{Wide, number_in};
use crate::unit;
use crate::{TableColumn, role};
use std::collections::BTreeMap;
use syscost_core::units::Unit;

/// What stands across, if anything does, and the columns that are values of it.
pub type Across = Option<(TableColumn, BTreeMap<usize, ReadAs>)>;

/// Of the columns of numbers that nothing else means.
pub fn across(
    headings: &[String],
    numeric: &[usize],
    wide: Option<&Wide>,
    named: bool,
) -> Result<Across, String> {
    let all = |of: &dyn Fn(&str) -> Option<ReadAs>| -> BTreeMap<usize, ReadAs> {
        numeric.iter().filter_map(|at| Some((*at, of(&headings[*at])?))).collect()
    };
    if let Some((across, quantity)) = wide {
        let found = all(&|heading| {
            let (own, unit) = cut_unit(heading);
            let text = || Some(own.trim_matches(['_', ' ', '-']).to_string());
            let value = if across.is_text() { text() } else { number_in(heading) };
            let unit = quantity.unit.clone().or(unit);
            Some(ReadAs { value: Some(value?), ..ReadAs::mean(quantity.column, unit) })
        });
        if found.is_empty() {
            return Err(format!("--wide: no heading is a value of {}", across.title()));
        }
        if found.values().any(|of| of.unit.is_none() && of.column.needs_unit()) {
            let (title, across, id) = (quantity.column.title(), across.id(), quantity.column.id());
            return Err(format!("--wide: {title} needs a unit: --wide {across}={id}:Gbit/s (or us)"));
        }
        return Ok(Some((*across, found)));
    }
    let runs = all(&run);
    if runs.len() > 1 {
        return Ok(Some((TableColumn::Repetition, runs)));
    }
    let names = all(&name_and_quantity);
    let only = !named && names.len() > 1 && names.len() == numeric.len();
    Ok(only.then_some((TableColumn::Mechanism, names)))
}

/// A heading without the unit that it ends with.
fn cut_unit(heading: &str) -> (&str, Option<WrittenUnit>) {
    let cut = |(name, told): (_, Option<&str>)| {
        let unit = unit::parse(told?).ok()?;
        let known = matches!(unit.base, Unit::BitsPerSecond | Unit::Nanoseconds);
        known.then_some((name, Some((unit, unit::bracketless(told?).into()))))
    };
    dictionary::splits(heading).into_iter().find_map(cut).unwrap_or((heading, None))
}

/// A known quantity with its unit, at one value of what stands across.
fn quantity(heading: &str, value: &str) -> Option<ReadAs> {
    let of = dictionary::heading(heading, false).ok()?;
    let known = of.column.is_measure() && of.quality == Quality::Mean;
    let unit = of.unit.is_some() || of.column.unit() == Unit::Count;
    (known && unit).then(|| ReadAs { value: Some(value.into()), ..of })
}

/// `run1_gbps`, `Trial 2 (Gbps)`, `throughput_run3_gbps`: a repetition of a known quantity.
fn run(heading: &str) -> Option<ReadAs> {
    let (lower, words) =
        (heading.to_ascii_lowercase(), ["repetition", "iteration", "trial", "run", "rep", "iter"]);
    let (at, word) = words.iter().find_map(|word| Some((lower.find(word)?, word)))?;
    let behind = heading[at + word.len()..].trim_start_matches([' ', '_', '#']);
    let digits = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
    let (digits, rest) = behind.split_at(digits);
    let whole = format!("{} {}", &heading[..at], rest.trim_start_matches(['_', '-']));
    quantity(whole.trim_matches(['_', '-', ' ']), digits).filter(|_| !digits.is_empty())
}

/// `A1_throughput_gbps`, `Two-Copy Latency (us)`: a name whose role is known before a quantity with its unit.
fn name_and_quantity(heading: &str) -> Option<ReadAs> {
    heading.rmatch_indices(['_', ' ', '-']).find_map(|(at, _)| {
        role::meant(&heading[..at])?;
        quantity(&heading[at + 1..], heading[..at].trim())
    })
}

/// What headings that are values look like: two names of known roles, numbers of threads, or sizes.
pub fn suggested(headings: &[String], numeric: &[usize], sizes: bool) -> Option<&'static str> {
    let many = |is: &dyn Fn(&str) -> bool| numeric.iter().filter(|at| is(&headings[**at])).count() > 1;
    let number = |text: &str| number_in(text).map(|number| number.len() == text.len());
    if many(&|text| role::of(text).is_some()) {
        return Some("--wide mechanism=throughput:Gbit/s (or latency:us)");
    }
    let of_threads = |text: &str| text.to_lowercase().contains("thread") || text.starts_with(['t', 'T']);
    if many(&|text| number(text).is_some_and(|whole| sizes && whole || of_threads(text))) {
        return Some("--wide threads=throughput:Gbit/s (or latency:us)");
    }
    many(&|text| number(text).is_some_and(|whole| whole || text.ends_with(['B', 'b', 's'])))
        .then_some("--wide size=throughput:Gbit/s (or threads=..., latency:us)")
}
