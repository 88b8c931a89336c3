//! Contests over pairs whose difference is planted: what each program says of them, and in which time.
//!
//! The engine of `commands` and `functions`. Each pair is tried by each program, in random order, and every trial is a line of
//! a record. The page is made from the record alone.

use crate::options::Output;
use crate::place;
use crate::record::{self, Recorder, table};
use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use syscost_core::stats::median;
use syscost_core::stats::random::Random;
use syscost_core::units::{format_duration, parse_duration};

#[derive(Clone, Debug, Args)]
pub struct PlantedOptions {
    /// How often each pair is tried, each time by every program
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub trials: u32,
    /// By how many per cent one of two is longer
    #[arg(long, value_delimiter = ',', default_value = "0,2,5,20", value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub differences: Vec<u32>,
    /// How long the shorter one lasts, about [default: 20ms of commands; 10ns,1us,1ms of functions]
    #[arg(long, value_delimiter = ',', value_parser = parse_duration)]
    pub lengths: Vec<Duration>,
    /// The time limit of syscost for a pair; the other program takes what it takes
    #[arg(long, default_value = "30s", value_parser = parse_duration)]
    pub limit: Duration,
    /// Processes that use a CPU each beside the trials
    #[arg(long, default_value_t = 0)]
    pub busy: u32,
    #[command(flatten)]
    pub output: Output,
}

/// Two of something, of which one is longer by a planted share.
#[derive(Clone, Copy)]
pub struct Pair {
    pub length: Duration,
    /// In per cent.
    pub difference: u32,
    /// The first is the longer one: no habit of a program may tell which it is.
    turned: bool,
}

impl Pair {
    /// So many steps for the shorter one, and as many more for the other; in the order in which programs get them.
    pub fn steps(&self, steps_a_nanosecond: f64) -> [u64; 2] {
        let steps = self.length.as_secs_f64() * 1e9 * steps_a_nanosecond;
        let mut both =
            [0, self.difference].map(|share| (steps * (1.0 + f64::from(share) / 100.0)).round() as u64);
        if self.turned {
            both.reverse();
        }
        both
    }
}

/// What a program says of a pair.
pub enum Told {
    /// The interval of the log ratio of the second to the first.
    Ratio([f64; 2]),
    /// The same within [`SAME`] per cent.
    Same,
    /// It found no difference, which is no statement of how small one may be.
    NoChange,
    Undecided,
}

/// What syscost calls the same, in per cent.
const SAME: u32 = 3;

/// A program's way to compare a pair.
type Compares<'a> = Box<dyn Fn(&Pair) -> Result<Told> + 'a>;

/// A program of the contest.
pub struct Contender<'a> {
    pub name: &'static str,
    pub version: String,
    pub compare: Compares<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Judged {
    Right,
    Undecided,
    Wrong,
}

/// A line of the record.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Trial {
    length_ns: u64,
    /// In per cent.
    planted: u32,
    program: String,
    turned: bool,
    judged: Judged,
    seconds: f64,
}

/// Tries what was asked, and makes the part of the page that has this mark. `contenders` get a scratch directory and the pairs.
pub fn run<'a>(
    options: &'a PlantedOptions,
    mark: &str,
    usual: &[Duration],
    contenders: impl FnOnce(PathBuf, &[Pair]) -> Result<Vec<Contender<'a>>>,
) -> Result<()> {
    let record = &options.output.record;
    if !options.output.rebuild {
        let scratch = tempfile::tempdir()?;
        let lengths = if options.lengths.is_empty() { usual } else { &options.lengths };
        let pairs: Vec<Pair> = lengths.iter().flat_map(|length| pairs(options, *length)).collect();
        measure(options, &pairs, &contenders(scratch.path().to_path_buf(), &pairs)?)?;
    }
    let (facts, trials) = record::lines(record)?;
    options.output.show(mark, &format!("{}\n{}", page(&trials), record::measured_with(&facts)))
}

fn pairs(options: &PlantedOptions, length: Duration) -> impl Iterator<Item = Pair> {
    options.differences.iter().map(move |difference| Pair { length, difference: *difference, turned: false })
}

fn measure(options: &PlantedOptions, pairs: &[Pair], contenders: &[Contender<'_>]) -> Result<()> {
    let mut facts: Vec<_> =
        contenders.iter().map(|one| (one.name.to_string(), one.version.clone())).collect();
    facts.extend(place::machine());
    facts.push(("CPUs used beside the trials".into(), options.busy.to_string()));
    facts.push(("command".into(), record::command_line()));
    let mut recorder = Recorder::create(&options.output.record, &facts)?;
    let _busy: Vec<Beside> = (0..options.busy).map(|_| Beside::start()).collect::<Result<_>>()?;
    let seed = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64);
    let mut random = Random::new(seed);
    for trial in 0..options.trials {
        let mut order: Vec<_> =
            pairs.iter().flat_map(|pair| contenders.iter().map(move |one| (*pair, one))).collect();
        random.shuffle(&mut order);
        for (pair, one) in order {
            let pair = Pair { turned: random.below(2) == 1, ..pair };
            let begun = Instant::now();
            let told = (one.compare)(&pair).with_context(|| one.name.to_string())?;
            let seconds = begun.elapsed().as_secs_f64();
            let Pair { length, difference: planted, turned } = pair;
            let judged = judged(&told, planted, turned);
            let length_ns = length.as_nanos() as u64;
            let program = one.name.to_string();
            recorder.add(&Trial { length_ns, planted, program, turned, judged, seconds })?;
            let length = format_duration(length);
            eprintln!(
                "trial {}: {length}, {planted} %, {}: {judged:?} in {seconds:.1} s",
                trial + 1,
                one.name
            );
        }
    }
    Ok(())
}

fn judged(told: &Told, planted: u32, turned: bool) -> Judged {
    let [low, high] = match told {
        Told::Undecided => return Judged::Undecided,
        Told::Same if planted <= SAME => return Judged::Right,
        Told::Same => return Judged::Wrong,
        Told::NoChange if planted == 0 => return Judged::Right,
        Told::NoChange => return Judged::Undecided,
        Told::Ratio(ends) => *ends,
    };
    let (more, less) = (low > 0.0, high < 0.0);
    match (more || less, planted == 0) {
        (false, _) => Judged::Undecided,
        (true, true) => Judged::Wrong,
        (true, false) if more != turned => Judged::Right,
        (true, false) => Judged::Wrong,
    }
}

/// A row for each length, difference and program.
fn page(trials: &[Trial]) -> String {
    let mut rows: BTreeMap<(u64, u32, &str), Vec<&Trial>> = BTreeMap::new();
    for trial in trials {
        rows.entry((trial.length_ns, trial.planted, &trial.program)).or_default().push(trial);
    }
    let row = |told: &Vec<&Trial>| {
        let of = |wanted| told.iter().filter(|trial| trial.judged == wanted).count().to_string();
        let seconds: Vec<f64> = told.iter().map(|trial| trial.seconds).collect();
        vec![
            format_duration(Duration::from_nanos(told[0].length_ns)),
            format!("{} %", told[0].planted),
            told[0].program.clone(),
            of(Judged::Right),
            of(Judged::Undecided),
            of(Judged::Wrong),
            median(&seconds).map_or(String::new(), |seconds| format!("{seconds:.1}")),
        ]
    };
    let headers = ["length", "planted", "program", "right", "undecided", "wrong", "seconds (median)"];
    table(&headers, rows.values().map(row))
}

/// Runs a program to its end: what it printed.
pub fn finished(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("{:?} cannot be started", command.get_program()))?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A process that uses a CPU until it is dropped.
struct Beside(Child);

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
        let of = |ratio: [f64; 2], planted, turned| judged(&Told::Ratio(ratio), planted, turned);
        assert_eq!(of([0.01, 0.09], 5, false), Judged::Right);
        assert_eq!(of([-0.09, -0.01], 5, true), Judged::Right);
        assert_eq!(of([0.01, 0.09], 5, true), Judged::Wrong);
        assert_eq!(of([0.01, 0.09], 0, false), Judged::Wrong);
        assert_eq!(of([-0.01, 0.09], 5, false), Judged::Undecided);
        let of = |told: Told, planted| judged(&told, planted, false);
        assert_eq!(of(Told::Undecided, 0), Judged::Undecided);
        assert_eq!(of(Told::Same, 2), Judged::Right);
        assert_eq!(of(Told::Same, 5), Judged::Wrong);
        assert_eq!(of(Told::NoChange, 0), Judged::Right);
        assert_eq!(of(Told::NoChange, 2), Judged::Undecided);
    }

    #[test]
    fn the_longer_one_is_where_the_pair_says() {
        let pair = |turned| Pair { length: Duration::from_nanos(10), difference: 5, turned };
        assert_eq!(pair(false).steps(4.0), [40, 42]);
        assert_eq!(pair(true).steps(4.0), [42, 40]);
    }
}
