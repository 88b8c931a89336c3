//! Child processes: in a namespace, on one CPU, with a deadline, and never left behind.
//!
//! Each child leads its own process group, which is killed when its handle is dropped, and asks the
//! kernel to be killed when this program dies (PR_SET_PDEATHSIG), also by SIGKILL. Tools are run
//! with their do-not-fork flags, because that request is not inherited by their children. Output
//! goes to anonymous files, so that no tool ever blocks on a full pipe.

use crate::namespace;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A namespace and a CPU.
#[derive(Clone, Copy, Debug)]
pub struct Seat {
    pub namespace: RawFd,
    pub cpu: usize,
}

/// The user asked to stop (SIGINT, SIGTERM, SIGHUP).
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// What a finished child left.
#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// A command that will run in a seat.
pub fn command(program: impl AsRef<std::ffi::OsStr>, seat: Seat) -> Command {
    let parent = std::process::id();
    started_by(program, move || {
        namespace::enter(seat.namespace)?;
        pin(&[seat.cpu])?;
        die_with(parent)
    })
}

/// A command that will run on these CPUs, in the namespace of this program.
pub fn command_on(program: impl AsRef<std::ffi::OsStr>, cpus: Vec<usize>) -> Command {
    let parent = std::process::id();
    started_by(program, move || {
        pin(&cpus)?;
        die_with(parent)
    })
}

fn started_by(
    program: impl AsRef<std::ffi::OsStr>,
    enter: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).process_group(0).env("LC_ALL", "C");
    // SAFETY: between fork and exec the closures above make bare system calls and allocate nothing.
    unsafe { command.pre_exec(enter) };
    command
}

fn pin(cpus: &[usize]) -> io::Result<()> {
    // SAFETY: a CPU set is plain bits, for which zero is a value; CPU_SET checks its bounds.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        cpus.iter().for_each(|cpu| libc::CPU_SET(*cpu, &mut set));
        set
    };
    // SAFETY: the pointer and size describe the set; 0 is the calling thread.
    if unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn die_with(parent: u32) -> io::Result<()> {
    // SAFETY: both take and return numbers only.
    let orphaned = unsafe {
        if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) < 0 {
            return Err(io::Error::last_os_error());
        }
        libc::getppid() as u32 != parent
    };
    if orphaned { Err(io::Error::from_raw_os_error(libc::ESRCH)) } else { Ok(()) }
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
        let (stdout, stderr) = (anonymous_file()?, anonymous_file()?);
        command.stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn().with_context(|| format!("cannot start {program}"))?;
        let exit = pidfd(child.id())?;
        Ok(Running { child, exit, stdout, stderr })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end, at most until the deadline; an interruption ends the wait with [`Interrupted`].
    pub fn finish(&mut self, deadline: Instant, stop: &AtomicBool) -> Result<Finished> {
        loop {
            if stop.load(Ordering::Relaxed) {
                bail!(Interrupted);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if wait_readable(&self.exit, left.min(Duration::from_millis(200)))? {
                let status = self.child.wait()?;
                return Ok(Finished {
                    status,
                    stdout: read_all(&self.stdout)?,
                    stderr: read_all(&self.stderr)?,
                });
            }
            if left.is_zero() {
                bail!("did not end in time");
            }
        }
    }

    pub fn has_ended(&self) -> Result<bool> {
        wait_readable(&self.exit, Duration::ZERO)
    }

    /// What it has written so far, both streams, for error messages.
    pub fn said(&self) -> String {
        let both = [read_all(&self.stdout), read_all(&self.stderr)];
        both.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // SAFETY: takes numbers only; the child is not reaped yet, so its group's number is ours.
            unsafe { libc::kill(-(self.child.id() as libc::pid_t), libc::SIGKILL) };
            let _ = self.child.wait();
        }
    }
}

/// `exit 1` or `killed by signal 9`.
pub fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => "ended".into(),
    }
}

fn anonymous_file() -> Result<File> {
    // SAFETY: the name is a C string; the descriptor returned is new and owned by nobody else.
    let fd = unsafe { libc::memfd_create(c"peers".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error()).context("memfd_create");
    }
    // SAFETY: as above.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// Reads without moving the file's position, which the child shares.
fn read_all(file: &File) -> Result<String> {
    let mut bytes = vec![0; file.metadata()?.len() as usize];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn pidfd(pid: u32) -> Result<OwnedFd> {
    // SAFETY: takes numbers only; the descriptor returned is new.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error()).context("pidfd_open");
    }
    // SAFETY: as above.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as RawFd) })
}

/// Polls a descriptor; a signal counts as "not yet".
fn wait_readable(fd: &OwnedFd, limit: Duration) -> Result<bool> {
    let mut wanted = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: the pointer describes one live entry.
    let ready = unsafe { libc::poll(&mut wanted, 1, limit.as_millis() as libc::c_int) };
    if ready < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
        return Err(io::Error::last_os_error()).context("poll");
    }
    Ok(ready > 0)
}
