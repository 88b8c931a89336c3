//! `cmp` beside hyperfine: two commands whose difference is known, and what each program says of them in which time.
//!
//! The commands are the same loop of a shell, one of them longer by a planted share. hyperfine decides nothing: it is
//! granted the interval that its exported times give (Welch), which a careful reader would compute.

use crate::options::Usage;
use crate::place;
use crate::record::{command_line, splice, table};
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use syscost_core::stats::random::Random;
use syscost_core::units::parse_duration;

/// Of the turns of the shell's loop that last a millisecond, about.
const TURNS_A_MILLISECOND: f64 = 1000.0;
/// Of a normal distribution: 95 % two-sided.
const SURE: f64 = 1.96;

#[derive(Clone, Debug, Args)]
pub struct CommandOptions {
    /// How often each pair is tried, each time by both programs
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: u32,
    /// By how many per cent one of two commands is longer
    #[arg(long, value_delimiter = ',', default_value = "0,2,5,20")]
    pub differences: Vec<f64>,
    /// How long the shorter one lasts, about
    #[arg(long, default_value = "20ms", value_parser = parse_duration)]
    pub length: Duration,
    /// The time limit of `cmp`; hyperfine takes what it takes
    #[arg(long, default_value = "30s", value_parser = parse_duration)]
    pub limit: Duration,
    /// Processes that use a CPU each beside the commands
    #[arg(long, default_value_t = 0)]
    pub busy: u32,
    /// The program that is compared with hyperfine
    #[arg(long, default_value = "target/release/syscost")]
    pub syscost: PathBuf,
    /// Put the result between the markers of this page, instead of printing it
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
}

/// What a program said of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Said {
    Right,
    Undecided,
    Wrong,
}

/// What a program says of two commands.
enum Told {
    /// The interval of the log ratio of the second to the first.
    Ratio([f64; 2]),
    /// The same within [`SAME`] per cent.
    Same,
}

/// What `cmp` calls the same, in per cent.
const SAME: f64 = 3.0;

/// A program's way to compare two commands; `None`: it does not tell.
type Compares = fn(&CommandOptions, [&str; 2], &Path) -> Result<Option<Told>>;

const PROGRAMS: [(&str, Compares); 2] = [("syscost cmp", by_cmp), ("hyperfine", by_hyperfine)];

pub fn run(options: &CommandOptions) -> Result<()> {
    if !options.syscost.exists() {
        bail!(Usage(format!("{} is not there: cargo build --release", options.syscost.display())));
    }
    ensure!(
        options.differences.iter().all(|share| (0.0..=1000.0).contains(share)),
        Usage("a difference is 0 to 1000 %".into())
    );
    let scratch = tempfile::tempdir()?;
    let _busy: Vec<Beside> = (0..options.busy).map(|_| Beside::start()).collect::<Result<_>>()?;
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64);
    let mut random = Random::new(seed);
    let mut seen: BTreeMap<(usize, usize), Vec<(Said, Duration)>> = BTreeMap::new();
    for _ in 0..options.trials {
        let mut pairs: Vec<(usize, usize)> = (0..options.differences.len())
            .flat_map(|pair| (0..PROGRAMS.len()).map(move |by| (pair, by)))
            .collect();
        random.shuffle(&mut pairs);
        for (pair, by) in pairs {
            // Which of the two is longer is no habit that a program could have.
            let turned = random.below(2) == 1;
            let begun = Instant::now();
            let ratio = PROGRAMS[by].1(
                options,
                pair_of(options, pair, turned).each_ref().map(String::as_str),
                scratch.path(),
            )?;
            let said = said(ratio, options.differences[pair], turned);
            seen.entry((pair, by)).or_default().push((said, begun.elapsed()));
        }
    }
    let text = page(options, &seen)?;
    match &options.page {
        Some(file) => splice(file, "commands", &text),
        None => {
            print!("{text}");
            Ok(())
        }
    }
}

/// The shorter and the longer command, or the other way round.
fn pair_of(options: &CommandOptions, pair: usize, turned: bool) -> [String; 2] {
    let turns = options.length.as_secs_f64() * 1e3 * TURNS_A_MILLISECOND;
    let command = |share: f64| {
        // Two numbers of one length: the text of a command must not tell which is longer.
        let turns = (turns * (1.0 + share / 100.0)).round();
        format!("sh -c 'i=0; while [ $i -lt {turns:09} ]; do i=$((i+1)); done'")
    };
    let [mut first, mut second] = [command(0.0), command(options.differences[pair])];
    if turned {
        std::mem::swap(&mut first, &mut second);
    }
    [first, second]
}

fn said(told: Option<Told>, difference: f64, turned: bool) -> Said {
    let [low, high] = match told {
        None => return Said::Undecided,
        Some(Told::Same) if difference <= SAME => return Said::Right,
        Some(Told::Same) => return Said::Wrong,
        Some(Told::Ratio(ends)) => ends,
    };
    let (more, less) = (low > 0.0, high < 0.0);
    match (more || less, difference == 0.0) {
        (false, _) => Said::Undecided,
        (true, true) => Said::Wrong,
        (true, false) if more != turned => Said::Right,
        (true, false) => Said::Wrong,
    }
}

/// What `cmp` decided.
fn by_cmp(options: &CommandOptions, commands: [&str; 2], scratch: &Path) -> Result<Option<Told>> {
    let out = scratch.join("cmp.json");
    let mut command = Command::new(&options.syscost);
    command.arg("cmp").args(["--shell", "none", "--time-limit", &format!("{}ms", options.limit.as_millis())]);
    let answer = answered(command.arg("--export-json").arg(&out).args(commands), &out)?;
    let wall = answer["comparisons"].as_array().into_iter().flatten().find(|one| one["metric"] == "wall");
    let wall = wall.context("cmp compared no wall times")?;
    let end = |key: &str| wall[key].as_f64().map(f64::ln);
    Ok(match wall["verdict"].as_str() {
        Some("same") => Some(Told::Same),
        Some("more" | "less") => {
            end("ci_low").zip(end("ci_high")).map(|(low, high)| Told::Ratio([low, high]))
        }
        _ => None,
    })
}

fn by_hyperfine(_: &CommandOptions, commands: [&str; 2], scratch: &Path) -> Result<Option<Told>> {
    let out = scratch.join("hyperfine.json");
    let mut command = Command::new("hyperfine");
    let answer = answered(
        command.args(["--shell", "none", "--warmup", "2", "--export-json"]).arg(&out).args(commands),
        &out,
    )?;
    let of = |at: usize| -> Option<(f64, f64)> {
        let times: Vec<f64> =
            answer["results"][at]["times"].as_array()?.iter().filter_map(Value::as_f64).collect();
        let n = times.len() as f64;
        let mean = times.iter().sum::<f64>() / n;
        let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / (n - 1.0);
        // Of the log of a mean, nearly.
        Some((mean.ln(), variance / n / mean.powi(2)))
    };
    let [first, second] = [0, 1].map(|at| of(at).context("hyperfine exported no times"));
    let ((first, a), (second, b)) = (first?, second?);
    let half = SURE * (a + b).sqrt();
    Ok(Some(Told::Ratio([second - first - half, second - first + half])))
}

/// Runs a program to its end, and reads what it exported.
fn answered(command: &mut Command, out: &Path) -> Result<Value> {
    let done = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("{:?} cannot be started", command.get_program()))?;
    ensure!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
    Ok(serde_json::from_slice(&fs::read(out)?)?)
}

fn page(options: &CommandOptions, seen: &BTreeMap<(usize, usize), Vec<(Said, Duration)>>) -> Result<String> {
    let row = |((pair, by), told): (&(usize, usize), &Vec<(Said, Duration)>)| {
        let of = |wanted: Said| told.iter().filter(|(said, _)| *said == wanted).count().to_string();
        let mut seconds: Vec<f64> = told.iter().map(|(_, took)| took.as_secs_f64()).collect();
        seconds.sort_by(f64::total_cmp);
        let difference = format!("{} %", options.differences[*pair]);
        let median = format!("{:.1}", seconds[seconds.len() / 2]);
        vec![
            difference,
            PROGRAMS[*by].0.into(),
            of(Said::Right),
            of(Said::Undecided),
            of(Said::Wrong),
            median,
        ]
    };
    let headers = ["planted", "program", "right", "undecided", "wrong", "seconds (median)"];
    let mut facts = vec![
        ("hyperfine".to_string(), version("hyperfine")?),
        ("syscost".into(), version(&options.syscost)?),
    ];
    facts.extend(place::machine());
    facts.push(("CPUs used beside the commands".into(), options.busy.to_string()));
    facts.push(("command".into(), command_line()));
    let facts = facts.into_iter().map(|(what, value)| vec![what, value]);
    Ok(format!("{}\n{}", table(&headers, seen.iter().map(row)), table(&["measured with", ""], facts)))
}

fn version(program: impl AsRef<OsStr>) -> Result<String> {
    let done = Command::new(&program).arg("--version").output();
    let done = done.with_context(|| format!("{:?} cannot be started", program.as_ref()))?;
    let said = String::from_utf8_lossy(&done.stdout);
    Ok(said.split_whitespace().last().unwrap_or_default().into())
}

/// A process that uses a CPU until it is dropped.
struct Beside(std::process::Child);

impl Beside {
    fn start() -> Result<Beside> {
        Ok(Beside(Command::new("sh").args(["-c", "while :; do :; done"]).spawn()?))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planted_difference_is_found_or_not_and_nothing_else_is_right() {
        let of =
            |ratio: Option<[f64; 2]>, difference, turned| said(ratio.map(Told::Ratio), difference, turned);
        assert_eq!(of(Some([0.01, 0.09]), 5.0, false), Said::Right);
        assert_eq!(of(Some([-0.09, -0.01]), 5.0, true), Said::Right);
        assert_eq!(of(Some([0.01, 0.09]), 5.0, true), Said::Wrong);
        assert_eq!(of(Some([0.01, 0.09]), 0.0, false), Said::Wrong);
        assert_eq!(of(Some([-0.01, 0.09]), 5.0, false), Said::Undecided);
        assert_eq!(of(None, 0.0, false), Said::Undecided);
        assert_eq!(said(Some(Told::Same), 2.0, false), Said::Right);
        assert_eq!(said(Some(Told::Same), 5.0, false), Said::Wrong);
    }
}
