//! A signal that a thread sends to itself: handlers installed, the signal delivered, held back and let through.
//!
//! SIGUSR2, which nothing else here uses. Sources: sigaction(2), tgkill(2), sigprocmask(2), signal-safety(7).

use crate::status::done;
use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const SIGNAL: libc::c_int = libc::SIGUSR2;

static CAUGHT: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

extern "C" fn first(_: libc::c_int) {
    CAUGHT[0].fetch_add(1, Relaxed);
}

extern "C" fn second(_: libc::c_int) {
    CAUGHT[1].fetch_add(1, Relaxed);
}

/// One object, so that both have one address each: a function may be compiled into each place that inlines its user.
static HANDLERS: [extern "C" fn(libc::c_int); 2] = [first, second];

/// How often each of the two handlers has run, in any thread of the process.
pub fn caught() -> [u64; 2] {
    [CAUGHT[0].load(Relaxed), CAUGHT[1].load(Relaxed)]
}

/// One sigaction(2): installs one of the two handlers. Says which of them was there before.
#[inline]
pub fn install(handler: usize) -> io::Result<Option<usize>> {
    // SAFETY: plain data, for which zeroes are valid: no flags and an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = HANDLERS[handler] as *const () as libc::sighandler_t;
    let mut before = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: both pointers are to live structures; the handlers only add to an atomic.
    done(unsafe { libc::sigaction(SIGNAL, &raw const action, before.as_mut_ptr()) })?;
    // SAFETY: the call succeeded and filled it in.
    let before = unsafe { before.assume_init() }.sa_sigaction;
    Ok(HANDLERS.iter().position(|handler| *handler as *const () as libc::sighandler_t == before))
}

/// The calling thread, as the one that the signal is sent to.
#[derive(Clone, Copy, Debug)]
pub struct SelfTarget {
    process: libc::pid_t,
    thread: libc::pid_t,
}

impl SelfTarget {
    pub fn of_this_thread() -> SelfTarget {
        // SAFETY: both take nothing and touch no memory of ours.
        unsafe {
            SelfTarget { process: libc::getpid(), thread: libc::syscall(libc::SYS_gettid) as libc::pid_t }
        }
    }

    /// One tgkill(2). Unless it is held back, the handler has run when this returns.
    #[inline]
    pub fn send(self) -> bool {
        // SAFETY: takes numbers only; a handler is installed before anything is sent.
        unsafe { libc::syscall(libc::SYS_tgkill, self.process, self.thread, SIGNAL) == 0 }
    }
}

/// One rt_sigprocmask(2) of the calling thread: holds the signal back, or lets it through. Says whether it was held
/// back before; `None`: the call failed.
#[inline]
pub fn hold_back(hold: bool) -> Option<bool> {
    let how = if hold { libc::SIG_BLOCK } else { libc::SIG_UNBLOCK };
    let (set, mut before) = (1u64 << (SIGNAL - 1), 0u64);
    // SAFETY: both pointers are to live sets of the 64 signals that the kernel has, and this is their size.
    let result = unsafe {
        libc::syscall(libc::SYS_rt_sigprocmask, how, &raw const set, &raw mut before, size_of::<u64>())
    };
    (result == 0).then_some(before & set != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_handler_that_is_installed_runs_unless_the_signal_is_held_back() {
        install(0).unwrap();
        assert_eq!(install(1).unwrap(), Some(0));
        let me = SelfTarget::of_this_thread();
        let before = caught();
        assert!(me.send());
        assert_eq!(caught(), [before[0], before[1] + 1]);
        assert_eq!(hold_back(true), Some(false));
        assert!(me.send());
        assert_eq!(caught()[1], before[1] + 1, "held back");
        assert_eq!(hold_back(false), Some(true));
        assert_eq!(caught()[1], before[1] + 2, "let through");
    }
}
