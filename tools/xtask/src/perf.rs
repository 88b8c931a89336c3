//! The profile of a recorded run beside perf(1), which samples the same rounds of the same work.
//!
//! `cargo xtask perf` profiles each case again while `perf record` watches every CPU, and writes the shares that both saw.
//! perf reads stacks and names on its own; the table of functions and classes is the same.

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use syscost_analyze::profile::functions::CodeClass;
use syscost_analyze::profile::{ProfileBreakdown, classify};
use syscost_core::units::short_bytes;
use syscost_experiment::run::Profile;
use syscost_experiment::run::profile::ProfileFile;
use syscost_measure::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES};
use syscost_report::text::profile::title;

pub const FOLDER: &str = "docs/runs/profile";
const RECORD: &str = "perf.csv";
const PAIRS: usize = 4;
/// Nanoseconds between two samples of the first CPU; not in step with those of syscost.
const PERIOD: usize = 197_003;
/// Each further CPU's are further apart: in step, one CPU's sample meets the other waiting for what the first holds.
const APART: usize = 2_014;
/// Points of a hundred that shares may differ by.
const NEAR: f64 = 0.03;
/// What sends and what receives, on the way of each mechanism that is compared.
const SENDS: &str = "tcp_sendmsg";
const RECEIVES: &str = "tcp_recvmsg";
const SOFTIRQ: &str = "net_rx_action";

/// One class of one case.
#[derive(Serialize, Deserialize)]
struct MeasuredBeside {
    mechanism: String,
    message_bytes: u64,
    class: String,
    share: f64,
    perf_share: f64,
    samples: u64,
    perf_samples: u64,
}

/// A sample as perf prints it: functions from the outermost on.
#[derive(Debug, PartialEq)]
struct PerfSample {
    pid: u32,
    seconds: f64,
    functions: Vec<String>,
}

/// Profiles the recorded cases again under perf; `said` hears what is done.
pub fn record(program: &Path, folder: &Path, said: &dyn Fn(&str)) -> Result<()> {
    let file = ProfileFile::load(folder)?;
    ensure!(!file.profiles.is_empty(), "{} has no profile", folder.display());
    let mut writer = csv::Writer::from_path(folder.join(RECORD))?;
    for profile in &file.profiles {
        said(&profile.point.to_string());
        for row in of_case(program, profile)? {
            writer.serialize(row)?;
        }
    }
    Ok(writer.flush()?)
}

fn of_case(program: &Path, profile: &Profile) -> Result<Vec<MeasuredBeside>> {
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("profile");
    let of = |axis| profile.point.text_at(axis).with_context(|| format!("the case has no {axis}"));
    let bytes = profile.point.int(MESSAGE_BYTES).context("a transfer has a size")?;
    // One perf(1) for each CPU, each of which starts the next.
    let cpus = std::thread::available_parallelism()?.get();
    let data: Vec<PathBuf> = (0..cpus).map(|cpu| folder.path().join(format!("perf.{cpu}"))).collect();
    let watching = |(cpu, data): (usize, &PathBuf)| {
        let (cpu, period) = (cpu.to_string(), (PERIOD + cpu * APART).to_string());
        let flags =
            ["perf", "record", "-C", &cpu, "-g", "-e", "cpu-clock", "-c", &period, "-o"].map(OsString::from);
        flags.into_iter().chain([data.into(), "--".into()]).collect::<Vec<OsString>>()
    };
    let mut record = Command::new("env");
    record.args(data.iter().enumerate().flat_map(watching));
    record.arg(program).args(["profile", "--quiet", "--rounds", &PAIRS.to_string(), "--out"]).arg(&out);
    record.args(["--mechanism", of(MECHANISM.id)?, "--size", &bytes.to_string(), "--path", of("path")?]);
    output(&mut record)?;
    let mut all = Vec::new();
    for data in &data {
        let mut script = Command::new("perf");
        all.extend(samples(&output(script.args(["script", "-F", "pid,time,ip,sym", "-i"]).arg(data))?));
    }
    let seen = in_sampled_rounds(&all);
    let again = ProfileFile::load(&out)?;
    let breakdown = again.profiles.first().and_then(ProfileBreakdown::of).context("no sample was taken")?;
    let perf_samples: u64 = seen.values().sum();
    let share = |class| *seen.get(&class).unwrap_or(&0) as f64 / perf_samples.max(1) as f64;
    let row = |class: CodeClass| MeasuredBeside {
        mechanism: profile.point.text(MECHANISM).unwrap_or_default().into(),
        message_bytes: bytes,
        class: class.id().into(),
        share: breakdown.share(class).share,
        perf_share: share(class),
        samples: breakdown.samples,
        perf_samples,
    };
    Ok(CodeClass::ALL.into_iter().map(row).collect())
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Reads what `perf script` prints: a head, then a line a function, the innermost first.
fn samples(text: &str) -> Vec<PerfSample> {
    let sample = |block: &str| {
        let mut lines = block.lines();
        let mut head = lines.next()?.split_whitespace();
        let pid = head.next()?.parse().ok()?;
        let seconds = head.next()?.strip_suffix(':')?.parse().ok()?;
        let mut functions: Vec<String> = lines.filter_map(kernel_function).map(String::from).collect();
        functions.reverse();
        Some(PerfSample { pid, seconds, functions })
    };
    text.split("\n\n").filter_map(|block| sample(block.trim_start_matches('\n'))).collect()
}

/// Addresses of the kernel have the highest bit. What the compiler split off (`.isra.0`) has the name of the whole.
fn kernel_function(line: &str) -> Option<&str> {
    let (address, name) = line.trim().split_once(' ')?;
    let whole = name.split('.').next()?;
    (u64::from_str_radix(address, 16).ok()? >> 63 == 1).then_some(whole)
}

/// Samples by class in the rounds that syscost sampled too: each process from its first to its last call that moves bytes.
/// Of each pair of rounds, the sampled one is once the first, once the second.
fn in_sampled_rounds(samples: &[PerfSample]) -> BTreeMap<CodeClass, u64> {
    let mut seen = BTreeMap::new();
    let sampled = |round: usize| matches!(round % 4, 0 | 3);
    let ways = [SENDS, RECEIVES].map(|way| (way, spans(samples, way)));
    let workers: Vec<u32> = ways.iter().flat_map(|(_, spans)| spans).map(|(pid, ..)| *pid).collect();
    for (way, spans) in &ways {
        for (_, (pid, from, to)) in spans.iter().enumerate().filter(|(round, _)| sampled(*round)) {
            for sample in samples.iter().filter(|s| (*from..=*to).contains(&s.seconds)) {
                let elsewhere = *way == SENDS && !workers.contains(&sample.pid) && calls(sample, SOFTIRQ);
                if sample.pid == *pid || elsewhere {
                    *seen.entry(class(sample)).or_default() += 1;
                }
            }
        }
    }
    seen
}

fn class(sample: &PerfSample) -> CodeClass {
    if sample.functions.is_empty() {
        return CodeClass::User;
    }
    classify::stack(sample.functions.iter().map(String::as_str))
}

fn calls(sample: &PerfSample, function: &str) -> bool {
    sample.functions.iter().any(|name| name == function)
}

/// Each process that calls the function, with its first and last time, in the order of rounds.
fn spans(samples: &[PerfSample], function: &str) -> Vec<(u32, f64, f64)> {
    let mut spans: Vec<(u32, f64, f64)> = Vec::new();
    for sample in samples.iter().filter(|sample| calls(sample, function)) {
        match spans.iter_mut().find(|(pid, ..)| *pid == sample.pid) {
            Some((_, from, to)) => (*from, *to) = (from.min(sample.seconds), to.max(sample.seconds)),
            None => spans.push((sample.pid, sample.seconds, sample.seconds)),
        }
    }
    spans.sort_by(|a, b| a.1.total_cmp(&b.1));
    spans
}

/// The shares of both by case, and how near they are by class.
pub fn page(folder: &Path) -> Result<String> {
    let mut rows: Vec<MeasuredBeside> =
        csv::Reader::from_path(folder.join(RECORD))?.deserialize().collect::<Result<_, _>>()?;
    rows.sort_by(|a, b| (a.message_bytes, &a.mechanism).cmp(&(b.message_bytes, &b.mechanism)));
    let apart = |row: &&MeasuredBeside| (row.share - row.perf_share).abs();
    let mut text =
        String::from("| class | cases within 3 points | largest difference | where |\n|---|---|---|---|\n");
    for class in CodeClass::ALL {
        let own: Vec<&MeasuredBeside> = rows.iter().filter(|row| row.class == class.id()).collect();
        let near = own.iter().filter(|row| apart(row) <= NEAR).count();
        let worst = own.iter().max_by(|a, b| apart(a).total_cmp(&apart(b))).context("no case")?;
        text += &format!(
            "| {} | {near} of {} | {:.1} points | {}, {}: {:.1} %, perf {:.1} % |\n",
            title(class),
            own.len(),
            apart(worst) * 100.0,
            worst.mechanism,
            short_bytes(worst.message_bytes),
            worst.share * 100.0,
            worst.perf_share * 100.0,
        );
    }
    let near = rows.iter().filter(|row| apart(row) <= NEAR).count();
    text += &format!("\n{near} of {} shares are within 3 points of perf's.\n", rows.len());
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "\
  7    10.5: \n\tffffffff81e3d66a __alloc_skb\n\tffffffff8200df9d tcp_sendmsg\n\t          10aba4 __send\n\n\
  7    10.6: \n\t         16a1825 syscost::main\n\n";

    #[test]
    fn what_perf_prints_is_read() {
        let read = samples(PRINTED);
        assert_eq!(read.len(), 2);
        assert_eq!((read[0].pid, read[0].seconds), (7, 10.5));
        assert_eq!(read[0].functions, ["tcp_sendmsg", "__alloc_skb"]);
        assert!(read[1].functions.is_empty());
    }

    #[test]
    fn rounds_that_syscost_did_not_sample_are_left_out() {
        let sample =
            |pid, seconds, function: &str| PerfSample { pid, seconds, functions: vec![function.into()] };
        let of_round = |round: u32| {
            let at = f64::from(round);
            [sample(round, at, SENDS), sample(round, at + 0.2, "kfree"), sample(round, at + 0.5, SENDS)]
        };
        let all: Vec<PerfSample> = (0..4).flat_map(of_round).chain([sample(0, 0.9, "kfree")]).collect();
        let seen = in_sampled_rounds(&all);
        assert_eq!(seen[&CodeClass::Memory], 2, "rounds 0 and 3, and nothing after the last call");
        assert_eq!(seen[&CodeClass::Protocol], 4);
    }
}
