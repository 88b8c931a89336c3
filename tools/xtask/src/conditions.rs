//! The cost model's errors by condition: on half of the conditions its terms were chosen, on the others they were not.
//!
//! `cargo xtask conditions FOLDER` measures the conditions that the folder lacks, a minute each and as root, and keeps what was
//! measured and predicted.

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, hint, thread};
use syscost_analyze::cells::Cells;
use syscost_analyze::model::{Accuracy, Model};
use syscost_experiment::run::RunDir;
use syscost_measure::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES, THREADS};

pub const RECORD: &str = "docs/runs/model.csv";

/// What goes on beside a run.
#[derive(Clone, Copy, PartialEq)]
enum BesideRun {
    Nothing,
    /// Two threads that fill 64 MiB of memory each again and again.
    Pressure,
    /// The run has half a CPU.
    Quota,
}

/// Where a run is made, and whether the terms were chosen with such runs in sight.
struct Condition {
    name: &'static str,
    flags: &'static str,
    beside: BesideRun,
    chosen: bool,
}

const fn condition(name: &'static str, flags: &'static str, chosen: bool) -> Condition {
    Condition { name, flags, beside: BesideRun::Nothing, chosen }
}

const CONDITIONS: [Condition; 8] = [
    condition("loopback", "--path loopback", true),
    condition("offloads_off", "--path veth --offloads off", true),
    condition("small_reads", "--path loopback --read-bytes 4K", true),
    Condition { beside: BesideRun::Pressure, ..condition("pressure", "--path loopback", true) },
    condition("veth", "--path veth", false),
    condition("jumbo", "--path veth --mtu 9000", false),
    condition("small_buffers", "--path loopback --socket-buffer 32K", false),
    Condition { beside: BesideRun::Quota, ..condition("quota", "--path veth", false) },
];

/// The study of every condition.
const STUDY: &str = "run default --threads 1,4 --size 64,4K,64K,1M --quiet";

impl Condition {
    fn how(&self) -> String {
        let beside = match self.beside {
            BesideRun::Nothing => "",
            BesideRun::Pressure => ", beside two threads that fill 64 MiB of memory again and again",
            BesideRun::Quota => ", in a cgroup with half a CPU",
        };
        format!("`{}`{beside}", self.flags)
    }

    fn measure(&self, program: &Path, out: &Path) -> Result<()> {
        let mut command = Command::new("sh");
        // The shell puts itself into the group of the quota, and becomes the program.
        command.args(["-c", "[ -z \"$GROUP\" ] || echo $$ > \"$GROUP/cgroup.procs\"; exec \"$@\"", "sh"]);
        command.arg(program).args(STUDY.split(' ')).args(self.flags.split(' ')).arg("--out").arg(out);
        let group = if self.beside == BesideRun::Quota { Some(HalfCpu::new()?) } else { None };
        command.env("GROUP", group.as_ref().map_or(Path::new(""), |group| &group.0));
        let over = AtomicBool::new(false);
        let status = thread::scope(|scope| {
            for _ in 0..if self.beside == BesideRun::Pressure { 2 } else { 0 } {
                scope.spawn(|| fill_memory(&over));
            }
            let status = command.status();
            over.store(true, Ordering::Relaxed);
            status
        })?;
        ensure!(status.success(), "the run of {} ended with {status}", self.name);
        Ok(())
    }
}

fn fill_memory(over: &AtomicBool) {
    let mut memory = vec![0u8; 64 << 20];
    while !over.load(Ordering::Relaxed) {
        memory.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
        hint::black_box(&memory);
    }
}

/// A control group with half a CPU, removed at the end.
struct HalfCpu(PathBuf);

impl HalfCpu {
    fn new() -> Result<HalfCpu> {
        let first = Path::new("/sys/fs/cgroup/cpu");
        let (root, limit, half) = match first.is_dir() {
            true => (first, "cpu.cfs_quota_us", "50000"),
            false => (Path::new("/sys/fs/cgroup"), "cpu.max", "50000 100000"),
        };
        let group = HalfCpu(root.join(format!("syscost-conditions-{}", std::process::id())));
        fs::create_dir(&group.0).context("the condition `quota` makes a control group: run this as root")?;
        fs::write(group.0.join(limit), half)
            .with_context(|| format!("no {limit} in {}", group.0.display()))?;
        Ok(group)
    }
}

impl Drop for HalfCpu {
    fn drop(&mut self) {
        // The run has ended: nothing is in it. What the kernel keeps for a moment does no harm.
        let _ = fs::remove_dir(&self.0);
    }
}

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

/// Measures the conditions that the folder lacks, and keeps the accounts of its runs.
pub fn record(program: &Path, folder: &Path, record: &Path) -> Result<()> {
    for condition in &CONDITIONS {
        let out = folder.join(condition.name);
        if !out.exists() {
            condition.measure(program, &out)?;
        }
    }
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
            text += &line(condition.name, &condition.how(), &ratios(&|name| name == condition.name))?;
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
