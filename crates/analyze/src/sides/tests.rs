//! Sides of known truth: who is called worse, who is refused.

use super::facts::{Incomparable, differing, refusal};
use super::*;
use crate::synthetic::Synthetic;
use syscost_core::stats::random::Random;
use syscost_host::Fact;

/// Runs that scatter by 5 %, of one boot each side.
fn side(name: &str, runs: usize, boot: &str, factor: f64) -> Vec<RunFigures> {
    let mut random = Random::new(name.len() as u64);
    let run = |number| {
        let mut run = Synthetic { rounds: 4, ..Default::default() }.run();
        run.record.id = format!("{name}-{number}");
        let fact = |id: &str, value: &str| Fact {
            id: id.into(),
            title: id.into(),
            value: Some(value.into()),
            source: String::new(),
        };
        run.record.host = vec![fact(BOOT, boot), fact("kernel_release", boot), fact("cpu_model", "x")];
        let mut figures = RunFigures::of(&run);
        let by = factor * (0.05 * random.normal()).exp();
        figures.figures.values_mut().for_each(|(_, value)| *value *= by);
        figures
    };
    (0..runs).map(run).collect()
}

#[test]
fn a_planted_slowdown_is_worse_and_identical_runs_are_not() {
    let base = side("base", 8, "one", 1.0);
    let planted = SideComparison::of(&base, &side("candidate", 8, "one", 1.3));
    assert_eq!((planted.replicate, planted.replicates), (Replicate::Run, [8, 8]));
    assert!(!planted.changes.is_empty() && planted.changes.iter().all(|change| change.worse() == Some(true)));
    let (first, second) = base.split_at(4);
    let same = SideComparison::of(first, second);
    assert!(same.changes.iter().all(|change| change.worse().is_none()));
}

#[test]
fn one_boot_a_side_is_undecided_whatever_its_runs() {
    let compared = SideComparison::of(&side("base", 8, "one", 1.0), &side("candidate", 8, "two", 2.0));
    assert_eq!((compared.replicate, compared.replicates), (Replicate::Boot, [1, 1]));
    assert!(!compared.changes.is_empty());
    assert!(compared.changes.iter().all(|change| change.decision.verdict == Verdict::Undecided));
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let base = side("base", 2, "one", 1.0);
    let changed = |change: fn(&mut Record)| {
        let mut candidate = side("candidate", 2, "one", 1.0);
        candidate.iter_mut().for_each(|run| change(&mut run.record));
        refusal(&base, &candidate)
    };
    assert_eq!(changed(|_| {}), None);
    assert_eq!(refusal(&base, &base), Some(Incomparable::SameRun { id: "base-0".into() }));
    assert_eq!(changed(|record| record.tool.profile = "debug".into()), Some(Incomparable::DebugBuild));
    assert_eq!(changed(|record| record.spec.quick = true), Some(Incomparable::Quick));
    assert!(matches!(changed(|record| record.plan.cases.clear()), Some(Incomparable::Points { .. })));
}

#[test]
fn facts_that_differ_have_a_cause() {
    let facts = differing(&side("base", 2, "one", 1.0), &side("candidate", 2, "two", 1.0));
    let named: Vec<_> =
        facts.iter().map(|fact| (fact.cause, fact.title.as_str(), fact.base.as_str())).collect();
    assert_eq!(named, [("identity", BOOT, "one"), ("kernel", "kernel_release", "one")]);
}
