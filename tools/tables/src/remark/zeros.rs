//! Figures of zero that nothing measured can be: the counter was not there, or the digits end before it.

use super::{Remark, RemarkKind, capital};
use crate::{PublishedTable, TableColumn, TableColumn::*};

const NO_CYCLES: &str = "Nothing runs in no cycles: they were not counted there";
const NO_COUNT: &str = "Not counted there, or there were none";

const COLUMNS: [(TableColumn, &str); 10] = [
    (Cycles, NO_CYCLES),
    (Instructions, "Nothing runs without instructions: they were not counted there"),
    (CyclesPerByte, NO_CYCLES),
    (CyclesPerMessage, NO_CYCLES),
    (L1Misses, NO_COUNT),
    (LlcMisses, NO_COUNT),
    (CacheMisses, NO_COUNT),
    (ContextSwitches, NO_COUNT),
    (Throughput, "No data moved, or less than its digits show"),
    (Latency, "Not measured there, or less than its digits show"),
];

/// A few runs may all be without context switches.
const FEWEST_ROWS: usize = 4;

pub fn look(table: &PublishedTable) -> Vec<Remark> {
    let remark = |(column, why): (TableColumn, &str)| {
        let known = table.rows.iter().filter_map(|row| Some((row.line, row.value(column)?)));
        let (of, zeros) = (known.clone().count(), known.filter(|(_, value)| *value == 0.0));
        let lines: Vec<usize> = zeros.map(|(line, _)| line).collect();
        let text = format!("{}: 0 in {} of {of} rows. {why}.", capital(&column.title()), lines.len());
        // A run may have none; many runs of a transfer have some.
        let some = column == ContextSwitches && (lines.len() < of || of < FEWEST_ROWS);
        Remark::of(RemarkKind::Caution, "zero", text, lines).filter(|_| !some)
    };
    COLUMNS.into_iter().filter_map(remark).collect()
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
