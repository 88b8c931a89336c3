//! Planted crossovers are found where they are, and none where nothing differs: both over many simulated runs.

use super::*;
use crate::cells::Cells;
use crate::compare::groups::Groups;
use crate::compare::study::HEADLINES;
use crate::model::Model;
use crate::synthetic::{Synthetic, drawn_cells};
use syscost_core::stats::random::Random;
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;

const MECHANISMS: &[&str] = &["pack_send", "send", "sendmsg", "msg_zerocopy"];
const SIZES: &[u64] = &[64, 256, 1024, 4096, 16384, 65536, 262144];

fn plan(threads: &[u64]) -> Run {
    let shape = Synthetic {
        mechanisms: MECHANISMS.to_vec(),
        sizes: SIZES.to_vec(),
        threads: threads.to_vec(),
        rounds: 0,
        twin_every: 6,
        ..Default::default()
    };
    shape.run()
}

/// What the two questions are answered when the cells are these.
fn told(run: &Run, groups: &Groups, cells: &Cells) -> Vec<String> {
    let studies: Vec<Study> = HEADLINES.iter().filter_map(|m| Study::of(run, cells, groups, m)).collect();
    let evidence = Evidence {
        run,
        cells,
        groups,
        studies: &studies,
        limiters: &[],
        model: &Model::default(),
        problems: &[],
    };
    let texts = |class: Class| match answer(&evidence, class) {
        SentenceAnswer::Found { statements, .. } => {
            statements.into_iter().map(|s| s.text).collect::<Vec<_>>()
        }
        SentenceAnswer::CannotBeAnswered { because, .. } => panic!("{because}"),
    };
    [texts(Class::OneCopy), texts(Class::ZeroCopy)].concat()
}

/// Every case costs the same in these runs, so any that is said to beat another is false. The two
/// metrics are drawn apart: each may err in 5 % of runs.
#[test]
fn in_a_thousand_runs_without_a_difference_hardly_any_crossover_is_told() {
    let run = plan(&[1]);
    let groups = Groups::of(&run, RIVALS.id);
    let mut random = Random::new(1_000);
    let (runs, mut crossovers, mut erred) = (1_000, 0, 0);
    for i in 0..runs {
        let rounds = if i % 4 < 2 { 8 } else { 12 };
        let cells = drawn_cells(&run, HEADLINES, rounds, &mut random, |_, _, _| 0.0, 0.02);
        let told = told(&run, &groups, &cells);
        assert_eq!(told.len(), 4, "two pairs by two metrics: {told:#?}");
        crossovers += usize::from(told.iter().any(|text| text.contains(" between ")));
        erred +=
            usize::from(told.iter().any(|text| !text.contains(" at no size ") || text.contains("is better")));
    }
    assert!(crossovers * 100 < runs, "{crossovers} of {runs} runs tell of a crossover");
    assert!(erred * 100 <= runs * 2 * 5, "{erred} of {runs} runs tell of a difference");
}

/// One-copy costs 600 ns more and saves 0.3 ns/B of 0.8 at equal other cost: they cross at 2000 bytes.
/// Zero-copy is dearer everywhere.
fn crossing(case: &Case, metric: &'static str) -> f64 {
    let bytes = case.point.int(ALONG).unwrap() as f64;
    let cost = match case.point.text(RIVALS) {
        Some(id) if Class::OneCopy.holds(id) => 1600.0 + 0.5 * bytes,
        Some(id) if Class::ZeroCopy.holds(id) => 2.0 * (1000.0 + 0.8 * bytes),
        _ => 1000.0 + 0.8 * bytes,
    };
    // CPU per byte, and the throughput that one busy CPU gives.
    if metric == HEADLINES[0] { (cost / bytes).ln() } else { (8e9 * bytes / cost).ln() }
}

#[test]
fn a_planted_crossover_is_found_at_the_stated_confidence() {
    let run = plan(&[1, 4]);
    let groups = Groups::of(&run, RIVALS.id);
    let mut random = Random::new(7);
    let (mut answers, mut found, mut right) = (0, 0, 0);
    for _ in 0..50 {
        let centre =
            |case: &Case, metric, random: &mut Random| crossing(case, metric) + 0.002 * random.normal();
        let cells = drawn_cells(&run, HEADLINES, 12, &mut random, centre, 0.02);
        for text in told(&run, &groups, &cells).iter().filter(|t| t.contains("one-copy (")) {
            answers += 1;
            let Some((_, rest)) = text.split_once(" from between ") else { continue };
            found += 1;
            // 2000 bytes lie between these two sizes; ties may widen the interval, not move it.
            let low = ["64 B and ", "256 B and ", "1 KiB and "].iter().any(|l| rest.starts_with(l));
            let high = ["and 4 KiB up", "and 16 KiB up", "and 64 KiB up"].iter().any(|h| rest.contains(h));
            right += usize::from(low && high);
        }
    }
    assert!(answers >= 100, "both metrics in every run: {answers}");
    assert!(found * 100 >= answers * 95, "{found} of {answers} found");
    assert!(right * 100 >= found * 95, "{right} of {found} hold the truth");
}

#[test]
fn an_answer_names_sizes_threads_the_figure_and_every_cell() {
    let run = plan(&[1, 4]);
    let groups = Groups::of(&run, RIVALS.id);
    let cells = drawn_cells(&run, HEADLINES, 12, &mut Random::new(3), |c, m, _| crossing(c, m), 0.01);
    let told = told(&run, &groups, &cells);
    let one = &told[0];
    assert!(
        one.starts_with(
            "By CPU per byte, one-copy (sendmsg) beats two-copy (pack_send) from between 1 KiB and 4 KiB up \
             averaged over 2 thread counts over veth (TCP_NODELAY on): it is better at 4 KiB to 256 KiB and pack_send is \
             better at 64 B to 1 KiB. At 4 KiB the CPU per byte of one-copy is 1"
        ),
        "{one}"
    );
    assert!(one.contains("(99.7 % interval of the ratio 0.8") && one.ends_with("12 rounds)."), "{one}");
    let zero = told.iter().find(|t| t.contains("zero-copy (")).expect("asked");
    assert!(
        zero.contains("at no size averaged over 2 thread counts") && zero.contains("Its best ratio is at"),
        "{zero}"
    );
}

#[test]
fn ranges_that_come_back_are_a_set_and_what_is_missing_is_said() {
    let run = plan(&[1]);
    let groups = Groups::of(&run, RIVALS.id);
    let centre = |case: &Case, _: &'static str, _: &mut Random| {
        let bytes = case.point.int(ALONG).unwrap();
        let one = case.point.text(RIVALS).is_some_and(|id| Class::OneCopy.holds(id));
        let better = bytes <= 256 || bytes >= 65536;
        if !one {
            0.0
        } else if better {
            -0.2
        } else {
            0.2
        }
    };
    let cells = drawn_cells(&run, &HEADLINES[..1], 12, &mut Random::new(3), centre, 0.01);
    let told = told(&run, &groups, &cells);
    assert!(
        told[0].contains(
            "in more than one range, crossing between 256 B and 1 KiB and between 16 KiB and 64 KiB with 1 thread"
        ),
        "{told:#?}"
    );
    let alone = Synthetic { mechanisms: vec!["send", "sendmsg"], ..Default::default() }.run();
    let analysis = crate::whole::Analysis::of(&alone);
    let answer = super::answer(&analysis.evidence(&alone), Class::OneCopy);
    let SentenceAnswer::CannotBeAnswered { because, command } = &answer else { panic!("{answer:?}") };
    assert!(because.contains("no one-copy and two-copy mechanism"), "{because}");
    assert_eq!(command, "syscost run --mechanism two-copy,one-copy");
}
