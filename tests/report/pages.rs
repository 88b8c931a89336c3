//! The page and its parts, rebuilt from recorded-looking runs.

use crate::common::{self, Shape};
use syscost::analysis::study::Analysis;
use syscost::report::{build, csv, html, svg};
use syscost::run::Run;

fn page(run: &Run) -> String {
    html::page(&build::report(run, &Analysis::of(run)))
}

#[test]
fn rebuilding_is_byte_identical() {
    let run = common::small_run();
    assert_eq!(page(&run), page(&run.clone()));
    assert_eq!(
        csv::results(&run, &Analysis::of(&run).cells),
        csv::results(&run.clone(), &Analysis::of(&run).cells)
    );
}
