//! Starts workers: on this host, or in a network namespace.

use super::path::Place;
use super::protocol::{self, FromWorker, Patient, ToWorker};
use crate::sys::{process, program};
use std::io::{self, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The hidden subcommand that makes this binary a worker.
pub const WORKER_SUBCOMMAND: &str = "worker";

/// How long a worker that has nothing more to say may take to end.
const TO_END: Duration = Duration::from_millis(300);
const LOOK: Duration = Duration::from_millis(5);
/// Of what a worker says on standard error: a record keeps it.
const LONGEST_WORDS: usize = 2048;

/// A running worker. Dropping it kills and reaps the process.
pub struct Worker {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
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
        Ok(Worker { child, input, output })
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What can be read when it has spoken or ended.
    pub fn line(&self) -> RawFd {
        self.output.as_raw_fd()
    }

    pub fn tell(&mut self, frame: &ToWorker) -> io::Result<()> {
        protocol::write(&mut self.input, frame)
    }

    /// The worker's next frame, before the deadline.
    pub fn hear(&mut self, deadline: Instant, interrupted: &dyn Fn() -> bool) -> io::Result<FromWorker> {
        let mut patient = Patient { pipe: &mut self.output, deadline, interrupted };
        match protocol::read(&mut patient) {
            Ok(Some(frame)) => Ok(frame),
            Ok(None) => Err(io::Error::other(self.last_words())),
            Err(error) => Err(io::Error::new(error.kind(), format!("{error}; {}", self.last_words()))),
        }
    }

    /// How the worker ended and what it said on standard error. One that has not ended by itself is ended:
    /// whatever it closed or left running, nobody waits for it.
    fn last_words(&mut self) -> String {
        let status = match self.end() {
            Some(status) => format!("the worker ended ({status})"),
            None => "the worker was ended".to_string(),
        };
        match self.standard_error().trim() {
            "" => status,
            words => format!("{status}: {words}"),
        }
    }

    /// The status with which it ended of itself, within a moment; kills what is left of it and its children.
    fn end(&mut self) -> Option<ExitStatus> {
        let until = Instant::now() + TO_END;
        let mut status = None;
        while status.is_none() && Instant::now() < until {
            status = self.child.try_wait().ok().flatten();
            if status.is_none() {
                std::thread::sleep(LOOK);
            }
        }
        if status.is_none() {
            process::kill_group(self.child.id());
            let _ = self.child.wait();
        }
        status
    }

    /// The beginning of what it said there. A child of its own may hold the pipe open: nothing is waited for.
    fn standard_error(&mut self) -> String {
        let Some(errors) = self.child.stderr.as_mut() else { return String::new() };
        let mut words = vec![0; LONGEST_WORDS];
        let mut length = 0;
        while length < words.len() && process::wait_readable(errors.as_raw_fd(), 0).unwrap_or(false) {
            match errors.read(&mut words[length..]) {
                Ok(0) | Err(_) => break,
                Ok(more) => length += more,
            }
        }
        String::from_utf8_lossy(&words[..length]).into_owned()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        process::kill_group(self.child.id());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
