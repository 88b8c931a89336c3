//! comparisons.csv: verdicts that agree with their intervals, and a row for everything that is compared.

use crate::report::common;
use std::collections::BTreeSet;
use syscost_analyze::whole::Analysis;
use syscost_report::comparisons::{self, COLUMNS};

fn rows(text: &str) -> Vec<Vec<String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names: Vec<String> = reader.headers().unwrap().iter().map(String::from).collect();
    assert_eq!(names, COLUMNS.iter().map(|c| c.id).collect::<Vec<_>>());
    reader.records().map(|row| row.unwrap().iter().map(String::from).collect()).collect()
}

fn column(id: &str) -> usize {
    COLUMNS.iter().position(|c| c.id == id).unwrap()
}

#[test]
fn every_verdict_agrees_with_its_interval_and_a_rebuild_gives_the_same_bytes() {
    let run = common::small_run();
    let text = comparisons::text(&run, &Analysis::of(&run));
    assert_eq!(text, comparisons::text(&run, &Analysis::of(&run)));
    let (mut verdicts, mut open) = (BTreeSet::new(), 0);
    for row in rows(&text) {
        let number = |id: &str| row[column(id)].parse::<f64>().unwrap_or_else(|_| panic!("{id}: {row:?}"));
        let (low, high, p) = (number("ci_low"), number("ci_high"), number("p_adjusted"));
        assert!(
            low <= number("ratio") && number("ratio") <= high && number("ci_level") > 0.95 - 1e-9,
            "{row:?}"
        );
        let verdict = row[column("verdict")].as_str();
        let decided = match verdict {
            "same" => 1.0 / 1.03 <= low && high <= 1.03,
            "faster" | "slower" | "less" | "more" => low > 1.0 || high < 1.0,
            _ => false,
        };
        assert_eq!((decided, p < 0.05), (verdict != "undecided", verdict != "undecided"), "{row:?}");
        // CPU time: less is better. Throughput: more is.
        let a_is_better = match row[column("metric")].as_str() {
            "throughput" => low > 1.0,
            "total_cpu_ns_per_byte" | "total_cpu_ns_per_message" => high < 1.0,
            _ => verdict == "faster",
        };
        assert_eq!(a_is_better && verdict != "same", verdict == "faster", "{row:?}");
        open += usize::from(!row[column("minutes_needed")].is_empty());
        assert!(verdict == "undecided" || row[column("minutes_needed")].is_empty(), "{row:?}");
        verdicts.insert(verdict.to_string());
    }
    assert!(
        verdicts.is_superset(&["same", "faster", "slower", "undecided"].map(String::from).into()),
        "{verdicts:?}"
    );
    assert!(open > 0, "a run that took time says how much more would decide");
}

#[test]
fn a_row_names_its_cases_and_what_they_share_and_differ_in() {
    let run = common::small_run();
    let rows = rows(&comparisons::text(&run, &Analysis::of(&run)));
    let of = |scope: &str| {
        let wanted = ["mechanism", scope, "total_cpu_ns_per_byte"];
        rows.iter().filter(|row| row[..3] == wanted).collect::<Vec<_>>()
    };
    // 4 sizes, 2 thread counts and 4 mechanisms.
    assert_eq!((of("over_threads").len(), of("point").len()), (4 * 6, 4 * 2 * 6));
    for row in of("over_threads") {
        let cases = |id: &str| row[column(id)].split(' ').map(|c| c.parse().unwrap()).collect::<Vec<usize>>();
        let (a, b) = (cases("a"), cases("b"));
        assert_eq!((a.len(), b.len()), (2, 2), "{row:?}");
        for (a, b) in a.into_iter().zip(b) {
            let (a, b) = (&run.case(a).unwrap().point, &run.case(b).unwrap().point);
            assert_eq!(a.int_at("threads"), b.int_at("threads"));
            assert_eq!(row[column("a_is")], format!("mechanism={}", a.text_at("mechanism").unwrap()));
            assert_eq!(row[column("b_is")], format!("mechanism={}", b.text_at("mechanism").unwrap()));
        }
        let shared = &row[column("shared")];
        assert!(shared.contains("message_bytes=") && !shared.contains("threads="), "{shared}");
    }
    assert!(of("point")[0][column("shared")].contains("threads=1"));
    let families: BTreeSet<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    assert!(
        families.is_superset(&BTreeSet::from(["mechanism", "threads", "steps of message_bytes"])),
        "{families:?}"
    );
}
