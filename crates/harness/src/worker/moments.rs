//! The moments of a round: when its workers were told to go, and when each sample began.

use super::path::another_host;
use syscost_core::axis::Point;
use syscost_core::sample::Sample;
use syscost_experiment::run::RoundSpan;
use syscost_measure::probe::transfer::far;
use syscost_measure::probe::{Probe, RoleReport, Slice};
use syscost_sys::clock::monotonic_ns;

/// When a round's workers were told to go, of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundMoments {
    pub began_ns: u64,
    pub ready_ns: u64,
}

impl RoundMoments {
    /// The round, now that it is over, by when its first window or slice began and how long all were.
    pub fn span(self, timed_from_ns: u64, timed_ns: u64) -> RoundSpan {
        let since = |ns: u64| ns.saturating_sub(self.began_ns);
        RoundSpan {
            ready_ns: since(self.ready_ns),
            timed_from_ns: since(timed_from_ns),
            timed_ns,
            over_ns: since(monotonic_ns()),
        }
    }
}

/// The clock of another host is not this machine's.
pub fn forget_other_clocks(probe: &dyn Probe, point: &Point, reports: &mut [RoleReport]) {
    let (far, near) = (another_host(point).is_some(), far::both(point));
    let elsewhere = |role: &str| if probe.far(role) { far } else { near };
    let theirs = probe.roles().iter().zip(reports).filter(|(role, _)| elsewhere(role));
    theirs.flat_map(|(_, report)| &mut report.windows).for_each(|window| window.start_ns = None);
}

/// Slices are stamped by the sender's clock. Where that is no clock of ours, the first of them began when its worker was
/// told to go; what is between them is theirs.
pub fn place_slices(point: &Point, slices: &mut [(usize, Slice)], ready_ns: u64) {
    let first = slices.iter().map(|(_, slice)| slice.start_ns).min().filter(|_| far::both(point));
    let Some(first) = first else { return };
    slices.iter_mut().for_each(|(_, slice)| slice.start_ns = ready_ns.saturating_add(slice.start_ns - first));
}

/// Samples without a time stamp followed each other until the report was heard.
pub fn stamp(samples: &mut [Sample], heard_ns: u64) {
    let mut start_ns = heard_ns;
    for sample in samples.iter_mut().rev() {
        start_ns = start_ns.saturating_sub(sample.elapsed_ns as u64);
        sample.start_ns.get_or_insert(start_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_measure::probe;

    #[test]
    fn samples_whose_clock_is_elsewhere_ended_one_after_the_other_when_the_report_came() {
        let sample = |start_ns| Sample { start_ns, elapsed_ns: 100.0, ..Sample::default() };
        let mut samples = [sample(None), sample(None), sample(Some(1500))];
        stamp(&mut samples, 2000);
        assert_eq!(samples.map(|sample| sample.start_ns), [Some(1700), Some(1800), Some(1500)]);
    }

    #[test]
    fn the_clock_of_a_far_worker_is_not_taken_for_ours() {
        let probe = probe::find("transfer").expect("there is one");
        let report = || RoleReport {
            windows: vec![probe::Window { start_ns: Some(7), ..Default::default() }],
            ..RoleReport::default()
        };
        let stamps = |path: &str| {
            let mut point = Point::default();
            point.set("path", syscost_core::axis::Value::text(path));
            let mut reports: Vec<RoleReport> = probe.roles().iter().map(|_| report()).collect();
            forget_other_clocks(probe, &point, &mut reports);
            reports.iter().map(|r| r.windows[0].start_ns).collect::<Vec<_>>()
        };
        assert_eq!(stamps("veth"), [Some(7), Some(7)]);
        let far: Vec<_> = probe.roles().iter().map(|role| (!probe.far(role)).then_some(7)).collect();
        assert_eq!(stamps("ssh://elsewhere"), far);
        let mut slices = [9, 4].map(|start_ns| (0, Slice { start_ns, ..Slice::default() }));
        let mut point = Point::default();
        point.set("path", syscost_core::axis::Value::text("ssh://elsewhere"));
        place_slices(&point, &mut slices, 1000);
        assert_eq!(slices.map(|(_, slice)| slice.start_ns), [9, 4], "the sender's clock is ours");
        point.set("path", syscost_core::axis::Value::text("srun:n1,n2"));
        place_slices(&point, &mut slices, 1000);
        assert_eq!(slices.map(|(_, slice)| slice.start_ns), [1005, 1000]);
        assert_eq!(stamps("srun:n1,n2"), vec![None; far.len()]);
        assert!(far.contains(&None) && far.contains(&Some(7)));
    }
}
