//! Synthetic runs that are to be believed, and others.

use super::*;
use crate::synthetic::{self, Synthetic, turn};
use crate::whole::Analysis;
use syscost_experiment::run::SessionConditions;

fn trust(run: &Run) -> Trust {
    Analysis::of(run).trust
}

fn planted() -> Synthetic {
    let cost_ns = |p: &syscost_core::axis::Point| match p.text_at("mechanism") {
        Some("sendmsg") => 1300.0,
        _ => 1000.0,
    };
    Synthetic { cost_ns, noise: 0.005, rounds: 14, twin_every: 4, ..Default::default() }
}

fn fact(trust: &Trust, wanted: fn(&TrustFact) -> bool) -> &TrustReason {
    trust.reasons.iter().find(|reason| wanted(&reason.fact)).unwrap_or_else(|| panic!("{trust:#?}"))
}

#[test]
fn a_quiet_run_that_decides_is_good_and_says_what_was_not_counted() {
    let found = trust(&planted().run());
    assert_eq!(found.level, TrustLevel::Good, "{found:#?}");
    let decided = fact(&found, |fact| matches!(fact, TrustFact::Decided { .. }));
    let TrustFact::Decided { decided, comparisons, .. } = decided.fact else { panic!() };
    assert!(comparisons == 10 && decided >= 8, "over thread counts: {decided} of {comparisons}");
    let TrustFact::Twins { farthest, pairs, .. } =
        fact(&found, |fact| matches!(fact, TrustFact::Twins { .. })).fact
    else {
        panic!()
    };
    assert!(pairs == 8 && farthest < 0.03, "{farthest} of {pairs}");
    fact(&found, |fact| *fact == TrustFact::Counters { present: false });
    fact(&found, |fact| *fact == TrustFact::Ledger { present: false });
}

#[test]
fn noise_few_rounds_steal_and_a_broken_off_run_lower_it() {
    let noisy = trust(&Synthetic { noise: 0.3, rounds: 6, cost_ns: |_| 1000.0, ..planted() }.run());
    assert_eq!(noisy.level, TrustLevel::Poor, "{noisy:#?}");
    let short = trust(&Synthetic { rounds: 2, ..planted() }.run());
    let few = fact(&short, |fact| *fact == TrustFact::FewRounds { rounds: 2, asked: 6 });
    assert_eq!(few.level, TrustLevel::Poor);
    // What is decided after five rounds gets no sixth: a run is not to be doubted for that.
    let early = trust(&Synthetic { rounds: 5, noise: 0.001, ..planted() }.run());
    let is_few = |reason: &TrustReason| matches!(reason.fact, TrustFact::FewRounds { .. });
    assert!(!early.reasons.iter().any(is_few) && early.level == TrustLevel::Good, "{early:#?}");
    let mut run = planted().run();
    run.record.state = State::Interrupted;
    assert_eq!(trust(&run).level, TrustLevel::Fair);
    let before = Conditions { watched_ns: 1, cpus: 2, load_average: Some(0.1), ..Conditions::default() };
    let busy = Conditions { others_share: Some(0.5), steal_share: Some(0.0), ..before.clone() };
    let stolen = Conditions { steal_share: Some(0.2), ..busy.clone() };
    run.record.state = State::Complete;
    for (during, level) in [(busy, TrustLevel::Fair), (stolen, TrustLevel::Poor)] {
        run.record.conditions = vec![SessionConditions { before: before.clone(), during }];
        let found = trust(&run);
        assert_eq!(found.level, level, "{found:#?}");
    }
    let without = trust(&Synthetic { twin_every: 0, ..planted() }.run());
    fact(&without, |fact| *fact == TrustFact::NoTwins);
}

#[test]
fn every_metric_says_what_it_decided_and_the_first_weighs_most() {
    let mut run = planted().run();
    for sample in run.samples.iter_mut() {
        sample.elapsed_ns *= 1.0 + 0.5 * f64::from((sample.round * 7 + sample.case as u32 * 3) % 5);
    }
    let found = trust(&run);
    let of = |wanted: &str| {
        let fact = found.reasons.iter().find_map(|reason| match reason.fact {
            TrustFact::Decided { metric, decided, comparisons, .. } if metric == wanted => {
                Some((reason.level, decided * 10 / comparisons))
            }
            _ => None,
        });
        fact.unwrap_or_else(|| panic!("{found:#?}"))
    };
    assert!(matches!(of("total_cpu_ns_per_byte"), (TrustLevel::Good, 8..)), "{found:#?}");
    assert_eq!(of("throughput"), (TrustLevel::Fair, 0));
    assert_eq!(found.level, TrustLevel::Fair);
    let twins = |metric: &str| {
        found
            .reasons
            .iter()
            .any(|reason| matches!(&reason.fact, TrustFact::Twins { metric: of, .. } if *of == metric))
    };
    assert!(
        twins("total_cpu_ns_per_byte") && !twins("throughput"),
        "by windows their interval is too narrow"
    );
}

#[test]
fn slices_that_cost_far_more_than_a_steady_stream_need_care() {
    let of = |cost: f64| {
        let mut run = planted().run();
        let cases: Vec<usize> = run.record.plan.cases.iter().map(|case| case.index).collect();
        for round in 0..12 {
            let row = |case: &usize| turn(0, round, 0, *case, cost + f64::from(round % 3) / 10.0);
            run.slices.saw(&cases.iter().map(row).collect::<Vec<_>>());
        }
        trust(&run)
    };
    let apart = |found: &Trust| {
        let fact = found.reasons.iter().find(|r| matches!(r.fact, TrustFact::SlicesApart { .. }));
        fact.map(|reason| reason.level)
    };
    assert_eq!(apart(&of(1200.0)), None);
    assert_eq!(apart(&of(3000.0)), Some(TrustLevel::Fair));
}

/// Each of them has a narrow interval.
#[test]
fn rows_whose_level_changes_need_care_however_narrow_their_intervals() {
    let mut run = synthetic::clocks(40, None, 20.0);
    assert_eq!(trust(&run).level, TrustLevel::Good, "{:#?}", trust(&run));
    for sample in run.samples.iter_mut() {
        let level = if sample.round < 8 { 31.0 } else { 20.0 };
        sample.quantities.insert("low_ns".into(), Some(level + 0.01 * f64::from(sample.round % 3)));
    }
    let found = trust(&run);
    let unsteady = fact(&found, |fact| matches!(fact, TrustFact::Unsteady { .. }));
    assert_eq!((unsteady.level, found.level), (TrustLevel::Fair, TrustLevel::Fair));
}

#[test]
fn rows_that_stand_by_themselves_are_mostly_as_precise_as_asked_or_need_care() {
    let mut run = synthetic::clocks(10, None, 20.0);
    assert_eq!(trust(&run).level, TrustLevel::Good, "{:#?}", trust(&run));
    let cases = run.record.plan.cases.len();
    let wide = |run: &mut Run, case: usize| {
        for sample in run.samples.iter_mut().filter(|sample| sample.case == case) {
            sample.quantities.insert("low_ns".into(), Some(20.0 + 9.0 * f64::from(sample.round * 7 % 10)));
        }
    };
    (0..cases / 2).for_each(|case| wide(&mut run, case));
    assert_eq!(trust(&run).level, TrustLevel::Good, "half of them");
    (cases / 2..cases).for_each(|case| wide(&mut run, case));
    let found = trust(&run);
    let asked = run.record.spec.precision;
    fact(&found, |fact| matches!(fact, TrustFact::Imprecise { .. }));
    let all = TrustFact::Imprecise { cases, of: cases, asked };
    assert!(found.level == TrustLevel::Fair && found.reasons[0].fact == all, "{found:#?}");
    // One that was refused is no less precise than any.
    let mut refused = run.clone();
    refused.samples = run.samples.iter().filter(|s| s.case >= cases / 2).cloned().collect::<Vec<_>>().into();
    let of = cases - cases / 2;
    let found = trust(&refused);
    assert!(
        found.reasons.iter().any(|r| r.fact == TrustFact::Imprecise { cases: of, of, asked }),
        "{found:#?}"
    );
    let alone = Synthetic { mechanisms: vec!["send"], rounds: 1, ..planted() }.run();
    assert_eq!(trust(&alone).level, TrustLevel::Poor, "nothing is compared: one round is too few");
}

#[test]
fn a_run_without_samples_is_not_to_be_believed() {
    let found = trust(&Synthetic { rounds: 0, ..planted() }.run());
    let reason = TrustReason { level: TrustLevel::Poor, fact: TrustFact::NoSamples };
    assert_eq!((found.level, &found.reasons[..]), (TrustLevel::Poor, &[reason][..]));
}
