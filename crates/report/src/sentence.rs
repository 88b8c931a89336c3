//! A sentence as HTML, with links to what it stands on: the first few beside it, the others folded
//! away behind it.
//!
//! A link is to the figure's place in a table of the page; to the row of its case where the table lacks
//! the figure. What has no place on the page, and the end of a very long list, is in `results.csv`, and counted.

use super::escape::visible;
use super::{Block, CellRef, Entry, LINKED, LINKS, Report, Statement};
use maud::{Markup, html};
use std::collections::{BTreeMap, HashSet};
use syscost_analyze::cells::reference::CASE;

/// Places in tables of the page that sentences may be linked to.
pub struct Targets(HashSet<(usize, &'static str)>);

impl Targets {
    pub fn of(report: &Report) -> Targets {
        let tables = report.blocks().filter_map(|b| match b {
            Block::Table(table) => Some(table),
            _ => None,
        });
        let place = |entry: &Entry| match entry {
            Entry::Estimate { cell: Some(cell), .. } | Entry::Named { cell, .. } => {
                Some((cell.case, cell.metric))
            }
            _ => None,
        };
        Targets(tables.flat_map(|t| t.rows.iter().flatten()).filter_map(place).collect())
    }

    /// Where a link to the cell leads.
    fn place(&self, cell: &CellRef) -> Option<CellRef> {
        let row = CellRef { case: cell.case, metric: CASE };
        [cell.clone(), row].into_iter().find(|c| self.0.contains(&(c.case, c.metric)))
    }
}

/// The id of a place on the page.
pub fn id(cell: &CellRef) -> String {
    format!("c{}-{}", cell.case, cell.metric)
}

/// One case that a sentence stands on: its figures are in one row.
struct CaseLink {
    to: CellRef,
    metrics: Vec<&'static str>,
}

pub fn sentence(statement: &Statement, targets: &Targets) -> Markup {
    let (links, elsewhere) = links(&statement.cells, targets);
    let (shown, folded) = links.split_at(links.len().min(LINKS));
    html! {
        (prose(&statement.text))
        @if !shown.is_empty() { sup.ref { @for one in shown { (link(one)) } } }
        @if !folded.is_empty() || elsewhere > 0 {
            details.refs {
                summary { "+" (folded.len() + elsewhere) }
                @for one in folded { (link(one)) }
                @if elsewhere > 0 { (elsewhere) " more in results.csv" }
            }
        }
    }
}

/// A figure that leads to its place, where it has one.
pub fn linked(figure: &str, cell: &CellRef, targets: &Targets) -> Markup {
    html! {
        @match targets.place(cell) {
            Some(to) => a href={"#" (id(&to))} { (visible(figure)) },
            None => (visible(figure)),
        }
    }
}

/// The cases in order of mention, and how many more there are.
fn links(cells: &[CellRef], targets: &Targets) -> (Vec<CaseLink>, usize) {
    let mut links: Vec<CaseLink> = Vec::new();
    let mut places: BTreeMap<usize, Option<usize>> = BTreeMap::new();
    for cell in cells {
        if let Some(known) = places.get(&cell.case) {
            if let Some(at) = known {
                links[*at].metrics.push(cell.metric);
            }
            continue;
        }
        let place = targets.place(cell).filter(|_| links.len() < LINKED);
        places.insert(cell.case, place.is_some().then_some(links.len()));
        links.extend(place.map(|to| CaseLink { to, metrics: vec![cell.metric] }));
    }
    let elsewhere = places.values().filter(|place| place.is_none()).count();
    (links, elsewhere)
}

fn link(link: &CaseLink) -> Markup {
    html! {
        a href={"#" (id(&link.to))} title={"case " (link.to.case) ": " (link.metrics.join(", "))} { (link.to.case) } " "
    }
}

/// Text in which `commands` stand between backticks.
pub fn prose(text: &str) -> Markup {
    let text = visible(text);
    let parts: Vec<&str> = text.split('`').collect();
    // An odd backtick is only a character.
    if parts.len() % 2 == 0 {
        return html! { (text) };
    }
    html! { @for (i, part) in parts.iter().enumerate() { @if i % 2 == 1 { code { (part) } } @else { (part) } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(case: usize, metric: &'static str) -> CellRef {
        CellRef { case, metric }
    }

    #[test]
    fn every_case_has_one_link_and_none_is_out_of_reach() {
        let rows = (0..10).map(|case| (case, if case == 3 { CASE } else { "throughput" }));
        let targets = Targets(rows.collect());
        let cells: Vec<CellRef> =
            (0..12).flat_map(|case| [cell(case, "throughput"), cell(case, "retransmits")]).collect();
        let page = sentence(&Statement { text: "Run `it`.".into(), cells }, &targets).into_string();
        assert!(page.starts_with("Run <code>it</code>."), "{page}");
        for case in [0, 1, 2, 4, 5, 6, 7, 8, 9] {
            let to = format!("href=\"#c{case}-throughput\" title=\"case {case}: throughput, retransmits\"");
            assert_eq!(page.matches(&to).count(), 1, "{to} in {page}");
        }
        assert!(page.contains("href=\"#c3-case\""), "the row, where the figure is not shown");
        assert!(page.contains("<summary>+6</summary>") && page.contains("2 more in results.csv"), "{page}");
        let few =
            Statement { text: "Two.".into(), cells: vec![cell(1, "throughput"), cell(2, "throughput")] };
        assert!(!sentence(&few, &targets).into_string().contains("<details"));
    }
}
