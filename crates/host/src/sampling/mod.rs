//! Samples of what CPUs execute: a stack of kernel functions at every tick of the event, of some processes and the softirqs
//! that run for them.
//!
//! The event is the processor's cycles, else the kernel's cpu-clock (a timer: it cannot interrupt code that has interrupts
//! disabled, so that code's time shows where they are enabled again). Source: perf_event_open(2).

mod owners;
mod records;
mod symbols;
mod user_code;

pub use owners::{IDLE, OTHERS, SOFTIRQ};
pub use records::{Collected, USER, is_user_frame};
pub use symbols::KernelSymbols;

use crate::Unavailable;
use crate::counters;
use crate::files::Root;
use perf_event::events::{Hardware, Software};
use perf_event::{Builder, Clock, SampleFlag, Sampler};
use records::DrainedRings;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use syscost_core::units::Unit;
use syscost_sys::affinity;

/// What is counted between two samples. Neither period is a multiple of a timer's: sampling in step with one would
/// see one phase of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampledEvent {
    Cycles,
    CpuClock,
}

impl SampledEvent {
    pub fn name(self) -> &'static str {
        match self {
            SampledEvent::Cycles => "cycles",
            SampledEvent::CpuClock => "cpu-clock",
        }
    }

    /// Of what one sample stands for.
    pub fn unit(self) -> Unit {
        match self {
            SampledEvent::Cycles => Unit::Count,
            SampledEvent::CpuClock => Unit::Nanoseconds,
        }
    }

    /// Cycles, or nanoseconds.
    pub fn period(self) -> u64 {
        match self {
            SampledEvent::Cycles => 700_001,
            SampledEvent::CpuClock => 211_007,
        }
    }
}

/// What is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampledScope {
    /// Every CPU: softirqs on top of other processes, and kernel threads, are seen.
    Machine,
    /// The threads of the workers: what runs for them elsewhere is missing.
    Threads,
}

/// What this machine lets this user sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SamplingRight {
    pub event: SampledEvent,
    pub scope: SampledScope,
}

impl SamplingRight {
    /// The most that is allowed here, found by trying.
    pub fn find() -> Result<SamplingRight, Unavailable> {
        let machine = |event| {
            let cpu = affinity::allowed()?.first().copied().unwrap_or(0);
            builder(event, false).any_pid().one_cpu(cpu).build()?.sampled(1).map(drop)
        };
        let threads = |event| builder(event, false).observe_self().any_cpu().build()?.sampled(1).map(drop);
        let mut refused = None;
        for event in [SampledEvent::Cycles, SampledEvent::CpuClock] {
            match machine(event) {
                Ok(()) => return Ok(SamplingRight { event, scope: SampledScope::Machine }),
                Err(error) => refused = Some(error),
            }
        }
        for event in [SampledEvent::Cycles, SampledEvent::CpuClock] {
            if threads(event).is_ok() {
                return Ok(SamplingRight { event, scope: SampledScope::Threads });
            }
        }
        let error = refused.unwrap_or_else(|| io::ErrorKind::Unsupported.into());
        Err(counters::explain(&error, true, &Root::here()))
    }
}

/// Of the top of the stack outside the kernel: more than the frame of a wrapper of a system call.
const STACK_BYTES: u32 = 256;

fn builder(event: SampledEvent, user_frames: bool) -> Builder<'static> {
    let mut builder = match event {
        SampledEvent::Cycles => Builder::new(Hardware::CPU_CYCLES),
        SampledEvent::CpuClock => Builder::new(Software::CPU_CLOCK),
    };
    let fields = [SampleFlag::IP, SampleFlag::TID, SampleFlag::TIME, SampleFlag::CALLCHAIN];
    // User mode may have no chain here, and perf-event-data 0.1.8 reads no record that ends with an empty one: a field behind it.
    for field in fields.into_iter().chain([SampleFlag::WEIGHT]) {
        builder.sample(field);
    }
    builder
        .include_kernel()
        .exclude_user(false)
        .exclude_hv(true)
        .exclude_callchain_user(!user_frames)
        .task(true);
    if user_frames {
        builder.sample(SampleFlag::STACK_USER).sample_stack_user(STACK_BYTES);
    }
    builder.sample_period(event.period()).clockid(Clock::MONOTONIC);
    builder
}

/// An unprivileged user may lock 516 KiB a CPU (kernel.perf_event_mlock_kb): this many pages, and one for the kernel.
const RING_PAGES: usize = 128;
const LEAST_RING_PAGES: usize = 8;
const PAGE_BYTES: usize = 4096;

/// Threads that end after microseconds fill a ring in 30 ms: each of them is a record of its start and one of its end.
const DRAIN_EVERY: Duration = Duration::from_millis(10);

/// Running samplers of one round.
pub struct SampledRound {
    event: SampledEvent,
    /// Gone when sampling is to stop.
    running: Option<Sender<()>>,
    reader: Option<JoinHandle<io::Result<(DrainedRings, u64)>>>,
    /// The sampled processes: their names as roles.
    roles: BTreeMap<u32, String>,
}

impl SampledRound {
    /// Samples these processes, their threads and what they will start; with functions outside the kernel where there is
    /// code of the user's own, in these files.
    pub fn begin(
        right: SamplingRight,
        roles: BTreeMap<u32, String>,
        user_code: Vec<PathBuf>,
    ) -> io::Result<SampledRound> {
        let user_frames = !user_code.is_empty();
        let known = owners::with_children(&Root::here(), roles);
        let mut samplers = match right.scope {
            SampledScope::Machine => machine(right.event, user_frames)?,
            SampledScope::Threads => threads(right.event, &known, user_frames)?,
        };
        for sampler in &mut samplers {
            sampler.enable()?;
        }
        let (running, stopped) = mpsc::channel();
        let reader =
            thread::Builder::new().spawn(move || read(samplers, DrainedRings::of(user_code), &stopped))?;
        Ok(SampledRound { event: right.event, running: Some(running), reader: Some(reader), roles: known })
    }

    /// Stops, and reads what was sampled.
    pub fn end(mut self) -> io::Result<Collected> {
        let (drained, counted) =
            self.stop().ok_or_else(|| io::Error::other("the thread that reads samples ended early"))??;
        Ok(drained.collected(self.event, counted, std::mem::take(&mut self.roles)))
    }

    fn stop(&mut self) -> Option<io::Result<(DrainedRings, u64)>> {
        self.running = None;
        self.reader.take()?.join().ok()
    }
}

impl Drop for SampledRound {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Empties the rings again and again until sampling is to stop. A full ring takes no record, and says how many it did
/// not take only when it has room again.
fn read(
    mut samplers: Vec<Sampler>,
    mut drained: DrainedRings,
    stopped: &Receiver<()>,
) -> io::Result<(DrainedRings, u64)> {
    while stopped.recv_timeout(DRAIN_EVERY) == Err(RecvTimeoutError::Timeout) {
        drained.drain(&mut samplers);
    }
    let mut counted = 0;
    for sampler in &mut samplers {
        sampler.disable()?;
        counted += sampler.read()?;
    }
    drained.drain(&mut samplers);
    Ok((drained, counted))
}

fn machine(event: SampledEvent, user_frames: bool) -> io::Result<Vec<Sampler>> {
    let cpus = online(&Root::here())?;
    cpus.into_iter()
        .map(|cpu| {
            let mut own = builder(event, user_frames);
            // In step, one CPU's sample would meet the other waiting for the lock that the first was interrupted with: locks
            // read 4 points too high. The longest period is 2.2 % longer than the shortest.
            own.sample_period(event.period() + event.period() / 687 * (cpu as u64 % 16));
            own.any_pid().one_cpu(cpu).build()?.sampled(RING_PAGES * PAGE_BYTES)
        })
        .collect()
}

/// A ring that follows new threads has to belong to one CPU.
fn threads(
    event: SampledEvent,
    roles: &BTreeMap<u32, String>,
    user_frames: bool,
) -> io::Result<Vec<Sampler>> {
    let root = Root::here();
    let threads: Vec<i32> = roles
        .keys()
        .flat_map(|pid| root.names(&format!("proc/{pid}/task")))
        .filter_map(|thread| thread.parse().ok())
        .collect();
    let pages = (RING_PAGES / threads.len().max(1)).max(LEAST_RING_PAGES);
    let pages = 1 << pages.ilog2();
    let mut samplers = Vec::new();
    for cpu in affinity::allowed()? {
        for thread in &threads {
            let counter = builder(event, user_frames).observe_pid(*thread).one_cpu(cpu).inherit(true).build();
            match counter {
                Ok(counter) => samplers.push(counter.sampled(pages * PAGE_BYTES)?),
                // It has ended.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(samplers)
}

/// The CPUs that run, also those that this process may not use: what arrives may be handled there.
fn online(root: &Root) -> io::Result<Vec<usize>> {
    let listed = root.list("sys/devices/system/cpu/online").filter(|cpus| !cpus.is_empty());
    listed.map_or_else(affinity::allowed, Ok)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::monotonic_ns;
    use crate::files::fixture::Machine;
    use std::hint::black_box;
    use std::time::Instant;
    use syscost_sys::clock::thread_cpu_ns;

    #[test]
    fn cpus_that_run_are_read_as_the_kernel_writes_them() {
        let machine = Machine::empty();
        machine.write("sys/devices/system/cpu/online", "0-2,5,7-8\n");
        assert_eq!(online(&machine.root()).unwrap(), [0, 1, 2, 5, 7, 8]);
    }

    /// Own work is found among the samples, in the kernel and in user mode, or the reason is one that helps.
    #[test]
    fn a_busy_process_is_sampled_or_the_refusal_says_why() {
        let right = match SamplingRight::find() {
            Ok(right) => right,
            Err(why) => return assert!(!why.reason.is_empty() && !why.remedy.is_empty()),
        };
        let roles = BTreeMap::from([(std::process::id(), "worker".to_string())]);
        let began = thread_cpu_ns();
        let round = SampledRound::begin(right, roles, Vec::new()).expect("what may be tried may be done");
        let until = Instant::now() + Duration::from_secs(10);
        let mut entries = 0;
        // CPU time, not wall time: a busy machine gives little.
        while thread_cpu_ns() < began + 150_000_000 && Instant::now() < until {
            entries += std::fs::read_dir("/proc/self").map_or(0, |directory| directory.count());
            entries += (0..100_000).filter(|n| black_box(*n) > 99_998).count();
        }
        let collected = round.end().expect("stops");
        let own = |user: bool| {
            let own = collected.raw.iter().filter(|sample| sample.pid == std::process::id());
            own.filter(|sample| sample.user == user).count()
        };
        let (kernel, user) = (own(false), own(true));
        assert!(kernel > 0 && user > 0 && entries > 0, "{kernel} samples in the kernel, {user} in user mode");
    }
    const THREADS: usize = 20_000;

    /// Their records filled the rings after a tenth of a round, and what followed was nowhere.
    #[test]
    fn samples_do_not_end_where_many_threads_start() {
        let Ok(right) = SamplingRight::find() else { return };
        let roles = BTreeMap::from([(std::process::id(), "worker".to_string())]);
        let round = SampledRound::begin(right, roles, Vec::new()).expect("what may be tried may be done");
        // Two records a thread of 64 bytes each: more than any ring of two CPUs holds.
        for _ in 0..THREADS {
            thread::spawn(|| {}).join().expect("it does nothing");
        }
        let last_start_ns = monotonic_ns();
        let until = Instant::now() + Duration::from_secs(10);
        let began = thread_cpu_ns();
        while thread_cpu_ns() < began + 20_000_000 && Instant::now() < until {
            black_box(std::fs::read_dir("/proc/self").map_or(0, |directory| directory.count()));
        }
        let collected = round.end().expect("stops");
        let later = collected.raw.iter().filter(|s| s.pid == std::process::id() && s.time_ns > last_start_ns);
        assert!(later.count() > 0, "nothing was sampled after the last thread");
    }
}
