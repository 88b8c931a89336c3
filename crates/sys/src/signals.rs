//! Ctrl-C and its kin: noted, so that a run ends between two rounds with everything kept.
//!
//! The first signal asks; a second one ends the process at once (the kernel then ends the workers
//! and removes the namespaces).

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

static CAUGHT: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From now on SIGINT, SIGTERM and SIGHUP are noted.
pub fn catch() -> io::Result<()> {
    if CAUGHT.get().is_some() {
        return Ok(());
    }
    let caught = CAUGHT.get_or_init(Arc::default);
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(caught))?;
        flag::register(signal, Arc::clone(caught))?;
    }
    Ok(())
}

/// A file that grows past the limit of its size becomes an error that can be explained (EFBIG), instead
/// of the end of the process without a word (setrlimit(2), SIGXFSZ).
pub fn survive_file_size_limit() {
    // SAFETY: a signal is ignored from now on; no handler is involved.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// From now on every continuation of this process (SIGCONT) stays noted; to be called before it starts
/// threads. A blocked SIGCONT continues a stopped process all the same (signal(7)), and no system call
/// is interrupted by a handler.
pub fn note_continuations() {
    // SAFETY: a sigset_t is plain data, for which zeroes are valid until it is emptied; both pointers
    // are to a live one, and null asks for no former mask.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCONT);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
    }
}

/// Was this process stopped and continued since [`note_continuations`]?
pub fn was_continued() -> bool {
    // SAFETY: a sigset_t is plain data; the pointers are to a live one.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigpending(&raw mut set) == 0 && libc::sigismember(&raw const set, libc::SIGCONT) == 1
    }
}

/// Waits for SIGTERM, SIGINT or SIGHUP and reaps every child until then: what the first process of a container has to do.
pub fn idle() -> io::Result<()> {
    // SAFETY: a sigset_t is plain data, for which zeroes are valid until it is emptied; all pointers are to live ones,
    // and null asks for no former mask and no status.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in [SIGTERM, SIGINT, SIGHUP, SIGCHLD] {
            libc::sigaddset(&raw mut set, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        loop {
            while libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) > 0 {}
            let mut signal = 0;
            match libc::sigwait(&raw const set, &raw mut signal) {
                0 if signal == SIGCHLD => {}
                0 => return Ok(()),
                error => return Err(io::Error::from_raw_os_error(error)),
            }
        }
    }
}

/// Has the user asked to stop?
pub fn caught() -> bool {
    CAUGHT.get().is_some_and(|caught| caught.load(Ordering::Relaxed))
}
