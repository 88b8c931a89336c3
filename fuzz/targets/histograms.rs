//! `histograms.csv` of a stranger: histograms that can be read twice, or an error that names line and column.
#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;
use std::sync::OnceLock;
use syscost::run::files::{RECORD, RunDir, SAMPLES};
use syscost::run::histograms::HISTOGRAMS;

static DIRECTORY: OnceLock<tempfile::TempDir> = OnceLock::new();

fuzz_target!(|bytes: &[u8]| {
    let directory = DIRECTORY.get_or_init(prepared).path();
    std::fs::write(directory.join(HISTOGRAMS), bytes).expect("written");
    match RunDir::load(directory) {
        Ok(run) => {
            let of_cases = run.record.plan.cases.iter().map(|case| run.samples.of_case(case.index).iter().count());
            assert_eq!(of_cases.sum::<usize>(), run.samples.tally().samples);
            assert_eq!(run.samples.len(), run.samples.tally().samples);
            run.samples.intact().expect("nobody changed the files");
        }
        Err(error) => assert!(error.to_string().contains("line "), "{error}"),
    }
});

fn prepared() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let put = |name: &str, bytes: &[u8]| std::fs::write(Path::join(directory.path(), name), bytes).expect("written");
    put(RECORD, include_bytes!("../corpus/record/two-cases.json"));
    put(SAMPLES, include_bytes!("../corpus/samples/two-cases.csv"));
    directory
}
