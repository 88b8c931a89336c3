//! Warnings and failures of the run, and what the analysis found wrong with its data.

use super::{capital, grouped, plural, unless_empty};
use crate::material::Material;
use crate::{Block, Notice, Section};
use syscost_analyze::operations::beside::Beside;
use syscost_experiment::plan::{Case, NO_TIME};
use syscost_experiment::run::{FIND_SENDER, LEAVE_OUT, SENT_BY_OTHERS, STOOD_STILL, Warning};
use syscost_host::Unavailable;

pub fn section(m: &Material) -> Option<Section> {
    let blocks = notices(m).into_iter().map(Block::Notice).collect();
    unless_empty("warnings", "Warnings and failures", blocks)
}

pub fn notices(m: &Material) -> Vec<Notice> {
    let mut notices = refused(m);
    notices.extend(failures(m));
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

/// Cases that were tried and are impossible here, by reason. What was known before is in the plan, and told where nothing came of it.
fn refused(m: &Material) -> Vec<Notice> {
    let plan = &m.run.record.plan;
    let tried = plan.given_up();
    let mut tried: Vec<&Case> = plan.cases.iter().filter(|case| tried.contains(&case.index)).collect();
    tried.retain(|case| case.twin_of.is_none());
    let why = |case: &&Case| {
        plan.skips.iter().find(|skip| (&skip.probe, &skip.point) == (&case.probe, &case.point))
    };
    // Rows that a quick run had no time for are told in one sentence, with their command.
    tried.retain(|case| why(case).is_none_or(|skip| skip.why.reason != NO_TIME));
    let notice = |(why, cases): (&Unavailable, Vec<usize>)| Notice {
        title: format!("{} refused: {}", plural(cases.len(), "case"), why.reason),
        text: format!("{} no figures.", if cases.len() == 1 { "It has" } else { "They have" }),
        remedy: why.remedy.clone(),
        cases,
    };
    grouped(tried.iter().filter_map(|case| Some((&why(case)?.why, case.index))))
        .into_iter()
        .map(notice)
        .collect()
}

/// Failures by message, with the cases they hit.
fn failures(m: &Material) -> Vec<Notice> {
    let notice = |(message, mut cases): (&str, Vec<usize>)| {
        let times = cases.len();
        cases.sort_unstable();
        cases.dedup();
        Notice {
            title: format!("{} failed ({message})", plural(times, "round")),
            text: left(m, &cases),
            remedy: remedy(message).into(),
            cases,
        }
    };
    let cases = m.run.record.failures.iter().map(|failure| (failure.message.as_str(), failure.case));
    grouped(cases).into_iter().map(notice).collect()
}

fn remedy(message: &str) -> &'static str {
    if message.contains(STOOD_STILL) {
        return LEAVE_OUT;
    }
    if message.contains(SENT_BY_OTHERS) {
        return FIND_SENDER;
    }
    "run `syscost check`, which tries every case once and says where it breaks"
}

/// What failed rounds leave of their cases.
fn left(m: &Material, cases: &[usize]) -> String {
    let none = cases.iter().filter(|case| m.analysis.cells.of_case(**case).is_empty()).count();
    let others = cases.len() - none;
    let has = if none == 1 { "has" } else { "have" };
    let told = [
        (none, format!("{} {has} no figures.", plural(none, "case"))),
        (others, format!("The figures of {} rest on the other rounds only.", plural(others, "case"))),
    ];
    told.into_iter().filter(|(n, _)| *n > 0).map(|(_, text)| text).collect::<Vec<_>>().join(" ")
}

/// With a capital and a full stop.
fn sentence(text: &str) -> String {
    let mut out = capital(text.trim());
    if !out.is_empty() && !out.ends_with(['.', '!', '?']) {
        out.push('.');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_analyze::synthetic::Synthetic;
    use syscost_analyze::whole::Analysis;
    use syscost_experiment::run::{Failure, Run};

    /// A run with samples of the first two cases only.
    fn begun() -> Run {
        let mut run = Synthetic::default().run();
        run.samples = run.samples.iter().filter(|sample| sample.case < 2).cloned().collect::<Vec<_>>().into();
        run
    }

    fn notices_of(run: &Run) -> Vec<Notice> {
        notices(&Material::of(run, &Analysis::of(run), &[]))
    }

    #[test]
    fn a_case_whose_every_round_failed_has_no_figures() {
        let mut run = begun();
        let failure = |case, message: &str| Failure { case, round: 0, message: message.into() };
        run.record.failures =
            vec![failure(5, "gone"), failure(0, "gone"), failure(6, "gone"), failure(7, "lost")];
        let told = notices_of(&run);
        let rest = "The figures of 1 case rest on the other rounds only.";
        assert_eq!(told[0].text, format!("2 cases have no figures. {rest}"));
        assert_eq!(told[1].text, "1 case has no figures.");
        run.record.failures.truncate(2);
        run.record.failures.remove(0);
        assert_eq!(notices_of(&run)[0].text, rest);
    }

    /// `syscost check` verified such a case: it was the remedy.
    #[test]
    fn a_case_that_stands_still_is_to_be_left_out() {
        let mut run = begun();
        let still = Failure { case: 5, round: 0, message: "the work stood still throughout".into() };
        run.record.failures = vec![still, Failure { case: 6, round: 0, message: "gone".into() }];
        let told = notices_of(&run);
        assert!(told[0].remedy.contains("leave out"), "{}", told[0].remedy);
        assert!(told[1].remedy.contains("syscost check"), "{}", told[1].remedy);
    }
}
