//! A CPU quota that was used up during a round.

use super::Session;
use syscost_experiment::run::Warning;
use syscost_host::noise;

impl Session<'_> {
    /// A used-up CPU quota slows every sample of a container alike: the run says so, and goes on.
    pub(super) fn note_quota(&mut self, noise: &noise::Noise, case: usize) {
        if noise.throttled_periods.is_none_or(|periods| periods == 0) {
            return;
        }
        let warnings = &mut self.run.record.warnings;
        match warnings.iter_mut().find(|warning| warning.id == "cpu_quota") {
            Some(warning) if warning.cases.contains(&case) => {}
            Some(warning) => warning.cases.push(case),
            None => warnings.push(Warning {
                id: "cpu_quota".into(),
                observed: "the control group used up its CPU quota during these cases".into(),
                consequence:
                    "throughput is what the quota allows, not what the machine can do; CPU time per message \
                              still stands"
                        .into(),
                remedy: "run outside the container, or with a larger CPU quota".into(),
                cases: vec![case],
            }),
        }
    }
}
