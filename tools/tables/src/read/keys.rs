//! Which columns tell rows apart: of two headings for one column one is it, and a column that is not known joins the
//! name of a row where rows would be equal without it.

use super::alike_lines::STAMPS;
use super::columns::Below;
use super::heading::{HeadingPlace, TableHeading};
use crate::unit::{self, DecimalMark, UnitScale};
use crate::{TableColumn, cells, naming, vocabulary};
use std::collections::{BTreeMap, BTreeSet};

/// Columns that are added to tell rows apart.
const MOST_VARIANTS: usize = 3;
/// Values of a column that names a kind of row; more are measurements or time stamps.
const MOST_KINDS: usize = 40;

/// `#`, `No`, `S.No.` and `ID` number rows.
const SHORT: usize = 5;

/// Values that somebody sets are few.
const MOST_SET: usize = 16;
/// By chance a few measured figures stand as set values would.
const FEWEST_ROWS: usize = 12;

/// Figures of one quantity, in two columns, that are farther apart than this differ.
const APART: f64 = 0.1;

/// Of headings for one column, the best is it; said is what becomes of the others, and which of them differ from it.
pub fn choose(
    headings: &mut [TableHeading],
    below: &Below,
    differ: &mut Vec<String>,
) -> Result<Vec<String>, String> {
    forget_serials(headings, below);
    let many = [TableColumn::Spread, TableColumn::Ignored, TableColumn::Variant];
    let mut groups: BTreeMap<(TableColumn, Option<HeadingPlace>), Vec<usize>> = BTreeMap::new();
    for (at, heading) in headings.iter().enumerate() {
        if let Some(column) = heading.column.filter(|c| !many.contains(c)) {
            groups.entry((column, heading.place.clone())).or_default().push(at);
        }
    }
    let mut said = Vec::new();
    for ((column, _), mut group) in groups {
        // A figure whose unit is said before one of which nobody knows it.
        let unsaid = |at: usize| column.is_measure() && headings[at].unit.is_none() && below.has_no_units(at);
        group.sort_by_key(|at| (below.is_zero(*at), unsaid(*at), rank(&headings[*at], column), *at));
        let Some((best, others)) = group.split_first() else { continue };
        for other in others {
            differ.extend(disagreement(&headings[*best], &headings[*other], below, [*best, *other]));
            said.push(demote(headings, below, column, *best, *other)?);
        }
    }
    Ok(said)
}

/// A number for each row where no case comes twice: `S.No.` is no run's.
fn forget_serials(headings: &mut [TableHeading], below: &Below) {
    let is_key = |h: &TableHeading| h.is_plain() && h.column.is_some_and(|c| c.is_place() || c.is_text());
    for at in 0..headings.len() {
        let counted = headings[at].is_plain() && headings[at].column == Some(TableColumn::Repetition);
        if !counted || !below.is_index(at) || below.rows() < 2 {
            continue;
        }
        let kept = headings[at].column.take();
        if !headings.iter().any(is_key) || repeated(headings, below, None) > 0 {
            headings[at].column = kept;
        }
    }
}

/// The lower, the more it is the column.
fn rank(heading: &TableHeading, column: TableColumn) -> (bool, u8, u8) {
    let size = column == TableColumn::MessageBytes;
    let near = if size { vocabulary::nearness_to_messages(&heading.text) } else { 0 };
    (size && vocabulary::is_field(&heading.text), near, heading.rank)
}

fn demote(
    headings: &mut [TableHeading],
    below: &Below,
    column: TableColumn,
    best: usize,
    other: usize,
) -> Result<String, String> {
    let (kept, text) = (headings[best].text.clone(), headings[other].text.clone());
    let key = column.is_text() || column.is_place();
    if !key || follows(&below.column(best), &below.column(other)) {
        headings[other].forget();
        // Whether it is one of messages, the whole table says.
        let title = if column == TableColumn::MessageBytes { "the size".to_string() } else { column.title() };
        return Ok(format!("{kept:?} is {title}, and {text:?} beside it is left out"));
    }
    if column == TableColumn::MessageBytes
        && !vocabulary::is_field(&text)
        && vocabulary::nearness_to_messages(&kept) == vocabulary::nearness_to_messages(&text)
    {
        return Err(format!(
            "both {kept:?} and {text:?} look like {}: say in a mapping file which is, and that the other is \"ignored\"",
            column.title()
        ));
    }
    headings[other].column = Some(TableColumn::Variant);
    Ok(format!("{kept:?} is {}, and {text:?} a part of the name", column.title()))
}

/// `Throughput (bit/s)` and `Throughput (MiB/s)` of other figures.
fn disagreement(one: &TableHeading, other: &TableHeading, below: &Below, at: [usize; 2]) -> Option<String> {
    let middle = |heading: &TableHeading| vocabulary::has_word(&heading.text, naming::MIDDLE);
    // A mean is no median.
    let scale = one.unit.filter(|_| middle(one) == middle(other))?;
    let other_scale = other.unit.filter(|unit| unit.dimension == scale.dimension)?;
    let value = |cell: &str, scale: UnitScale| {
        let (value, rounding, own) = unit::number(cells::plain(cell), DecimalMark::Point)?;
        own.is_none().then_some((value * scale.factor, rounding * scale.factor))
    };
    let pairs = below.column(at[0]).into_iter().zip(below.column(at[1]));
    let pairs: Vec<_> = pairs.filter_map(|(a, b)| Some((value(a, scale)?, value(b, other_scale)?))).collect();
    // What is the same in all rows is of all of them, and no figure of each.
    let constant = |of: Vec<f64>| of.len() > 2 && of.iter().all(|value| *value == of[0]);
    let (first, second) = pairs.iter().map(|((a, _), (b, _))| (*a, *b)).unzip();
    if constant(first) != constant(second) {
        return None;
    }
    let apart = |((a, rounding), (b, other)): &((f64, f64), (f64, f64))| {
        (a - b).abs() > rounding + other + APART * a.abs().max(b.abs())
    };
    let many = pairs.iter().filter(|pair| apart(pair)).count();
    (many * 2 > pairs.len()).then(|| {
        format!(
            "{:?} and {:?} differ by more than {:.0} % in {many} of {} rows. They are one quantity; the first is read.",
            one.text,
            other.text,
            100.0 * APART,
            pairs.len()
        )
    })
}

/// Does each value of the first go with one value of the second?
fn follows(of: &[&str], other: &[&str]) -> bool {
    let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
    of.iter().zip(other).all(|(a, b)| *seen.entry(a).or_insert(b) == *b)
}

/// Columns without a known heading that tell rows apart become a part of the name.
pub fn complete(headings: &mut [TableHeading], below: &Below, wide: bool) -> Vec<String> {
    let mut said = Vec::new();
    if wide && !headings.iter().any(|h| h.is_plain()) {
        return words_below_corner(headings, below);
    }
    if let Some(at) = name_alone(headings, below).filter(|_| !wide) {
        headings[at].column =
            Some(if below.is_text(at) { TableColumn::Mechanism } else { TableColumn::Variant });
        said.push(format!("{:?} names the rows", headings[at].text));
    }
    for at in set(headings, below).into_iter().filter(|_| !wide) {
        headings[at].column = Some(part_of_name(headings, below, at, wide));
        said.push(format!("{:?} holds set values: it is a part of the name", headings[at].text));
    }
    if let Some(at) = amount(headings, below).filter(|_| !wide) {
        headings[at].column = Some(TableColumn::Variant);
        said.push(format!("{:?} tells rows apart: it is a part of the name", headings[at].text));
    }
    for _ in 0..MOST_VARIANTS {
        let equal = repeated(headings, below, None);
        let candidates = (0..headings.len()).filter(|at| {
            let heading = &headings[*at];
            heading.column.is_none()
                && heading.place.is_none()
                && !heading.text.is_empty()
                && names_kinds(below, *at)
        });
        // What has a unit was measured: it names rows where nothing else does.
        let tells = |at: usize| {
            let left = repeated(headings, below, Some(at));
            (left < equal).then(|| (measured_in(&headings[at].text), left, at))
        };
        let Some((.., at)) = candidates.filter_map(tells).min() else { break };
        headings[at].column = Some(part_of_name(headings, below, at, wide));
        said.push(format!("{:?} tells rows apart: it is a part of the name", headings[at].text));
    }
    said
}

/// Round numbers of messages or bytes that tell all rows apart where nothing else does: somebody set them.
fn amount(headings: &[TableHeading], below: &Below) -> Option<usize> {
    let amounts = [Some(TableColumn::Messages), Some(TableColumn::Bytes)];
    let round = |cell: &str| {
        let set = |n: u64| n.is_power_of_two() || n.to_string().trim_end_matches('0').len() < 3;
        unit::number(cell, DecimalMark::Point)
            .is_some_and(|(n, ..)| n >= 1.0 && n.fract() == 0.0 && set(n as u64))
    };
    let set = |at: &usize| {
        let heading = &headings[*at];
        heading.is_plain()
            && amounts.contains(&heading.column)
            && below.column(*at).into_iter().all(round)
            && repeated(headings, below, Some(*at)) == 0
    };
    (repeated(headings, below, None) > 0).then(|| (0..headings.len()).find(set)).flatten()
}

/// `loopback`, `veth` below an empty corner, beside columns of names.
fn words_below_corner(headings: &mut [TableHeading], below: &Below) -> Vec<String> {
    let words = !headings[0].is_understood() && below.is_text(0) && below.distinct(0) > 1;
    if words {
        headings[0].column = Some(TableColumn::Variant);
    }
    words.then(|| "the words of the first column are a part of the name".into()).into_iter().collect()
}

/// The first of texts is the name itself.
fn part_of_name(headings: &[TableHeading], below: &Below, at: usize, wide: bool) -> TableColumn {
    let named = wide || headings.iter().any(|h| h.column.is_some_and(TableColumn::is_text));
    if below.is_text(at) && !named { TableColumn::Mechanism } else { TableColumn::Variant }
}

/// Columns of values that somebody set: each of them stands as often as any other beside each key, and nothing that is
/// measured does. Their headings are unknown, or called like what is measured: a delay may be one that was set.
fn set(headings: &[TableHeading], below: &Below) -> Vec<usize> {
    use TableColumn::{Jitter, Latency, Loss, MessageRate, Throughput};
    let settable = [Jitter, Latency, Loss, MessageRate, Throughput];
    let is_key = |at: &usize| {
        headings[*at].is_plain() && headings[*at].column.is_some_and(|c| c.is_place() || c.is_text())
    };
    let mut keys: Vec<usize> = (0..headings.len()).filter(is_key).collect();
    let known = keys.len();
    let measures = |except: &[usize]| {
        let others = (0..headings.len()).filter(|at| !except.contains(at));
        others.filter(|at| headings[*at].column.is_some_and(TableColumn::is_measure)).count()
    };
    for (at, heading) in headings.iter().enumerate() {
        let unknown = heading.column.is_none() && heading.place.is_none() && !heading.text.is_empty();
        let called = heading.is_plain() && heading.column.is_some_and(|column| settable.contains(&column));
        let few = (2..=MOST_SET).contains(&below.distinct(at)) && below.distinct(at) * 2 <= below.rows();
        let amounts = [Some(TableColumn::Messages), Some(TableColumn::Bytes)];
        let counted = heading.is_plain() && amounts.contains(&heading.column);
        // What is called like a measure has to be one of many rows, beside something that was measured.
        let allowed = unknown
            || counted
            || called && below.rows() >= FEWEST_ROWS && measures(&[&keys[known..], &[at]].concat()) > 0;
        if allowed && few && is_crossed(below, &keys, at) {
            keys.push(at);
        }
    }
    keys.split_off(known)
}

/// Does each value stand equally often beside each combination of the keys?
fn is_crossed(below: &Below, keys: &[usize], at: usize) -> bool {
    let counts = |columns: &[usize]| {
        let columns: Vec<Vec<&str>> = columns.iter().map(|column| below.column(*column)).collect();
        let mut counts: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
        for row in 0..below.rows() {
            *counts.entry(columns.iter().map(|column| column[row]).collect()).or_default() += 1;
        }
        counts
    };
    let both = counts(&[keys, &[at]].concat());
    let first = both.values().next().copied();
    both.len() == counts(keys).len() * below.distinct(at) && both.values().all(|many| Some(*many) == first)
}

/// Where no column says which row is which, one of texts that all differ does.
fn name_alone(headings: &[TableHeading], below: &Below) -> Option<usize> {
    use TableColumn::{Latency, Measured, MessageRate, Throughput};
    let is_key = |h: &TableHeading| h.column.is_some_and(|c| c.is_place() || c.is_text());
    let measured = |h: &TableHeading| {
        h.column.is_some_and(|c| [Latency, Measured, MessageRate, Throughput].contains(&c))
    };
    if headings.iter().any(is_key) || !headings.iter().any(measured) {
        return None;
    }
    // `Parameters` over 0, 1, 2: numbers of a first column with a name.
    let numbered = |at: usize| at == 0 && below.is_whole(at) && headings[at].text.len() > SHORT;
    let unnamed = |at: &usize| {
        headings[*at].column.is_none()
            && !headings[*at].text.is_empty()
            && !vocabulary::has_word(&headings[*at].text, &STAMPS)
            && (below.is_text(*at) || numbered(*at))
    };
    let at = (0..headings.len()).find(unnamed)?;
    (below.rows() > 1 && below.distinct(at) == below.rows() && below.rows() <= MOST_KINDS).then_some(at)
}

/// `Mem_Max_KB`, `CPU_Avg_%`
fn measured_in(heading: &str) -> bool {
    vocabulary::splits(heading).iter().any(|(_, of)| of.is_some_and(|of| unit::parse(of).is_ok()))
}

fn names_kinds(below: &Below, at: usize) -> bool {
    let kinds = below.distinct(at);
    let named = below.is_text(at) || below.is_whole(at);
    named && kinds > 1 && kinds <= MOST_KINDS && kinds * 2 <= below.rows().max(4)
}

/// Rows whose key stands above them already.
fn repeated(headings: &[TableHeading], below: &Below, and: Option<usize>) -> usize {
    let keys = (0..headings.len()).filter(|at| {
        let is = |c: TableColumn| c.is_place() || c.is_text();
        Some(*at) == and || headings[*at].is_plain() && headings[*at].column.is_some_and(is)
    });
    let columns: Vec<Vec<&str>> = keys.map(|at| below.column(at)).collect();
    let mut seen = BTreeSet::new();
    (0..below.rows()).filter(|row| !seen.insert(columns.iter().map(|c| c[*row]).collect::<Vec<_>>())).count()
}
