//! `program_start`: starting a program and waiting for its end, by what kind of program it is.
//!
//! By posix_spawn(3), so that the memory of the parent does not matter. The static program is this probe's own: its
//! machine code ends at once. Sources: McVoy and Staelin, "lmbench" (1996), lat_proc; execve(2), elf(5), ld.so(8).

use super::prediction::{CostAccount, Inputs, RowRef};
use super::row::Row;
use super::{
    Channel, OS_MORE_SUITE, OsOperation, Probe, ProbeAbout, RoleReport, Task, Timing, batch, page_fault,
    primitive,
};
use anyhow::{Context, Result, ensure};
use std::ffi::CStr;
use syscost_core::axis::{Axis, NameAxis, Point, Value};
use syscost_core::units::Unit;
use syscost_host::Unavailable;
use syscost_host::clock::monotonic_ns;
use syscost_sys::child;
use syscost_sys::tiny_program::{self, TinyProgram};

const PROGRAM: NameAxis = NameAxis::new("program");
const ID: &str = "program_start";
const STATIC: &str = "static";

pub struct ProgramStart;

struct ProgramKind {
    id: &'static str,
    label: &'static str,
    /// `None`: the program of this probe.
    words: Option<&'static [&'static CStr]>,
    status: i32,
    /// Pages of it, its loader and libraries that are touched beyond those of a static program.
    faults: f64,
}

const KINDS: &[ProgramKind] = &[
    ProgramKind {
        id: STATIC,
        label: "static program that ends at once",
        words: None,
        status: tiny_program::STATUS,
        faults: 0.0,
    },
    ProgramKind {
        id: "dynamic",
        label: "dynamically linked program (/bin/true)",
        words: Some(&[c"/bin/true"]),
        status: 0,
        faults: 150.0,
    },
    ProgramKind {
        id: "shell",
        label: "shell (/bin/sh -c 'exit 7')",
        words: Some(&[c"/bin/sh", c"-c", c"exit 7"]),
        status: 7,
        faults: 200.0,
    },
];

fn find(point: &Point) -> Option<&'static ProgramKind> {
    KINDS.iter().find(|kind| Some(kind.id) == point.text(PROGRAM))
}

/// The row of a program that ends at once, as an input of other rows' predictions.
fn of_static() -> RowRef {
    RowRef { probe: ID, coordinates: vec![(PROGRAM.id, Value::text(STATIC))], metric: "cost" }
}

fn no_program(error: &std::io::Error) -> Unavailable {
    Unavailable {
        reason: format!("a program in memory cannot be executed ({error})"),
        remedy: "/proc mounted, and vm.memfd_noexec below 2".into(),
    }
}

/// Starts it and waits; its status shows that it ran.
fn start(kind: &ProgramKind, tiny: Option<&TinyProgram>) -> Result<u64> {
    let own = tiny.map(|tiny| [tiny.path()]);
    let words: &[&CStr] = own.as_ref().map(|own| &own[..]).or(kind.words).context("no program")?;
    let start = monotonic_ns();
    let status = child::spawn_words_wait(words[0], words);
    let ns = monotonic_ns() - start;
    let status = status.map_err(|error| match tiny {
        Some(_) => anyhow::Error::from(no_program(&error)),
        None => anyhow::Error::from(error).context(kind.label),
    })?;
    ensure!(status == kind.status, "{} ended with {status}, not {}", kind.label, kind.status);
    Ok(ns)
}

impl Probe for ProgramStart {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: ID,
            title: "starting a program",
            method: "The time from before posix_spawn(3) until the wait for the program returns, one at a time; its exit status has to \
                     be that of the program. The static one is a file in memory of one page.",
            source: "McVoy and Staelin, lmbench (1996), lat_proc; posix_spawn(3), execve(2), ld.so(8)",
            roles: &["starter"],
            operation: Some(&ProgramStart),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        vec![PROGRAM.names(|| KINDS.iter().map(|kind| kind.id).collect()).help("what is started")]
    }

    fn available(&self, point: &Point) -> Result<(), Unavailable> {
        let Some(kind) = find(point) else { return Ok(()) };
        let Some(words) = kind.words else {
            return TinyProgram::new().map(|_| ()).map_err(|error| no_program(&error));
        };
        let path = words[0].to_str().unwrap_or_default();
        if std::path::Path::new(path).exists() {
            return Ok(());
        }
        Err(Unavailable {
            reason: format!("there is no {path} to execute"),
            remedy: "install coreutils and a shell, or busybox with its links".into(),
        })
    }

    fn timing(&self, _: &Point, base: Timing) -> Timing {
        // From 100 us to 1 ms each.
        Timing { window_ns: base.window_ns * 6, ..base }
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
        let kind = find(&task.point).with_context(|| format!("no program at {}", task.point))?;
        let facts = batch::settle_on_one_cpu();
        let tiny = match kind.words {
            None => Some(TinyProgram::new().map_err(|error| no_program(&error))?),
            Some(_) => None,
        };
        channel.ready()?;
        let windows = batch::operations(task, batch::clock_overhead_ns(), || start(kind, tiny.as_ref()))?;
        Ok(RoleReport { windows, facts, ..RoleReport::default() })
    }
}

impl OsOperation for ProgramStart {
    fn suite(&self) -> &'static str {
        OS_MORE_SUITE
    }

    fn row(&self, point: &Point) -> Option<Row> {
        find(point).map(|kind| Row::listed(kind.label))
    }

    /// Of a static program: the task, and a new memory with some pages of stack and program, made and torn down as a
    /// fork's. Loader and libraries are faults beside it.
    fn predict(&self, point: &Point, mut inputs: Inputs<'_>) -> Option<CostAccount> {
        let kind = find(point)?;
        if kind.id == STATIC {
            let task = inputs.row("task", primitive::cost_of("task"));
            let fork = inputs.row("fork_base", primitive::cost_of("fork_base"));
            let software = task.zip(fork).map(|(task, fork)| task + fork);
            return Some(inputs.sum("task + fork_base", Some(0.0), software));
        }
        let base = inputs.row("static_program", of_static());
        let count = "pages of the program, its loader and C library that are touched, estimated";
        let faults = inputs.constant("faults", kind.faults, Unit::Count, count);
        let fault = inputs.row("fault", page_fault::fault("minor_anonymous"));
        let software = base.zip(fault).map(|(base, fault)| base + faults * fault);
        Some(inputs.sum("static_program + faults * fault", Some(0.0), software))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_that_is_there_runs_and_another_status_is_an_error() {
        for kind in KINDS {
            let mut point = Point::default();
            point.set(PROGRAM.id, Value::text(kind.id));
            if let Err(why) = ProgramStart.available(&point) {
                eprintln!("skipped: {}", why.reason);
                continue;
            }
            let tiny = kind.words.is_none().then(|| TinyProgram::new().unwrap());
            if let Err(why) = start(kind, tiny.as_ref()) {
                assert!(why.is::<Unavailable>(), "{}: {why}", kind.id);
                continue;
            }
            let wrong = ProgramKind { status: 99, ..*kind };
            assert!(start(&wrong, tiny.as_ref()).unwrap_err().to_string().contains("not 99"));
        }
    }
}
