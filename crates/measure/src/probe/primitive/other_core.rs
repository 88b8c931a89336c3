//! Waking a thread that sleeps on another core, through a pair of sockets: until it runs, and until the waker goes on.

use super::{PlayedRound, Window};
use crate::probe::batch;
use anyhow::{Context, Result, bail};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use syscost_host::clock::monotonic_ns;
use syscost_host::topology::pin_this_thread;

/// The other core has gone to sleep by then.
const PAUSE_NS: u64 = 30_000;
/// A thread that has not run by then never will.
const LIMIT_NS: u64 = 5_000_000_000;

/// Wake-up, interrupt, end of the other core's idle state, switch.
pub fn until_it_runs(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    woken(round, batch::clock_overhead_ns(), |wake| wake.ran - wake.start)
}

/// Wake-up and sending of the interrupt, less the call where nobody sleeps.
pub fn until_sender_goes_on(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let (mut here, mut there) = UnixStream::pair().context("cannot make a pair of sockets")?;
    let mut alone = Vec::new();
    for _ in 0..200 {
        let start = monotonic_ns();
        here.write_all(&[1])?;
        alone.push((monotonic_ns() - start) as f64);
        there.read_exact(&mut [0])?;
    }
    let overhead_ns = syscost_core::stats::median(&alone).unwrap_or(0.0);
    woken(round, overhead_ns, |wake| wake.sent - wake.start)
}

struct Wake {
    start: u64,
    sent: u64,
    ran: u64,
}

fn woken(round: &mut PlayedRound<'_>, overhead_ns: f64, time: impl Fn(Wake) -> u64) -> Result<Vec<Window>> {
    let (here, there) = round.pins.sender.zip(round.pins.receiver).context("both threads need a CPU")?;
    let (mut waker, mut sleeper) = UnixStream::pair().context("cannot make a pair of sockets")?;
    let ran = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, || -> Result<()> {
            pin_this_thread(there)?;
            // The end of the stream is the end of the thread.
            while sleeper.read(&mut [0])? == 1 {
                ran.store(monotonic_ns(), Release);
            }
            Ok(())
        });
        thread.context("cannot start a thread")?;
        pin_this_thread(here)?;
        round.ready()?;
        let windows = batch::operations(round.task, overhead_ns, || wake(&mut waker, &ran).map(&time));
        drop(waker);
        windows
    })
}

fn wake(waker: &mut UnixStream, ran: &AtomicU64) -> Result<Wake> {
    let pause = monotonic_ns() + PAUSE_NS;
    while monotonic_ns() < pause {
        std::hint::spin_loop();
    }
    ran.store(0, Release);
    let start = monotonic_ns();
    waker.write_all(&[1])?;
    let sent = monotonic_ns();
    loop {
        match ran.load(Acquire) {
            0 if monotonic_ns() > sent + LIMIT_NS => bail!("a thread was woken and did not run"),
            0 => std::hint::spin_loop(),
            ran => return Ok(Wake { start, sent, ran }),
        }
    }
}
