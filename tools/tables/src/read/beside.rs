//! Lines of results that stand on a page beside the output of tools, and that no tool printed.

use super::heading::TableHeading;
use super::worded;
use crate::unit::Dimension;
use crate::{ColumnMapping, TableColumn};

/// A line with more words and no key is a sentence.
const MOST_WORDS: usize = 4;
const FENCE: &str = "```";

/// Lines with a rate or a time, of the blocks of a page that no tool printed. Around them stands prose; in a log nothing says
/// where the output of a tool ends.
pub fn lines(text: &str, is_of_tool: impl Fn(&str) -> bool) -> Vec<&str> {
    let others = text.split(FENCE).skip(1).step_by(2).filter(|block| !is_of_tool(block));
    others.flat_map(str::lines).map(str::trim).filter(|line| is_result(line)).collect()
}

/// `Send bandwidth: 4.59 GiByte/sec`, `read 83.0 38.1 41.1`; a prompt or a comment is none, nor is what was asked for.
fn is_result(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let keyed = |before: &[&str]| before.iter().any(|word| word.contains(['=', ':']));
    let figure = |at: usize| {
        let own = words[at].rsplit(['=', ':']).next().unwrap_or_default();
        let measured = |dimension| [Dimension::Rate, Dimension::Calls, Dimension::Time].contains(&dimension);
        worded::figure(&[&[own], &words[at + 1..]].concat()).is_some_and(|(.., of)| measured(of))
            && (keyed(&words[..=at]) || words.len() <= MOST_WORDS)
    };
    let asked = || {
        let key = line.split(['=', ':']).next().unwrap_or_default();
        TableHeading::of(key, &ColumnMapping::default()).column == Some(TableColumn::Elapsed)
    };
    let numbers = words.iter().filter(|word| word.parse::<f64>().is_ok()).count();
    let row = numbers > 1 && 2 * numbers > words.len();
    !line.starts_with(['$', '#']) && ((0..words.len()).any(figure) && !asked() || row)
}
