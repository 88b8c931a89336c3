//! What receivers and devices did not do: deliver, spare copies that were asked to be spared, poll, gather.

use crate::answer::CellRef;
use crate::cells::Cells;
use crate::compare::study::HEADLINES;
use crate::problem::{Problem, ProblemKind};
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_measure::probe::transfer::axes::RECEIVER;
use syscost_measure::receiver::{self, options};

/// The figure that stands for a case as a whole.
const HEADLINE: &str = HEADLINES[0];
const UNCOPIED: &str = "uncopied_fraction";
const FLAGGED: &str = "copied_fraction";
/// From it on nothing was copied: a few bytes at the ends of a stream are no problem.
const ALL: f64 = 0.99;

pub fn problems(run: &Run, cells: &Cells) -> Vec<Problem> {
    let cases = run.record.plan.cases.iter().filter(|case| case.twin_of.is_none());
    cases.flat_map(|case| of_case(run, cells, case)).collect()
}

fn of_case(run: &Run, cells: &Cells, case: &Case) -> Vec<Problem> {
    let figure = |metric| cells.cell(case.index, metric).map(|cell| cell.estimate.value);
    let setting = |id: &str| run.record.settings.get(&case.index)?.get(id).cloned();
    let is = |id: &str, value: &str| setting(id).is_some_and(|set| set == value);
    let mut kinds = Vec::new();
    if let Some(receive) = case.point.text(RECEIVER).and_then(receiver::find) {
        if !receive.delivers() && figure(HEADLINE).is_some() {
            kinds.push((ProblemKind::NotDelivered, HEADLINE));
        }
        let uncopied = figure(UNCOPIED).filter(|share| *share < ALL && receive.copies_because().is_some());
        let receiver = receive.about().id;
        let kind = |uncopied| (ProblemKind::ReceiveCopied { receiver, copied: 1.0 - uncopied }, UNCOPIED);
        kinds.extend(uncopied.map(kind));
    }
    if is(&format!("receiver.{}", options::NAPI_ID), "0") {
        kinds.push((ProblemKind::NothingToPoll, HEADLINE));
    }
    if figure(FLAGGED).is_some() && is("sender_scatter_gather", "off") {
        kinds.push((ProblemKind::NoScatterGather, FLAGGED));
    }
    let case = case.index;
    let problem = |(kind, metric)| Problem { kind, case, cells: vec![CellRef { case, metric }] };
    kinds.into_iter().map(problem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use syscost_core::axis::Value;

    fn found(run: &Run) -> Vec<(usize, ProblemKind)> {
        problems(run, &Cells::of(run)).into_iter().map(|problem| (problem.case, problem.kind)).collect()
    }

    fn run() -> Run {
        Synthetic { rounds: 3, ..Default::default() }.run()
    }

    #[test]
    fn copies_that_were_to_be_spared_are_named_with_their_share() {
        let mut run = run();
        for sample in run.samples.iter_mut().filter(|sample| sample.case < 2) {
            let uncopied = sample.bytes * [0.75, 1.0][sample.case];
            sample.quantities.insert("receiver_uncopied_bytes".into(), Some(uncopied));
        }
        assert_eq!(found(&run), [], "a receiver that asked for nothing");
        let receiver = receiver::ALL.iter().find(|r| r.copies_because().is_some()).unwrap().about().id;
        for case in &mut run.record.plan.cases {
            case.point.set("receiver", Value::text(receiver));
        }
        assert_eq!(found(&run), [(0, ProblemKind::ReceiveCopied { receiver, copied: 0.25 })]);
    }

    #[test]
    fn bounds_idle_polling_and_devices_that_cannot_gather_are_named() {
        let mut run = run();
        let bound = receiver::ALL.iter().find(|r| !r.delivers()).unwrap().about().id;
        run.record.plan.cases[2].point.set("receiver", Value::text(bound));
        let key = format!("receiver.{}", options::NAPI_ID);
        run.record.settings.entry(0).or_default().set(&key, "8193".into());
        run.record.settings.entry(1).or_default().set(&key, "0".into());
        run.record.settings.entry(3).or_default().set("sender_scatter_gather", "off".into());
        let known = [(1, ProblemKind::NothingToPoll), (2, ProblemKind::NotDelivered)];
        assert_eq!(found(&run), known, "case 3 has no completions");
        for sample in run.samples.iter_mut().filter(|sample| sample.case == 3) {
            sample.quantities.insert("sender_completions".into(), Some(1000.0));
            sample.quantities.insert("sender_completions_copied".into(), Some(0.0));
        }
        assert_eq!(found(&run)[2], (3, ProblemKind::NoScatterGather));
    }
}
