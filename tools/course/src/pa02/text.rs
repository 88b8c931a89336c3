//! The report and the README of the assignment as skeletons: its headings with the evidence under them.
//!
//! Every explanation is the student's: each heading ends with a place to write one.

use super::figure_column::{COLUMNS, FigureColumn};
use super::grid::{COUNT_CACHE, CaseKind, CourseGrid, GridPlace, IMPLEMENTATIONS};
use super::{COMMAND, CoursePicture, PATHS, fill, plots};
use crate::markdown::{self, items, plain};
use syscost_analyze::finding::Answer;
use syscost_core::units::{Unit, count, significant};
use syscost_report::escape::visible;
use syscost_report::material::Material;
use syscost_report::section::{copies, machine};
use syscost_report::text::words::Words;
use syscost_report::text::{self, latency_along};

/// `{{answer ID}}` is where the answer of the analysis's own question goes.
const REPORT: &str = include_str!("../../templates/pa02-report.md");
const README: &str = include_str!("../../templates/pa02-readme.md");

pub struct ReportInputs<'a> {
    pub roll: &'a str,
    pub grid: &'a CourseGrid<'a>,
    pub material: Material<'a>,
    pub pictures: &'a [CoursePicture],
}

/// The report to write in.
pub fn report(told: &ReportInputs) -> String {
    let answers = &told.material.analysis.answers;
    fill(REPORT, |name| match name {
        "roll" => told.roll.to_string(),
        "run" => plain(&told.grid.run.record.id),
        "two_copy" => plain(told.grid.mechanisms[0]),
        // The facts that decide figures; the rest is in the run's own report.
        "machine" => machine::section(&told.material).map_or(String::new(), |machine| {
            markdown::blocks(&machine.blocks[..1.min(machine.blocks.len())])
        }),
        "copies" => copied(told),
        "columns" => items(COLUMNS.iter().map(|column| {
            let missing = column.missing(told.grid).map(|why| format!(" Not measured: {}.", plain(&why)));
            format!("{}: {}.{}", plain(column.id), plain(column.help), missing.unwrap_or_default())
        })),
        "latency" => items(latency_along::opening(&told.material).iter().map(markdown::sentence)) + "\n",
        "modelled" => modelled(told.grid),
        "plots" => shown(told, |name| !name.contains(PATHS)),
        "others" => answers
            .iter()
            .filter(|answer| !REPORT.contains(&placeholder(answer.question)))
            .map(|answer| format!("**{}**\n\n{}", plain(answer.question), evidence(told, answer)))
            .collect(),
        question => answers
            .iter()
            .filter(|answer| question.strip_prefix("answer ") == Some(answer.question))
            .map(|answer| evidence(told, answer))
            .collect(),
    })
}

/// What a modelled cache says of the levels, beside what hardware counters do: at the largest size that was counted and the
/// fewest threads, each level of every implementation.
fn modelled(grid: &CourseGrid) -> String {
    let Some((counts, _)) = grid.counts else {
        return format!(
            "- A modelled cache was not asked: `{COUNT_CACHE}`, then `syscost course pa02 --cache CACHE RUN`\n\n"
        );
    };
    let columns =
        || COLUMNS.iter().filter(|column| column.kind == CaseKind::Modelled && plots::is_of_misses(column));
    let at = |bytes: u64| {
        let misses = |column: &FigureColumn, way: usize| {
            let place = GridPlace::new(way, bytes, *grid.threads.first()?);
            Some(column.estimate(grid, &place).ok()?.value)
        };
        let level = |column: &'static FigureColumn| {
            let [two, one, zero] = [0, 1, 2].map(|way| misses(column, way));
            Some((column, [two?, one?, zero?]))
        };
        let levels: Vec<(&FigureColumn, [f64; 3])> = columns().filter_map(level).collect();
        (!levels.is_empty()).then_some((bytes, levels))
    };
    let Some((bytes, levels)) = grid.sizes.iter().rev().find_map(|bytes| at(*bytes)) else {
        return "- The run of counts has no place of this table with all three implementations.\n\n".into();
    };
    let names = IMPLEMENTATIONS.map(|implementation| implementation.name);
    let falls = levels.iter().flat_map(|(column, [two, one, zero])| {
        [(*one, names[1]), (*zero, names[2])].map(|(other, name)| (two - other, name, *column, *two, other))
    });
    let most = falls.filter(|fall| fall.0 > 0.0).max_by(|a, b| a.0.total_cmp(&b.0));
    let most = most.map(|(_, name, column, two, other)| {
        let (id, two, other) = (plain(column.id), significant(two), significant(other));
        format!(
            "- {id} falls most: {two} with {}, {other} with {name} (modelled cache, emulated CPU).\n",
            names[0]
        )
    });
    let row = |(column, misses): &(&FigureColumn, [f64; 3])| {
        format!("| {} | {} |\n", plain(column.id), misses.map(significant).join(" | "))
    };
    format!(
        "Modelled cache, emulated CPU (run {}), at {} and {}:\n\n| a message | {} |\n|---|---|---|---|\n{}\n{}\n",
        plain(&counts.record.id),
        Unit::Bytes.format(bytes as f64),
        count(grid.threads.first().map_or(0, |threads| *threads as usize), "thread"),
        names.join(" | "),
        levels.iter().map(row).collect::<String>(),
        most.unwrap_or_else(|| "- No level has fewer misses than with two-copy.\n".into())
    )
}

fn placeholder(question: &str) -> String {
    format!("{{{{answer {question}}}}}")
}

fn copied(told: &ReportInputs) -> String {
    let none = "This run counted no copies; a run as root counts them in the kernel.\n\n";
    let counted =
        copies::section(&told.material).map_or(none.into(), |section| markdown::blocks(&section.blocks));
    counted + &shown(told, |name| name.contains(PATHS))
}

fn shown(told: &ReportInputs, which: impl Fn(&str) -> bool) -> String {
    let pictures = told.pictures.iter().filter(|picture| which(&picture.name));
    pictures.map(|picture| format!("![{}]({})\n\n", plain(&picture.title), picture.name)).collect()
}

/// Without what is said of another two-copy mechanism than the one that is shown.
fn evidence(told: &ReportInputs, answer: &Answer) -> String {
    let mut words = text::answer(answer, &Words::of(told.material.run));
    words.statements.retain(|statement| !told.grid.is_of_another(&statement.cells));
    markdown::answer(&words)
}

/// The README to write in.
pub fn readme(told: &ReportInputs) -> String {
    fill(README, |name| {
        match name {
        "roll" => told.roll.to_string(),
        "drawings" => items(told.pictures.iter().map(|p| format!("`{}`: {}", p.name, plain(&p.title)))),
        "command" => visible(&told.grid.run.record.command.join(" ")),
        "counted" => told.grid.counts.map_or(String::new(), |(counts, _)| {
            let command = visible(&counts.record.command.join(" "));
            format!("Columns that begin with `modelled_` (modelled cache, emulated CPU) are of another run:\n\n    {command}\n\n")
        }),
        sweep => if sweep == "sweep" { COMMAND } else { "" }.to_string(),
    }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_analyze::finding;

    #[test]
    fn every_question_has_evidence_that_is_looked_for() {
        let asked: Vec<&str> =
            REPORT.split("{{answer ").skip(1).filter_map(|rest| Some(rest.split_once("}}")?.0)).collect();
        assert_eq!(asked.len(), 9);
        for id in asked {
            assert!(finding::ALL.iter().any(|f| f.id() == id), "{id} is no finding");
            assert!(REPORT.contains(&placeholder(id)));
        }
    }
}
