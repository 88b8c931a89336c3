//! One table, told whole.

use super::{AnalysedTable, places};
use crate::output::{Paint, entry};
use syscost_core::units::count;
use syscost_tables::overtakes::sentences;
use syscost_tables::remark::RemarkKind;
use syscost_tables::{PublishedTable, TableColumn};

const INDENT: usize = 15;
/// Names that one sentence shows.
const NAMES: usize = 8;

pub fn told(one: &AnalysedTable, paint: Paint) -> String {
    let AnalysedTable { table, remarks, overtakes, summary } = one;
    let mut out = format!("{}\n", paint.bold(&table.name));
    let mut say = |label: &str, text: &str| out += &entry(label, INDENT, text);
    let cells = if summary.cells == summary.rows {
        String::new()
    } else {
        format!(" ({})", count(summary.cells, "cell"))
    };
    let titles: Vec<String> = table.columns.iter().map(|c| table.title(*c)).collect();
    say("Table", &format!("{}{cells}: {}", count(summary.rows, "row"), titles.join(", ")));
    if !table.understood.is_empty() {
        say("Read as", &named(&table.understood, "; "));
    }
    if let Some(text) = left_out(table) {
        say("Left out", &text);
    }
    if !table.unknown.is_empty() && table.is_transfer() && !table.single {
        let names = named(&table.unknown, ", ");
        say("Unknown", &format!("{names}: the names tell no role. Say it with --means NAME=zero-copy."));
    }
    for remark in remarks {
        say(&label(remark.kind, paint), &format!("{}{}", remark.text, places(table, &remark.lines)));
    }
    if summary.contradictions.is_empty() {
        say("Contradictions", "none found");
    }
    for (i, sentence) in sentences(overtakes).iter().enumerate() {
        say(if i == 0 { "Comparison" } else { "" }, sentence);
    }
    for (i, gap) in summary.cannot_say.iter().enumerate() {
        say(if i == 0 { "Cannot say" } else { "" }, gap.reason());
    }
    if !table.is_transfer() && !table.has(TableColumn::Measured) {
        say(
            "Left alone",
            "no column is read as a size of messages, no name is of a known way to send, and no operation has a \
             prediction: no test of syscost applies",
        );
    }
    if table.is_transfer() {
        let next = "`syscost run` repeats cells and tests differences; `syscost audit` counts copies";
        say("Next", next);
    }
    out
}

/// What of the file is not in the table.
fn left_out(table: &PublishedTable) -> Option<String> {
    let headings = (!table.left_out.is_empty()).then(|| format!("columns {}", named(&table.left_out, ", ")));
    let notes = (table.notes > 0).then(|| format!("{} read as no rows", count(table.notes, "line")));
    let empty = (table.empty > 0).then(|| count(table.empty, "empty cell"));
    let all: Vec<String> = [headings, notes, empty].into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn named(names: &[String], joint: &str) -> String {
    let shown = names.iter().take(NAMES).cloned().collect::<Vec<_>>().join(joint);
    let more = names.len().saturating_sub(NAMES);
    if more > 0 { format!("{shown}{joint}{more} more") } else { shown }
}

fn label(kind: RemarkKind, paint: Paint) -> String {
    match kind {
        RemarkKind::Contradiction => paint.red("Contradiction"),
        RemarkKind::Question => paint.yellow("Question"),
        RemarkKind::Caution => paint.yellow("Caution"),
        RemarkKind::Unexpected => paint.yellow("Unexpected"),
    }
}
