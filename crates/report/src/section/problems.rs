//! Warnings and failures of the run, and what the analysis found wrong with its data.

use super::{capital, grouped, plural, unless_empty};
use crate::material::Material;
use crate::{Block, Notice, Section};
use syscost_analyze::operations::beside::Beside;
use syscost_experiment::run::{Failure, Warning};

pub fn section(m: &Material) -> Option<Section> {
    let blocks = notices(m).into_iter().map(Block::Notice).collect();
    unless_empty("warnings", "Warnings and failures", blocks)
}

pub fn notices(m: &Material) -> Vec<Notice> {
    let mut notices = failures(&m.run.record.failures);
    notices.extend(m.run.record.warnings.iter().map(warning));
    notices.extend(m.beside.iter().filter_map(|beside| other_c_library(m, beside)));
    notices.extend(super::care::notice(m));
    notices
}

/// Figures of two builds stand beside each other: part of what they differ by is the build.
fn other_c_library(m: &Material, beside: &Beside) -> Option<Notice> {
    let (theirs, ours) = beside.other_c_library(m.run)?;
    Some(Notice {
        title: format!("{} was measured by a syscost linked with {theirs}, this run by one with {ours}", beside.name),
        text: "Copies in user space, processes, threads and clock readings differ for that alone: such a difference is not one of \
               the machines."
            .into(),
        remedy: "measure both with the same build (the report's last section names the binary)".into(),
        cases: Vec::new(),
    })
}

fn warning(warning: &Warning) -> Notice {
    Notice {
        title: capital(warning.observed.trim().trim_end_matches('.')),
        text: sentence(&warning.consequence),
        remedy: warning.remedy.clone(),
        cases: warning.cases.clone(),
    }
}

/// Failures by message, with the cases they hit.
fn failures(failures: &[Failure]) -> Vec<Notice> {
    let notice = |(message, mut cases): (&str, Vec<usize>)| {
        let times = cases.len();
        cases.sort_unstable();
        cases.dedup();
        Notice {
            title: format!("{} failed ({message})", plural(times, "round")),
            text: format!("The figures of {} rest on the other rounds only.", plural(cases.len(), "case")),
            remedy: "run `syscost check`, which tries every case once and says where it breaks".into(),
            cases,
        }
    };
    let cases = failures.iter().map(|failure| (failure.message.as_str(), failure.case));
    grouped(cases).into_iter().map(notice).collect()
}

/// With a capital and a full stop.
fn sentence(text: &str) -> String {
    let mut out = capital(text.trim());
    if !out.is_empty() && !out.ends_with(['.', '!', '?']) {
        out.push('.');
    }
    out
}
