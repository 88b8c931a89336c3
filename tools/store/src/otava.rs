//! Change points by Apache Otava (PyPI: apache-otava), where it is installed. It gets one point a boot, normalised: fed raw
//! runs, change-point engines are wrong in a quarter of cases where a tenth of the runs is disturbed.

use crate::history::BootPoint;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use syscost_core::units::utc;
use syscost_experiment::run::directory::OpenDirectory;
use syscost_sys::random;

pub const PROGRAM: &str = "otava";
const SERIES: &str = "boots";
const CONFIG: &str = "otava.yaml";
const DATA: &str = "boots.csv";
const SETTINGS: &str = "tests:\n  boots:\n    type: csv\n    file: boots.csv\n    time_column: time\n    attributes: [boot]\n    metrics: [relative]\n";

/// Where the level of a machine's boots changed.
#[derive(Clone, Debug, PartialEq)]
pub struct BootChange {
    pub machine: String,
    /// The first boot after it.
    pub boot: String,
    pub started_unix_ns: i64,
    /// After / before.
    pub ratio: f64,
}

/// Changes by machine; `None`: Otava is not installed.
pub fn changes(boots: &[BootPoint], program: &OsStr) -> Result<Option<Vec<BootChange>>> {
    let mut machines: BTreeMap<&str, Vec<&BootPoint>> = BTreeMap::new();
    for boot in boots {
        machines.entry(&boot.machine).or_default().push(boot);
    }
    let mut all = Vec::new();
    for series in machines.values() {
        let scratch = ScratchFolder::make()?;
        match of_machine(series, scratch.0.as_path(), program)? {
            Some(changes) => all.extend(changes),
            None => return Ok(None),
        }
    }
    Ok(Some(all))
}

/// A directory for Otava's files, removed with them.
struct ScratchFolder(PathBuf);

impl ScratchFolder {
    fn make() -> Result<ScratchFolder> {
        let token = random::token().context("the kernel gives no random numbers")?;
        Ok(ScratchFolder(std::env::temp_dir().join(format!("syscost-history-{token}"))))
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn of_machine(series: &[&BootPoint], folder: &Path, program: &OsStr) -> Result<Option<Vec<BootChange>>> {
    let directory = OpenDirectory::make(folder)?;
    directory.replace(CONFIG, SETTINGS.as_bytes())?;
    directory.replace(DATA, data(series).as_bytes())?;
    let mut command = Command::new(program);
    command.args(["analyze", SERIES, "--since", "1970-01-01", "--output", "json"]);
    command.env("OTAVA_CONFIG", CONFIG).current_dir(folder).stdin(Stdio::null());
    let said = match command.output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        said => said.context("cannot start otava")?,
    };
    if !said.status.success() {
        let why = String::from_utf8_lossy(&said.stderr);
        bail!("otava failed: {}", why.lines().last().unwrap_or("it says nothing"));
    }
    found(&said.stdout, series).map(Some)
}

fn data(series: &[&BootPoint]) -> String {
    let row = |(number, boot): (usize, &&BootPoint)| {
        let text = utc(u64::try_from(boot.started_unix_ns).unwrap_or(0) / 1_000_000_000);
        format!("{} {} +0000,{number},{}\n", &text[..10], &text[11..19], boot.relative)
    };
    let rows: String = series.iter().enumerate().map(row).collect();
    format!("time,boot,relative\n{rows}")
}

fn found(json: &[u8], series: &[&BootPoint]) -> Result<Vec<BootChange>> {
    let answer: serde_json::Value = serde_json::from_slice(json).context("otava's answer is no JSON")?;
    let points = answer[SERIES].as_array().context("otava's answer has no series")?;
    let changes = points.iter().flat_map(|point| point["changes"].as_array().into_iter().flatten());
    let change = |change: &serde_json::Value| {
        let boot = series.get(usize::try_from(change["index"].as_u64()?).ok()?)?;
        let mean = |name: &str| change[name].as_str()?.parse::<f64>().ok().filter(|mean| *mean > 0.0);
        let (machine, boot, started_unix_ns) =
            (boot.machine.clone(), boot.boot.clone(), boot.started_unix_ns);
        Some(BootChange { machine, boot, started_unix_ns, ratio: mean("mean_after")? / mean("mean_before")? })
    };
    Ok(changes.filter_map(change).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty boots at one level, twenty at another.
    fn stepped() -> Vec<BootPoint> {
        let boot = |number: i64| BootPoint {
            machine: "m".into(),
            boot: format!("boot {number}"),
            started_unix_ns: (1_790_000_000 + 86_400 * number) * 1_000_000_000,
            runs: 1,
            relative: (if number < 20 { 1.0 } else { 1.2 }) + [0.0, 0.01, -0.01, 0.005][number as usize % 4],
        };
        (0..40).map(boot).collect()
    }

    #[test]
    fn a_step_between_boots_is_found_where_otava_is_installed() {
        match changes(&stepped(), PROGRAM.as_ref()).unwrap() {
            None => eprintln!("skipped: no otava (pip install apache-otava)"),
            Some(found) => {
                let named: Vec<_> = found.iter().map(|change| change.boot.as_str()).collect();
                assert_eq!(named, ["boot 20"]);
                assert!((found[0].ratio - 1.2).abs() < 0.02, "{found:?}");
            }
        }
        assert_eq!(changes(&stepped(), "/nowhere/otava".as_ref()).unwrap(), None);
        assert!(changes(&stepped(), "/bin/false".as_ref()).is_err());
    }

    #[test]
    fn an_answer_is_read_and_what_is_none_is_an_error() {
        let boots = stepped();
        let series: Vec<&BootPoint> = boots.iter().collect();
        let answer = br#"{"boots": [{"changes": [{"index": 20, "mean_before": "1.0", "mean_after": "1.5"}, {"index": 99}]}]}"#;
        let found = found(answer, &series).unwrap();
        assert_eq!((found.len(), found[0].boot.as_str(), found[0].ratio), (1, "boot 20", 1.5));
        for bad in ["", "[]", "{}"] {
            assert!(super::found(bad.as_bytes(), &series).is_err(), "{bad:?}");
        }
    }
}
