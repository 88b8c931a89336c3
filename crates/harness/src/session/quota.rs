//! A CPU quota that was used up during a round.

use super::Session;
use syscost_experiment::run::{CPU_QUOTA, Warning};
use syscost_host::noise;

impl Session<'_> {
    /// A used-up CPU quota slows every sample of a container alike: the run says so, and goes on.
    pub(super) fn note_quota(&mut self, noise: &noise::Noise, cases: &[usize]) {
        if noise.throttled_periods.is_none_or(|periods| periods == 0) {
            return;
        }
        let warnings = &mut self.run.record.warnings;
        let known = warnings.iter().position(|warning| warning.id == CPU_QUOTA);
        let at = known.unwrap_or_else(|| {
            warnings.push(Warning {
                id: CPU_QUOTA.into(),
                observed: "the control group used up its CPU quota during these cases".into(),
                consequence:
                    "throughput is what the quota allows, not what the machine can do; CPU time per \
                              message stands, but where a side sleeps at other times"
                        .into(),
                remedy: "run outside the container, or with a larger CPU quota".into(),
                cases: Vec::new(),
            });
            warnings.len() - 1
        });
        let named = &mut warnings[at].cases;
        let new: Vec<usize> = cases.iter().copied().filter(|case| !named.contains(case)).collect();
        named.extend(new);
    }
}
