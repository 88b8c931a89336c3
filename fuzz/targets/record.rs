//! `run.json` of a stranger, or a whole run: one whose report can be made, or an error that names the file.

use super::{HISTOGRAMS_FOLLOW, SAMPLES_FOLLOW, Seen, cut};
use std::path::Path;
use syscost_analyze::operations::beside::Beside;
use syscost_analyze::whole::Analysis;
use syscost_experiment::run::files::{RECORD, RunDir, SAMPLES};
use syscost_experiment::run::histograms::HISTOGRAMS;
use syscost_report::terminal::{self, TerminalLook};
use syscost_report::{build, csv, html};

/// Of a record that comes alone.
const FEW_SAMPLES: &[u8] = include_bytes!("../corpus/samples/two-cases.csv");

pub fn look(bytes: &[u8], scratch: &Path) -> Seen {
    let (record, samples) = cut(bytes, SAMPLES_FOLLOW);
    let (samples, histograms) = cut(samples.unwrap_or(FEW_SAMPLES), HISTOGRAMS_FOLLOW);
    for (name, bytes) in [(RECORD, record), (SAMPLES, samples), (HISTOGRAMS, histograms.unwrap_or_default())]
    {
        std::fs::write(scratch.join(name), bytes).expect("written");
    }
    match RunDir::load(scratch) {
        Ok(run) => {
            let analysis = Analysis::of(&run);
            let report = build::report_beside(&run, &analysis, &[Beside::run("earlier", &run)]);
            html::page(&report);
            terminal::text(&report, None, TerminalLook { width: 80, colour: false });
            csv::write(&run, &analysis.cells, &mut std::io::sink()).expect("nothing can fail");
            Seen::Understood
        }
        Err(error) => {
            assert!(error.to_string().contains(&scratch.display().to_string()), "{error}");
            Seen::Refused
        }
    }
}
