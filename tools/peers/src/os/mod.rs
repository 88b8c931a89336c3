//! `peers os`: the costs of operations beside lmbench, perf bench, fio and others.
//!
//! Each round visits every row once in a seeded random order and, at each row, ours and every
//! program's command in a random order; a command that measures several rows runs once a round, where
//! the first of them comes up. docs/comparison.md is made from the record alone.

mod compare;
mod page;
mod props;
pub mod row;
mod steady;

use crate::contests::{here, known};
use crate::external::{fresh_ports, successful, wait_until_listening};
use crate::machine;
use crate::options::Options;
use crate::ours;
use crate::process::{self, Interrupted, Running};
use crate::program::{Measure, Program, filled, words};
use crate::record::{self, Record, Recorder, command_line};
use anyhow::{Context, Result, ensure};
use props::{Prop, ReadFile};
use row::{OURS, Row, Visited};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use syscost_core::stats::random::Random;

const ROUNDS: u32 = 10;
/// No measure takes nearly as long.
const LIMIT: Duration = Duration::from_secs(40);
/// What has to be alike in all sessions of a record.
const SAME: [&str; 4] = [OURS, "CPU", "kernel", "CPUs used"];

pub fn run(options: &Options) -> Result<()> {
    if options.list {
        let of = |row: &Row| {
            let programs = row::programs().iter().filter(|program| row.measures(program).next().is_some());
            let programs: Vec<&str> = programs.map(|program| program.id.as_str()).collect();
            format!("  {:24} {} ({})\n", row.id, row.title, programs.join(", "))
        };
        let rows: String = row::all().iter().map(of).collect();
        print!("Rows\n{rows}Programs\n{}", row::programs().iter().map(here).collect::<String>());
        return Ok(());
    }
    let stop = Arc::new(AtomicBool::new(false));
    if !options.rebuild {
        measure(options, &stop)?;
    }
    let record = record::read(&options.record)?;
    let text = page::markdown(&record, &compare::rows(&record));
    match &options.page {
        Some(file) => record::splice(file, &text)?,
        None => print!("{text}"),
    }
    if stop.load(Ordering::Relaxed) {
        anyhow::bail!(Interrupted);
    }
    Ok(())
}

fn measure(options: &Options, stop: &Arc<AtomicBool>) -> Result<()> {
    let started = Instant::now();
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    known("row", &options.contests, &row::all().iter().map(|row| row.id.as_str()).collect::<Vec<_>>())?;
    let ids: Vec<&str> = row::programs().iter().map(|program| program.id.as_str()).collect();
    known("program", &options.only, &ids)?;
    let wanted = |asked: &[String], id: &String| asked.is_empty() || asked.contains(id);
    let rows: Vec<&'static Row> =
        row::all().iter().filter(|row| wanted(&options.contests, &row.id)).collect();
    let mut facts = vec![(OURS.to_string(), ours::find()?.version)];
    let mut programs = Vec::new();
    for program in row::programs().iter().filter(|program| wanted(&options.only, &program.id)) {
        let found = program.find();
        programs.extend(found.is_ok().then_some(program));
        let said = found.map_or_else(|why| format!("not compared: {why}"), |found| found.version);
        facts.push((program.id.clone(), said));
    }
    let cpus = machine::two_cpus()?;
    facts.extend(machine::facts().into_iter().map(|(label, value)| (label.to_string(), value)));
    facts.push(("CPUs used".into(), format!("{}, {}", cpus.0, cpus.1)));
    facts.push(("rounds of ours in a figure".into(), row::OUR_ROUNDS.to_string()));
    facts.push(("command".into(), command_line()));
    let file = ReadFile::make(&options.dir)?;
    let kept = if options.add && options.record.exists() {
        kept(options, &facts)?
    } else {
        Record { facts: Vec::new(), visits: Vec::new() }
    };
    let facts = if kept.facts.is_empty() { &facts } else { &kept.facts };
    let mut visits = Visits {
        options,
        programs,
        directory: options.dir.to_string_lossy().into_owned(),
        file,
        cpus,
        stop,
        deadline: started + options.time_limit,
        recorder: Recorder::create(&options.record, facts, &kept.visits)?,
        sequence: kept.visits.len() as u64,
        first_round: kept.visits.iter().map(|visit| visit.round + 1).max().unwrap_or(0),
    };
    visits.all(&rows)
}

/// A record of the same binary and machine.
fn kept(options: &Options, facts: &[(String, String)]) -> Result<Record<Visited>> {
    let record: Record<Visited> = record::read(&options.record)?;
    let fact = |facts: &[(String, String)], label: &str| {
        facts.iter().find(|(known, _)| known == label).map(|(_, value)| value.clone())
    };
    for label in SAME {
        let (then, now) = (fact(&record.facts, label), fact(facts, label));
        ensure!(then == now, "the record is of another {label}: {then:?}, not {now:?}");
    }
    Ok(record)
}

struct Visits<'a> {
    options: &'a Options,
    programs: Vec<&'static Program>,
    directory: String,
    file: ReadFile,
    cpus: (usize, usize),
    stop: &'a AtomicBool,
    deadline: Instant,
    recorder: Recorder,
    sequence: u64,
    first_round: u32,
}

impl Visits<'_> {
    fn all(&mut self, rows: &[&'static Row]) -> Result<()> {
        let first = self.first_round;
        let mut random = Random::new(Random::derived(self.options.seed, u64::from(first)));
        for round in first..first + self.options.rounds.unwrap_or(ROUNDS) {
            let mut order = rows.to_vec();
            random.shuffle(&mut order);
            let mut done: Vec<&'static str> = Vec::new();
            for (position, row) in order.iter().enumerate() {
                if self.stop.load(Ordering::Relaxed) || Instant::now() >= self.deadline {
                    return Ok(());
                }
                let begun = Instant::now();
                self.row(round, row, rows, &mut done, &mut random)?;
                let (of, took) = (order.len(), begun.elapsed().as_secs_f64());
                eprintln!("round {} row {}/{of} {}: {took:.1} s", round + 1, position + 1, row.title);
            }
        }
        Ok(())
    }

    /// Ours (`None`) and every command that measures the row and has not run in this round.
    fn row(
        &mut self,
        round: u32,
        row: &'static Row,
        asked: &[&'static Row],
        done: &mut Vec<&'static str>,
        random: &mut Random,
    ) -> Result<()> {
        let mut order: Vec<Option<(&'static Program, &'static Measure)>> = vec![None];
        for program in &self.programs {
            let due = row.measures(program).filter(|measure| !done.contains(&measure.command.as_str()));
            order.extend(due.map(|measure| Some((*program, measure))));
        }
        random.shuffle(&mut order);
        for visit in order {
            match visit {
                None => {
                    let outcome = row.figure(&self.directory, self.stop);
                    self.keep(round, row, OURS, &row.as_typed(), outcome)?;
                }
                Some((program, measure)) => {
                    done.push(&measure.command);
                    self.measure(round, program, measure, asked)?;
                }
            }
            if self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Runs a command, and reads a figure for each of its rows.
    fn measure(
        &mut self,
        round: u32,
        program: &Program,
        measure: &Measure,
        asked: &[&'static Row],
    ) -> Result<()> {
        let output = self.output(program, measure);
        for row in asked {
            let Some(reading) = measure.figures.get(&row.id) else { continue };
            let outcome = match &output {
                Ok(text) => reading.figure(text, 0, "").with_context(|| row.id.clone()),
                Err(error) if error.is::<Interrupted>() => return Ok(()),
                Err(error) => Err(anyhow::Error::msg(format!("{error:#}"))),
            };
            self.keep(round, row, &program.id, &measure.command, outcome)?;
        }
        Ok(())
    }

    /// What a command printed, on both streams: some of these tools report on standard error.
    fn output(&self, program: &Program, measure: &Measure) -> Result<String> {
        let copy =
            |(name, to): (&String, &String)| Prop::copy(&program.file(name).map_err(anyhow::Error::msg)?, to);
        let _props = measure.copies.iter().map(copy).collect::<Result<Vec<Prop>>>()?;
        if measure.of_cached_file {
            props::cache_by_page(self.file.path())?;
        }
        let port = fresh_ports();
        let (first, second) = self.cpus;
        let command = |line: &str, cpus: Vec<usize>| -> Result<Command> {
            let values = [("port", port.to_string()), ("file", self.file.path().to_string())];
            let (file, arguments) = words(program, &filled(line, &values))?;
            let mut command = process::command_on(file, cpus);
            command.args(arguments).envs(&program.environment).envs(&measure.environment);
            Ok(command)
        };
        let mut server = None;
        if let Some(line) = &measure.server {
            let started = server.insert(Running::start(command(line, vec![second])?)?);
            wait_until_listening(started, port, self.stop)?;
        }
        let both = measure.two_cpus && server.is_none();
        let cpus = if both { vec![first, second] } else { vec![first] };
        let mut running = Running::start(command(&measure.command, cpus)?)?;
        let finished = running.finish(Instant::now() + LIMIT, self.stop)?;
        let said = finished.stderr.clone();
        Ok(format!("{}\n{said}", successful(&program.id, finished)?))
    }

    fn keep(&mut self, round: u32, row: &Row, tool: &str, command: &str, outcome: Result<f64>) -> Result<()> {
        if outcome.as_ref().is_err_and(|error| error.is::<Interrupted>()) {
            return Ok(());
        }
        let failure = outcome.as_ref().err().map_or(String::new(), |error| format!("{error:#}"));
        if !failure.is_empty() {
            eprintln!("round {} {} {tool}: {failure}", round + 1, row.id);
        }
        let visited = Visited {
            sequence: self.sequence,
            round,
            row: row.id.clone(),
            tool: tool.into(),
            value: outcome.ok(),
            unit: row.metric()?.unit.symbol().into(),
            failure,
            command: command.into(),
        };
        self.sequence += 1;
        self.recorder.add(&visited)
    }
}
