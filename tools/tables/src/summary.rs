//! A table in one row: what it holds, what contradicts itself, and which questions it cannot answer.

use super::compare::TableComparisons;
use super::remark::{FEWEST_RUNS, Remark, RemarkKind, runs};
use super::{PublishedRow, PublishedTable, TableColumn};
use serde::Serialize;
use std::collections::BTreeSet;

/// A question that a table cannot answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TableGap {
    Significance,
    Rivals,
    Sizes,
    Threads,
    Latency,
    CpuCost,
    CacheMisses,
    ContextSwitches,
}

impl TableGap {
    /// In a row of many tables: the question alone.
    pub fn short(self) -> &'static str {
        let reason = self.reason();
        reason.split_once(':').map_or(reason, |(question, _)| question)
    }

    /// What is missing, for one table; who is faster has a reason of its own.
    pub fn reason(self) -> &'static str {
        match self {
            TableGap::Significance => {
                "which differences are significant: fewer than 5 runs a cell and no spread are read"
            }
            TableGap::Rivals => "who is faster",
            TableGap::Sizes => "what size does: one size, or no column read as such",
            TableGap::Threads => "what threads do: one thread count, or no column read as such",
            TableGap::Latency => "latency: no column read as such, or it says no more than the throughput",
            TableGap::CpuCost => {
                "CPU cost: no cycles per byte (they follow from cycles, a throughput and --seconds S)"
            }
            TableGap::CacheMisses => "cache misses: no column counts them",
            TableGap::ContextSwitches => "context switches: no column counts them",
        }
    }
}

/// The row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableSummary {
    pub rows: usize,
    pub cells: usize,
    /// Fewest and most runs behind a cell.
    pub runs: [u64; 2],
    /// Kinds of contradiction; each may hold for many rows.
    pub contradictions: Vec<&'static str>,
    pub unexpected: usize,
    pub cannot_say: Vec<TableGap>,
}

impl TableSummary {
    pub fn of(table: &PublishedTable, remarks: &[Remark], comparisons: &TableComparisons) -> TableSummary {
        let runs = runs(table);
        let of = |kind| remarks.iter().filter(move |r| r.kind == kind);
        TableSummary {
            rows: table.rows.len(),
            cells: runs.len(),
            runs: [runs.values().min(), runs.values().max()].map(|n| n.copied().unwrap_or(0)),
            contradictions: of(RemarkKind::Contradiction)
                .map(|r| r.id)
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect(),
            unexpected: of(RemarkKind::Unexpected).count(),
            cannot_say: gaps(table, remarks, comparisons, runs.values().copied().max().unwrap_or(0)),
        }
    }
}

fn gaps(
    table: &PublishedTable,
    remarks: &[Remark],
    comparisons: &TableComparisons,
    most_runs: u64,
) -> Vec<TableGap> {
    let any = |column| table.rows.iter().any(|row| row.figure(column).is_some());
    let counted = |column| table.rows.iter().any(|row| row.value(column).is_some_and(|count| count > 0.0));
    let many = |column| {
        let values = table.rows.iter().filter_map(|row| PublishedRow::count(row, column));
        values.collect::<BTreeSet<_>>().len() > 1
    };
    // An operating-system table has rows, not cells that compete.
    let rivals = table.is_transfer();
    let computed = remarks.iter().any(|remark| remark.id == "derived_latency");
    use TableColumn::{CacheMisses, CpuPercent, CpuTime, CyclesPerByte, L1Misses, LlcMisses};
    let misses = [CacheMisses, LlcMisses, L1Misses];
    let missing = [
        (
            TableGap::Significance,
            (rivals || table.has(TableColumn::Measured))
                && most_runs < FEWEST_RUNS
                && table.rows.iter().all(|row| row.scatter.is_empty()),
        ),
        (TableGap::Rivals, rivals && comparisons.all.is_empty()),
        (TableGap::Sizes, rivals && !many(TableColumn::MessageBytes)),
        (TableGap::Threads, rivals && !many(TableColumn::Threads)),
        (TableGap::Latency, rivals && (computed || !any(TableColumn::Latency))),
        (TableGap::CpuCost, rivals && ![CyclesPerByte, CpuPercent, CpuTime].into_iter().any(any)),
        (TableGap::CacheMisses, rivals && !misses.into_iter().any(counted)),
        (TableGap::ContextSwitches, rivals && !counted(TableColumn::ContextSwitches)),
    ];
    missing.into_iter().filter(|(_, missing)| *missing).map(|(gap, _)| gap).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::compare;
    use crate::remark::{remarks, table};

    fn of(text: &str) -> TableSummary {
        let table = table(text);
        let remarks = remarks(&table);
        TableSummary::of(&table, &remarks, &compare(&table, &remarks))
    }

    #[test]
    fn repeats_are_rows_of_one_cell_or_what_the_table_says() {
        let repeated =
            of("mechanism,size,threads,run,throughput_gbps\nA1,64,1,1,2\nA1,64,1,2,2\nA2,64,1,1,3\n");
        assert_eq!((repeated.rows, repeated.cells, repeated.runs), (3, 2, [1, 2]));
        let told = of("mechanism,size,threads,runs,throughput_gbps\nA1,64,1,10,2\nA2,64,1,7,3\n");
        assert_eq!(told.runs, [7, 10]);
        assert!(!told.cannot_say.contains(&TableGap::Significance), "{told:?}");
        assert!(told.cannot_say.contains(&TableGap::Sizes) && !told.cannot_say.contains(&TableGap::Rivals));
    }

    #[test]
    fn an_operating_system_table_is_asked_nothing_of_rivals() {
        let told = of("operation,unit,predicted,measured\nsystem call,ns,100,120\n");
        assert_eq!(told.cannot_say, [TableGap::Significance]);
    }
}
