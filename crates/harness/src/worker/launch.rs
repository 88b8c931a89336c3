//! Starts workers: on this host, in a network namespace, or on another host.

use super::path::WorkerPlace;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;
use syscost_host::remote::FarWorker;
use syscost_measure::worker::protocol::{self, Deadline, FromWorker, Patient, ToWorker};
use syscost_sys::{process, program};

/// The hidden subcommand that makes this binary a worker.
pub const WORKER_SUBCOMMAND: &str = "worker";

/// Of what a worker says on standard error: a record keeps it.
const LONGEST_WORDS: usize = 2048;

/// A running worker. Dropping it kills the process, and reaps it where it is ours.
pub enum Worker {
    Near(Near),
    Far(FarWorker),
}

impl Worker {
    /// Starts this binary as a worker in `place`, with the baton of its run where it passes that on.
    pub fn start(place: &WorkerPlace<'_>, baton: Option<i32>) -> io::Result<Worker> {
        match place {
            WorkerPlace::Remote(host) => host.start_worker().map(Worker::Far),
            WorkerPlace::Here | WorkerPlace::Namespace(_) => Near::start(place, baton).map(Worker::Near),
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
    pub fn hear(
        &mut self,
        deadline: &mut Deadline,
        interrupted: &dyn Fn() -> bool,
    ) -> io::Result<FromWorker> {
        let frame = match self {
            Worker::Near(near) => {
                protocol::read(&mut Patient { pipe: &mut near.output, deadline, interrupted })
            }
            Worker::Far(far) => protocol::read(&mut Patient { pipe: far, deadline, interrupted }),
        };
        match frame {
            Ok(Some(frame)) => Ok(frame),
            Ok(None) => Err(io::Error::other(self.last_words())),
            Err(error) => match self {
                Worker::Near(near) => {
                    let stopped = process::is_stopped(near.child.id());
                    let why = if stopped { "; it was stopped, by SIGSTOP or a debugger" } else { "" };
                    Err(io::Error::new(error.kind(), format!("{error}{why}; {}", near.last_words())))
                }
                Worker::Far(_) => Err(error),
            },
        }
    }

    /// What can be read when it has spoken or ended.
    pub fn line(&self) -> BorrowedFd<'_> {
        match self {
            Worker::Near(near) => near.output.as_fd(),
            Worker::Far(far) => far.as_fd(),
        }
    }

    /// The signal that ended it, once it has ended, if it is a process of this host.
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
    fn start(place: &WorkerPlace<'_>, baton: Option<i32>) -> io::Result<Near> {
        // Ctrl-C reaches the harness alone, which then ends its workers.
        let mut child = process::spawn_apart(|| {
            let mut command = Command::new(program::path());
            command.arg(WORKER_SUBCOMMAND);
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            if let Some(number) = baton {
                process::inherit_on_exec(&mut command, number);
            }
            if let WorkerPlace::Namespace(side) = place {
                side.enter_on_exec(&mut command);
            }
            command
        })?;
        let input = child.stdin.take().expect("piped above");
        let output = child.stdout.take().expect("piped above");
        Ok(Near { child, input, output, reaped: false, signal: None })
    }

    fn killed_by(&self) -> Option<i32> {
        if self.reaped { self.signal } else { process::ended_by_signal(self.child.id()) }
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

    /// The status with which it ended of itself, within a moment. What it started goes with it, as long as the
    /// group's number is surely its own: after this no process of the group is left.
    fn end(&mut self) -> Option<ExitStatus> {
        let ended = self.reaped || process::ends_soon(self.child.id());
        if !self.reaped {
            self.signal = self.killed_by();
            process::kill_group(self.child.id());
            let _ = self.child.kill();
            self.reaped = true;
        }
        self.child.wait().ok().filter(|_| ended)
    }

    /// The beginning of what it said there. A child of its own may hold the pipe open: nothing is waited for.
    fn standard_error(&mut self) -> String {
        let Some(errors) = self.child.stderr.as_mut() else { return String::new() };
        let mut words = vec![0; LONGEST_WORDS];
        let mut length = 0;
        while length < words.len() && process::wait_readable(&*errors, Duration::ZERO).unwrap_or(false) {
            match errors.read(&mut words[length..]) {
                Ok(0) | Err(_) => break,
                Ok(more) => length += more,
            }
        }
        String::from_utf8_lossy(&words[..length]).into_owned()
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
