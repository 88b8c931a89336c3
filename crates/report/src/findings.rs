//! `findings.json`: every answer of a report as data, for programs; the same bytes at every rebuild.

use crate::escape;
use serde::Serialize;
use std::io;
use syscost_analyze::finding::Answer;
use syscost_analyze::latency::{Latency, StalledCase};
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
    /// Of a run that times single messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    latency: Option<LatencyAdvice<'a>>,
    answers: &'a [Answer],
    /// What is wrong with figures.
    problems: &'a [Problem],
}

/// What has the lowest quantiles, and whose tail few rounds make.
#[derive(Serialize)]
struct LatencyAdvice<'a> {
    by_rate: &'a Recommendation,
    by_size: &'a Recommendation,
    stalls: &'a [StalledCase],
}

pub fn write(run: &Run, analysis: &Analysis, out: &mut dyn io::Write) -> io::Result<()> {
    serde_json::to_writer_pretty(escape::PlainJson(&mut *out), &file(run, analysis))?;
    out.write_all(b"\n")
}

/// The document, for what holds it among others.
pub fn file<'a>(run: &'a Run, analysis: &'a Analysis) -> impl Serialize + 'a {
    let of_latency = &analysis.latency;
    let Latency { by_rate, by_size, stalls, .. } = of_latency;
    let latency = LatencyAdvice { by_rate, by_size, stalls };
    FindingsFile {
        schema: SCHEMA,
        run: &run.record.id,
        trust: &analysis.trust,
        recommendation: &analysis.recommendation,
        latency: (!of_latency.cases.is_empty()).then_some(latency),
        answers: &analysis.answers,
        problems: &analysis.problems,
    }
}
