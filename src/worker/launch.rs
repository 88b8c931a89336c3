//! Starts workers: on this host, or in a network namespace.

use super::path::Place;
use super::protocol::{self, Deadline, FromWorker, Patient, ToWorker};
use crate::sys::{process, program};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The hidden subcommand that makes this binary a worker.
pub const WORKER_SUBCOMMAND: &str = "worker";

/// A running worker. Dropping it kills and reaps the process.
pub struct Worker {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    /// Waited for: its number may be another's by now.
    reaped: bool,
    /// The signal that ended it, noted before it was waited for.
    signal: Option<i32>,
}

impl Worker {
    /// Starts this binary as a worker in `place`.
    pub fn start(place: &Place<'_>) -> io::Result<Worker> {
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
        Ok(Worker { child, input, output, reaped: false, signal: None })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn tell(&mut self, frame: &ToWorker) -> io::Result<()> {
        protocol::write(&mut self.input, frame)
    }

    /// The worker's next frame, before the deadline.
    pub fn hear(
        &mut self,
        deadline: &mut Deadline,
        interrupted: &dyn Fn() -> bool,
    ) -> io::Result<FromWorker> {
        let mut patient = Patient { pipe: &mut self.output, deadline, interrupted };
        match protocol::read(&mut patient)? {
            Some(frame) => Ok(frame),
            None => Err(io::Error::other(self.last_words())),
        }
    }

    /// The signal that ended it, once it has ended.
    pub fn killed_by(&self) -> Option<i32> {
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

impl Drop for Worker {
    fn drop(&mut self) {
        if !self.reaped {
            process::kill_group(self.child.id());
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
