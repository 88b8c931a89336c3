//! Planted surprises are found; flat data have none.

use super::*;
use crate::synthetic::{Synthetic, turn};
use crate::whole::Analysis;
use syscost_core::axis::Point;
use syscost_core::sample::Sample;
use syscost_experiment::plan::Case;
use syscost_experiment::run::{Run, SliceRow};

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
    let [Shown { says: Says::Unexpected(Unforeseen::NotFound { kinds, .. }), .. }] = &answer.shown[..] else {
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
        turn(block, round, 0, case.index, smooth(&case.point) + f64::from(round) / 1000.0)
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
