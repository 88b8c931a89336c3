//! The questions that a reader asks: a line each with the answer first, and behind it what shows it.

use super::unless_empty;
use crate::material::Material;
use crate::text::figures::{ends, times_within};
use crate::text::latency_along;
use crate::text::words::Words;
use crate::{Block, Entry, Section, Table, text};
use syscost_analyze::finding::latency_along::{LatencyChange, LatencyPlace};
use syscost_core::decide::Verdict;
use syscost_core::units::significant;

/// Questions in sight, and words that they have together.
const SHOWN: usize = 6;
const WORDS: usize = 130;

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
        let places: Vec<Block> = latency_along::with_places(answer)
            .enumerate()
            .map(|change| Block::Table(places_of(change, &words)))
            .collect();
        if !places.is_empty() {
            shown.push(Block::Folded { title: "Each place, with its interval".into(), blocks: places });
        }
        shown.extend(told.caveats.into_iter().map(|caveat| Block::Text(format!("Note: {caveat}"))));
        blocks.push(Block::Question {
            id: format!("question-{}", answer.question),
            headline: told.headline,
            question: told.question.into(),
            blocks: shown,
        });
    }
    let mut words = 0;
    let fits = |block: &&Block| {
        words += match block {
            Block::Question { headline, question, .. } => {
                [headline, question].iter().map(|t| t.split(' ').count()).sum()
            }
            _ => 0,
        };
        words <= WORDS
    };
    let shown = blocks.iter().take(SHOWN).take_while(fits).count().max(1);
    let mut more = blocks.split_off(blocks.len().min(shown));
    let count = more.len() + if m.compared() { unanswered.len() } else { 0 };
    if !unanswered.is_empty() && m.compared() {
        let table = Table::new("unanswered", &["question", "not measured", "what would"], unanswered);
        more.push(Block::Table(table.titled("What this run cannot answer")));
    }
    if !more.is_empty() {
        blocks.push(Block::Folded { title: super::plural(count, "more question"), blocks: more });
    }
    unless_empty("questions", "Questions", blocks)
}

/// Every place of a change, with its interval.
fn places_of((number, change): (usize, &LatencyChange), words: &Words) -> Table {
    let row = |LatencyPlace { change, verdict }: &LatencyPlace| {
        let (low, high) = ends(&change.ratio);
        let verdict = match verdict {
            Verdict::Less => "longer",
            Verdict::More => "shorter",
            Verdict::Same => "the same",
            Verdict::Undecided => "undecided",
        };
        let interval = format!("{} to {}", significant(low), significant(high));
        let [way, place] = latency_along::who(&change.place, words);
        [way, place, times_within(&change.ratio), interval, verdict.into()].map(Entry::Text).to_vec()
    };
    let columns = ["way", "place", "change", "interval", "significantly"];
    Table::new(format!("latency-change-{number}"), &columns, change.each.iter().map(row).collect())
        .titled(latency_along::headline(change))
}
