//! The recorded run of operations as a table that reports of other machines stand beside.

use crate::{Generated, Tree};
use anyhow::Result;
use std::collections::BTreeSet;
use syscost_analyze::cells::Cells;
use syscost_analyze::operations::machine::{ComparedMachine, MACHINE};
use syscost_analyze::operations::operations;
use syscost_core::units::significant;

const TABLE: &str = "crates/analyze/src/operations/epyc-2026.csv";

pub fn files(tree: &Tree) -> Result<Vec<Generated>> {
    let run = tree.load("docs/runs/os")?;
    let machine = ComparedMachine::of(&run);
    let mut text =
        format!("# The recorded run of docs/runs/os in syscost's repository, {}.\n", run.record.id);
    for (id, _) in MACHINE {
        let exact = machine.clock_hertz().filter(|_| *id == "clock_hertz").map(|hertz| hertz.to_string());
        text += &exact.or(machine.says(id)).map_or(String::new(), |told| format!("# {id}: {told}\n"));
    }
    text += "operation,variant,unit,measured\n";
    let mut known = BTreeSet::new();
    for row in operations(&run, &Cells::of(&run)) {
        let Some((operation, variant)) = row.row.published.clone() else { continue };
        let Some(measured) = row.measured.filter(|_| row.unresolved.is_none()) else { continue };
        if known.insert((operation, variant.clone())) {
            let value = significant(measured.value);
            let unit = serde_json::to_value(measured.unit)?;
            text += &format!("{operation},{variant},{},{}\n", unit.as_str().unwrap_or_default(), value);
        }
    }
    Ok(vec![Generated { path: TABLE.into(), content: text.into() }])
}
