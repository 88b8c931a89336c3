//! `program_start`: starting a program and waiting for its end, by what kind of program it is.
//!
//! By posix_spawn(3), so that the memory of the parent does not matter. The static program is this probe's own: its
//! machine code ends at once. Sources: McVoy and Staelin, "lmbench" (1996), lat_proc; execve(2), elf(5), ld.so(8).

use super::operation::{OS_MORE_SUITE, OperationRow, PlayedRound, SystemOperation};
use super::prediction::{Inputs, PredictedCost};
use super::{Window, page_fault, primitive};
use anyhow::{Result, ensure};
use std::ffi::CStr;
use std::path::Path;
use syscost_core::axis::{NameAxis, Point};
use syscost_core::units::Unit;
use syscost_host::Unavailable;
use syscost_host::clock::monotonic_ns;
use syscost_sys::child;
use syscost_sys::tiny_program::{self, TinyProgram};

const PROGRAM: NameAxis = NameAxis::new("program");
const STATIC: &str = "static";
const SHELL: &str = "shell";

/// From 100 us to 1 ms each.
const STRETCH: u64 = 6;

const PROGRAMS: &[OperationRow] = &[
    // The task, and a new memory with some pages of stack and program, made and torn down as a fork's.
    OperationRow {
        stretch: STRETCH,
        predict: |mut inputs| {
            inputs.row("task", primitive::cost_of("task"));
            inputs.row("fork_base", primitive::cost_of("fork_base"));
            Some(inputs.software("task + fork_base"))
        },
        ..OperationRow::new(STATIC, "static program that ends at once", |round| {
            let tiny = TinyProgram::new().map_err(|error| no_program(&error))?;
            round.operations(|| start(&[tiny.path()], tiny_program::STATUS, no_program))
        })
    },
    OperationRow {
        stretch: STRETCH,
        predict: |inputs| with_libraries(inputs, 150.0),
        ..OperationRow::new("dynamic", "dynamically linked program (/bin/true)", |round| {
            installed(round, &[c"/bin/true"], 0)
        })
    },
    OperationRow {
        stretch: STRETCH,
        predict: |inputs| with_libraries(inputs, 200.0),
        ..OperationRow::new(SHELL, "shell (/bin/sh -c 'exit 7')", |round| {
            installed(round, &[c"/bin/sh", c"-c", c"exit 7"], 7)
        })
    },
];

/// Beside a static program: faults of so many pages of its own, its loader and libraries.
fn with_libraries(mut inputs: Inputs<'_>, faults: f64) -> Option<PredictedCost> {
    inputs.row("static_program", PROGRAM_START.cost_of(STATIC));
    let count = "pages of the program, its loader and C library that are touched, estimated";
    inputs.constant("faults", faults, Unit::Count, count);
    inputs.row("fault", page_fault::fault("minor_anonymous"));
    Some(inputs.software("static_program + faults * fault"))
}

fn no_program(error: &std::io::Error) -> Unavailable {
    Unavailable {
        reason: format!("a program in memory cannot be executed ({error})"),
        remedy: "/proc mounted, and vm.memfd_noexec below 2".into(),
    }
}

fn installed(round: &mut PlayedRound<'_>, words: &[&CStr], status: i32) -> Result<Vec<Window>> {
    let refused = |error: &std::io::Error| anyhow::anyhow!("{:?}: {error}", words[0]);
    round.operations(|| start(words, status, refused))
}

/// Starts it and waits; its status shows that it ran.
fn start<E: Into<anyhow::Error>>(
    words: &[&CStr],
    expected: i32,
    refused: impl Fn(&std::io::Error) -> E,
) -> Result<u64> {
    let start = monotonic_ns();
    let status = child::spawn_words_wait(words[0], words);
    let ns = monotonic_ns() - start;
    let status = status.map_err(|error| refused(&error).into())?;
    ensure!(status == expected, "{:?} ended with {status}, not {expected}", words[0]);
    Ok(ns)
}

pub static PROGRAM_START: SystemOperation = SystemOperation {
    id: "program_start",
    title: "starting a program",
    method: "The time from before posix_spawn(3) until the wait for the program returns, one at a time; its exit status has to \
             be that of the program. The static one is a file in memory of one page.",
    source: "McVoy and Staelin, lmbench (1996), lat_proc; posix_spawn(3), execve(2), ld.so(8)",
    roles: &["starter"],
    suite: OS_MORE_SUITE,
    variants: (PROGRAM, PROGRAMS),
    axes: || vec![PROGRAM.names(|| PROGRAM_START.names()).help("what is started")],
    available,
    ..SystemOperation::DEFAULTS
};

fn available(point: &Point) -> Result<(), Unavailable> {
    let path = match point.text(PROGRAM) {
        Some(STATIC) => return TinyProgram::new().map(|_| ()).map_err(|error| no_program(&error)),
        Some(SHELL) => "/bin/sh",
        _ => "/bin/true",
    };
    if Path::new(path).exists() {
        return Ok(());
    }
    Err(Unavailable {
        reason: format!("there is no {path} to execute"),
        remedy: "install coreutils and a shell, or busybox with its links".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_status_is_an_error() {
        if Path::new("/bin/true").exists() {
            let wrong = start(&[c"/bin/true"], 99, no_program).unwrap_err();
            assert!(wrong.to_string().contains("not 99"), "{wrong}");
        }
    }
}
