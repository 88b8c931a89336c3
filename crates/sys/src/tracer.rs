//! A child that traces the thread which made it: each of its system calls stops twice, as under strace.
//!
//! The child dies with its parent, and a thread whose tracer is gone runs on untraced. Sources: ptrace(2) (PTRACE_SEIZE),
//! prctl(2) (PR_SET_PTRACER).

use super::call;
use super::child::{self, Child};
use super::shared::SharedWords;
use std::io;
use std::ptr::null_mut;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::{Duration, Instant};

/// Words of both: what the thread asks for, how many stops there were, why there can be none.
const ASKED: usize = 0;
const STOPS: usize = 1;
const REFUSAL: usize = 2;
const TRACE: u32 = 1;
const END: u32 = 2;

const PATIENCE: Duration = Duration::from_secs(5);
/// Marks a stop at a system call.
const OF_CALL: libc::c_int = libc::SIGTRAP | 0x80;

/// While it lives, the thread that made it is traced.
pub struct Tracer {
    words: SharedWords<3>,
    child: Option<Child>,
}

impl Tracer {
    pub fn of_this_thread() -> io::Result<Tracer> {
        let words = SharedWords::new()?;
        // SAFETY: takes nothing.
        let thread = unsafe { libc::gettid() };
        // SAFETY: the child makes system calls on numbers and stores into atomics only.
        let child = unsafe { child::fork(|| trace(thread, &words)) }?;
        // Where Yama lets only ancestors trace, this names one more; elsewhere there is nothing to name.
        // SAFETY: takes numbers only.
        unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::c_ulong::from(child.id()), 0, 0, 0) };
        let tracer = Tracer { words, child: Some(child) };
        tracer.words.word(ASKED).store(TRACE, Release);
        let start = Instant::now();
        while tracer.stops() == 0 {
            let refusal = tracer.words.word(REFUSAL).load(Acquire);
            if refusal != 0 {
                return Err(io::Error::from_raw_os_error(refusal as i32));
            }
            if start.elapsed() > PATIENCE {
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::yield_now();
        }
        Ok(tracer)
    }

    /// Stops at system calls so far.
    pub fn stops(&self) -> u64 {
        u64::from(self.words.word(STOPS).load(Acquire))
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.words.word(ASKED).store(END, Release);
        // One more stop, at which the child lets go.
        let _ = call::getppid();
        let _ = self.child.take().map(Child::wait);
    }
}

fn request(request: libc::c_uint, thread: libc::pid_t, data: libc::c_int) -> bool {
    // SAFETY: none of the requests that are made here reads or writes memory of ours.
    let done = unsafe { libc::ptrace(request as _, thread, null_mut::<libc::c_void>(), data as usize) };
    done != -1
}

/// The child: traces until it is told to end or the thread is gone. Only what is async-signal-safe.
fn trace(thread: libc::pid_t, words: &SharedWords<3>) -> i32 {
    while words.word(ASKED).load(Acquire) == 0 {
        // SAFETY: takes nothing.
        unsafe { libc::sched_yield() };
    }
    let seized = request(libc::PTRACE_SEIZE as _, thread, libc::PTRACE_O_TRACESYSGOOD);
    if !seized || !request(libc::PTRACE_INTERRUPT as _, thread, 0) {
        // SAFETY: the C library's own word of this thread.
        let error = unsafe { *libc::__errno_location() };
        words.word(REFUSAL).store(error.max(1) as u32, Release);
        return 1;
    }
    loop {
        let mut status = 0;
        // SAFETY: the pointer is to a live integer.
        if unsafe { libc::waitpid(thread, &raw mut status, libc::__WALL) } != thread {
            return 1;
        }
        if !libc::WIFSTOPPED(status) {
            return 0;
        }
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        if signal == OF_CALL {
            words.word(STOPS).fetch_add(1, Release);
        }
        // What is no stop of tracing is a signal of the thread's own, which it gets.
        let delivered = if signal == OF_CALL || event != 0 { 0 } else { signal };
        if words.word(ASKED).load(Relaxed) == END {
            request(libc::PTRACE_DETACH as _, thread, delivered);
            return 0;
        }
        request(libc::PTRACE_SYSCALL as _, thread, delivered);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_of_a_traced_thread_stops_twice_and_none_afterwards() {
        let traced = || {
            let tracer = match Tracer::of_this_thread() {
                Ok(tracer) => tracer,
                Err(error) => return eprintln!("skipped: nothing may trace this thread: {error}"),
            };
            let before = tracer.stops();
            (0..50).for_each(|_| assert!(call::getppid() > 0));
            assert!(tracer.stops() - before >= 100);
            drop(tracer);
            let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            assert!(status.lines().any(|line| line.split_whitespace().eq(["TracerPid:", "0"])), "{status}");
        };
        std::thread::spawn(traced).join().unwrap();
    }
}
