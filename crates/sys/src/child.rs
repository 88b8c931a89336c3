//! Making and reaping child processes in every way that Linux has, without the standard library.
//!
//! A child made by fork in a process of several threads may call async-signal-safe functions only:
//! no allocation, no locks, no output. Children die with their parent. Sources: fork(2), clone(2),
//! vfork(2), posix_spawn(3), execve(2), wait(2), signal-safety(7).

use std::ffi::{CStr, c_char, c_int, c_void};
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

/// Status of a child that could not execute its program, as shells have it.
const NOT_EXECUTED: c_int = 127;

/// Between two looks at whether a thread has ended.
const PATIENCE_NS: u64 = 1_000_000_000;

/// Status of a child whose parent was gone before it began.
const ORPHANED: c_int = 3;

/// A child that has not been waited for. Dropping it kills and reaps it.
#[derive(Debug)]
pub struct Child {
    pid: Option<libc::pid_t>,
}

impl Child {
    /// Waits for its end; its exit status, or an error if a signal ended it.
    pub fn wait(mut self) -> io::Result<i32> {
        let pid = self.pid.take().expect("waited for once");
        reap(pid)
    }

    pub fn id(&self) -> u32 {
        self.pid.map_or(0, |pid| pid as u32)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if let Some(pid) = self.pid {
            // SAFETY: takes numbers only; the child is unreaped, so the number is still its own.
            unsafe { libc::kill(pid, libc::SIGKILL) };
            let _ = reap(pid);
        }
    }
}

/// Forks a child that runs `body` and exits with what it returns.
///
/// # Safety
/// `body` runs in a copy of the calling thread alone: it may call only what is async-signal-safe,
/// and must not unwind.
pub unsafe fn fork(body: impl FnOnce() -> i32) -> io::Result<Child> {
    let parent = i64::from(std::process::id());
    // SAFETY: the caller vouches for what the child does; it never returns from here.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            super::process::die_with_parent();
            // A parent that ended before it could be asked for leaves nobody to wait for.
            let orphaned = super::call::getppid() != parent;
            super::process::exit_now(if orphaned { ORPHANED } else { body() })
        }
        pid => Ok(Child { pid: Some(pid) }),
    }
}

/// fork, a child that exits at once with `status`, and waiting for it.
#[inline]
pub fn fork_exit_wait(status: i32) -> io::Result<i32> {
    // SAFETY: the child only calls _exit.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => super::process::exit_now(status),
        pid => reap(pid),
    }
}

/// fork, a child that executes a program, and waiting for it.
#[inline]
pub fn fork_exec_wait(program: &CStr) -> io::Result<i32> {
    let (arguments, environment) = ([program.as_ptr(), ptr::null()], NO_ENVIRONMENT);
    // SAFETY: the child only calls execve and _exit; all pointers are to live, terminated arrays.
    unsafe {
        match libc::fork() {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr());
                libc::_exit(NOT_EXECUTED)
            }
            pid => reap(pid),
        }
    }
}

/// A child in this process's memory that exits at once with `status`, while this thread waits: what
/// vfork does, by the clone call that it is, on a stack of its own (which a compiler can take).
#[inline]
pub fn vfork_exit_wait(stack: &mut [u8], status: i32) -> io::Result<i32> {
    extern "C" fn exit(status: *mut c_void) -> c_int {
        // SAFETY: the pointer is to the parent's number; the parent waits in clone.
        unsafe { libc::_exit(*status.cast::<i32>()) }
    }
    let top = stack.as_mut_ptr_range().end;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack is borrowed for the child's whole life, which ends before clone returns; its
    // top is aligned down below. The child runs while this thread is stopped, on a number that outlives it.
    let pid = unsafe {
        let top = top.sub(top as usize % 16);
        libc::clone(exit, top.cast(), flags, (&raw const status).cast_mut().cast())
    };
    if pid < 0 { Err(io::Error::last_os_error()) } else { reap(pid) }
}

/// A thread without the C library: a clone that shares everything, ends at once, and is waited for by the word that
/// the kernel clears when it is gone.
#[inline]
pub fn thread_exit_wait(stack: &mut [u8]) -> io::Result<()> {
    extern "C" fn end(_: *mut c_void) -> c_int {
        0
    }
    const SHARED: c_int = libc::CLONE_VM | libc::CLONE_FS | libc::CLONE_FILES | libc::CLONE_SIGHAND;
    const LIKE_A_THREAD: c_int = libc::CLONE_THREAD | libc::CLONE_SYSVSEM;
    const TOLD: c_int = libc::CLONE_PARENT_SETTID | libc::CLONE_CHILD_CLEARTID;
    let id = AtomicU32::new(0);
    let top = stack.as_mut_ptr_range().end;
    // SAFETY: stack and word live until the kernel has cleared the word, after the thread's last instruction on
    // them; the thread runs one function that returns, so it touches no thread-local memory.
    let made = unsafe {
        let top = top.sub(top as usize % 16);
        let none = ptr::null_mut::<c_void>();
        libc::clone(end, top.cast(), SHARED | LIKE_A_THREAD | TOLD, none, id.as_ptr(), none, id.as_ptr())
    };
    if made < 0 {
        return Err(io::Error::last_os_error());
    }
    loop {
        match id.load(Ordering::Acquire) {
            0 => return Ok(()),
            running => _ = super::call::futex_wait(&id, running, true, PATIENCE_NS),
        }
    }
}

/// posix_spawn of a program, and waiting for it.
#[inline]
pub fn spawn_wait(program: &CStr) -> io::Result<i32> {
    spawn_words_wait(program, &[program])
}

/// The same with words, of which the first is the name that the program gets: eight at most.
#[inline]
pub fn spawn_words_wait(program: &CStr, words: &[&CStr]) -> io::Result<i32> {
    let mut arguments = [ptr::null(); 9];
    arguments.iter_mut().zip(words.iter().take(8)).for_each(|(place, word)| *place = word.as_ptr());
    let environment = NO_ENVIRONMENT;
    let mut pid = 0;
    // SAFETY: all pointers are to live, terminated arrays; null asks for no actions and attributes.
    let error = unsafe {
        let (arguments, environment) = (arguments.as_ptr(), environment.as_ptr());
        let (arguments, environment) = (arguments.cast::<*mut c_char>(), environment.cast::<*mut c_char>());
        libc::posix_spawn(&raw mut pid, program.as_ptr(), ptr::null(), ptr::null(), arguments, environment)
    };
    if error != 0 { Err(io::Error::from_raw_os_error(error)) } else { reap(pid) }
}

const NO_ENVIRONMENT: [*const c_char; 1] = [ptr::null()];

/// Waits for a child; its exit status, or an error if a signal ended it.
fn reap(pid: libc::pid_t) -> io::Result<i32> {
    let mut status = 0;
    loop {
        // SAFETY: the pointer is to a live integer.
        if unsafe { libc::waitpid(pid, &raw mut status, 0) } == pid {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    if libc::WIFEXITED(status) {
        return Ok(libc::WEXITSTATUS(status));
    }
    Err(io::Error::other(format!("signal {} ended the child", libc::WTERMSIG(status))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_makes_a_child_that_ends_as_told() {
        assert_eq!(fork_exit_wait(3).unwrap(), 3);
        assert_eq!(vfork_exit_wait(&mut [0; 16384], 4).unwrap(), 4);
        let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
        let mut stack = [0; 16384];
        (0..100).for_each(|_| thread_exit_wait(&mut stack).unwrap());
        assert!(threads() < 100, "every thread has ended");
        for (program, status) in [(c"/bin/true", 0), (c"/bin/false", 1)] {
            assert_eq!(fork_exec_wait(program).unwrap(), status);
            assert_eq!(spawn_wait(program).unwrap(), status);
        }
    }

    #[test]
    fn a_program_that_is_not_there_is_no_success() {
        assert_eq!(fork_exec_wait(c"/no/such/program").unwrap(), NOT_EXECUTED);
        let spawned = spawn_wait(c"/no/such/program");
        assert!(spawned.is_err() || spawned.is_ok_and(|status| status == NOT_EXECUTED));
    }

    #[test]
    fn a_child_that_is_given_up_is_gone() {
        // SAFETY: the child only pauses.
        let child = unsafe {
            fork(|| {
                libc::pause();
                0
            })
        };
        let child = child.unwrap();
        let folder = format!("/proc/{}", child.id());
        assert!(std::path::Path::new(&folder).exists());
        drop(child);
        assert!(!std::path::Path::new(&folder).exists(), "killed and reaped");
    }
}
