//! Why: where each way's payload is copied, and what the time of a message consists of.

use super::{copies, time, unless_empty};
use crate::material::Material;
use crate::{Block, Section};

pub fn section(m: &Material) -> Option<Section> {
    if !m.compared() {
        return None;
    }
    let mut blocks: Vec<Block> =
        copies::diagrams(m).into_iter().take(copies::IN_SIGHT).map(Block::Diagram).collect();
    if !blocks.is_empty() {
        blocks
            .push(Block::Note("How often each byte is copied on its way; 0: handed on by reference.".into()));
    }
    blocks.extend(time::bars(m).into_iter().map(Block::Bars));
    unless_empty("why", "Why: what is copied, and where the time goes", blocks)
}
