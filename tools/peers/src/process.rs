//! Child processes: in a namespace, on one CPU, with a deadline, and never left behind.
//!
//! Each child leads its own process group, which is killed when its handle is dropped, and asks the
//! kernel to be killed when this program dies (PR_SET_PDEATHSIG), also by SIGKILL. Tools are run
//! with their do-not-fork flags, because that request is not inherited by their children. Output
//! goes to anonymous files, so that no tool ever blocks on a full pipe.

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use syscost_host::namespaces::NamespaceSide;
use syscost_sys::splice::memory_file;
use syscost_sys::{affinity, process as system};

/// Where a child runs: in a namespace, else in that of this program, and on these CPUs.
pub struct Seat<'a> {
    pub side: Option<&'a NamespaceSide>,
    pub cpus: Vec<usize>,
}

/// The user asked to stop (SIGINT, SIGTERM, SIGHUP).
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// A command that will run in a seat.
pub fn command(program: impl AsRef<std::ffi::OsStr>, seat: &Seat<'_>) -> Command {
    let (parent, cpus) = (std::process::id(), seat.cpus.clone());
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).process_group(0).env("LC_ALL", "C");
    if let Some(side) = seat.side {
        side.enter_on_exec(&mut command);
    }
    let enter = move || {
        affinity::restrict(&cpus)?;
        system::die_with(parent)
    };
    // SAFETY: this program has one thread when it starts another, so the closure may allocate between fork and exec.
    unsafe { command.pre_exec(enter) };
    command
}

/// A child that runs.
pub struct Running {
    child: Child,
    exit: OwnedFd,
    stdout: File,
    stderr: File,
}

impl Running {
    /// Starts a command. Must be called from the main thread: a child dies with its starter.
    pub fn start(mut command: Command) -> Result<Running> {
        let (stdout, stderr) = (memory_file(&[])?, memory_file(&[])?);
        command.stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn().with_context(|| format!("cannot start {program}"))?;
        let exit = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).context("pidfd_open")?;
        Ok(Running { child, exit, stdout, stderr })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end, at most until the deadline; an interruption ends the wait with [`Interrupted`].
    pub fn finish(&mut self, deadline: Instant, stop: &AtomicBool) -> Result<ExitStatus> {
        loop {
            if stop.load(Ordering::Relaxed) {
                bail!(Interrupted);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if system::wait_readable(&self.exit, left.min(Duration::from_millis(200)))? {
                return Ok(self.child.wait()?);
            }
            if left.is_zero() {
                bail!("did not end in time");
            }
        }
    }

    pub fn has_ended(&self) -> Result<bool> {
        Ok(system::wait_readable(&self.exit, Duration::ZERO)?)
    }

    /// What it has written so far to both streams, errors first: some tools report on standard error.
    pub fn said(&self) -> String {
        let both = [read_all(&self.stderr), read_all(&self.stdout)];
        both.into_iter().flatten().collect::<Vec<_>>().join("\n")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            system::kill_group(self.child.id());
            let _ = self.child.wait();
        }
    }
}

/// Reads without moving the file's position, which the child shares.
fn read_all(file: &File) -> Result<String> {
    let mut bytes = vec![0; file.metadata()?.len() as usize];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
