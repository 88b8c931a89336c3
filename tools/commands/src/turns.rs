//! Runs the commands in turns: fresh processes, in an order that chance makes, a round after the other.
//!
//! A round is the replicate. Short commands have several turns in a round, whose median counts, so that one stall is not
//! the round's figure.

use crate::asked::{AskedCommand, CommandShell, shell_for, words};
use crate::decided::is_decided;
use crate::first_look::first_look;
use crate::rounds::{CONFIDENCE, CommandTurns};
use anyhow::{Context, Result, bail, ensure};
use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use syscost_core::decide::Looks;
use syscost_core::stats::random::Random;
use syscost_core::units::format_duration;
use syscost_sys::clock::monotonic_ns;
use syscost_sys::command::{self, CommandEnd, CommandLaunch, CommandUsage};
use syscost_sys::signals;
use syscost_sys::sleep::sleep;
use syscost_sys::tiny_program::TinyProgram;

/// What a round takes where commands are short.
const ROUND: Duration = Duration::from_millis(100);
const MOST_TURNS: f64 = 20.0;
/// The first look at the answer comes after so many rounds; the next ones after half as many more each.
const FIRST_LOOK: usize = 5;
/// Below this what starting a process takes is a part of the time that is told.
pub const SHORT_NS: f64 = 5e6;
/// A longer run is not traced.
const TRACED: Duration = Duration::from_secs(2);
const WATCH: Duration = Duration::from_millis(50);

pub struct TurnOptions {
    pub shell: CommandShell,
    pub time_limit: Duration,
    /// So many, whatever is decided.
    pub rounds: Option<u32>,
    /// The interval of a single command is to be this narrow.
    pub precision: f64,
    pub warmups: u32,
    /// Shell commands: before the first run, before each, and after the last; one for all commands, or one for each.
    pub setup: Vec<String>,
    pub prepare: Vec<String>,
    pub cleanup: Vec<String>,
    pub show_output: bool,
    pub ignore_failure: bool,
    pub seed: u64,
}

/// The process that runs now, and when it has run for too long.
#[derive(Default)]
struct RunningCommand {
    pid: AtomicI32,
    until_ns: AtomicU64,
}

/// What runs one command.
struct Starter<'a> {
    options: &'a TurnOptions,
    launches: Vec<CommandLaunch>,
    nothing: Option<CommandLaunch>,
    watched: Arc<RunningCommand>,
    failed_runs: u64,
}

/// Measures until the answer is decided, the time is over, or Ctrl-C. `show` is told of each round.
pub fn measure(
    commands: Vec<AskedCommand>,
    options: &TurnOptions,
    show: &mut dyn FnMut(&CommandTurns),
) -> Result<CommandTurns> {
    let begun = Instant::now();
    for (which, hooks) in
        [("--setup", &options.setup), ("--prepare", &options.prepare), ("--cleanup", &options.cleanup)]
    {
        ensure!(
            hooks.len() <= 1 || hooks.len() == commands.len(),
            "{which} is given {} times for {} commands: give it once for all, or once for each",
            hooks.len(),
            commands.len()
        );
    }
    let shell = shell_for(&options.shell, &commands);
    let programs: Vec<_> =
        commands.iter().map(|one| words(&one.text, shell.as_deref())).collect::<Result<_>>()?;
    let mut starter = Starter::new(&programs, shell.as_deref(), options)?;
    let mut turns = CommandTurns {
        looks: Vec::new(),
        rounds: Vec::new(),
        starts_ns: Vec::new(),
        least_bytes: 0.0,
        elapsed: Duration::ZERO,
        precision: options.precision,
        failed_runs: 0,
        interrupted: false,
        commands,
        shell,
    };
    (0..turns.commands.len()).try_for_each(|at| hook(turns.shell.as_deref(), &options.setup, at))?;
    let mut warm_ns = Vec::new();
    for (at, (program, words)) in programs.iter().enumerate() {
        if signals::caught() {
            break;
        }
        let warm = starter.run(&turns, at)?;
        let look = first_look(program, words, warm.wall_ns < TRACED.as_nanos() as f64)?;
        starter.judge(&turns, at, look.end)?;
        turns.looks.push(look);
        (1..options.warmups).try_for_each(|_| starter.run(&turns, at).map(drop))?;
        warm_ns.push(warm.wall_ns);
    }
    turns.least_bytes = starter
        .nothing
        .as_mut()
        .and_then(|nothing| nothing.run(|_| ()).ok())
        .map_or(0.0, |run| run.peak_bytes);
    let is_short = warm_ns.iter().any(|ns| *ns < SHORT_NS);
    let repeats = (ROUND.as_nanos() as f64 / warm_ns.iter().sum::<f64>()).clamp(1.0, MOST_TURNS) as usize;
    let mut random = Random::new(options.seed);
    let (mut looks, mut next_look) = (0, FIRST_LOOK);
    while !turns.interrupted && !is_over(&turns, options, begun.elapsed()) {
        let round = starter.round(&turns, repeats, &mut random)?;
        if let Some(nothing) = starter.nothing.as_mut().filter(|_| is_short) {
            if let Ok(run) = nothing.run(|_| ()) {
                turns.starts_ns.push(run.wall_ns);
            }
        }
        turns.interrupted = signals::caught();
        if !turns.interrupted {
            turns.rounds.push(round);
        }
        (turns.elapsed, turns.failed_runs) = (begun.elapsed(), starter.failed_runs);
        show(&turns);
        if options.rounds.is_none() && turns.rounds.len() >= next_look {
            looks += 1;
            next_look += (next_look / 2).max(2);
            if is_decided(&turns, &Looks::interim(CONFIDENCE, looks)) {
                break;
            }
        }
    }
    (0..turns.commands.len()).try_for_each(|at| hook(turns.shell.as_deref(), &options.cleanup, at))?;
    turns.elapsed = begun.elapsed();
    Ok(turns)
}

/// Is the next round one too many? There is one at least.
fn is_over(turns: &CommandTurns, options: &TurnOptions, elapsed: Duration) -> bool {
    let done = turns.rounds.len();
    match options.rounds {
        Some(rounds) => done >= rounds as usize,
        None => done > 0 && elapsed + elapsed / (done as u32 + 1) > options.time_limit,
    }
}

impl<'a> Starter<'a> {
    fn new(
        programs: &[(std::path::PathBuf, Vec<CString>)],
        shell: Option<&str>,
        options: &'a TurnOptions,
    ) -> Result<Starter<'a>> {
        let launch = |(program, words): &(std::path::PathBuf, Vec<CString>)| {
            let program = CString::new(program.as_os_str().as_bytes())?;
            Ok(CommandLaunch::new(program, words.clone(), options.show_output)?)
        };
        let launches = programs.iter().map(launch).collect::<Result<Vec<_>>>()?;
        // The file lives as long as this process: it is started over and over.
        let tiny = TinyProgram::new().ok().map(|tiny| &*Box::leak(Box::new(tiny)));
        let nothing = match shell {
            Some(shell) => words(":", Some(shell)).and_then(|nothing| launch(&nothing)).ok(),
            None => tiny.and_then(|tiny| {
                CommandLaunch::new(tiny.path().into(), vec![tiny.path().into()], false).ok()
            }),
        };
        let watched = Arc::new(RunningCommand::default());
        let watcher = Arc::clone(&watched);
        std::thread::Builder::new().spawn(move || watch(&watcher)).context("cannot start a thread")?;
        Ok(Starter { options, launches, nothing, watched, failed_runs: 0 })
    }

    /// Every command so often, in an order of its own each time.
    fn round(
        &mut self,
        turns: &CommandTurns,
        repeats: usize,
        random: &mut Random,
    ) -> Result<Vec<Vec<CommandUsage>>> {
        let mut round = vec![Vec::with_capacity(repeats); self.launches.len()];
        for _ in 0..repeats {
            let mut order: Vec<usize> = (0..self.launches.len()).collect();
            for last in (1..order.len()).rev() {
                order.swap(last, random.below(last + 1));
            }
            for at in order {
                round[at].push(self.run(turns, at)?);
                if signals::caught() {
                    return Ok(round);
                }
            }
        }
        Ok(round)
    }

    fn run(&mut self, turns: &CommandTurns, at: usize) -> Result<CommandUsage> {
        hook(turns.shell.as_deref(), &self.options.prepare, at)?;
        let until = monotonic_ns() + self.options.time_limit.as_nanos() as u64;
        self.watched.until_ns.store(until, Ordering::Relaxed);
        let watched = &self.watched;
        let run = self.launches[at].run(|pid| watched.pid.store(pid, Ordering::SeqCst));
        let run = run.with_context(|| format!("cannot start {}", turns.commands[at].name))?;
        if monotonic_ns() > until {
            let limit = format_duration(self.options.time_limit);
            bail!(
                "{} ran longer than the time limit of {limit} and was ended: --time-limit LONGER",
                turns.commands[at].name
            );
        }
        self.judge(turns, at, run.end)?;
        Ok(run)
    }

    fn judge(&mut self, turns: &CommandTurns, at: usize, end: CommandEnd) -> Result<()> {
        // Ctrl-C ends what runs as well: that is no failure of its own.
        if end == CommandEnd::Status(0) || signals::caught() {
            return Ok(());
        }
        self.failed_runs += 1;
        let how = match end {
            CommandEnd::Status(status) => format!("ended with status {status}"),
            CommandEnd::Signal(signal) => format!("was ended by signal {signal}"),
        };
        ensure!(
            self.options.ignore_failure,
            "{} {how}: a failed run takes another time. Run it yourself to see why, or allow it with --ignore-failure",
            turns.commands[at].name
        );
        Ok(())
    }
}

/// Ends what runs too long, or when somebody asks for the end.
fn watch(watched: &RunningCommand) {
    loop {
        sleep(WATCH);
        let pid = watched.pid.load(Ordering::SeqCst);
        if pid > 0 && (monotonic_ns() > watched.until_ns.load(Ordering::Relaxed) || signals::caught()) {
            command::kill(pid);
        }
    }
}

/// A command beside those that are timed, by their shell or, where they have none, by `sh`.
fn hook(shell: Option<&str>, hooks: &[String], at: usize) -> Result<()> {
    let Some(text) = hooks.get(at).or(hooks.first()) else { return Ok(()) };
    let (program, words) = words(text, Some(shell.unwrap_or("sh")))?;
    let arguments = words.iter().skip(1).map(|word| OsStr::from_bytes(word.as_bytes()));
    let status = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).status();
    let status = status.with_context(|| format!("cannot start a shell for: {text}"))?;
    ensure!(status.success() || signals::caught(), "{text}: {status}");
    Ok(())
}
