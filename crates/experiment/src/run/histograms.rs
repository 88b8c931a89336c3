//! `histograms.csv`: every single time of the samples whose probe keeps them, one row a sample.
//!
//! A row is appended before the sample's own in `samples.csv`, so that no sample is without its
//! histogram; a row whose sample was lost in a crash belongs to nothing and is ignored, and of two rows
//! of one sample (its round was measured again) the later counts. Nothing here parses a sample.

use super::Warning;
use super::appended::{LONGEST_APPENDED, append_rows, each_row, header_of};
use super::errors::{LoadError, WriteError, read_error, write_error};
use super::lines::RowPlace;
use super::open::{is_there, open_file};
use super::rows::{BadField, CsvColumn, column};
use std::collections::{BTreeMap, HashMap};
use std::os::unix::fs::FileExt;
use std::path::Path;
use syscost_core::sample::Sample;
use syscost_core::stats::histogram::Histogram;

pub const HISTOGRAMS: &str = "histograms.csv";
/// A warning.
pub(super) const LOST: &str = "lost_histograms";

pub const COLUMNS: &[CsvColumn] = &[
    column("case", "index of the case in `plan.cases` of `run.json`"),
    column("round", "that of the sample in `samples.csv`"),
    column("sample", "that of the sample in `samples.csv`"),
    column(
        "histogram",
        "`VALUE:COUNT`, separated by spaces, values rising: the upper end of each bucket that has any, in \
         nanoseconds (three significant digits), and how many times fell into it",
    ),
];

/// Appends the rows of those samples that have a histogram, with one write.
pub fn append(dir: &Path, samples: &[Sample]) -> Result<Histograms, WriteError> {
    let mut rows = String::new();
    let mut places: Vec<(HistogramKey, RowPlace)> = Vec::new();
    for sample in samples {
        if let Some(histogram) = &sample.histogram {
            let (key, offset) = ((sample.case, sample.round, sample.index), rows.len() as u64);
            rows.push_str(&format!("{},{},{},{histogram}\n", sample.case, sample.round, sample.index));
            let bytes = rows.len() as u64 - offset;
            if bytes > LONGEST_APPENDED {
                let reason = format!("a row of {bytes} bytes, of at most {LONGEST_APPENDED}");
                return Err(WriteError::Sample { column: "histogram".into(), reason });
            }
            places.push((key, RowPlace { offset, bytes }));
        }
    }
    let mut written = Histograms::default();
    if rows.is_empty() {
        return Ok(written);
    }
    let path = dir.join(HISTOGRAMS);
    let start = append_rows(&path, &header(), rows).map_err(|error| write_error(&path, error))?;
    places.into_iter().for_each(|(key, at)| written.saw(key, RowPlace { offset: start + at.offset, ..at }));
    Ok(written)
}

fn header() -> String {
    header_of(COLUMNS)
}

/// Which sample: case, round, position within it.
type HistogramKey = (usize, u32, u32);

/// Where the histogram of each sample stands: they are large, and read when they are needed.
#[derive(Clone, Debug, Default)]
pub struct Histograms {
    /// By case.
    places: HashMap<usize, BTreeMap<(u32, u32), RowPlace>>,
}

impl Histograms {
    fn saw(&mut self, (case, round, index): HistogramKey, place: RowPlace) {
        self.places.entry(case).or_default().insert((round, index), place);
    }

    pub(super) fn extend(&mut self, more: Histograms) {
        for (case, places) in more.places {
            self.places.entry(case).or_default().extend(places);
        }
    }

    pub(super) fn has(&self, case: usize) -> bool {
        self.places.contains_key(&case)
    }

    /// Gives each sample its histogram, where the directory has one for it.
    pub(super) fn attach(&self, dir: &Path, samples: &mut [Sample]) -> Result<(), LoadError> {
        if self.places.is_empty() {
            return Ok(());
        }
        let file = open_file(dir, HISTOGRAMS)?;
        for sample in samples {
            let of_case = self.places.get(&sample.case);
            let Some(place) = of_case.and_then(|of| of.get(&(sample.round, sample.index))) else { continue };
            let mut bytes = vec![0; place.bytes as usize];
            file.read_exact_at(&mut bytes, place.offset).map_err(|e| read_error(dir, HISTOGRAMS, e))?;
            let row = std::str::from_utf8(&bytes).ok().and_then(|line| parts(line.trim_end_matches('\n')));
            let times = row.filter(|(key, _)| *key == (sample.case, sample.round, sample.index));
            let what = || format!("{HISTOGRAMS}, from byte {}: another row stands there now", place.offset);
            let changed = || LoadError::Changed { path: dir.into(), what: what() };
            sample.histogram = Some(times.and_then(|(_, text)| text.parse().ok()).ok_or_else(changed)?);
        }
        Ok(())
    }
}

/// The samples say quantiles of times, and the times themselves are gone.
pub(super) fn lost(dir: &Path) -> Option<Warning> {
    (!is_there(dir, HISTOGRAMS)).then(|| Warning {
        id: LOST.into(),
        observed: format!("{HISTOGRAMS} is gone: the samples have quantiles of times, and no times"),
        consequence: "no distribution is drawn; quantiles are those of single rounds".into(),
        remedy: "put the file back, or measure again: syscost run --out NEW_DIR".into(),
        cases: Vec::new(),
    })
}

/// Reads every row once.
pub(super) fn index(dir: &Path, warnings: &mut Vec<Warning>) -> Result<Histograms, LoadError> {
    let mut found = Histograms::default();
    each_row(dir, HISTOGRAMS, COLUMNS, warnings, |row, place| {
        let bad = |column: &str, reason: String| BadField { column: column.into(), reason };
        let (key, text) = std::str::from_utf8(row)
            .ok()
            .and_then(parts)
            .ok_or_else(|| bad("case", "the row does not begin with the numbers of a sample".into()))?;
        text.parse::<Histogram>().map_err(|e| bad("histogram", e.to_string()))?;
        found.saw(key, place);
        Ok(())
    })?;
    Ok(found)
}

fn parts(line: &str) -> Option<(HistogramKey, &str)> {
    let mut fields = line.splitn(4, ',');
    let key = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some((key, fields.next()?))
}

#[cfg(test)]
mod tests {
    use super::super::open::options;
    use super::*;
    use std::io::Write;

    fn sample(case: usize, round: u32, times: Option<&str>) -> Sample {
        Sample { case, round, histogram: times.map(|t| t.parse().unwrap()), ..Sample::default() }
    }

    /// As a reader gives samples their times.
    fn attach(dir: &Path, samples: &mut [Sample]) -> Result<(), LoadError> {
        index(dir, &mut Vec::new())?.attach(dir, samples)
    }

    fn bare(samples: &[Sample]) -> Vec<Sample> {
        samples.iter().map(|s| Sample { histogram: None, ..s.clone() }).collect()
    }

    #[test]
    fn histograms_find_their_samples_again() {
        let dir = tempfile::tempdir().unwrap();
        let samples = vec![sample(0, 0, Some("10:3 20:1")), sample(1, 0, None), sample(0, 1, Some("11:7"))];
        append(dir.path(), &samples[..2]).unwrap();
        append(dir.path(), &samples[2..]).unwrap();
        let mut read = bare(&samples);
        attach(dir.path(), &mut read).unwrap();
        assert_eq!(read, samples);
    }

    #[test]
    fn a_torn_row_and_a_lost_sample_are_nobodys_and_the_later_row_counts() {
        let dir = tempfile::tempdir().unwrap();
        append(dir.path(), &[sample(0, 0, Some("10:3")), sample(0, 5, Some("9:9"))]).unwrap();
        let mut file = options(true).open(dir.path().join(HISTOGRAMS)).unwrap();
        file.write_all(b"0,1,0,10:3 2").unwrap();
        let mut half_way = vec![sample(0, 0, None)];
        attach(dir.path(), &mut half_way).unwrap();
        assert!(half_way[0].histogram.is_some(), "half a row at the end is ignored");
        append(dir.path(), &[sample(0, 1, Some("12:4")), sample(0, 0, Some("10:4"))]).unwrap();
        let mut read = vec![sample(0, 0, None), sample(0, 1, None)];
        attach(dir.path(), &mut read).unwrap();
        assert_eq!(read, [sample(0, 0, Some("10:4")), sample(0, 1, Some("12:4"))]);
        let text = std::fs::read_to_string(dir.path().join(HISTOGRAMS)).unwrap();
        assert_eq!(text.lines().count(), 5, "half a row is cut off: {text}");
    }

    #[test]
    fn a_histogram_that_no_reader_takes_is_not_written() {
        let dir = tempfile::tempdir().unwrap();
        let buckets: String = (1..300_000).map(|ns| format!("{ns}:1 ")).collect();
        assert!(append(dir.path(), &[sample(0, 0, Some(buckets.trim()))]).is_err());
        assert!(!dir.path().join(HISTOGRAMS).exists());
    }

    #[test]
    fn runs_without_the_file_have_none_and_strange_rows_in_it_are_left_out_and_said() {
        let dir = tempfile::tempdir().unwrap();
        let mut samples = vec![sample(0, 0, None)];
        attach(dir.path(), &mut samples).unwrap();
        assert_eq!(samples[0].histogram, None);
        std::fs::write(dir.path().join(HISTOGRAMS), "case,round,sample,histogram\n0,0,0,5:0\n").unwrap();
        let said = |text: &str| {
            std::fs::write(dir.path().join(HISTOGRAMS), text).unwrap();
            let mut warnings = Vec::new();
            let found = index(dir.path(), &mut warnings).unwrap();
            (found.has(0), warnings.pop().map(|w| w.observed + "; " + &w.consequence).unwrap_or_default())
        };
        let (_, strange) = said("case,round,sample,histogram\n0,0,0,5:0\n");
        assert!(
            strange.contains("line 2, column histogram") && strange.contains("nothing of histograms.csv"),
            "{strange}"
        );
        let (kept, damaged) = said("case,rou\0d,sample,histogram\n0,0,0,5:1\n");
        assert!(
            kept && damaged.contains("1 row of histograms.csv cannot be read; the first is line 1"),
            "{damaged}"
        );
        assert!(said("0,0,0,5:1\n").0, "a first row without the names above it is a row");
    }
}
