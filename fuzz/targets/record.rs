//! `run.json` of a stranger: a run whose report can be made, or an error that names the file.

use super::Seen;
use std::path::Path;
use syscost::analysis::beside::Beside;
use syscost::analysis::whole::Analysis;
use syscost::report::terminal::{self, Look};
use syscost::report::{build, csv, html};
use syscost::run::files::{RECORD, RunDir, SAMPLES};

pub fn look(bytes: &[u8], scratch: &Path) -> Seen {
    std::fs::write(scratch.join(RECORD), bytes).expect("written");
    std::fs::write(scratch.join(SAMPLES), include_bytes!("../corpus/samples/two-cases.csv"))
        .expect("written");
    match RunDir::load(scratch) {
        Ok(run) => {
            let analysis = Analysis::of(&run);
            let report = build::report_beside(&run, &analysis, &[Beside::run("earlier", &run)]);
            html::page(&report);
            terminal::text(&report, None, Look { width: 80, colour: false });
            csv::write(&run, &analysis.cells, &mut std::io::sink()).expect("nothing can fail");
            Seen::Understood
        }
        Err(error) => {
            assert!(error.to_string().contains(&scratch.display().to_string()), "{error}");
            Seen::Refused
        }
    }
}
