//! One comparison from its options to its files: which tools, in which order, until when.

use crate::cell::{self, Cell, Path};
use crate::compare;
use crate::machine;
use crate::namespace;
use crate::options::Options;
use crate::output::{self, Page};
use crate::peer::{self, Found, Peer, Visit};
use crate::place::{CONGESTION_CONTROL, Place};
use crate::process::Interrupted;
use crate::record::{Recorder, Visited};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use syscost_core::axis::suggest;
use syscost_core::stats::random::Random;
use syscost_core::units::{Unit, format_duration};

/// Something that was asked for and does not exist.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// A tool that is here.
pub struct Tool {
    pub peer: &'static dyn Peer,
    pub found: Found,
}

/// The subject first, then the peers in table order.
pub struct Tools {
    pub here: Vec<Tool>,
    pub absent: Vec<(&'static str, String)>,
}

impl Tools {
    pub fn find(options: &Options) -> Result<Tools> {
        let names: Vec<&str> = peer::ALL.iter().map(|peer| peer.id()).collect();
        let subject = options.subject.as_deref().unwrap_or(names[0]);
        for name in options.only.iter().map(String::as_str).chain([subject]) {
            if !names.contains(&name) {
                return Err(Usage(format!("no peer {name:?}: {}", suggest(name, &names, &[]))).into());
            }
        }
        let mut tools = Tools { here: Vec::new(), absent: Vec::new() };
        for peer in peer::ALL.iter().copied() {
            let asked = options.only.is_empty() || options.only.iter().any(|name| name == peer.id());
            if !asked && peer.id() != subject {
                continue;
            }
            match peer.find() {
                Ok(found) => tools.here.push(Tool { peer, found }),
                Err(reason) => tools.absent.push((peer.id(), reason)),
            }
        }
        let position = tools.here.iter().position(|tool| tool.peer.id() == subject);
        let position = position.ok_or_else(|| Usage(format!("the subject {subject} is not here")))?;
        tools.here[..=position].rotate_right(1);
        Ok(tools)
    }

    fn subject(&self) -> &'static str {
        self.here[0].peer.id()
    }

    pub fn list(&self) -> String {
        let mut text = String::new();
        for tool in &self.here {
            let programs: Vec<String> =
                tool.found.programs.iter().map(|program| program.display().to_string()).collect();
            text += &format!("{:14} {}  {}\n", tool.peer.id(), tool.found.version, programs.join(" "));
        }
        for (id, reason) in &self.absent {
            let source = peer::ALL.iter().find(|peer| peer.id() == *id).map_or("", |peer| peer.source());
            text += &format!("{id:14} not here: {reason}; get it from {source}\n");
        }
        text
    }
}

/// The places of this comparison, by path.
struct Places(Vec<(Path, Place)>);

impl Places {
    fn new(paths: &[Path], cpus: (usize, usize)) -> Result<Places> {
        let mut places: Vec<(Path, Place)> = Vec::new();
        for path in paths {
            if !places.iter().any(|(made, _)| made == path) {
                places.push((*path, Place::new(*path, cpus)?));
            }
        }
        Ok(Places(places))
    }

    fn of(&self, path: Path) -> &Place {
        &self.0.iter().find(|(made, _)| *made == path).expect("made for every path asked").1
    }
}

pub fn run(options: &Options, tools: &Tools) -> Result<()> {
    let started = Instant::now();
    // Before any thread exists: signal handling and namespaces start some.
    let user_namespace = namespace::become_root()?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    let cpus = options.cpus.map_or_else(machine::two_cpus, Ok)?;
    let cells = cell::grid(&options.paths, options.nodelay, &options.streams, &options.sizes);
    let places = Places::new(&options.paths, cpus)?;
    std::fs::create_dir_all(&options.out)
        .with_context(|| format!("cannot make {}", options.out.display()))?;
    let facts = facts(&places, cpus, user_namespace);

    let mut visits = Visits {
        options,
        tools,
        places: &places,
        stop: &stop,
        deadline: started + options.time_limit,
        recorder: Recorder::create(&options.out.join("runs.csv"))?,
        done: Vec::new(),
    };
    visits.announce(&cells);
    let rounds = visits.all(&cells)?;

    let peers: Vec<&dyn Peer> = tools.here[1..].iter().map(|tool| tool.peer).collect();
    let rows = compare::rows(&cells, tools.subject(), &peers, &visits.done);
    let page = Page {
        subject: tools.subject(),
        standing: compare::standing(&rows),
        rows: &rows,
        facts,
        tools: tools.here.iter().map(|tool| (tool.peer.id(), tool.found.version.clone())).collect(),
        absent: tools.absent.clone(),
        failures: failures(&visits.done),
        rounds,
        planned_rounds: options.rounds,
        command: command_line(),
    };
    output::ratios_csv(page.rows, page.subject, &options.out.join("ratios.csv"))?;
    let markdown = output::markdown(&page);
    std::fs::write(options.out.join("peers.md"), &markdown)?;
    if let Some(file) = &options.page {
        output::splice(file, &markdown)?;
    }
    print!("{}", output::terminal(&page));
    if stop.load(Ordering::Relaxed) {
        anyhow::bail!(Interrupted);
    }
    Ok(())
}

/// Round after round, until all are done, the time is over or the user stops it.
struct Visits<'a> {
    options: &'a Options,
    tools: &'a Tools,
    places: &'a Places,
    stop: &'a AtomicBool,
    deadline: Instant,
    recorder: Recorder,
    done: Vec<Visited>,
}

impl Visits<'_> {
    fn announce(&self, cells: &[Cell]) {
        let visits: usize = cells
            .iter()
            .map(|cell| self.tools.here.iter().filter(|t| t.peer.not_applicable(cell).is_none()).count())
            .sum();
        // What a visit takes beside its own seconds: starting, connecting, ending.
        let each = Duration::from_millis(u64::from(self.options.seconds) * 1000 + 150);
        let total = each * visits as u32 * self.options.rounds;
        eprintln!(
            "{} cells, {visits} visits a round, {} rounds: about {}, at most {}",
            cells.len(),
            self.options.rounds,
            format_duration(total),
            format_duration(self.options.time_limit)
        );
    }

    /// The number of complete rounds.
    fn all(&mut self, cells: &[Cell]) -> Result<u32> {
        let mut random = Random::new(self.options.seed);
        for round in 0..self.options.rounds {
            let mut order = cells.to_vec();
            random.shuffle(&mut order);
            for (position, cell) in order.iter().enumerate() {
                if !self.cell(round, cell, &mut random)? {
                    return Ok(round);
                }
                self.progress(round, position + 1, cells.len(), cell);
            }
        }
        Ok(self.options.rounds)
    }

    /// Every tool once, in random order; false: the comparison is over.
    fn cell(&mut self, round: u32, cell: &Cell, random: &mut Random) -> Result<bool> {
        let tools = self.tools;
        let mut order: Vec<&Tool> =
            tools.here.iter().filter(|tool| tool.peer.not_applicable(cell).is_none()).collect();
        random.shuffle(&mut order);
        for tool in order {
            let length = Duration::from_secs(self.options.seconds.into());
            if self.stop.load(Ordering::Relaxed) || Instant::now() + length > self.deadline {
                return Ok(false);
            }
            let visit = Visit {
                place: self.places.of(cell.path),
                cell,
                seconds: self.options.seconds,
                found: &tool.found,
                stop: self.stop,
            };
            let outcome = match tool.peer.round(&visit) {
                Err(error) if error.is::<Interrupted>() => return Ok(false),
                outcome => outcome.map_err(|error| format!("{error:#}")),
            };
            let visited = Visited { round, cell: *cell, tool: tool.peer.id(), outcome };
            self.recorder.add(&visited)?;
            self.done.push(visited);
        }
        Ok(true)
    }

    fn progress(&self, round: u32, position: usize, cells: usize, cell: &Cell) {
        let figures: Vec<String> = self
            .done
            .iter()
            .filter(|visited| visited.round == round && visited.cell == *cell)
            .map(|visited| match &visited.outcome {
                Ok(rate) => format!("{} {}", visited.tool, Unit::BitsPerSecond.format(*rate)),
                Err(reason) => format!("{} failed ({reason})", visited.tool),
            })
            .collect();
        eprintln!("round {} cell {position}/{cells} {cell}: {}", round + 1, figures.join(", "));
    }
}

fn facts(places: &Places, cpus: (usize, usize), user_namespace: bool) -> Vec<(&'static str, String)> {
    let mut facts = machine::facts();
    facts.push(("sender CPU, receiver CPU", format!("{}, {}", cpus.0, cpus.1)));
    facts.push(("congestion control, read back", CONGESTION_CONTROL.to_string()));
    for (path, place) in &places.0 {
        let label = match path {
            Path::Veth => "MTU of the veth pair",
            Path::Loopback => "MTU of the loopback",
        };
        facts.push((label, place.mtu.clone()));
    }
    facts.push(("user namespace", if user_namespace { "yes" } else { "no (root)" }.to_string()));
    facts
}

/// Visits without a figure: tool, how many, the first reason.
fn failures(done: &[Visited]) -> Vec<(&'static str, usize, String)> {
    let mut failures: BTreeMap<&'static str, (usize, String)> = BTreeMap::new();
    for visited in done {
        if let Err(reason) = &visited.outcome {
            failures.entry(visited.tool).or_insert_with(|| (0, reason.clone())).0 += 1;
        }
    }
    failures.into_iter().map(|(tool, (count, reason))| (tool, count, reason)).collect()
}

/// The command line as a user would type it.
pub fn command_line() -> String {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    format!("cargo run --release -p syscost-peers -- {}", arguments.join(" "))
        .trim_end_matches(" -- ")
        .trim()
        .to_string()
}
