//! Tables of made-up rows.

use super::*;

fn row(study: &str, run: u32, rival: &str, message_bytes: u64, verdict: RivalVerdict) -> StudyRow {
    StudyRow {
        study: study.into(),
        run,
        metric: "total_cpu_ns_per_byte".into(),
        scope: RivalScope::OverThreads,
        message_bytes,
        threads: None,
        rival: rival.into(),
        against: "send".into(),
        planted_percent: None,
        ratio: Some(1.1),
        ci_low: Some(1.02),
        ci_high: Some(1.2),
        rounds: 5,
        verdict,
        minutes_needed: None,
    }
}

fn line<'a>(page: &'a str, begins: &str) -> &'a str {
    page.lines()
        .find(|line| line.trim_start_matches("| ").starts_with(begins))
        .unwrap_or_else(|| panic!("{page}"))
}

use RivalVerdict::{Faster, Same, Slower, Undecided};

#[test]
fn the_chance_of_so_many_false_answers_is_exact() {
    assert_eq!(at_least(0, 5, 0.025), 1.0);
    assert!((at_least(1, 3, 0.025) - (1.0 - 0.975f64.powi(3))).abs() < 1e-12);
    assert!((at_least(2, 2, 0.5) - 0.25).abs() < 1e-12);
    assert!((at_least(9, 10, 0.3) - 0.0001436859).abs() < 1e-9, "{}", at_least(9, 10, 0.3));
}

#[test]
fn identical_rivals_that_differ_are_false_and_counted_by_run() {
    let mut rows: Vec<StudyRow> =
        (1..=3).flat_map(|run| (0..100).map(move |n| row("aa", run, "sendmsg", n, Same))).collect();
    rows.iter_mut().for_each(|row| row.scope = RivalScope::Point);
    let asked = "Identical rivals, at least 200";
    assert!(line(&text(&rows, &[]), asked).contains("| 0 of 300 (0.0 %) | met |"));
    rows.push(StudyRow { rounds: 0, ..rows[0].clone() });
    rows[7].verdict = Faster;
    rows[8].verdict = Slower;
    rows[9].verdict = Undecided;
    assert!(
        line(&text(&rows, &[]), asked).ends_with("| 2 of 300 (0.7 %) | met |"),
        "one run of three may be chance"
    );
    rows[150].verdict = Slower;
    assert!(line(&text(&rows, &[]), asked).ends_with("| **not met** |"));
    assert!(line(&text(&rows[..100], &[]), asked).contains("not met"), "100 points are too few");
}

#[test]
fn what_was_planted_is_found_where_it_is_called_slower() {
    let planted =
        |n, verdict| StudyRow { planted_percent: Some(8.0), ..row("planted", 1, "sendmsg", n, verdict) };
    let mut rows: Vec<StudyRow> = (0..9).map(|n| planted(n, Slower)).collect();
    rows.push(planted(9, Faster));
    let asked = "Planted about 5 % (8 % of the sender's) is found at 90 % of sizes";
    let page = text(&rows, &[]);
    assert!(line(&page, asked).contains("| 9 of 10 (90.0 %) | met |"), "{page}");
    let said = line(&page, "8 % | size over threads");
    assert!(said.contains("| - | 9 of 10 (90.0 %) | - | ±8.1 % |"), "{said}");
    rows[0].verdict = Same;
    assert!(line(&text(&rows, &[]), asked).contains("not met"));
}

#[test]
fn an_interval_is_held_against_the_other_runs_of_its_study() {
    let run = |run, ratio| StudyRow {
        planted_percent: Some(8.0),
        ratio: Some(ratio),
        ..row("planted", run, "sendmsg", 64, Slower)
    };
    // The intervals reach from 1.02 to 1.2; the others of the fourth have a mean of 1.11, of the first 1.21.
    let mut rows = vec![run(1, 1.05), run(2, 1.1), run(3, 1.18), run(4, 1.36)];
    assert_eq!(covered(&rows, rows.iter()), FoundPart { of: 4, found: 3 });
    rows[3].ci_low = None;
    assert_eq!(covered(&rows, rows.iter()), FoundPart { of: 3, found: 2 }, "no interval holds nothing");
    assert_eq!(lasting_ratio(&rows[..2], &rows[0]), None, "one other run is no long run");
    rows[0].planted_percent = Some(0.0);
    assert_eq!(lasting_ratio(&rows, &rows[0]), Some(1.0));
}

#[test]
fn the_run_that_decides_least_is_held_against_the_target() {
    let mut rows: Vec<StudyRow> =
        (1..=2).flat_map(|run| (0..10).map(move |n| row("default", run, "sendmsg", n, Slower))).collect();
    let asked = "Default study, 60 s: 90 % decided by size over threads";
    assert!(line(&text(&rows, &[]), asked).contains("| the least run: 10 of 10 (100.0 %) | met |"));
    rows[0].verdict = Undecided;
    assert!(line(&text(&rows, &[]), asked).contains("| the least run: 9 of 10 (90.0 %) | met |"));
    rows[1].verdict = Undecided;
    assert!(line(&text(&rows, &[]), asked).contains("| the least run: 8 of 10 (80.0 %) | **not met** |"));
    assert!(line(&text(&rows, &[]), "Default study, 120 s: 97 %").ends_with("| - | not measured |"));
}

#[test]
fn runs_agree_where_they_answer_the_same_and_turn_where_they_contradict() {
    let answers = |verdicts: &[RivalVerdict]| {
        let rows: Vec<StudyRow> = verdicts
            .iter()
            .zip(1..)
            .map(|(verdict, run)| row("default", run, "sendmsg", 64, *verdict))
            .collect();
        Agreement::of(&rows)
    };
    let agreement =
        |of, found, turned, compared| Agreement { again: FoundPart { of, found }, turned, compared };
    assert_eq!(answers(&[Slower, Slower]), agreement(2, 2, 0, 1));
    assert_eq!(answers(&[Slower, Undecided]), agreement(1, 0, 0, 1));
    assert_eq!(answers(&[Slower, Same]), agreement(2, 0, 0, 1));
    assert_eq!(answers(&[Slower, Faster, Slower]), agreement(6, 2, 2, 3));
    let other_size = [row("default", 1, "sendmsg", 64, Slower), row("default", 2, "sendmsg", 256, Faster)];
    assert_eq!(Agreement::of(&other_size), Agreement::default());
}
