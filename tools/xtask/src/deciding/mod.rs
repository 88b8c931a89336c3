//! `cargo xtask deciding`: real studies that show how often syscost errs and how much it decides.
//!
//! Identical rivals and planted differences come from SYSCOST_PLANT, which workers of the program know.

mod record;
mod rows;
mod shown;

pub use record::StudyRecord;

use crate::Tree;
use anyhow::{Context, Result, bail, ensure};
use record::StudyFacts;
use rows::{DecidingStudy, PlannedRival, Plants, Recording, RivalVerdict, StudyRow, defined};
use shown::FoundPart;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use syscost_core::axis::Point;
use syscost_experiment::run::{Record, RunDir};
use syscost_measure::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES, THREADS};

pub const FOLDER: &str = "docs/runs/deciding";
pub const PAGE: &str = "docs/deciding.md";

const VARIABLE: &str = "SYSCOST_PLANT";
/// Facts of run.json that say where a study was measured.
const MACHINE: &[&str] = &["cpu_model", "cpus_online", "hypervisor", "kernel_release"];

/// Runs these studies (all for none; the record of others stays), and saves what each said before the next begins.
pub fn run(tree: &Tree, only: &[&str], tell: &dyn Fn(&str)) -> Result<()> {
    let known = |name: &&&str| defined().studies.iter().any(|study| study.name == **name);
    if let Some(name) = only.iter().find(|name| !known(name)) {
        bail!("no study is called {name}");
    }
    let folder = tree.root.join(FOLDER);
    let mut record = if only.is_empty() { StudyRecord::default() } else { StudyRecord::load(&folder)? };
    let asked = |study: &&DecidingStudy| only.is_empty() || only.contains(&study.name.as_str());
    for study in defined().studies.iter().filter(asked) {
        record.forget(&study.name);
        for number in 1..=study.runs {
            let (facts, rows, machine) = study.run(&tree.program, number)?;
            if record.facts.studies.is_empty() {
                record.facts.machine = machine;
            } else {
                ensure!(record.facts.machine == machine, "the record is of another machine: run all studies");
            }
            let decided = rows.iter().filter(|row| row.verdict != RivalVerdict::Undecided).count();
            let (name, seconds, of) = (&study.name, facts.seconds, rows.len());
            tell(&format!("{name} {number}: {seconds:.0} s, {decided} of {of} decided"));
            record.facts.studies.push(facts);
            record.rows.extend(rows);
            record.save(&folder)?;
        }
    }
    Ok(())
}

type StudyMachine = BTreeMap<String, Option<String>>;

impl DecidingStudy {
    /// In a folder of its own, which is gone afterwards.
    fn run(&self, program: &Path, number: u32) -> Result<(StudyFacts, Vec<StudyRow>, StudyMachine)> {
        let scratch = tempfile::tempdir()?;
        let dir = scratch.path().join("run");
        let asked = ["run", "default", "--time-limit", self.time_limit.as_str()];
        let mut command = Command::new(program);
        command.args(asked).args(["--quiet", "--out"]).arg(&dir).stdout(Stdio::null());
        command.env_remove(VARIABLE).envs(self.environment());
        let beside = self.busy.then(SpinningProcess::start).transpose()?;
        let status = command.status().with_context(|| format!("cannot start {}", program.display()))?;
        drop(beside);
        // 1: some case was not reached in time; what was measured is there.
        ensure!(matches!(status.code(), Some(0 | 1)), "{command:?}: {status}");
        let run = RunDir::load(&dir).with_context(|| self.name.clone())?;
        let planted = run.record.warnings.iter().any(|warning| warning.id == "planted");
        ensure!(
            planted != self.plants.is_empty(),
            "{}: did the program plant what {VARIABLE} asks?",
            self.name
        );
        let comparisons = std::fs::read_to_string(dir.join("comparisons.csv"))?;
        let rows = self.rows(&run.record, &comparisons, number)?;
        let mut facts = self.facts(&run.record, &asked, status.code(), number);
        facts.scaling = scaling(&std::fs::read_to_string(dir.join("findings.json"))?)?;
        Ok((facts, rows, machine(&run.record)))
    }

    fn environment(&self) -> BTreeMap<String, String> {
        let planted: Vec<String> = self
            .plants
            .iter()
            .map(|(rival, percent)| format!("{rival}={}+{percent}", defined().control))
            .collect();
        let set = (!planted.is_empty()).then(|| (VARIABLE.to_string(), planted.join(",")));
        set.into_iter().collect()
    }

    fn rows(&self, record: &Record, comparisons: &str, number: u32) -> Result<Vec<StudyRow>> {
        let plants: Plants =
            self.plants.iter().map(|(rival, percent)| (rival.to_string(), f64::from(*percent))).collect();
        let recording = Recording { study: &self.name, run: number, plants: &plants };
        let mut rows = recording.rows(comparisons)?;
        rows.extend(recording.unreached(&planned(record), &rows));
        Ok(rows)
    }

    fn facts(&self, record: &Record, asked: &[&str], exit_status: Option<i32>, number: u32) -> StudyFacts {
        let during = record.conditions.last().map(|conditions| conditions.during.clone());
        let mut warnings: Vec<String> = record.warnings.iter().map(|warning| warning.id.clone()).collect();
        warnings.sort();
        warnings.dedup();
        StudyFacts {
            study: self.name.clone(),
            run: number,
            command: format!("syscost {}", asked.join(" ")),
            environment: self.environment(),
            beside: self.busy.then(|| "a process that spins".into()),
            binary_sha256: record.tool.binary_sha256.clone(),
            exit_status,
            cases: record.plan.cases.len(),
            seconds: record.elapsed_ns as f64 / 1e9,
            efficiency: record
                .time_spent
                .map(|spent| spent.timed_ns as f64 / record.elapsed_ns.max(1) as f64),
            scaling: None,
            others_share: during.as_ref().and_then(|during| during.others_share),
            steal_share: during.as_ref().and_then(|during| during.steal_share),
            warnings,
        }
    }
}

/// What findings.json says of thread counts.
fn scaling(findings: &str) -> Result<Option<FoundPart>> {
    let document: serde_json::Value = serde_json::from_str(findings)?;
    let answers = document["answers"].as_array().context("findings.json has answers")?;
    let Some(answer) = answers.iter().find(|answer| answer["question"] == "threads") else { return Ok(None) };
    let says = &answer["shown"][0]["says"];
    let Some(of) = says["places"].as_u64() else { return Ok(None) };
    let stops = says["stops"].as_array().map_or(&[][..], Vec::as_slice);
    let open: u64 = stops.iter().filter_map(|stop| stop["undecided"].as_u64()).sum();
    Ok(Some(FoundPart { of: of as usize, found: (of - open) as usize }))
}

/// Every rival of the control at every point: cases that have a mechanism.
fn planned(record: &Record) -> Vec<PlannedRival> {
    let cases = record.plan.cases.iter().filter(|case| case.twin_of.is_none());
    let rival = |point: &Point| {
        let rival = point.text(MECHANISM).filter(|rival| *rival != defined().control)?.to_string();
        let (message_bytes, threads) = (point.int(MESSAGE_BYTES)?, point.int(THREADS)?);
        Some(PlannedRival { rival, message_bytes, threads })
    };
    cases.filter_map(|case| rival(&case.point)).collect()
}

fn machine(record: &Record) -> StudyMachine {
    let fact = |id: &&str| {
        let fact = record.host.iter().find(|fact| fact.id == **id);
        (id.to_string(), fact.and_then(|fact| fact.value.clone()))
    };
    MACHINE.iter().map(fact).collect()
}

/// A child that takes one CPU, until it is dropped or this process is gone.
struct SpinningProcess(Child);

impl SpinningProcess {
    fn start() -> Result<SpinningProcess> {
        let spin =
            "while kill -0 $PPID 2>/dev/null; do n=0; while [ $n -lt 9999 ]; do n=$((n+1)); done; done";
        let child = Command::new("sh").args(["-c", spin]).stdin(Stdio::null()).spawn();
        Ok(SpinningProcess(child.context("cannot start sh")?))
    }
}

impl Drop for SpinningProcess {
    fn drop(&mut self) {
        // It is our child: gone already is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_planted_is_in_the_environment() {
        let of = |name| defined().studies.iter().find(|study| study.name == name).unwrap().environment();
        let planted = "msg_zerocopy=send+15,pack_send=send+5,send_fields=send+0,sendmsg=send+8";
        assert_eq!(of("planted").get(VARIABLE).map(String::as_str), Some(planted));
        assert!(of("default").is_empty());
    }

    #[test]
    fn a_spinning_process_ends_with_its_owner() {
        let spinning = SpinningProcess::start().unwrap();
        let process = std::path::PathBuf::from(format!("/proc/{}", spinning.0.id()));
        assert!(process.exists());
        drop(spinning);
        assert!(!process.exists());
    }
}
