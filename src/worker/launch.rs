//! Starts workers: on this host, in a network namespace, or on another host.

use super::path::Place;
use super::protocol::{self, FromWorker, Patient, ToWorker};
use crate::host::remote::FarWorker;
use crate::sys::{process, program};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

/// The hidden subcommand that makes this binary a worker.
pub const WORKER_SUBCOMMAND: &str = "worker";

/// A running worker. Dropping it kills the process, and reaps it where it is ours.
pub enum Worker {
    Near(Near),
    Far(FarWorker),
}

impl Worker {
    /// Starts this binary as a worker in `place`.
    pub fn start(place: &Place<'_>) -> io::Result<Worker> {
        match place {
            Place::Remote(host) => host.start_worker().map(Worker::Far),
            Place::Here | Place::Namespace(_) => Near::start(place).map(Worker::Near),
        }
    }

    /// Its process id, if it is a process of this host.
    pub fn pid(&self) -> Option<u32> {
        match self {
            Worker::Near(near) => Some(near.child.id()),
            Worker::Far(_) => None,
        }
    }

    pub fn tell(&mut self, frame: &ToWorker) -> io::Result<()> {
        match self {
            Worker::Near(near) => protocol::write(&mut near.input, frame),
            Worker::Far(far) => protocol::write(far, frame),
        }
    }

    /// The worker's next frame, before the deadline.
    pub fn hear(&mut self, deadline: Instant, interrupted: &dyn Fn() -> bool) -> io::Result<FromWorker> {
        let frame = match self {
            Worker::Near(near) => {
                protocol::read(&mut Patient { pipe: &mut near.output, deadline, interrupted })?
            }
            Worker::Far(far) => protocol::read(&mut Patient { pipe: far, deadline, interrupted })?,
        };
        frame.ok_or_else(|| io::Error::other(self.last_words()))
    }

    /// The signal that ended it, once it has ended; of one on another host nobody here can say.
    pub fn killed_by(&self) -> Option<i32> {
        match self {
            Worker::Near(near) => near.killed_by(),
            Worker::Far(_) => None,
        }
    }

    fn last_words(&mut self) -> String {
        match self {
            Worker::Near(near) => near.last_words(),
            Worker::Far(far) => far.last_words(),
        }
    }
}

/// A worker that is a child of this process.
pub struct Near {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    /// Waited for: its number may be another's by now.
    reaped: bool,
    /// The signal that ended it, noted before it was waited for.
    signal: Option<i32>,
}

impl Near {
    fn start(place: &Place<'_>) -> io::Result<Near> {
        let mut command = Command::new(program::path());
        // A process group of its own: Ctrl-C reaches the harness alone, which then ends its workers.
        command.arg(WORKER_SUBCOMMAND).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Place::Namespace(side) = place {
            side.enter_on_exec(&mut command);
        }
        let mut child = command.spawn()?;
        let input = child.stdin.take().expect("piped above");
        let output = child.stdout.take().expect("piped above");
        Ok(Near { child, input, output, reaped: false, signal: None })
    }

    /// The signal that ended it, once it has ended.
    fn killed_by(&self) -> Option<i32> {
        if self.reaped { self.signal } else { process::ended_by_signal(self.child.id()) }
    }

    /// Why the worker ended without saying so in a frame.
    fn last_words(&mut self) -> String {
        // What it started goes first: a server that holds its line open, as long as the group's
        // number is surely its own. After this no process of the group is left.
        process::wait_for_end(self.child.id());
        process::kill_group(self.child.id());
        self.signal = self.killed_by();
        self.reaped = true;
        let status = self.child.wait().map_or_else(|e| e.to_string(), |s| s.to_string());
        let mut words = Vec::new();
        if let Some(errors) = self.child.stderr.as_mut() {
            let _ = errors.take(4096).read_to_end(&mut words);
        }
        let words = String::from_utf8_lossy(&words);
        match words.trim() {
            "" => format!("the worker ended ({status})"),
            words => format!("the worker ended ({status}): {words}"),
        }
    }
}

impl Drop for Near {
    fn drop(&mut self) {
        if !self.reaped {
            process::kill_group(self.child.id());
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
