//! Blocks of a report as Markdown, for a skeleton that a person goes on writing in.
//!
//! Pictures are files of their own and are left out; a sentence keeps the cells that it stands on.

use std::collections::{BTreeMap, BTreeSet};
use syscost_report::escape::visible;
use syscost_report::text::AnswerText;
use syscost_report::{Block, Entry, Statement, Table};

/// Blocks in order, with what is folded away unfolded.
pub fn blocks(blocks: &[Block]) -> String {
    blocks.iter().flat_map(Block::all).map(block).collect()
}

fn block(block: &Block) -> String {
    match block {
        Block::Heading(text) | Block::Question { headline: text, .. } => format!("### {}\n\n", plain(text)),
        Block::Statement(statement) => format!("{}\n\n", sentence(statement)),
        Block::Statements(list) => format!("{}\n", items(list.iter().map(sentence))),
        Block::Text(text) | Block::Note(text) => format!("{}\n\n", plain(text)),
        Block::Command(command) => format!("    {}\n\n", visible(command)),
        Block::Folded { title, .. } => format!("{}:\n\n", plain(title)),
        Block::Facts { folded, facts } => {
            let title = folded.as_ref().map_or(String::new(), |title| format!("{}:\n\n", plain(title)));
            let rows =
                facts.iter().map(|(name, value, source)| [name, value, source].map(|text| plain(text)));
            format!("{title}{}\n", grid(["property", "value", "where it was read"].map(String::from), rows))
        }
        Block::Table(table) => format!("{}\n", self::table(table)),
        Block::Notice(n) => format!("{}: {} {}\n\n", plain(&n.title), plain(&n.text), plain(&n.remedy)),
        // What a tab holds follows by itself; the rest is drawn.
        _ => String::new(),
    }
}

/// A list.
pub fn items(items: impl Iterator<Item = String>) -> String {
    items.map(|item| format!("- {item}\n")).collect()
}

/// The answer of a run to a question, or why it has none.
pub fn answer(told: &AnswerText) -> String {
    if let Some((lacks, command)) = &told.lacks {
        return format!("- This run has not measured {}. This would: {}\n\n", plain(lacks), visible(command));
    }
    let headline = Some(plain(&told.headline)).filter(|headline| !headline.is_empty());
    let notes = told.caveats.iter().map(|caveat| format!("Note: {}", plain(caveat)));
    format!("{}\n", items(headline.into_iter().chain(told.statements.iter().map(sentence)).chain(notes)))
}

/// A sentence with the cells that it stands on: every case, by metric.
pub fn sentence(statement: &Statement) -> String {
    let mut metrics: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for cell in &statement.cells {
        metrics.entry(cell.metric).or_default().insert(cell.case);
    }
    let told: Vec<String> =
        metrics.iter().map(|(metric, cases)| format!("{metric} of {}", numbered(cases))).collect();
    let shown = if told.is_empty() { String::new() } else { format!(" [{}]", told.join("; ")) };
    format!("{}{shown}", plain(&statement.text))
}

/// `case 3`, `cases 3-6, 9`
fn numbered(cases: &BTreeSet<usize>) -> String {
    let all: Vec<usize> = cases.iter().copied().collect();
    let ranges = all.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        one => one[0].to_string(),
    });
    let word = if all.len() == 1 { "case" } else { "cases" };
    format!("{word} {}", ranges.collect::<Vec<_>>().join(", "))
}

/// Text that is no markup: a stranger's run must not become a page.
pub fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '|' | '*' | '_' | '[' | ']' | '`' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

/// What stands between backticks: none of its own may end it.
pub fn code(text: &str) -> String {
    visible(text).replace('`', "'")
}

fn table(table: &Table) -> String {
    let rows = table.rows.iter().map(|row| row.iter().map(shown).collect::<Vec<_>>());
    let note = table.note.as_ref().map_or(String::new(), |note| format!("\n{}\n", plain(note)));
    format!("{}{note}", grid(table.columns.iter().map(|c| plain(c)), rows))
}

fn shown(entry: &Entry) -> String {
    match entry {
        Entry::Text(text) | Entry::Named { text, .. } => plain(text),
        Entry::Number(value, unit) => unit.format(*value),
        Entry::Share { share, signed } => Entry::share(*share, *signed),
        Entry::Missing => "-".into(),
        Entry::Compared(figure) => plain(&figure.detail),
        Entry::Estimate { estimate, .. } => {
            let figure = |value: f64| estimate.unit.format(value);
            format!("{} ({} to {})", figure(estimate.value), figure(estimate.low), figure(estimate.high))
        }
    }
}

/// A table; its fields are already escaped.
fn grid<R: AsRef<[String]>>(
    header: impl IntoIterator<Item = String>,
    rows: impl Iterator<Item = R>,
) -> String {
    let line = |fields: &[String]| format!("| {} |\n", fields.join(" | "));
    let header: Vec<String> = header.into_iter().collect();
    let rule = vec!["---".to_string(); header.len()];
    let rows: String = rows.map(|row| line(row.as_ref())).collect();
    format!("{}{}{rows}", line(&header), line(&rule))
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_analyze::CellRef;

    #[test]
    fn a_sentence_keeps_its_cells_and_recorded_text_is_no_markup() {
        let cells = (0..8).map(|case| CellRef { case, metric: "throughput" }).collect();
        let text = sentence(&Statement { text: "a <b> | c".into(), cells });
        assert_eq!(text, "a &lt;b> \\| c [throughput of cases 0-7]");
        let shown = blocks(&[Block::Heading("h".into()), Block::Command("x | y".into())]);
        assert_eq!(shown, "### h\n\n    x | y\n\n");
    }
}
