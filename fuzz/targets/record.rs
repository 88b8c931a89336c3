//! `run.json` of a stranger: a run whose report can be made, or an error that names the file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;
use syscost::analysis::whole::Analysis;
use syscost::report::{build, csv, html};
use syscost::run::files::{RECORD, RunDir, SAMPLES};

static DIRECTORY: OnceLock<tempfile::TempDir> = OnceLock::new();

fuzz_target!(|bytes: &[u8]| {
    let directory = DIRECTORY.get_or_init(|| tempfile::tempdir().expect("a directory")).path();
    std::fs::write(directory.join(RECORD), bytes).expect("written");
    std::fs::write(directory.join(SAMPLES), include_bytes!("../corpus/samples/two-cases.csv")).expect("written");
    match RunDir::load(directory) {
        Ok(run) => {
            let analysis = Analysis::of(&run);
            html::page(&build::report_beside(&run, &analysis, &[]));
            csv::write(&run, &analysis.cells, &mut std::io::sink()).expect("nothing can fail");
        }
        Err(error) => assert!(error.to_string().contains(&directory.display().to_string()), "{error}"),
    }
});
