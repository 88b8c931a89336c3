//! The questions that a reader asks: a line each with the answer first, and behind it what shows it.

use super::unless_empty;
use crate::material::Material;
use crate::{Block, Entry, Section, Table, text};
use syscost_analyze::words::Words;

pub fn section(m: &Material) -> Option<Section> {
    let words = Words::of(m.run);
    let (mut blocks, mut unanswered) = (Vec::new(), Vec::new());
    for answer in &m.analysis.answers {
        let told = text::answer(answer, &words);
        if let Some((lacks, command)) = told.lacks {
            unanswered.push([told.question.into(), lacks, command].map(Entry::Text).to_vec());
            continue;
        }
        let mut shown = vec![Block::Statements(told.statements)];
        shown.extend(told.caveats.into_iter().map(|caveat| Block::Text(format!("Note: {caveat}"))));
        blocks.push(Block::Question {
            id: format!("question-{}", answer.question),
            headline: told.headline,
            question: told.question.into(),
            blocks: shown,
        });
    }
    if !unanswered.is_empty() && m.compared() {
        let title = format!("{} that this run cannot answer", super::plural(unanswered.len(), "question"));
        let table = Table::new("unanswered", &["question", "not measured", "what would"], unanswered);
        blocks.push(Block::Folded { title, blocks: vec![Block::Table(table)] });
    }
    unless_empty("questions", "Questions", blocks)
}
