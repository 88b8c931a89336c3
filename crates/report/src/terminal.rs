//! The end of a run in a terminal: whether to believe it, the numbers that were asked for, what to do.
//!
//! At most [`LINES`] lines, so that the first one stays in sight. Colour only where the caller says so; recorded text
//! cannot drive the terminal.

use super::escape::visible;
use super::text::ending::EndTable;
use super::{Diagram, Notice, Report, diagram};
use std::collections::HashSet;
use std::path::Path;
use syscost_core::units::count;
use syscost_host::remote::transport::words::quote;
use textwrap::core::display_width;

/// How the terminal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalLook {
    pub width: u16,
    pub colour: bool,
}

pub const LINES: usize = 40;
/// Of the answer, of one notice, and of all notices together.
const ANSWER: usize = 4;
const NOTICE: usize = 3;
const NOTICES: usize = 9;
/// Rows of a table that does not fit; fewer are not worth their heading.
const LEAST_ROWS: usize = 3;
/// Of a name whose figures need the room.
const LEAST_NAME: usize = 12;
/// The same of a name that is cut in the middle.
const LEAST_OF_BOTH_ENDS: usize = 28;
/// Between two columns.
const GAP: &str = "  ";

/// Where a run and its page are.
#[derive(Clone, Copy, Debug)]
pub struct RunPlace<'a> {
    pub run: &'a Path,
    pub page: &'a Path,
}

/// The text to print, ending with a newline.
pub fn text(report: &Report, place: Option<RunPlace>, look: TerminalLook) -> String {
    let sheet = Sheet { run: place.map(|place| place.run), ..Sheet::of(look, "in the report") };
    let mut head = sheet.wrapped(&report.ending.trust, ANSWER);
    head.push(sheet.bold(&cut(&report.title, sheet.width)));
    for error in &report.errors {
        head.extend(sheet.notice(("error", "31"), error));
    }
    head.truncate(LINES / 2);
    head.extend(report.ending.answer.iter().flat_map(|answer| sheet.wrapped(answer, ANSWER)));
    let mut tail = Vec::new();
    if !report.ending.left_out.is_empty() {
        tail.push(String::new());
        tail.extend(report.ending.left_out.iter().flat_map(|left_out| sheet.wrapped(left_out, NOTICE)));
    }
    tail.extend(sheet.notices(&report.notices));
    if let Some(RunPlace { page, .. }) = place {
        tail.extend([String::new(), format!("Report: {}", visible(&page.display().to_string()))]);
    }
    let mut room = LINES.saturating_sub(head.len() + tail.len());
    let tables = sheet.tables(&report.ending.tables, room);
    room -= tables.len();
    let paths = Some(sheet.data_paths(report)).filter(|paths| paths.len() <= room).unwrap_or_default();
    let lines = [head, tables, paths, tail].concat();
    lines.join("\n") + "\n"
}

/// One table alone, with all of its rows.
pub fn table(table: &EndTable, look: TerminalLook) -> String {
    tables(std::slice::from_ref(table), usize::MAX, look)
}

/// Tables in so many lines; an option shows their other rows.
pub fn tables(tables: &[EndTable], lines: usize, look: TerminalLook) -> String {
    let sheet = Sheet { other_rows: "with --all", ..Sheet::of(look, "in a wider terminal") };
    sheet.tables(tables, lines).join("\n") + "\n"
}

struct Sheet<'a> {
    width: usize,
    look: TerminalLook,
    /// Where columns without room are.
    elsewhere: &'static str,
    /// Where rows and tables without room are.
    other_rows: &'static str,
    run: Option<&'a Path>,
}

impl Sheet<'_> {
    fn of(look: TerminalLook, elsewhere: &'static str) -> Sheet<'static> {
        Sheet { width: usize::from(look.width.max(20)), look, elsewhere, other_rows: elsewhere, run: None }
    }

    /// A page may move; a terminal knows the directory that a command needs.
    fn named(&self, text: &str) -> String {
        match self.run {
            Some(run) => text.replace("--resume DIR", &format!("--resume {}", quote(&run.to_string_lossy()))),
            None => text.into(),
        }
    }

    fn bold(&self, text: &str) -> String {
        if self.look.colour { format!("\x1b[1m{text}\x1b[0m") } else { text.to_string() }
    }

    /// A paragraph of so many lines at most; an ellipsis says that it goes on in the report.
    fn wrapped(&self, text: &str, most: usize) -> Vec<String> {
        self.indented(text, most, "", "")
    }

    fn indented(&self, text: &str, most: usize, first: &str, rest: &str) -> Vec<String> {
        let options = textwrap::Options::new(self.width).initial_indent(first).subsequent_indent(rest);
        let options = options.word_splitter(textwrap::WordSplitter::NoHyphenation);
        let mut lines: Vec<String> = textwrap::wrap(visible(&self.named(text)).trim(), options)
            .into_iter()
            .map(|line| line.into_owned())
            .collect();
        if lines.len() > most {
            lines.truncate(most);
            if let Some(last) = lines.last_mut() {
                *last = cut(&format!("{last} …"), self.width);
            }
        }
        lines
    }

    /// As many tables as fit, the last one with fewer rows, and how much is left out.
    fn tables(&self, tables: &[EndTable], room: usize) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for (place, table) in tables.iter().enumerate() {
            // A line stays for what is left out.
            let last = place + 1 == tables.len();
            let left = room.saturating_sub(lines.len() + usize::from(!last));
            // Of two tables, neither pushes the other out.
            let other = if tables.len() == 2 && !last { self.table(&tables[1], usize::MAX).len() } else { 0 };
            let left = left - other.min(left / 2);
            let whole = self.table(table, table.rows.len());
            if whole.len() <= left {
                lines.extend(whole);
                continue;
            }
            let around = whole.len() - table.rows.len() + 1;
            let rows = left.saturating_sub(around);
            let mut more = Vec::new();
            if rows >= LEAST_ROWS {
                lines.extend(self.table(table, rows));
                more.push(count(table.rows.len() - rows, "more row"));
            }
            let unseen = tables.len() - place - usize::from(rows >= LEAST_ROWS);
            if other > 0 && rows >= LEAST_ROWS {
                lines.push(cut(&format!("… {} {}", more.join(" and "), self.other_rows), self.width));
                continue;
            }
            if unseen > 0 {
                more.push(count(unseen, "more table"));
            }
            if lines.len() < room {
                lines.push(cut(&format!("… {} {}", more.join(" and "), self.other_rows), self.width));
            }
            break;
        }
        lines
    }

    /// A blank line, the title, the columns and so many rows.
    fn table(&self, table: &EndTable, rows: usize) -> Vec<String> {
        let rows = &table.rows[..rows.min(table.rows.len())];
        let lines = || std::iter::once(&table.columns).chain(rows);
        let mut widths: Vec<usize> = (0..table.columns.len())
            .map(|at| lines().map(|line| display_width(&visible(&line[at]))).max().unwrap_or(0))
            .collect();
        let names: Vec<&String> = rows.iter().filter_map(|row| row.first()).collect();
        let at_the_end = distinct_at(&names, cut).max(ends_tell(&names));
        let least = at_the_end.min(distinct_at(&names, cut_middle).max(LEAST_OF_BOTH_ENDS));
        let shown = fit(&mut widths, least, self.width);
        let shorten = if widths.first().is_some_and(|width| *width < at_the_end) { cut_middle } else { cut };
        let mut out = vec![String::new()];
        out.extend(table.title.as_ref().map(|title| self.bold(&cut(title, self.width))));
        out.extend(lines().map(|line| aligned(&line[..shown], &widths, shorten)));
        let hidden = table.columns.len() - shown;
        out.extend(table.note.iter().flat_map(|note| note.lines()).map(|note| cut(note, self.width)));
        if hidden > 0 {
            out.push(cut(&format!("{} {}", count(hidden, "more column"), self.elsewhere), self.width));
        }
        out
    }

    /// A line for each diagram, under the names of what takes that way.
    fn data_paths(&self, report: &Report) -> Vec<String> {
        let diagrams: Vec<&Diagram> = report.diagrams().collect();
        let mut out = Vec::new();
        for diagram in &diagrams {
            let claim = diagram.claim.as_ref().map_or(String::new(), |(_, claim)| format!(": {claim}"));
            out.extend(self.indented(&format!("{}{claim}", diagram.title), NOTICE, "", "  "));
            out.extend(self.indented(&diagram::line(diagram), NOTICE, "  ", "    "));
        }
        if !out.is_empty() {
            out.splice(0..0, [String::new(), self.bold(&cut("Copies per byte of payload", self.width))]);
            out.extend(self.wrapped(diagram::LEGEND, NOTICE));
        }
        out
    }

    /// The first ones, and how many there are beside them.
    fn notices(&self, notices: &[Notice]) -> Vec<String> {
        let mut out = Vec::new();
        for (place, notice) in notices.iter().enumerate() {
            let lines = self.notice(("warning", "33"), notice);
            if out.len() + lines.len() > NOTICES {
                out.push(cut(
                    &format!("… {} more warnings in the report", notices.len() - place),
                    self.width,
                ));
                break;
            }
            out.extend(lines);
        }
        if !out.is_empty() {
            out.insert(0, String::new());
        }
        out
    }

    /// What happened and what it does to the result, then the next step.
    fn notice(&self, (label, colour): (&str, &str), notice: &Notice) -> Vec<String> {
        let mut lines =
            self.indented(&format!("{label}: {}: {}", notice.title, notice.text), NOTICE - 1, "", "  ");
        if let Some(first) = lines.first_mut().filter(|_| self.look.colour) {
            let plain = format!("{label}:");
            *first = first.replacen(&plain, &format!("\x1b[{colour}m{plain}\x1b[0m"), 1);
        }
        if !notice.remedy.is_empty() {
            lines.extend(self.indented(&format!("what to do: {}", notice.remedy), NOTICE - 1, "  ", "    "));
        }
        lines
    }
}

/// The width at which shortened names still differ.
fn distinct_at(names: &[&String], shorten: fn(&str, usize) -> String) -> usize {
    let longest = names.iter().map(|name| display_width(name)).max().unwrap_or(0);
    let told = |width: &usize| {
        let mut seen = HashSet::new();
        names.iter().all(|name| seen.insert(shorten(name, *width)))
    };
    (LEAST_NAME..longest).find(told).unwrap_or(longest)
}

/// The width of names whose end alone tells them from another: `send (receiver recvmsg)` beside `send`.
fn ends_tell(names: &[&String]) -> usize {
    let known: HashSet<&str> = names.iter().map(|name| name.as_str()).collect();
    let goes_on = |name: &&&String| name.char_indices().any(|(at, _)| known.contains(&name[..at]));
    names.iter().filter(goes_on).map(|name| display_width(name)).max().unwrap_or(0)
}

/// The width of a line of such columns.
fn whole(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
}

/// How many columns there is room for; the name gives way first, keeps so much, and takes what is left.
fn fit(widths: &mut [usize], least: usize, room: usize) -> usize {
    let Some(name) = widths.first().copied() else { return 0 };
    let others = |shown: usize| whole(&widths[..shown]) - name;
    let fits = |shown: &usize| others(*shown) + least.min(name) <= room;
    let shown = (1..=widths.len()).rev().find(fits).unwrap_or(1);
    widths[0] = name.min(room.saturating_sub(others(shown)));
    shown
}

/// Names left, figures right.
fn aligned(line: &[String], widths: &[usize], shorten: fn(&str, usize) -> String) -> String {
    let place = |(at, text): (usize, &String)| {
        let text = if at == 0 { shorten(text, widths[at]) } else { cut(text, widths[at]) };
        let space = " ".repeat(widths[at] - display_width(&text));
        if at == 0 { text + &space } else { space + &text }
    };
    let cells: Vec<String> = line.iter().enumerate().map(place).collect();
    cells.join(GAP).trim_end().to_string()
}

/// The same with the end of the text kept: two thirds of the room are its beginning.
fn cut_middle(text: &str, width: usize) -> String {
    let text = visible(text);
    if display_width(&text) <= width {
        return text;
    }
    let tail = width / 3;
    let mut end = text.chars().rev().scan(0, |used, c| {
        *used += display_width(c.encode_utf8(&mut [0; 4]));
        (*used <= tail).then_some(c)
    });
    let end: String = end.by_ref().collect::<Vec<_>>().into_iter().rev().collect();
    cut(&text, width - display_width(&end)) + &end
}

/// At most so many columns of a text on one line; an ellipsis says that some is cut off.
pub fn cut(text: &str, width: usize) -> String {
    let text = visible(text);
    if display_width(&text) <= width {
        return text;
    }
    let mut kept = String::new();
    for c in text.chars() {
        if display_width(&kept) + display_width(c.encode_utf8(&mut [0; 4])) + 1 > width {
            break;
        }
        kept.push(c);
    }
    if width > 0 {
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `msg_zerocopy …` stood below `msg_zerocopy`: which receiver it had was the question of the run.
    #[test]
    fn a_name_that_goes_on_keeps_its_end() {
        let row = |name: &str| vec![name.to_string(), "12345678".into()];
        let table = EndTable {
            columns: ["way", "figure"].map(String::from).to_vec(),
            rows: ["msg_zerocopy", "msg_zerocopy (receiver recvmsg)"].map(row).to_vec(),
            ..EndTable::default()
        };
        let text = super::table(&table, TerminalLook { width: 40, colour: false });
        assert!(text.contains("recvmsg)"), "{text}");
    }

    /// It was printed beside the path of the report, and did not run.
    #[test]
    fn a_command_that_continues_a_run_names_its_directory() {
        let sheet = Sheet::of(TerminalLook { width: 80, colour: false }, "in the report");
        let text = "Continue it with `syscost run --resume DIR`.";
        let run = Some(Path::new("my runs/a"));
        let lines = Sheet { run, ..sheet }.wrapped(text, ANSWER);
        assert_eq!(lines, ["Continue it with `syscost run --resume 'my runs/a'`."]);
    }
}
