//! The data threads of one side: set up each on its own CPU, start together, join their windows.

use super::super::{Channel, Missing, RoleReport, Task, Window, meter};
use super::RECEIVER;
use crate::mechanism::ProgramTally;
use crate::probe::transfer::axes::PLACEMENT;
use anyhow::{Result, anyhow};
use std::collections::BTreeMap;
use std::io;
use std::sync::{RwLock, mpsc};
use syscost_host::topology::{self, Placement, Topology};
use syscost_host::{Unavailable, scarce};
use syscost_sys::process::ProcessUsage;

/// What one data thread brings home.
#[derive(Default)]
pub struct Done {
    pub windows: Vec<Window>,
    pub bytes: u64,
    /// Other counts of the whole round, by name; the same names on every thread of a side.
    pub totals: Vec<(&'static str, u64)>,
    pub missing: Vec<Missing>,
    /// Of a program that sends.
    pub program: Option<ProgramTally>,
}

/// A thread that is set up and runs when the gate opens.
pub type Ready<'a, T> = Box<dyn FnOnce() -> Result<T> + 'a>;

/// Runs one thread per stream: pins it, sets it up with `prepare` on that CPU, says ready when
/// all are, and joins what they bring home.
pub fn run<'a, S: Sync>(
    task: &'a Task,
    streams: &'a [S],
    channel: &mut dyn Channel,
    prepare: impl Fn(&'a S) -> Result<Ready<'a, Done>> + Sync,
) -> Result<RoleReport> {
    let cpus = cpus(task, streams.len())?;
    let done = together(&cpus, channel, |number| prepare(&streams[number]))?;
    let mut report = RoleReport { facts: facts(&cpus), ..RoleReport::default() };
    report.facts.extend(done.iter().filter_map(|d| d.program).flat_map(|program| program.facts()));
    report.totals.insert("bytes".into(), done.iter().map(|d| d.bytes as f64).sum());
    for (id, count) in done.iter().flat_map(|d| &d.totals) {
        *report.totals.entry(id.to_string()).or_default() += *count as f64;
    }
    report.missing = done.first().map(|d| d.missing.clone()).unwrap_or_default();
    report.windows = meter::join(done.into_iter().map(|d| d.windows).collect());
    if task.counting.is_some() && !report.windows.is_empty() {
        report.windows = vec![meter::join_groups(&report.windows)];
    }
    Ok(report)
}

/// Where each of this role's threads is to run.
pub fn cpus(task: &Task, threads: usize) -> Result<Vec<Option<usize>>> {
    let placement = Placement::parse(task.point.text(PLACEMENT).unwrap_or("none")).map_err(|e| anyhow!(e))?;
    let pins = Topology::read()
        .place(&placement, threads)
        .map_err(|why| anyhow!("{} ({})", why.reason, why.remedy))?;
    let receives = task.role == RECEIVER;
    Ok(pins.iter().map(|pin| if receives { pin.receiver } else { pin.sender }).collect())
}

/// Runs a thread on each of these CPUs. They begin when every one is set up by `prepare`, which is given its
/// number, and the harness says go; an error of any is one of all.
pub fn together<'a, T: Send>(
    cpus: &[Option<usize>],
    channel: &mut dyn Channel,
    prepare: impl Fn(usize) -> Result<Ready<'a, T>> + Sync,
) -> Result<Vec<T>> {
    // Holds threads that are set up until every one is; or sends them home. It opens where the lock is dropped.
    let gate = RwLock::new(false);
    let mut go = gate.write().expect("nobody else has it yet");
    let (tell, told) = mpsc::channel();
    std::thread::scope(|scope| {
        let mut not_started = None;
        let threads: Vec<_> = cpus
            .iter()
            .enumerate()
            .map_while(|(number, cpu)| {
                let (tell, gate, prepare) = (tell.clone(), &gate, &prepare);
                let thread = move || {
                    let prepared = cpu
                        .map_or(Ok(()), |n| topology::pin_this_thread(n).map_err(anyhow::Error::from))
                        .and_then(|()| prepare(number));
                    // Whatever went wrong: the others are waited for, and so is this one.
                    let _ = tell.send(prepared.is_ok());
                    let ready = prepared?;
                    if gate.read().is_ok_and(|go| *go) { ready().map(Some) } else { Ok(None) }
                };
                std::thread::Builder::new()
                    .spawn_scoped(scope, thread)
                    .map_err(|e| not_started = Some(e))
                    .ok()
            })
            .collect();
        let all_set_up = not_started.is_none() && (0..cpus.len()).all(|_| told.recv() == Ok(true));
        let started = if all_set_up { channel.ready() } else { Ok(()) };
        *go = all_set_up && started.is_ok();
        drop(go);
        let mut done: Vec<Result<Option<T>>> = threads
            .into_iter()
            .map(|t| t.join().unwrap_or_else(|_| Err(anyhow!("a data thread panicked"))))
            .collect();
        done.extend(not_started.map(|error| Err(scarce::cannot_start("a data thread", error))));
        done.extend(started.err().map(Err));
        done.into_iter().filter_map(Result::transpose).collect()
    })
}

/// A mechanism or receiver that did not start: one that says it is unavailable is skipped, not failed.
pub fn cannot_start(id: &str, error: io::Error) -> anyhow::Error {
    match error.downcast::<Unavailable>() {
        Ok(why) => why.into(),
        Err(error) => anyhow!(error).context(format!("cannot start {id}")),
    }
}

/// Of this process, whose data threads ran on these CPUs: asked when they have ended.
pub fn facts(cpus: &[Option<usize>]) -> BTreeMap<String, String> {
    let names: Vec<String> = cpus.iter().map(|cpu| cpu.map_or("any".into(), |n| n.to_string())).collect();
    let known = Some(ProcessUsage::by_this_process().peak_bytes).filter(|bytes| *bytes > 0);
    let memory = known.map(|bytes| ("peak_resident_bytes".into(), bytes.to_string()));
    [("cpus".into(), names.join(","))].into_iter().chain(memory).collect()
}
