//! Who is ahead of whom, and by how much: by somebody's own figures and names, at each size and thread count.
//!
//! No difference is called significant. Two figures are ordered where they differ by more than the table's own scatter, or,
//! where nothing tells that, by more than 5 %. What all cells share (a link) and figures that cannot be order nothing.

use crate::cells::{CellPlace, RowCells, RowsCell, cells};
use crate::remark::{Remark, extent, flat_band, size};
use crate::{PublishedTable, TableColumn, TableColumn::*, grouped, role};
use serde::Serialize;
use std::collections::BTreeSet;
use syscost_core::units::and;
use syscost_measure::mechanism::Class;
use syscost_report::text::figures::times_range;
use syscost_report::text::words;

/// Below this, figures of single runs are not ordered.
const LEAST: f64 = 0.05;
/// Fewer runs than this tell their scatter badly.
const FEW: usize = 5;
/// Names that are compared with the first; a table of more is one of kinds, not of rivals.
const MOST_RIVALS: usize = 8;

/// Which of the two is better in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ahead {
    Challenger,
    Incumbent,
    NotOrdered,
}

/// A size and thread count at which both have a figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedCell {
    pub message_bytes: Option<u64>,
    pub threads: Option<u64>,
    pub ahead: Ahead,
    /// The better figure over the other: 1 or more.
    pub times: f64,
}

/// Two names by one metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableComparison {
    pub challenger: String,
    pub incumbent: String,
    pub metric: TableColumn,
    /// What both share beside size and threads, where the table says more.
    pub variant: String,
    pub cells: Vec<ComparedCell>,
    /// Rows that repeat are compared by their median.
    pub medians: bool,
}

/// All comparisons, or why nothing is compared; of a table of operations nothing is asked.
pub type TableComparisons = Result<Vec<TableComparison>, &'static str>;

pub fn compare(table: &PublishedTable, remarks: &[Remark]) -> TableComparisons {
    let has = |column: &TableColumn| table.rows.iter().any(|row| row.figure(*column).is_some());
    let speed = [Throughput, MessageRate, Latency].into_iter().find(has);
    let metrics: Vec<TableColumn> = speed.into_iter().chain([CyclesPerByte]).filter(has).collect();
    let names = table.names(Mechanism);
    let rivals = rivals(&names);
    match names.len() {
        _ if metrics.is_empty() => {
            return Err("no throughput, message rate, latency or cycles per byte was read");
        }
        0 => return Err("no column of names was read"),
        1 => return Err("it has one name"),
        _ if rivals.is_empty() => {
            return Err("no two names whose roles are known (A1, zero-copy, send ..), and more than 8 names");
        }
        _ => {}
    }
    let possible = possible(table, remarks);
    let pairs = |metric| {
        let cells = cells(&possible, metric);
        rivals.iter().flat_map(|names| pair(table, metric, *names, &cells)).collect::<Vec<_>>()
    };
    let all: Vec<TableComparison> = metrics.into_iter().flat_map(pairs).collect();
    let runs_apart = remarks.iter().any(|remark| remark.id == "runs_apart");
    match all.is_empty() {
        false => Ok(all),
        _ if possible.rows.len() < table.rows.len() => {
            Err("figures of the rows that could be compared cannot be")
        }
        _ if runs_apart => Err(
            "runs of one case lie too far apart, or no two names have a figure at one size and thread count",
        ),
        _ => Err("no two names have a figure at one size and thread count"),
    }
}

/// The table without figures that cannot be: in them nothing is ahead.
pub fn possible(table: &PublishedTable, remarks: &[Remark]) -> PublishedTable {
    let impossible = remarks.iter().filter(|remark| remark.id == "impossible");
    let impossible: BTreeSet<usize> = impossible.flat_map(|remark| remark.lines.iter().copied()).collect();
    let mut table = table.clone();
    table.rows.retain(|row| !impossible.contains(&row.line));
    table
}

/// Who competes with whom, by the names of the table: one-copy and zero-copy with two-copy; without roles, the others
/// with the first.
fn rivals<'t>(names: &[&'t str]) -> Vec<[&'t str; 2]> {
    let of = |class: Class| names.iter().copied().filter(move |name| role::of(name) == Some(class));
    let challengers: Vec<&str> = of(Class::OneCopy).chain(of(Class::ZeroCopy)).collect();
    let known = of(Class::TwoCopy).flat_map(|old| challengers.iter().map(move |new| [old, *new]));
    let known: Vec<[&str; 2]> = known.collect();
    match names {
        [first, others @ ..] if known.is_empty() && names.len() <= MOST_RIVALS => {
            others.iter().map(|other| [*first, *other]).collect()
        }
        _ => known,
    }
}

/// One comparison for each variant that both have.
fn pair(
    table: &PublishedTable,
    metric: TableColumn,
    names: [&str; 2],
    cells: &RowCells,
) -> Vec<TableComparison> {
    let [incumbent, challenger] = names;
    let band = flat_band(table).filter(|_| metric == Throughput);
    let in_band = |of: &RowsCell| band.is_some_and(|(low, high)| (low..=high).contains(&of.figure.value));
    let more_is_better = matches!(metric, Throughput | MessageRate);
    let said = table.rows.iter().any(|row| row.scatter.contains_key(&metric));
    let compared = |(&(_, variant, message_bytes, threads), before): (&CellPlace<'_>, &RowsCell)| {
        let after = cells.get(&(challenger, variant, message_bytes, threads))?;
        let (was, is) = (before.figure.value, after.figure.value);
        let ahead = match are_ordered(before, after) && !(in_band(before) && in_band(after)) {
            true if (is > was) == more_is_better => Ahead::Challenger,
            true => Ahead::Incumbent,
            false => Ahead::NotOrdered,
        };
        let cell = ComparedCell { message_bytes, threads, ahead, times: (is / was).max(was / is) };
        Some((variant.to_string(), (cell, before.rows > 1 || after.rows > 1)))
    };
    let by_variant = grouped(cells.iter().filter(|(at, _)| at.0 == incumbent).filter_map(compared));
    let comparison = |(variant, cells): (String, Vec<(ComparedCell, bool)>)| {
        let (cells, repeated): (Vec<ComparedCell>, Vec<bool>) = cells.into_iter().unzip();
        let (challenger, incumbent) = (challenger.to_string(), incumbent.to_string());
        let medians = !said && repeated.contains(&true);
        TableComparison { challenger, incumbent, metric, variant, cells, medians }
    };
    by_variant.into_iter().map(comparison).collect()
}

/// Beyond rounding, and beyond the scatter of both; of few runs also beyond what single runs differ by.
fn are_ordered(a: &RowsCell, b: &RowsCell) -> bool {
    let apart = (a.figure.value - b.figure.value).abs() - a.figure.rounding - b.figure.rounding;
    let scatter = a.scatter.unwrap_or(0.0) + b.scatter.unwrap_or(0.0);
    let few = [a, b].iter().any(|of| of.scatter.is_none() || !of.told && of.rows < FEW);
    let least = if few { LEAST * a.figure.value.min(b.figure.value) } else { 0.0 };
    apart > scatter.max(least).max(0.0)
}

/// A sentence for each comparison: who is ahead, by how much, and where.
pub fn sentences(table: &PublishedTable, comparisons: &[TableComparison]) -> Vec<String> {
    comparisons.iter().map(|one| sentence(table, one)).collect()
}

fn sentence(table: &PublishedTable, one: &TableComparison) -> String {
    let more = match one.metric {
        MessageRate => "a higher",
        Throughput => "more",
        Latency => "a lower",
        _ => "fewer",
    };
    let of = |ahead: Ahead| one.cells.iter().filter(|cell| cell.ahead == ahead).collect::<Vec<_>>();
    let both = if one.variant.is_empty() { String::new() } else { format!(" (both {})", one.variant) };
    let (title, new, old) = (one.metric.title(), &one.challenger, &one.incumbent);
    let mut sides = [(of(Ahead::Challenger), new, old), (of(Ahead::Incumbent), old, new)];
    sides.sort_by_key(|(cells, ..)| std::cmp::Reverse(cells.len()));
    let mut told: Vec<String> = Vec::new();
    for (cells, winner, other) in sides.into_iter().filter(|(cells, ..)| !cells.is_empty()) {
        let times = extent(cells.iter().map(|cell| cell.times));
        let by = format!("by {}{}", times_range(times), places(table, &cells, &one.cells));
        told.push(match told.is_empty() {
            true => format!("{winner} has {more} {title} than {other}{both}, {by}"),
            false => format!("{winner} has {more}, {by}"),
        });
    }
    let open = of(Ahead::NotOrdered);
    if !open.is_empty() {
        let shared = one.metric == Throughput && flat_band(table).is_some();
        let reason = match shared {
            true => "differences under 5 %, or figures that something shared sets",
            false => "differences within the scatter or the digits given, or under 5 %",
        };
        let names = if told.is_empty() { format!("{new} and {old}{both}, {title}: ") } else { String::new() };
        told.push(format!("{names}not ordered{} ({reason})", places(table, &open, &one.cells)));
    }
    let medians = if one.medians { " Rows that repeat are compared by their median." } else { "" };
    format!("{}.{medians}", told.join("; "))
}

/// ` at every size with 1, 2 and 4 threads; at 4 KiB with 8 threads`
fn places(table: &PublishedTable, cells: &[&ComparedCell], all: &[ComparedCell]) -> String {
    let place = |(threads, sizes): (Option<u64>, Vec<Option<u64>>)| {
        let of_all = all.iter().filter(|cell| cell.threads == threads).filter_map(|cell| cell.message_bytes);
        (at(&sizes.into_iter().flatten().collect::<Vec<_>>(), &of_all.collect::<Vec<_>>()), threads)
    };
    let by_threads = grouped(cells.iter().map(|cell| (cell.threads, cell.message_bytes)));
    let with = |(at, threads): (String, Vec<Option<u64>>)| {
        let many: Vec<String> = threads.iter().flatten().map(u64::to_string).collect();
        match threads[..] {
            _ if many.is_empty() => at,
            [Some(1)] => format!("{at} with {}", table.threads(1)),
            _ => format!("{at} with {} {}", and(&many), table.title(Threads)),
        }
    };
    let told = words::grouped(by_threads.into_iter().map(place));
    told.into_iter().map(with).collect::<Vec<_>>().join(",")
}

/// ` at every size (256 B to 64 KiB)`, ` at 64 B and 4 KiB`
fn at(sizes: &[u64], all: &[u64]) -> String {
    let named: Vec<String> = sizes.iter().map(|bytes| size(*bytes)).collect();
    match &named[..] {
        [] => String::new(),
        [first, .., last] if sizes.len() == all.len() => {
            format!(" at all {} sizes ({first} to {last})", all.len())
        }
        [first, .., last] if sizes.len() > 3 && all.ends_with(sizes) => {
            format!(" from {first} up (to {last})")
        }
        _ => format!(" at {}", and(&named)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remark::{remarks, table};

    fn told(text: &str) -> Vec<String> {
        let table = table(text);
        sentences(&table, &compare(&table, &remarks(&table)).expect("rivals"))
    }

    const HEAD: &str = "mechanism,message_bytes,threads,throughput_gbps\n";

    #[test]
    fn who_is_ahead_by_how_much_and_where() {
        let all = told(&format!(
            "{HEAD}A1,64,1,1.0\nA3,64,1,2.0\nA1,4096,1,8.0\nA3,4096,1,2.0\nA1,64,8,3.0\nA3,64,8,3.1\n"
        ));
        assert_eq!(
            all,
            [
                "A3 has more throughput than A1, by 2x at 64 B with 1 thread; A1 has more, by 4x at 4 KiB with 1 thread; not \
              ordered at 64 B with 8 threads (differences within the scatter or the digits given, or under 5 %)."
            ]
        );
        let latency = told("impl,size,latency_us\nA1,64,10\nA1,4096,20\nA3,64,20\nA3,4096,30\n");
        assert_eq!(
            latency,
            ["A1 has a lower latency than A3, by 1.5x to 2x at all 2 sizes (64 B to 4 KiB)."]
        );
    }

    #[test]
    fn differences_within_the_tables_own_scatter_are_not_ordered() {
        let wide = told("impl,size,gbps,stddev_gbps\nA1,64,10,2\nA3,64,12,2\n");
        assert!(wide[0].contains("A3 and A1, throughput: not ordered"), "{wide:?}");
        let narrow =
            told("impl,size,throughput_gbps,throughput_std_gbps\nA1,64,10.0,0.01\nA3,64,10.3,0.01\n");
        assert!(narrow[0].contains("by 1.03x"), "its scatter is told, and small: {narrow:?}");
        let runs = told(&format!("{HEAD}A1,64,4,18\nA1,64,4,14\nA3,64,4,18\nA3,64,4,20\n"));
        assert!(runs[0].contains("not ordered") && runs[0].contains("by their median"), "{runs:?}");
        assert!(told(&format!("{HEAD}A1,64,1,1\nA3,64,1,1.04\n"))[0].contains("not ordered"), "under 5 %");
    }

    #[test]
    fn the_reason_for_no_comparison_is_the_one_there_is() {
        let why = |text: &str| {
            let table = table(text);
            compare(&table, &remarks(&table)).unwrap_err()
        };
        assert_eq!(why("size,throughput_gbps\n64,1\n"), "no column of names was read");
        assert_eq!(why("impl,size,throughput_gbps\nx,64,1\n"), "it has one name");
        assert_eq!(
            why("impl,size,cycles\nA1,64,1000\nA3,64,2000\n"),
            "no throughput, message rate, latency or cycles per byte was read"
        );
        assert_eq!(
            why("impl,size,throughput_gbps\nA1,64,1\nA3,128,2\n"),
            "no two names have a figure at one size and thread count"
        );
        let nine: String = (0..9).map(|n| format!("kind{n},64,1\n")).collect();
        assert!(why(&format!("impl,size,throughput_gbps\n{nine}")).contains("roles are known"));
    }
}
