//! `samples.csv` and `histograms.csv` of a stranger: samples that are read alike every time, or an error that
//! names file, line and column.

use super::{HISTOGRAMS_FOLLOW, Seen, cut};
use std::path::Path;
use syscost_experiment::run::files::{RECORD, RunDir, SAMPLES};
use syscost_experiment::run::histograms::HISTOGRAMS;

pub fn look(bytes: &[u8], scratch: &Path) -> Seen {
    let put = |name: &str, bytes: &[u8]| std::fs::write(scratch.join(name), bytes).expect("written");
    put(RECORD, include_bytes!("../corpus/record/two-cases.json"));
    let (samples, histograms) = cut(bytes, HISTOGRAMS_FOLLOW);
    put(SAMPLES, samples);
    match histograms {
        Some(histograms) => put(HISTOGRAMS, histograms),
        None => drop(std::fs::remove_file(scratch.join(HISTOGRAMS))),
    }
    match RunDir::load(scratch) {
        Ok(run) => {
            let of_cases =
                run.record.plan.cases.iter().map(|case| run.samples.of_case(case.index).iter().count());
            assert_eq!(of_cases.sum::<usize>(), run.samples.tally().samples);
            assert_eq!(run.samples.len(), run.samples.tally().samples);
            run.samples.intact().expect("nobody changed the files");
            Seen::Understood
        }
        Err(error) => {
            let told = error.to_string();
            let named = |file: &str| told.contains(&format!("{file}, line "));
            assert!(named(SAMPLES) || histograms.is_some() && named(HISTOGRAMS), "{told}");
            Seen::Refused
        }
    }
}
