//! Claims without replicates: one run a cell and no spread, so that no difference can be told from noise.

use super::{Remark, RemarkKind};
use crate::{PublishedTable, TableColumn};
use std::collections::BTreeMap;

/// Fewer runs than this decide nothing by any test that assumes no distribution.
const FEWEST: f64 = 5.0;

pub fn look(table: &PublishedTable) -> Vec<Remark> {
    // An operating-system table has rows, not cells that compete.
    if !table.has(TableColumn::MessageBytes) || table.has(TableColumn::Spread) {
        return Vec::new();
    }
    if table.rows.iter().any(|row| row.value(TableColumn::Runs).is_some_and(|n| n >= FEWEST)) {
        return Vec::new();
    }
    let mut cells: BTreeMap<(String, Option<u64>, Option<u64>), usize> = BTreeMap::new();
    for row in &table.rows {
        let mechanism = row.text(TableColumn::Mechanism).unwrap_or_default().to_string();
        *cells
            .entry((mechanism, row.count(TableColumn::MessageBytes), row.count(TableColumn::Threads)))
            .or_default() += 1;
    }
    let most = cells.values().copied().max().unwrap_or(0);
    if most as f64 >= FEWEST {
        return Vec::new();
    }
    let runs = if most <= 1 { "one run a cell".to_string() } else { format!("at most {most} runs a cell") };
    vec![Remark {
        id: "no_replicates",
        kind: RemarkKind::Caution,
        text: format!(
            "{} cells, {runs} and no spread given: no difference between two of them can be told from noise, and none \
             is claimed here. Identical runs differ by 5 to 30 % on shared machines.",
            cells.len()
        ),
        lines: Vec::new(),
    }]
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    #[test]
    fn one_run_a_cell_is_said_and_replicates_are_not() {
        let heading = "mechanism,size,threads,throughput_gbps";
        let told = |text: &str| look(&table(text)).pop().map_or(String::new(), |r| r.text);
        assert!(told(&format!("{heading}\nA1,64,1,1\nA3,64,1,2\n")).contains("2 cells, one run a cell"));
        assert!(told(&format!("{heading}\nA1,64,1,1\nA1,64,1,2\n")).contains("at most 2 runs"));
        assert_eq!(told(&format!("{heading}\n{}", "A1,64,1,1\n".repeat(5))), "");
        assert_eq!(told(&format!("{heading},stddev\nA1,64,1,1,0.1\n")), "");
        assert_eq!(told(&format!("{heading},runs\nA1,64,1,1,10\n")), "");
    }
}
