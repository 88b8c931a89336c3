//! The page, the tables and the terminal text, rebuilt from runs: the same bytes every time,
//! harmless whatever the run holds, small whatever its size.

use crate::report::common::{self, Shape, begins, section};
use std::collections::BTreeSet;
use std::path::Path;
use syscost_analyze::sides::{RunFigures, compared_metric};
use syscost_analyze::whole::Analysis;
use syscost_experiment::run::{Run, RunDir, State};
use syscost_report::terminal::{self, TerminalLook};
use syscost_report::{Block, Report, build, csv, html, palette, side_page};

const PLAIN: TerminalLook = TerminalLook { width: 80, colour: false };

fn report(run: &Run) -> Report {
    build::report(run, &Analysis::of(run))
}

fn page(run: &Run) -> String {
    html::page(&report(run))
}

/// Of recorded runs: whose ways have batches, whose lines are latencies, and the plainest.
#[test]
fn a_figure_has_a_colour_for_each_way_and_no_batch_stands_beside_single_messages() {
    let recorded =
        |name: &str| RunDir::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/runs").join(name));
    let is_batch = |name: &str| name.rsplit_once(" x").is_some_and(|(_, n)| n.parse::<u64>().is_ok());
    let (mut batched, mut single) = (0, 0);
    for name in ["default", "ways", "latency"] {
        let run = recorded(name).expect(name);
        let report = report(&run);
        let plots = report.blocks().flat_map(|block| match block {
            Block::Panels(plots) => plots.as_slice(),
            Block::Plot(plot) => std::slice::from_ref(plot),
            _ => &[],
        });
        for plot in plots {
            let styles: BTreeSet<usize> = plot.series.iter().map(|series| series.style).collect();
            assert_eq!(styles.len(), plot.series.len(), "{name}: {}", plot.title);
            let batches = plot.series.iter().filter(|series| is_batch(&series.name)).count();
            assert!(batches == 0 || batches == plot.series.len(), "{name}: {}", plot.title);
            (batched, single) = (batched + batches, single + plot.series.len() - batches);
            for series in plot.series.iter().filter(|series| palette::style(&series.name, 0).is_some()) {
                assert_eq!(Some(series.style), palette::style(&series.name, 0), "{name}: {}", series.name);
            }
        }
    }
    assert!(batched > 3 && single > 20, "{batched} {single}");
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
    let mut run = common::run(&Shape { rounds: 2, ..common::small() });
    let twins = run.record.plan.cases.iter().filter_map(|case| Some((case.index, case.twin_of?)));
    let (twin, original) = twins.min_by_key(|(twin, _)| *twin).expect("the control is planned twice");
    for case in [twin, original] {
        run.samples.iter_mut().find(|s| s.case == case).unwrap().marks.push("steal".into());
    }
    let asked = "Asked for a case: ";
    assert!(page(&run).contains(asked), "two rounds are not what was asked");
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
fn nothing_is_loaded_from_anywhere() {
    let page = page(&common::small_run());
    assert!(page.contains("default-src 'none'"));
    for attribute in ["src=\"", "href=\"", "url(", "@import", "srcset", "action=\""] {
        for value in page.split(attribute).skip(1) {
            assert!(value.starts_with('#'), "{attribute}{value:.60}");
        }
    }
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
