//! Ways to pass a token to another thread or process that sleeps until it comes.
//!
//! A wire only passes: it knows nothing of CPUs, clocks or how often. Its operations are
//! async-signal-safe, because one end may be a forked child. Sources: pipe(7), eventfd(2),
//! futex(2), sched_yield(2).

use rustix::event::{EventfdFlags, eventfd};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::{Duration, Instant};
use syscost_sys::call;
use syscost_sys::pipe::pipe;
use syscost_sys::shared::SharedWords;

/// How long a sleeping end waits at most where the call can say so.
const PATIENCE_NS: u64 = 5_000_000_000;
/// Times that an end yields between two looks at the clock.
const YIELDS: usize = 1000;

/// Which of the two directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenPath {
    There,
    Back,
}

pub trait Wire: Sync {
    /// Both directions; `processes`: the other end will be a forked child.
    fn new(processes: bool) -> io::Result<Self>
    where
        Self: Sized;

    /// Passes a token; false where that failed.
    fn give(&self, way: TokenPath, token: u8) -> bool;

    /// Sleeps until the token after `before` comes; `None` where that failed.
    fn take(&self, way: TokenPath, before: u8) -> Option<u8>;

    /// Giving and taking once by one thread, without anybody to wake or to wait for: what is
    /// subtracted.
    fn alone(&self) -> bool;
}

/// A pipe for each direction, and one of its own.
pub struct Pipes([(File, File); 3]);

impl Wire for Pipes {
    fn new(_: bool) -> io::Result<Pipes> {
        Ok(Pipes([pipe()?, pipe()?, pipe()?]))
    }

    #[inline]
    fn give(&self, way: TokenPath, token: u8) -> bool {
        call::write(&self.0[way as usize].1, &[token]) == 1
    }

    #[inline]
    fn take(&self, way: TokenPath, _: u8) -> Option<u8> {
        let mut token = [0];
        (call::read(&self.0[way as usize].0, &mut token) == 1).then_some(token[0])
    }

    #[inline]
    fn alone(&self) -> bool {
        let (reader, writer) = &self.0[2];
        let mut token = [0];
        call::write(writer, &[1]) == 1 && call::read(reader, &mut token) == 1
    }
}

/// A counter for each direction, and one of its own; its value is the token.
pub struct Eventfds([OwnedFd; 3]);

impl Wire for Eventfds {
    fn new(_: bool) -> io::Result<Eventfds> {
        let counter = || eventfd(0, EventfdFlags::CLOEXEC);
        Ok(Eventfds([counter()?, counter()?, counter()?]))
    }

    #[inline]
    fn give(&self, way: TokenPath, token: u8) -> bool {
        call::write(&self.0[way as usize], &u64::from(token).to_ne_bytes()) == 8
    }

    #[inline]
    fn take(&self, way: TokenPath, _: u8) -> Option<u8> {
        let mut value = [0; 8];
        let whole = call::read(&self.0[way as usize], &mut value) == 8;
        u8::try_from(u64::from_ne_bytes(value)).ok().filter(|_| whole)
    }

    #[inline]
    fn alone(&self) -> bool {
        let mut value = [0; 8];
        let one = 1u64.to_ne_bytes();
        call::write(&self.0[2], &one) == 8 && call::read(&self.0[2], &mut value) == 8
    }
}

/// A word for each direction, and one of its own; its value is the token given last.
pub struct Futexes {
    words: SharedWords<3>,
    shared: bool,
}

impl Wire for Futexes {
    fn new(processes: bool) -> io::Result<Futexes> {
        Ok(Futexes { words: SharedWords::new()?, shared: processes })
    }

    #[inline]
    fn give(&self, way: TokenPath, token: u8) -> bool {
        let word = self.words.word(way as usize);
        word.store(u32::from(token), Release);
        call::futex_wake(word, self.shared) >= 0
    }

    #[inline]
    fn take(&self, way: TokenPath, before: u8) -> Option<u8> {
        let word = self.words.word(way as usize);
        loop {
            let token = word.load(Acquire);
            if token != u32::from(before) {
                return u8::try_from(token).ok();
            }
            let woken = call::futex_wait(word, token, self.shared, PATIENCE_NS) == 0;
            if !woken && io::Error::last_os_error().raw_os_error() == Some(libc::ETIMEDOUT) {
                return None;
            }
        }
    }

    /// A wake that finds nobody, and a wait that finds another value.
    #[inline]
    fn alone(&self) -> bool {
        let word = self.words.word(2);
        call::futex_wake(word, self.shared) == 0 && call::futex_wait(word, 1, self.shared, PATIENCE_NS) == -1
    }
}

/// A word for each direction, and nobody ever sleeps: who has no token yields the CPU (sched_yield(2)).
pub struct Yields(SharedWords<2>);

impl Wire for Yields {
    fn new(_: bool) -> io::Result<Yields> {
        Ok(Yields(SharedWords::new()?))
    }

    #[inline]
    fn give(&self, way: TokenPath, token: u8) -> bool {
        self.0.word(way as usize).store(u32::from(token), Release);
        true
    }

    #[inline]
    fn take(&self, way: TokenPath, before: u8) -> Option<u8> {
        let word = self.0.word(way as usize);
        let mut since = None;
        loop {
            for _ in 0..YIELDS {
                let token = word.load(Acquire);
                if token != u32::from(before) {
                    return u8::try_from(token).ok();
                }
                std::thread::yield_now();
            }
            if since.get_or_insert_with(Instant::now).elapsed() > Duration::from_nanos(PATIENCE_NS) {
                return None;
            }
        }
    }

    /// The entry to the kernel that each yield is.
    #[inline]
    fn alone(&self) -> bool {
        call::refused()
    }
}
