//! Which cases are measured twice, so that a run knows its own noise floor (A/A).
//!
//! The corners of the grid, because noise differs with size and with load; of one mechanism (the
//! first planned), because the floor is the machine's.

use super::Case;
use syscost_core::axis::{Name, Value};
use syscost_measure::probe;

/// Twins per probe: the corners of two numeric axes.
const MOST_PER_PROBE: usize = 4;

/// Indices of the cases to repeat, in plan order.
pub fn choose(cases: &[Case]) -> Vec<usize> {
    let mut chosen = Vec::new();
    for group in cases.chunk_by(|a, b| a.probe == b.probe) {
        if !probe::find(&group[0].probe).is_some_and(|p| p.compared()) {
            continue;
        }
        chosen.extend(corners(group));
    }
    chosen
}

fn corners(group: &[Case]) -> Vec<usize> {
    let Some(first) = group.first() else { return Vec::new() };
    let same_words = |case: &&Case| words(case).eq(words(first));
    let alike: Vec<&Case> = group.iter().filter(same_words).collect();
    let varying = varying_numbers(&alike);
    let mut picked: Vec<usize> = (0..MOST_PER_PROBE)
        .filter_map(|corner| {
            // Bit 0 of the corner: which end of the first axis; bit 1: of the second; any further
            // axis stays at its low end.
            let distance = |case: &&&Case| -> Vec<u64> {
                let ends = varying.iter().enumerate().map(|(i, axis)| {
                    let value = case.point.int_at(axis).unwrap_or(0);
                    if corner >> i & 1 == 1 { u64::MAX - value } else { value }
                });
                ends.collect()
            };
            alike.iter().min_by_key(distance).map(|case| case.index)
        })
        .collect();
    picked.sort_unstable();
    picked.dedup();
    picked
}

/// The coordinates that are not numbers.
fn words(case: &Case) -> impl Iterator<Item = (&Name, &Value)> {
    case.point.iter().filter(|(_, value)| value.as_text().is_some())
}

/// Axes of numbers with more than one value among these cases: the most varied first.
fn varying_numbers(cases: &[&Case]) -> Vec<Name> {
    let Some(first) = cases.first() else { return Vec::new() };
    let mut axes: Vec<(usize, Name)> = Vec::new();
    for (axis, value) in first.point.iter() {
        if value.as_int().is_none() {
            continue;
        }
        let mut values: Vec<u64> = cases.iter().filter_map(|case| case.point.int_at(axis)).collect();
        values.sort_unstable();
        values.dedup();
        if values.len() > 1 {
            axes.push((values.len(), axis.clone()));
        }
    }
    axes.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    axes.into_iter().map(|(_, axis)| axis).collect()
}
