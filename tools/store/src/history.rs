//! What a store knows of earlier runs: one cell over time, run by run and one point a boot, and the runs of a label.

use crate::add::{RESULTS, read_runs};
use crate::table::{ColumnValues, StoreTable};
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Which cell: parts of a point, all of which it must have.
#[derive(Clone, Debug, Default)]
pub struct CellQuery {
    pub probe: String,
    pub metric: String,
    /// `message_bytes=65536`
    pub coordinates: Vec<String>,
    /// A machine's hash, or how it begins; empty = every machine.
    pub machine: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct HistoryPoint {
    pub machine: String,
    pub point: String,
    pub run: String,
    pub started_unix_ns: i64,
    pub boot: Option<String>,
    pub label: Option<String>,
    pub revision: Option<String>,
    pub unit: String,
    pub value: f64,
    pub interval: (f64, f64),
}

const READ: &[&str] = &[
    "run", "started", "boot", "label", "revision", "probe", "point", "metric", "unit", "value", "ci_low",
    "ci_high",
];

/// The points of a cell, the oldest first, and files that could not be read.
pub fn history(store: &Path, query: &CellQuery) -> Result<(Vec<HistoryPoint>, Vec<String>)> {
    let (mut points, mut unread) = (Vec::new(), Vec::new());
    for (machine, path) in files(store, &query.machine)? {
        match read(&path, &machine, query) {
            Ok(found) => points.extend(found),
            Err(error) => unread.push(format!("{}: {error:#}", path.display())),
        }
    }
    points.sort_by(|a: &HistoryPoint, b| (a.started_unix_ns, &a.run).cmp(&(b.started_unix_ns, &b.run)));
    Ok((points, unread))
}

/// Where the runs of this label lay when they were added, the oldest first.
pub fn labelled(store: &Path, label: &str) -> Result<Vec<PathBuf>> {
    let runs = read_runs(store)?;
    if runs.rows() == 0 {
        return Ok(Vec::new());
    }
    let (labels, places) = (runs.text("label")?, runs.text("directory")?);
    let started = moments(&runs)?;
    let of_label = (0..runs.rows()).filter(|row| labels[*row].as_deref() == Some(label));
    let mut found: Vec<_> = of_label.filter_map(|row| Some((started[row], places[row].clone()?))).collect();
    found.sort();
    Ok(found.into_iter().map(|(_, place)| place.into()).collect())
}

fn moments(table: &StoreTable) -> Result<&[Option<i64>]> {
    match table.column("started") {
        Some(ColumnValues::Moment(values)) => Ok(values),
        _ => anyhow::bail!("it has no column started"),
    }
}

/// Results of machines that begin so. Links are not followed.
fn files(store: &Path, machine: &str) -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for of_machine in folders(&store.join(RESULTS))? {
        let name = of_machine.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(hash) = name.strip_prefix("machine=").filter(|hash| hash.starts_with(machine)) else {
            continue;
        };
        for month in folders(&of_machine)? {
            for entry in fs::read_dir(&month)? {
                let path = entry?.path();
                let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
                if !hidden && path.extension().is_some_and(|kind| kind == "parquet") {
                    found.push((hash.to_string(), path));
                }
            }
        }
    }
    Ok(found)
}

fn folders(path: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(path).with_context(|| format!("{} is no store of runs", path.display()))?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let mut folders: Vec<PathBuf> =
        paths.into_iter().filter(|path| fs::symlink_metadata(path).is_ok_and(|data| data.is_dir())).collect();
    folders.sort();
    Ok(folders)
}

fn read(path: &Path, machine: &str, query: &CellQuery) -> Result<Vec<HistoryPoint>> {
    let table = StoreTable::read(File::open(path)?, READ)?;
    let text = |name| table.text(name);
    let (probes, metrics, points) = (text("probe")?, text("metric")?, text("point")?);
    let (runs, boots, labels) = (text("run")?, text("boot")?, text("label")?);
    let (revisions, units) = (text("revision")?, text("unit")?);
    let [values, low, high] = ["value", "ci_low", "ci_high"].map(|name| table.numbers(name));
    let (values, low, high) = (values?, low?, high?);
    let started = moments(&table)?;
    let wanted = |row: &usize| {
        let is = |column: &[Option<String>], text: &str| column[*row].as_deref() == Some(text);
        let has =
            |wanted: &String| points[*row].iter().flat_map(|point| point.split(' ')).any(|one| one == wanted);
        is(probes, &query.probe) && is(metrics, &query.metric) && query.coordinates.iter().all(has)
    };
    let point = |row: usize| {
        Some(HistoryPoint {
            machine: machine.into(),
            point: points[row].clone()?,
            run: runs[row].clone()?,
            started_unix_ns: started[row]?,
            boot: boots[row].clone(),
            label: labels[row].clone(),
            revision: revisions[row].clone(),
            unit: units[row].clone()?,
            value: values[row]?,
            interval: (low[row]?, high[row]?),
        })
    };
    Ok((0..table.rows()).filter(wanted).filter_map(point).collect())
}

/// Points of more than one cell: what they differ in, as whole points.
pub fn cells(points: &[HistoryPoint]) -> BTreeSet<&str> {
    points.iter().map(|one| one.point.as_str()).collect()
}

/// One point a boot of one machine: when its first run began, and the geometric mean over its runs, over that of all boots.
#[derive(Clone, Debug, PartialEq)]
pub struct BootPoint {
    pub machine: String,
    pub boot: String,
    pub started_unix_ns: i64,
    pub runs: usize,
    /// Normalised: 1 is the mean of the machine's boots.
    pub relative: f64,
}

/// The boots of one cell, the oldest first. Runs without a boot are left out: they may be of any.
pub fn boots(points: &[HistoryPoint]) -> Vec<BootPoint> {
    let mut by_boot: BTreeMap<(&str, &str), (i64, Vec<f64>)> = BTreeMap::new();
    for one in points.iter().filter(|one| one.value > 0.0) {
        let Some(boot) = one.boot.as_deref() else { continue };
        let entry = by_boot.entry((&one.machine, boot)).or_insert((i64::MAX, Vec::new()));
        entry.0 = entry.0.min(one.started_unix_ns);
        entry.1.push(one.value.ln());
    }
    let mean = |logs: &[f64]| logs.iter().sum::<f64>() / logs.len().max(1) as f64;
    let mut of_machine: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for ((machine, _), (_, logs)) in &by_boot {
        of_machine.entry(machine).or_default().push(mean(logs));
    }
    let point = |((machine, boot), (started, logs)): (&(&str, &str), &(i64, Vec<f64>))| BootPoint {
        machine: machine.to_string(),
        boot: boot.to_string(),
        started_unix_ns: *started,
        runs: logs.len(),
        relative: (mean(logs) - mean(&of_machine[machine])).exp(),
    };
    let mut boots: Vec<BootPoint> = by_boot.iter().map(point).collect();
    boots.sort_by_key(|boot| boot.started_unix_ns);
    boots
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(machine: &str, boot: Option<&str>, started: i64, value: f64) -> HistoryPoint {
        HistoryPoint {
            machine: machine.into(),
            point: "a=1".into(),
            run: started.to_string(),
            started_unix_ns: started,
            boot: boot.map(str::to_string),
            label: None,
            revision: None,
            unit: "ns".into(),
            value,
            interval: (value, value),
        }
    }

    #[test]
    fn a_boot_is_one_point_however_many_its_runs_and_machines_have_their_own_level() {
        let points = [
            point("a", Some("one"), 1, 10.0),
            point("a", Some("one"), 2, 10.0),
            point("a", Some("two"), 3, 40.0),
            point("b", Some("three"), 4, 7.0),
            point("a", None, 5, 1e9),
        ];
        let boots = boots(&points);
        let told: Vec<_> =
            boots.iter().map(|b| (b.boot.as_str(), b.runs, (b.relative * 100.0).round())).collect();
        assert_eq!(told, [("one", 2, 50.0), ("two", 1, 200.0), ("three", 1, 100.0)]);
        assert_eq!(cells(&points).len(), 1);
    }
}
