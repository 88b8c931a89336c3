//! The visits of a page of contests: which, in which order, until when.

use super::Asked as AskedContest;
use super::contest::{Contest, holds};
use super::observed;
use super::options::Options;
use super::record::{self, Record, Recorder, Side, Visited};
use crate::cell::{Cell, Path};
use crate::machine;
use crate::namespace;
use crate::ours::{self, Asked};
use crate::peer::{Found, Peer, Visit};
use crate::place::{CONGESTION_CONTROL, Place};
use crate::process::Interrupted;
use crate::usage::command_line;
use anyhow::{Result, bail};
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
    rival: &'static dyn Peer,
    found: Found,
}

/// What a visit takes beside its own seconds: starting, warming up, connecting, ending.
const BESIDE: Duration = Duration::from_millis(250);
const VISITS: u32 = 4;
/// The fact that names our build.
const OURS: &str = "syscost";

pub fn run(options: &Options, contests: &[AskedContest], stop: &Arc<AtomicBool>) -> Result<()> {
    let started = Instant::now();
    // Before any thread exists: signal handling and namespaces start some.
    namespace::become_root()?;
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    let cpus = options.cpus.map_or_else(machine::two_cpus, Ok)?;
    let ours = ours::find().map_err(anyhow::Error::msg)?;
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
    let visitor = Visitor { options, places: &places, ours, stop };
    if !options.quick {
        facts.extend(visitor.buffers(&matches));
    }
    let mut visits = Visits {
        visitor,
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
            let fact = (rival.id().to_string(), said);
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
            let able = here.iter().filter(|tool| tool.rival.not_applicable(&cell).is_none());
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
    let each = (Duration::from_secs(options.seconds.into()) + BESIDE) * VISITS;
    let all = each.saturating_mul(u32::try_from(matches).unwrap_or(u32::MAX)).saturating_mul(options.rounds);
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
    options: &'a Options,
    places: &'a Places,
    ours: Found,
    stop: &'a AtomicBool,
}

struct Visits<'a> {
    visitor: Visitor<'a>,
    deadline: Instant,
    recorder: Recorder,
    /// The number of the first round.
    first: u32,
    random: Random,
}

impl Visits<'_> {
    fn all(&mut self, mut matches: Vec<Match<'_>>) -> Result<()> {
        let of = matches.len();
        for round in self.first..self.first.saturating_add(self.visitor.options.rounds) {
            self.random.shuffle(&mut matches);
            for (at, one) in matches.iter().enumerate() {
                if !self.quad(round, one)? {
                    return Ok(());
                }
                let (contest, tool, cell) = (one.contest.id, one.tool.rival.id(), one.cell);
                eprintln!("round {} {}/{of} {contest}, {tool}: {cell}", round + 1, at + 1);
            }
        }
        Ok(())
    }

    /// One, the other, the other, one; false: the comparison is over.
    fn quad(&mut self, round: u32, one: &Match<'_>) -> Result<bool> {
        let each = Duration::from_secs(self.visitor.options.seconds.into()) + BESIDE;
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
                    one.tool.rival.id()
                );
            }
            self.recorder.add(&Visited {
                contest: one.contest.id.into(),
                cell: one.cell,
                program: one.tool.rival.id().into(),
                round,
                turn: turn as u32,
                side,
                outcome,
                unit: one.contest.measure.unit().symbol().into(),
            })?;
        }
        Ok(true)
    }
}

impl Visitor<'_> {
    /// The buffers that both sides have in one cell of each program, as the kernel reports them.
    fn buffers(&self, matches: &[Match<'_>]) -> Vec<(String, String)> {
        let mut seen: Vec<(String, String)> = Vec::new();
        for one in matches {
            let label = format!("buffers beside {}, {}", one.tool.rival.id(), one.contest.id);
            if seen.iter().any(|(known, _)| *known == label) || self.stop.load(Ordering::Relaxed) {
                continue;
            }
            let of = |side| observed::shown(observed::during(self.place(one), || self.visit(one, side)).1);
            let both = format!("{}: syscost {}; it {}", one.cell, of(Side::Ours), of(Side::Theirs));
            seen.push((label, both));
        }
        seen
    }

    fn place(&self, one: &Match<'_>) -> &Place {
        &self.places.iter().find(|(made, _)| *made == one.place()).expect("made for every cell").1
    }

    fn visit(&self, one: &Match<'_>, side: Side) -> Result<f64> {
        let place =
            &self.places.iter().find(|(made, _)| *made == one.place()).expect("made for every cell").1;
        let found = if side == Side::Ours { &self.ours } else { &one.tool.found };
        let visit = Visit { place, cell: &one.cell, seconds: self.options.seconds, found, stop: self.stop };
        if side == Side::Theirs {
            return one.tool.rival.round(&visit);
        }
        let mut at = one.tool.rival.alike(&one.cell, &one.tool.found);
        at.extend(one.contest.at.iter().map(|(id, value)| (*id, value.to_string())));
        if one.contest.holds {
            at.push(("in_flight", holds(one.cell.message_bytes).to_string()));
        }
        ours::figure(&Asked { probe: one.contest.probe, metric: one.contest.metric, at: &at }, &visit)
    }
}
