//! The agent: the harness's process elsewhere, started by a [`super::transport`], one for each run.
//!
//! It starts fresh workers, carries their standard input and output, and tells the time. It ends with all its workers
//! when its input ends, or after a silence: a lost network closes no connection. It opens no port but the one that it
//! is asked to try, and writes no file.

use super::frame::{self, AgentMessage, AgentQuestion, Ask, CONTROL, Hello, PIECE, PROTOCOL};
use super::reach::NoConnection;
use super::{SILENCE, reach};
use crate::{Unavailable, clock, fingerprint, link, namespaces};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use syscost_sys::clock::unix_ns;
use syscost_sys::{process, program};

/// The hidden subcommand.
pub const SUBCOMMAND: &str = "agent";
/// Exit status of an agent whose harness went away.
const ORPHANED: i32 = 3;
const LAST_WORDS_BYTES: u64 = 4096;
/// A node of a cluster has one for each of its containers.
pub const MOST_ADDRESSES: usize = 64;

/// Can this machine do what these values of axes ask of it?
pub type Allows = fn(&serde_json::Value) -> Result<(), Unavailable>;

/// Runs the agent; `worker` is the subcommand that makes this binary a worker.
pub fn main(worker: &'static str, allows: Allows) -> i32 {
    // Its parent is a shell of sshd's or the like, whose end says nothing that the end of the input does not.
    let ended = serve(worker, allows);
    // Threads that carry output may hang in a write that nobody takes: the process ends without them.
    process::exit_now(if ended.is_ok() { 0 } else { ORPHANED })
}

fn serve(worker: &'static str, allows: Allows) -> io::Result<()> {
    // Where a shell started us, it has greeted; else the mark is our argument.
    if let Some(mark) = std::env::args().nth(2) {
        writeln!(io::stdout(), "\n{mark}\n{}", this_system())?;
    }
    let mut input =
        AgentInput { input: File::from(io::stdin().as_fd().try_clone_to_owned()?), heard: Instant::now() };
    let output = AgentOutput(Arc::new(Mutex::new(File::from(io::stdout().as_fd().try_clone_to_owned()?))));
    output.say(&hello()?)?;
    let mut agent = Agent { worker, allows, output, workers: BTreeMap::new() };
    while let Some((channel, payload)) = frame::read(&mut input)? {
        match channel {
            // The harness lives.
            CONTROL if payload.is_empty() => {}
            CONTROL => agent.answer(frame::understand(&payload)?)?,
            channel if payload.is_empty() => drop(agent.workers.remove(&channel)),
            channel => agent.pass(channel, &payload),
        }
    }
    Ok(())
}

/// As `uname -s -m` has it.
pub fn this_system() -> String {
    format!("Linux {}", std::env::consts::ARCH)
}

fn hello() -> io::Result<Hello> {
    Ok(Hello {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").into(),
        sha256: program::sha256()?,
        connection: std::env::var("SSH_CONNECTION").unwrap_or_default(),
        addresses: link::addresses()
            .into_iter()
            .filter(|address| !address.is_loopback())
            .take(MOST_ADDRESSES)
            .collect(),
        facts: fingerprint::facts(),
        tsc_hz: clock::constant_tick_rate(),
    })
}

/// Standard input, given up after a silence.
struct AgentInput {
    input: File,
    heard: Instant,
}

impl Read for AgentInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let left = SILENCE.saturating_sub(self.heard.elapsed());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            if process::wait_readable(&self.input, left)? {
                self.heard = Instant::now();
                return self.input.read(buffer);
            }
        }
    }
}

/// Standard output, which several threads write whole frames to.
#[derive(Clone)]
struct AgentOutput(Arc<Mutex<File>>);

impl AgentOutput {
    fn file(&self) -> MutexGuard<'_, File> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say<T: serde::Serialize>(&self, what: &T) -> io::Result<()> {
        frame::say(&mut *self.file(), what)
    }
}

/// A worker. Dropping it kills and reaps it.
struct AgentWorker {
    child: Child,
    input: ChildStdin,
}

impl Drop for AgentWorker {
    fn drop(&mut self) {
        process::kill_group(self.child.id());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Agent {
    worker: &'static str,
    allows: Allows,
    output: AgentOutput,
    workers: BTreeMap<u32, AgentWorker>,
}

impl Agent {
    fn answer(&mut self, Ask { number, what }: Ask) -> io::Result<()> {
        let answer = match what {
            AgentQuestion::Start { channel } => self.start(channel).and_then(told),
            AgentQuestion::Allows { wanted } => told((self.allows)(&wanted)),
            about_this_host => answer(about_this_host),
        };
        let answer = answer.map_err(|error| error.to_string());
        self.output.say(&AgentMessage::Reply { number, answer })
    }

    /// From this thread, which lives as long as the agent: a worker dies with the thread that started it.
    fn start(&mut self, channel: u32) -> io::Result<()> {
        let mut child = process::spawn_apart(|| {
            let mut command = Command::new(program::path());
            command.arg(self.worker);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            command
        })?;
        let input = child.stdin.take().expect("piped above");
        let mut said = child.stdout.take().expect("piped above");
        let errors = child.stderr.take().expect("piped above");
        let output = self.output.clone();
        std::thread::Builder::new().spawn(move || {
            let mut piece = vec![0; PIECE];
            while let Ok(length @ 1..) = said.read(&mut piece) {
                if frame::carry(&mut *output.file(), channel, &piece[..length]).is_err() {
                    return;
                }
            }
            let mut words = Vec::new();
            let _ = errors.take(LAST_WORDS_BYTES).read_to_end(&mut words);
            let words = String::from_utf8_lossy(&words).trim().to_string();
            let _ = output.say(&AgentMessage::Ended { channel, words });
            let _ = frame::carry(&mut *output.file(), channel, &[]);
        })?;
        self.workers.insert(channel, AgentWorker { child, input });
        Ok(())
    }

    /// What a worker that has ended is told is lost, as in a pipe; its end is on its way to the harness.
    fn pass(&mut self, channel: u32, payload: &[u8]) {
        if let Some(worker) = self.workers.get_mut(&channel) {
            let _ = io::Write::write_all(&mut worker.input, payload);
        }
    }
}

fn told(answer: impl serde::Serialize) -> io::Result<Value> {
    serde_json::to_value(answer).map_err(io::Error::other)
}

/// What any syscost answers about the machine that it runs on: the agent to the harness, and the harness to itself.
pub fn answer(question: AgentQuestion) -> io::Result<Value> {
    match question {
        AgentQuestion::Time => told(unix_ns()),
        AgentQuestion::End { address, toward } => told(end(address, toward)?),
        AgentQuestion::Listen { address, ports, token } => told(reach::listen(address, ports, token)?),
        AgentQuestion::Source { toward } => told(link::source_toward(toward)?),
        AgentQuestion::Connect { from, to, token } => {
            let made = reach::connect(from, to, &token);
            told(made.map_err(|error| (NoConnection::of(&error), error.to_string())))
        }
        AgentQuestion::Start { .. } | AgentQuestion::Allows { .. } => {
            Err(io::Error::other("only an agent starts workers"))
        }
    }
}

/// The device of this address, the route to the other end, and this namespace's TCP settings.
pub fn end(address: IpAddr, toward: Option<IpAddr>) -> io::Result<BTreeMap<String, String>> {
    let Some(interface) = link::owner_of(address)? else {
        let own: Vec<String> = link::addresses().iter().map(ToString::to_string).collect();
        return Err(io::Error::other(format!(
            "no device there has the address {address}; it has {}",
            own.join(", ")
        )));
    };
    let mut facts = link::describe(&interface)?;
    facts.extend(toward.and_then(link::route_to).map(|route| ("route".to_string(), route)));
    facts.extend(namespaces::carried::recorded_settings());
    Ok(facts)
}
