//! Which copy did scatter-gather remove?

use super::copies;
use crate::Statement;
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
    let mut calls: Vec<(&str, [String; 2], Vec<String>, Statement)> = Vec::new();
    for shown in all {
        let Says::ScatterGather(Gathering::Calls { gathering, other, gathering_calls, other_calls }) =
            &shown.says
        else {
            continue;
        };
        let counts = [*gathering_calls, *other_calls].map(significant);
        let own = Statement { text: String::new(), cells: shown.cells.clone() };
        match calls.iter_mut().find(|(known, known_counts, ..)| known == other && *known_counts == counts) {
            Some((_, _, names, statement)) => {
                names.push(gathering.clone());
                statement.cells.extend(own.cells);
            }
            None => calls.push((other, counts, vec![gathering.clone()], own)),
        }
    }
    told.extend(calls.into_iter().map(|(other, [ours, theirs], names, statement)| {
        let save = if names.len() == 1 { "saves" } else { "save" };
        let names = copies::several(&names);
        let text = format!(
            "Against {other}, which packs nothing either, {names} {save} system calls and no copy: {ours} a message instead \
             of {theirs}."
        );
        Statement { text, ..statement }
    }));
    told
}
