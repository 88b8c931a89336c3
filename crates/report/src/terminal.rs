//! The report's end of a run in a terminal: verdict, figures at a glance, warnings with remedies.
//!
//! Colour only where the caller says so; recorded text cannot drive the terminal.

use super::escape::visible;
use super::{Diagram, Entry, Notice, Report, Standing, Table, diagram};
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table as Grid, presets};
use std::path::Path;
use syscost_core::units;

/// How the terminal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalLook {
    pub width: u16,
    pub colour: bool,
}

/// Tables shown; the rest are in the page.
const TABLES: usize = 6;

/// The text to print, ending with a newline. `page` is where the report was written.
pub fn text(report: &Report, page: Option<&Path>, look: TerminalLook) -> String {
    let mut out = String::new();
    let width = usize::from(look.width.max(20));
    heading(&mut out, &report.title, look);
    for error in &report.errors {
        notice(&mut out, ("error", "31"), error, width, look);
    }
    for statement in &report.verdict {
        wrap(&mut out, &statement.text, width, "", "");
    }
    let shown = chosen(&report.glance);
    for table in &shown {
        out.push('\n');
        heading(&mut out, &table.title, look);
        out.push_str(&grid(table, look));
        out.push('\n');
        if let Some(note) = &table.note {
            wrap(&mut out, note, width, "", "");
        }
    }
    if !shown.is_empty() {
        out.push_str(&legend(&shown));
    }
    if shown.len() < report.glance.len() {
        wrap(
            &mut out,
            &format!("{} more tables are in the report.", report.glance.len() - shown.len()),
            width,
            "",
            "",
        );
    }
    data_paths(&mut out, report, width, look);
    for warning in &report.notices {
        out.push('\n');
        notice(&mut out, ("warning", "33"), warning, width, look);
    }
    if !report.during.is_empty() {
        out.push('\n');
    }
    for line in &report.during {
        wrap(&mut out, line, width, "", "  ");
    }
    if let Some(page) = page {
        out.push_str(&format!("\nReport: {}\n", visible(&page.display().to_string())));
    }
    out
}

/// The first tables and the last ones: with one table per thread count and metric, both extremes.
fn chosen(tables: &[Table]) -> Vec<&Table> {
    if tables.len() <= TABLES {
        return tables.iter().collect();
    }
    let half = TABLES / 2;
    tables[..half].iter().chain(&tables[tables.len() - half..]).collect()
}

fn heading(out: &mut String, text: &str, look: TerminalLook) {
    let text = visible(text);
    if look.colour {
        out.push_str(&format!("\x1b[1m{text}\x1b[0m\n"));
    } else {
        out.push_str(&format!("{text}\n"));
    }
}

fn grid(table: &Table, look: TerminalLook) -> String {
    let mut grid = Grid::new();
    grid.load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(look.width);
    grid.set_header(table.columns.iter().enumerate().map(|(i, name)| aligned(visible(name), i)));
    for row in &table.rows {
        grid.add_row(row.iter().enumerate().map(|(i, entry)| aligned(shown(entry, table), i)));
    }
    for column in grid.column_iter_mut() {
        column.set_padding((0, 2));
    }
    grid.lines().map(|line| line.trim_end().to_string()).collect::<Vec<_>>().join("\n")
}

/// Names left, figures right.
fn aligned(text: String, column: usize) -> Cell {
    let side = if column == 0 { CellAlignment::Left } else { CellAlignment::Right };
    Cell::new(text).set_alignment(side)
}

fn shown(entry: &Entry, table: &Table) -> String {
    match entry {
        Entry::Text(text) | Entry::Named { text, .. } => visible(text),
        Entry::Number(value, unit) => unit.format(*value),
        Entry::Share { share, signed } => Entry::share(*share, *signed),
        Entry::Missing => "-".into(),
        Entry::Estimate { estimate, standing, .. } => {
            let value = match &table.shown_in {
                Some((scale, _)) => units::significant(estimate.value / scale),
                None => estimate.unit.format(estimate.value),
            };
            format!("{value}{}", mark(*standing))
        }
    }
}

/// A mark that needs no colour.
fn mark(standing: Standing) -> &'static str {
    match standing {
        Standing::Best => "*",
        Standing::Same => "=",
        Standing::Undecided => "?",
        Standing::Off | Standing::None => " ",
    }
}

fn legend(tables: &[&Table]) -> String {
    let has = |wanted: Standing| {
        let mut entries = tables.iter().flat_map(|t| t.rows.iter().flatten());
        entries.any(|e| matches!(e, Entry::Estimate { standing, .. } if *standing == wanted))
    };
    let known = [
        (Standing::Best, "* best"),
        (Standing::Same, "= the same within 3 % as the best"),
        (Standing::Undecided, "? undecided"),
    ];
    let shown: Vec<&str> =
        known.into_iter().filter(|(standing, _)| has(*standing)).map(|(_, text)| text).collect();
    if shown.is_empty() { String::new() } else { format!("{}\n", shown.join("   ")) }
}

/// A line for each diagram, under the names of what takes that way.
fn data_paths(out: &mut String, report: &Report, width: usize, look: TerminalLook) {
    let diagrams: Vec<&Diagram> = report.diagrams().collect();
    if diagrams.is_empty() {
        return;
    }
    out.push('\n');
    heading(out, "Copies per byte of payload", look);
    for diagram in diagrams {
        let claim = diagram.claim.as_ref().map_or(String::new(), |(_, claim)| format!(": {claim}"));
        wrap(out, &format!("{}{claim}", diagram.title), width, "", "  ");
        wrap(out, &diagram::line(diagram), width, "  ", "    ");
    }
    wrap(out, diagram::LEGEND, width, "", "");
}

/// A label with its colour, then what there is to say.
fn notice(
    out: &mut String,
    (label, colour): (&str, &str),
    notice: &Notice,
    width: usize,
    look: TerminalLook,
) {
    let label = if look.colour { format!("\x1b[{colour}m{label}:\x1b[0m ") } else { format!("{label}: ") };
    wrap(out, &format!("{}: {}", notice.title, notice.text), width, &label, "  ");
    if !notice.remedy.is_empty() {
        wrap(out, &format!("what to do: {}", notice.remedy), width, "  ", "    ");
    }
}

/// Words in lines of at most `width`, escaped first; the indents are our own.
fn wrap(out: &mut String, text: &str, width: usize, first: &str, rest: &str) {
    let options = textwrap::Options::new(width).initial_indent(first).subsequent_indent(rest);
    let options = options.break_words(false).word_splitter(textwrap::WordSplitter::NoHyphenation);
    out.push_str(&textwrap::fill(visible(text).trim(), options));
    out.push('\n');
}
