//! Blocks of a report as Markdown, for a skeleton that a person goes on writing in.
//!
//! Plots and maps are files of their own and are left out; a sentence keeps the cells that it stands on.

use std::collections::BTreeSet;
use std::fmt::Write;
use syscost_core::units;
use syscost_report::escape::visible;
use syscost_report::text::AnswerText;
use syscost_report::{Block, Entry, Statement, Table, diagram};

/// Blocks in order, headings at `level`.
pub fn blocks(blocks: &[Block], level: usize) -> String {
    let mut out = String::new();
    for block in blocks {
        write_block(&mut out, block, level);
    }
    out
}

fn write_block(out: &mut String, block: &Block, level: usize) {
    let _ = match block {
        Block::Heading(text) => writeln!(out, "{} {}\n", "#".repeat(level), plain(text)),
        Block::Question { headline, blocks, .. } => {
            let _ = writeln!(out, "{} {}\n", "#".repeat(level), plain(headline));
            out.push_str(&self::blocks(blocks, level + 1));
            Ok(())
        }
        Block::Tabs { tabs, .. } => {
            for (title, blocks) in tabs {
                let _ = writeln!(out, "{} {}\n", "#".repeat(level), plain(title));
                out.push_str(&self::blocks(blocks, level + 1));
            }
            Ok(())
        }
        Block::Statement(statement) => writeln!(out, "{}\n", sentence(statement)),
        Block::Statements(list) => {
            let items: Vec<String> = list.iter().map(|s| format!("- {}\n", sentence(s))).collect();
            writeln!(out, "{}", items.concat())
        }
        Block::Text(text) | Block::Note(text) => writeln!(out, "{}\n", plain(text)),
        Block::Command(command) => writeln!(out, "    {}\n", visible(command)),
        Block::Facts { folded, facts } => {
            let title = folded.as_ref().map_or(String::new(), |title| format!("{}:\n\n", plain(title)));
            writeln!(out, "{title}{}", facts_table(facts))
        }
        Block::Table(table) => writeln!(out, "{}", self::table(table)),
        Block::Notice(notice) => {
            writeln!(out, "{}: {} {}\n", plain(&notice.title), plain(&notice.text), plain(&notice.remedy))
        }
        Block::Diagram(d) => writeln!(out, "{}: `{}`\n", plain(&d.title), diagram::line(d)),
        // Each is a file of its own, or too wide for text.
        Block::Plot(_)
        | Block::Panels(_)
        | Block::PairMap(_)
        | Block::Heat(_)
        | Block::Regions(_)
        | Block::Bars(_)
        | Block::Flame(_)
        | Block::Forest(_)
        | Block::Legend(_)
        | Block::Level(_) => Ok(()),
        Block::Folded { title, blocks } => {
            let _ = writeln!(out, "{}:\n", plain(title));
            out.push_str(&self::blocks(blocks, level + 1));
            Ok(())
        }
    };
}

/// The answer of a run to a question, or why it has none.
pub fn answer(told: &AnswerText) -> String {
    if let Some((lacks, command)) = &told.lacks {
        return format!("- This run has not measured {}. This would: {}\n\n", plain(lacks), visible(command));
    }
    let headline = Some(&told.headline).filter(|headline| !headline.is_empty());
    let headline = headline.map(|headline| format!("- {}\n", plain(headline)));
    let found = told.statements.iter().map(|s| format!("- {}\n", sentence(s)));
    let notes = told.caveats.iter().map(|c| format!("- Note: {}\n", plain(c)));
    format!("{}\n", headline.into_iter().chain(found).chain(notes).collect::<String>())
}

/// A sentence with the cells that it stands on: every case, by metric.
pub fn sentence(statement: &Statement) -> String {
    let mut metrics: Vec<(&str, BTreeSet<usize>)> = Vec::new();
    for cell in &statement.cells {
        match metrics.iter_mut().find(|known| known.0 == cell.metric) {
            Some(known) => drop(known.1.insert(cell.case)),
            None => metrics.push((cell.metric, [cell.case].into())),
        }
    }
    if metrics.is_empty() {
        return plain(&statement.text);
    }
    let told: Vec<String> =
        metrics.iter().map(|(metric, cases)| format!("{metric} of {}", numbered(cases))).collect();
    format!("{} [{}]", plain(&statement.text), told.join("; "))
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

fn facts_table(facts: &[(String, String, String)]) -> String {
    let header = ["property", "value", "where it was read"].map(String::from);
    let rows: Vec<Vec<String>> =
        facts.iter().map(|(a, b, c)| [a, b, c].map(|text| plain(text)).to_vec()).collect();
    grid(&header, &rows)
}

fn table(table: &Table) -> String {
    let header: Vec<String> = table.columns.iter().map(|c| plain(c)).collect();
    let rows: Vec<Vec<String>> =
        table.rows.iter().map(|row| row.iter().map(|entry| shown(entry, table)).collect()).collect();
    let note = table.note.as_ref().map_or(String::new(), |note| format!("\n{}\n", plain(note)));
    format!("{}{note}", grid(&header, &rows))
}

fn shown(entry: &Entry, table: &Table) -> String {
    match entry {
        Entry::Text(text) | Entry::Named { text, .. } => plain(text),
        Entry::Number(value, unit) => unit.format(*value),
        Entry::Share { share, signed } => Entry::share(*share, *signed),
        Entry::Missing => "-".into(),
        Entry::Compared(figure) => plain(&figure.detail),
        Entry::Estimate { estimate, .. } => {
            let figure = |value: f64| match &table.shown_in {
                Some((scale, _)) => units::significant(value / scale),
                None => estimate.unit.format(value),
            };
            format!("{} ({} to {})", figure(estimate.value), figure(estimate.low), figure(estimate.high))
        }
    }
}

/// A table; its fields are already escaped.
pub fn grid(header: &[String], rows: &[Vec<String>]) -> String {
    let line = |fields: &[String]| format!("| {} |\n", fields.join(" | "));
    let rule: Vec<String> = header.iter().map(|_| "---".to_string()).collect();
    let rows: String = rows.iter().map(|row| line(row)).collect();
    format!("{}{}{rows}", line(header), line(&rule))
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
        let shown = blocks(&[Block::Heading("h".into()), Block::Command("x | y".into())], 3);
        assert_eq!(shown, "### h\n\n    x | y\n\n");
    }
}
