//! `findings.json`: every answer of a report as data, for programs; the same bytes at every rebuild.

use serde::Serialize;
use std::io;
use syscost_analyze::finding::Answer;
use syscost_analyze::problem::Problem;
use syscost_analyze::recommend::Recommendation;
use syscost_analyze::trust::Trust;
use syscost_analyze::whole::Analysis;
use syscost_experiment::run::Run;

/// Raised where a reader of the last one would misread the file.
const SCHEMA: u32 = 1;

/// The whole file.
#[derive(Serialize)]
struct FindingsFile<'a> {
    schema: u32,
    /// That of `run.json`.
    run: &'a str,
    trust: &'a Trust,
    recommendation: &'a Recommendation,
    answers: &'a [Answer],
    /// What is wrong with figures.
    problems: &'a [Problem],
}

pub fn write(run: &Run, analysis: &Analysis, out: &mut dyn io::Write) -> io::Result<()> {
    let file = FindingsFile {
        schema: SCHEMA,
        run: &run.record.id,
        trust: &analysis.trust,
        recommendation: &analysis.recommendation,
        answers: &analysis.answers,
        problems: &analysis.problems,
    };
    serde_json::to_writer_pretty(&mut *out, &file)?;
    out.write_all(b"\n")
}
