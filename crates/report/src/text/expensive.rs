//! What is expensive here, and what would change it?

use super::figures::{ends, interval, times_range, times_within};
use crate::text::words::{capital, count};
use syscost_analyze::finding::expensive::{CheaperWay, DearRow, Expense};
use syscost_analyze::operations::operation::row_name;
use syscost_core::axis::Point;
use syscost_measure::probe;

/// From so many times its lower end on an interval is told instead of a ratio.
const WIDE: f64 = 2.0;

pub fn headline(expense: &Expense) -> String {
    match expense {
        Expense::Dear { dear: 0, .. } => "No row surely costs over twice its prediction.".into(),
        Expense::Dear { rows, dear, of, .. } => {
            let worst = rows
                .first()
                .map(|row| format!(", most {}: {}", name(&row.probe, &row.place), times_within(&row.ratio)));
            format!(
                "{dear} of {} surely cost over twice their prediction{}.",
                count(*of, "row"),
                worst.unwrap_or_default()
            )
        }
        Expense::OtherWay(way) => other_way(way),
        Expense::ClockByKernel { .. } => "Reading the clock enters the kernel.".into(),
        Expense::Governor { name } => format!("The governor of CPU frequency is {name}."),
    }
}

/// What a report of operations opens with: what is dear, then what would change it, a sentence each.
pub fn opening(expense: &Expense) -> String {
    match expense {
        Expense::Governor { .. } | Expense::ClockByKernel { .. } => sentence(expense),
        _ => headline(expense),
    }
}

pub fn sentence(expense: &Expense) -> String {
    match expense {
        Expense::Dear { rows, dear, of, undecided } => {
            let list: String = rows.iter().map(|row| format!(" {}.", capital(&dear_row(row)))).collect();
            format!(
                "Measured over predicted is above 2 over the whole interval in {dear} of {}, undecided in {undecided}.{list}",
                count(*of, "row")
            )
        }
        Expense::OtherWay(way) => other_way(way),
        Expense::ClockByKernel { source } => format!(
            "The kernel keeps time by {source}, so that clock_gettime is a system call. Where the TSC is stable, \
             booting with clocksource=tsc makes it a few instructions."
        ),
        Expense::Governor { name } => format!(
            "The governor of CPU frequency is {name}: cores may run slower than they can. Next: `cpupower frequency-set -g \
             performance`, and run again."
        ),
    }
}

/// `process creation (fork, exit, wait; 1 MiB resident): 4.0x (95 % CI 3.9 to 4.1)`
fn dear_row(row: &DearRow) -> String {
    format!("{}: {} ({})", name(&row.probe, &row.place), times_within(&row.ratio), interval(&row.ratio))
}

/// `Process creation (fork, exit, wait; 100 MiB resident) costs 160x less with vfork(2) (99 % CI 156 to 169).` Few rounds in
/// pairs leave the one ratio to chance: the table's figures may have another.
fn other_way(way: &CheaperWay) -> String {
    let mut from = way.place.clone();
    from.set(&way.axis, way.from.clone());
    let places = match way.places {
        1 => String::new(),
        all => format!(" Less at {} of {all} places; this is the most.", way.cheaper),
    };
    let (low, high) = ends(&way.ratio);
    let (by, interval) = match high > WIDE * low {
        true => (times_range((low, high)), format!("{} % CI", (way.ratio.level * 100.0 + 1e-9).floor())),
        false => (times_within(&way.ratio), interval(&way.ratio)),
    };
    format!("{} costs {by} less with {} ({interval}).{places}", capital(&name(&way.probe, &from)), way.how)
}

fn name(id: &str, point: &Point) -> String {
    let named = probe::find(id).and_then(|probe| Some(row_name(probe.about().title, &probe.row(point)?)));
    named.unwrap_or_else(|| id.to_string())
}
