//! How often a comparison of runs side by side finds what was planted, and claims what was not.
//!
//! `cargo xtask groups FOLDER` measures the groups that the folder lacks and keeps what `syscost compare` says of each.

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use std::process::Command;

pub const RECORD: &str = "docs/runs/compare/groups.csv";

/// So much is planted, in percent of the CPU time that sending takes, in so many groups.
const PLANTED: [(u32, usize); 2] = [(0, 20), (5, 10)];
/// The run of every variant, and its turns.
const STUDY: &str =
    "run transfer --mechanism send,sendmsg --size 64K --threads 1 --path loopback --time-limit 3s --repeat 8";
/// What is planted, up to the percentage.
const PLANT: &str = "sendmsg=sendmsg+";

/// One cost, or one ratio to a rival, of one group.
#[derive(Serialize, Deserialize)]
struct GroupRow {
    planted_percent: u32,
    group: usize,
    mechanism: String,
    against: String,
    ratio: f64,
    ci_low: f64,
    ci_high: f64,
    verdict: String,
}

impl GroupRow {
    fn claims(&self) -> bool {
        ["worse", "better"].contains(&self.verdict.as_str())
    }
}

/// What is read of comparisons.csv.
#[derive(Deserialize)]
struct ComparedRow {
    point: String,
    against: String,
    ratio: f64,
    ci_low: f64,
    ci_high: f64,
    verdict: String,
}

/// Measures the groups that the folder lacks, and keeps the comparison of each.
pub fn record(program: &Path, folder: &Path, record: &Path, said: &dyn Fn(&str)) -> Result<()> {
    let mut writer = csv::Writer::from_path(record)?;
    for (percent, groups) in PLANTED {
        let variants = folder.join(format!("planted-{percent}.toml"));
        fs::create_dir_all(folder)?;
        fs::write(&variants, variants_of(percent))?;
        for group in 1..=groups {
            let out = folder.join(format!("planted-{percent}-{group}"));
            let compared = out.join("compared");
            if !compared.join("comparisons.csv").exists() {
                said(&out.display().to_string());
                measure(program, &variants, &out, &compared)?;
            }
            for row in csv::Reader::from_path(compared.join("comparisons.csv"))?.deserialize() {
                let row: ComparedRow = row?;
                writer.serialize(GroupRow {
                    planted_percent: percent,
                    group,
                    mechanism: mechanism(&row.point),
                    against: mechanism(&row.against),
                    ratio: rounded(row.ratio),
                    ci_low: rounded(row.ci_low),
                    ci_high: rounded(row.ci_high),
                    verdict: row.verdict,
                })?;
            }
        }
    }
    Ok(writer.flush()?)
}

/// Both variants read the same clocks; only one spins.
fn variants_of(percent: u32) -> String {
    let variant = |label: &str, percent: u32| {
        format!("[[variant]]\nlabel = \"{label}\"\nenv = {{ SYSCOST_PLANT = \"{PLANT}{percent}\" }}\n")
    };
    variant("old", 0) + &variant("new", percent)
}

fn measure(program: &Path, variants: &Path, out: &Path, compared: &Path) -> Result<()> {
    if out.exists() {
        // A group that was not compared did not end.
        fs::remove_dir_all(out)?;
    }
    let mut run = Command::new(program);
    run.args(STUDY.split(' ')).arg("--quiet").arg("--variants").arg(variants).arg("--out").arg(out);
    let mut compare = Command::new(program);
    compare.arg("compare").arg(out).arg("--out").arg(compared);
    // 1: a round failed, which a busy machine is for; what the others measured is compared.
    for (command, most) in [(&mut run, 1), (&mut compare, 0)] {
        let output = command.output()?;
        let fine = output.status.code().is_some_and(|code| code <= most);
        ensure!(fine, "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

fn mechanism(point: &str) -> String {
    let found = point.split(' ').find_map(|coordinate| coordinate.strip_prefix("mechanism="));
    found.unwrap_or_default().to_string()
}

/// Four digits are enough for a ratio.
fn rounded(ratio: f64) -> f64 {
    (ratio * 1e4).round() / 1e4
}

/// A row for what was planted, and one for what was not.
pub fn page(record: &Path) -> Result<String> {
    let rows: Vec<GroupRow> = csv::Reader::from_path(record)?.deserialize().collect::<Result<_, _>>()?;
    let ratio = rows.iter().find(|row| !row.against.is_empty()).context("no ratio to a rival")?;
    let (rival, control) = (ratio.mechanism.as_str(), ratio.against.as_str());
    let mut text = format!(
        "`syscost {STUDY} --variants ..`:\n\n\
         | planted in `{rival}` | groups | its cost is worse | its ratio to `{control}` is worse | groups with a false claim | half width of its cost's interval |\n\
         |---|---|---|---|---|---|\n"
    );
    for (percent, _) in PLANTED {
        let of: Vec<&GroupRow> = rows.iter().filter(|row| row.planted_percent == percent).collect();
        let last =
            of.iter().map(|row| row.group).max().with_context(|| format!("no groups at {percent} %"))?;
        let worse = |against: &str| {
            let found = of
                .iter()
                .filter(|row| row.mechanism == rival && row.against == against && row.verdict == "worse");
            found.count()
        };
        let is_false = |row: &&&GroupRow| {
            row.claims() && (percent == 0 || row.verdict == "better" || row.mechanism == control)
        };
        let mut wrong: Vec<usize> = of.iter().filter(is_false).map(|row| row.group).collect();
        wrong.dedup();
        let mut widths: Vec<f64> = of
            .iter()
            .filter(|row| row.mechanism == rival && row.against.is_empty())
            .map(|row| (row.ci_high / row.ci_low).sqrt() - 1.0)
            .collect();
        widths.sort_by(f64::total_cmp);
        let (least, middle, most) = (widths[0], widths[widths.len() / 2], widths[widths.len() - 1]);
        text += &format!(
            "| {percent} % | {last} | {} | {} | {} | {:.1} % ({:.1} to {:.1}) |\n",
            worse(""),
            worse(control),
            wrong.len(),
            100.0 * middle,
            100.0 * least,
            100.0 * most,
        );
    }
    Ok(text + "\n")
}
