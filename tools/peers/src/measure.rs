//! Contests: a case of ours beside the programs that move data in the same way, or do the same operation.
//!
//! Every program is held against ours in every cell by visits of fresh processes in the order one, the other, the other,
//! one, so that a drift of the machine falls on both alike; the cells and programs of a round come in a seeded random
//! order. The pages are made from the record alone.

use crate::cell::{Cell, Path};
use crate::contest::{Contest, Page, holds};
use crate::external::{self, Lane, fresh_ports};
use crate::options::Options;
use crate::ours::{self, Visit};
use crate::place::{self, CONGESTION_CONTROL, Place};
use crate::process::{self, Interrupted, Seat};
use crate::program::{Measure, Program, filled, words};
use crate::props::{self, cache_by_page};
use crate::read::Reading;
use crate::record::{self, OURS, Recorder, Side, Visited, command_line};
use crate::{compare, page};
use anyhow::{Context, Result, anyhow, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use syscost_core::stats::random::Random;
use syscost_core::units::format_duration;
use syscost_host::scratch::{Scratch, ScratchFile};
use syscost_measure::probe::datagram_limit::search::{self, TriedRate};

/// What a visit takes beside its own seconds: starting, warming up, connecting, ending.
const BESIDE: Duration = Duration::from_millis(250);
const VISITS: u32 = 4;
const SECONDS: u32 = 1;
/// No visit takes nearly as long.
const LIMIT: Duration = Duration::from_secs(40);
/// A rate holds where no more is lost: as our own search has it.
const LOST: f64 = 0.001;

/// Everything that is asked of a page.
pub fn run(options: &Options, page: Page) -> Result<()> {
    let contests = asked(options, page);
    if options.list {
        print!("{}", list(&contests));
        return Ok(());
    }
    let stop = Arc::new(AtomicBool::new(false));
    if !options.output.rebuild {
        measure(options, &contests, &stop)?;
    }
    let record = record::read(&options.output.record)?;
    options.output.show(page.mark(), &page::markdown(page, &record, &compare::results(page, &record)))?;
    if stop.load(Ordering::Relaxed) {
        bail!(Interrupted);
    }
    Ok(())
}

/// A contest with the programs of it that were asked for.
type Asked = (&'static Contest, Vec<&'static Program>);

/// The page's contests that were asked for by id; all for none.
fn asked(options: &Options, page: Page) -> Vec<Asked> {
    let wanted = |asked: &[String], id: &String| asked.is_empty() || asked.contains(id);
    let contests = page.contests().filter(|contest| wanted(&options.contests, &contest.id));
    let rivals =
        |of: &'static Contest| of.rivals().filter(|rival| wanted(&options.only, &rival.id)).collect();
    contests.map(|contest| (contest, rivals(contest))).collect()
}

fn list(contests: &[Asked]) -> String {
    let here = |rival: &&Program| {
        let missing = |why| format!("not here: {why}; get it from {}", rival.source);
        format!("  {:26} {}\n", rival.id, rival.find().unwrap_or_else(missing))
    };
    let of =
        |(contest, rivals): &Asked| contest.id.clone() + "\n" + &rivals.iter().map(here).collect::<String>();
    contests.iter().map(of).collect()
}

/// A program that is here, in one cell of a contest.
struct Match {
    contest: &'static Contest,
    rival: &'static Program,
    version: String,
    cell: Cell,
}

fn measure(options: &Options, contests: &[Asked], stop: &Arc<AtomicBool>) -> Result<()> {
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
    let a_round: Duration = matches.iter().map(Match::quad_time).sum();
    let (a_round, all) = (a_round, a_round.saturating_mul(options.rounds).min(options.time_limit));
    let [a_round, all] = [a_round, all].map(format_duration);
    eprintln!("{} cells of programs, {VISITS} visits each: {a_round} a round, {all} in all", matches.len());
    let directory = options.dir.to_string_lossy().into_owned();
    // Without a name: nothing can be left behind. Programs open it by its descriptor.
    let file = ScratchFile { directory: directory.clone(), bytes: props::BYTES, number: 0 };
    let mut scratch = Scratch::default();
    let file = scratch.paths(&[file]).map_err(|why| anyhow!(why.reason))?.swap_remove(0);
    let visitor = Visitor { cpus, directory, file, stop };
    let mut recorder = Recorder::create(&options.output.record, &facts)?;
    let mut random = Random::new(1);
    let deadline = started + options.time_limit;
    for round in 0..options.rounds {
        random.shuffle(&mut matches);
        for (at, one) in matches.iter().enumerate() {
            if Instant::now() + one.quad_time() > deadline
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
fn matches(options: &Options, contests: &[Asked], facts: &mut Vec<(String, String)>) -> Vec<Match> {
    let mut matches = Vec::new();
    for (contest, rivals) in contests {
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

impl Match {
    fn quad_time(&self) -> Duration {
        (Duration::from_secs(SECONDS.into()) + BESIDE) * VISITS * self.contest.steps()
    }
}

impl std::fmt::Display for Match {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, {}: {}", self.contest.id, self.rival.id, self.cell)
    }
}

struct Visitor<'a> {
    cpus: (usize, usize),
    /// Where operations make their files, and one that programs read and send.
    directory: String,
    file: String,
    stop: &'a AtomicBool,
}

impl Visitor<'_> {
    /// One, the other, the other, one; false: the comparison is over.
    fn quad(&self, round: u32, one: &Match, ours_first: bool, recorder: &mut Recorder) -> Result<bool> {
        let (first, second) =
            if ours_first { (Side::Ours, Side::Theirs) } else { (Side::Theirs, Side::Ours) };
        let (path, mtu) = (one.cell.path, one.contest.mtu);
        let place = (path != Path::Here).then(|| Place::new(path, mtu, self.cpus)).transpose()?;
        for (turn, side) in [first, second, second, first].into_iter().enumerate() {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let outcome = match self.visit(one, side, place.as_ref()) {
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
                side,
                value: outcome.as_ref().ok().copied(),
                unit: one.contest.measured()?.unit.symbol().into(),
                failure: outcome.err().unwrap_or_default(),
            })?;
        }
        Ok(true)
    }

    fn visit(&self, one: &Match, side: Side, place: Option<&Place>) -> Result<f64> {
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

    /// One fresh measurement by a program, or a search of several.
    fn theirs(&self, one: &Match, place: Option<&Place>) -> Result<f64> {
        let (rival, contest) = (one.rival, one.contest);
        let measured = rival.measures(&contest.id).and_then(|measure| measure.figures.get(&contest.id));
        let reading = measured.or(rival.read.as_ref()).context("a program has a figure")?;
        let read = |reading: &Reading, outputs: &[String]| -> Result<f64> {
            let figure = |output| reading.figure(output, one.cell.message_bytes, contest.quantile());
            outputs.iter().map(|output| figure(output)).sum()
        };
        let Some((sent, arrived)) = rival.sent.as_ref().zip(rival.arrived.as_ref()) else {
            return read(reading, &self.outputs(one, place, 0.0)?);
        };
        let highest = search::highest(|rate| {
            let outputs = self.outputs(one, place, rate)?;
            let holds = read(arrived, &outputs)? >= read(sent, &outputs)? * (1.0 - LOST);
            Ok(TriedRate { achieved: read(reading, &outputs)?, holds })
        })?;
        Ok(highest.context("too much is lost at any rate")?.rate)
    }

    /// What the program prints, over all its pairs of processes; it is asked for so many messages a second where it takes a rate.
    fn outputs(&self, one: &Match, place: Option<&Place>, rate: f64) -> Result<Vec<String>> {
        let (rival, contest, cell) = (one.rival, one.contest, &one.cell);
        let measure = rival.measures(&contest.id);
        if measure.is_some_and(|measure| measure.of_cached_file) {
            cache_by_page(&self.file)?;
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
                ("rate", format!("{rate:.0}")),
                ("bit_rate", format!("{:.0}", 8.0 * rate * cell.message_bytes as f64)),
                ("quantile", contest.quantile().to_string()),
                ("file", self.file.clone()),
                ("nodelay", flag(cell.nodelay)),
                ("several", flag(cell.streams > 1)),
            ];
            let call = |line: String, seat: &Seat<'_>| -> Result<Command> {
                let (program, arguments) = words(&filled(&line, &values))?;
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
        external::run(lanes, rival.server_reports, LIMIT, self.stop)
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
