//! A table in one row: what it holds, what contradicts itself, and which questions it cannot answer.

use super::compare::TableComparisons;
use super::remark::{FEWEST_RUNS, Remark, RemarkKind, runs};
use super::{PublishedRow, PublishedTable, TableColumn, TableColumn::*};
use serde::Serialize;
use std::collections::BTreeSet;

/// A question that a table cannot answer, and what is missing; who is faster has a reason of its own.
pub const GAPS: [(&str, &str); 8] = [
    ("significance", "which differences are significant: fewer than 5 runs a cell and no spread are read"),
    (RIVALS, "who is faster"),
    ("sizes", "what size does: one size, or no column read as such"),
    ("threads", "what threads do: one thread count, or no column read as such"),
    ("latency", "latency: no column read as such, or it says no more than the throughput"),
    ("cpu_cost", "CPU cost: no cycles per byte (they follow from cycles, a throughput and --seconds S)"),
    ("cache_misses", "cache misses: no column counts them"),
    ("context_switches", "context switches: no column counts them"),
];
pub const RIVALS: &str = "rivals";

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
    /// Questions by their id.
    pub cannot_say: Vec<&'static str>,
}

impl TableSummary {
    pub fn of(table: &PublishedTable, remarks: &[Remark], comparisons: &TableComparisons) -> TableSummary {
        let runs = runs(table);
        let of = |kind| remarks.iter().filter(move |r| r.kind == kind);
        let ids: BTreeSet<&str> = of(RemarkKind::Contradiction).map(|r| r.id).collect();
        let [least, most] = [runs.values().min(), runs.values().max()].map(|n| n.copied().unwrap_or(0));
        let any = |column: TableColumn| table.rows.iter().any(|row| row.figure(column).is_some());
        let counted = |column| table.rows.iter().any(|row| row.value(column).is_some_and(|n| n > 0.0));
        let many = |column: TableColumn| {
            let values = table.rows.iter().filter_map(|row| PublishedRow::count(row, column));
            values.collect::<BTreeSet<_>>().len() > 1
        };
        // An operating-system table has rows, not cells that compete.
        let rivals = table.is_transfer();
        let cannot_say = |id: &str| match id {
            "significance" => {
                let spread = table.rows.iter().any(|row| !row.scatter.is_empty());
                (rivals || table.has(Measured)) && most < FEWEST_RUNS && !spread
            }
            _ if !rivals => false,
            RIVALS => comparisons.is_err(),
            "sizes" => !many(MessageBytes),
            "threads" => !many(Threads),
            "latency" => !any(Latency) || remarks.iter().any(|remark| remark.id == "derived_latency"),
            "cpu_cost" => ![CyclesPerByte, CpuPercent, CpuTime].into_iter().any(any),
            "cache_misses" => ![CacheMisses, LlcMisses, L1Misses].into_iter().any(counted),
            _ => !counted(ContextSwitches),
        };
        TableSummary {
            rows: table.rows.len(),
            cells: runs.len(),
            runs: [least, most],
            contradictions: ids.into_iter().collect(),
            unexpected: of(RemarkKind::Unexpected).count(),
            cannot_say: GAPS.iter().map(|(id, _)| *id).filter(|id| cannot_say(id)).collect(),
        }
    }
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
        assert!(!told.cannot_say.contains(&"significance"), "{told:?}");
        assert!(told.cannot_say.contains(&"sizes") && !told.cannot_say.contains(&RIVALS));
    }

    #[test]
    fn an_operating_system_table_is_asked_nothing_of_rivals() {
        let told = of("operation,unit,predicted,measured\nsystem call,ns,100,120\n");
        assert_eq!(told.cannot_say, ["significance"]);
    }
}
