//! The cost model's errors by condition: some were in sight when its terms were chosen, the others were not.
//!
//! `cargo xtask conditions FOLDER` measures the conditions that the folder lacks, a minute each and as root, and keeps what was
//! measured and predicted. Named, these alone are measured; the record is written once the folder has all. A folder of another
//! machine has a record of its own.

use crate::beside::BesideRun;
use crate::machine;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use syscost_analyze::cells::Cells;
use syscost_analyze::model::{Accuracy, Model};
use syscost_experiment::run::RunDir;
use syscost_measure::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES, THREADS};

/// What is kept of one machine.
pub struct ModelRecord {
    pub file: &'static str,
    /// Conditions that were in sight when terms were chosen.
    seen: &'static [&'static str],
}

pub static RECORDS: [ModelRecord; 2] = [
    ModelRecord {
        file: "docs/runs/model.csv",
        seen: &["loopback", "veth", "offloads_off", "small_reads", "pressure"],
    },
    ModelRecord {
        file: "docs/runs/model-xeon.csv",
        seen: &["veth", "loopback", "small_buffers", "pressure"],
    },
];

impl ModelRecord {
    pub fn at(file: &Path) -> Result<&'static ModelRecord> {
        let known = RECORDS.iter().find(|known| file.ends_with(known.file));
        known.with_context(|| format!("{} is no record of conditions", file.display()))
    }
}

/// Where a run is made.
struct Condition {
    name: &'static str,
    flags: &'static str,
    beside: BesideRun,
}

const fn condition(name: &'static str, flags: &'static str) -> Condition {
    Condition { name, flags, beside: BesideRun::Nothing }
}

const CONDITIONS: [Condition; 10] = [
    condition("loopback", "--path loopback"),
    condition("offloads_off", "--path veth --offloads off"),
    condition("small_reads", "--path loopback --read-bytes 4K"),
    Condition { beside: BesideRun::Pressure(2), ..condition("pressure", "--path loopback") },
    condition("veth", "--path veth"),
    condition("jumbo", "--path veth --mtu 9000"),
    condition("small_buffers", "--path loopback --socket-buffer 32K"),
    condition("bridge", "--path bridge"),
    condition("bbr", "--path veth --congestion bbr"),
    Condition { beside: BesideRun::Quota, ..condition("quota", "--path veth") },
];

/// The study of every condition.
const STUDY: &str = "run default --threads 1,4 --size 64,4K,64K,1M --quiet";

impl Condition {
    fn how(&self) -> String {
        format!("`{}`{}", self.flags, self.beside.how())
    }

    /// A run that was cut short has another name, and is measured again.
    fn measure(&self, program: &Path, folder: &Path) -> Result<()> {
        let out = folder.join(format!("{}.unfinished", self.name));
        if out.exists() {
            fs::remove_dir_all(&out)?;
        }
        self.beside.run(program, STUDY.split(' ').chain(self.flags.split(' ')), &out)?;
        Ok(fs::rename(&out, folder.join(self.name))?)
    }
}

/// Before the machine in the record.
const MACHINE: &str = "# machine: ";

/// One case of one condition.
#[derive(Serialize, Deserialize)]
struct Predicted {
    condition: String,
    mechanism: String,
    message_bytes: u64,
    threads: u64,
    measured_ns: f64,
    predicted_ns: f64,
}

/// Measures the wanted conditions that the folder lacks; which it lacks then.
pub fn measure(program: &Path, folder: &Path, wanted: &[&str]) -> Result<Vec<&'static str>> {
    let known = |name: &&&str| CONDITIONS.iter().any(|condition| condition.name == **name);
    if let Some(unknown) = wanted.iter().find(|name| !known(name)) {
        bail!(
            "no condition {unknown:?}: there are {}",
            CONDITIONS.map(|condition| condition.name).join(", ")
        );
    }
    fs::create_dir_all(folder)?;
    let lacking = || CONDITIONS.iter().filter(|condition| !folder.join(condition.name).exists());
    for condition in lacking().filter(|condition| wanted.is_empty() || wanted.contains(&condition.name)) {
        condition.measure(program, folder)?;
    }
    Ok(lacking().map(|condition| condition.name).collect())
}

/// Keeps the accounts of the folder's runs, and where these were made.
pub fn record(folder: &Path, record: &Path) -> Result<()> {
    let load = |condition: &Condition| {
        RunDir::load(&folder.join(condition.name)).with_context(|| condition.name.to_string())
    };
    let mut file = fs::File::create(record)?;
    let machines: BTreeSet<String> =
        CONDITIONS.iter().map(|condition| machine(&load(condition)?)).collect::<Result<_>>()?;
    for machine in machines {
        writeln!(file, "{MACHINE}{machine}")?;
    }
    let mut writer = csv::Writer::from_writer(file);
    for condition in &CONDITIONS {
        let run = load(condition)?;
        for account in Model::of(&run, &Cells::of(&run)).accounts {
            let Some(measured) = account.measured else { continue };
            writer.serialize(Predicted {
                condition: condition.name.into(),
                mechanism: account.point.text(MECHANISM).unwrap_or_default().into(),
                message_bytes: account.point.int(MESSAGE_BYTES).unwrap_or_default(),
                threads: account.point.int(THREADS).unwrap_or_default(),
                measured_ns: measured.total_ns.round(),
                predicted_ns: account.predicted_ns().round(),
            })?;
        }
    }
    Ok(writer.flush()?)
}

/// A row a condition; what terms were chosen on, and what not, apart.
pub fn page(record: &Path) -> Result<String> {
    let seen = ModelRecord::at(record)?.seen;
    let recorded = fs::read_to_string(record)?;
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(recorded.as_bytes());
    let rows: Vec<Predicted> = reader.deserialize().collect::<Result<_, _>>()?;
    let ratios = |of: &dyn Fn(&str) -> bool| -> Vec<f64> {
        let own = rows.iter().filter(|row| of(&row.condition) && row.measured_ns > 0.0);
        own.map(|row| row.predicted_ns / row.measured_ns).filter(|ratio| *ratio > 0.0).collect()
    };
    let mut text = String::from(
        "| condition | how it was run | cases | half within | nine of ten within | geometric mean | too low in |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for chosen in [true, false] {
        let group = CONDITIONS.iter().filter(|condition| seen.contains(&condition.name) == chosen);
        for condition in group {
            let own = ratios(&|name| name == condition.name);
            // A record of before the condition was added lacks it.
            if !own.is_empty() {
                text += &line(condition.name, &condition.how(), &own)?;
            }
        }
        let title = if chosen { "**in sight when terms were chosen**" } else { "**unseen**" };
        text += &line(title, "", &ratios(&|name| seen.contains(&name) == chosen))?;
    }
    let unseen = ratios(&|name| !seen.contains(&name));
    text += &format!("\n{}\n", aim(&unseen)?);
    let machines: Vec<&str> = recorded.lines().filter_map(|line| line.strip_prefix(MACHINE)).collect();
    text += &format!("\nMeasured on {}, by `syscost {STUDY}`.\n", machines.join("; "));
    Ok(text)
}

/// What is asked on conditions that no term was chosen on, and whether it is met.
fn aim(ratios: &[f64]) -> Result<String> {
    let of = Accuracy::of(ratios).context("no unseen condition has an account")?;
    let met = |is: bool| if is { "met" } else { "not met" };
    Ok(format!(
        "The aim on unseen conditions: 1.15x in half of the cases ({}), 1.35x in nine of ten ({}), a geometric mean within 5 % ({}).",
        met(of.median <= 1.15),
        met(of.ninth_decile <= 1.35),
        met((0.95..=1.05).contains(&of.bias)),
    ))
}

fn line(title: &str, how: &str, ratios: &[f64]) -> Result<String> {
    let accuracy = Accuracy::of(ratios).with_context(|| format!("{title} has no account"))?;
    let Accuracy { cases, median, ninth_decile, bias, too_low } = accuracy;
    let name = title.replace('_', " ");
    Ok(format!(
        "| {name} | {how} | {cases} | {median:.2}x | {ninth_decile:.2}x | {bias:.2} | {too_low} of {cases} |\n"
    ))
}
