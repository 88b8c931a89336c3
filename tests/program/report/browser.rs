//! The page in a real browser: the numbers it shows, and what it loads.

use crate::report::common;
use crate::report::loading::{Loaded, load};
use std::collections::HashMap;
use std::fs;
use syscost_analyze::whole::Analysis;
use syscost_core::units::Unit;
use syscost_report::{build, csv, html};

/// The text before the first tag of the element with this id.
fn shown<'d>(dom: &'d str, id: &str) -> Option<&'d str> {
    let at = dom.find(&format!(" id=\"{id}\""))?;
    let text = &dom[at + dom[at..].find('>')? + 1..];
    Some(text[..text.find('<')?].trim())
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn the_browser_shows_the_figures_of_results_csv() {
    let run = common::small_run();
    let analysis = Analysis::of(&run);
    let scratch = tempfile::tempdir().unwrap();
    let page = scratch.path().join("report.html");
    fs::write(&page, html::page(&build::report(&run, &analysis))).unwrap();
    let Some(Loaded { dom, console }) = load(&page, &[]) else { return };
    assert!(!console.contains("Content Security Policy"), "its own style is let in: {console}");

    let results = csv::results(&run, &analysis.cells);
    let mut reader = ::csv::Reader::from_reader(results.as_bytes());
    let columns: HashMap<String, usize> =
        reader.headers().unwrap().iter().enumerate().map(|(i, name)| (name.to_string(), i)).collect();
    let mut compared = 0;
    for row in reader.records() {
        let row = row.unwrap();
        let field = |name: &str| row[columns[name]].to_string();
        let unit: Unit = serde_json::from_value(field("unit").into()).unwrap();
        if let Some(text) = shown(&dom, &format!("c{}-{}", field("case"), field("metric"))) {
            assert_eq!(text, unit.format(field("value").parse().unwrap()), "{row:?}");
            compared += 1;
        }
    }
    let cases = run.record.plan.cases.iter().filter(|c| c.twin_of.is_none()).count();
    assert!(compared >= cases * 4, "{compared} figures of {cases} cases are on the page");
    assert_eq!(dom.matches("<figure").count(), dom.matches("</figure>").count());
    assert!(!dom.contains("<script"), "nothing that a page could run");
}
