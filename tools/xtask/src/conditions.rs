//! The cost model's errors by condition: on half of the conditions its terms were chosen, on the others they were not.
//!
//! `cargo xtask conditions FOLDER` reads a run of each condition from a folder and keeps what was measured and predicted.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;
use syscost_analyze::cells::Cells;
use syscost_analyze::model::{Accuracy, Model};
use syscost_experiment::run::RunDir;
use syscost_measure::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES, THREADS};

pub const RECORD: &str = "docs/runs/model.csv";

/// Where a run was made, and whether the terms were chosen with such runs in sight.
struct Condition {
    name: &'static str,
    how: &'static str,
    chosen: bool,
}

const CONDITIONS: [Condition; 8] = [
    Condition { name: "loopback", how: "`--path loopback`", chosen: true },
    Condition { name: "offloads_off", how: "`--path veth --offloads off`", chosen: true },
    Condition { name: "small_reads", how: "`--path loopback --read-bytes 4K`", chosen: true },
    Condition {
        name: "pressure",
        how: "`--path loopback`, beside two processes that fill 64 MiB of memory again and again",
        chosen: true,
    },
    Condition { name: "veth", how: "`--path veth`", chosen: false },
    Condition { name: "jumbo", how: "`--path veth --mtu 9000`", chosen: false },
    Condition { name: "small_buffers", how: "`--path loopback --socket-buffer 32K`", chosen: false },
    Condition { name: "quota", how: "`--path veth`, in a cgroup with half a CPU", chosen: false },
];

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

/// Keeps the accounts of the folder's runs.
pub fn record(folder: &Path, record: &Path) -> Result<()> {
    let mut writer = csv::Writer::from_path(record)?;
    for condition in &CONDITIONS {
        let run = RunDir::load(&folder.join(condition.name)).with_context(|| condition.name.to_string())?;
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
    let rows: Vec<Predicted> = csv::Reader::from_path(record)?.deserialize().collect::<Result<_, _>>()?;
    let ratios = |of: &dyn Fn(&str) -> bool| -> Vec<f64> {
        let own = rows.iter().filter(|row| of(&row.condition) && row.measured_ns > 0.0);
        own.map(|row| row.predicted_ns / row.measured_ns).filter(|ratio| *ratio > 0.0).collect()
    };
    let mut text = String::from(
        "| condition | how it was run | cases | half within | nine of ten within | geometric mean | too low in |\n\
         |---|---|---|---|---|---|---|\n",
    );
    for chosen in [true, false] {
        let group = CONDITIONS.iter().filter(|condition| condition.chosen == chosen);
        for condition in group.clone() {
            text += &line(condition.name, condition.how, &ratios(&|name| name == condition.name))?;
        }
        let title = if chosen { "**terms chosen on these**" } else { "**unseen**" };
        let names: Vec<&str> = group.map(|condition| condition.name).collect();
        text += &line(title, "", &ratios(&|name| names.contains(&name)))?;
    }
    Ok(text)
}

fn line(title: &str, how: &str, ratios: &[f64]) -> Result<String> {
    let accuracy = Accuracy::of(ratios).with_context(|| format!("{title} has no account"))?;
    let Accuracy { cases, median, ninth_decile, bias, too_low } = accuracy;
    let name = title.replace('_', " ");
    Ok(format!(
        "| {name} | {how} | {cases} | {median:.2}x | {ninth_decile:.2}x | {bias:.2} | {too_low} of {cases} |\n"
    ))
}
