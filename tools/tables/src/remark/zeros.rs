//! Figures of zero that nothing measured can be: the counter was not there, or the digits end before it.

use super::{Remark, RemarkKind, capital};
use crate::{PublishedTable, TableColumn};

const COLUMNS: [(TableColumn, &str); 10] = [
    (TableColumn::Cycles, "Nothing runs in no cycles: they were not counted there"),
    (TableColumn::Instructions, "Nothing runs without instructions: they were not counted there"),
    (TableColumn::CyclesPerByte, "Nothing runs in no cycles: they were not counted there"),
    (TableColumn::CyclesPerMessage, "Nothing runs in no cycles: they were not counted there"),
    (TableColumn::L1Misses, "Not counted there, or there were none"),
    (TableColumn::LlcMisses, "Not counted there, or there were none"),
    (TableColumn::CacheMisses, "Not counted there, or there were none"),
    (TableColumn::ContextSwitches, "Not counted there, or there were none"),
    (TableColumn::Throughput, "No data moved, or less than its digits show"),
    (TableColumn::Latency, "Not measured there, or less than its digits show"),
];

/// A few runs may all be without context switches.
const FEWEST_ROWS: usize = 4;

pub fn look(table: &PublishedTable) -> Vec<Remark> {
    COLUMNS.into_iter().filter_map(|(column, why)| remark(table, column, why)).collect()
}

fn remark(table: &PublishedTable, column: TableColumn, why: &str) -> Option<Remark> {
    let of = table.rows.iter().filter(|row| row.value(column).is_some()).count();
    let lines: Vec<usize> =
        table.rows.iter().filter(|row| row.value(column) == Some(0.0)).map(|row| row.line).collect();
    let name = capital(&column.title());
    let text = format!("{name}: 0 in {} of {of} rows. {why}.", lines.len());
    // A run may have none; many runs of a transfer have some.
    let some = column == TableColumn::ContextSwitches && (lines.len() < of || of < FEWEST_ROWS);
    (!lines.is_empty() && !some).then_some(Remark { id: "zero", kind: RemarkKind::Caution, text, lines })
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    #[test]
    fn cycles_of_zero_were_not_counted() {
        let told =
            look(&table("mechanism,size,cycles,llc_misses,context_switches\nA1,64,0,5,0\nA1,128,0,0,0\n"));
        let texts: Vec<&str> = told.iter().map(|remark| remark.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "Cycles: 0 in 2 of 2 rows. Nothing runs in no cycles: they were not counted there.",
                "LLC misses: 0 in 1 of 2 rows. Not counted there, or there were none."
            ],
            "a run without context switches may be one"
        );
        let none = look(&table(&format!("mechanism,size,cs\n{}", "A1,64,0\nA2,128,0\nA3,64,0\nA3,128,0\n")));
        assert!(none[0].text.starts_with("Context switches: 0 in 4 of 4 rows"), "{none:?}");
    }
}
