//! The report and the README of the assignment as skeletons: its headings with the evidence under them.
//!
//! Every explanation is the student's: each heading ends with a place to write one.

use super::figure_column::COLUMNS;
use super::grid::CourseGrid;
use super::{COMMAND, PLOTS, REPORT, RESULTS};
use crate::figure::CourseFigure;
use crate::markdown::{self, plain};
use std::fmt::Write;
use syscost_analyze::finding::Answer;
use syscost_report::material::Material;
use syscost_report::text::words::Words;
use syscost_report::text::{self, AnswerText};
use syscost_report::{Section, section};

pub struct ReportInputs<'a> {
    pub roll: &'a str,
    pub grid: &'a CourseGrid<'a>,
    pub material: &'a Material<'a>,
    pub figures: &'a [CourseFigure],
    /// File names of the data paths.
    pub drawings: &'a [String],
}

const YOURS: &str = "*Your explanation:*\n\n";

/// A question of the assignment, and what belongs under it.
struct CourseQuestion {
    asks: &'static str,
    /// Id of the analysis's own question whose answer is the evidence; `None`: the tables above it are.
    finding: Option<&'static str>,
}

const fn asks(asks: &'static str, finding: Option<&'static str>) -> CourseQuestion {
    CourseQuestion { asks, finding }
}

const PART_A: &[CourseQuestion] = &[
    asks("A1. Where do the copies of two-copy happen, are there only two, and what makes them?", None),
    asks("A2. Which copy does one-copy do without?", Some("scatter_gather")),
    asks("A3. What does the kernel do for zero-copy? Explain by the diagram.", Some("zero_copy")),
];

const PART_E: &[CourseQuestion] = &[
    asks("1. Why does zero-copy not always give the best throughput?", Some("not_fastest")),
    asks("2. Which cache level shows the most reduction in misses, and why?", Some("cache_levels")),
    asks("3. How does thread count interact with cache contention?", Some("threads")),
    asks("4. At what message size does one-copy outperform two-copy on your system?", Some("one_copy")),
    asks(
        "5. At what message size does zero-copy outperform two-copy on your system?",
        Some("zero_copy_from"),
    ),
    asks(
        "6. Identify one unexpected result and explain it by operating-system or hardware concepts.",
        Some("unexpected"),
    ),
];

/// The report to write in.
pub fn report(told: &ReportInputs, copies: Option<&Section>) -> String {
    let roll = told.roll;
    let mut out = format!(
        "# {roll}: Analysis of network I/O primitives\n\nFigures and evidence are from run {} (`{roll}_{RESULTS}`). What stands \
         in brackets names a case of the run and its metric. The rows of these cases have their numbers in the columns `case` and `latency_case`, and `syscost explain CASE RUN` tells one. \
         Two-copy is {} here. Every explanation is yours to write.\n\n",
        plain(&told.grid.run.record.id),
        plain(told.grid.mechanisms[0]),
    );
    out.push_str("## System\n\n");
    if let Some(machine) = section::machine::section(told.material) {
        // The facts that decide figures; the rest is in the run's own report.
        out.push_str(&markdown::blocks(&machine.blocks[..1.min(machine.blocks.len())], 3));
    }
    part_a(&mut out, told, copies);
    parts_b_to_d(&mut out, told);
    out.push_str("## Part E: analysis\n\n");
    for question in PART_E {
        ask(&mut out, told, question);
    }
    out.push_str("### What else the run says\n\n");
    let used: Vec<&str> = PART_A.iter().chain(PART_E).filter_map(|q| q.finding).collect();
    for answer in told.material.analysis.answers.iter().filter(|a| !used.contains(&a.question)) {
        let answer = in_words(told, answer);
        let _ = write!(out, "**{}**\n\n{}", plain(answer.question), markdown::answer(&answer));
    }
    out.push_str("## AI use\n\n*Your declaration: which tools, for which parts, with which prompts.*\n");
    out
}

fn part_a(out: &mut String, told: &ReportInputs, copies: Option<&Section>) {
    out.push_str("## Part A: where the copies happen\n\n");
    match copies {
        Some(section) => out.push_str(&markdown::blocks(&section.blocks, 3)),
        None => out.push_str("This run counted no copies; a run as root counts them in the kernel.\n\n"),
    }
    for name in told.drawings {
        let _ = writeln!(out, "![data path]({name})\n");
    }
    for question in PART_A {
        ask(out, told, question);
    }
}

/// A heading, the evidence, and room for what the student makes of it.
fn ask(out: &mut String, told: &ReportInputs, question: &CourseQuestion) {
    let _ = writeln!(out, "### {}\n", question.asks);
    let answers = told.material.analysis.answers.iter().filter(|a| Some(a.question) == question.finding);
    out.extend(answers.map(|answer| markdown::answer(&in_words(told, answer))));
    out.push_str(YOURS);
}

/// Without what is said of another two-copy mechanism than the one that is shown.
fn in_words(told: &ReportInputs, answer: &Answer) -> AnswerText {
    let mut words = text::answer(answer, &Words::of(told.material.run));
    words.statements.retain(|statement| !told.grid.is_of_another(&statement.cells));
    words
}

fn parts_b_to_d(out: &mut String, told: &ReportInputs) {
    let roll = told.roll;
    let _ = writeln!(out, "## Parts B and C: measurements\n\n`{roll}_{RESULTS}` has a row for each cell:\n");
    for column in COLUMNS {
        let here = column.anywhere(told.grid);
        let why = if here { String::new() } else { format!(" {}", plain(&column.why(told.grid))) };
        let _ = writeln!(out, "- {}: {}.{why}", plain(column.id), plain(column.help));
    }
    out.push_str("\n*How you measured, and what you held constant:*\n\n## Part D: plots\n\n");
    for figure in told.figures {
        let (title, name) = (plain(&figure.title), &figure.name);
        let _ = writeln!(out, "### {title}\n\n[{}.pdf]({name}.pdf)\n\n*What it shows:*\n", plain(name));
    }
}

/// The README to write in.
pub fn readme(told: &ReportInputs) -> String {
    let roll = told.roll;
    let mut out = format!("# {roll}: PA02, analysis of network I/O primitives\n\n## Files\n\n");
    let _ = writeln!(out, "- `{roll}_{RESULTS}`: every cell with the interval of each figure");
    let _ = writeln!(out, "- `{roll}_{PLOTS}`: the plots again, by matplotlib; its values are written in it");
    for figure in told.figures {
        let _ = writeln!(out, "- `{}.pdf`: {}", figure.name, plain(&figure.title));
    }
    for drawing in told.drawings {
        let _ = writeln!(out, "- `{drawing}`: a data path through the kernel, as counted");
    }
    let _ = writeln!(
        out,
        "- `{roll}_{REPORT}`: the report to write\n- *your code of parts A1, A2, A3 and your script of part C*\n\n## How the figures were made\n\n    {}\n\n`{COMMAND}` \
         makes a run of the whole sweep, and `syscost course pa02 --roll {roll} RUN` these files from it.\n\n\
         ## AI use\n\n*Your declaration.*\n",
        syscost_report::escape::visible(&told.grid.run.record.command.join(" ")),
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_analyze::finding;

    #[test]
    fn every_question_has_evidence_that_is_looked_for() {
        for id in PART_A.iter().chain(PART_E).filter_map(|question| question.finding) {
            assert!(finding::ALL.iter().any(|f| f.id() == id), "{id} is no finding");
        }
    }
}
