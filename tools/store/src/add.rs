//! Adds runs to a store. Several may add at once: each waits for the store's lock. Results are in place before `runs.parquet`
//! names them, and every file is replaced as a whole, so a crash at any moment leaves a store that can be read. Results stand a
//! second time by month: ten thousand small files take seconds to open.

use crate::rows;
use crate::table::StoreTable;
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use syscost_core::units::utc;
use syscost_experiment::run::directory::OpenDirectory;
use syscost_experiment::run::{Record, Run};
use syscost_host::fingerprint::MACHINE;

pub const RUNS: &str = "runs.parquet";
pub const RESULTS: &str = "results";
/// All results of a month in one file.
pub const MONTHS: &str = "months";
const SAMPLES: &str = "samples";
/// The machine of runs that do not record one.
const UNKNOWN: &str = "unknown";
const LONGEST_NAME: usize = 128;

/// A store that nobody else adds to while this lives.
pub struct OpenStore {
    place: PathBuf,
    directory: OpenDirectory,
    /// Rows of `runs.parquet` that this added.
    added: StoreTable,
    /// Results that this added, by machine and month.
    months: BTreeMap<(String, String), StoreTable>,
    /// How many rows of results each of its runs has.
    results: BTreeMap<String, usize>,
}

impl OpenStore {
    /// Makes it where there is none, and waits for others who add to it.
    pub fn make(place: &Path) -> Result<OpenStore> {
        let directory = OpenDirectory::make(place)?;
        directory.wait_alone().with_context(|| format!("cannot lock {}", place.display()))?;
        let (added, months, results) = (StoreTable::default(), BTreeMap::new(), BTreeMap::new());
        Ok(OpenStore { place: place.into(), directory, added, months, results })
    }

    /// Adds the results of a run that lies in this directory, in the place of what it had before.
    pub fn add(&mut self, run: &Run, directory: &Path, with_samples: bool) -> Result<()> {
        run.samples.intact()?;
        let name = file_name(&run.record)?;
        let results = rows::of_results(run);
        self.write(RESULTS, &run.record, &name, &results)?;
        if with_samples {
            self.write(SAMPLES, &run.record, &name, &rows::of_samples(run))?;
        }
        let (machine, month) = place_of(&run.record)?;
        self.results.insert(run.record.id.clone(), results.rows());
        self.months.entry((machine.into(), month)).or_default().append(results)?;
        let directory = std::path::absolute(directory)?;
        self.added.append(rows::of_run(run, &directory))
    }

    fn write(&self, what: &str, record: &Record, name: &str, table: &StoreTable) -> Result<()> {
        let (machine, month) = place_of(record)?;
        let folder = self.place.join(what).join(format!("machine={machine}")).join(format!("month={month}"));
        Ok(OpenDirectory::make(&folder)?.replace(name, &table.bytes()?)?)
    }

    /// Names what was added in `runs.parquet`: how many runs the store has now.
    pub fn finish(self) -> Result<usize> {
        for ((machine, month), added) in self.months {
            let folder = self.place.join(MONTHS).join(format!("machine={machine}"));
            let name = format!("{month}.parquet");
            let mut all = without(read(&folder.join(&name))?, &added)?;
            all.append(once(added, &self.results)?)
                .with_context(|| format!("cannot add to {}", folder.join(&name).display()))?;
            OpenDirectory::make(&folder)?.replace(&name, &all.bytes()?)?;
        }
        let mut runs = without(read_runs(&self.place)?, &self.added)?;
        let one_each = ids(&self.added)?.into_iter().map(|id| (id, 1)).collect();
        runs.append(once(self.added, &one_each)?)
            .with_context(|| format!("cannot add to {}", self.place.join(RUNS).display()))?;
        self.directory.replace(RUNS, &runs.bytes()?)?;
        Ok(runs.rows())
    }
}

/// The rows of runs that are not among these.
fn without(mut rows: StoreTable, added: &StoreTable) -> Result<StoreTable> {
    let new: BTreeSet<String> = ids(added)?.into_iter().collect();
    let others: Vec<bool> = ids(&rows)?.iter().map(|id| !new.contains(id)).collect();
    rows.keep(&others);
    Ok(rows)
}

/// A run that was added twice in one go has the rows of the last time, which end the table of all its rows.
fn once(mut rows: StoreTable, rows_of: &BTreeMap<String, usize>) -> Result<StoreTable> {
    let all = ids(&rows)?;
    let mut left = rows_of.clone();
    let mut kept = vec![false; all.len()];
    for (row, id) in all.iter().enumerate().rev() {
        let left = left.get_mut(id).context("a run that was added")?;
        kept[row] = *left > 0;
        *left = left.saturating_sub(1);
    }
    rows.keep(&kept);
    Ok(rows)
}

fn ids(runs: &StoreTable) -> Result<Vec<String>> {
    if runs.columns.is_empty() {
        return Ok(Vec::new());
    }
    Ok(runs.text("run")?.iter().map(|id| id.clone().unwrap_or_default()).collect())
}

/// `runs.parquet`; no row where there is none yet.
pub fn read_runs(store: &Path) -> Result<StoreTable> {
    read(&store.join(RUNS))
}

fn read(path: &Path) -> Result<StoreTable> {
    match File::open(path) {
        Ok(file) => StoreTable::read(file, &[]).with_context(|| format!("cannot read {}", path.display())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(StoreTable::default()),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// The machine and the month of a run.
fn place_of(record: &Record) -> Result<(&str, String)> {
    let machine = part(record.fact(MACHINE).unwrap_or(UNKNOWN)).context("its machine")?;
    Ok((machine, utc(record.started_unix_ns / 1_000_000_000)[..7].to_string()))
}

fn file_name(record: &Record) -> Result<String> {
    Ok(format!("{}.parquet", part(&record.id).context("its id")?))
}

/// A part of a path that leads nowhere else: ids are read from files that anybody may have written.
fn part(text: &str) -> Result<&str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if text.is_empty() || text.len() > LONGEST_NAME || !text.chars().all(plain) {
        bail!("{text:?} cannot name a file");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_record_says_leads_nowhere_else() {
        assert!(part("0f3a-9_Z").is_ok());
        for bad in ["", "..", "a/b", "a b", "a\0", &"a".repeat(200)] {
            assert!(part(bad).is_err(), "{bad:?}");
        }
    }
}
