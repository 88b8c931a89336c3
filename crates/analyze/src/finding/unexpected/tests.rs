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

fn answered(run: &Run) -> (Vec<Statement>, Vec<String>) {
    let analysis = Analysis::of(run);
    let answer = Unexpected.answer(&analysis.evidence(run));
    match answer {
        SentenceAnswer::Found { statements, caveats } => {
            for cell in statements.iter().flat_map(|s| &s.cells) {
                assert!(analysis.cells.cell(cell.case, cell.metric).is_some(), "{cell:?}");
            }
            (statements, caveats)
        }
        SentenceAnswer::CannotBeAnswered { because, .. } => panic!("{because}"),
    }
}

fn texts(run: &Run) -> Vec<String> {
    answered(run).0.into_iter().map(|s| s.text).collect()
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
    let told = texts(&shape(smooth).run());
    let [only] = &told[..] else { panic!("{told:#?}") };
    assert!(only.starts_with("Looked for and not found: a cliff, ") && only.contains("two levels"), "{only}");
}

#[test]
fn a_cliff_is_found_with_the_counter_that_was_planted_or_none() {
    let mut run = shape(cliff).run();
    let bare = texts(&run);
    let of = |told: &[String]| told.iter().filter(|t| t.starts_with("From ")).cloned().collect::<Vec<_>>();
    assert_eq!(of(&bare).len(), 2, "{bare:#?}");
    assert!(bare[1].starts_with("From 256 B to 1 KiB the "), "{bare:#?}");
    assert!(bare[1].contains(" of sendmsg with 1 thread over veth"), "{bare:#?}");
    assert!(bare[1].contains(" throughput") && bare[1].contains(" CPU per byte"), "one step: {bare:#?}");
    assert!(of(&bare).iter().any(|t| t.contains("From 1 KiB to 4 KiB the CPU per message of sendmsg")));
    assert!(of(&bare).iter().all(|t| t.ends_with("; cause not shown by the data.")), "{bare:#?}");

    set(&mut run, |_, _| true, "receiver_voluntary_switches", 0.5);
    let steady = texts(&run);
    assert!(
        of(&steady).iter().all(|t| t.ends_with("; cause not shown by the data.")),
        "as often: {steady:#?}"
    );

    let steep = |case: &Case, _: &Sample| cliff(&case.point) > smooth(&case.point);
    set(&mut run, steep, "receiver_voluntary_switches", 0.9);
    set(&mut run, steep, "sender_system_calls", 1e-4);
    let caused = texts(&run);
    for text in of(&caused) {
        assert!(text.contains("; most likely because at 1 KiB the receiver sleeps (0.9"), "{text}");
        assert!(!text.contains("calls the kernel"), "far too few to cost anything: {text}");
    }
}

#[test]
fn a_slight_turn_is_told_apart_from_a_cliff() {
    let turn = |p: &Point| if p.int_at("message_bytes") == Some(256) { 5.6 * smooth(p) } else { smooth(p) };
    let (statements, caveats) = answered(&shape(turn).run());
    let turns: Vec<&Statement> =
        statements.iter().filter(|s| s.text.starts_with("From 64 B to 256 B the ")).collect();
    assert!(
        turns.iter().any(|s| s.text.contains("the throughput of") && s.text.contains(" falls by ")),
        "{turns:#?}"
    );
    assert!(statements.iter().any(|s| s.text.starts_with("From 256 B to 1 KiB the CPU per message")));
    assert!(caveats.iter().any(|c| c.contains("significant among all steps")));
}

#[test]
fn throughput_that_falls_with_threads_is_found_with_its_cause() {
    let crowded = |p: &Point| if p.int_at("threads") == Some(4) { 8.0 * smooth(p) } else { smooth(p) };
    let mut run = Synthetic { threads: vec![1, 2, 4], ..shape(crowded) }.run();
    set(&mut run, |case, _| case.point.int_at("threads") == Some(4), "sender_involuntary_switches", 0.2);
    let told = texts(&run);
    let falls: Vec<&String> = told.iter().filter(|t| t.starts_with("From 2 to 4 threads ")).collect();
    assert_eq!(falls.len(), 2, "two mechanisms, each at four sizes: {told:#?}");
    for text in falls {
        assert!(
            text.contains(" So it does, less steeply, at ") && text.matches("over veth").count() == 4,
            "{text}"
        );
        assert!(
            text.contains("the throughput of send") && text.contains("falls 3.9") || text.contains("falls 4")
        );
        assert!(text.contains("most likely because with 4 threads the sender is preempted (0.2"), "{text}");
    }
    assert!(!told.iter().any(|t| t.starts_with("From 1 to 2 threads")), "{told:#?}");
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
    let of = |told: Vec<String>| {
        told.into_iter().find(|t| t.contains("The throughput") && t.contains("two levels")).expect("bistable")
    };
    let bare = of(texts(&run));
    assert!(bare.ends_with("its median describes neither; cause not shown by the data."), "{bare}");
    let slow = |case: &Case, s: &Sample| case.index == 3 && s.round.is_multiple_of(3);
    set(&mut run, slow, "retransmits", 1e-4);
    let caused = of(texts(&run));
    assert!(
        caused.contains("; most likely because in the slower rounds segments are retransmitted ("),
        "{caused}"
    );
    let mut marked = run.clone();
    for sample in &mut marked.samples {
        sample.quantities.insert("retransmits".into(), Some(0.0));
        if sample.case == 3 && sample.round.is_multiple_of(3) && sample.index == 0 {
            sample.marks.push("steal".into());
        }
    }
    let marked = of(texts(&marked));
    assert!(
        marked.contains("disturbed in the slower rounds (7 of 21 samples are marked steal, and 0 of 39"),
        "{marked}"
    );
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
            let SentenceAnswer::Found { statements, .. } = Unexpected.answer(&evidence) else {
                panic!("there are cells")
            };
            statements.iter().any(|s| s.text.starts_with("From "))
        })
        .count();
    assert!(surprised * 100 < runs * 5, "{surprised} of {runs}");
}
