//! Which copy did scatter-gather remove?

use super::copies;
use crate::text::words::grouped;
use crate::{CellRef, Statement};
use syscost_analyze::finding::scatter_gather::Gathering;
use syscost_analyze::finding::{Says, Shown};
use syscost_core::units::significant;

pub fn headline(gathering: &Gathering) -> String {
    match gathering {
        Gathering::Copies(copies) => copies::headline("Scatter-gather", copies),
        Gathering::Calls { other, .. } => {
            format!("Scatter-gather saves system calls and no copy, against {other}.")
        }
    }
}

/// Ways that save the same are one sentence.
pub fn statements(all: &[Shown]) -> Vec<Statement> {
    let copying = all.iter().filter_map(|shown| match &shown.says {
        Says::ScatterGather(Gathering::Copies(copies)) => Some((copies, shown)),
        _ => None,
    });
    let mut told = copies::statements(copying);
    let calls = grouped(all.iter().filter_map(|shown| match &shown.says {
        Says::ScatterGather(Gathering::Calls { gathering, other, gathering_calls, other_calls }) => Some((
            (other, [*gathering_calls, *other_calls].map(significant)),
            (gathering.clone(), &shown.cells),
        )),
        _ => None,
    }));
    told.extend(calls.into_iter().map(|((other, [ours, theirs]), ways)| {
        let (names, cells): (Vec<String>, Vec<&Vec<CellRef>>) = ways.into_iter().unzip();
        let save = if names.len() == 1 { "saves" } else { "save" };
        let names = copies::several(&names);
        let text = format!(
            "Against {other}, which packs nothing either, {names} {save} system calls and no copy: {ours} a message instead \
             of {theirs}."
        );
        Statement { text, cells: cells.into_iter().flatten().cloned().collect() }
    }));
    told
}
