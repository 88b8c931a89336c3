//! What is due in which round, and when a case is done.

use super::*;
use syscost_core::axis::Point;

/// One case of three rounds at most, and two at least.
fn spec() -> (Spec, Plan) {
    let mut spec = Spec::named("os").expect("built in");
    spec.probes.truncate(1);
    (spec.min_rounds, spec.max_rounds) = (2, 3);
    let plan = Plan::make_within(&spec, None).expect("a plan");
    (spec, plan)
}

fn sample(marks: &[&str]) -> Sample {
    let marks = marks.iter().map(|mark| mark.to_string()).collect();
    Sample { verified: true, marks, ..Sample::default() }
}

#[test]
fn a_round_of_which_nothing_is_used_is_made_up_for() {
    let (spec, plan) = spec();
    let mut schedule = RoundSchedule::new(&plan, &spec);
    let (clean, marked) = (sample(&[]), sample(&["stopped"]));
    schedule.measured(0, 0, &[&marked, &marked]);
    assert!(schedule.has_rounds(0) && !schedule.due(0).contains(&0), "it ran in this round");
    schedule.measured(0, 1, &[&marked, &clean]);
    assert!(schedule.due(2).contains(&0), "one usable round of two");
    schedule.measured(0, 2, &[&clean, &clean]);
    assert!(!schedule.due(3).contains(&0), "as many as asked for, and nothing in them varies");
}

#[test]
fn rows_that_are_compared_are_visited_one_after_the_other_in_random_order() {
    let spec = Spec::named("os").expect("built in");
    let plan = Plan::make_within(&spec, None).expect("a plan");
    let schedule = RoundSchedule::new(&plan, &spec);
    let due: Vec<usize> = (0..schedule.blocks.len()).collect();
    let orders: Vec<Vec<usize>> = (0..20).map(|round| schedule.order(round, &due)).collect();
    for order in &orders {
        let mut groups: Vec<usize> = order.iter().map(|block| schedule.neighbours[*block]).collect();
        groups.dedup();
        assert_eq!(groups.len(), groups.iter().collect::<BTreeSet<_>>().len(), "a group in two places");
    }
    let named = |point: &Point| point.text_at("between").map(str::to_string);
    let between = |which: &str| {
        let is = |block: &usize| named(&plan.cases[schedule.blocks[*block].cases[0]].point);
        let place = |order: &Vec<usize>| order.iter().position(|b| is(b).as_deref() == Some(which));
        orders.iter().map(place).collect::<Vec<_>>()
    };
    let pairs = between("thread").into_iter().zip(between("process"));
    let thread_first = pairs.filter(|(thread, process)| thread < process).count();
    assert!((3..=17).contains(&thread_first), "one of two comes first in {thread_first} of 20 rounds");
}

#[test]
fn a_case_is_done_once_when_it_is_settled_and_precise_or_the_run_ends() {
    let mut spec = Spec::named("transfer").expect("a probe");
    let named = [("path", "loopback"), ("size", "64"), ("threads", "1"), ("mechanism", "send,sendmsg")];
    named.iter().for_each(|(flag, value)| spec.set_axis(flag, &[value]).expect("valid"));
    let plan = Plan::make_within(&spec, None).expect("a plan");
    let mut schedule = RoundSchedule::new(&plan, &spec);
    assert!(schedule.block(0).in_turns() && schedule.newly_done(false).is_empty());
    for round in 0..spec.min_rounds {
        (0..3).for_each(|case| schedule.took_turn(case, round));
    }
    assert_eq!(schedule.newly_done(false), [], "nothing is settled");
    schedule.settle(&BTreeSet::from([1]));
    let rounds = spec.min_rounds as usize;
    assert_eq!(schedule.newly_done(false), [(1, rounds)], "racing settled it");
    schedule.settle(&BTreeSet::new());
    assert_eq!(schedule.newly_done(false), [], "a look reopened it");
    assert_eq!(schedule.newly_done(true), [(0, rounds), (2, rounds)], "the run ends");
    assert_eq!(schedule.newly_done(true), []);
}

/// Comparisons that no time decides kept a settled rival at four rounds, two of them with windows, to the end of a run.
#[test]
fn a_settled_rival_that_is_not_precise_plays_one_round_of_four_with_windows() {
    let mut spec = Spec::named("transfer").expect("a probe");
    let named = [("path", "loopback"), ("size", "64"), ("threads", "1"), ("mechanism", "send,sendmsg")];
    named.iter().for_each(|(flag, value)| spec.set_axis(flag, &[value]).expect("valid"));
    let plan = Plan::make_within(&spec, None).expect("a plan");
    let mut schedule = RoundSchedule::new(&plan, &spec);
    let rival = schedule.block(0).cases[schedule.block(0).controls];
    for (case, round) in (0..3).flat_map(|case| (0..4).map(move |round| (case, round))) {
        schedule.saw_slices(case, 1e4 * f64::from(1 + round), 1e4);
        schedule.took_turn(case, round);
    }
    schedule.settle(&BTreeSet::from([rival]));
    let plays = |round: &u32| schedule.players(schedule.block(0), *round).contains(&rival);
    let rounds: Vec<u32> = (4..20).filter(plays).collect();
    assert_eq!(rounds, [6, 10, 14, 18]);
    (0..3).for_each(|case| schedule.cases[case].has_windows = true);
    assert!(rounds.iter().all(|round| schedule.wants_windows(&[rival], *round)));
}

#[test]
fn a_machine_that_is_always_disturbed_comes_to_an_end() {
    let (spec, plan) = spec();
    let mut schedule = RoundSchedule::new(&plan, &spec);
    let marked = sample(&["steal"]);
    for round in 0..5 {
        assert!(schedule.due(round).contains(&0), "round {round}");
        schedule.measured(0, round, &[&marked]);
    }
    schedule.measured(0, 5, &[&marked]);
    assert!(!schedule.due(6).contains(&0), "twice the three rounds asked for");
}

/// On a loaded machine 83 rows had a round or two each, and none a figure.
#[test]
fn a_quick_run_on_a_slow_machine_keeps_fewer_rows_and_those_that_are_asked_about() {
    let mut spec = Spec::named("os").expect("built in");
    spec.set_quick();
    let plan = Plan::make_within(&spec, None).expect("a plan");
    let mut schedule = RoundSchedule::new(&plan, &spec);
    let limit = spec.time_limit();
    let all = schedule.affordable(limit);
    assert_eq!(all.len(), schedule.blocks.len(), "what was planned for fits");
    for block in 0..schedule.blocks.len() / 4 {
        let planned = plan.visit_time(&schedule.blocks[block], &spec);
        schedule.took(block, planned * 4);
    }
    let left = schedule.affordable(limit);
    assert!(left.len() * 3 < all.len() * 2, "{} of {}", left.len(), all.len());
    let told = |block: &usize| {
        let case = &plan.cases[schedule.blocks[*block].cases[0]];
        probe::find(&case.probe)
            .and_then(|probe| probe.row(&case.point))
            .is_some_and(|row| row.told_as.is_some())
    };
    assert!(left.iter().any(told) && all.difference(&left).filter(|block| told(block)).count() < left.len());
}
