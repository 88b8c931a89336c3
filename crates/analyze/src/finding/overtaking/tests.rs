//! Planted crossovers are found where they are, and none where nothing differs: both over many simulated runs.

use super::*;
use crate::cells::Cells;
use crate::compare::groups::Groups;
use crate::compare::study::{ALONG, HEADLINES};
use crate::latency::Latency;
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
fn told(run: &Run, groups: &Groups, cells: &Cells) -> Vec<Overtaking> {
    let studies: Vec<Study> = HEADLINES.iter().filter_map(|m| Study::of(run, cells, groups, m)).collect();
    let evidence = Evidence {
        run,
        cells,
        groups,
        studies: &studies,
        limiters: &[],
        latency: &Latency::default(),
        model: &Model::default(),
        problems: &[],
    };
    let of = |class: Class| answer(&evidence, "asked", class).shown;
    let says = |shown: Shown| match shown.says {
        Says::Overtaking(found) => found,
        other => panic!("{other:?}"),
    };
    [Class::OneCopy, Class::ZeroCopy].into_iter().flat_map(of).map(says).collect()
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

fn is(one: &Overtaking, class: Class) -> bool {
    one.ours.text(RIVALS).is_some_and(|id| class.holds(id))
}

#[test]
fn an_answer_holds_sizes_threads_the_figure_and_every_cell_and_row() {
    let run = plan(&[1, 4]);
    let groups = Groups::of(&run, RIVALS.id);
    let cells = drawn_cells(&run, HEADLINES, 12, &mut Random::new(3), |c, m, _| crossing(c, m), 0.01);
    let found = told(&run, &groups, &cells);
    let one = &found[0];
    assert!(is(one, Class::OneCopy) && one.metric == HEADLINES[0], "{one:?}");
    assert_eq!((&one.overtakes, &one.threads[..]), (&Overtakes::From { low: 1024, high: 4096 }, &[1, 4][..]));
    assert_eq!((&one.better[..], &one.worse[..]), (&SIZES[3..], &SIZES[..3]));
    let (at, ratio) = one.decisive.unwrap();
    assert!(at == 4096 && (1.0..1.3).contains(&ratio.value) && ratio.low > 1.0, "{one:?}");
    let zero = found.iter().find(|one| is(one, Class::ZeroCopy)).expect("asked");
    assert_eq!((&zero.overtakes, zero.worse.len()), (&Overtakes::Never, SIZES.len()));
    assert!(zero.decisive.unwrap().1.value < 1.0, "how near it comes: {zero:?}");
}

#[test]
fn ranges_that_come_back_are_a_set_and_what_is_missing_is_said() {
    let run = plan(&[1]);
    let groups = Groups::of(&run, RIVALS.id);
    let centre = |case: &Case, _: &'static str, _: &mut Random| {
        let bytes = case.point.int(ALONG).unwrap();
        let one = case.point.text(RIVALS).is_some_and(|id| Class::OneCopy.holds(id));
        match bytes <= 256 || bytes >= 65536 {
            true if one => -0.2,
            false if one => 0.2,
            _ => 0.0,
        }
    };
    let cells = drawn_cells(&run, &HEADLINES[..1], 12, &mut Random::new(3), centre, 0.01);
    let found = told(&run, &groups, &cells);
    assert_eq!(found[0].overtakes, Overtakes::Several(vec![(256, 1024), (16384, 65536)]), "{found:#?}");
    let alone = Synthetic { mechanisms: vec!["send", "sendmsg"], ..Default::default() }.run();
    let analysis = crate::whole::Analysis::of(&alone);
    let answer = super::answer(&analysis.evidence(&alone), "asked", Class::OneCopy);
    assert_eq!(answer.lacks, Some(Lack::ClassesAtOneSize { challenger: "one-copy" }));
    assert_eq!(answer.command.as_deref(), Some("syscost run --mechanism two-copy,one-copy"));
}
