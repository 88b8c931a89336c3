//! `system_call`: what entering the kernel and coming back costs, and the calls that move a token.
//!
//! Every call is made by number, so that no C library caches or wraps it, and every result is
//! checked: a call that fails fast is no measurement. Sources: McVoy and Staelin, "lmbench:
//! portable tools for performance analysis" (1996), lat_syscall; syscall(2).

use super::operation::{OperationRow, PlayedRound, SystemOperation};
use super::prediction::{Inputs, PredictedCost, RowRef};
use super::{Figures, Window, primitive, timer, trap};
use anyhow::{Context, Result};
use rustix::event::{EventfdFlags, eventfd};
use std::fs::File;
use std::hint::black_box;
use std::sync::atomic::AtomicU32;
use syscost_core::axis::DefaultValues::Names;
use syscost_core::axis::NameAxis;
use syscost_core::units::Unit;
use syscost_host::clock::{self, gettime};
use syscost_host::files::Root;
use syscost_sys::call;
use syscost_sys::pipe::pipe;

const ID: &str = "system_call";
const CLOCK_GETTIME: &str = "clock_gettime";
const CALL: NameAxis = NameAxis::new("call");

const CALLS: &[OperationRow] = &[
    // A refused call, and what getppid does between entry and exit.
    OperationRow {
        told_as: Some("a system call (getppid)"),
        predict: |mut inputs| {
            inputs.row("kernel_entry", primitive::cost_of("kernel_entry"));
            let says = "the parent found under RCU and its number in this namespace: kernel/sys.c, kernel/pid.c, estimated";
            instructions(&mut inputs, 60.0, says);
            Some(inputs.software("kernel_entry + instructions / instructions_per_cycle / frequency"))
        },
        ..OperationRow::new("getppid", "getppid", getppid)
    },
    // Beside the run queue: the group's times under a sequence lock, two scaled divisions, four conversions, a copy out.
    OperationRow {
        published: Some((ID, "times")),
        predict: |mut inputs| {
            inputs.row("run_queue", primitive::fastest_of("run_queue"));
            instructions(&mut inputs, 250.0, ESTIMATED);
            Some(inputs.software("run_queue + instructions / instructions_per_cycle / frequency"))
        },
        ..OperationRow::new("times", "times", times)
    },
    // Descriptor look-up, checks, an iterator, one cleared user byte, the notification hook.
    OperationRow {
        predict: |inputs| by_traps(inputs, 1.0, 150.0),
        ..OperationRow::new("read", "read, 1 byte of /dev/zero", read)
    },
    // As read, without touching the user's byte.
    OperationRow {
        predict: |inputs| by_traps(inputs, 1.0, 100.0),
        ..OperationRow::new("write", "write, 1 byte to /dev/null", write)
    },
    OperationRow {
        predict: |mut inputs| {
            instructions(&mut inputs, 30.0, ESTIMATED);
            let clock = if cfg!(target_arch = "x86_64") { "rdtscp" } else { "isb_cntvct" };
            inputs.row("counter", timer::reading(clock));
            let code = "instructions / instructions_per_cycle / frequency";
            Some(inputs.hardware_and_software("counter", code))
        },
        ..OperationRow::new(CLOCK_GETTIME, "clock_gettime, by the vDSO where there is one", clock_gettime)
    },
    // On each side the path of read, the pipe's mutex, a page handled, times updated, a look for waiters.
    OperationRow {
        predict: |inputs| by_traps(inputs, 2.0, 800.0),
        ..OperationRow::new("pipe_write_read", "pipe: write and read 1 byte in one process", pipe_write_read)
    },
    // On each side the path of read, a spin lock, eight bytes copied.
    OperationRow {
        predict: |inputs| by_traps(inputs, 2.0, 400.0),
        ..OperationRow::new(
            "eventfd_write_read",
            "eventfd: write and read in one process",
            eventfd_write_read,
        )
    },
    // A key, its hash, and a bucket without waiters.
    OperationRow {
        predict: |inputs| by_traps(inputs, 1.0, 60.0),
        ..OperationRow::new("futex_wake", "futex wake, nobody waits", futex_wake)
    },
];

const ESTIMATED: &str = "estimated from the kernel's source";

/// So many instructions of the kernel, at the rate of code that is in the caches.
fn instructions(inputs: &mut Inputs<'_>, count: f64, source: &str) {
    inputs.fact("frequency", "core_hertz", Unit::Hertz);
    let rate = "cache-hot kernel code between serialising instructions; processors sustain 1 to 3";
    inputs.constant("instructions_per_cycle", 2.0, Unit::Ratio, rate);
    inputs.constant("instructions", count, Unit::Count, source);
}

/// Of so many entries into the kernel, and so many instructions beyond getppid's.
fn by_traps(mut inputs: Inputs<'_>, traps: f64, beyond: f64) -> Option<PredictedCost> {
    instructions(&mut inputs, beyond, ESTIMATED);
    inputs.constant("traps", traps, Unit::Count, "calls in the operation");
    inputs.row("trap", trap());
    Some(inputs.software("traps * trap + instructions / instructions_per_cycle / frequency"))
}

/// The row of one call, as an input of other rows' predictions.
pub fn cost_of(call: &'static str) -> RowRef {
    SYSTEM_CALL.cost_of(call)
}

/// Times `call`, which says whether it did its work.
fn checked(round: &mut PlayedRound<'_>, call: impl FnMut() -> bool) -> Result<Vec<Window>> {
    if round.point().text(CALL) == Some(CLOCK_GETTIME) {
        let by_vdso = clock::clock_reading().by_vdso;
        round.fact("by_vdso", if by_vdso { "yes" } else { "no: a system call" });
    } else {
        round.fact("mitigations", mitigations(&Root::here()));
    }
    round.checked("a call did not return what it must", call)
}

fn getppid(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let parent = i64::from(std::os::unix::process::parent_id());
    checked(round, || call::getppid() == parent)
}

fn times(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let mut buffer = libc::tms { tms_utime: 0, tms_stime: 0, tms_cutime: 0, tms_cstime: 0 };
    let mut before = call::times(&mut buffer);
    checked(round, || {
        let now = call::times(&mut buffer);
        let ran = now != -1 && now >= before;
        before = now;
        ran
    })
}

fn read(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let zero = File::open("/dev/zero").context("cannot open /dev/zero")?;
    let mut byte = [0];
    checked(round, || {
        byte[0] = 1;
        call::read(&zero, black_box(&mut byte)) == 1 && byte[0] == 0
    })
}

fn write(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let null = File::options().write(true).open("/dev/null").context("cannot open /dev/null")?;
    checked(round, || call::write(&null, black_box(&[1])) == 1)
}

fn clock_gettime(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let mut before = 0;
    checked(round, || {
        let now = gettime(libc::CLOCK_MONOTONIC);
        let ran = now >= before;
        before = now;
        ran
    })
}

fn pipe_write_read(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let (reader, writer) = pipe().context("cannot make a pipe")?;
    let mut sent = 0u8;
    let mut byte = [0];
    checked(round, || {
        sent = sent.wrapping_add(1);
        call::write(&writer, &[sent]) == 1 && call::read(&reader, &mut byte) == 1 && byte[0] == sent
    })
}

fn eventfd_write_read(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let event = eventfd(0, EventfdFlags::CLOEXEC).context("cannot make an eventfd")?;
    let mut count = [0; 8];
    let one = 1u64.to_ne_bytes();
    checked(round, || call::write(&event, &one) == 8 && call::read(&event, &mut count) == 8 && count == one)
}

fn futex_wake(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let word = AtomicU32::new(0);
    checked(round, || call::futex_wake(&word, false) == 0)
}

/// What the kernel does against attacks on the processor, much of it at every entry: `spectre_v2:
/// Retpolines; ...`.
fn mitigations(root: &Root) -> String {
    const FOLDER: &str = "sys/devices/system/cpu/vulnerabilities";
    let active = |name: String| {
        let text = root.text(&format!("{FOLDER}/{name}"))?;
        Some(format!("{name}: {}", text.strip_prefix("Mitigation: ")?.trim()))
    };
    let active: Vec<String> = root.names(FOLDER).into_iter().filter_map(active).collect();
    if active.is_empty() { "none named by the kernel".into() } else { active.join(" | ") }
}

pub static SYSTEM_CALL: SystemOperation = SystemOperation {
    id: ID,
    title: "system call",
    method: "Batches of about 10 us make the call by number in a loop on one CPU and check every result; the \
             cost is the 5 % quantile over batches, less the same loop without the call.",
    source: "McVoy and Staelin, lmbench (1996), lat_syscall; syscall(2), vdso(7)",
    variants: (CALL, CALLS),
    axes: || {
        let calls = CALL.names(|| SYSTEM_CALL.names()).help("which system call, or pair of calls, is made");
        vec![calls.quick_on(Names(&["getppid", "times", "read"]))]
    },
    figures: Figures::of_batches,
    ..SystemOperation::DEFAULTS
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Machine;

    #[test]
    fn only_what_is_active_is_a_mitigation() {
        let machine = Machine::empty();
        assert_eq!(mitigations(&machine.root()), "none named by the kernel");
        let folder = "sys/devices/system/cpu/vulnerabilities";
        machine.write(&format!("{folder}/l1tf"), "Not affected\n");
        machine.write(&format!("{folder}/mds"), "Vulnerable\n");
        machine.write(&format!("{folder}/spectre_v1"), "Mitigation: usercopy barriers\n");
        machine.write(&format!("{folder}/spectre_v2"), "Mitigation: Retpolines; STIBP: disabled\n");
        let said = mitigations(&machine.root());
        assert_eq!(said, "spectre_v1: usercopy barriers | spectre_v2: Retpolines; STIBP: disabled");
    }
}
