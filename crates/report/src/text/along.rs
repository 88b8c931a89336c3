//! What does it cost when a thread serves more connections?

use super::figures::{at_places, metric, times_within};
use crate::text::words::capital;
use syscost_analyze::finding::along::{AlongChanges, ChangedPlaces, MetricChange};

/// Metrics that are named; the data have all.
const NAMED: usize = 2;

/// The larger of its changes, and whether the figure rises.
fn larger(change: &MetricChange) -> Option<(&ChangedPlaces, bool)> {
    let sides = [(change.more.as_ref(), true), (change.less.as_ref(), false)];
    let sides = sides.into_iter().filter_map(|(side, rises)| Some((side?, rises)));
    sides.max_by(|a, b| strength(a.0).total_cmp(&strength(b.0)))
}

fn strength(changed: &ChangedPlaces) -> f64 {
    changed.largest.ratio.value.ln().abs()
}

/// `CPU per byte rises up to 2.1x (3 of 4 places)`
fn change(change: &MetricChange) -> Option<String> {
    let (changed, rises) = larger(change)?;
    Some(format!(
        "{} {} up to {}{}",
        metric(change.metric).map_or(change.metric, |metric| metric.title),
        if rises { "rises" } else { "falls" },
        times_within(&changed.largest.ratio),
        at_places(changed.places, change.places)
    ))
}

/// `250 connections a thread cost up to 1.8x more CPU per byte than 1 (3 of 4 places).`
pub fn headline(all: &AlongChanges) -> String {
    let ends = || Some((all.values.first()?, all.values.last()?));
    let (Some(cost), Some((few, many))) = (all.changes.first(), ends()) else { return String::new() };
    match &cost.more {
        Some(more) => format!(
            "{many} connections a thread cost up to {} more CPU per byte than {few}{}.",
            times_within(&more.largest.ratio),
            at_places(more.places, cost.places)
        ),
        None => format!(
            "CPU per byte is not significantly higher with {many} connections a thread than with {few}."
        ),
    }
}

/// The largest of the changes.
pub fn sentence(all: &AlongChanges) -> String {
    let mut strongest: Vec<(&MetricChange, f64)> =
        all.changes.iter().filter_map(|c| Some((c, strength(larger(c)?.0)))).collect();
    strongest.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut named = strongest.iter().take(NAMED).filter_map(|(c, _)| change(c));
    let Some(first) = named.next() else {
        return "No other figure differs significantly between the fewest and the most connections.".into();
    };
    named.fold(format!("With the most connections, {first}."), |told, next| {
        format!("{told} {}.", capital(&next))
    })
}
