//! The system calls of a command and of all that it starts, counted by tracing it: in a run of its own, which nobody times.
//!
//! Sources: ptrace(2) (PTRACE_GET_SYSCALL_INFO, Linux 5.3), wait4(2).

use crate::command::{CommandEnd, end_of};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;

const FOLLOWED: libc::c_int = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_EXITKILL;
const AT_A_CALL: libc::c_int = libc::SIGTRAP | 0x80;

/// Runs it to its end. What it started and left running ends with this process. An error says that nothing may be traced here.
pub fn count_calls(command: &mut Command) -> io::Result<(u64, CommandEnd)> {
    // SAFETY: ptrace(2) is async-signal-safe and takes numbers only.
    let traced = unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        })
    };
    let child = traced.spawn()?;
    let first = child.id() as libc::pid_t;
    let (mut calls, mut is_followed) = (0, false);
    loop {
        let (pid, status) = wait()?;
        if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
            if pid == first {
                return Ok((calls, end_of(status)));
            }
            continue;
        }
        if !is_followed {
            trace(libc::PTRACE_SETOPTIONS, pid, FOLLOWED as usize)?;
            is_followed = true;
        }
        let stopped_by = libc::WSTOPSIG(status);
        let is_call = stopped_by == AT_A_CALL;
        calls += u64::from(is_call && is_entry(pid)?);
        // Stops of the tracing itself are nothing that the program is to see; a new process begins with one.
        let is_own = is_call || stopped_by == libc::SIGTRAP || stopped_by == libc::SIGSTOP;
        let resumed = trace(libc::PTRACE_SYSCALL, pid, if is_own { 0 } else { stopped_by as usize });
        // Another thread may have ended the process meanwhile.
        resumed
            .or_else(|error| if error.raw_os_error() == Some(libc::ESRCH) { Ok(()) } else { Err(error) })?;
    }
}

/// Children of this thread alone: others are not traced, and waited for by whoever made them.
fn wait() -> io::Result<(libc::pid_t, libc::c_int)> {
    let mut status = 0;
    loop {
        // SAFETY: the pointer is to a live integer.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
        let error = io::Error::last_os_error();
        match pid {
            1.. => return Ok((pid, status)),
            _ if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return Err(error),
        }
    }
}

fn trace(request: libc::c_uint, pid: libc::pid_t, data: usize) -> io::Result<()> {
    // SAFETY: these requests take numbers only.
    match unsafe { libc::ptrace(request, pid, ptr::null_mut::<libc::c_void>(), data) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Is the stop at the beginning of a call, rather than at its end?
fn is_entry(pid: libc::pid_t) -> io::Result<bool> {
    // SAFETY: a ptrace_syscall_info is plain data of the size that is told, and the pointer is to a live one.
    let (told, info) = unsafe {
        let mut info: libc::ptrace_syscall_info = std::mem::zeroed();
        let bytes = size_of::<libc::ptrace_syscall_info>();
        (libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, pid, bytes, &raw mut info), info)
    };
    match told {
        1.. => Ok(info.op == libc::PTRACE_SYSCALL_INFO_ENTRY),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(script: &str) -> Option<(u64, CommandEnd)> {
        let counted = count_calls(Command::new("/bin/sh").args(["-c", script]));
        counted.inspect_err(|error| eprintln!("skipped: nothing may be traced here: {error}")).ok()
    }

    #[test]
    fn calls_are_counted_with_those_of_children() {
        let Some((none, end)) = counted("exit 4") else { return };
        assert_eq!(end, CommandEnd::Status(4));
        assert_eq!(counted("exit 4"), Some((none, end)), "the same twice");
        let (with_a_child, _) = counted("/bin/true; exit 4").unwrap();
        assert!(with_a_child > none + 5, "{with_a_child} and {none}");
        assert_eq!(counted("kill -9 $$").unwrap().1, CommandEnd::Signal(9));
    }
}
