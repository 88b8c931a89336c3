//! The machine, as the run recorded it.

use super::unless_empty;
use crate::report::build::Material;
use crate::report::{Block, Section};

pub fn section(m: &Material) -> Option<Section> {
    let facts = &m.run.record.host;
    let known = facts.iter().filter_map(|f| Some((f.title.clone(), f.value.clone()?, f.source.clone())));
    let known: Vec<_> = known.collect();
    let unknown: Vec<&str> = facts.iter().filter(|f| f.value.is_none()).map(|f| f.title.as_str()).collect();
    let mut blocks = Vec::new();
    if !known.is_empty() {
        blocks.push(Block::Facts(known));
    }
    if !unknown.is_empty() {
        blocks.push(Block::Text(format!("This machine does not say: {}.", unknown.join("; "))));
    }
    unless_empty("machine", "The machine", "Machine", blocks)
}
