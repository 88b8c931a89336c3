//! Somebody's command as a process of its own: timed from before it is made until it has ended, with what the kernel
//! counted of it.
//!
//! It is made by clone(2) as vfork makes one, so that the memory of this process does not matter, and dies with its parent.
//! Sources: clone(2), vfork(2), prctl(2) (PR_SET_PDEATHSIG), wait4(2), getrusage(2).

use crate::clock::monotonic_ns;
use std::ffi::{CString, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

/// Status of a child that could not execute its program, as shells have it.
const NOT_EXECUTED: c_int = 127;
/// Of the child between its start and its program: it calls four functions.
const STACK_BYTES: usize = 64 << 10;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    Status(i32),
    Signal(i32),
}

/// One run of a command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommandUsage {
    /// When it was begun, by CLOCK_MONOTONIC.
    pub start_ns: u64,
    pub wall_ns: f64,
    pub user_ns: f64,
    pub system_ns: f64,
    /// The largest resident set; never less than what this process had when it made the child.
    pub peak_bytes: f64,
    pub switches: f64,
    pub faults: f64,
    pub end: CommandEnd,
}

/// A program with its arguments, ready to be started as often as asked.
pub struct CommandLaunch {
    program: CString,
    words: Vec<CString>,
    stack: Vec<u8>,
    input: OwnedFd,
    output: Option<OwnedFd>,
}

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// What the child is told, and what it says where it cannot begin.
struct Begun {
    program: *const c_char,
    words: *const *const c_char,
    input: c_int,
    output: Option<c_int>,
    error: c_int,
}

impl CommandLaunch {
    /// Its standard input is empty; standard output and error go nowhere, or where this process's go.
    pub fn new(program: CString, words: Vec<CString>, shown: bool) -> io::Result<CommandLaunch> {
        let open = || {
            Ok::<_, io::Error>(OwnedFd::from(
                std::fs::File::options().read(true).write(true).open("/dev/null")?,
            ))
        };
        let output = if shown { None } else { Some(open()?) };
        Ok(CommandLaunch { program, words, stack: vec![0; STACK_BYTES], input: open()?, output })
    }

    /// Starts it and waits for its end. `started` is told its number, and 0 before it is reaped.
    pub fn run(&mut self, started: impl Fn(i32)) -> io::Result<CommandUsage> {
        let words: Vec<*const c_char> =
            self.words.iter().map(|word| word.as_ptr()).chain([ptr::null()]).collect();
        let mut begun = Begun {
            program: self.program.as_ptr(),
            words: words.as_ptr(),
            input: self.input.as_raw_fd(),
            output: self.output.as_ref().map(OwnedFd::as_raw_fd),
            error: 0,
        };
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        let top = self.stack.as_mut_ptr_range().end;
        let start = monotonic_ns();
        // SAFETY: this thread is stopped until the child has executed its program or ended; the child runs on a stack of
        // its own, aligned down, and every pointer that it is given outlives that.
        let pid =
            unsafe { libc::clone(begin, top.sub(top as usize % 16).cast(), flags, (&raw mut begun).cast()) };
        if pid < 0 {
            return Err(io::Error::last_os_error());
        }
        started(pid);
        let ended = wait_until_ended(pid);
        let wall_ns = (monotonic_ns() - start) as f64;
        started(0);
        let usage = CommandUsage { start_ns: start, ..reap(pid, wall_ns)? };
        ended?;
        if begun.error != 0 { Err(io::Error::from_raw_os_error(begun.error)) } else { Ok(usage) }
    }
}

/// In the child: what this process ignores is not ignored in the program.
extern "C" fn begin(begun: *mut c_void) -> c_int {
    // SAFETY: the pointer is to the parent's value, which outlives the child's use of it: the parent waits. Every function
    // called here is async-signal-safe, and changes the child's own dispositions and descriptors only.
    unsafe {
        let begun = &mut *begun.cast::<Begun>();
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        libc::signal(libc::SIGXFSZ, libc::SIG_DFL);
        libc::dup2(begun.input, libc::STDIN_FILENO);
        if let Some(output) = begun.output {
            libc::dup2(output, libc::STDOUT_FILENO);
            libc::dup2(output, libc::STDERR_FILENO);
        }
        libc::execve(begun.program, begun.words, environ);
        begun.error = *libc::__errno_location();
        libc::_exit(NOT_EXECUTED)
    }
}

/// The end of a child that stays to be reaped, so that its number is still its own.
fn wait_until_ended(pid: libc::pid_t) -> io::Result<()> {
    loop {
        // SAFETY: a siginfo_t is plain data, and the pointer is to a live one.
        let waited = unsafe {
            let mut told: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(libc::P_PID, pid as libc::id_t, &raw mut told, libc::WEXITED | libc::WNOWAIT)
        };
        let error = io::Error::last_os_error();
        match waited {
            0 => return Ok(()),
            _ if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return Err(error),
        }
    }
}

fn reap(pid: libc::pid_t, wall_ns: f64) -> io::Result<CommandUsage> {
    let mut status = 0;
    // SAFETY: a rusage is plain data; both pointers are to live values.
    let (reaped, used) = unsafe {
        let mut used: libc::rusage = std::mem::zeroed();
        (libc::wait4(pid, &raw mut status, 0, &raw mut used), used)
    };
    if reaped != pid {
        return Err(io::Error::last_os_error());
    }
    let ns = |time: libc::timeval| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3;
    Ok(CommandUsage {
        start_ns: 0,
        wall_ns,
        user_ns: ns(used.ru_utime),
        system_ns: ns(used.ru_stime),
        peak_bytes: used.ru_maxrss as f64 * 1024.0,
        switches: (used.ru_nvcsw + used.ru_nivcsw) as f64,
        faults: (used.ru_minflt + used.ru_majflt) as f64,
        end: end_of(status),
    })
}

pub(crate) fn end_of(status: c_int) -> CommandEnd {
    if libc::WIFSIGNALED(status) {
        CommandEnd::Signal(libc::WTERMSIG(status))
    } else {
        CommandEnd::Status(libc::WEXITSTATUS(status))
    }
}

/// Ends a process that [`CommandLaunch::run`] told of and has not reaped.
pub fn kill(pid: i32) {
    // SAFETY: takes numbers only.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(words: &[&str]) -> CommandLaunch {
        let words: Vec<CString> = words.iter().map(|word| CString::new(*word).unwrap()).collect();
        CommandLaunch::new(words[0].clone(), words, false).unwrap()
    }

    #[test]
    fn a_command_is_timed_and_told_by_its_end() {
        let mut sleeps = launch(&["/bin/sh", "-c", "sleep 0.05; exit 3"]);
        let run = sleeps.run(|_| ()).unwrap();
        assert_eq!(run.end, CommandEnd::Status(3));
        assert!(run.wall_ns >= 5e7 && run.switches >= 1.0 && run.faults >= 1.0, "{run:?}");
        assert_eq!(launch(&["/bin/sh", "-c", "kill -9 $$"]).run(|_| ()).unwrap().end, CommandEnd::Signal(9));
        assert_eq!(launch(&["/no/such/program"]).run(|_| ()).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn what_hangs_is_ended_by_its_number() {
        let run = launch(&["/bin/sleep", "60"])
            .run(|pid| {
                if pid > 0 {
                    kill(pid)
                }
            })
            .unwrap();
        assert_eq!(run.end, CommandEnd::Signal(libc::SIGKILL));
    }
}
