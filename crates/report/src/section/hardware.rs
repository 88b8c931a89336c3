//! Cycles and cache misses where the machine counts them; else why not, and reference cycles.

use super::plots::{PlottedMetric, over_facets, size_plot};
use super::{capital, unless_empty};
use crate::context::Layout;
use crate::material::Material;
use crate::{Block, Notice, Scale, Section};
use syscost_analyze::limits::counting::cost_of_counting;

const POINTS: usize = 500;

pub fn section(m: &Material) -> Option<Section> {
    let cost = cost_of_counting(m.run, &m.analysis.cells).map(Block::Statement);
    let of_layouts = m.layouts.iter().filter(|l| l.comparable()).flat_map(|l| blocks(m, l));
    let blocks = cost.into_iter().chain(of_layouts).collect();
    unless_empty("cycles", "Cycles and cache misses", "Cycles", blocks)
}

fn blocks(m: &Material, layout: &Layout) -> Vec<Block> {
    let mut wanted = Vec::new();
    let mut blocks = Vec::new();
    if layout.has("cache_misses_per_message") {
        wanted.push(PlottedMetric { metric: "cache_misses_per_message", scale: Scale::Log10 });
    }
    if layout.has("cycles_per_byte") {
        wanted.push(PlottedMetric { metric: "cycles_per_byte", scale: Scale::Log10 });
    } else if layout.has("tsc_cycles_per_byte") {
        wanted.push(PlottedMetric { metric: "tsc_cycles_per_byte", scale: Scale::Log10 });
    }
    if wanted.len() < 2 || !layout.has("cycles_per_byte") {
        blocks.extend(why_not(m));
    }
    blocks.extend(over_facets(layout, POINTS, |facet| {
        let counts = [layout.threads.first(), layout.threads.last().filter(|_| layout.threads.len() > 1)];
        let plots = counts
            .into_iter()
            .flatten()
            .flat_map(|count| wanted.iter().filter_map(move |w| size_plot(layout, facet, *count, w)));
        plots.collect()
    }));
    blocks
}

/// The reason and the remedy, once.
fn why_not(m: &Material) -> Option<Block> {
    let counted = |q: &String| q.contains("cycles_") || q.contains("cache_");
    let missing = m.run.record.missing.iter().find(|missing| missing.quantities.iter().any(counted))?;
    Some(Block::Notice(Notice {
        title: "Hardware counters were not available".into(),
        text: format!(
            "{}. Cycles are therefore reference cycles of the time-stamp counter: CPU time at its constant rate, not core cycles.",
            capital(&missing.why.reason)
        ),
        remedy: missing.why.remedy.clone(),
        cases: Vec::new(),
    }))
}
