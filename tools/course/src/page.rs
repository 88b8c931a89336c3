//! A course report as a page to print: what stands in its Markdown, also what its author has written there since, with the
//! run's pictures in their places.
//!
//! It reads the Markdown that `markdown.rs` writes, and what a person adds to it: headings, paragraphs, lists, tables,
//! commands, pictures of the layout. The page is that of a report.

use super::Artefact;
use syscost_report::{Block, Entry, Report, Section, Statement, Table, html};

/// What is left to the author to write, where nothing has been written.
const TO_WRITE: &str = "______________________________________________";

/// The page of this report; its pictures are among the files.
pub fn page(markdown: &str, files: &[Artefact]) -> String {
    html::page(&report(markdown, files))
}

fn report(markdown: &str, files: &[Artefact]) -> Report {
    let mut report = Report::default();
    let mut lines = markdown.lines().peekable();
    while let Some(line) = lines.next() {
        let mut rest = |begins: &'static str| {
            let mut all = vec![line.to_string()];
            let same = |next: &&str| match begins {
                "" => !next.is_empty() && STARTS.iter().all(|start| !next.starts_with(start)),
                begins => next.starts_with(begins),
            };
            while let Some(next) = lines.next_if(same) {
                all.push(next.to_string());
            }
            all
        };
        let kind = STARTS.iter().find(|start| line.starts_with(**start)).copied().unwrap_or_default();
        let block = match kind {
            "# " => {
                report.title = inline(&line[2..]);
                continue;
            }
            "## " => {
                let id = format!("part-{}", report.sections.len() + 1);
                report.sections.push(Section::new(id, inline(&line[3..]), Vec::new()));
                continue;
            }
            "#" => Block::Heading(inline(line.trim_start_matches('#').trim())),
            "- " => {
                let items = rest(kind).into_iter().map(|item| Statement::bare(inline(&item[2..])));
                Block::Statements(items.collect())
            }
            "|" => Block::Table(table(&rest(kind), report.blocks().count())),
            "    " => Block::Command(
                rest(kind).iter().map(|line| line[4..].to_string()).collect::<Vec<_>>().join("\n"),
            ),
            "![" => picture(line, files),
            _ if line.trim().is_empty() => continue,
            _ => paragraph(&rest("").join(" ")),
        };
        if report.sections.is_empty() {
            report.sections.push(Section::new("part-0", "", Vec::new()));
        }
        report.sections.last_mut().expect("one was made").blocks.push(block);
    }
    report
}

/// How what is no paragraph begins, longer ones first.
const STARTS: [&str; 7] = ["## ", "# ", "#", "- ", "|", "    ", "!["];

/// `*Your explanation:*` has a line to write on.
fn paragraph(text: &str) -> Block {
    let to_write = text.starts_with('*') && text.ends_with(":*") && !text.starts_with("**");
    if to_write { Block::Text(format!("{} {TO_WRITE}", inline(text))) } else { Block::Text(inline(text)) }
}

fn picture(line: &str, files: &[Artefact]) -> Block {
    let name =
        line.rsplit_once("](").and_then(|(_, name)| name.trim_end().strip_suffix(')')).unwrap_or_default();
    let drawn = files.iter().find(|file| file.name == name).and_then(|file| file.drawing.clone());
    drawn.unwrap_or_else(|| Block::Note(format!("{line} is no picture of this run.")))
}

fn table(lines: &[String], number: usize) -> Table {
    let rule = |fields: &[String]| fields.iter().all(|field| field.trim_matches(':').starts_with("---"));
    let mut rows = lines.iter().map(|line| fields(line)).filter(|fields| !rule(fields));
    let columns = rows.next().unwrap_or_default();
    let rows = rows.map(|fields| fields.into_iter().map(Entry::Text).collect()).collect();
    Table { id: format!("table-{number}"), columns, rows, ..Table::default() }
}

/// `| a | b \| c |`
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut chars = line.trim().trim_start_matches('|').chars();
    while let Some(c) = chars.next() {
        let field = fields.last_mut().expect("it begins with one");
        match c {
            '|' => fields.push(String::new()),
            '\\' => field.extend(['\\'].into_iter().chain(chars.next())),
            c => field.push(c),
        }
    }
    fields.pop();
    fields.iter().map(|field| inline(field.trim())).collect()
}

/// Text without the marks of Markdown; what stands between backticks stays as it is.
fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut code = false;
    let text = text.replace("&lt;", "<");
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '`' => {
                code = !code;
                out.push(c);
            }
            '\\' if !code => match chars.next() {
                Some(escaped) if "|*_[]`".contains(escaped) => out.push(escaped),
                other => out.extend([c].into_iter().chain(other)),
            },
            '*' if !code => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::markdown::{self, plain};

    #[test]
    fn what_is_written_as_markdown_is_read_back() {
        let odd = "a_b | *c* `d` [e] <f> \\ 2 * 3";
        assert_eq!(inline(&plain(odd)), odd);
        let table =
            Table::new("t", &["x", "y|z"], vec![vec![Entry::Text(odd.into()), Entry::Text("2".into())]]);
        let blocks = vec![
            Block::Heading("Heading".into()),
            Block::Statements(vec![Statement::bare("one"), Statement::bare(odd)]),
            Block::Table(table),
            Block::Command("syscost run".into()),
            Block::Text(odd.into()),
        ];
        let text =
            format!("# Title\n\n## Part\n\n{}*Yours:*\n\nMine, *now*\nwritten.\n", markdown::blocks(&blocks));
        let report = report(&text, &[]);
        assert_eq!((report.title.as_str(), report.sections[0].title.as_str()), ("Title", "Part"));
        let read = &report.sections[0].blocks;
        assert_eq!(read[..2], blocks[..2]);
        let Block::Table(again) = &read[2] else { panic!("{read:?}") };
        assert_eq!(
            (&again.columns, &again.rows[0]),
            (&vec!["x".into(), "y|z".into()], &vec![Entry::Text(odd.into()), Entry::Text("2".into())])
        );
        assert_eq!(read[3..5], blocks[3..]);
        assert_eq!(read[5], Block::Text(format!("Yours: {TO_WRITE}")));
        assert_eq!(read[6], Block::Text("Mine, now written.".into()));
    }

    #[test]
    fn a_picture_is_the_run_s_own_or_told_as_missing() {
        let line = "![A title](b.svg)";
        assert!(matches!(picture(line, &[]), Block::Note(said) if said.contains("b.svg")));
        let own = Artefact { drawing: Some(Block::Text("drawn".into())), ..Artefact::made("b.svg", "") };
        assert_eq!(picture(line, &[own]), Block::Text("drawn".into()));
    }
}
