//! What is printed is what was decided: in the text of the terminal and of the page no ratio lies outside of its own
//! interval, two figures of a table divide to the ratio beside them, and one quantity has one value.

use super::worlds;
use ::csv as table;
use syscost_analyze::whole::Analysis;
use syscost_experiment::run::{Run, RunDir};
use syscost_report::terminal::{self, TerminalLook};
use syscost_report::{build, csv, html};

/// Simulated studies that are read.
const STUDIES: u64 = 20;

/// A number that was rounded lies so far from what it is of, at most.
fn slack(printed: &str) -> f64 {
    let digits: String = printed.chars().filter(char::is_ascii_digit).collect();
    let significant = digits.trim_start_matches('0');
    let value: f64 = significant.parse().unwrap_or(1.0);
    0.5 / value.max(1.0)
}

fn number(text: &str) -> Option<f64> {
    text.trim_end_matches('x').parse().ok()
}

/// Rows of a table of the terminal: `64 B  7.26 ±7 %  57.8 +8.0x  7.31 =`.
fn check_terminal(text: &str) -> usize {
    let mut ratios = 0;
    for row in text.lines().filter(|line| line.contains('±')) {
        let words: Vec<&str> = row.split_whitespace().collect();
        let Some(control) = words.iter().position(|word| word.starts_with('±')).map(|at| words[at - 1])
        else {
            continue;
        };
        for pair in words.windows(2) {
            let mark = pair[1].trim_start_matches(['+', '-']);
            if mark.len() == pair[1].len() || !mark.ends_with('x') {
                continue;
            }
            let (own, control_value) = (number(pair[0]).expect(row), number(control).expect(row));
            let shown = (own / control_value).max(control_value / own);
            let room = slack(pair[0]) + slack(control) + slack(mark);
            let ratio = number(mark).expect(row);
            assert!((shown / ratio).ln().abs() <= 1.05 * room, "{own} and {control} beside {mark}: {row}");
            ratios += 1;
        }
    }
    ratios
}

/// Every `1.05x [1.02, 1.08]` and `1.8x .. (95 % CI 1.7 to 1.9)` of a text.
fn check_intervals(text: &str) -> usize {
    let mut found = 0;
    let mut check = |ratio: &str, low: &str, high: &str, whole: &str| {
        let (Some(value), Some(low), Some(high)) = (number(ratio), number(low), number(high)) else { return };
        let room = 1.0 + slack(ratio);
        assert!(low / room <= value && value <= high * room, "{ratio} outside {low} to {high}: {whole}");
        found += 1;
    };
    for (at, _) in text.match_indices('[') {
        let inside = text[at + 1..].split(']').next().unwrap_or_default();
        let before = text[..at].trim_end().rsplit([' ', '"', '>']).next().unwrap_or_default();
        if let Some((low, high)) = inside.split_once(", ").filter(|_| before.ends_with('x')) {
            check(before, low, high, &text[at.saturating_sub(60)..(at + 30).min(text.len())]);
        }
    }
    for (at, _) in text.match_indices(" % CI ") {
        let after = text[at + 6..].split(')').next().unwrap_or_default();
        let sentence = text[..at].rsplit(". ").next().unwrap_or_default();
        let ratio = sentence.split([' ', '(']).rfind(|word| word.ends_with('x') && number(word).is_some());
        if let Some((ratio, (low, high))) = ratio.zip(after.split_once(" to ")) {
            check(ratio, low, high, sentence);
        }
    }
    found
}

/// The ratios that were read.
fn check(run: &Run) -> usize {
    let analysis = Analysis::of(run);
    let report = build::report(run, &analysis);
    let terminal = terminal::text(&report, None, TerminalLook { width: 160, colour: false });
    let page = html::page(&report);
    let rows = csv::results(run, &analysis.cells);
    let mut reader = table::Reader::from_reader(rows.as_bytes());
    let header = reader.headers().expect("a header").clone();
    let column = |id: &str| header.iter().position(|name| name == id).expect("a column");
    let (case, metric, value) = (column("case"), column("metric"), column("value"));
    for row in reader.records().map(|row| row.expect("a row")) {
        let cell = analysis.cells.cell(row[case].parse().expect("a case"), &row[metric]).expect("a cell");
        assert_eq!(row[value].parse::<f64>().ok(), Some(cell.estimate.value), "{row:?}");
    }
    check_terminal(&terminal) + check_intervals(&terminal) + check_intervals(&page)
}

#[test]
fn no_ratio_is_outside_its_interval_and_figures_divide_to_it() {
    let ratios: usize = (0..STUDIES).map(|seed| check(&worlds::rivals_in_turns(seed))).sum();
    assert!(ratios > 40 * STUDIES as usize, "only {ratios} ratios were found to be read");
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/runs/default");
    let run = RunDir::load(recorded.as_ref()).expect("a recorded run");
    assert!(check(&run) > 60);
}

#[test]
#[should_panic(expected = "outside")]
fn a_ratio_outside_its_interval_is_seen() {
    check_intervals("send costs 1.9x less than sendmsg (95 % CI 1.2 to 1.4).");
}

#[test]
#[should_panic(expected = "beside")]
fn figures_that_do_not_divide_are_seen() {
    check_terminal("64 B  7.26 ±7 %  57.8 +5.0x");
}
