//! The questions that a reader asks, each with the answer of this run; those that it cannot answer
//! come last, with the reason and the command whose run could.

use super::unless_empty;
use crate::material::Material;
use crate::{Block, Entry, PageLink, Section, Table};
use syscost_analyze::finding::{Answer, Question};

/// `question-copies`: its place on the page.
fn link(about: &Question) -> PageLink {
    PageLink { id: format!("question-{}", about.id), text: about.question.into() }
}

pub fn section(m: &Material) -> Option<Section> {
    let (mut contents, mut answers, mut unanswered) = (Vec::new(), Vec::new(), Vec::new());
    for answered in &m.analysis.answers {
        match &answered.answer {
            Answer::Found { statements, caveats } => {
                contents.push(link(&answered.about));
                answers.push(Block::Question(link(&answered.about)));
                answers.push(Block::Statements(statements.clone()));
                let mind = |caveat: &String| Block::Text(format!("Mind: {}.", caveat.trim_end_matches('.')));
                answers.extend(caveats.iter().map(mind));
            }
            Answer::CannotBeAnswered { because, command } => {
                let row = [answered.about.question, because, command];
                unanswered.push(row.map(|text| Entry::Text(text.into())).to_vec());
            }
        }
    }
    let mut blocks = Vec::new();
    // One question needs no list of them.
    if contents.len() > 1 {
        blocks.push(Block::Contents(contents));
    }
    blocks.extend(answers);
    if !unanswered.is_empty() {
        let table = Table::new("unanswered", &["question", "because", "what would"], unanswered);
        blocks.push(Block::Table(table.titled("What this run cannot answer")));
    }
    unless_empty("questions", "Questions and answers", "Questions", blocks)
}
