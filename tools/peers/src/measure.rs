//! Contests: a case of ours beside the programs that move data in the same way, or do the same operation.
//!
//! Every program is held against ours in every cell by visits of fresh processes in the order one, the other, the other,
//! one, so that a drift of the machine falls on both alike; the cells and programs of a round come in a seeded random
//! order. The pages are made from the record alone.

use crate::cell::{Cell, Path};
use crate::contest::{Contest, Page, holds};
use crate::external::{self, Ending, Lane, fresh_ports};
use crate::options::{Options, Usage};
use crate::ours::{self, Visit};
use crate::place::{self, CONGESTION_CONTROL, Place};
use crate::process::{self, Interrupted, Seat};
use crate::program::{Measure, Program, filled, words};
use crate::props::{self, cache_by_page};
use crate::record::{self, OURS, Recorder, Side, Visited, command_line};
use crate::{compare, page};
use anyhow::{Context, Result, anyhow, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use syscost_core::axis::suggest;
use syscost_core::stats::random::Random;
use syscost_core::units::format_duration;
use syscost_host::scratch::{Scratch, ScratchFile};

/// What a visit takes beside its own seconds: starting, warming up, connecting, ending.
const BESIDE: Duration = Duration::from_millis(250);
const VISITS: u32 = 4;
const SECONDS: u32 = 1;
/// No visit takes nearly as long.
const LIMIT: Duration = Duration::from_secs(40);
/// More than netperf's ring takes of a file to send: the initial send buffer and a message.
const SENT_BYTES: usize = 16 << 20;

/// Everything that is asked of a page.
pub fn run(options: &Options, page: Page) -> Result<()> {
    let contests = asked(options, page)?;
    if options.list {
        print!("{}", list(&contests));
        return Ok(());
    }
    let stop = Arc::new(AtomicBool::new(false));
    if !options.rebuild {
        measure(options, &contests, &stop)?;
    }
    let record = record::read(&options.record)?;
    let text = page::markdown(page, &record, &compare::results(page, &record));
    match &options.page {
        Some(file) => record::splice(file, page.mark(), &text)?,
        None => print!("{text}"),
    }
    if stop.load(Ordering::Relaxed) {
        bail!(Interrupted);
    }
    Ok(())
}

/// A contest with the programs of it that were asked for.
struct AskedContest {
    contest: &'static Contest,
    rivals: Vec<&'static Program>,
}

/// The page's contests that were asked for by id; all for none.
fn asked(options: &Options, page: Page) -> Result<Vec<AskedContest>> {
    known("contest", &options.contests, page.contests().map(|contest| contest.id.as_str()).collect())?;
    let rivals = page.contests().flat_map(|contest| contest.rivals());
    known("program", &options.only, rivals.map(|rival| rival.id.as_str()).collect())?;
    let wanted = |asked: &[String], id: &String| asked.is_empty() || asked.contains(id);
    let of = |contest: &'static Contest| AskedContest {
        contest,
        rivals: contest.rivals().filter(|rival| wanted(&options.only, &rival.id)).collect(),
    };
    Ok(page.contests().filter(|contest| wanted(&options.contests, &contest.id)).map(of).collect())
}

fn known(kind: &str, asked: &[String], names: Vec<&str>) -> Result<()> {
    match asked.iter().find(|name| !names.contains(&name.as_str())) {
        Some(name) => Err(Usage(format!("no {kind} {name:?}: {}", suggest(name, &names, &[]))).into()),
        None => Ok(()),
    }
}

fn list(contests: &[AskedContest]) -> String {
    let here = |rival: &&Program| {
        let missing = |why| format!("not here: {why}; get it from {}", rival.source);
        let here = rival.find().unwrap_or_else(missing);
        format!("  {:26} {here}\n", rival.id)
    };
    let of = |asked: &AskedContest| {
        format!("{}\n{}", asked.contest.id, asked.rivals.iter().map(here).collect::<String>())
    };
    contests.iter().map(of).collect()
}

/// A program that is here, in one cell of a contest.
struct Match {
    contest: &'static Contest,
    rival: &'static Program,
    version: String,
    cell: Cell,
}

fn measure(options: &Options, contests: &[AskedContest], stop: &Arc<AtomicBool>) -> Result<()> {
    let started = Instant::now();
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    let mut facts = vec![(OURS.to_string(), ours::find()?)];
    let mut matches = matches(options, contests, &mut facts);
    if matches.is_empty() {
        bail!("no program of these contests is here and has such a cell; --list says where to get them");
    }
    let cpus = place::two_cpus()?;
    facts.extend(place::machine());
    facts.push(("sender CPU, receiver CPU".into(), format!("{}, {}", cpus.0, cpus.1)));
    facts.push(("congestion control of the routes, read back".into(), CONGESTION_CONTROL.into()));
    facts.push(("command".into(), command_line()));
    announce(options, matches.len());
    let operations = matches.iter().any(|one| one.cell.path == Path::Here);
    let sent = syscost_sys::splice::memory_file(&vec![b's'; SENT_BYTES])?;
    let directory = options.dir.to_string_lossy().into_owned();
    // Without a name: nothing can be left behind. Programs open it by its descriptor.
    let file = ScratchFile { directory: directory.clone(), bytes: props::BYTES, number: 0 };
    let mut scratch = Scratch::default();
    let read = operations.then(|| scratch.paths(&[file])).transpose().map_err(|why| anyhow!(why.reason))?;
    let visitor = Visitor {
        places: places(&matches, cpus)?,
        cpus,
        sent: format!("/proc/{}/fd/{}", std::process::id(), sent.as_raw_fd()),
        directory,
        read: read.into_iter().flatten().next().unwrap_or_default(),
        stop,
    };
    let mut recorder = Recorder::create(&options.record, &facts)?;
    let mut random = Random::new(1);
    let deadline = started + options.time_limit;
    for round in 0..options.rounds {
        random.shuffle(&mut matches);
        for (at, one) in matches.iter().enumerate() {
            if Instant::now() + quad_time() > deadline
                || !visitor.quad(round, one, random.below(2) == 0, &mut recorder)?
            {
                return Ok(());
            }
            eprintln!("round {} {}/{} {one}", round + 1, at + 1, matches.len());
        }
    }
    Ok(())
}

/// Every cell of every program that is here; what each program says of itself is a fact.
fn matches(options: &Options, contests: &[AskedContest], facts: &mut Vec<(String, String)>) -> Vec<Match> {
    let mut matches = Vec::new();
    for AskedContest { contest, rivals } in contests {
        for rival in rivals.iter().copied() {
            let found = rival.find();
            let said = found.clone().unwrap_or_else(|why| format!("not compared: {why}"));
            let fact = (rival.id.clone(), said);
            if !facts.contains(&fact) {
                facts.push(fact);
            }
            let Ok(version) = found else { continue };
            let cells = contest.cells(options).into_iter().filter(|cell| rival.applies(cell));
            matches.extend(cells.map(|cell| Match { contest, rival, version: version.clone(), cell }));
        }
    }
    matches
}

type Places = Vec<((Path, Option<u32>), Place)>;

fn places(matches: &[Match], cpus: (usize, usize)) -> Result<Places> {
    let mut places: Places = Vec::new();
    for key in matches.iter().map(Match::place).filter(|(path, _)| *path != Path::Here) {
        if !places.iter().any(|(made, _)| *made == key) {
            places.push((key, Place::new(key.0, key.1, cpus)?));
        }
    }
    Ok(places)
}

fn quad_time() -> Duration {
    (Duration::from_secs(SECONDS.into()) + BESIDE) * VISITS
}

fn announce(options: &Options, matches: usize) {
    let a_round = quad_time().saturating_mul(u32::try_from(matches).unwrap_or(u32::MAX));
    eprintln!(
        "{matches} cells of programs, {VISITS} visits each: {} a round, {} in all",
        format_duration(a_round),
        format_duration(a_round.saturating_mul(options.rounds).min(options.time_limit))
    );
}

impl Match {
    fn place(&self) -> (Path, Option<u32>) {
        (self.cell.path, self.contest.mtu)
    }
}

impl std::fmt::Display for Match {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {}: {}", self.contest.id, self.rival.id, self.cell)
    }
}

struct Visitor<'a> {
    places: Places,
    cpus: (usize, usize),
    /// A file of netperf's to send, its pages in memory.
    sent: String,
    /// Where operations make their files, and one that they read.
    directory: String,
    read: String,
    stop: &'a AtomicBool,
}

impl Visitor<'_> {
    /// One, the other, the other, one; false: the comparison is over.
    fn quad(&self, round: u32, one: &Match, ours_first: bool, recorder: &mut Recorder) -> Result<bool> {
        let (first, second) =
            if ours_first { (Side::Ours, Side::Theirs) } else { (Side::Theirs, Side::Ours) };
        for (turn, side) in [first, second, second, first].into_iter().enumerate() {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let outcome = match self.visit(one, side) {
                Err(error) if error.is::<Interrupted>() => return Ok(false),
                outcome => outcome.map_err(|error| format!("{error:#}")),
            };
            if let Err(reason) = &outcome {
                eprintln!("round {} {one}: {reason}", round + 1);
            }
            recorder.add(&Visited {
                contest: one.contest.id.clone(),
                path: one.cell.path,
                nodelay: one.cell.nodelay_text().into(),
                streams: one.cell.streams,
                message_bytes: one.cell.message_bytes,
                program: one.rival.id.clone(),
                round,
                turn: turn as u32,
                side: Some(side),
                value: outcome.as_ref().ok().copied(),
                unit: one.contest.measured()?.unit.symbol().into(),
                failure: outcome.err().unwrap_or_default(),
            })?;
        }
        Ok(true)
    }

    fn visit(&self, one: &Match, side: Side) -> Result<f64> {
        let place = self.places.iter().find(|(made, _)| *made == one.place()).map(|(_, place)| place);
        let (rival, contest) = (one.rival, one.contest);
        let mut at: Vec<(String, String)> = contest.at.clone().into_iter().collect();
        if contest.holds {
            at.push(("in_flight".into(), holds(one.cell.message_bytes).to_string()));
        }
        // A variant of ours differs from ours in what others are imitated by.
        let variant = rival.client.is_none() && rival.measure.is_empty();
        match (side, variant) {
            (Side::Theirs, false) => return self.theirs(one, place),
            (Side::Ours, false) | (Side::Theirs, true) => at.extend(rival.alike(&one.cell, &one.version)),
            (Side::Ours, true) => {}
        }
        let visit =
            Visit { place, cell: &one.cell, seconds: SECONDS, directory: &self.directory, stop: self.stop };
        ours::figure(contest, &at, &visit)
    }

    /// One fresh measurement by a program, over all its pairs of processes.
    fn theirs(&self, one: &Match, place: Option<&Place>) -> Result<f64> {
        let (rival, contest, cell) = (one.rival, one.contest, &one.cell);
        let measure = rival.measures(&contest.id);
        let file = self.read.as_str();
        if measure.is_some_and(|measure| measure.of_cached_file) {
            cache_by_page(file)?;
        }
        let flag = |on: bool| if on { "on".to_string() } else { String::new() };
        let address = place.map_or(String::new(), |place| place.receiver_address().to_string());
        let mut lanes = Vec::new();
        for _ in 0..if rival.each_stream { cell.streams } else { 1 } {
            let port = fresh_ports();
            let values = [
                ("port", port.to_string()),
                ("port+1", (port + 1).to_string()),
                ("address", address.clone()),
                ("bytes", cell.message_bytes.to_string()),
                ("buffer", cell.message_bytes.max(4096).to_string()),
                ("streams", cell.streams.to_string()),
                ("seconds", SECONDS.to_string()),
                ("quantile", contest.quantile().to_string()),
                ("sent", self.sent.clone()),
                ("file", file.to_string()),
                ("nodelay", flag(cell.nodelay)),
                ("several", flag(cell.streams > 1)),
            ];
            let call = |line: &str, seat: &Seat<'_>| -> Result<Command> {
                let (program, arguments) = words(&filled(line, &values))?;
                let mut command = process::command(program, seat);
                command.args(arguments).envs(&rival.environment);
                command.envs(measure.iter().flat_map(|measure| &measure.environment));
                Ok(command)
            };
            let (client, server) = rival.lines(measure)?;
            let [client_seat, server_seat] = self.seats(place, measure);
            let server = server.map(|line| call(line, &server_seat)).transpose()?;
            lanes.push(Lane { server, port, client: call(client, &client_seat)? });
        }
        let time = Duration::from_secs(SECONDS.into());
        let ending =
            Ending { client_after: rival.ended.then_some(time), server_reports: rival.server_reports };
        let outputs = external::run(lanes, ending, LIMIT, self.stop)?;
        let reading = measure.and_then(|measure| measure.figures.get(&contest.id)).or(rival.read.as_ref());
        let reading = reading.context("a program has a figure")?;
        let read = |output: &String| reading.figure(output, cell.message_bytes, contest.quantile());
        Ok(outputs.iter().map(read).sum::<Result<f64, _>>()?)
    }

    /// Of the client, of the server. An operation without a server may ask for both CPUs.
    fn seats<'a>(&'a self, place: Option<&'a Place>, measure: Option<&Measure>) -> [Seat<'a>; 2] {
        if let Some(place) = place {
            return [place.sender(), place.receiver()];
        }
        let (first, second) = self.cpus;
        let both = measure.is_some_and(|measure| measure.two_cpus && measure.server.is_none());
        let client = if both { vec![first, second] } else { vec![first] };
        [client, vec![second]].map(|cpus| Seat { side: None, cpus })
    }
}
