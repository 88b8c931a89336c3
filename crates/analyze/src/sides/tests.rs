//! Sides of known truth: who is called worse, who is refused.

use super::facts::{Incomparable, differing, refusal};
use super::gate::{BudgetState, Budgets, GateAnswer};
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

fn five_percent() -> Budgets {
    Budgets { others: Some(0.05), ..Budgets::default() }
}

/// The runs, each at so many times its cost.
fn scaled(runs: &[RunFigures], mut by: impl FnMut() -> f64) -> Vec<RunFigures> {
    let mut runs = runs.to_vec();
    for run in &mut runs {
        run.figures.values_mut().for_each(|(_, value)| *value *= by());
    }
    runs
}

#[test]
fn a_gate_is_decided_by_whole_intervals_and_confirmed_by_another_group() {
    let base = side("base", 8, "one", 1.0);
    let dear = GateAnswer::of(&base, &side("candidate", 8, "one", 1.4), &five_percent());
    let cheap = GateAnswer::of(&base, &side("candidate", 8, "one", 0.7), &five_percent());
    let one_run = GateAnswer::of(&base, &side("candidate", 1, "one", 1.4), &five_percent());
    let states = [dear.state(), cheap.state(), one_run.state()];
    assert_eq!(states, [BudgetState::Exceeded, BudgetState::Within, BudgetState::Undecided]);
    let decision = dear.judged[0].change.decision;
    assert!((1.2..1.6).contains(&decision.ratio) && decision.low > 1.05, "told of the base: {decision:?}");
    assert_eq!(dear.clone().confirmed_by(&dear).state(), BudgetState::Exceeded);
    assert_eq!(dear.confirmed_by(&cheap).state(), BudgetState::Undecided);
}

#[test]
fn a_case_has_the_budget_of_its_kind() {
    let base = side("base", 8, "one", 1.0);
    let candidate = side("candidate", 8, "one", 1.4);
    let of = |kind: &str, share| Budgets { named: [(kind.to_string(), share)].into(), ..five_percent() };
    assert_eq!(GateAnswer::of(&base, &candidate, &of("cpu", 0.9)).state(), BudgetState::Within);
    assert_eq!(GateAnswer::of(&base, &candidate, &of("transfer", 0.9)).state(), BudgetState::Within);
    assert_eq!(GateAnswer::of(&base, &candidate, &of("timer", 0.9)).state(), BudgetState::Exceeded);
    let alone = GateAnswer::of(&base, &candidate, &Budgets { others: None, ..of("timer", 0.9) });
    assert_eq!((alone.judged.len(), alone.without_budget > 0), (0, true));
}

/// What a budget is exceeded by is dearer: of a rate, a lower one.
#[test]
fn of_a_rate_the_cost_is_what_is_lost() {
    let slow = Stratum { base: vec![3.0], candidate: vec![2.0] };
    assert_eq!(gate::of_cost(&slow, Better::Higher).candidate, [-2.0]);
    assert_eq!(gate::of_cost(&slow, Better::Lower).candidate, [2.0]);
}

/// Where costs have grown by just the budget, either answer is false: each is given in one gate of twenty at most.
#[test]
fn a_gate_errs_in_one_of_twenty_either_way() {
    const GATES: usize = 1_000;
    // One in a thousand simulations is beyond it by chance.
    const MOST_FALSE: usize = 72;
    let same = side("base", 1, "one", 1.0);
    for runs in [3, 8] {
        let plain: Vec<RunFigures> = (0..runs).map(|_| same[0].clone()).collect();
        let mut random = Random::new(23);
        let mut count = |growth: f64| {
            let (mut exceeded, mut within) = (0, 0);
            for _ in 0..GATES {
                let base = scaled(&plain, || (0.05 * random.normal()).exp());
                let candidate = scaled(&plain, || growth * (0.05 * random.normal()).exp());
                match GateAnswer::of(&base, &candidate, &five_percent()).state() {
                    BudgetState::Exceeded => exceeded += 1,
                    BudgetState::Within => within += 1,
                    BudgetState::Undecided => {}
                }
            }
            (exceeded, within)
        };
        let at_budget = count(1.05);
        assert!(at_budget.0 <= MOST_FALSE && at_budget.1 <= MOST_FALSE, "{runs} runs: {at_budget:?}");
        let (far_over, far_under) = (count(1.4).0, count(0.75).1);
        assert!(
            runs < 8 || far_over > GATES * 9 / 10 && far_under > GATES * 9 / 10,
            "{far_over} {far_under}"
        );
    }
}
