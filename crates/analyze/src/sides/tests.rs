//! Sides of known truth: who is called worse, who is refused.

use super::facts::{Incomparable, differing, refusal};
use super::gate::{BudgetState, Budgets, GateAnswer};
use super::*;
use crate::synthetic::{Synthetic, tell, turn};
use syscost_core::stats::random::Random;
use syscost_experiment::run::SliceRow;

/// Runs that scatter by 5 %, of one boot each side.
pub(super) fn side(name: &str, runs: usize, boot: &str, factor: f64) -> Vec<RunFigures> {
    let mut random = Random::new(name.len() as u64);
    let run = |number| {
        let mut run = Synthetic { rounds: 4, ..Default::default() }.run();
        run.record.id = format!("{name}-{number}");
        for (id, value) in [(BOOT, boot), ("kernel_release", boot), ("cpu_model", "x")] {
            tell(&mut run, id, Some(value));
        }
        let mut figures = RunFigures::of(&run);
        let by = factor * (0.05 * random.normal()).exp();
        figures.figures.values_mut().for_each(|figure| figure.cost.value *= by);
        figures
    };
    (0..runs).map(run).collect()
}

/// Of runs side by side the slices of the same pass are compared: what moves between passes cancels, and passes that one run
/// lacks count for neither.
#[test]
fn runs_side_by_side_are_compared_slice_by_slice() {
    let mut random = Random::new(7);
    let mut turn = |factor: f64, side_by_side: bool| {
        let run = || Synthetic { sizes: vec![64], threads: vec![1], ..Default::default() }.run();
        let mut runs = [(1.0, 1, run()), (factor, 3, run())];
        for round in 0..4 {
            // The machine's level moves from pass to pass.
            let levels: Vec<f64> = (0..9).map(|_| random.normal().exp()).collect();
            for (by, every, run) in &mut runs {
                let there = |pass: &usize| *every == 1 || (pass + round as usize) % *every != 0;
                let mut rows = Vec::new();
                // A case that was planned twice is told by both.
                let cases = run.record.plan.cases.len();
                for (pass, case) in
                    (0..9).filter(there).flat_map(|pass| (0..cases).map(move |case| (pass, case)))
                {
                    let spent = 1e5 * levels[pass] * *by * (0.02 * random.normal()).exp();
                    rows.push(turn(1, round, pass as u32, case, spent));
                }
                run.slices.saw(&rows);
                run.record.plan.side_by_side = side_by_side;
            }
        }
        runs.map(|(_, _, run)| RunFigures::of(&run))
    };
    let mut group = |factor: f64, side_by_side: bool| {
        let (mut base, mut candidate) = (Vec::new(), Vec::new());
        for number in 0..6 {
            let [mut old, mut new] = turn(factor, side_by_side);
            old.record.names.turn = Some(format!("turn-{number}"));
            new.record.names.turn = Some(format!("turn-{number}"));
            base.push(old);
            candidate.push(new);
        }
        let compared = SideComparison::of(&base, &candidate);
        assert_eq!(compared.replicate, Replicate::Turn);
        let of_slices = |change: &&Change| change.case < 2;
        compared.changes.iter().filter(of_slices).map(Change::worse).collect::<Vec<_>>()
    };
    assert_eq!(group(1.05, true), [Some(true); 2]);
    assert_eq!(group(1.0, true), [None; 2]);
    assert_eq!(group(1.05, false), [None; 2], "by whole runs the level hides it");
}

/// A drift that is far larger than the difference cancels in pairs of runs that were measured next to each other.
#[test]
fn runs_that_took_turns_are_compared_turn_by_turn() {
    let turns = |name: &str, factor: f64, group: &str| {
        let mut runs = side(name, 6, "one", factor);
        for (number, run) in runs.iter_mut().enumerate() {
            run.record.names.turn = Some(format!("{group}-{number}"));
            let drift = [1.0, 1.5, 0.7, 1.9, 1.2, 0.8][number];
            run.figures.values_mut().for_each(|figure| figure.cost.value *= drift);
        }
        runs
    };
    let base = turns("base", 1.0, "a");
    let paired = SideComparison::of(&base, &turns("candidate", 1.3, "a"));
    assert_eq!((paired.replicate, paired.replicates), (Replicate::Turn, [6, 6]));
    assert!(!paired.changes.is_empty() && paired.changes.iter().all(|change| change.worse() == Some(true)));
    let apart = SideComparison::of(&base, &turns("candidate", 1.3, "b"));
    assert_eq!(apart.replicate, Replicate::Run);
    assert!(apart.changes.iter().all(|change| change.worse().is_none()));
    let fewer = SideComparison::of(&base, &turns("candidate", 1.3, "a")[..2]);
    assert_eq!((fewer.replicate, fewer.replicates), (Replicate::Turn, [2, 2]));
    let mut mixed = turns("candidate", 1.3, "a");
    mixed[0].record.names.turn = None;
    assert_eq!(SideComparison::of(&base, &mixed).replicate, Replicate::Run);
}

/// Runs whose level differs by halves, each with slices of rivals in turns; the last rival costs so many times more.
fn with_slices(name: &str, factor: f64) -> Vec<RunFigures> {
    let run = |number: usize| {
        let (sizes, threads) = (vec![64], vec![1]);
        let mut run = Synthetic { sizes, threads, rounds: 4, twin_every: 0, ..Default::default() }.run();
        run.record.id = format!("{name}-{number}");
        let level = 1000.0 * [1.0, 1.4, 0.8, 1.5, 0.7][number] * (1.0 + 0.002 * name.len() as f64);
        for round in 0..4 {
            let row = |pass: u32, case: usize| {
                let cost =
                    level * if case == 2 { factor } else { 1.0 } * (1.0 + 0.001 * (number * case) as f64);
                turn(0, round, pass, case, cost)
            };
            let rows: Vec<SliceRow> =
                (0..4).flat_map(|pass| (0..3).map(move |case| row(pass, case))).collect();
            run.slices.saw(&rows);
        }
        RunFigures::of(&run)
    };
    (0..5).map(run).collect()
}

/// The level of a run is shared by rivals that took turns, so it cancels; a comparison of costs has to live with it.
#[test]
fn a_ratio_to_a_rival_shows_what_costs_that_scatter_hide() {
    let base = with_slices("base", 1.0);
    let compared = SideComparison::of(&base, &with_slices("candidate", 1.2));
    let dear = |change: &Change| change.worse() == Some(true);
    let found: Vec<&Change> = compared.rivals.iter().filter(|change| dear(change)).collect();
    assert_eq!((compared.rivals.len(), found.len()), (2, 1), "{:?}", compared.rivals);
    assert_eq!((found[0].case, found[0].against), (2, Some(1)));
    assert!((1.18..1.22).contains(&found[0].decision.ratio), "{:?}", found[0].decision);
    assert!(
        !compared.changes.iter().any(dear) && compared.changes.iter().all(|change| change.against.is_none())
    );
    let same = SideComparison::of(&base, &with_slices("other", 1.0));
    assert!(same.rivals.iter().all(|change| change.worse().is_none()));
    let gate = GateAnswer::of(&base, &with_slices("candidate", 1.2), &five_percent());
    assert_eq!(gate.judged.len(), compared.changes.len(), "budgets are of costs");
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
    assert_eq!(changed(|record| record.spec.quick = true), None);
}

#[test]
fn facts_that_differ_have_a_cause() {
    let facts = differing(&side("base", 2, "one", 1.0), &side("candidate", 2, "two", 1.0));
    let named: Vec<_> =
        facts.iter().map(|fact| (fact.cause, fact.title.as_str(), fact.base.as_str())).collect();
    assert_eq!(named, [("identity", BOOT, "one"), ("kernel", "kernel_release", "one")]);
}

/// Three builds, none of which both sides have, were told as no difference.
#[test]
fn binaries_that_no_two_sides_share_differ() {
    let of = |name: &str, binaries: [&str; 2]| {
        let mut runs = side(name, 2, "one", 1.0);
        runs.iter_mut().zip(binaries).for_each(|(run, sha)| run.record.tool.binary_sha256 = sha.into());
        runs
    };
    let told = |candidate| {
        let facts = differing(&of("base", ["a", "a"]), &of("candidate", candidate));
        facts.iter().map(|fact| fact.title.clone()).collect::<Vec<_>>()
    };
    assert_eq!(told(["b", "c"]), ["binary of syscost"]);
    assert!(told(["a", "b"]).is_empty(), "one build is on both sides");
}

/// What two runs of an unchanged machine measure a little otherwise is no difference, and what passes is none.
#[test]
fn facts_that_each_run_measures_differ_by_a_fourth_or_not_at_all() {
    let told = |id: &str, values: [&str; 2]| {
        let [base, candidate] = values.map(|value| {
            let mut runs = side(value, 1, "one", 1.0);
            let mut told = Synthetic { rounds: 0, ..Default::default() }.run();
            tell(&mut told, id, Some(value));
            runs[0].record.host.extend(told.record.host);
            runs
        });
        !differing(&base, &candidate).is_empty()
    };
    assert!(
        !told("core_hertz", ["3691399040", "3692762186"]) && told("core_hertz", ["3691399040", "2600000000"])
    );
    assert!(!told("clock_reading_ns", ["22.3", "20.1"]) && told("clock_reading_ns", ["22.3", "120.0"]));
    assert!(!told("uptime_seconds", ["6244", "7255"]) && !told("tick_counter_difference_ppm", ["0", "1"]));
    assert!(told("cpu_governor", ["powersave", "performance"]), "it is a setting");
}

/// A setting of the namespace that syscost was started in is not one that a pair of namespaces was measured with.
#[test]
fn settings_of_the_network_are_those_that_were_in_force_where_it_was_measured() {
    let told = |here: [&str; 2], there: [&str; 2], carried: [&str; 2]| {
        let [base, candidate] = [0, 1].map(|side| {
            let mut runs = self::side(here[side], 1, "one", 1.0);
            let mut run = Synthetic { rounds: 0, ..Default::default() }.run();
            tell(&mut run, "tcp_sack", Some(here[side]));
            runs[0].record.host.extend(run.record.host);
            let settings = runs[0].record.settings.entry(0).or_default();
            for id in ["tcp_sack", "receiver_tcp_sack"] {
                settings.set(id, there[side].into());
            }
            settings.set("carried_settings", carried[side].into());
            runs
        });
        let facts = differing(&base, &candidate);
        facts.into_iter().map(|fact| format!("{}: {} -> {}", fact.title, fact.base, fact.candidate)).collect()
    };
    let none: [String; 0] = [];
    let said: Vec<String> = told(["1", "0"], ["1", "1"], ["", ""]);
    assert_eq!(said, none, "both were measured alike");
    let said: Vec<String> = told(["1", "1"], ["1", "0"], ["", "net.ipv4.tcp_sack=0"]);
    assert_eq!(said, ["tcp_sack: 1 -> 0"], "the start was the same, and the measurement was not");
    let lowat = "net.ipv4.tcp_notsent_lowat=16384";
    let said: Vec<String> = told(["1", "1"], ["1", "1"], ["", lowat]);
    assert_eq!(said, [format!("other settings of the network: the kernel's own -> {lowat}")]);
}

fn five_percent() -> Budgets {
    Budgets { others: Some(0.05), ..Budgets::default() }
}

/// The runs, each at so many times its cost.
fn scaled(runs: &[RunFigures], mut by: impl FnMut() -> f64) -> Vec<RunFigures> {
    let mut runs = runs.to_vec();
    for run in &mut runs {
        run.figures.values_mut().for_each(|figure| figure.cost.value *= by());
    }
    runs
}

#[test]
fn a_gate_is_decided_by_whole_intervals() {
    let base = side("base", 8, "one", 1.0);
    let dear = GateAnswer::of(&base, &side("candidate", 8, "one", 1.4), &five_percent());
    let cheap = GateAnswer::of(&base, &side("candidate", 8, "one", 0.7), &five_percent());
    let one_run = GateAnswer::of(&base, &side("candidate", 1, "one", 1.4), &five_percent());
    let states = [dear.state(), cheap.state(), one_run.state()];
    assert_eq!(states, [BudgetState::Exceeded, BudgetState::Within, BudgetState::Undecided]);
    let decision = dear.judged[0].change.decision;
    assert!((1.2..1.6).contains(&decision.ratio) && decision.low > 1.05, "told of the base: {decision:?}");
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
    let slow = Stratum { base: vec![3.0], candidate: vec![2.0], ..Stratum::default() };
    assert_eq!(gate::of_cost(&slow, Better::Higher).candidate, [-2.0]);
    assert_eq!(gate::of_cost(&slow, Better::Lower).candidate, [2.0]);
}

/// Identical sides, case after case: in one comparison of twenty at most is any case called worse or better.
#[test]
fn a_comparison_errs_in_one_of_twenty_and_sees_what_is_plain() {
    const COMPARED: usize = 1_000;
    // One in a thousand simulations is beyond it by chance.
    const MOST_FALSE: usize = 72;
    let one = side("base", 1, "one", 1.0);
    let plain: Vec<RunFigures> = (0..6).map(|_| one[0].clone()).collect();
    let mut random = Random::new(31);
    let mut count = |growth: f64| {
        let mut told = 0;
        for _ in 0..COMPARED {
            let base = scaled(&plain, || (0.05 * random.normal()).exp());
            let candidate = scaled(&plain, || growth * (0.05 * random.normal()).exp());
            let compared = SideComparison::of(&base, &candidate);
            told += usize::from(compared.changes.iter().any(|change| change.worse().is_some()));
        }
        told
    };
    let (falsely, plainly) = (count(1.0), count(1.3));
    assert!(falsely <= MOST_FALSE && plainly > COMPARED * 9 / 10, "{falsely} false, {plainly} seen");
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
        let cases = plain[0].figures.len();
        // The growth of the first case, and of all others.
        let mut count = |growth: f64, others: f64| {
            let (mut exceeded, mut within) = (0, 0);
            for _ in 0..GATES {
                let base = scaled(&plain, || (0.05 * random.normal()).exp());
                let mut figure = 0;
                let candidate = scaled(&plain, || {
                    let growth = if figure % cases == 0 { growth } else { others };
                    figure += 1;
                    growth * (0.05 * random.normal()).exp()
                });
                match GateAnswer::of(&base, &candidate, &five_percent()).state() {
                    BudgetState::Exceeded => exceeded += 1,
                    BudgetState::Within => within += 1,
                    BudgetState::Undecided => {}
                }
            }
            (exceeded, within)
        };
        let at_budget = count(1.05, 1.05);
        assert!(at_budget.0 <= MOST_FALSE && at_budget.1 <= MOST_FALSE, "{runs} runs: {at_budget:?}");
        // All but one are far below: what is said of all is as good as that one.
        let one_at_budget = count(1.05, 0.5);
        assert!(one_at_budget.1 <= MOST_FALSE, "{runs} runs: {one_at_budget:?}");
        let (far_over, far_under) = (count(1.4, 1.4).0, count(0.75, 0.75).1);
        assert!(
            runs < 8 || far_over > GATES * 9 / 10 && far_under > GATES * 9 / 10,
            "{far_over} {far_under}"
        );
    }
}

/// One run of a side decides nothing; what was planted stands out of the scatter, and where nothing was, next to nothing does.
#[test]
fn what_one_run_of_a_side_shows_is_told_and_not_decided() {
    let mut random = Random::new(11);
    let mut seen = |planted: f64| {
        let mut one = |id: &str, planted: f64| {
            let mut run = Synthetic { rounds: 4, ..Default::default() }.run();
            run.record.id = id.into();
            let mut figures = RunFigures::of(&run);
            for (at, figure) in figures.figures.values_mut().enumerate() {
                let by = (0.03 * random.normal()).exp() * if at == 3 { planted } else { 1.0 };
                let value = figure.cost.value * by;
                figure.cost =
                    Estimate { value, low: value * 0.99, high: value * 1.01, level: 0.95, ..figure.cost };
            }
            vec![figures]
        };
        let (base, candidate) = (one("base", 1.0), one("candidate", planted));
        let compared = SideComparison::of(&base, &candidate);
        assert!(compared.changes.iter().all(|change| change.worse().is_none()));
        let single = single::SingleRuns::of(&compared, &base, &candidate).unwrap();
        let ratios: Vec<f64> =
            single.standing_out.iter().map(|at| compared.changes[*at].decision.ratio).collect();
        (ratios, single.runs_wanted)
    };
    let truths: Vec<_> = (0..50).map(|_| seen(2.0)).collect();
    assert!(truths.iter().all(|(ratios, _)| ratios.iter().any(|ratio| (1.7..2.3).contains(ratio))));
    assert!(truths.iter().all(|(_, runs)| (4..40).contains(runs)), "of a scatter of 3 %: {truths:?}");
    let false_ones = (0..50).filter(|_| !seen(1.0).0.is_empty()).count();
    assert!(false_ones <= 3, "{false_ones} of 50");
    let twice = [side("base", 2, "one", 1.0), side("candidate", 2, "one", 1.0)];
    let compared = SideComparison::of(&twice[0], &twice[1]);
    assert_eq!(single::SingleRuns::of(&compared, &twice[0], &twice[1]), None, "replicates decide");
}

/// An axis that one side's version did not have, and cases that it was not asked for, block nothing that both have.
#[test]
fn what_both_sides_have_is_compared_and_a_gate_misses_what_the_base_had() {
    let base = side("base", 6, "one", 1.0);
    let mut candidate = side("candidate", 6, "one", 1.0);
    let all = SideComparison::of(&base, &candidate).changes.len();
    let lost = base[0].figures.keys().next().unwrap().clone();
    candidate.iter_mut().for_each(|run| drop(run.figures.remove(&lost)));
    let compared = SideComparison::of(&base, &candidate);
    assert_eq!((compared.changes.len(), &compared.one_sided), (all - 1, &[vec![lost.clone()], vec![]]));
    assert_eq!(GateAnswer::of(&base, &candidate, &five_percent()).lost, [lost]);
    assert_eq!(GateAnswer::of(&candidate, &base, &five_percent()).lost, []);
    let mut run = Synthetic { rounds: 2, ..Default::default() }.run();
    let before = RunFigures::of(&run);
    let probe = run.record.plan.cases[0].probe.clone();
    let default = probe::find(&probe).unwrap().axes().into_iter().find(|axis| {
        run.record.plan.cases[0].point.iter().all(|(id, _)| id.as_str() != axis.id)
            && axis.default().iter().any(|value| axis.is_default(value))
    });
    let axis = default.expect("an axis that synthetic runs have not");
    for case in &mut run.record.plan.cases {
        case.point.set(axis.id, axis.default()[0].clone());
    }
    let after = RunFigures::of(&run);
    assert!(before.figures.keys().eq(after.figures.keys()), "a default of {} that was added since", axis.id);
}
