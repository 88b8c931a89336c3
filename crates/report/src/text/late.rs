//! Cases that a run ended before: how many, why, and how to measure them.

use crate::material::Material;
use syscost_core::units::count;
use syscost_experiment::run::State;

/// One sentence of the cases that the run ended before.
pub fn late_sentence(m: &Material) -> Option<String> {
    let (what, why, remedy) = late(m)?;
    Some(format!("{what} were not measured: {why}. Measure them: {remedy}"))
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
    use syscost_experiment::run::{Failure, Run};

    fn told(run: &Run) -> Option<String> {
        late_sentence(&Material::of(run, &Analysis::of(run), &[]))
    }

    /// It was said on standard error alone, and the page spoke of all cases.
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
