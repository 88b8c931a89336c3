//! Planted surprises are found, with the counter that was planted beside them and no other; flat data have none.

use super::*;
use crate::cells::Cells;
use crate::compare::groups::Groups;
use crate::model::Model;
use crate::synthetic::{Synthetic, drawn_cells};
use crate::whole::Analysis;
use syscost_core::axis::Point;
use syscost_core::sample::Sample;
use syscost_core::stats::random::Random;
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;

fn answered(run: &Run) -> Answer {
    let analysis = Analysis::of(run);
    let answer = Unexpected.answered(&analysis.evidence(run));
    for cell in answer.shown.iter().flat_map(|shown| &shown.cells) {
        assert!(analysis.cells.cell(cell.case, cell.metric).is_some(), "{cell:?}");
    }
    answer
}

/// The phenomena of one kind.
fn of_kind(answer: &Answer, wanted: Surprise) -> Vec<&[SurprisingPlace]> {
    let kinds = |shown: &'_ &Shown| match &shown.says {
        Says::Unexpected(Unforeseen::Phenomenon { kind, .. }) => *kind == wanted,
        _ => false,
    };
    answer.shown.iter().filter(kinds).filter_map(places_of).collect()
}

fn places_of(shown: &Shown) -> Option<&[SurprisingPlace]> {
    match &shown.says {
        Says::Unexpected(Unforeseen::Phenomenon { places, .. }) => Some(places),
        _ => None,
    }
}

/// The ends of a step and the metrics that change there.
fn step(place: &SurprisingPlace) -> (u64, u64, Vec<&'static str>) {
    match &place.seen {
        SurpriseSeen::Step { from, to, changes, .. } => {
            (*from, *to, changes.iter().map(|change| change.metric).collect())
        }
        other => panic!("{other:?}"),
    }
}

/// Counters and the figure of each where it is worse.
fn counters(place: &SurprisingPlace) -> Vec<(&'static str, f64)> {
    match &place.cause {
        ProbableCause::Counters(counters) => counters.iter().map(|c| (c.metric, c.worse)).collect(),
        _ => Vec::new(),
    }
}

fn shape(cost_ns: fn(&Point) -> f64) -> Synthetic {
    Synthetic {
        mechanisms: vec!["send", "sendmsg"],
        sizes: vec![64, 256, 1024, 4096],
        threads: vec![1],
        rounds: 12,
        noise: 0.01,
        cost_ns,
        ..Default::default()
    }
}

fn smooth(p: &Point) -> f64 {
    1000.0 + 0.2 * p.int_at("message_bytes").unwrap() as f64
}

/// At 1 KiB a message of sendmsg costs twelve times as much.
fn cliff(p: &Point) -> f64 {
    let steep = p.text_at("mechanism") == Some("sendmsg") && p.int_at("message_bytes") == Some(1024);
    if steep { 12.0 * smooth(p) } else { smooth(p) }
}

fn set(run: &mut Run, wanted: impl Fn(&Case, &Sample) -> bool, quantity: &str, per_message: f64) {
    let cases = run.record.plan.cases.clone();
    for sample in &mut run.samples {
        let rate = if wanted(&cases[sample.case], sample) { per_message } else { per_message / 100.0 };
        let n = sample.ops * rate * (1.0 + 0.01 * f64::from(sample.round % 3));
        sample.quantities.insert(quantity.into(), Some(n));
    }
}

#[test]
fn a_smooth_run_has_no_surprise_and_says_what_was_looked_at() {
    let answer = answered(&shape(smooth).run());
    let [Shown { says: Says::Unexpected(Unforeseen::NotFound { kinds }), .. }] = &answer.shown[..] else {
        panic!("{answer:#?}")
    };
    let kinds: Vec<Surprise> = kinds.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(
        (answer.verdict, &kinds[..]),
        (AnswerVerdict::No, &[Surprise::LargerIsWorse, Surprise::TwoLevels][..])
    );
}

#[test]
fn a_cliff_is_found_with_the_counter_that_was_planted_or_none() {
    let mut run = shape(cliff).run();
    let bare = answered(&run);
    let worse = of_kind(&bare, Surprise::LargerIsWorse);
    let [[one]] = &worse[..] else { panic!("{bare:#?}") };
    let (from, to, metrics) = step(one);
    assert_eq!((from, to, one.place.text_at("mechanism")), (256, 1024, Some("sendmsg")));
    assert!(metrics.contains(&"throughput") && metrics.contains(&"total_cpu_ns_per_byte"), "{metrics:?}");
    let cheaper = of_kind(&bare, Surprise::LargerIsCheaper);
    let [[other]] = &cheaper[..] else { panic!("{bare:#?}") };
    assert_eq!(step(other), (1024, 4096, vec!["total_cpu_ns_per_message"]));
    let causes = |answer: &Answer| -> Vec<ProbableCause> {
        answer.shown.iter().filter_map(places_of).flatten().map(|place| place.cause.clone()).collect()
    };
    assert_eq!(causes(&bare), [ProbableCause::NotShown, ProbableCause::NotShown]);
    assert!(bare.shown[..2].iter().all(|shown| !shown.comparisons.is_empty()));

    set(&mut run, |_, _| true, "receiver_voluntary_switches", 0.5);
    assert_eq!(causes(&answered(&run)), [ProbableCause::NotShown, ProbableCause::NotShown], "as often");

    let steep = |case: &Case, _: &Sample| cliff(&case.point) > smooth(&case.point);
    set(&mut run, steep, "receiver_voluntary_switches", 0.9);
    // Far too few to cost anything.
    set(&mut run, steep, "sender_system_calls", 1e-4);
    let caused = answered(&run);
    for place in caused.shown.iter().filter_map(places_of).flatten() {
        let [("receiver_voluntary_switches_per_message", each)] = counters(place)[..] else {
            panic!("{place:?}")
        };
        assert!((0.9..0.93).contains(&each), "{each}");
    }
}

#[test]
fn surprises_of_one_kind_and_cause_are_one_phenomenon_with_its_range() {
    let turns = |p: &Point| match p.int_at("message_bytes") {
        Some(256) if p.text_at("mechanism") == Some("send") => 12.0 * smooth(p),
        Some(256) => 5.6 * smooth(p),
        _ => smooth(p),
    };
    let answer = answered(&shape(turns).run());
    let Says::Unexpected(Unforeseen::Phenomenon { kind, factors, places }) = &answer.shown[0].says else {
        panic!("{answer:#?}")
    };
    assert!(matches!(kind, Surprise::LargerIsWorse | Surprise::LargerIsCheaper), "{kind:?}");
    assert_eq!((places.len(), places[0].place.text_at("mechanism")), (2, Some("send")));
    assert!(factors.1 > 1.8 * factors.0, "{factors:?}");
    assert!(answer.caveats.contains(&Caveat::CausesAreNoProof));
}

#[test]
fn throughput_that_falls_with_threads_is_found_with_its_cause() {
    let crowded = |p: &Point| if p.int_at("threads") == Some(4) { 8.0 * smooth(p) } else { smooth(p) };
    let mut run = Synthetic { threads: vec![1, 2, 4], ..shape(crowded) }.run();
    set(&mut run, |case, _| case.point.int_at("threads") == Some(4), "sender_involuntary_switches", 0.2);
    let answer = answered(&run);
    let falls = of_kind(&answer, Surprise::MoreThreadsAreSlower);
    let [places] = falls[..] else { panic!("{answer:#?}") };
    assert_eq!(places.len(), 8, "two mechanisms at four sizes");
    for place in places {
        assert_eq!(step(place), (2, 4, vec!["throughput"]));
        let [("sender_involuntary_switches_per_message", each)] = counters(place)[..] else {
            panic!("{place:?}")
        };
        assert!((0.2..0.21).contains(&each), "{each}");
    }
}

#[test]
fn a_bistable_case_is_found_with_the_counter_that_tells_its_rounds_apart() {
    let mut run = Synthetic { rounds: 20, ..shape(smooth) }.run();
    // Take the rounds' shared noise out, then slow every third round of one case down.
    for sample in &mut run.samples {
        let wobble = 1.0 + 0.001 * f64::from((sample.round * 7 + sample.case as u32 * 3 + sample.index) % 5);
        let slow = if sample.case == 3 && sample.round.is_multiple_of(3) { 0.3 } else { 1.0 };
        let factor = 1e6 * wobble * slow / sample.ops;
        (sample.ops, sample.bytes) = (sample.ops * factor, sample.bytes * factor);
    }
    let of = |answer: &Answer| -> SurprisingPlace {
        let found = of_kind(answer, Surprise::TwoLevels)
            .into_iter()
            .flatten()
            .find(|place| matches!(place.seen, SurpriseSeen::Levels { metric: "throughput", .. }));
        found.expect("bistable").clone()
    };
    let bare = of(&answered(&run));
    assert_eq!((bare.case, &bare.cause), (3, &ProbableCause::NotShown));
    let slow = |case: &Case, s: &Sample| case.index == 3 && s.round.is_multiple_of(3);
    set(&mut run, slow, "retransmits", 1e-4);
    assert_eq!(counters(&of(&answered(&run)))[0].0, "retransmits");
    let mut marked = run.clone();
    for sample in &mut marked.samples {
        sample.quantities.insert("retransmits".into(), Some(0.0));
        if sample.case == 3 && sample.round.is_multiple_of(3) && sample.index == 0 {
            sample.marks.push("steal".into());
        }
    }
    let ProbableCause::Disturbed { worse, better } = of(&answered(&marked)).cause else { panic!("marked") };
    assert_eq!((worse.marked, worse.samples, better.marked, better.samples), (7, 21, 0, 39));
    assert!(worse.marks.iter().eq(["steal"]));
}

/// Every cell draws from one distribution, so each step that is told is false. Sizes and threads are a family each.
#[test]
fn flat_data_have_hardly_any_surprise() {
    let mut run = Synthetic { rounds: 0, threads: vec![1, 2], twin_every: 5, ..shape(smooth) }.run();
    run.samples.clear();
    let metrics = ["throughput", "total_cpu_ns_per_byte", "total_cpu_ns_per_message"];
    let groups = Groups::of(&run, "mechanism");
    let mut random = Random::new(99);
    let runs = 400;
    let surprised = (0..runs)
        .filter(|_| {
            let cells: Cells = drawn_cells(&run, &metrics, 10, &mut random, |_, _, _| 0.0, 0.02);
            let evidence = Evidence {
                run: &run,
                cells: &cells,
                groups: &groups,
                studies: &[],
                limiters: &[],
                model: &Model::default(),
                problems: &[],
            };
            let answer = Unexpected.answered(&evidence);
            let kinds = [Surprise::LargerIsWorse, Surprise::LargerIsCheaper, Surprise::MoreThreadsAreSlower];
            kinds.iter().any(|kind| !of_kind(&answer, *kind).is_empty())
        })
        .count();
    assert!(surprised * 100 < runs * 5, "{surprised} of {runs}");
}
