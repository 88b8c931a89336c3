//! Cases that a run ended before: how many, why, and how to measure them.

use crate::material::Material;
use syscost_core::units::count;
use syscost_experiment::plan::NO_TIME;
use syscost_experiment::run::State;

/// Probes that a sentence names.
const NAMED: usize = 6;

/// One sentence of the cases that the run ended before.
pub fn late_sentence(m: &Material) -> Option<String> {
    let (what, why, remedy) = late(m)?;
    Some(format!("{what} were not measured: {why}. Measure them: {remedy}"))
}

/// Rows that a quick run said to be without time for, and what measures them.
pub fn no_time(m: &Material) -> Option<String> {
    let skips = m.run.record.plan.skips.iter().filter(|skip| skip.why.reason == NO_TIME);
    let mut probes: Vec<&str> = skips.clone().map(|skip| skip.probe.as_str()).collect();
    probes.dedup();
    let (rows, more) = (count(skips.count(), "row"), probes.len().saturating_sub(NAMED));
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let named = probes.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    (!probes.is_empty()).then(|| {
        format!(
            "{rows} left out, since a quick run has no time for them on this machine as it is now: {named}{more}. Measure \
             them: syscost run {}",
            m.run.record.spec.name
        )
    })
}

/// What was not begun, why, and what to do.
pub fn late(m: &Material) -> Option<(String, &'static str, &'static str)> {
    let (asked, late) = m.begun_too_late();
    let (why, remedy) = match m.run.record.state {
        State::TimeLimit | State::NothingMeasured => {
            ("the time limit was over before", "syscost run --resume DIR --time-limit LONGER")
        }
        State::Interrupted => ("the run was interrupted before", "syscost run --resume DIR"),
        State::Running | State::Complete => ("the run is not finished", "syscost run --resume DIR"),
    };
    (!late.is_empty()).then(|| (format!("{} of {}", late.len(), count(asked, "case")), why, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_analyze::synthetic::Synthetic;
    use syscost_analyze::whole::Analysis;
    use syscost_experiment::plan::Skip;
    use syscost_experiment::run::{Failure, Run};
    use syscost_host::Unavailable;

    fn told(run: &Run) -> Option<String> {
        late_sentence(&Material::of(run, &Analysis::of(run), &[]))
    }

    /// It was said on standard error alone, and the page spoke of all cases.
    /// Each row had a round or two, and no figure.
    #[test]
    fn rows_that_a_quick_run_has_no_time_for_are_named_with_their_command() {
        let mut run = Synthetic::default().run();
        let said = |run: &Run| no_time(&Material::of(run, &Analysis::of(run), &[]));
        assert_eq!(said(&run), None);
        let case = run.record.plan.cases[0].clone();
        let why = Unavailable { reason: NO_TIME.into(), remedy: "alone".into() };
        run.record.plan.skips.push(Skip { probe: "file_read".into(), point: case.point, why });
        let told = said(&run).expect("a sentence");
        assert!(told.starts_with("1 row left out") && told.contains(": file_read. "), "{told}");
    }

    #[test]
    fn cases_that_the_time_limit_came_before_are_counted_apart_from_those_that_failed() {
        let mut run = Synthetic::default().run();
        run.record.state = State::TimeLimit;
        assert_eq!(told(&run), None);
        let begun = run.samples.iter().filter(|sample| sample.case < 2).cloned();
        run.samples = begun.collect::<Vec<_>>().into();
        run.record.failures = vec![Failure { case: 5, round: 0, message: "gone".into() }];
        let rest = "were not measured: the time limit was over before. Measure them: syscost run --resume DIR \
                    --time-limit LONGER";
        assert_eq!(told(&run), Some(format!("27 of 30 cases {rest}")));
        let report = crate::build::report(&run, &Analysis::of(&run));
        assert!(report.subtitle.contains("2 of 30 cases in"), "{}", report.subtitle);
        run.record.state = State::Complete;
        assert_eq!(told(&run), None, "none is left to begin");
    }
}
