//! Cycles and cache misses: why they are missing, and what counting them cost.

use super::{capital, unless_empty};
use crate::material::Material;
use crate::{Block, Notice, Section, text};
use syscost_analyze::limits::counting::cost_of_counting;

pub fn section(m: &Material) -> Option<Section> {
    let cost =
        cost_of_counting(&m.analysis.cells).map(|cost| Block::Statement(text::limits::counting(&cost)));
    let uncounted = m.layouts.iter().any(|layout| layout.probe.compared() && !layout.has("cycles_per_byte"));
    let blocks = cost.into_iter().chain(uncounted.then(|| why_not(m)).flatten());
    unless_empty("cycles", "Cycles and cache misses", blocks.collect())
}

/// The reason and the remedy, once.
fn why_not(m: &Material) -> Option<Block> {
    let counted = |q: &String| q.contains("cycles_") || q.contains("cache_");
    let missing = m.run.record.missing.iter().find(|missing| missing.quantities.iter().any(counted))?;
    let no_rate =
        m.run.record.missing.iter().flat_map(|missing| &missing.quantities).any(|q| q.contains("tsc_"));
    let instead = match no_rate {
        true => "Cycles are not told",
        false => {
            "Cycles are therefore reference cycles of the time-stamp counter: CPU time at its constant rate, not core cycles"
        }
    };
    Some(Block::Notice(Notice {
        title: "Hardware counters were not available".into(),
        text: format!("{}. {instead}.", capital(&missing.why.reason)),
        remedy: missing.why.remedy.clone(),
        cases: Vec::new(),
    }))
}
