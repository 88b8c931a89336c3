//! Planted surprises are found; flat data have none.

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
use syscost_experiment::run::{Run, SliceRow};
use syscost_measure::probe::Slice;

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

#[test]
fn a_smooth_run_has_no_surprise_and_says_what_was_looked_at() {
    let answer = answered(&shape(smooth).run());
    let [Shown { says: Says::Unexpected(Unforeseen::NotFound { kinds }), .. }] = &answer.shown[..] else {
        panic!("{answer:#?}")
    };
    let kinds: Vec<Surprise> = kinds.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(
        (answer.verdict, &kinds[..]),
        (AnswerVerdict::No, &[Surprise::LargerIsWorse, Surprise::LargerIsCheaper, Surprise::TwoLevels][..])
    );
}

/// It was said: nothing unexpected was found, where no case had a neighbour with figures and each had one round.
#[test]
fn what_could_not_be_looked_at_is_not_found_out_to_be_absent() {
    let mut run = Synthetic { rounds: 1, ..shape(smooth) }.run();
    let every_other =
        |case: usize| matches!(run.case(case).and_then(|c| c.point.int_at("message_bytes")), Some(64 | 1024));
    let samples: Vec<Sample> =
        run.samples.iter().filter(|sample| every_other(sample.case)).cloned().collect();
    run.samples = samples.into();
    assert_eq!(answered(&run).lacks, Some(Lack::ComparableFigures));
    assert_eq!(answered(&Synthetic { rounds: 1, ..shape(smooth) }.run()).verdict, AnswerVerdict::Undecided);
}

/// It was said: nothing unexpected was found, where 309 of 420 steps were undecided.
#[test]
fn what_is_mostly_undecided_is_not_found_out_to_be_absent() {
    let alike = |p: &Point| 100.0 * p.int_at("message_bytes").unwrap() as f64;
    let answer = answered(&Synthetic { rounds: 2, noise: 0.3, ..shape(alike) }.run());
    assert_eq!(answer.verdict, AnswerVerdict::Undecided, "{answer:#?}");
    let open = |caveat: &Caveat| matches!(caveat, Caveat::ComparisonsOpen { open, of } if 2 * open > *of);
    assert!(answer.caveats.iter().any(open), "{:?}", answer.caveats);
}

/// It was said: 2.4 times less CPU time, of two windows that slices beside them deny.
#[test]
fn a_step_of_cpu_time_is_one_of_slices() {
    let mut run = shape(cliff).run();
    let cases = run.record.plan.cases.clone();
    let slice = |case: &Case, round: u32| {
        let block = usize::from(case.point.int_at("message_bytes") == Some(1024));
        let slice = Slice {
            pass: 0,
            position: 0,
            length_ns: 1_000_000,
            start_ns: 0,
            wall_ns: 1_000_000,
            messages: 1000,
            sender_cpu_ns: (smooth(&case.point) * 1000.0) as u64 + u64::from(round),
            receiver_cpu_ns: 0,
        };
        SliceRow { block, round, case: case.index, slice }
    };
    for round in 0..12 {
        run.slices.saw(&cases.iter().map(|case| slice(case, round)).collect::<Vec<SliceRow>>());
    }
    let answer = answered(&run);
    assert!(of_kind(&answer, Surprise::LargerIsCheaper).is_empty(), "{answer:#?}");
    for place in of_kind(&answer, Surprise::LargerIsWorse).into_iter().flatten() {
        assert_eq!(step(place).2, ["throughput"], "which is of windows");
    }
}

#[test]
fn a_cliff_is_found_from_both_of_its_sides() {
    let bare = answered(&shape(cliff).run());
    let worse = of_kind(&bare, Surprise::LargerIsWorse);
    let [[one]] = &worse[..] else { panic!("{bare:#?}") };
    let (from, to, metrics) = step(one);
    assert_eq!((from, to, one.place.text_at("mechanism")), (256, 1024, Some("sendmsg")));
    assert!(metrics.contains(&"throughput") && metrics.contains(&"total_cpu_ns_per_byte"), "{metrics:?}");
    let cheaper = of_kind(&bare, Surprise::LargerIsCheaper);
    let [[other]] = &cheaper[..] else { panic!("{bare:#?}") };
    assert_eq!(step(other), (1024, 4096, vec!["total_cpu_ns_per_message"]));
    assert!(bare.shown[..2].iter().all(|shown| !shown.comparisons.is_empty()));
}

#[test]
fn surprises_of_one_kind_are_one_phenomenon_with_its_range() {
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
}

/// Every third round of one case is slow.
fn bistable() -> Run {
    let mut run = Synthetic { rounds: 20, ..shape(smooth) }.run();
    // Without the rounds' shared noise.
    for sample in &mut run.samples {
        let wobble = 1.0 + 0.001 * f64::from((sample.round * 7 + sample.case as u32 * 3 + sample.index) % 5);
        let slow = if slow_round(sample) { 0.3 } else { 1.0 };
        let factor = 1e6 * wobble * slow / sample.ops;
        (sample.ops, sample.bytes) = (sample.ops * factor, sample.bytes * factor);
        for messages in ["sender_messages", "receiver_messages"] {
            sample.quantities.insert(messages.into(), Some(sample.ops));
        }
    }
    run
}

fn slow_round(sample: &Sample) -> bool {
    sample.case == 3 && sample.round.is_multiple_of(3)
}

#[test]
fn a_bistable_case_is_found() {
    let answer = answered(&bistable());
    let mut places = of_kind(&answer, Surprise::TwoLevels).into_iter().flatten();
    let of_throughput =
        |place: &&SurprisingPlace| matches!(place.seen, SurpriseSeen::Levels { metric: "throughput", .. });
    assert_eq!(places.find(of_throughput).expect("bistable").case, 3);
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
            let kinds = [Surprise::LargerIsWorse, Surprise::LargerIsCheaper];
            kinds.iter().any(|kind| !of_kind(&answer, *kind).is_empty())
        })
        .count();
    assert!(surprised * 100 < runs * 5, "{surprised} of {runs}");
}
