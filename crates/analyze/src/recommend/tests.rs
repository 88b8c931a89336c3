//! Synthetic runs with planted winners, crossings and ties.

use super::advice::AdviceRange;
use super::batching::BatchingVerdict;
use super::*;
use crate::answer::CopiedBy;
use crate::compare::winners::Sure;
use crate::synthetic::{Synthetic, audit, batched, turn};
use crate::whole::Analysis;
use syscost_core::axis::Value;
use syscost_experiment::plan::Case;
use syscost_measure::ledger::Counts;

const SIZES: &[u64] = &[64, 1024, 4096, 16384, 65536, 1 << 20];

fn planted(cost_ns: fn(&Point) -> f64) -> Synthetic {
    Synthetic { cost_ns, sizes: SIZES.to_vec(), rounds: 14, noise: 0.01, ..Default::default() }
}

fn recommended(run: &Run) -> Recommendation {
    let recommendation = Analysis::of(run).recommendation;
    // Nobody is told to use what he cannot, and everything told stands on rows and cells of the run.
    for of in &recommendation.situations {
        for advice in &of.advice {
            assert!(!advice.cells.is_empty(), "{advice:?}");
            let ways = advice.ranges.iter().flat_map(|range| {
                let gains =
                    [&range.over_next, &range.over_control].into_iter().flatten().map(|gain| &gain.over);
                let rivals = range.same.iter().chain(&range.undecided).map(|rival| &rival.way);
                let best = range.places.iter().flat_map(|place| &place.best);
                gains.chain(rivals).chain(best).chain([&range.lead])
            });
            for way in ways {
                assert!(of.situation.can_use(way), "{:?} cannot use {way}", of.situation);
            }
        }
    }
    recommendation
}

fn of(recommendation: &Recommendation, situation: Situation) -> &SituationAdvice {
    recommendation.situations.iter().find(|of| of.situation == situation).expect("it was measured")
}

fn name(way: &Point) -> &str {
    way.text(RIVALS).unwrap_or_default()
}

/// `(from, to, way, how sure)`
fn told(ranges: &[AdviceRange]) -> Vec<(u64, u64, &str, Sure)> {
    ranges.iter().map(|range| (range.from, range.to, name(&range.lead), range.sure)).collect()
}

/// Packing is 6 % cheaper up to 4 KiB and 12 % dearer from 64 KiB on; one send of one buffer is always cheapest.
fn crossing(p: &Point) -> f64 {
    let bytes = p.int_at("message_bytes").unwrap();
    let factor = match (name(p), bytes) {
        ("send", _) => 0.8,
        ("pack_send", ..=4096) => 0.94,
        ("pack_send", 65536..) => 1.12,
        _ => 1.0,
    };
    factor * (1000.0 + 0.2 * bytes as f64)
}

#[test]
fn a_planted_crossing_is_an_interval_and_pieces_are_never_sent_as_one_buffer() {
    let run = planted(crossing).run();
    let found = recommended(&run);
    let pieces = of(&found, Situation::Pieces);
    let [advice] = &pieces.advice[..] else { panic!("throughput says the same: {pieces:#?}") };
    assert_eq!((advice.metric, &advice.also[..]), ("total_cpu_ns_per_byte", &["throughput"][..]));
    assert_eq!((&advice.scope.threads[..], advice.scope.messages_per_call), (&[1, 2][..], Some(1)));
    assert_eq!(advice.scope.held.text(PATH), Some("veth"));
    let (first, last) = (&advice.ranges[0], &advice.ranges[advice.ranges.len() - 1]);
    assert_eq!(told(std::slice::from_ref(first))[0].2, "pack_send");
    assert!(first.to >= 4096 && first.to <= 16384 && first.sure == Sure::Best, "{first:?}");
    let (low, high) = first.border.unwrap();
    assert!(low >= 4096 && high <= 65536 && low < high, "{first:?}");
    assert_eq!((name(&last.lead), last.to, last.sure), ("sendmsg", 1 << 20, Sure::Best));
    let gain = first.over_next.as_ref().unwrap();
    assert_eq!((name(&gain.over), gain.significant), ("sendmsg", 3));
    assert!(gain.smallest.ratio.value > 1.03 && gain.largest.ratio.value < 1.10, "{gain:?}");
    assert!(gain.smallest.ratio.low < 1.0 / 0.94 && gain.smallest.ratio.high > 1.05, "{gain:?}");
    assert!(first.over_control.is_none(), "who has pieces cannot use the control");
    assert!(
        found.situations.iter().all(|of| of.situation == Situation::Pieces),
        "one way alone is no answer"
    );
    let next = Caveat::NoDevice { command: "syscost run --path ssh://HOST".into() };
    assert_eq!(found.caveats, [next], "a transfer's other side may be elsewhere");
    let us = first.places[0].us_per_message.unwrap();
    assert!((us.0 - 0.952).abs() < 0.1 && us.0 <= us.1, "{us:?}");
    assert!(matches!(advice.batching, Some(BatchingAdvice::NotMeasured { .. })));
}

#[test]
fn every_row_that_advice_stands_on_is_a_comparison_of_the_run() {
    let run = planted(crossing).run();
    let analysis = Analysis::of(&run);
    let comparisons = &analysis.ways[0].comparisons;
    for row in &of(&analysis.recommendation, Situation::Pieces).advice[0].comparisons {
        assert_eq!((row.a.len(), row.metric), (2, comparisons.metric.id));
        let over =
            comparisons.between(row.a[0], row.b[0]).and_then(|pair| pair.over).expect("both thread counts");
        let pairs = comparisons.over_threads[over].pairs.iter().map(|i| &comparisons.pairs[*i]);
        let (a, b): (Vec<usize>, Vec<usize>) = pairs.map(|pair| (pair.a, pair.b)).unzip();
        assert_eq!((&row.a, &row.b), (&a, &b));
    }
}

#[test]
fn a_tie_is_the_same_and_noise_is_undecided() {
    let tie = recommended(&Synthetic { noise: 0.003, ..planted(|_| 1000.0) }.run());
    let ranges = &of(&tie, Situation::Pieces).advice[0].ranges;
    let [range] = &ranges[..] else { panic!("{ranges:#?}") };
    assert_eq!((range.sure, range.same.len(), range.undecided.len()), (Sure::Same, 1, 0));
    assert_eq!(range.same[0].at, SIZES);
    assert!(range.over_next.is_none());
    let noisy = recommended(&Synthetic { noise: 0.2, rounds: 4, ..planted(|_| 1000.0) }.run());
    let ranges = &of(&noisy, Situation::Pieces).advice[0].ranges;
    assert!(ranges.iter().all(|r| r.sure == Sure::Undecided && r.over_next.is_none()), "{ranges:#?}");
    assert!(ranges.iter().all(|r| r.undecided.len() == 1 && r.same.is_empty()));
}

#[test]
fn an_undecided_place_between_two_with_one_winner_belongs_to_them() {
    let gap = |p: &Point| {
        let bytes = p.int_at("message_bytes").unwrap();
        if name(p) == "sendmsg" && bytes != 4096 { 800.0 } else { 1000.0 }
    };
    let found = recommended(&Synthetic { noise: 0.02, rounds: 8, ..planted(gap) }.run());
    let ranges = &of(&found, Situation::Pieces).advice[0].ranges;
    assert_eq!(told(ranges), [(64, 1 << 20, "sendmsg", Sure::Best)]);
    let rivals = ranges[0].same.iter().chain(&ranges[0].undecided);
    assert_eq!(rivals.map(|rival| rival.at.clone()).collect::<Vec<_>>(), [[4096]]);
}

#[test]
fn opposite_thread_counts_have_advice_each() {
    let opposite = |p: &Point| {
        let odd = p.int_at("threads") == Some(1);
        if (name(p) == "sendmsg") == odd { 700.0 } else { 1000.0 }
    };
    let found = recommended(&planted(opposite).run());
    let advice = &of(&found, Situation::Pieces).advice;
    let of_cpu: Vec<_> = advice.iter().filter(|a| a.metric == "total_cpu_ns_per_byte").collect();
    let by_threads: Vec<_> =
        of_cpu.iter().map(|a| (a.scope.threads.clone(), name(&a.ranges[0].lead), a.ranges.len())).collect();
    assert_eq!(by_threads, [(vec![1], "sendmsg", 1), (vec![2], "pack_send", 1)]);
}

#[test]
fn throughput_is_told_only_where_it_says_something_else() {
    let mut run = planted(|p| if name(p) == "sendmsg" { 700.0 } else { 1000.0 }).run();
    let cases = run.record.plan.cases.clone();
    for sample in &mut run.samples {
        let point = &cases[sample.case].point;
        if point.int_at("message_bytes") == Some(1024) && name(point) == "sendmsg" {
            sample.elapsed_ns *= 2.0;
        }
    }
    let found = recommended(&run);
    let pieces = of(&found, Situation::Pieces);
    let metrics: Vec<(&str, usize)> = pieces.advice.iter().map(|a| (a.metric, a.ranges.len())).collect();
    assert_eq!(metrics, [("total_cpu_ns_per_byte", 1), ("throughput", 3)]);
    let other = &pieces.advice[1].ranges[1];
    assert_eq!((other.from, name(&other.lead)), (1024, "pack_send"));
    assert!(
        other.over_next.as_ref().unwrap().smallest.ratio.value > 1.0,
        "better is above 1 by every metric"
    );
}

/// It was said: only sendmsg, over sizes at which it was not measured and another was.
#[test]
fn places_with_one_way_each_are_not_joined_to_another() {
    let mut run = Synthetic { mechanisms: vec!["pack_send", "sendmsg"], ..planted(crossing) }.run();
    let cases = run.record.plan.cases.clone();
    run.samples.retain(|sample| {
        let point = &cases[sample.case].point;
        (name(point) == "sendmsg") == (point.int_at("message_bytes") == Some(64))
    });
    let found = recommended(&run);
    assert_eq!(
        told(&of(&found, Situation::Pieces).advice[0].ranges),
        [(64, 64, "sendmsg", Sure::Alone), (1024, 1 << 20, "pack_send", Sure::Alone)]
    );
}

#[test]
fn one_mechanism_no_control_and_nothing_usable() {
    let alone = recommended(&Synthetic { mechanisms: vec!["sendmsg"], ..planted(crossing) }.run());
    assert_eq!(
        told(&of(&alone, Situation::Pieces).advice[0].ranges),
        [(64, 1 << 20, "sendmsg", Sure::Alone)]
    );
    let control = recommended(&Synthetic { mechanisms: vec!["send"], ..planted(crossing) }.run());
    assert_eq!(control.situations.len(), 1);
    let without = Synthetic { mechanisms: vec!["pack_send", "sendmsg"], ..planted(crossing) };
    let without = recommended(&without.run());
    assert_eq!(without.situations.len(), 1);
    assert_eq!(of(&without, Situation::Pieces).advice[0].ranges[0].sure, Sure::Best);
    let empty = recommended(&Synthetic { rounds: 0, ..planted(crossing) }.run());
    assert_eq!(empty, Recommendation::default());
}

#[test]
fn who_has_one_buffer_is_told_what_another_way_is_against_the_control() {
    let cheap = |p: &Point| match (name(p), p.int_at("message_bytes").unwrap()) {
        ("send_zerocopy", 65536..) => 500.0,
        ("send_zerocopy", _) => 2000.0,
        _ => 1000.0,
    };
    let run = Synthetic { mechanisms: vec!["send", "send_zerocopy", "sendmsg"], ..planted(cheap) }.run();
    let found = recommended(&run);
    let ranges = &of(&found, Situation::OneBuffer).advice[0].ranges;
    assert_eq!(
        told(ranges),
        [(64, 16384, "send", Sure::Best), (65536, 1 << 20, "send_zerocopy", Sure::Best)]
    );
    assert!(ranges[0].over_control.is_none());
    let gain = ranges[1].over_control.as_ref().unwrap();
    assert_eq!((name(&gain.over), gain.significant, gain.places), ("send", 2, 2));
    assert!((gain.smallest.ratio.value - 2.0).abs() < 0.1, "{gain:?}");
}

#[test]
fn zero_copy_that_was_copied_is_a_caveat_of_those_who_could_use_it() {
    let mut run =
        Synthetic { mechanisms: vec!["pack_send", "send", "msg_zerocopy"], ..planted(crossing) }.run();
    let copied = Counts { uncopied_in: 1000, orphan_copied: 1000, copied_out: 1000, ..Counts::default() };
    run.record.audits = vec![audit("msg_zerocopy", Some(copied), (4, 4))];
    let found = recommended(&run);
    let wanted = Caveat::ZeroCopyCopied { mechanisms: vec!["msg_zerocopy".into()], by: CopiedBy::Counted };
    for situation in [Situation::Pieces, Situation::OneBuffer] {
        assert_eq!(of(&found, situation).caveats, std::slice::from_ref(&wanted));
    }
    run.record.audits.clear();
    for sample in &mut run.samples {
        sample.quantities.insert("sender_completions".into(), Some(10.0));
        sample.quantities.insert("sender_completions_copied".into(), Some(10.0));
    }
    let by = CopiedBy::Flagged { least: 1.0, most: 1.0 };
    let wanted = Caveat::ZeroCopyCopied { mechanisms: vec!["msg_zerocopy".into()], by };
    assert_eq!(of(&recommended(&run), Situation::Pieces).caveats, [wanted]);
}

/// A call costs 1000 ns, shared by the messages of a batch; a byte 0.2 ns.
fn shared_call(p: &Point) -> f64 {
    let factor = if name(p) == "sendmsg" { 0.9 } else { 1.0 };
    factor * 1000.0 / mechanism::per_call(p) as f64 + 0.2 * p.int_at("message_bytes").unwrap() as f64
}

#[test]
fn advice_is_for_one_message_a_call_and_planted_batches_are_told_beside_it() {
    let sizes = vec![64, 1024, 1 << 20];
    let run = batched(&Synthetic { sizes, ..planted(shared_call) }, &[1, 64]);
    let found = recommended(&run);
    let advice = &of(&found, Situation::Pieces).advice[0];
    assert_eq!(advice.scope.messages_per_call, Some(1));
    assert!(advice.ranges.iter().all(|range| mechanism::per_call(&range.lead) == 1));
    let Some(BatchingAdvice::Measured(ranges)) = &advice.batching else { panic!("{advice:?}") };
    let verdicts: Vec<_> = ranges.iter().map(|r| (r.from, r.to, r.verdict)).collect();
    assert_eq!(verdicts[0], (64, 1024, BatchingVerdict::MattersMost));
    let alone = batched(
        &Synthetic { mechanisms: vec!["sendmsg"], sizes: vec![64], ..planted(shared_call) },
        &[1, 64],
    );
    let alone = recommended(&alone);
    let advice = &of(&alone, Situation::Pieces).advice[0];
    let Some(BatchingAdvice::Measured(only)) = &advice.batching else { panic!("{advice:?}") };
    assert_eq!(
        only[0].verdict,
        BatchingVerdict::Helps,
        "no other mechanism says how much the choice matters"
    );
    assert_eq!(verdicts[1].0, 1 << 20);
    assert!(matches!(verdicts[1].2, BatchingVerdict::Same | BatchingVerdict::Undecided), "{verdicts:?}");
    let most = &ranges[0];
    assert_eq!((mechanism::per_call(&most.batched), mechanism::per_call(&most.single)), (64, 1));
    assert!(most.gain.at == 64 && most.gain.ratio.value > 10.0, "{most:?}");
    let worse = |p: &Point| if mechanism::per_call(p) > 1 { 2000.0 } else { 1000.0 };
    let found = recommended(&batched(&planted(worse), &[1, 64]));
    let Some(BatchingAdvice::Measured(ranges)) = &of(&found, Situation::Pieces).advice[0].batching else {
        panic!("{found:?}")
    };
    assert!(ranges.iter().all(|range| range.verdict == BatchingVerdict::Costs), "{ranges:?}");
}

/// Without the samples of the cases at 16 KiB whose mechanism this says.
fn without(run: &mut Run, gone: fn(&str) -> bool) {
    let at = |case: &Case| case.point.int_at("message_bytes") == Some(16384) && gone(name(&case.point));
    let gone: Vec<usize> = run.record.plan.cases.iter().filter(|c| at(c)).map(|c| c.index).collect();
    let kept = run.samples.iter().filter(|sample| !gone.contains(&sample.case));
    run.samples = kept.cloned().collect::<Vec<_>>().into();
}

#[test]
fn a_range_tells_what_its_own_way_costs() {
    let cost = |p: &Point| match (name(p), p.int_at("message_bytes").unwrap()) {
        ("sendmsg", 1024) => 970.0,
        ("pack_send", 16384..) => 2000.0,
        _ => 1000.0,
    };
    let mechanisms = vec!["pack_send", "sendmsg", "writev"];
    let run = Synthetic { mechanisms, noise: 0.003, ..planted(cost) }.run();
    let analysis = Analysis::of(&run);
    let cells = &analysis.cells;
    for range in &of(&analysis.recommendation, Situation::Pieces).advice[0].ranges {
        for place in &range.places {
            let mine = |case: &&Case| {
                let at = case.point.int_at("message_bytes") == Some(place.at);
                at && case.twin_of.is_none() && name(&case.point) == name(&range.lead)
            };
            let cases = run.record.plan.cases.iter().filter(mine);
            let us =
                |case: &Case| cells.estimate(case.index, "total_cpu_ns_per_message").unwrap().value / 1e3;
            let costs: Vec<f64> = cases.map(us).collect();
            let ends = (
                costs.iter().copied().fold(f64::INFINITY, f64::min),
                costs.iter().copied().fold(0.0, f64::max),
            );
            assert_eq!(place.us_per_message, Some(ends), "{range:?}");
        }
    }
}

#[test]
fn a_way_is_not_told_to_use_where_it_was_not_measured_and_another_wins() {
    let cost = |p: &Point| match (name(p), p.int_at("message_bytes").unwrap()) {
        ("sendmsg", 16384) => 700.0,
        ("pack_send", _) => 800.0,
        _ => 1000.0,
    };
    let mut run = Synthetic { mechanisms: vec!["pack_send", "sendmsg", "writev"], ..planted(cost) }.run();
    without(&mut run, |name| name == "pack_send");
    let leads: Vec<_> = told(&of(&recommended(&run), Situation::Pieces).advice[0].ranges)
        .into_iter()
        .map(|(from, _, way, _)| (from, way.to_string()))
        .collect();
    assert_eq!(leads, [(64, "pack_send".into()), (16384, "sendmsg".into()), (65536, "pack_send".into())]);
}

#[test]
fn a_place_where_one_way_alone_was_measured_is_no_range_between_two_that_chose() {
    let mut run = planted(|p| if name(p) == "pack_send" { 800.0 } else { 1000.0 }).run();
    without(&mut run, |name| name != "sendmsg");
    let found = recommended(&run);
    let ranges = &of(&found, Situation::Pieces).advice[0].ranges;
    assert_eq!(told(ranges), [(64, 1 << 20, "pack_send", Sure::Best)]);
}

#[test]
fn batching_matters_most_only_where_no_choice_of_a_mechanism_changes_more() {
    let cost = |p: &Point| match (name(p), mechanism::per_call(p)) {
        (_, 64) => 700.0,
        ("send_fields", _) => 3000.0,
        ("pack_send", _) => 1010.0,
        _ => 1000.0,
    };
    let mechanisms = vec!["pack_send", "sendmsg", "send_fields"];
    let found = recommended(&batched(&Synthetic { mechanisms, ..planted(cost) }, &[1, 64]));
    let Some(BatchingAdvice::Measured(ranges)) = &of(&found, Situation::Pieces).advice[0].batching else {
        panic!("{found:?}")
    };
    assert!(ranges.iter().all(|range| range.verdict == BatchingVerdict::Helps), "{ranges:?}");
}

/// A slice of a batch of 64 is one call on empty queues: advice on batches is of a stream, which the windows are.
#[test]
fn batches_that_cost_more_by_slices_and_less_by_windows_get_no_advice() {
    let cheaper = |p: &Point| if mechanism::per_call(p) > 1 { 920.0 } else { 1000.0 };
    let sizes = vec![65536];
    let mut run =
        batched(&Synthetic { sizes, threads: vec![1], twin_every: 0, ..planted(cheaper) }, &[1, 64]);
    let verdicts = |run: &Run| match &of(&recommended(run), Situation::Pieces).advice[0].batching {
        Some(BatchingAdvice::Measured(ranges)) => {
            ranges.iter().map(|range| range.verdict).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    assert!(!verdicts(&run).contains(&BatchingVerdict::Costs), "{:?}", verdicts(&run));
    let cases = run.record.plan.cases.clone();
    let row = |round: u32, pass: u32, case: &Case| {
        let cost = if mechanism::per_call(&case.point) > 1 { 1500.0 } else { 1000.0 };
        turn(0, round, pass, case.index, cost + f64::from((round * 5 + pass * 3) % 7) / 10.0)
    };
    for round in 0..12 {
        let rows = (0..8).flat_map(|pass| cases.iter().map(move |case| row(round, pass, case)));
        run.slices.saw(&rows.collect::<Vec<_>>());
    }
    assert_eq!(verdicts(&run), [BatchingVerdict::Undecided]);
}

/// Two namespaces that veth joins are on this machine as those that syscost makes are; others may have real devices.
#[test]
fn namespaces_joined_by_veth_say_nothing_of_a_device() {
    let caveats = |driver: &str| {
        let mut run = planted(|_| 1000.0).run();
        for case in &mut run.record.plan.cases {
            case.point.set(PATH.id, Value::text("netns:a,b"));
            let settings = run.record.settings.entry(case.index).or_default();
            ["sender_driver", "receiver_driver"].iter().for_each(|role| settings.set(role, driver.into()));
        }
        recommended(&run).caveats.len()
    };
    assert_eq!(["veth", "mlx5_core"].map(caveats), [1, 0]);
}
