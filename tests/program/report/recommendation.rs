//! What is recommended of recorded runs: short sentences, rows that exist, and nothing that a reader cannot use.

use crate::report::common;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use syscost_analyze::compare::study::ALONG;
use syscost_analyze::whole::Analysis;
use syscost_experiment::run::{Run, RunDir};
use syscost_report::text::recommendation::recommendation;
use syscost_report::text::trust;
use syscost_report::{comparisons, findings};

const RECORDED: [&str; 5] = [
    "docs/runs/default",
    "docs/runs/ways",
    "docs/runs/zerocopy-cliff",
    "docs/runs/os",
    "tests/data/small-run",
];
/// Words of a sentence.
const LONGEST: usize = 25;

fn recorded() -> impl Iterator<Item = (&'static str, Run)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    RECORDED.into_iter().map(move |name| (name, RunDir::load(&root.join(name)).expect(name)))
}

#[test]
fn every_sentence_is_short_and_costs_are_per_message() {
    for (name, run) in recorded() {
        let analysis = Analysis::of(&run);
        let told = recommendation(&run, &analysis.recommendation, ALONG.id);
        assert_eq!(
            told.advice.is_empty(),
            name.ends_with("/os"),
            "{name}: nothing competes among operations"
        );
        let mut texts: Vec<String> = told.statements().into_iter().map(|s| s.text).collect();
        texts.push(trust::headline(&analysis.trust));
        texts.extend(trust::facts(&analysis.trust));
        // A headline names every range with its way, however many there are.
        let headlines: BTreeSet<String> =
            told.advice.iter().map(|advice| advice.headline.text.clone()).collect();
        for sentence in texts.iter().flat_map(|text| text.split(". ")) {
            let words = sentence.split_whitespace().count();
            let most = if headlines.contains(sentence) { 2 * LONGEST } else { LONGEST };
            assert!(words < most, "{name}, {words} words: {sentence}\n{texts:#?}");
            assert!(
                !sentence.contains("ns/B") && !sentence.contains("  ") && !sentence.contains(" ,"),
                "{sentence}"
            );
        }
        let known = told.advice.iter().map(|advice| advice.headline.text.as_str()).collect::<BTreeSet<_>>();
        assert_eq!(known.len(), told.advice.len(), "{name}: no headline twice: {known:#?}");
    }
}

/// The winner by size, as a script reads it; and each row that it stands on is one of comparisons.csv.
#[test]
fn a_script_reads_the_winner_by_size_and_finds_the_rows() {
    let run = common::small_run();
    let analysis = Analysis::of(&run);
    let mut text = Vec::new();
    findings::write(&run, &analysis, &mut text).unwrap();
    let file: Value = serde_json::from_slice(&text).unwrap();
    assert!(["good", "fair", "poor"].contains(&file["trust"]["level"].as_str().unwrap()));
    let csv = comparisons::text(&run, &analysis);
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let names: Vec<String> = reader.headers().unwrap().iter().map(String::from).collect();
    let column = |id: &str| names.iter().position(|name| name == id).unwrap();
    let (metric, a, b) = (column("metric"), column("a"), column("b"));
    let known: BTreeSet<[String; 3]> = reader
        .records()
        .map(|row| row.unwrap())
        .map(|row| [metric, a, b].map(|i| row[i].to_string()))
        .collect();
    let (mut winners, mut found) = (0, 0);
    for situation in file["recommendation"]["situations"].as_array().unwrap() {
        let control_is_usable = situation["situation"] == "one_buffer";
        for advice in situation["advice"].as_array().unwrap() {
            for place in
                advice["ranges"].as_array().unwrap().iter().flat_map(|r| r["places"].as_array().unwrap())
            {
                let winner = place["best"][0]["mechanism"].as_str().unwrap();
                assert!(place["at"].as_u64().is_some() && (winner != "send" || control_is_usable), "{place}");
                winners += 1;
            }
            for row in advice["comparisons"].as_array().unwrap() {
                let cases = |side: &str| {
                    let cases = row[side].as_array().unwrap().iter().map(Value::to_string);
                    cases.collect::<Vec<_>>().join(" ")
                };
                let row = [row["metric"].as_str().unwrap().to_string(), cases("a"), cases("b")];
                assert!(known.contains(&row), "{row:?}");
                found += 1;
            }
        }
    }
    assert!(winners > 2 && found > 2, "{winners} winners, {found} rows");
}
