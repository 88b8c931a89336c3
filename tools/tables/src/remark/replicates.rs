//! Claims without replicates: one run a cell and no spread, so that no difference can be told from noise; and runs of one
//! case that are none.

use super::{Remark, RemarkKind, place};
use crate::{PublishedFigure, PublishedRow, PublishedTable, RowKey, TableColumn, TableColumn::*, grouped};
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::units::count;

/// Fewer runs than this decide nothing by any test that assumes no distribution.
pub const FEWEST_RUNS: u64 = 5;
/// Runs of one case that lie further apart than this are of several cases, or something disturbed them.
const APART: f64 = 2.0;
/// What is the same each time where nothing is amiss.
const REPEATED: [TableColumn; 5] = [Throughput, MessageRate, Latency, CyclesPerByte, Measured];

pub fn look(table: &PublishedTable) -> Vec<Remark> {
    without_replicates(table).into_iter().chain(apart(table)).collect()
}

/// Two runs of one case, by what they lie apart in which column.
type RunsApart<'t> = (f64, TableColumn, [&'t PublishedRow; 2]);

/// Runs whose figures lie far apart, the farthest as the example.
fn apart(table: &PublishedTable) -> Option<Remark> {
    let mut cases = grouped(table.rows.iter().map(|row| (row.case(), row)));
    // Rows that nothing names are runs of one case by what is left out.
    cases.retain(|(texts, places), _| !texts.is_empty() || !places.is_empty());
    let found: Vec<RunsApart> = cases.values().filter_map(|rows| farthest(rows)).collect();
    let (_, column, rows) = found.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let figure = |row: &&PublishedRow| column.format(row.value(*column).unwrap_or_default(), row.text(Unit));
    let left = if table.not_read.is_empty() { "" } else { " (perhaps a column that is left out)" };
    let text = format!(
        "Rows of {} (one name, size and thread count each) lie more than {APART:.0}x apart, most in {}: {} {} and {}. \
         They differ in something else{left}, or a run was disturbed. Find the reason before you compare.",
        count(found.len(), "case"),
        place(table, rows[0]),
        column.title(),
        figure(&rows[0]),
        figure(&rows[1])
    );
    let lines = BTreeSet::from(rows.map(|row| row.line));
    Remark::of(RemarkKind::Unexpected, "runs_apart", text, lines.into_iter().collect())
}

fn farthest<'t>(rows: &[&'t PublishedRow]) -> Option<RunsApart<'t>> {
    let of = |column: TableColumn| {
        let figure = |row: &&'t PublishedRow| Some((row.figure(column).filter(|f| f.value > 0.0)?, *row));
        let mut known: Vec<(PublishedFigure, &PublishedRow)> = rows.iter().filter_map(figure).collect();
        known.sort_by(|a, b| a.0.value.total_cmp(&b.0.value));
        let (least, most) = (known.first()?, known.last()?);
        // In the digits given: 1 and 2 may be 1.4 and 1.6.
        let times = most.0.low() / least.0.high();
        (times > APART).then_some((times, column, [least.1, most.1]))
    };
    REPEATED.into_iter().filter_map(of).max_by(|a, b| a.0.total_cmp(&b.0))
}

fn without_replicates(table: &PublishedTable) -> Option<Remark> {
    // An operating-system table has rows, not cells that compete.
    if !table.is_transfer() || table.rows.iter().any(|row| !row.scatter.is_empty()) || table.tool {
        return None;
    }
    let runs = runs(table);
    let most = runs.values().copied().max().filter(|most| *most < FEWEST_RUNS)?;
    let stated = table.has(Runs);
    let told = match (most, stated) {
        (0 | 1, false) => "One row".into(),
        (most, false) => format!("At most {most} rows"),
        (most, true) => count(most as usize, "run"),
    };
    let no = if stated { "No" } else { "Unless a row sums up several runs, no" };
    let text = format!(
        "{told} a cell and no spread in {} cells. {no} difference is significant: identical runs differ by 5 to \
         30 % on shared machines. Ask for {FEWEST_RUNS} runs a cell.",
        runs.len()
    );
    Some(Remark { id: "no_replicates", kind: RemarkKind::Caution, text, lines: Vec::new() })
}

/// The runs behind each cell: its rows, or what they say. Rows without a size or a run are no repetitions of each other where
/// a column that was left out may tell them apart; nor are rows of different figures.
pub fn runs(table: &PublishedTable) -> BTreeMap<(RowKey, Option<usize>), u64> {
    let apart = !table.not_read.is_empty() && !table.has(MessageBytes) && !table.has(Repetition);
    let mut runs: BTreeMap<_, BTreeMap<TableColumn, u64>> = BTreeMap::new();
    for row in &table.rows {
        let cell = runs.entry((row.case(), apart.then_some(row.line))).or_default();
        for column in row.figures.keys().filter(|column| column.is_measure()) {
            *cell.entry(*column).or_default() += row.count(Runs).unwrap_or(1);
        }
    }
    runs.into_iter().map(|(key, cell)| (key, cell.into_values().max().unwrap_or(0))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    #[test]
    fn one_run_a_cell_is_said_and_replicates_are_not() {
        let heading = "mechanism,size,threads,throughput_gbps";
        let told = |text: &str| look(&table(text)).pop().map_or(String::new(), |r| r.text);
        assert!(
            told(&format!("{heading}\nA1,64,1,1\nA3,64,1,2\n"))
                .starts_with("One row a cell and no spread in 2 cells")
        );
        assert!(told(&format!("{heading}\nA1,64,1,1\nA1,64,1,2\n")).starts_with("At most 2 rows a cell"));
        assert_eq!(told(&format!("{heading}\n{}", "A1,64,1,1\n".repeat(5))), "");
        assert_eq!(told(&format!("{heading},stddev\nA1,64,1,1,0.1\n")), "");
        let apart = "mechanism,size,threads,throughput_gbps,latency_us\nA1,64,1,1,\nA1,64,1,,9\n";
        assert!(told(apart).starts_with("One row a cell"), "figures of one run: {}", told(apart));
        assert_eq!(told(&format!("{heading},runs\nA1,64,1,1,10\n")), "");
    }
}
