//! The worker's side: reads one task, plays its role, writes the report, ends.
//!
//! It ends when the harness does, whatever the harness died of: the kernel kills it with its
//! parent, and its standard input closes.

use super::protocol::{self, FromWorker, ToWorker};
use crate::own;
use crate::probe::rights::{COUNT_ON_DEBIAN, LOW_PORTS, Rights};
use crate::probe::{self, Channel, Missing, RoleReport, Task};
use anyhow::{Context, Result, bail, ensure};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::sync::OnceLock;
use std::sync::mpsc::{self, Receiver};
use syscost_host::{Unavailable, counters, scarce, topology};
use syscost_sys::{capability, optional, process, signals};

/// A process did not run for a while: it was stopped, or all of the machine was.
pub const STOPPED: &str = "stopped";
/// A thread did not stay on the CPU that it was pinned to.
const UNPINNED: &str = "unpinned";

/// Exit status of a worker whose harness went away.
const ORPHANED: i32 = 3;

/// The whole life of a worker process; returns its exit status.
pub fn main() -> i32 {
    process::die_with_parent();
    process::prefer_as_victim();
    signals::note_continuations();
    match play().map(marked) {
        Ok(report) => said(FromWorker::Done { report: Box::new(report) }),
        Err(error) => said(match error.downcast_ref().or_else(|| in_chain(&error)) {
            Some(why) => FromWorker::Unavailable { why: Unavailable::clone(why) },
            None => FromWorker::Failed { causes: causes(&error), peer_lost: peer_lost(&error) },
        }),
    }
}

/// What an error of a system call means, where that is known.
fn in_chain(error: &anyhow::Error) -> Option<&Unavailable> {
    let errors = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    errors.into_iter().find_map(|error| error.get_ref()?.downcast_ref())
}

/// What happened to this process that no probe can see, and that makes the whole round suspect.
fn marked(mut report: RoleReport) -> RoleReport {
    let seen = [(STOPPED, signals::was_continued()), (UNPINNED, topology::was_moved())];
    report.marks.extend(seen.into_iter().filter(|(_, seen)| *seen).map(|(mark, _)| mark.to_string()));
    let missing = |(id, reason): (&str, String)| Missing {
        quantity: id.into(),
        why: Unavailable { reason, remedy: String::new() },
    };
    report.missing.extend(optional::refused().into_iter().map(missing));
    report
}

/// From the outermost in, and the limit that was met, if it was one.
fn causes(error: &anyhow::Error) -> Vec<String> {
    error.chain().map(|cause| cause.to_string()).chain(scarce::of_chain(error)).collect()
}

/// Did a connection end that should not have?
fn peer_lost(error: &anyhow::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, UnexpectedEof};
    let lost = [BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, UnexpectedEof];
    error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>()).any(|e| lost.contains(&e.kind()))
}

/// Where the harness hears this worker, once a user's own code may print.
static APART: OnceLock<File> = OnceLock::new();

fn tell(frame: &FromWorker) -> io::Result<()> {
    match APART.get() {
        Some(mut line) => protocol::write(&mut line, frame),
        None => protocol::write(&mut io::stdout().lock(), frame),
    }
}

/// What a user's own code prints is no frame.
fn speak_apart() -> Result<()> {
    let line = process::keep_output_apart().context("cannot keep what your code prints apart")?;
    let _ = APART.set(line);
    Ok(())
}

fn said(frame: FromWorker) -> i32 {
    match tell(&frame) {
        Ok(()) => 0,
        Err(_) => ORPHANED,
    }
}

fn play() -> Result<RoleReport> {
    let mut task =
        match protocol::read(&mut io::stdin().lock())?.context("the harness closed before giving a task")? {
            ToWorker::Task { task } => task,
            ToWorker::Go => bail!("the harness said go before giving a task"),
        };
    if !task.own.is_empty() {
        own::register(&task.own);
        speak_apart()?;
    }
    let probe = probe::find(&task.probe).with_context(|| format!("no probe {}", task.probe))?;
    ensure!(probe.roles().contains(&task.role.as_str()), "{} has no role {}", task.probe, task.role);
    let _found = find_files(&mut task);
    give_up_rights(probe.rights(&task.role), &task);
    let frames = if probe.roles().len() > 1 { Some(listen_to_harness()?) } else { None };
    probe.play(&task, &mut StdioChannel { frames })
}

/// Finds the task's files while this process has the harness's rights: the kernel shows the descriptors of a
/// process to nobody who holds fewer. From then on each is a descriptor of this process, which nothing can be
/// read or written by, and which [`Task::files`] names. One that cannot be found stays for the role to say so.
fn find_files(task: &mut Task) -> Vec<File> {
    let mut found = Vec::new();
    for path in &mut task.files {
        let file = File::options().read(true).custom_flags(libc::O_PATH).open(&*path);
        if let Ok(file) = file {
            *path = format!("/proc/self/fd/{}", file.as_raw_fd());
            found.push(file);
        }
    }
    found
}

/// Whatever the harness may do, a role may do what it declares. Before any other thread is started.
fn give_up_rights(rights: Rights, task: &Task) {
    let ports = task.ports.map(|_| LOW_PORTS);
    let counting = (task.counting.is_some() && counters::needs_admin()).then_some(COUNT_ON_DEBIAN);
    let kept = rights.0.into_iter().chain(ports).chain(counting).map(|right| right.capability).collect();
    optional::SET_RIGHTS.tried(capability::keep_only(kept));
}

/// Reads frames on a thread of its own, so that the end of the harness is noticed at any time.
fn listen_to_harness() -> Result<Receiver<ToWorker>> {
    let (tell, frames) = mpsc::channel();
    let listener = move || {
        let mut input = io::stdin().lock();
        while let Ok(Some(frame)) = protocol::read(&mut input) {
            if tell.send(frame).is_err() {
                return;
            }
        }
        process::exit_now(ORPHANED);
    };
    std::thread::Builder::new()
        .spawn(listener)
        .map_err(|error| scarce::cannot_start("a thread that listens to the harness", error))?;
    Ok(frames)
}

/// A role's line to the harness, over standard input and output.
struct StdioChannel {
    /// `None`: a role that plays alone stays the only thread of its process. A second thread makes
    /// the kernel count references to every file that a call uses, a fifth of a one-byte read; only
    /// the death signal of the parent then ends an orphan.
    frames: Option<Receiver<ToWorker>>,
}

impl StdioChannel {
    fn hear(&self) -> Option<ToWorker> {
        match &self.frames {
            Some(frames) => frames.recv().ok(),
            None => protocol::read(&mut io::stdin().lock()).ok().flatten(),
        }
    }
}

impl Channel for StdioChannel {
    fn offer(&mut self, offer: serde_json::Value) -> Result<()> {
        tell(&FromWorker::Offer { offer })?;
        Ok(())
    }

    fn ready(&mut self) -> Result<()> {
        tell(&FromWorker::Ready)?;
        match self.hear().context("the harness closed before the start")? {
            ToWorker::Go => Ok(()),
            ToWorker::Task { .. } => bail!("the harness gave a second task"),
        }
    }
}
