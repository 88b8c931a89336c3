//! The questions that a reader asks, each with the answer of this run; those that it cannot answer
//! come last, with the reason and the command whose run could.

use super::unless_empty;
use crate::material::Material;
use crate::{Block, Entry, PageLink, Section, Table, text};
use syscost_analyze::words::Words;

pub fn section(m: &Material) -> Option<Section> {
    let words = Words::of(m.run);
    let (mut contents, mut answers, mut unanswered) = (Vec::new(), Vec::new(), Vec::new());
    for answer in &m.analysis.answers {
        let told = text::answer(answer, &words);
        if let Some((lacks, command)) = told.lacks {
            unanswered.push([told.question.into(), lacks, command].map(Entry::Text).to_vec());
            continue;
        }
        let link = || PageLink { id: format!("question-{}", answer.question), text: told.question.into() };
        contents.push(link());
        answers.push(Block::Question(link()));
        answers.push(Block::Statements(told.statements));
        answers.extend(told.caveats.into_iter().map(|caveat| Block::Text(format!("Note: {caveat}"))));
    }
    let mut blocks = Vec::new();
    // One question needs no list of them.
    if contents.len() > 1 {
        blocks.push(Block::Contents(contents));
    }
    blocks.extend(answers);
    if !unanswered.is_empty() {
        let table = Table::new("unanswered", &["question", "not measured", "what would"], unanswered);
        blocks.push(Block::Table(table.titled("What this run cannot answer")));
    }
    unless_empty("questions", "Questions and answers", "Questions", blocks)
}
