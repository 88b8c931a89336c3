//! Records the settings of each case, and warns of the time that a user's program waits for its turns.

use super::Session;
use std::collections::BTreeMap;
use syscost_experiment::run::{Warning, settings};
use syscost_measure::mechanism::{PROGRAM_CALL_NS, PROGRAM_TURN_CPU_NS, PROGRAM_TURN_NS};
use syscost_measure::probe;

impl Session<'_> {
    /// Those of the case's first round stand for all.
    pub(super) fn note_settings(&mut self, case: usize, found: BTreeMap<String, String>) {
        let settings = &mut self.run.record.settings;
        if settings.contains_key(&case) {
            return;
        }
        let like = settings::like(settings.values().next(), found);
        let number = |id: &str| like.get(&format!("sender.{id}"))?.parse::<f64>().ok();
        let turn = number(PROGRAM_TURN_CPU_NS).zip(number(PROGRAM_TURN_NS));
        settings.insert(case, like);
        let own = probe::own_code(&self.plan.cases[case].point);
        if let Some(((cpu_ns, ns), code)) = turn.zip(own.iter().find(|code| code.object.is_program())) {
            let begins = format!("an empty turn of {} took", code.told());
            let warnings = &mut self.run.record.warnings;
            if let Some(told) = warnings.iter_mut().find(|warning| warning.observed.starts_with(&begins)) {
                return told.cases.push(case);
            }
            let share = 100.0 * ns / (PROGRAM_CALL_NS / 2) as f64;
            self.warn(Warning {
                id: "own_program".into(),
                observed: format!(
                    "{begins} {:.1} us, and {:.1} us of CPU time of both processes",
                    ns / 1e3,
                    cpu_ns / 1e3
                ),
                consequence: format!(
                    "this CPU time is subtracted for each turn; a turn is about {} us long, so up to {share:.1} % of the \
                     program's throughput is waiting for turns",
                    PROGRAM_CALL_NS / 1000
                ),
                remedy: "for throughput within that share of a built-in mechanism, write it as a shared object: \
                         docs/own-code.md"
                    .into(),
                cases: vec![case],
            });
        }
    }
}
