//! `peers ways`: each way to send, to receive and to wait beside the programs that use the same one.
//!
//! Each round visits every cell of every contest once in a seeded random order and, in each cell,
//! ours and every program once in a random order. docs/ways-vs-peers.md is made from the record alone.

mod compare;
mod contest;
mod options;
mod page;
mod record;
mod rival;

use crate::cell::{Cell, Path};
use crate::machine;
use crate::namespace;
use crate::ours::{self, Asked};
use crate::output;
use crate::peer::{Found, Peer, Visit};
use crate::place::{CONGESTION_CONTROL, Place};
use crate::process::Interrupted;
use crate::session::{Usage, command_line};
use anyhow::Result;
use contest::Contest;
pub use options::Options;
use record::{OURS, Record, Recorder, Visited};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use syscost_core::axis::suggest;
use syscost_core::stats::random::Random;
use syscost_core::units::format_duration;

pub fn run(options: &Options) -> Result<()> {
    let contests = asked(&options.contests)?;
    if options.list {
        print!("{}", list(&contests));
        return Ok(());
    }
    let stop = Arc::new(AtomicBool::new(false));
    if !options.rebuild {
        measure(options, &contests, &stop)?;
    }
    let record = record::read(&options.record)?;
    let rows = compare::rows(&record);
    if let Some(file) = &options.page {
        output::splice(file, &page::markdown(&record, &rows))?;
    }
    print!("{}", page::terminal(&record, &rows));
    if stop.load(Ordering::Relaxed) {
        anyhow::bail!(Interrupted);
    }
    Ok(())
}

/// The contests asked for by id; all for none.
fn asked(ids: &[String]) -> Result<Vec<&'static Contest>> {
    let names: Vec<&str> = contest::ALL.iter().map(|contest| contest.id).collect();
    if let Some(id) = ids.iter().find(|id| !names.contains(&id.as_str())) {
        return Err(Usage(format!("no contest {id:?}: {}", suggest(id, &names, &[]))).into());
    }
    let wanted = |contest: &&Contest| ids.is_empty() || ids.iter().any(|id| id == contest.id);
    Ok(contest::ALL.iter().filter(wanted).collect())
}

fn list(contests: &[&Contest]) -> String {
    let mut text = String::new();
    for contest in contests {
        text += &format!("{}\n", contest.id);
        for rival in contest.rivals {
            let here = match rival.find() {
                Ok(found) => found.version,
                Err(why) => format!("not here: {why}; get it from {}", rival.source()),
            };
            text += &format!("  {:26} {here}\n", rival.id());
        }
    }
    text
}

/// A program that is here.
struct Tool {
    rival: &'static dyn Peer,
    found: Found,
}

/// A contest with the programs of it that are here.
struct Ring {
    contest: &'static Contest,
    tools: Vec<Tool>,
}

type Places = Vec<((Path, Option<u32>), Place)>;

fn measure(options: &Options, contests: &[&'static Contest], stop: &Arc<AtomicBool>) -> Result<()> {
    let started = Instant::now();
    // Before any thread exists: signal handling and namespaces start some.
    namespace::become_root()?;
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    let cpus = options.cpus.map_or_else(machine::two_cpus, Ok)?;
    let ours = ours::find().map_err(anyhow::Error::msg)?;
    let mut facts = vec![(OURS.to_string(), ours.version.clone())];
    let rings = rings(contests, &mut facts);
    let places = places(&rings, &options.paths, cpus)?;
    facts.extend(machine_facts(cpus));
    let kept = kept(options, &rings, &mut facts)?;
    facts.push(("command".into(), command_line()));
    let mut visits = Visits {
        options,
        rings: &rings,
        places: &places,
        ours,
        stop,
        deadline: started + options.time_limit,
        recorder: Recorder::create(&options.record, &facts, &kept)?,
    };
    visits.all()
}

fn rings(contests: &[&'static Contest], facts: &mut Vec<(String, String)>) -> Vec<Ring> {
    let mut rings = Vec::new();
    for contest in contests {
        let mut tools = Vec::new();
        for rival in contest.rivals.iter().copied() {
            let said = match rival.find() {
                Ok(found) => {
                    let version = found.version.clone();
                    tools.push(Tool { rival, found });
                    version
                }
                Err(why) => format!("not compared: {why}"),
            };
            facts.push((rival.id().to_string(), said));
        }
        rings.push(Ring { contest, tools });
    }
    rings
}

fn places(rings: &[Ring], paths: &[Path], cpus: (usize, usize)) -> Result<Places> {
    let mut places: Places = Vec::new();
    for ring in rings {
        for cell in ring.contest.cells(paths, &[u64::MAX]) {
            let key = (cell.path, ring.contest.mtu);
            if !places.iter().any(|(made, _)| *made == key) {
                places.push((key, Place::with_mtu(cell.path, ring.contest.mtu, cpus)?));
            }
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

/// What an earlier record has of contests that are not measured now, and the facts that go with it.
fn kept(options: &Options, rings: &[Ring], facts: &mut Vec<(String, String)>) -> Result<Vec<Visited>> {
    if !options.add || !options.record.exists() {
        return Ok(Vec::new());
    }
    let Record { facts: earlier, mut visits } = record::read(&options.record)?;
    visits.retain(|visit| !rings.iter().any(|ring| ring.contest.id == visit.contest));
    for fact in earlier {
        if !facts.contains(&fact) {
            facts.push(fact);
        }
    }
    Ok(visits)
}

struct Visits<'a> {
    options: &'a Options,
    rings: &'a [Ring],
    places: &'a Places,
    ours: Found,
    stop: &'a AtomicBool,
    deadline: Instant,
    recorder: Recorder,
}

impl Visits<'_> {
    fn all(&mut self) -> Result<()> {
        let mut cells: Vec<(usize, Cell)> = Vec::new();
        for (index, ring) in self.rings.iter().enumerate() {
            let of_contest = ring.contest.cells(&self.options.paths, &self.options.sizes);
            cells.extend(of_contest.into_iter().map(|cell| (index, cell)));
        }
        self.announce(&cells);
        let mut random = Random::new(self.options.seed);
        for round in 0..self.options.rounds {
            let mut order = cells.clone();
            random.shuffle(&mut order);
            for (position, (ring, cell)) in order.iter().enumerate() {
                if !self.cell(round, &self.rings[*ring], cell, &mut random)? {
                    return Ok(());
                }
                let (contest, of) = (self.rings[*ring].contest.id, cells.len());
                eprintln!("round {} cell {}/{of} {contest}: {cell}", round + 1, position + 1);
            }
        }
        Ok(())
    }

    fn announce(&self, cells: &[(usize, Cell)]) {
        let visits: usize = cells
            .iter()
            .map(|(ring, cell)| {
                1 + self.rings[*ring].tools.iter().filter(|t| t.rival.not_applicable(cell).is_none()).count()
            })
            .sum();
        // What a visit takes beside its own seconds: starting, warming up, connecting, ending.
        let each = Duration::from_millis(u64::from(self.options.seconds) * 1000 + 250);
        eprintln!(
            "{} cells, {visits} visits a round, {} rounds: about {}, at most {}",
            cells.len(),
            self.options.rounds,
            format_duration(each * visits as u32 * self.options.rounds),
            format_duration(self.options.time_limit)
        );
    }

    /// Ours (`None`) and every program once, in random order; false: the comparison is over.
    fn cell(&mut self, round: u32, ring: &Ring, cell: &Cell, random: &mut Random) -> Result<bool> {
        let mut order: Vec<Option<&Tool>> = vec![None];
        order.extend(ring.tools.iter().filter(|tool| tool.rival.not_applicable(cell).is_none()).map(Some));
        random.shuffle(&mut order);
        for tool in order {
            let length = Duration::from_secs(self.options.seconds.into());
            if self.stop.load(Ordering::Relaxed) || Instant::now() + length > self.deadline {
                return Ok(false);
            }
            let outcome = match self.visit(ring.contest, cell, tool) {
                Err(error) if error.is::<Interrupted>() => return Ok(false),
                outcome => outcome.map_err(|error| format!("{error:#}")),
            };
            let name = tool.map_or(OURS, |tool| tool.rival.id());
            if let Err(reason) = &outcome {
                eprintln!("round {} {} {cell} {name}: {reason}", round + 1, ring.contest.id);
            }
            self.recorder.add(&Visited {
                contest: ring.contest.id.into(),
                cell: *cell,
                round,
                tool: name.into(),
                outcome,
                unit: ring.contest.measure.unit().symbol().into(),
            })?;
        }
        Ok(true)
    }

    fn visit(&self, contest: &Contest, cell: &Cell, tool: Option<&Tool>) -> Result<f64> {
        let key = (cell.path, contest.mtu);
        let place = &self.places.iter().find(|(made, _)| *made == key).expect("made for every cell").1;
        let found = tool.map_or(&self.ours, |tool| &tool.found);
        let visit = Visit { place, cell, seconds: self.options.seconds, found, stop: self.stop };
        match tool {
            Some(tool) => tool.rival.round(&visit),
            None => {
                let mut at: Vec<(&str, String)> =
                    contest.at.iter().map(|(id, value)| (*id, value.to_string())).collect();
                if contest.holds {
                    at.push(("in_flight", contest::in_flight(cell.message_bytes).to_string()));
                }
                ours::figure(&Asked { probe: contest.probe, metric: contest.metric, at: &at }, &visit)
            }
        }
    }
}
