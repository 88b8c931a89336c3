//! The report and the README of the assignment as skeletons: its headings with the evidence under them.
//!
//! Every explanation is the student's: each heading ends with a place to write one.

use super::figure_column::COLUMNS;
use super::grid::CourseGrid;
use super::{COMMAND, CoursePicture, PATHS, fill};
use crate::markdown::{self, items, plain};
use syscost_analyze::finding::Answer;
use syscost_report::escape::visible;
use syscost_report::material::Material;
use syscost_report::section::{copies, machine};
use syscost_report::text;
use syscost_report::text::words::Words;

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
    fill(README, |name| match name {
        "roll" => told.roll.to_string(),
        "drawings" => items(told.pictures.iter().map(|p| format!("`{}`: {}", p.name, plain(&p.title)))),
        "command" => visible(&told.grid.run.record.command.join(" ")),
        sweep => if sweep == "sweep" { COMMAND } else { "" }.to_string(),
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
        assert_eq!(asked.len(), 8);
        for id in asked {
            assert!(finding::ALL.iter().any(|f| f.id() == id), "{id} is no finding");
            assert!(REPORT.contains(&placeholder(id)));
        }
    }
}
