//! The report of a suite of operations, from figures made up for every probe of it: what holds for
//! a probe that is written tomorrow too.

use crate::report::common::{self, section};
use std::collections::{BTreeMap, BTreeSet};
use syscost_analyze::operations::beside::{Beside, BesideRow};
use syscost_analyze::operations::{headline, operations};
use syscost_analyze::whole::Analysis;
use syscost_core::axis::Point;
use syscost_core::sample::Sample;
use syscost_core::stats::random::Random;
use syscost_core::units::Unit;
use syscost_experiment::plan::{Case, Plan};
use syscost_experiment::run::{Run, State};
use syscost_host::Fact;
use syscost_host::fingerprint::C_LIBRARY;
use syscost_measure::probe::prediction::{Input, PredictedCost, Prediction};
use syscost_measure::probe::{self, Probe};
use syscost_report::terminal::{self, TerminalLook};
use syscost_report::{Report, build, csv, html, svg};

const PLAIN: TerminalLook = TerminalLook { width: 80, colour: false };
/// Cases of one probe: enough for every line and map.
const OF_ONE: usize = 400;

fn suite() -> impl Iterator<Item = &'static dyn Probe> {
    probe::ALL.iter().copied().filter(|p| p.suite().is_some())
}

/// The default points of a probe, as a plan makes them.
fn points(probe: &dyn Probe) -> Vec<Point> {
    let mut points = vec![Point::default()];
    for axis in probe.axes() {
        let mut next = Vec::new();
        for point in &points {
            if !probe.applies(axis.id, point) {
                next.push(point.clone());
                continue;
            }
            for value in axis.default() {
                let mut longer = point.clone();
                longer.set(axis.id, value);
                next.push(longer);
            }
        }
        points = next;
    }
    points.truncate(OF_ONE);
    points
}

/// Plausible quantities for a probe that is not known here: those of the shared timing loop, and a
/// number of its own for any other.
fn sample(probe: &dyn Probe, case: &Case, round: u32, index: u32, random: &mut Random) -> Sample {
    let base = 40.0 + 30.0 * (case.index % 11) as f64;
    let ns = base * (1.0 + 0.02 * random.unit());
    let known = BTreeMap::from([
        ("low_ns", ns),
        ("median_ns", ns * 1.1),
        ("p90_ns", ns * 1.4),
        ("p99_ns", ns * 2.0),
        ("max_ns", ns * 9.0),
        ("overhead_ns", 3.0),
        ("tsc_hertz", 2.6e9),
    ]);
    let of = |id: &str| known.get(id).copied().unwrap_or(ns);
    Sample {
        case: case.index,
        round,
        index,
        start_ns: None,
        elapsed_ns: 2e9,
        ops: 1e6,
        bytes: 1e6 * base,
        verified: true,
        marks: Vec::new(),
        quantities: probe.quantities().iter().map(|q| (q.id.to_string(), Some(of(q.id)))).collect(),
        histogram: None,
    }
}

fn prediction(case: &Case, probe: &dyn Probe, text: &str) -> Prediction {
    let metric = headline(probe).expect("a probe of the suite has a headline");
    let known = case.index % 3 != 0;
    let input = Input {
        name: format!("trap{text}"),
        value: known.then_some(60.0),
        unit: Unit::Nanoseconds,
        source: format!("a test{text}"),
        case: None,
    };
    let sum = known.then_some(80.0);
    Prediction {
        case: case.index,
        metric: metric.id.into(),
        unit: metric.unit,
        made_unix_ns: 1,
        first_round_unix_ns: Some(2),
        cost: PredictedCost {
            formula: format!("trap{text} + 20"),
            base_hardware: Some(20.0),
            software_overhead: known.then_some(60.0),
            predicted: sum,
            inputs: vec![input],
        },
    }
}

fn suite_run(rounds: u32, text: &str) -> Run {
    let mut run = common::small_run();
    let mut plan = Plan::default();
    let mut predictions = Vec::new();
    let mut random = Random::new(5);
    run.samples.clear();
    for probe in suite() {
        for point in points(probe) {
            let (index, id) = (plan.cases.len(), probe.about().id);
            let case = Case { index, probe: id.into(), point, twin_of: None };
            for round in 0..rounds {
                for index in 0..2 {
                    run.samples.push(sample(probe, &case, round, index, &mut random));
                }
            }
            predictions.push(prediction(&case, probe, text));
            plan.cases.push(case);
        }
    }
    let record = &mut run.record;
    record.spec.title = "What operations cost".into();
    record.spec.probes.clear();
    (record.plan, record.predictions) = (plan, predictions);
    record.settings.clear();
    record.failures.clear();
    record.missing.clear();
    run
}

fn report(run: &Run, beside: &[Beside]) -> Report {
    build::report_beside(run, &Analysis::of(run), beside)
}

#[test]
fn every_row_of_the_suite_is_on_the_page_with_its_prediction() {
    let run = suite_run(7, "");
    let analysis = Analysis::of(&run);
    let page = html::page(&build::report(&run, &analysis));
    let shown = section(&page, "operations");
    assert!(!analysis.operations.is_empty());
    // A probe may refuse figures that are made up.
    let measured = analysis.operations.iter().filter(|o| o.measured.is_some()).count();
    assert!(measured * 10 >= analysis.operations.len() * 9, "{measured} of {}", analysis.operations.len());
    for operation in analysis.operations.iter().filter(|o| o.row.listed && o.measured.is_some()) {
        let id = format!("id=\"c{}-{}\"", operation.case, operation.metric.id);
        assert!(shown.contains(&id), "{} is not among the operations", operation.name());
        assert_eq!(page.matches(&id).count(), 1, "{id}");
    }
    for probe in suite().filter(|p| points(*p).iter().any(|point| p.row(point).is_some())) {
        // The escaped text has no such words, wherever it breaks.
        let first = probe.about().method.split_whitespace().take(4).collect::<Vec<_>>().join(" ");
        assert!(shown.contains(&first), "the method of {} is not beside its table", probe.about().id);
    }
    assert!(shown.contains("unknown: needs trap") && shown.contains("trap + 20"));
    assert!(page.contains("predictions were within 2x"));
    let ids: Vec<&str> = page.split(" id=\"").skip(1).map(|s| &s[..s.find('"').unwrap()]).collect();
    let mut seen = BTreeSet::new();
    for id in ids {
        assert!(seen.insert(id), "{id} twice");
    }
    for link in page.split("href=\"#").skip(1) {
        let target = &link[..link.find('"').unwrap()];
        assert!(seen.contains(target), "nothing has the id {target}");
    }
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
}

#[test]
fn pictures_are_drawn_and_written_as_files() {
    let run = suite_run(6, "");
    let report = report(&run, &[]);
    let wanted: Vec<_> = suite().flat_map(|p| p.drawings()).collect();
    assert!(report.blocks().map(|block| block.drawings().len()).sum::<usize>() >= wanted.len());
    let files = svg::files(&report);
    let names: BTreeSet<&String> = files.iter().map(|f| &f.0).collect();
    assert_eq!(names.len(), files.len(), "names are unique");
    for (name, file) in &files {
        assert!(file.starts_with("<svg xmlns=") && file.contains("prefers-color-scheme"), "{name}");
        assert!(file.contains("<title>") && !file.contains("NaN") && !file.contains("inf\""), "{name}");
    }
}

#[test]
fn lists_stay_short_and_lines_fit_the_terminal() {
    let mut run = suite_run(2, "");
    run.record.state = State::TimeLimit;
    let report = report(&run, &[Beside::run("an-earlier-run-with-a-long-name", &suite_run(6, ""))]);
    let text = terminal::text(&report, None, PLAIN);
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    assert!(text.contains("predicted") && text.contains("ratio"));
    let page = html::page(&report);
    let care = section(&page, "care");
    assert_eq!(care.matches("too few rounds").count(), 1, "said once, not of every case");
    assert!(
        care.contains("Few rounds or wide intervals in ") && !care.contains("care-few-rounds"),
        "{care:.600}"
    );
}

#[test]
fn figures_from_elsewhere_stand_in_columns_of_their_own() {
    let run = suite_run(6, "");
    let tables = Beside::published(&run);
    let mut table =
        tables.into_iter().find(|table| table.about.contains("San Diego")).expect("it is built in");
    table.name = "cse221-2023".into();
    let before = Beside::run("before", &suite_run(7, ""));
    let page = html::page(&report(&run, &[table, before]));
    let shown = section(&page, "operations");
    for text in ["ours / cse221-2023", "ours / before", "San Diego"] {
        assert!(shown.replace("<wbr>", "").contains(text), "{text}");
    }
    assert!(shown.contains("8.08 ns"), "their timer overhead");
}

#[test]
fn results_hold_predictions_on_headlines_only() {
    let run = suite_run(6, "");
    let analysis = Analysis::of(&run);
    let text = csv::results(&run, &analysis.cells);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let header: Vec<String> = reader.headers().unwrap().iter().map(String::from).collect();
    let at = |name: &str| header.iter().position(|h| h == name).unwrap();
    let mut filled = 0;
    for row in reader.records() {
        let row = row.unwrap();
        let case = run.case(row[at("case")].parse().unwrap()).unwrap();
        let is_headline = headline(probe::find(&case.probe).unwrap()).unwrap().id == &row[at("metric")];
        assert_eq!(row[at("base_hardware")].is_empty(), !is_headline, "{row:?}");
        let known = is_headline && case.index % 3 != 0;
        assert_eq!(row[at("predicted")] == *"80", known, "{row:?}");
        if known {
            let number = |name: &str| row[at(name)].parse::<f64>().unwrap();
            assert_eq!(number("measured_over_predicted"), number("value") / 80.0);
            filled += 1;
        }
    }
    let all = operations(&run, &analysis.cells);
    let both = all.iter().filter(|o| o.measured.is_some() && o.predicted().is_some());
    assert_eq!(filled, both.count());
}

#[test]
fn hostile_predictions_and_tables_are_shown_and_never_obeyed() {
    let evil = "<script>alert(1)</script>\"'\x1b[31m\u{202e}";
    let row = BesideRow {
        operation: evil.into(),
        variant: evil.into(),
        unit: Unit::Nanoseconds,
        measured: Some(1.0),
    };
    let beside = Beside::table(evil, std::iter::once(evil), vec![row]);
    let report = report(&suite_run(6, evil), &[beside]);
    let page = html::page(&report);
    assert!(page.contains("&lt;script&gt;alert(1)") && !page.contains("<script"));
    assert!(!page.chars().any(|c| c.is_control() && c != '\n') && !page.contains('\u{202e}'));
    let text = terminal::text(&report, None, PLAIN);
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
}

#[test]
fn a_run_of_another_build_beside_this_one_is_a_warning() {
    let linked_with = |library: &str| {
        let mut run = suite_run(6, "");
        let value = Some(library.to_string());
        run.record.host.push(Fact { id: C_LIBRARY.into(), title: "C".into(), value, source: "s".into() });
        run
    };
    let said = |theirs: &str| {
        let beside = Beside::run("before", &linked_with(theirs));
        let report = report(&linked_with("glibc 2.36, shared"), &[beside]);
        report.notices.iter().any(|notice| notice.title.contains("linked with"))
    };
    assert!(said("musl, static"));
    assert!(!said("glibc 2.36, shared"));
}
