//! `peers os`: the costs of operations beside lmbench, perf bench, fio and others.
//!
//! Each round visits every row once in a seeded random order and, at each row, ours and every
//! peer's command in a random order; a command that measures several rows runs once a round, where
//! the first of them comes up. docs/comparison.md is made from the record alone.

pub(crate) mod call;
mod compare;
pub(crate) mod likewise;
mod options;
mod ours;
mod page;
pub(crate) mod peer;
pub(crate) mod props;
mod record;
pub mod row;
mod steady;

use crate::machine;
use crate::output;
use crate::process::Interrupted;
use crate::usage::{Usage, command_line};
use anyhow::Result;
use call::Setting;
use likewise::{How, Likewise};
pub use options::Options;
use ours::Ours;
use peer::{Measure, Peer};
use props::ReadFile;
use record::{OURS, Recorder, Visited};
use row::Row;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use syscost_core::axis::suggest;
use syscost_core::stats::random::Random;

pub fn run(options: &Options) -> Result<()> {
    if options.list {
        print!("{}", list());
        return Ok(());
    }
    let stop = Arc::new(AtomicBool::new(false));
    if !options.rebuild {
        measure(options, &stop)?;
    }
    let record = record::read(&options.record)?;
    let rows = compare::rows(&record);
    if let Some(file) = &options.page {
        output::splice(file, &page::markdown(&record, &rows))?;
    }
    print!("{}", page::terminal(&rows));
    if stop.load(Ordering::Relaxed) {
        anyhow::bail!(Interrupted);
    }
    Ok(())
}

fn list() -> String {
    let mut text = String::from("Rows\n");
    for row in row::ALL {
        let peers = peer::ALL.iter().filter(|peer| measures(**peer, row).next().is_some());
        let peers: Vec<&str> = peers.map(|peer| peer.id()).collect();
        text += &format!("  {:24} {} ({})\n", row.id, row.title, peers.join(", "));
    }
    text += "Peers\n";
    for peer in peer::ALL {
        let here =
            peer.version().unwrap_or_else(|why| format!("not here: {why}; get it from {}", peer.source()));
        text += &format!("  {:24} {here}\n", peer.id());
    }
    text
}

/// The commands of a peer that measure a row.
fn measures<'a>(peer: &'a dyn Peer, row: &'a Row) -> impl Iterator<Item = &'static Measure> + 'a {
    peer.measures().iter().filter(|measure| measure.figures.iter().any(|figure| figure.row == row.id))
}

fn measure(options: &Options, stop: &Arc<AtomicBool>) -> Result<()> {
    let started = Instant::now();
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    let rows = rows_asked(&options.rows)?;
    let (peers, mut facts) = peers_here(&options.only)?;
    let directory = options.dir.to_string_lossy().into_owned();
    let (version, ours) = Ours::find(&directory, options.our_rounds)?;
    facts.insert(0, (OURS.into(), version));
    let cpus = machine::two_cpus()?;
    facts.extend(machine_facts(cpus, options));
    let file = ReadFile::make(&options.dir)?;
    let (recorder, first_round) = match options.add && options.record.exists() {
        true => Recorder::add_to(&options.record, &facts)?,
        false => (Recorder::create(&options.record, &facts)?, 0),
    };
    let mut visits = Visits {
        options,
        peers,
        ours,
        file,
        cpus,
        stop,
        deadline: started + options.time_limit,
        recorder,
        first_round,
    };
    visits.all(&rows)
}

/// The rows asked for by id; all for none.
fn rows_asked(ids: &[String]) -> Result<Vec<&'static Row>> {
    if ids.is_empty() {
        return Ok(row::ALL.iter().collect());
    }
    let names: Vec<&str> = row::ALL.iter().map(|row| row.id).collect();
    let known = |id: &String| {
        row::find(id).ok_or_else(|| Usage(format!("no row {id:?}: {}", suggest(id, &names, &[]))).into())
    };
    ids.iter().map(known).collect()
}

type Here = (Vec<&'static dyn Peer>, Vec<(String, String)>);

/// The peers that are here, and what the record says of each.
fn peers_here(only: &[String]) -> Result<Here> {
    let names: Vec<&str> = peer::ALL.iter().map(|peer| peer.id()).collect();
    if let Some(name) = only.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(Usage(format!("no peer {name:?}: {}", suggest(name, &names, &[]))).into());
    }
    let (mut here, mut facts) = (Vec::new(), Vec::new());
    for peer in peer::ALL.iter().filter(|peer| only.is_empty() || only.iter().any(|name| name == peer.id())) {
        let said = match peer.version() {
            Ok(version) => {
                here.push(*peer);
                version
            }
            Err(why) => format!("not compared: {why}"),
        };
        facts.push((peer.id().to_string(), said));
    }
    Ok((here, facts))
}

fn machine_facts(cpus: (usize, usize), options: &Options) -> Vec<(String, String)> {
    let mut facts: Vec<(String, String)> =
        machine::facts().into_iter().map(|(label, value)| (label.to_string(), value)).collect();
    facts.push(("CPUs used".into(), format!("{}, {}", cpus.0, cpus.1)));
    facts.push(("rounds of ours in a figure".into(), options.our_rounds.to_string()));
    facts.push(("command".into(), command_line()));
    facts
}

struct Visits<'a> {
    options: &'a Options,
    peers: Vec<&'static dyn Peer>,
    ours: Ours,
    file: ReadFile,
    cpus: (usize, usize),
    stop: &'a AtomicBool,
    deadline: Instant,
    recorder: Recorder,
    first_round: u32,
}

/// What is visited at a row.
#[derive(Clone, Copy)]
enum RowVisit {
    Ours,
    Peer(&'static dyn Peer, &'static Measure),
    Likewise(&'static Likewise),
}

impl Visits<'_> {
    fn all(&mut self, rows: &[&'static Row]) -> Result<()> {
        let first = self.first_round;
        let mut random = Random::new(Random::derived(self.options.seed, u64::from(first)));
        for round in first..first + self.options.rounds {
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
        let mut order = vec![RowVisit::Ours];
        for peer in &self.peers {
            let due = measures(*peer, row).filter(|measure| !done.contains(&measure.command));
            order.extend(due.map(|measure| RowVisit::Peer(*peer, measure)));
            order.extend(likewise::of(row.id, peer.id()).map(RowVisit::Likewise));
        }
        random.shuffle(&mut order);
        for visit in order {
            match visit {
                RowVisit::Ours => self.visit_ours(round, row)?,
                RowVisit::Likewise(likewise) => self.visit_likewise(round, row, likewise)?,
                RowVisit::Peer(peer, measure) => {
                    done.push(measure.command);
                    self.visit_peer(round, peer, measure, asked)?;
                }
            }
            if self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn visit_ours(&mut self, round: u32, row: &Row) -> Result<()> {
        let outcome = self.ours.figure(row, &[], self.stop);
        if outcome.as_ref().is_err_and(|error| error.is::<Interrupted>()) {
            return Ok(());
        }
        let command = ours_as_typed(row);
        self.keep(round, row.id, OURS, &command, outcome)
    }

    /// Ours, done as a peer does it.
    fn visit_likewise(&mut self, round: u32, row: &'static Row, likewise: &Likewise) -> Result<()> {
        let outcome = match likewise.how {
            How::At(instead) => self.ours.figure(row, instead, self.stop),
            How::Gross => self.ours.figure(&Row { metric: "gross", ..*row }, &[], self.stop),
            How::Own(how) => {
                let setting = Setting { cpus: self.cpus, file: self.file.path(), stop: self.stop };
                likewise::figure(how, &setting)
            }
        };
        if outcome.as_ref().is_err_and(|error| error.is::<Interrupted>()) {
            return Ok(());
        }
        self.keep(round, row.id, &likewise::tool(likewise.peer), likewise.what, outcome)
    }

    fn visit_peer(
        &mut self,
        round: u32,
        peer: &dyn Peer,
        measure: &Measure,
        asked: &[&'static Row],
    ) -> Result<()> {
        let setting = Setting { cpus: self.cpus, file: self.file.path(), stop: self.stop };
        let output = match call::run(peer, measure, &setting) {
            Err(error) if error.is::<Interrupted>() => return Ok(()),
            output => output.map_err(|error| format!("{error:#}")),
        };
        for figure in measure.figures.iter().filter(|f| asked.iter().any(|row| row.id == f.row)) {
            let outcome = match &output {
                Ok(text) => call::read(figure, text),
                Err(reason) => Err(anyhow::Error::msg(reason.clone())),
            };
            self.keep(round, figure.row, peer.id(), measure.command, outcome)?;
        }
        Ok(())
    }

    fn keep(&mut self, round: u32, row: &str, tool: &str, command: &str, outcome: Result<f64>) -> Result<()> {
        let outcome = outcome.map_err(|error| format!("{error:#}"));
        if let Err(reason) = &outcome {
            eprintln!("round {} {row} {tool}: {reason}", round + 1);
        }
        let (row, tool, command) = (row.to_string(), tool.to_string(), command.to_string());
        self.recorder.add(&Visited { round, row, tool, command, outcome })
    }
}

/// Our side as a person would type it.
fn ours_as_typed(row: &Row) -> String {
    let flag = |id: &str| {
        let axes = syscost_measure::probe::find(row.probe).map(|probe| probe.axes()).unwrap_or_default();
        axes.iter().find(|axis| axis.id == id).map_or(id.to_string(), |axis| axis.flag.to_string())
    };
    let flags: Vec<String> = row.at.iter().map(|(id, value)| format!(" --{} {value}", flag(id))).collect();
    format!("syscost run {}{}", row.probe, flags.concat())
}
