//! The questions that a reader asks, each with the answer of this run or the reason that it has none.

use super::unless_empty;
use crate::analysis::finding::{Answer, Answered};
use crate::report::material::Material;
use crate::report::{Block, Section};

pub fn section(m: &Material) -> Option<Section> {
    let blocks = m.analysis.answers.iter().flat_map(blocks).collect();
    unless_empty("questions", "Questions and answers", "Questions", blocks)
}

fn blocks(answered: &Answered) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(answered.about.question.into())];
    match &answered.answer {
        Answer::Found { statements, caveats } => {
            blocks.push(Block::Statements(statements.clone()));
            blocks.extend(caveats.iter().map(|caveat| Block::Text(format!("Mind: {caveat}"))));
        }
        Answer::CannotBeAnswered { because, command } => {
            blocks.push(Block::Text(format!(
                "Cannot be answered from this run because {because}. This would: {command}"
            )));
        }
    }
    blocks
}
