//! Who is ahead of whom, and by how much: by somebody's own figures and names, at each size and thread count.
//!
//! No difference is called significant. Two figures are ordered where they differ by more than the table's own scatter, or,
//! where nothing tells that, by more than 5 %. What all cells share (a link) and figures that cannot be order nothing.

use crate::cells::{CellPlace, RowsCell, cells};
use crate::remark::{Remark, flat_band, size};
use crate::{PublishedTable, TableColumn, TableColumn::*, role};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::units::{and, significant};
use syscost_measure::mechanism::Class;

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

/// All comparisons, or why there are none.
#[derive(Clone, Debug, PartialEq)]
pub struct TableComparisons {
    pub all: Vec<TableComparison>,
    /// Why nothing is compared; of a table of operations nothing is asked.
    pub none: Option<String>,
}

pub fn compare(table: &PublishedTable, remarks: &[Remark]) -> TableComparisons {
    let none = |why: &str| TableComparisons { all: Vec::new(), none: Some(why.into()) };
    let has = |column: &TableColumn| table.rows.iter().any(|row| row.figure(*column).is_some());
    let speed = [Throughput, MessageRate, Latency].into_iter().find(has);
    let metrics: Vec<TableColumn> = speed.into_iter().chain([CyclesPerByte]).filter(has).collect();
    let names = table.names(Mechanism);
    if metrics.is_empty() {
        return none("no throughput, message rate, latency or cycles per byte was read");
    }
    if names.len() < 2 {
        return none(if names.is_empty() { "no column of names was read" } else { "it has one name" });
    }
    let rivals = rivals(&names);
    if rivals.is_empty() {
        return none("no two names whose roles are known (A1, zero-copy, send ..), and more than 8 names");
    }
    let possible = possible(table, remarks);
    let pairs = |metric| {
        let cells = cells(&possible, metric);
        rivals.iter().flat_map(|names| pair(table, metric, *names, &cells)).collect::<Vec<_>>()
    };
    let all: Vec<TableComparison> = metrics.into_iter().flat_map(pairs).collect();
    match all.is_empty() {
        true if possible.rows.len() < table.rows.len() => {
            none("figures of the rows that could be compared cannot be")
        }
        true => none("no two names have a figure at one size and thread count"),
        false => TableComparisons { all, none: None },
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
    let (first, others) = (names[0], &names[1..]);
    if known.is_empty() && names.len() <= MOST_RIVALS {
        return others.iter().map(|other| [first, *other]).collect();
    }
    known
}

/// One comparison for each variant that both have.
fn pair(
    table: &PublishedTable,
    metric: TableColumn,
    [incumbent, challenger]: [&str; 2],
    cells: &BTreeMap<CellPlace, RowsCell>,
) -> Vec<TableComparison> {
    let band = flat_band(table).filter(|_| metric == Throughput);
    let in_band = |of: &RowsCell| band.is_some_and(|(low, high)| (low..=high).contains(&of.figure.value));
    let more_is_better = matches!(metric, Throughput | MessageRate);
    let said = table.rows.iter().any(|row| row.scatter.contains_key(&metric));
    let mut found: Vec<TableComparison> = Vec::new();
    for (&(_, variant, message_bytes, threads), before) in cells.iter().filter(|(at, _)| at.0 == incumbent) {
        let Some(after) = cells.get(&(challenger, variant, message_bytes, threads)) else { continue };
        let (was, is) = (before.figure.value, after.figure.value);
        let ahead = match ((is > was) == more_is_better, in_band(before) && in_band(after)) {
            (true, false) if are_ordered(before, after) => Ahead::Challenger,
            (false, false) if are_ordered(before, after) => Ahead::Incumbent,
            _ => Ahead::NotOrdered,
        };
        if found.last().is_none_or(|last| last.variant != variant) {
            let (challenger, incumbent) = (challenger.to_string(), incumbent.to_string());
            let (variant, cells) = (variant.to_string(), Vec::new());
            found.push(TableComparison { challenger, incumbent, metric, variant, cells, medians: false });
        }
        let last = found.last_mut().expect("just pushed");
        let times = (is / was).max(was / is);
        last.cells.push(ComparedCell { message_bytes, threads, ahead, times });
        last.medians |= !said && [before, after].iter().any(|of| of.rows > 1);
    }
    found
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
        let by = format!("by {}{}", times(&cells), places(table, &cells, &one.cells));
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

/// `1.2x to 246x`
fn times(cells: &[&ComparedCell]) -> String {
    let (least, most) =
        cells.iter().fold((f64::MAX, 0.0f64), |(a, b), cell| (a.min(cell.times), b.max(cell.times)));
    let [least, most] =
        [least, most].map(|times| if times < 10.0 { format!("{times:.2}") } else { significant(times) });
    let trimmed = |text: &str| text.strip_suffix('0').unwrap_or(text).to_string();
    let [least, most] = [least, most].map(|text| if text.contains('.') { trimmed(&text) } else { text });
    if least == most { format!("{least}x") } else { format!("{least}x to {most}x") }
}

/// ` at every size with 1, 2 and 4 threads; at 4 KiB with 8 threads`
fn places(table: &PublishedTable, cells: &[&ComparedCell], all: &[ComparedCell]) -> String {
    let mut by_threads: BTreeMap<Option<u64>, Vec<u64>> = BTreeMap::new();
    for cell in cells {
        by_threads.entry(cell.threads).or_default().extend(cell.message_bytes);
    }
    let mut told: Vec<(String, Vec<u64>)> = Vec::new();
    for (threads, sizes) in by_threads {
        let of_all: Vec<u64> =
            all.iter().filter(|cell| cell.threads == threads).filter_map(|cell| cell.message_bytes).collect();
        let text = at(&sizes, &of_all);
        match told.iter_mut().find(|(known, _)| *known == text) {
            Some((_, counts)) => counts.extend(threads),
            None => told.push((text, threads.into_iter().collect())),
        }
    }
    let with = |(at, counts): (String, Vec<u64>)| match counts[..] {
        [] => at,
        [one] => format!("{at} with {}", table.threads(one)),
        ref many => {
            let many: Vec<String> = many.iter().map(u64::to_string).collect();
            format!("{at} with {} {}", and(&many), table.title(Threads))
        }
    };
    let told: Vec<String> = told.into_iter().map(with).collect();
    told.join(",")
}

/// ` at every size (256 B to 64 KiB)`, ` at 64 B and 4 KiB`
fn at(sizes: &[u64], all: &[u64]) -> String {
    match (sizes, all) {
        ([], _) => String::new(),
        ([one], _) => format!(" at {}", size(*one)),
        ([first, .., last], all) if sizes.len() == all.len() => {
            format!(" at all {} sizes ({} to {})", all.len(), size(*first), size(*last))
        }
        ([first, .., last], _) if sizes.len() > 3 && all.ends_with(sizes) => {
            format!(" from {} up (to {})", size(*first), size(*last))
        }
        _ => format!(" at {}", and(&sizes.iter().map(|n| size(*n)).collect::<Vec<_>>())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remark::{remarks, table};

    fn told(text: &str) -> Vec<String> {
        let table = table(text);
        sentences(&table, &compare(&table, &remarks(&table)).all)
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
                "A3 has more throughput than A1, by 2.0x at 64 B with 1 thread; A1 has more, by 4.0x at 4 KiB with 1 thread; not \
              ordered at 64 B with 8 threads (differences within the scatter or the digits given, or under 5 %)."
            ]
        );
        let latency = told("impl,size,latency_us\nA1,64,10\nA1,4096,20\nA3,64,20\nA3,4096,30\n");
        assert_eq!(
            latency,
            ["A1 has a lower latency than A3, by 1.5x to 2.0x at all 2 sizes (64 B to 4 KiB)."]
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
            compare(&table, &remarks(&table)).none.unwrap_or_default()
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
