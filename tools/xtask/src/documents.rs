//! Documents with generated parts, which stand between two HTML comments.
//!
//! | first comment | what follows it, up to the last comment |
//! |---|---|
//! | `result: RUN` | what the terminal shows of a recorded run, up to `result: end` |
//! | `result: RUN beside OTHER...` | the same with the figures of other runs, named from docs/runs |
//! | `studies: FOLDER` | what the studies of `cargo xtask deciding` in FOLDER show, up to `result: end` |
//! | `figure: RUN` | a picture of what rivals cost relative to the control, and sentences of it, up to `result: end` |
//! | `section: RUN#ID` | the sentences of one section of its report (where it has no answers: its method), up to `result: end` |
//! | `tables: RUN#ID` | the tables of one section of its report, up to `result: end` |
//! | `kernels: RUN RUN..` | what kernels cost more than the first of them, in instructions, up to `result: end` |

use crate::deciding::StudyRecord;
use crate::{Generated, Tree, figure, machine};
use anyhow::{Context, Result, bail, ensure};
use std::path::Path;
use syscost_analyze::operations::beside::Beside;
use syscost_analyze::sides::facts::refusal;
use syscost_analyze::sides::{RunFigures, SideComparison};
use syscost_analyze::whole::Analysis;
use syscost_experiment::run::Run;
use syscost_report::terminal::{self, TerminalLook};
use syscost_report::{Block, Entry, Table, build, sides};

/// Runs that documents show.
const RUNS: &str = "docs/runs/";
const MARKS: [&str; 6] = ["result", "section", "tables", "studies", "figure", "kernels"];
const END: &str = "<!-- result: end -->";

pub fn files(tree: &Tree) -> Result<Vec<Generated>> {
    let mut files = Vec::new();
    for folder in ["", "docs"] {
        for entry in tree.root.join(folder).read_dir()? {
            let path = Path::new(folder).join(entry?.file_name());
            if path.extension().is_some_and(|ending| ending == "md") {
                let text = std::fs::read_to_string(tree.root.join(&path))?;
                let content = filled(tree, &text, folder).with_context(|| path.display().to_string())?.into();
                files.push(Generated { path, content });
            }
        }
    }
    Ok(files)
}

/// The document with every generated part made anew.
fn filled(tree: &Tree, text: &str, folder: &str) -> Result<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = MARKS.iter().filter_map(|kind| rest.find(&format!("<!-- {kind}: "))).min() {
        let comment = &rest[at..];
        let (kind, name) = comment[5..].split_once(": ").context("a comment has a kind")?;
        let name = name.split(" -->").next().context("a comment ends")?;
        let content = match kind {
            "result" => result(tree, name, folder)?,
            "figure" => {
                let measured = measured(&tree.load(name)?, name, folder)?;
                format!("{}\n{measured}", figure::text(tree, name)?)
            }
            "studies" => {
                let record = StudyRecord::load(&tree.root.join(name))?;
                record.page(name.strip_prefix("docs/").unwrap_or(name))
            }
            "kernels" => compared(tree, name, folder)?,
            "tables" => shown(tree, name, folder, &section_tables, "\n")?,
            _ => shown(tree, name, folder, &sentences, ">\n")?,
        };
        let after = comment.find(END).with_context(|| format!("{kind}: {name} lacks {END}"))?;
        out += &format!("{}<!-- {kind}: {name} -->\n{content}{END}", &rest[..at]);
        rest = &comment[after + END.len()..];
    }
    Ok(out + rest)
}

/// Counted guests beside the first of them.
fn compared(tree: &Tree, names: &str, folder: &str) -> Result<String> {
    let runs = names.split_whitespace().map(|dir| tree.load(dir)).collect::<Result<Vec<Run>>>()?;
    let (first, others) = runs.split_first().context("a comparison names runs")?;
    let base = [RunFigures::of(first)];
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = String::new();
    for other in others {
        let candidate = [RunFigures::of(other)];
        if let Some(why) = refusal(&base, &candidate) {
            bail!("{}", sides::refused(&why));
        }
        let compared = SideComparison::of(&base, &candidate);
        let table = sides::table(&compared, first);
        let [from, to] = [first, other].map(|run| run.record.names.label.as_deref().unwrap_or("a kernel"));
        text += &format!("{to} beside {from}: {}\n\n", sides::answer(&compared));
        text += &line(&table.columns);
        text += &format!("|{}\n", "---|".repeat(table.columns.len()));
        text.extend(table.rows.iter().map(|row| line(row)));
        text += "\n";
    }
    let place = names.split_whitespace().next().unwrap_or_default();
    Ok(format!("{text}{}\n\n{}", sides::NOT_TOLD, measured(first, place, folder)?))
}

fn result(tree: &Tree, names: &str, folder: &str) -> Result<String> {
    let mut names = names.split_whitespace().filter(|word| *word != "beside");
    let dir = names.next().context("a result names a run")?;
    let run = tree.load(dir)?;
    let others = names.map(|other| {
        let title = other.rsplit('/').next().unwrap_or(other);
        Ok(Beside::run(title, &tree.load(&format!("{RUNS}{other}"))?))
    });
    let others: Vec<Beside> = others.collect::<Result<_>>()?;
    let report = build::report_beside(&run, &Analysis::of(&run), &others);
    let text = terminal::text(&report, None, TerminalLook { width: 80, colour: false });
    Ok(format!("```text\n{}\n```\n\n{}", text.trim_end(), measured(&run, dir, folder)?))
}

/// A section of the run's report, what is written of it, and where the run was measured.
fn shown(
    tree: &Tree,
    place: &str,
    folder: &str,
    written: &dyn Fn(&[Block]) -> Result<Vec<String>>,
    between: &str,
) -> Result<String> {
    let (dir, id) = place.split_once('#').context("a section is written RUN#ID")?;
    let run = tree.load(dir)?;
    let report = build::report(&run, &Analysis::of(&run));
    let section = report.sections.iter().find(|s| s.id == id).context("the report lacks the section")?;
    let parts = written(&section.blocks)?;
    ensure!(!parts.is_empty(), "the section of {place} has nothing to show");
    Ok(format!("{}\n{}", parts.join(between), measured(&run, dir, folder)?))
}

/// Of a section without answers: how it was made.
fn sentences(blocks: &[Block]) -> Result<Vec<String>> {
    let answers = blocks.iter().any(|block| matches!(block, Block::Statement(_)));
    let sentence = |block: &Block| match block {
        Block::Statement(statement) => Some(format!("> {}\n", statement.text)),
        Block::Text(text) if !answers => Some(format!("> {text}\n")),
        _ => None,
    };
    Ok(blocks.iter().filter_map(sentence).collect())
}

fn section_tables(blocks: &[Block]) -> Result<Vec<String>> {
    let mut tables = Vec::new();
    for block in blocks {
        match block {
            Block::Table(table) => tables.push(markdown(table)?),
            Block::Folded { blocks, .. } => tables.extend(section_tables(blocks)?),
            _ => (),
        }
    }
    Ok(tables)
}

fn markdown(table: &Table) -> Result<String> {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let cell = |entry: &Entry| match entry {
        Entry::Text(text) | Entry::Named { text, .. } => Ok(text.replace('|', "\\|")),
        Entry::Number(value, unit) => Ok(unit.format(*value)),
        Entry::Estimate { estimate, .. } => Ok(estimate.unit.format(estimate.value)),
        Entry::Share { share, signed } => Ok(Entry::share(*share, *signed)),
        Entry::Missing => Ok("-".into()),
        other => bail!("no document shows {other:?} yet"),
    };
    let title = if table.title.is_empty() { String::new() } else { format!("{}:\n\n", table.title) };
    let mut text = title + &line(table.columns.clone());
    text += &format!("|{}\n", "---|".repeat(table.columns.len()));
    for row in &table.rows {
        text += &line(row.iter().map(cell).collect::<Result<_>>()?);
    }
    Ok(text)
}

/// Where and how a run was measured.
fn measured(run: &Run, dir: &str, folder: &str) -> Result<String> {
    let command: Vec<&str> = run.record.command.iter().skip(1).map(String::as_str).collect();
    let link = Path::new(dir).strip_prefix(folder).unwrap_or(Path::new(dir)).display();
    Ok(format!(
        "Measured on {}, by `syscost {}`:\n[the recorded run]({link}).\n",
        machine(run)?,
        command.join(" ")
    ))
}
