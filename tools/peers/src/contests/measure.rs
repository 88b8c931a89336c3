//! The visits of a page of contests: which, in which order, until when.

use super::Asked as AskedContest;
use super::contest::{Contest, holds};
use super::visited::{Side, Visited};
use crate::cell::{Cell, Path};
use crate::external::{self, Call, Ending, Lane, fresh_ports};
use crate::machine;
use crate::namespace;
use crate::options::Options;
use crate::ours::{self, Asked, Visit};
use crate::place::{CONGESTION_CONTROL, Place};
use crate::process::Interrupted;
use crate::program::{Found, Program, filled, words};
use crate::record::{self, Record, Recorder, command_line};
use anyhow::{Context, Result, bail};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use syscost_core::stats::random::Random;
use syscost_core::units::format_duration;

/// A program that is here, in one cell of a contest.
struct Match<'a> {
    contest: &'static Contest,
    tool: &'a Tool,
    cell: Cell,
}

struct Tool {
    rival: &'static Program,
    found: Found,
}

/// What a visit takes beside its own seconds: starting, warming up, connecting, ending.
const BESIDE: Duration = Duration::from_millis(250);
const VISITS: u32 = 4;
const SECONDS: u32 = 1;
/// Times that every program is compared with ours in every cell.
const ROUNDS: u32 = 3;
/// Beyond a visit's own time.
const PATIENCE: Duration = Duration::from_secs(10);
/// More than netperf's ring takes of a file to send: the initial send buffer and a message.
const SENT_BYTES: usize = 16 << 20;
/// The fact that names our build.
const OURS: &str = "syscost";

pub fn run(options: &Options, contests: &[AskedContest], stop: &Arc<AtomicBool>) -> Result<()> {
    let started = Instant::now();
    // Before any thread exists: signal handling and namespaces start some.
    namespace::become_root()?;
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    let cpus = machine::two_cpus()?;
    let ours = ours::find()?;
    let mut facts = vec![(OURS.to_string(), ours.version.clone())];
    let tools = tools(contests, &mut facts);
    let matches = matches(options, contests, &tools);
    if matches.is_empty() {
        bail!("no program of these contests is here and has such a cell; --list says where to get them");
    }
    let places = places(&matches, cpus)?;
    facts.extend(machine_facts(cpus));
    let kept = kept(options, &mut facts)?;
    facts.push(("command".into(), command_line()));
    announce(options, matches.len());
    let file = syscost_sys::splice::memory_file(&vec![b's'; SENT_BYTES])?;
    let sent = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    let mut visits = Visits {
        visitor: Visitor { places: &places, sent, stop },
        rounds: options.rounds.unwrap_or(ROUNDS),
        deadline: started + options.time_limit,
        recorder: Recorder::create(&options.record, &facts, &kept)?,
        first: kept.iter().map(|visit| visit.round + 1).max().unwrap_or(0),
        random: Random::new(options.seed.wrapping_add(kept.len() as u64)),
    };
    visits.all(matches)
}

/// The programs that are here; what every one says of itself is a fact.
fn tools(contests: &[AskedContest], facts: &mut Vec<(String, String)>) -> Vec<Vec<Tool>> {
    let mut tools = Vec::new();
    for asked in contests {
        let mut here = Vec::new();
        for rival in asked.rivals.iter().copied() {
            let said = match rival.find() {
                Ok(found) => {
                    let version = found.version.clone();
                    here.push(Tool { rival, found });
                    version
                }
                Err(why) => format!("not compared: {why}"),
            };
            let fact = (rival.id.clone(), said);
            if !facts.contains(&fact) {
                facts.push(fact);
            }
        }
        tools.push(here);
    }
    tools
}

fn matches<'a>(options: &Options, contests: &[AskedContest], tools: &'a [Vec<Tool>]) -> Vec<Match<'a>> {
    let mut matches = Vec::new();
    for (asked, here) in contests.iter().zip(tools) {
        for cell in asked.contest.cells(options) {
            let able = here.iter().filter(|tool| tool.rival.applies(&cell));
            matches.extend(able.map(|tool| Match { contest: asked.contest, tool, cell }));
        }
    }
    matches
}

type Places = Vec<((Path, Option<u32>), Place)>;

fn places(matches: &[Match<'_>], cpus: (usize, usize)) -> Result<Places> {
    let mut places: Places = Vec::new();
    for key in matches.iter().map(Match::place) {
        if !places.iter().any(|(made, _)| *made == key) {
            places.push((key, Place::new(key.0, key.1, cpus)?));
        }
    }
    Ok(places)
}

fn machine_facts(cpus: (usize, usize)) -> Vec<(String, String)> {
    let mut facts: Vec<(String, String)> =
        machine::facts().into_iter().map(|(label, value)| (label.to_string(), value)).collect();
    facts.push(("sender CPU, receiver CPU".into(), format!("{}, {}", cpus.0, cpus.1)));
    facts.push(("congestion control, read back".into(), CONGESTION_CONTROL.into()));
    facts
}

/// What the record has so far. Its facts are told again, but for those that are still so.
fn kept(options: &Options, facts: &mut Vec<(String, String)>) -> Result<Vec<Visited>> {
    if !options.add || !options.record.exists() {
        return Ok(Vec::new());
    }
    let Record { facts: earlier, visits } = record::read(&options.record)?;
    let build = |facts: &[(String, String)]| facts.iter().find(|(label, _)| label == OURS).cloned();
    if build(&earlier) != build(facts) {
        let path = options.record.display();
        bail!("{path} was made with another build of syscost: leave out --add to replace it");
    }
    facts.extend(earlier.into_iter().filter(|fact| !facts.contains(fact)).collect::<Vec<_>>());
    Ok(visits)
}

fn announce(options: &Options, matches: usize) {
    let each = (Duration::from_secs(SECONDS.into()) + BESIDE) * VISITS;
    let all = each
        .saturating_mul(u32::try_from(matches).unwrap_or(u32::MAX))
        .saturating_mul(options.rounds.unwrap_or(ROUNDS));
    eprintln!(
        "{matches} cells of programs, {VISITS} visits each: {} a round, {} in all",
        format_duration(each * matches as u32),
        format_duration(all.min(options.time_limit))
    );
}

impl Match<'_> {
    fn place(&self) -> (Path, Option<u32>) {
        (self.cell.path, self.contest.mtu)
    }
}

struct Visitor<'a> {
    places: &'a Places,
    /// A file of netperf's to send, its pages in memory.
    sent: String,
    stop: &'a AtomicBool,
}

struct Visits<'a> {
    visitor: Visitor<'a>,
    rounds: u32,
    deadline: Instant,
    recorder: Recorder,
    /// The number of the first round.
    first: u32,
    random: Random,
}

impl Visits<'_> {
    fn all(&mut self, mut matches: Vec<Match<'_>>) -> Result<()> {
        let of = matches.len();
        for round in self.first..self.first.saturating_add(self.rounds) {
            self.random.shuffle(&mut matches);
            for (at, one) in matches.iter().enumerate() {
                if !self.quad(round, one)? {
                    return Ok(());
                }
                let (contest, tool, cell) = (&one.contest.id, &one.tool.rival.id, one.cell);
                eprintln!("round {} {}/{of} {contest}, {tool}: {cell}", round + 1, at + 1);
            }
        }
        Ok(())
    }

    /// One, the other, the other, one; false: the comparison is over.
    fn quad(&mut self, round: u32, one: &Match<'_>) -> Result<bool> {
        let each = Duration::from_secs(SECONDS.into()) + BESIDE;
        if Instant::now() + each * VISITS > self.deadline {
            return Ok(false);
        }
        let (first, second) = match self.random.below(2) {
            0 => (Side::Ours, Side::Theirs),
            _ => (Side::Theirs, Side::Ours),
        };
        for (turn, side) in [first, second, second, first].into_iter().enumerate() {
            if self.visitor.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let outcome = match self.visitor.visit(one, side) {
                Err(error) if error.is::<Interrupted>() => return Ok(false),
                outcome => outcome.map_err(|error| format!("{error:#}")),
            };
            if let Err(reason) = &outcome {
                eprintln!(
                    "round {} {} {} {}: {reason}",
                    round + 1,
                    one.contest.id,
                    one.cell,
                    one.tool.rival.id
                );
            }
            self.recorder.add(&Visited {
                contest: one.contest.id.clone(),
                path: one.cell.path,
                nodelay: one.cell.nodelay_text().into(),
                streams: one.cell.streams,
                message_bytes: one.cell.message_bytes,
                program: one.tool.rival.id.clone(),
                round,
                turn: turn as u32,
                side,
                value: outcome.as_ref().ok().copied(),
                unit: one.contest.unit().symbol().into(),
                failure: outcome.err().unwrap_or_default(),
            })?;
        }
        Ok(true)
    }
}

impl Visitor<'_> {
    fn visit(&self, one: &Match<'_>, side: Side) -> Result<f64> {
        let place =
            &self.places.iter().find(|(made, _)| *made == one.place()).expect("made for every cell").1;
        let visit = Visit { place, cell: &one.cell, seconds: SECONDS, stop: self.stop };
        let (rival, contest) = (one.tool.rival, one.contest);
        let mut at: Vec<(String, String)> = contest.at.clone().into_iter().collect();
        if contest.holds {
            at.push(("in_flight".into(), holds(one.cell.message_bytes).to_string()));
        }
        // A variant of ours differs from ours in what others are imitated by.
        let alike = rival.alike(&one.cell, &one.tool.found);
        match (side, &rival.client) {
            (Side::Theirs, Some(client)) => return self.transfer(one, client, &visit),
            (Side::Ours, Some(_)) | (Side::Theirs, None) => at.extend(alike),
            (Side::Ours, None) => {}
        }
        ours::figure(&Asked { probe: &contest.probe, metric: &contest.metric, at: &at }, &visit)
    }

    /// One fresh measurement by a program, over all its pairs of processes.
    fn transfer(&self, one: &Match<'_>, client: &str, visit: &Visit<'_>) -> Result<f64> {
        let (rival, contest, cell) = (one.tool.rival, one.contest, &one.cell);
        let server = rival.server.as_deref().context("a transfer has a server")?;
        let reading = rival.read.as_ref().context("a transfer has a figure")?;
        let mut lanes = Vec::new();
        for _ in 0..if rival.each_stream { cell.streams } else { 1 } {
            let port = fresh_ports();
            let flag = |on: bool| if on { "on".to_string() } else { String::new() };
            let values = [
                ("port", port.to_string()),
                ("port+1", (port + 1).to_string()),
                ("address", visit.place.receiver_address.to_string()),
                ("bytes", cell.message_bytes.to_string()),
                ("buffer", cell.message_bytes.max(4096).to_string()),
                ("streams", cell.streams.to_string()),
                ("seconds", SECONDS.to_string()),
                ("quantile", contest.quantile().to_string()),
                ("rate", contest.at.get("rate").cloned().unwrap_or_default()),
                ("sent", self.sent.clone()),
                ("nodelay", flag(cell.nodelay)),
                ("several", flag(cell.streams > 1)),
            ];
            let call = |line: &str| -> Result<Call> {
                let (program, arguments) = words(rival, &filled(line, &values))?;
                Ok(Call { program, arguments })
            };
            lanes.push(Lane { server: call(server)?, port, client: call(client)? });
        }
        let time = Duration::from_secs(SECONDS.into());
        let ending =
            Ending { client_after: rival.ended.then_some(time), server_reports: rival.server_reports };
        let outputs = external::run(visit.place, &lanes, ending, time + PATIENCE, visit.stop)?;
        let read = |output: &String| reading.figure(output, cell.message_bytes, contest.quantile());
        Ok(outputs.iter().map(read).sum::<Result<f64, _>>()?)
    }
}
