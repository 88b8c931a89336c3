//! `samples.csv`, `histograms.csv` and `slices.csv` of a stranger: samples that are read alike every time, or an error that
//! names file, line and column.

use super::{HISTOGRAMS_FOLLOW, SLICES_FOLLOW, Seen, cut};
use std::path::Path;
use syscost_experiment::run::SliceFigure;
use syscost_experiment::run::files::{RECORD, RunDir, SAMPLES};
use syscost_experiment::run::histograms::HISTOGRAMS;
use syscost_experiment::run::slices::SLICES;

pub fn look(bytes: &[u8], scratch: &Path) -> Seen {
    let put = |name: &str, bytes: &[u8]| std::fs::write(scratch.join(name), bytes).expect("written");
    put(RECORD, include_bytes!("../corpus/record/two-cases.json"));
    let (bytes, slices) = cut(bytes, SLICES_FOLLOW);
    let (samples, histograms) = cut(bytes, HISTOGRAMS_FOLLOW);
    put(SAMPLES, samples);
    for (name, bytes) in [(HISTOGRAMS, histograms), (SLICES, slices)] {
        match bytes {
            Some(bytes) => put(name, bytes),
            None => drop(std::fs::remove_file(scratch.join(name))),
        }
    }
    match RunDir::load(scratch) {
        Ok(run) => {
            let of_cases =
                run.record.plan.cases.iter().map(|case| run.samples.of_case(case.index).iter().count());
            assert_eq!(of_cases.sum::<usize>(), run.samples.tally().samples);
            assert_eq!(run.samples.len(), run.samples.tally().samples);
            run.samples.intact().expect("nobody changed the files");
            let ratios = run.slices.log_ratios(&[1], &[0], SliceFigure::TotalCpu);
            assert!(ratios.iter().all(|ratio| ratio.log.is_finite()), "{ratios:?}");
            Seen::Understood
        }
        Err(error) => {
            let told = error.to_string();
            let named = |file: &str| told.contains(&format!("{file}, line "));
            let others = [(HISTOGRAMS, histograms), (SLICES, slices)];
            let of_others = others.iter().any(|(name, bytes)| bytes.is_some() && named(name));
            assert!(named(SAMPLES) || of_others, "{told}");
            Seen::Refused
        }
    }
}
