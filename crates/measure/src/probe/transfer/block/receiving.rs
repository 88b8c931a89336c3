//! The receiver's side of a block: a thread per rival and connection thread, and one that answers the leader.

use super::super::super::meter::{self, Meter};
use super::super::super::streaming::receiving::{self, Source};
use super::super::super::streaming::threads::{self, Ready};
use super::super::super::{BlockTask, Channel, Missing, RoleReport, Task, Window};
use super::super::{connection, receiver};
use super::Phase;
use super::leader::{self, LeaderQuestion};
use crate::mechanism::all_connections;
use crate::receiver::options;
use anyhow::{Context, Result, ensure};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use syscost_host::clock;
use syscost_sys::process;

/// How often the answering thread looks whether a receiving one has ended.
const LOOK: Duration = Duration::from_millis(100);

/// One receiving thread, as the answering one sees it.
#[derive(Default)]
struct RivalArrivals {
    bytes: AtomicU64,
    /// The answering thread waits for so many.
    wanted: AtomicU64,
    has_windows: AtomicBool,
    /// See [`clock::own_cpu_clock`].
    cpu_clock: AtomicU32,
    ended: AtomicBool,
}

impl RivalArrivals {
    fn all_there(&self) -> bool {
        self.bytes.load(Ordering::SeqCst) >= self.wanted.load(Ordering::SeqCst)
    }
}

struct ReceivingSide<'a> {
    rivals: &'a [Task],
    /// By rival, by thread.
    arrivals: Vec<Vec<RivalArrivals>>,
    phase: AtomicU32,
    answering: Mutex<Option<std::thread::Thread>>,
}

/// What a receiving thread brings home.
#[derive(Default)]
struct RivalTaken {
    windows: Vec<Window>,
    bytes: u64,
    missing: Vec<Missing>,
}

pub fn play(task: &Task, block: &BlockTask, channel: &mut dyn Channel) -> Result<RoleReport> {
    let rivals = super::rival_tasks(task, block);
    let all = 1 + rivals.iter().map(|rival| all_connections(&rival.point) as usize).sum::<usize>();
    let listener = connection::offer_listener(task, channel, &task.point, all)?;
    let mut accepted = connection::accept(&listener, &task.token, &task.point, all)?.into_iter();
    let line = accepted.next().context("the leader has a connection")?;
    let own_streams = |rival: &Task| {
        let own = accepted.by_ref().take(all_connections(&rival.point) as usize).collect();
        connection::by_thread(rival, own)
    };
    let streams: Vec<Vec<Vec<TcpStream>>> = rivals.iter().map(own_streams).collect();
    let count = streams.first().context("a block has rivals")?.len();
    let side = ReceivingSide {
        rivals: &rivals,
        arrivals: streams.iter().map(|own| own.iter().map(|_| RivalArrivals::default()).collect()).collect(),
        phase: AtomicU32::new(Phase::WarmUp as u32),
        answering: Mutex::default(),
    };
    // Those of each rival on the CPUs that it would have alone; the answering one wherever there is room.
    let own = threads::cpus(task, count)?;
    let cpus: Vec<Option<usize>> = rivals.iter().flat_map(|_| own.clone()).chain([None]).collect();
    let (shared, line) = (&side, &line);
    let mut done = threads::together(&cpus, channel, |number| {
        let (rival, thread) = (number / count, number % count);
        let ready: Ready<'_, RivalTaken> = if rival < rivals.len() {
            let source = receiver::source(&rivals[rival], &streams[rival][thread])?;
            Box::new(move || shared.take(rival, thread, source))
        } else {
            Box::new(move || shared.answer(line, count))
        };
        Ok(ready)
    })?;
    let memory = process::peak_resident_bytes();
    let mut report = RoleReport { missing: std::mem::take(&mut done[0].missing), ..RoleReport::default() };
    for (rival, taken) in done.chunks_mut(count).take(rivals.len()).enumerate() {
        let windows = taken.iter_mut().map(|taken| std::mem::take(&mut taken.windows)).collect();
        let stream = &streams[rival][0][0];
        let mut facts = connection::facts(stream);
        facts.extend(options::facts(stream.as_raw_fd(), &rivals[rival].point));
        facts.insert("cpus".into(), threads::describe(&own));
        facts.extend(memory.map(|bytes| ("peak_resident_bytes".to_string(), bytes.to_string())));
        let mut own = RoleReport { windows: meter::join(windows), facts, ..RoleReport::default() };
        own.totals.insert("bytes".into(), taken.iter().map(|taken| taken.bytes as f64).sum());
        report.rivals.push(own);
    }
    Ok(report)
}

impl ReceivingSide<'_> {
    fn take(&self, rival: usize, thread: usize, mut source: Box<dyn Source>) -> Result<RivalTaken> {
        let own = &self.arrivals[rival][thread];
        own.cpu_clock.store(clock::own_cpu_clock()? as u32, Ordering::SeqCst);
        let taken = self.take_all(&self.rivals[rival], &mut *source, own);
        own.ended.store(true, Ordering::SeqCst);
        self.wake();
        taken
    }

    fn take_all(&self, task: &Task, source: &mut dyn Source, own: &RivalArrivals) -> Result<RivalTaken> {
        let mut meter = Meter::of(task);
        let mut taken = RivalTaken::default();
        let mut seen = Phase::WarmUp;
        let mut open = true;
        while open {
            open = source.take_next()?;
            own.bytes.store(source.bytes(), Ordering::SeqCst);
            if own.all_there() {
                self.wake();
            }
            let phase = Phase::of(self.phase.load(Ordering::Relaxed));
            if phase == seen {
                continue;
            }
            seen = phase;
            match phase {
                Phase::WarmUp => {}
                Phase::Slices => source.warmed_up(),
                Phase::Windows => {
                    taken.windows = receiving::windows(task, source, &mut meter, &mut open)?;
                    own.bytes.store(source.bytes(), Ordering::SeqCst);
                    own.has_windows.store(true, Ordering::SeqCst);
                    self.wake();
                }
                Phase::WindDown => source.wound_up(),
            }
        }
        source.whole()?;
        (taken.bytes, taken.missing) = (source.bytes(), meter.missing());
        Ok(taken)
    }

    fn wake(&self) {
        if let Some(answering) = &*self.answering.lock().expect("no thread panics while it wakes another") {
            answering.unpark();
        }
    }

    /// Says after each turn what the rival's threads spent since its last one, once all of it is there.
    fn answer(&self, line: &TcpStream, count: usize) -> Result<RivalTaken> {
        *self.answering.lock().expect("no thread panics while it wakes another") =
            Some(std::thread::current());
        let mut spent = vec![0u64; self.arrivals.len()];
        while let Some(LeaderQuestion { rival, windows, next, bytes }) = LeaderQuestion::hear(line, count)? {
            let own =
                self.arrivals.get(rival).context("the leader speaks of a rival that is not in the block")?;
            if windows {
                wait(own, |arrivals| arrivals.has_windows.load(Ordering::SeqCst))?;
                leader::answer(line, 0)?;
                continue;
            }
            own.iter()
                .zip(bytes)
                .for_each(|(arrivals, bytes)| arrivals.wanted.store(bytes, Ordering::SeqCst));
            wait(own, RivalArrivals::all_there)?;
            let clocks = own.iter().map(|arrivals| arrivals.cpu_clock.load(Ordering::SeqCst) as i32);
            let now: u64 = clocks.map(clock::gettime).sum();
            let since = now - std::mem::replace(&mut spent[rival], now);
            // That of the turn that follows.
            self.phase.store(next as u32, Ordering::Relaxed);
            leader::answer(line, since)?;
        }
        Ok(RivalTaken::default())
    }
}

/// Until all of a rival's threads are so far.
fn wait(own: &[RivalArrivals], so_far: impl Fn(&RivalArrivals) -> bool) -> Result<()> {
    while !own.iter().all(&so_far) {
        ensure!(
            !own.iter().any(|a| a.ended.load(Ordering::SeqCst)),
            "a stream ended before its slice was there"
        );
        std::thread::park_timeout(LOOK);
    }
    Ok(())
}
