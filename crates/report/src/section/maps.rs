//! Who wins where: a grid of sizes and threads for each metric that ranks; ties are grey.

use super::unless_empty;
use crate::context::{Facet, Layout, SIZE};
use crate::escape::slug;
use crate::material::Material;
use crate::{Block, CellRef, MapCell, Section, WinnerMap};
use syscost_analyze::compare::study::Study;
use syscost_analyze::compare::winners::{Outcome, Winner};
use syscost_core::units;
use syscost_measure::probe::transfer::axes::THREADS;

/// Cells over all maps of the page.
const CELLS: usize = 1000;

pub fn section(m: &Material) -> Option<Section> {
    let mut blocks = Vec::new();
    let mut used = 0;
    for layout in m.layouts.iter().filter(|l| l.comparable() && l.series.len() > 1) {
        for (done, facet) in layout.facets.iter().enumerate() {
            // A metric that was not measured at all (times of an emulated machine) ranks nothing.
            let measured = |s: &&Study| layout.has(s.comparisons.metric.id);
            let studies: Vec<&Study> = m.analysis.studies.iter().filter(measured).collect();
            if studies.is_empty() {
                continue;
            }
            used += layout.sizes.len() * layout.threads.len() * studies.len();
            if used > CELLS && done > 0 {
                let left = layout.facets.len() - done;
                blocks.push(Block::Text(format!(
                    "{left} more combinations of the other axes are in results.csv."
                )));
                break;
            }
            if !facet.title.is_empty() {
                blocks.push(Block::Heading(facet.title.clone()));
            }
            blocks.extend(studies.into_iter().map(|s| Block::Map(map(layout, facet, s))));
        }
    }
    unless_empty("winners", "Who wins where", "Winners", blocks)
}

fn map(layout: &Layout, facet: &Facet, study: &Study) -> WinnerMap {
    let metric = &study.comparisons.metric;
    let here: Vec<&Winner> = study
        .winners
        .iter()
        .filter(|w| w.probe == layout.probe.about().id && layout.drawn(&w.shared))
        .filter(|w| layout.facet_of(&w.shared) == Some(facet))
        .collect();
    let mut winners = Vec::new();
    for count in &layout.threads {
        for size in &layout.sizes {
            let at =
                |w: &&&Winner| w.shared.int(SIZE) == Some(*size) && w.shared.int(THREADS) == Some(*count);
            let found = here.iter().find(at);
            winners.push(found.map_or_else(nothing, |w| cell(layout, study, w)));
        }
    }
    let title = |id: &str| layout.axis(id).map_or(id, |a| a.title).to_string();
    WinnerMap {
        id: slug(&format!("winners {} {}", metric.id, facet.title)),
        title: format!("Best {}", metric.title),
        x_title: title(SIZE.id),
        y_title: title(THREADS.id),
        x: layout.sizes.iter().map(|s| units::short_bytes(*s)).collect(),
        y: layout.threads.iter().map(u64::to_string).collect(),
        names: layout.series.clone(),
        winners,
    }
}

fn nothing() -> MapCell {
    MapCell {
        winner: None, label: "–".into(), detail: "nothing was measured here".into(), cells: Vec::new()
    }
}

fn cell(layout: &Layout, study: &Study, winner: &Winner) -> MapCell {
    let metric = study.comparisons.metric.id;
    let name = |case: usize| layout.case(case).and_then(|c| layout.series_name(&c.point)).unwrap_or_default();
    let figure = |case: usize| match layout.estimate(case, metric) {
        Some((e, _)) => format!("{} {}", name(case), e.unit.format(e.value)),
        None => name(case),
    };
    let (winner_style, label, mut detail) = match &winner.outcome {
        Outcome::Wins(case) => {
            let others = winner.candidates.iter().filter(|c| *c != case).map(|c| figure(*c));
            let text = format!("{} against {}", figure(*case), others.collect::<Vec<_>>().join(", "));
            (layout.style(&name(*case)), String::new(), text)
        }
        Outcome::Tied(cases) => {
            let tied = cases.iter().map(|c| figure(*c)).collect::<Vec<_>>().join(", ");
            (None, "tie".into(), format!("no claimed difference between the best: {tied}"))
        }
        Outcome::Alone(case) => (None, "alone".into(), format!("nothing to compare with: {}", figure(*case))),
        Outcome::Nothing => return nothing(),
    };
    if !winner.missing.is_empty() {
        let names = winner.missing.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        detail.push_str(&format!("; not compared (skipped, failed or without a figure): {names}"));
    }
    let refs = winner.candidates.iter().filter_map(|c| layout.estimate(*c, metric)).map(|(_, cell)| cell);
    let cells: Vec<CellRef> = refs.collect();
    MapCell { winner: winner_style, label, detail, cells }
}
