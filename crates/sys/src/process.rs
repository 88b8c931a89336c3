//! Small facts and acts of processes: dying with the parent, waiting for a pipe, ending a group.
//!
//! Sources: prctl(2), poll(2), kill(2).

use crate::optional::{DIE_WITH_PARENT, OWN_GROUP, by_sandbox};
use crate::sleep::sleep;
use crate::status::done;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, set_parent_process_death_signal,
    test_kill_process, waitid,
};
use rustix::thread::set_current_timer_slack;
use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// Within which a process that has nothing more to do ends.
const TO_END: Duration = Duration::from_millis(300);

/// Asks the kernel to kill this process when the thread that started it ends, whatever it ends of.
/// Where that is refused, whoever reads from the parent still notices its end.
pub fn die_with_parent() {
    DIE_WITH_PARENT.tried(set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from));
}

/// The same for a child right after fork(2): an error where `parent` ended before it could be asked for.
pub fn die_with(parent: u32) -> io::Result<()> {
    // Allocates nothing and notes nothing: this is between fork and exec.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let lives = super::call::getppid() == i64::from(parent);
    if lives { Ok(()) } else { Err(Errno::SRCH.into()) }
}

/// Makes the calling thread's sleeps end when asked: the kernel may otherwise let them last up to 50 us
/// longer, to wake several threads at once.
pub fn sleep_exactly() {
    let _ = set_current_timer_slack(Some(NonZeroU64::MIN));
}

/// Where memory runs out, this process and those that it starts are to be ended before others
/// (proc_pid_oom_score_adj(5)): a run outlives its workers, not the other way round.
pub fn prefer_as_victim() {
    // Raising it needs no right; where /proc is not what it should be, nothing is lost.
    let _ = std::fs::write("/proc/self/oom_score_adj", "500");
}

/// From now on no memory of this process becomes huge pages, nor of what it starts (prctl(2), PR_SET_THP_DISABLE).
pub fn without_huge_pages() -> io::Result<()> {
    // SAFETY: takes numbers only.
    done(unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) })
}

/// From now on the calling thread preempts nobody when it is woken (sched(7), SCHED_BATCH).
pub fn preempt_nobody() -> io::Result<()> {
    // SAFETY: all zeroes are a valid sched_param, which outlives the call.
    done(unsafe {
        let parameters: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameters)
    })
}

/// Is this process stopped: by a signal, or by what traces it (proc_pid_stat(5))?
pub fn is_stopped(pid: u32) -> bool {
    matches!(stat_field(pid, 3).as_deref(), Some("T" | "t"))
}

/// Ticks from the boot to the start of a process that is there.
pub fn started(pid: u32) -> Option<u64> {
    stat_field(pid, 22)?.parse().ok()
}

/// This process by its number, by the namespace in which it has that number (pid_namespaces(7)), and by when it
/// was started: numbers are given again. Part of the names of what a killed process leaves.
pub fn identity() -> String {
    let pid = std::process::id();
    format!("{}-{pid}-{}", pid_namespace(), started(pid).unwrap_or(0))
}

fn pid_namespace() -> u64 {
    std::fs::metadata("/proc/self/ns/pid")
        .map_or(0, |namespace| std::os::unix::fs::MetadataExt::ino(&namespace))
}

/// Does the process of this identity live? Where it is elsewhere (in a container, say) nobody can tell; nor of
/// what is no identity.
pub fn lives(identity: &str) -> Option<bool> {
    let mut parts = identity.split('-').map(|part| part.parse::<u64>().ok());
    let (Some(Some(namespace)), Some(Some(pid)), Some(Some(began)), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return None;
    };
    let pid = u32::try_from(pid).ok().filter(|_| namespace == pid_namespace())?;
    Some(exists(pid) && !is_dead(pid) && started(pid).is_none_or(|now| now == began))
}

/// Has it ended, and only its number is there until somebody asks for its status? Where the first process reaps
/// late or never (many containers), that is long; it holds nothing any more.
fn is_dead(pid: u32) -> bool {
    matches!(stat_field(pid, 3).as_deref(), Some("Z" | "X"))
}

/// A field of proc_pid_stat(5) by its number there, after the name of the program, which is the second.
fn stat_field(pid: u32, number: usize) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(number - 3).map(str::to_string)
}

/// Starts the command in a process group of its own: Ctrl-C reaches us alone. Where a sandbox refuses the group, in ours.
pub fn spawn_apart(make: impl Fn() -> Command) -> io::Result<Child> {
    make().process_group(0).spawn().or_else(|error| {
        let alone = by_sandbox(&error).then(|| make().spawn().ok()).flatten();
        alone.inspect(|_| OWN_GROUP.refused(&error)).ok_or(error)
    })
}

/// The same of a command that is prepared between fork and exec anyway.
pub fn apart_on_exec(command: &mut Command) {
    let leave = || {
        // SAFETY: takes numbers only.
        unsafe { libc::setpgid(0, 0) };
        Ok(())
    };
    // SAFETY: between fork and exec only setpgid is called.
    unsafe { command.pre_exec(leave) };
}

/// Makes the command end when the thread that starts it does, whatever it ends of.
pub fn die_with_parent_on_exec(command: &mut Command) {
    let parent = std::process::id();
    let ask = move || die_with(parent);
    // SAFETY: between fork and exec only prctl and getppid are called, with numbers.
    unsafe { command.pre_exec(ask) };
}

/// What the command starts keeps this open descriptor, under the same number.
pub fn inherit_on_exec(command: &mut Command, number: std::os::fd::RawFd) {
    // SAFETY: a number and a flag; a descriptor that is not open is an error.
    let keep = move || done(unsafe { libc::fcntl(number, libc::F_SETFD, 0) });
    // SAFETY: between fork and exec only fcntl is called, with numbers.
    unsafe { command.pre_exec(keep) };
}

/// Returns what standard output was; from now on what is written there goes to standard error, and is lost where nobody
/// reads it in time.
pub fn keep_output_apart() -> io::Result<File> {
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    rustix::fs::fcntl_setfl(io::stderr(), OFlags::NONBLOCK)?;
    // SAFETY: both are open in every process of ours; what is in the buffer of standard output was written with its frame.
    done(unsafe { libc::dup2(libc::STDERR_FILENO, libc::STDOUT_FILENO) })?;
    Ok(File::from(output))
}

/// Ends the process at once, without running destructors (from a thread that is not the main one).
pub fn exit_now(status: i32) -> ! {
    // SAFETY: _exit never returns and needs nothing.
    unsafe { libc::_exit(status) }
}

/// Is there a process of this number (also one that has ended and is not yet waited for)?
pub fn exists(pid: u32) -> bool {
    number(pid).is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

fn number(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

/// Of the signals that end processes, by signal(7).
pub fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        libc::SIGHUP => "SIGHUP",
        libc::SIGINT => "SIGINT",
        libc::SIGILL => "SIGILL",
        libc::SIGABRT => "SIGABRT",
        libc::SIGBUS => "SIGBUS",
        libc::SIGKILL => "SIGKILL",
        libc::SIGSEGV => "SIGSEGV",
        libc::SIGTERM => "SIGTERM",
        libc::SIGXCPU => "SIGXCPU: a limit of CPU time, ulimit -t",
        libc::SIGSYS => "SIGSYS: a seccomp filter",
        _ => return None,
    })
}

/// The signal that ended a child of ours which has not been waited for, and is not waited for here.
pub fn ended_by_signal(child: u32) -> Option<i32> {
    end_of(child)?.terminating_signal()
}

/// Does a child of ours end within a moment? It is not reaped: its number stays its own.
pub fn ends_soon(child: u32) -> bool {
    let until = Instant::now() + TO_END;
    while end_of(child).is_none() && Instant::now() < until {
        sleep(Duration::from_millis(1));
    }
    end_of(child).is_some()
}

/// How a child of ours ended, if it has; asked without waiting for it.
fn end_of(child: u32) -> Option<WaitIdStatus> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(number(child)?), options).ok()?
}

/// Waits until the descriptor can be read (or is closed); false after `limit`, or a signal.
pub fn wait_readable(fd: impl AsFd, limit: Duration) -> io::Result<bool> {
    poll_until(&mut [PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)], limit)
}

/// Waits until any of the descriptors can be read (or is closed), and says which; none of them after
/// `limit`, or a signal.
pub fn wait_for_any(fds: &[BorrowedFd<'_>], limit: Duration) -> io::Result<Vec<bool>> {
    let mut polls: Vec<PollFd<'_>> =
        fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    poll_until(&mut polls, limit)?;
    Ok(polls.iter().map(|poll| !poll.revents().is_empty()).collect())
}

/// Allocates nothing: a forked child calls it.
fn poll_until(polls: &mut [PollFd<'_>], limit: Duration) -> io::Result<bool> {
    match poll(polls, Timespec::try_from(limit).ok().as_ref()) {
        Err(Errno::INTR) => Ok(false),
        ready => Ok(ready? > 0),
    }
}

/// What a process has used so far (getrusage(2)); zeros where the kernel does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessUsage {
    pub cpu_ns: u64,
    /// The most memory that was resident at once.
    pub peak_bytes: u64,
}

impl ProcessUsage {
    pub fn by_this_process() -> ProcessUsage {
        ProcessUsage::by(libc::RUSAGE_SELF)
    }

    /// By the children that it waited for: their CPU time together, and the memory of the largest.
    pub fn by_children() -> ProcessUsage {
        ProcessUsage::by(libc::RUSAGE_CHILDREN)
    }

    fn by(whom: libc::c_int) -> ProcessUsage {
        let time = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1000;
        super::clock::usage(whom).map_or(ProcessUsage::default(), |usage| ProcessUsage {
            cpu_ns: time(usage.ru_utime) + time(usage.ru_stime),
            peak_bytes: usage.ru_maxrss as u64 * 1024,
        })
    }
}

/// Kills a process group that this process made for a child it has not reaped yet.
pub fn kill_group(leader: u32) {
    // The leader is unreaped, so the number is not reused.
    let _ = number(leader).map(|leader| kill_process_group(leader, Signal::KILL));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends a child, and waits until it has ended, but not for it.
    fn end_unreaped(child: &mut std::process::Child) {
        child.kill().unwrap();
        assert!(ends_soon(child.id()));
    }

    #[test]
    fn a_process_is_gone_when_its_number_is_another_s() {
        assert_eq!(lives(&identity()), Some(true), "it asks");
        let (namespace, own) = (pid_namespace(), std::process::id());
        assert_eq!(lives(&format!("{namespace}-{own}-7")), Some(false), "of another start");
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert_eq!(lives(&format!("{namespace}-{}-7", child.id())), Some(false));
        let elsewhere = format!("{}-{}-7", namespace + 1, child.id());
        for unknown in [elsewhere.as_str(), "", "12", "1-2", "1-2-3-4", "a-b-c", "1-99999999999-1"] {
            assert_eq!(lives(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn a_process_that_nobody_has_waited_for_lives_no_more() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let identity = format!("{}-{}-{}", pid_namespace(), child.id(), started(child.id()).unwrap());
        assert_eq!(lives(&identity), Some(true));
        end_unreaped(&mut child);
        assert!(exists(child.id()), "not reaped");
        assert_eq!(lives(&identity), Some(false));
        child.wait().unwrap();
    }

    #[test]
    fn the_end_of_a_child_is_seen_before_it_is_reaped() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        assert!(ended_by_signal(child.id()).is_none() && !ends_soon(child.id()), "it runs");
        assert!(exists(child.id()));
        end_unreaped(&mut child);
        assert_eq!(ended_by_signal(child.id()), Some(libc::SIGKILL));
        assert!(exists(child.id()), "not reaped");
        child.wait().unwrap();
        assert!(!exists(child.id()) && ended_by_signal(child.id()).is_none());
        assert!(exists(1) && !exists(0) && !exists(u32::MAX));
    }
}
