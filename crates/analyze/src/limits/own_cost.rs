//! What the harness's own code adds to the figures: its share of the CPU time of slices and windows.

use crate::CellRef;
use crate::problem::{Problem, ProblemKind};
use serde::Serialize;
use syscost_experiment::run::{OwnShare, Run};

/// From this share of a slice or window on a figure's note says it.
const NOTED: f64 = 0.01;
const METRIC: &str = "total_cpu_ns_per_message";

/// Cases of which the harness's own code is a hundredth or more.
pub fn problems(run: &Run) -> Vec<Problem> {
    let problem = |own: &OwnShare| {
        let case = run.case(own.case).filter(|case| case.twin_of.is_none())?.index;
        let (slices, windows) = (own.of_slices(), own.of_windows());
        let large = [slices, windows].into_iter().flatten().any(|share| share >= NOTED);
        let kind = ProblemKind::HarnessShare { slices, windows };
        large.then(|| Problem { kind, case, cells: vec![CellRef { case, metric: METRIC }] })
    };
    run.record.own_cost.iter().filter_map(problem).collect()
}

/// The smallest and the largest share of CPU time over the run; `None`: not priced.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OwnShares {
    pub slices: Option<(f64, f64)>,
    pub windows: Option<(f64, f64)>,
}

impl OwnShares {
    pub fn of(run: &Run) -> OwnShares {
        let range = |share: fn(&OwnShare) -> Option<f64>| {
            let all = run.record.own_cost.iter().filter_map(share);
            all.map(|share| (share, share)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
        };
        OwnShares { slices: range(OwnShare::of_slices), windows: range(OwnShare::of_windows) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;

    #[test]
    fn a_hundredth_is_noted_with_its_size_and_less_is_in_the_range() {
        let mut run = Synthetic { threads: vec![1], ..Default::default() }.run();
        let unpriced = OwnShares { slices: None, windows: None };
        assert_eq!((OwnShares::of(&run), problems(&run)), (unpriced, Vec::new()), "runs of before");
        let own = |case, slices_own_ns, windows_own_ns| OwnShare {
            case,
            slices_own_ns,
            slices_cpu_ns: 10_000,
            windows_own_ns,
            windows_cpu_ns: 10_000,
        };
        run.record.own_cost = vec![own(0, 20, 10), own(1, 40, 10)];
        let priced = OwnShares { slices: Some((0.002, 0.004)), windows: Some((0.001, 0.001)) };
        assert_eq!(OwnShares::of(&run), priced);
        assert_eq!(problems(&run), Vec::new());
        run.record.own_cost.push(own(2, 40, 250));
        let [noted] = &problems(&run)[..] else { panic!("one is dear") };
        let kind = ProblemKind::HarnessShare { slices: Some(0.004), windows: Some(0.025) };
        assert_eq!((&noted.kind, noted.case), (&kind, 2));
    }
}
