//! The near end of one connection to an agent, through the pipes of a process that leads there: questions, and workers'
//! pipes.
//!
//! One connection carries everything, so a round pays for no handshake and nothing has to be found and
//! removed later: when this process, the one that leads there, or the network ends, both ends see it.

use super::frame::{self, AgentAnswer, AgentQuestion, Ask, CONTROL, Hello};
use super::incoming::{Incoming, lock};
use super::target::Target;
use super::{HEARTBEAT, patience, plain};
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use syscost_sys::capability::{self, CapabilitySet};
use syscost_sys::sleep::sleep;
use syscost_sys::{process, signals};

/// Logging in, and the agent's first words: a busy host may take seconds for its checksum.
const HELLO_LIMIT: Duration = Duration::from_secs(40);
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
const LAST_WORDS: usize = 4096;
/// How often a waiting harness looks whether it was interrupted.
const LOOK: Duration = Duration::from_millis(100);
/// It ends by itself when its input does.
const PARTING: Duration = Duration::from_secs(2);

/// How a process is started there.
pub struct Launch<'a> {
    /// The words of the process, after those that lead there.
    pub words: &'a [String],
    /// What it reads first.
    pub input: &'a str,
    /// A file that it inherits, by the number of its descriptor.
    pub lends: Option<&'a File>,
}

impl Launch<'_> {
    /// With its pipes, and an end that comes with ours.
    pub fn command(&self, target: &Target) -> Command {
        let words = target.words();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(self.words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // By which address a user logged in here says nothing of another place.
        command.env_remove("SSH_CONNECTION");
        target.transport.forgets.iter().for_each(|name| _ = command.env_remove(name));
        // Ctrl-C reaches the harness alone.
        process::apart_on_exec(&mut command);
        process::die_with_parent_on_exec(&mut command);
        if let Some(file) = self.lends {
            process::inherit_on_exec(&mut command, file.as_raw_fd());
        }
        command
    }
}

/// What is said of a command that is not in the search path.
pub const NO_PROGRAM: &str = "there is no program";

/// Why a line could not be opened.
#[derive(Debug)]
pub struct NotOpened {
    /// `Linux x86_64`; `None`: our command was never run there.
    pub system: Option<String>,
    /// Exit status of what leads there, where it ended by itself.
    pub status: Option<i32>,
    pub words: String,
}

/// An open line. Dropping it ends the agent and what leads there.
pub struct Connection {
    leads_there: Mutex<Child>,
    /// `None` once the line is being closed: that process then ends.
    input: Mutex<Option<ChildStdin>>,
    incoming: Arc<Incoming>,
    /// Whose turn it is to ask.
    turn: Mutex<()>,
    numbers: AtomicU64,
    next_channel: AtomicU32,
    words: Arc<Mutex<Vec<u8>>>,
}

impl Connection {
    /// Runs the command there, which greets with a line that is the mark, then one that names its system,
    /// and then speaks in frames.
    pub fn open(
        target: &Target,
        launch: &Launch<'_>,
        mark: &str,
    ) -> Result<(Arc<Connection>, String, Hello), NotOpened> {
        let failed = |words: String| NotOpened { system: None, status: None, words };
        let mut child =
            launch.command(target).spawn().map_err(|error| failed(cannot_start(target, &error)))?;
        let mut input = child.stdin.take();
        // It fits into the pipe; who ended already has said why.
        let _ = input.as_mut().map(|input| input.write_all(launch.input.as_bytes()));
        let output = child.stdout.take().expect("piped above");
        let errors = child.stderr.take().expect("piped above");
        let words = Arc::new(Mutex::new(Vec::new()));
        let listening = listen_to_errors(errors, words.clone());
        let incoming = Arc::new(Incoming::new(words.clone()));
        let line = Arc::new(Connection {
            leads_there: Mutex::new(child),
            input: Mutex::new(input),
            incoming: incoming.clone(),
            turn: Mutex::new(()),
            numbers: AtomicU64::new(1),
            next_channel: AtomicU32::new(CONTROL + 1),
            words,
        });
        let (mark, output) = (mark.to_string(), BufReader::new(output));
        let reader = std::thread::Builder::new();
        let reading = reader.spawn(move || {
            // What the far host says is read without any right of root's.
            let _ = capability::hold_only(CapabilitySet::empty());
            incoming.hear(output, &mark);
        });
        if let Err(error) = listening.and(reading.map(drop)) {
            return Err(failed(format!("cannot start a thread: {error}")));
        }
        let limit = patience::left(HELLO_LIMIT);
        let end = Instant::now() + limit;
        loop {
            let look = end.min(Instant::now() + LOOK);
            let mut heard = line.incoming.wait_until(look, |heard| heard.hello.is_some());
            let (hello, system, gone) = (heard.hello.take(), heard.system.clone(), heard.gone);
            drop(heard);
            if let Some(hello) = hello {
                beat(&line);
                return Ok((line, system.unwrap_or_default(), *hello));
            }
            if gone {
                let (status, words) = line.parting();
                return Err(NotOpened { system, status, words });
            }
            if Instant::now() >= end || signals::caught() {
                let words = format!("no answer within {} s", limit.as_secs_f64().ceil());
                return Err(NotOpened { system, status: None, words });
            }
        }
    }

    pub fn is_gone(&self) -> bool {
        self.incoming.heard().gone
    }

    /// One question and its answer.
    pub fn ask<T: DeserializeOwned>(&self, what: AgentQuestion) -> io::Result<T> {
        let _turn = lock(&self.turn);
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        self.incoming.wait_for(Some(number));
        let answer = self.answer_to(Ask { number, what });
        self.incoming.wait_for(None);
        frame::typed(answer?.map_err(|why| io::Error::other(plain(&why)))?)
    }

    fn answer_to(&self, question: Ask) -> io::Result<AgentAnswer> {
        self.send(CONTROL, &serde_json::to_vec(&question).map_err(io::Error::other)?)?;
        let end = Instant::now() + patience::left(ANSWER_LIMIT);
        let mut heard = self.incoming.wait_until(end, |heard| heard.answer.is_some());
        match (heard.answer.take(), heard.gone) {
            (Some(answer), _) => Ok(answer),
            (None, false) => Err(io::ErrorKind::TimedOut.into()),
            (None, true) => {
                drop(heard);
                Err(io::Error::other(self.parting().1))
            }
        }
    }

    /// A fresh worker there.
    pub fn start(self: &Arc<Connection>) -> io::Result<FarWorker> {
        let channel = self.next_channel.fetch_add(1, Ordering::Relaxed);
        let (ours, theirs) = UnixStream::pair()?;
        if !self.incoming.carry(channel, theirs) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let worker = FarWorker { line: self.clone(), channel, output: ours };
        self.ask::<()>(AgentQuestion::Start { channel })?;
        Ok(worker)
    }

    fn send(&self, channel: u32, payload: &[u8]) -> io::Result<()> {
        match lock(&self.input).as_mut() {
            Some(input) => frame::write(input, channel, payload),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Why the line ended: the exit status of what leads there, and what it said.
    pub fn parting(&self) -> (Option<i32>, String) {
        drop(lock(&self.input).take());
        let status = end_of(&mut lock(&self.leads_there));
        // A silent line has cost its wait already.
        let said = if status.is_some() { heard_out(&self.words) } else { lock(&self.words).clone() };
        let said = plain(&last_lines(&String::from_utf8_lossy(&said)));
        let words = match (said.as_str(), status) {
            ("", Some(status)) => format!("the process that leads there ended ({status})"),
            ("", None) => "the agent ended".to_string(),
            (said, _) => said.to_string(),
        };
        (status.and_then(|status| status.code()), words)
    }
}

/// All that was said, once its listener has heard the end: on a busy machine it may do so after the process has ended. Whatever
/// holds its standard error open (a master) is not waited for.
fn heard_out(words: &Arc<Mutex<Vec<u8>>>) -> Vec<u8> {
    let end = Instant::now() + PARTING;
    while Arc::strong_count(words) > 1 && Instant::now() < end {
        sleep(Duration::from_millis(1));
    }
    lock(words).clone()
}

impl Drop for Connection {
    fn drop(&mut self) {
        drop(lock(&self.input).take());
        let mut leads_there = lock(&self.leads_there);
        end_of(&mut leads_there);
        if matches!(leads_there.try_wait(), Ok(None)) {
            process::kill_group(leads_there.id());
            let _ = leads_there.wait();
        }
    }
}

/// With which status it ended, within a moment.
fn end_of(child: &mut Child) -> Option<ExitStatus> {
    let end = Instant::now() + PARTING;
    loop {
        match child.try_wait() {
            Ok(None) if Instant::now() < end => sleep(Duration::from_millis(5)),
            status => return status.ok().flatten(),
        }
    }
}

/// A worker on the far host. Dropping it has the agent kill it.
pub struct FarWorker {
    line: Arc<Connection>,
    channel: u32,
    output: UnixStream,
}

impl FarWorker {
    /// Why it ended without saying so in a frame.
    pub fn last_words(&self) -> String {
        match self.line.incoming.last_words(self.channel) {
            Some(words) if words.is_empty() => "the worker ended".into(),
            Some(words) => format!("the worker ended: {words}"),
            None => format!("the connection to the other host is gone: {}", self.line.parting().1),
        }
    }
}

impl Read for FarWorker {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.output.read(buffer)
    }
}

impl AsFd for FarWorker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }
}

impl Write for FarWorker {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = &bytes[..bytes.len().min(frame::PIECE)];
        self.line.send(self.channel, piece)?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for FarWorker {
    fn drop(&mut self) {
        // The reader may be writing to a stream that nobody empties any more.
        let _ = self.output.shutdown(std::net::Shutdown::Both);
        self.line.incoming.forget(self.channel);
        let _ = self.line.send(self.channel, &[]);
    }
}

/// Programs and loaders tell the cause last, sometimes below a banner.
fn last_lines(words: &str) -> String {
    const SHOWN: usize = 3;
    let lines: Vec<&str> = words.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(SHOWN)..].join("; ")
}

/// Keeps the end of what the process and the far side's standard error say.
fn listen_to_errors(mut errors: impl Read + Send + 'static, words: Arc<Mutex<Vec<u8>>>) -> io::Result<()> {
    let listen = move || {
        let _ = capability::hold_only(CapabilitySet::empty());
        let mut piece = [0; 1024];
        while let Ok(length @ 1..) = errors.read(&mut piece) {
            let mut words = lock(&words);
            words.extend(&piece[..length]);
            let excess = words.len().saturating_sub(LAST_WORDS);
            words.drain(..excess);
        }
    };
    std::thread::Builder::new().spawn(listen).map(drop)
}

/// Tells the agent now and then that we live; ends with the line.
fn beat(line: &Arc<Connection>) {
    let line = Arc::downgrade(line);
    // Without it the agent gives up after a silence: the round then fails and says so.
    let _ = std::thread::Builder::new().spawn(move || {
        let _ = capability::hold_only(CapabilitySet::empty());
        loop {
            sleep(HEARTBEAT);
            match line.upgrade() {
                Some(line) if !line.is_gone() && line.send(CONTROL, &[]).is_ok() => {}
                _ => return,
            }
        }
    });
}

fn cannot_start(target: &Target, error: &io::Error) -> String {
    let program = target.words().swap_remove(0);
    if error.kind() == io::ErrorKind::NotFound {
        return format!("{NO_PROGRAM} {}", plain(&program));
    }
    format!("cannot start {}: {error}", plain(&program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_said_is_heard_to_its_end() {
        let (mut said, errors) = UnixStream::pair().unwrap();
        let words = Arc::new(Mutex::new(Vec::new()));
        listen_to_errors(errors, words.clone()).unwrap();
        let speaks = std::thread::spawn(move || {
            said.write_all(b"Host key ").unwrap();
            sleep(Duration::from_millis(50));
            said.write_all(b"verification failed.\n").unwrap();
        });
        assert_eq!(String::from_utf8(heard_out(&words)).unwrap(), "Host key verification failed.\n");
        speaks.join().unwrap();
    }
}
