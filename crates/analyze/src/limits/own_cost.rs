//! What the harness's own code adds to the figures: its share of the CPU time of slices and windows.

use crate::words::{Words, and, percent};
use crate::{CellRef, Problem, Statement};
use syscost_experiment::run::{OwnShare, Run};

/// From this share of a slice or window on a figure's note says it.
const NOTED: f64 = 0.01;
const METRIC: &str = "total_cpu_ns_per_message";

type TimedPart = (&'static str, fn(&OwnShare) -> Option<f64>);
const PARTS: [TimedPart; 2] = [("slices", OwnShare::of_slices), ("windows", OwnShare::of_windows)];

/// Cases of which the harness's own code is a hundredth or more.
pub fn problems(run: &Run) -> Vec<Problem> {
    let words = Words::of(run);
    let problem = |own: &OwnShare| {
        let case = run.case(own.case).filter(|case| case.twin_of.is_none())?;
        let large = PARTS.iter().filter_map(|(name, share)| Some((*name, share(own)?)));
        let parts: Vec<String> = large
            .filter(|(_, share)| *share >= NOTED)
            .map(|(name, share)| format!("{} of its {name}", percent(share)))
            .collect();
        let text = format!(
            "{} contains the harness's own code: {} is clocks and loops.",
            words.subject(case, "CPU time"),
            and(&parts)
        );
        let cells = vec![CellRef { case: case.index, metric: METRIC }];
        let statement = Statement { text, cells };
        (!parts.is_empty()).then_some(Problem { id: "harness_share", case: case.index, statement })
    };
    run.record.own_cost.iter().filter_map(problem).collect()
}

/// The range over the run; `None` where nothing was priced.
pub fn sentence(run: &Run) -> Option<String> {
    let most = |(name, share): &TimedPart| {
        let all: Vec<f64> = run.record.own_cost.iter().filter_map(share).collect();
        let (low, high) = (all.iter().copied().reduce(f64::min)?, all.iter().copied().reduce(f64::max)?);
        let (low, high) = (percent(low), percent(high));
        Some(if low == high { format!("{high} in {name}") } else { format!("{low} to {high} in {name}") })
    };
    let parts: Vec<String> = PARTS.iter().filter_map(most).collect();
    (!parts.is_empty()).then(|| format!("The harness's own share of CPU time: {}.", and(&parts)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;

    #[test]
    fn a_hundredth_is_noted_with_its_size_and_less_is_one_sentence() {
        let mut run = Synthetic { threads: vec![1], ..Default::default() }.run();
        assert_eq!((sentence(&run), problems(&run)), (None, Vec::new()), "runs of before");
        let own = |case, slices_own_ns, windows_own_ns| OwnShare {
            case,
            slices_own_ns,
            slices_cpu_ns: 10_000,
            windows_own_ns,
            windows_cpu_ns: 10_000,
        };
        run.record.own_cost = vec![own(0, 20, 10), own(1, 40, 10)];
        let said = sentence(&run).unwrap();
        assert_eq!(
            said,
            "The harness's own share of CPU time: 0.2 % to 0.4 % in slices and 0.1 % in windows."
        );
        assert_eq!(problems(&run), Vec::new());
        run.record.own_cost.push(own(2, 40, 250));
        let [noted] = &problems(&run)[..] else { panic!("one is dear") };
        assert_eq!((noted.id, noted.case), ("harness_share", 2));
        assert!(noted.statement.text.contains(": 2.5 % of its windows is"), "{}", noted.statement.text);
    }
}
