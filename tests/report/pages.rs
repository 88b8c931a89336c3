//! The page, the tables and the terminal text, rebuilt from runs: the same bytes every time,
//! harmless whatever the run holds, small whatever its size.

use crate::common::{self, Shape, begins, section};
use std::collections::BTreeSet;
use syscost_analyze::sides::{RunFigures, compared_metric};
use syscost_analyze::whole::Analysis;
use syscost_core::axis::Value;
use syscost_experiment::run::{Run, State, Warning};
use syscost_host::Fact;
use syscost_report::terminal::{self, TerminalLook};
use syscost_report::{Block, Report, build, csv, html, side_page, svg};

const PLAIN: TerminalLook = TerminalLook { width: 80, colour: false };

fn report(run: &Run) -> Report {
    build::report(run, &Analysis::of(run))
}

fn page(run: &Run) -> String {
    html::page(&report(run))
}

#[test]
fn rebuilding_is_byte_identical() {
    let run = common::small_run();
    assert_eq!(page(&run), page(&run.clone()));
    let results = |run: &Run| csv::results(run, &Analysis::of(run).cells);
    assert_eq!(results(&run), results(&run.clone()));
    let mut shuffled = run.clone();
    shuffled.samples.reverse();
    assert_eq!(results(&run), results(&shuffled), "the order of rows in the file does not matter");
}

#[test]
fn a_twin_is_counted_as_its_case_and_a_short_run_is_named_beside_its_other_problems() {
    let mut run = common::run(&Shape { rounds: 3, ..common::small() });
    let twins = run.record.plan.cases.iter().filter_map(|case| Some((case.index, case.twin_of?)));
    let (twin, original) = twins.min_by_key(|(twin, _)| *twin).expect("the control is planned twice");
    for case in [twin, original] {
        run.samples.iter_mut().find(|s| s.case == case).unwrap().marks.push("steal".into());
    }
    let asked = "Asked for a case: ";
    assert!(page(&run).contains(asked), "three rounds are not what was asked");
    let all = run.record.plan.cases.iter().filter(|case| case.twin_of.is_none()).count();
    let of_data = report(&run).notices.into_iter().find(|notice| notice.title.starts_with("Problems"));
    let notice = of_data.expect("samples are marked");
    assert_eq!(notice.title, format!("Problems with 1 of {all} cases, besides few rounds in {all}"));
    assert_eq!((notice.cases, notice.remedy.as_str()), (vec![original, twin], "see `syscost doctor`"));
}

#[test]
fn a_report_has_its_sections_in_order_and_no_link_without_a_target() {
    let page = page(&common::small_run());
    let wanted = [
        "figure",
        "table",
        "why",
        "questions",
        "copies",
        "not-measured",
        "warnings",
        "cases",
        "machine",
        "method",
        "reproduce",
    ];
    let places: Vec<usize> = wanted.iter().map(|id| begins(&page, id).expect(id)).collect();
    assert!(places.is_sorted(), "{places:?}");
    let mut links = 0;
    for link in page.split("href=\"#").skip(1) {
        let target = &link[..link.find('"').unwrap()];
        assert!(page.contains(&format!("id=\"{target}\"")), "nothing has the id {target}");
        links += 1;
    }
    assert!(links > 20, "sentences are linked to their cells");
    let ids: Vec<&str> = page.split(" id=\"").skip(1).map(|s| &s[..s.find('"').unwrap()]).collect();
    assert_eq!(ids.len(), ids.iter().collect::<BTreeSet<_>>().len(), "ids are unique");
}

#[test]
fn missing_counters_are_said_and_counts_are_tabs_of_the_table() {
    let page = page(&common::small_run());
    assert!(section(&page, "not-measured").contains("perf_event_open: ENOENT"));
    let run = common::run(&Shape { counters: true, ..common::small() });
    let counted = self::page(&run);
    assert!(section(&counted, "table").contains("cache misses, a message"));
}

#[test]
fn other_axes_make_combinations_behind_tabs() {
    let run = common::run(&Shape { nodelay: vec!["on", "off"], rounds: 6, ..common::small() });
    let page = page(&run);
    for place in ["TCP_NODELAY on</label>", "TCP_NODELAY off</label>"] {
        assert!(section(&page, "figure").contains(place), "{place}");
        assert!(section(&page, "table").contains(place), "{place}");
    }
    let verdict = &report(&run).verdict;
    assert!(verdict.iter().any(|s| s.text.contains("TCP_NODELAY off")), "{verdict:?}");
}

#[test]
fn a_run_without_samples_or_cases_still_has_a_report() {
    let mut run = common::run(&Shape { rounds: 0, ..common::small() });
    run.record.state = State::Running;
    let empty = page(&run);
    assert!(
        empty.contains("This run has not ended") && empty.contains("class=\"trust red\""),
        "{empty:.9000}"
    );
    assert!(!terminal::text(&report(&run), None, PLAIN).is_empty());
    run.record.plan.cases.clear();
    run.record.failures.clear();
    run.record.settings.clear();
    assert!(page(&run).contains("id=\"reproduce\""));
}

#[test]
fn a_probe_without_competitors_has_its_case_table() {
    let shape = Shape { mechanisms: vec!["send"], sizes: vec![4096], threads: vec![1], ..common::small() };
    let page = page(&common::run(&shape));
    assert!(page.contains("id=\"c0-throughput\""));
    assert!(!page.contains("id=\"figure\""));
}

const EVIL: &str =
    "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\x1b[31m\x07\u{9b}2J\u{202e}&lt;\n\0";

/// The run with the worst text in every place where a stranger's file may put some.
fn hostile() -> Run {
    let mut run = common::small_run();
    let record = &mut run.record;
    let evil = || EVIL.to_string();
    for text in [&mut record.id, &mut record.spec.title, &mut record.spec.name, &mut record.tool.version] {
        *text = evil();
    }
    (record.tool.profile, record.tool.binary_sha256) = (evil(), evil());
    record.command.push(evil());
    record.host.push(Fact { id: "cpu_model".into(), title: evil(), value: Some(evil()), source: evil() });
    record.host.push(Fact { id: evil(), title: evil(), value: None, source: evil() });
    record.host[0].value = Some(evil());
    let warning =
        Warning { id: evil(), observed: evil(), consequence: evil(), remedy: evil(), cases: vec![0] };
    record.warnings.push(warning);
    record.failures[0].message = evil();
    record.missing[0].why.reason = evil();
    record.missing[0].why.remedy = evil();
    record.missing[0].quantities.push(evil());
    record.plan.skips[0].why.reason = evil();
    record.plan.skips[0].point.set(EVIL, Value::text(EVIL));
    for case in &mut record.plan.cases {
        if case.point.text_at("mechanism") == Some("sendmsg") {
            case.point.set("mechanism", Value::text(EVIL));
        }
        if case.point.text_at("path") == Some("veth") && case.index % 2 == 0 {
            case.point.set("path", Value::text(EVIL));
        }
    }
    run
}

#[test]
fn hostile_text_is_shown_and_never_obeyed() {
    let report = report(&hostile());
    let page = html::page(&report);
    assert!(page.contains("&lt;script&gt;alert(1)"), "it is shown");
    let mut rest = page.as_str();
    while let Some(start) = rest.find('<') {
        let tag = &rest[start + 1..start + rest[start..].find('>').expect("tags end")];
        let name: String =
            tag.trim_start_matches('/').chars().take_while(|c| c.is_ascii_alphanumeric()).collect();
        assert!(
            !["script", "img", "iframe", "link", "object", "form", "base"].contains(&name.as_str()),
            "<{tag}>"
        );
        rest = &rest[start + 1..];
    }
    assert!(!page.chars().any(|c| c.is_control() && c != '\n'), "control characters are written out");
    assert!(!page.contains('\u{202e}'));
    for (name, file) in svg::files(&report) {
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c)), "{name}");
        assert!(!file.contains("<script") && !file.contains("<img") && !file.contains('\x1b'));
    }
    for colour in [false, true] {
        let text = terminal::text(&report, None, TerminalLook { width: 80, colour });
        let own = text.replace("\x1b[1m", "").replace("\x1b[33m", "").replace("\x1b[0m", "");
        assert!(!own.chars().any(|c| c.is_control() && c != '\n'), "{own:?}");
        assert!(colour || text == own, "no colour unless told");
    }
}

#[test]
fn nothing_is_loaded_from_anywhere() {
    let page = page(&common::small_run());
    assert!(page.contains("default-src 'none'"));
    for attribute in ["src=\"", "href=\"", "url(", "@import", "srcset", "action=\""] {
        for value in page.split(attribute).skip(1) {
            assert!(value.starts_with('#'), "{attribute}{value:.60}");
        }
    }
}

#[test]
fn lines_fit_the_terminal() {
    for width in [60u16, 80, 132] {
        let text = terminal::text(&report(&common::small_run()), None, TerminalLook { width, colour: false });
        for line in text.lines() {
            assert!(line.chars().count() <= usize::from(width), "{width}: {line}");
        }
    }
}

#[test]
fn plots_are_files_of_their_own() {
    let report = report(&common::small_run());
    let files = svg::files(&report);
    assert_eq!(files.len(), report.blocks().flat_map(Block::drawings).count());
    let names: BTreeSet<&String> = files.iter().map(|f| &f.0).collect();
    assert_eq!(names.len(), files.len(), "names are unique");
    for (name, file) in &files {
        assert!(file.starts_with("<svg xmlns=") && file.contains("prefers-color-scheme"), "{name}");
        assert!(file.contains("<title>") && !file.contains("NaN"), "{name}");
    }
}

/// The size is a bound; the time is printed, and judged by nobody here (this is a debug build).
#[test]
fn ten_thousand_cases_make_a_page_under_two_megabytes() {
    let shape = Shape {
        sizes: (6..31).map(|bits| 1 << bits).collect(),
        threads: (1..=25).collect(),
        paths: vec!["veth", "loopback"],
        nodelay: vec!["on", "off"],
        rounds: 2,
        samples: 1,
        ..common::small()
    };
    let run = common::run(&shape);
    assert!(run.record.plan.cases.len() >= 10_000);
    let start = std::time::Instant::now();
    let report = report(&run);
    let page = html::page(&report);
    eprintln!("{} cases, {} bytes, {:?}", run.record.plan.cases.len(), page.len(), start.elapsed());
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    assert!(section(&page, "cases").contains("more cases are in results.csv"));
}

/// What `--beside` shows of another run: operations in their section, and every other case in one of its own.
#[test]
fn every_case_of_another_run_is_shown_beside_this_one() {
    let run = common::small_run();
    let mut report = build::report(&run, &Analysis::of(&run));
    let before = report.sections.len();
    side_page::show_beside(&mut report, &run, "earlier <run>", &RunFigures::of(&run));
    assert_eq!(report.sections.len(), before + 1);
    let table = &report.ending.tables[0];
    assert_eq!(table.title.as_deref(), Some("Beside earlier <run>"));
    let cases = run.record.plan.cases.iter().filter(|case| case.twin_of.is_none()).count();
    assert!(table.rows.len() == cases && table.rows.iter().all(|row| row[3] == "1.00x"), "{:?}", table.rows);
    let page = html::page(&report);
    assert!(page.contains("Beside earlier &lt;run&gt;") && page.contains("One run a side decides nothing"));
    for probe in syscost_measure::probe::ALL {
        assert!(compared_metric(*probe).is_some(), "{} has no figure to compare", probe.about().id);
    }
}
