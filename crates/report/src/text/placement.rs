//! Words of the comparison of placements: both ends on one CPU, on two, or placed by the scheduler.

use super::PLACEMENT;
use super::figures::{interval, times_within};
use crate::Statement;
use crate::material::Material;
use crate::text::words::{and, grouped};
use syscost_analyze::finding::placement::{COST, PlacementCost, SPEED};
use syscost_analyze::finding::{Answer, Says};
use syscost_core::axis::Point;
use syscost_core::decide::Verdict;
use syscost_core::stats::Estimate;
use syscost_core::units::Unit;
use syscost_measure::probe::placed_transfer::ONE_CPU;
use syscost_measure::probe::transfer::axes::MESSAGE_BYTES;

/// What a run says of it first; `None`: it measured none.
pub fn statement(m: &Material) -> Option<Statement> {
    let answer = m.analysis.answers.iter().find(|answer| answer.question == PLACEMENT)?;
    let cells = answer.shown.iter().flat_map(|shown| shown.cells.clone()).collect();
    Some(Statement { text: headline(answer), cells })
}

/// `Both ends on one CPU instead of two: CPU 1.4x less at 1 KiB and 64 KiB. Throughput the same at 64 KiB.` and the same
/// of the scheduler's choice.
pub fn headline(answer: &Answer) -> String {
    let known = answer.shown.iter().filter_map(|shown| match &shown.says {
        Says::Placement(cost) => Some(cost),
        _ => None,
    });
    let known: Vec<&PlacementCost> = known.collect();
    if known.iter().all(|cost| cost.verdict == Verdict::Undecided) {
        return "Whether both ends on one CPU, or placed by the scheduler, cost other than on two is undecided.".into();
    }
    let part = |(ends, costs): (&str, Vec<&PlacementCost>)| {
        told(name(ends), costs.iter().map(|cost| (cost.metric, cost.verdict, &cost.ratio, &cost.place)))
    };
    let by_ends = grouped(known.iter().map(|cost| (cost.ends.as_str(), *cost)));
    by_ends.into_iter().map(part).collect::<Vec<_>>().join(" ")
}

fn name(ends: &str) -> &'static str {
    if ends == ONE_CPU {
        "Both ends on one CPU instead of two"
    } else {
        "Placed by the scheduler, as iperf3 is"
    }
}

/// A change of a metric: its verdict, its ratio and where it is.
pub type ChangeOf<'c> = (&'static str, Verdict, &'c Estimate, &'c Point);

/// `LEAD: CPU 1.4x less at 1 KiB and the same at 64 KiB. Throughput 1.3x more.`
pub fn told<'c>(lead: &str, costs: impl Iterator<Item = ChangeOf<'c>> + Clone) -> String {
    if costs.clone().all(|(_, verdict, ..)| verdict == Verdict::Undecided) {
        return format!("{lead}: undecided.");
    }
    let of = |metric: &str| {
        let own = costs.clone().filter(|(of, ..)| *of == metric);
        changes(own.map(|(_, verdict, ratio, place)| (change(verdict, ratio), size(place))), metric)
    };
    let told: Vec<String> = [of(COST), of(SPEED)].into_iter().flatten().collect();
    format!("{lead}: {}.", told.join(". "))
}

/// `CPU 1.4x less at 1 KiB and the same at 64 KiB`, of changes and their sizes.
fn changes(costs: impl Iterator<Item = (String, String)>, metric: &str) -> Option<String> {
    let told = grouped(costs);
    let everywhere = told.len() == 1;
    let part = |(change, places): &(String, Vec<String>)| {
        if everywhere { change.clone() } else { format!("{change} at {}", and(places)) }
    };
    let parts: Vec<String> = told.iter().map(part).collect();
    let what = if metric == COST { "CPU" } else { "Throughput" };
    (!parts.is_empty()).then(|| format!("{what} {}", and(&parts)))
}

pub fn change(verdict: Verdict, ratio: &Estimate) -> String {
    match verdict {
        Verdict::Less => format!("{} less", times_within(ratio)),
        Verdict::More => format!("{} more", times_within(ratio)),
        Verdict::Same => "the same".into(),
        Verdict::Undecided => "undecided".into(),
    }
}

/// `One CPU for both ends beside two, CPU a message at 1 KiB: 1.4x less (95 % CI 1.3 to 1.5).`
pub fn sentence(cost: &PlacementCost) -> String {
    let ends = if cost.ends == ONE_CPU { "One CPU for both ends" } else { "The scheduler's choice" };
    let what = if cost.metric == COST { "CPU a message" } else { "throughput" };
    let known = match cost.verdict {
        Verdict::Less => format!("{} less", times_within(&cost.ratio)),
        Verdict::More => format!("{} more", times_within(&cost.ratio)),
        Verdict::Same => format!("the same within 3 %, {}", times_within(&cost.ratio)),
        Verdict::Undecided => format!("undecided, {}", times_within(&cost.ratio)),
    };
    format!("{ends} beside two, {what} at {}: {known} ({}).", size(&cost.place), interval(&cost.ratio))
}

pub fn size(place: &Point) -> String {
    place.int(MESSAGE_BYTES).map(|bytes| Unit::Bytes.format(bytes as f64)).unwrap_or_default()
}
