//! `system_call`: what entering the kernel and coming back costs, and the calls that move a token.
//!
//! Every call is made by number, so that no C library caches or wraps it, and every result is
//! checked: a call that fails fast is no measurement. Sources: McVoy and Staelin, "lmbench:
//! portable tools for performance analysis" (1996), lat_syscall; syscall(2).

use super::prediction::{CostAccount, Inputs, RowRef};
use super::row::Row;
use super::{
    Channel, Figures, OsOperation, Probe, ProbeAbout, RoleReport, Task, Window, batch, primitive, timer,
};
use anyhow::{Context, Result, bail};
use rustix::event::{EventfdFlags, eventfd};
use std::fs::File;
use std::hint::black_box;
use std::sync::atomic::AtomicU32;
use syscost_core::axis::DefaultValues::Names;
use syscost_core::axis::{Axis, NameAxis, Point, Value};
use syscost_core::units::Unit;
use syscost_host::clock;
use syscost_host::files::Root;
use syscost_sys::call;

const CALL: NameAxis = NameAxis::new("call");

pub struct SystemCall;

/// One call, or the pair that moves a token to oneself and back.
struct MeasuredCall {
    id: &'static str,
    label: &'static str,
    /// Its variant in published tables.
    published: Option<&'static str>,
    /// The same measured often: sets up, and hands a body to the timing loop.
    measure: fn(&Task, &mut dyn Channel) -> Result<Vec<Window>>,
    /// Entries into the kernel.
    traps: u64,
    /// Does it bring the running thread's time up to date, under the lock of its run queue?
    of_run_queue: bool,
    /// About how many instructions the kernel executes beyond those of getppid's whole path, read
    /// off its source: the theory of the software's part. `None`: it is the base itself.
    instructions_beyond: Option<f64>,
}

/// Of one entry into the kernel; so many instructions beyond getppid's.
const fn measured(
    id: &'static str,
    label: &'static str,
    measure: fn(&Task, &mut dyn Channel) -> Result<Vec<Window>>,
    beyond: f64,
) -> MeasuredCall {
    MeasuredCall {
        id,
        label,
        published: None,
        measure,
        traps: 1,
        of_run_queue: false,
        instructions_beyond: Some(beyond),
    }
}

const CALLS: &[MeasuredCall] = &[
    MeasuredCall { instructions_beyond: None, ..measured("getppid", "getppid", getppid, 0.0) },
    // Beside the run queue: the group's times under a sequence lock, two scaled divisions, four conversions, a copy out.
    MeasuredCall { published: Some("times"), of_run_queue: true, ..measured("times", "times", times, 250.0) },
    // Descriptor look-up, checks, an iterator, one cleared user byte, the notification hook.
    measured("read", "read, 1 byte of /dev/zero", read, 150.0),
    // As read, without touching the user's byte.
    measured("write", "write, 1 byte to /dev/null", write, 100.0),
    MeasuredCall {
        traps: 0,
        ..measured("clock_gettime", "clock_gettime, by the vDSO where there is one", clock_gettime, 30.0)
    },
    // On each side the path of read, the pipe's mutex, a page handled, times updated, a look for waiters.
    MeasuredCall {
        traps: 2,
        ..measured("pipe_write_read", "pipe: write and read 1 byte in one process", pipe_write_read, 800.0)
    },
    // On each side the path of read, a spin lock, eight bytes copied.
    MeasuredCall {
        traps: 2,
        ..measured("eventfd_write_read", "eventfd: write and read in one process", eventfd_write_read, 400.0)
    },
    // A key, its hash, and a bucket without waiters.
    measured("futex_wake", "futex wake, nobody waits", futex_wake, 60.0),
];

fn find(point: &Point) -> Option<&'static MeasuredCall> {
    CALLS.iter().find(|c| Some(c.id) == point.text(CALL))
}

/// The row of one call, as an input of other rows' predictions.
pub fn cost_of(call: &'static str) -> RowRef {
    RowRef { probe: "system_call", coordinates: vec![(CALL.id, Value::text(call))], metric: "cost" }
}

/// Times `call`, which says whether it did its work; every one must.
fn checked(task: &Task, channel: &mut dyn Channel, mut call: impl FnMut() -> bool) -> Result<Vec<Window>> {
    let mut wrong = 0u64;
    channel.ready()?;
    let body = |n| {
        for _ in 0..n {
            wrong += u64::from(!call());
        }
    };
    let windows = batch::batches(task, body, |n| {
        for _ in 0..n {
            black_box(());
        }
    });
    if wrong > 0 {
        bail!("{wrong} calls did not return what they must: {}", std::io::Error::last_os_error());
    }
    Ok(windows)
}

fn getppid(task: &Task, channel: &mut dyn Channel) -> Result<Vec<Window>> {
    let parent = i64::from(std::os::unix::process::parent_id());
    checked(task, channel, || call::getppid() == parent)
}

fn times(task: &Task, channel: &mut dyn Channel) -> Result<Vec<Window>> {
    let mut buffer = libc::tms { tms_utime: 0, tms_stime: 0, tms_cutime: 0, tms_cstime: 0 };
    let mut before = call::times(&mut buffer);
    checked(task, channel, || {
        let now = call::times(&mut buffer);
        let ran = now != -1 && now >= before;
        before = now;
        ran
    })
}

fn read(task: &Task, channel: &mut dyn Channel) -> Result<Vec<Window>> {
    let zero = File::open("/dev/zero").context("cannot open /dev/zero")?;
    let mut byte = [0];
    checked(task, channel, || {
        byte[0] = 1;
        call::read(&zero, black_box(&mut byte)) == 1 && byte[0] == 0
    })
}

fn write(task: &Task, channel: &mut dyn Channel) -> Result<Vec<Window>> {
    let null = File::options().write(true).open("/dev/null").context("cannot open /dev/null")?;
    checked(task, channel, || call::write(&null, black_box(&[1])) == 1)
}

fn clock_gettime(task: &Task, channel: &mut dyn Channel) -> Result<Vec<Window>> {
    let mut before = 0;
    checked(task, channel, || {
        let now = clock::monotonic_ns();
        let ran = now >= before;
        before = now;
        ran
    })
}

fn pipe_write_read(task: &Task, channel: &mut dyn Channel) -> Result<Vec<Window>> {
    let (reader, writer) = std::io::pipe().context("cannot make a pipe")?;
    let mut sent = 0u8;
    let mut byte = [0];
    checked(task, channel, || {
        sent = sent.wrapping_add(1);
        call::write(&writer, &[sent]) == 1 && call::read(&reader, &mut byte) == 1 && byte[0] == sent
    })
}

fn eventfd_write_read(task: &Task, channel: &mut dyn Channel) -> Result<Vec<Window>> {
    let event = eventfd(0, EventfdFlags::CLOEXEC).context("cannot make an eventfd")?;
    let mut count = [0; 8];
    let one = 1u64.to_ne_bytes();
    checked(task, channel, || {
        call::write(&event, &one) == 8 && call::read(&event, &mut count) == 8 && count == one
    })
}

fn futex_wake(task: &Task, channel: &mut dyn Channel) -> Result<Vec<Window>> {
    let word = AtomicU32::new(0);
    checked(task, channel, || call::futex_wake(&word, false) == 0)
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

impl Probe for SystemCall {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: "system_call",
            title: "system call",
            method: "Batches of about 10 us make the call by number in a loop on one CPU and check every result; the \
                     cost is the 5 % quantile over batches, less the same loop without the call.",
            source: "McVoy and Staelin, lmbench (1996), lat_syscall; syscall(2), vdso(7)",
            roles: &["caller"],
            operation: Some(&SystemCall),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            CALL.names(|| CALLS.iter().map(|c| c.id).collect())
                .help("which system call, or pair of calls, is made")
                .quick_on(Names(&["getppid", "times", "read"])),
        ]
    }

    fn figures(&self) -> Figures {
        Figures::of_batches()
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
        let call = find(&task.point).with_context(|| format!("no call at {}", task.point))?;
        let mut facts = batch::settle_on_one_cpu();
        if call.traps == 0 {
            let by_vdso = clock::clock_reading().by_vdso;
            facts.insert("by_vdso".into(), if by_vdso { "yes" } else { "no: a system call" }.into());
        } else {
            facts.insert("mitigations".into(), mitigations(&Root::here()));
        }
        Ok(RoleReport { windows: (call.measure)(task, channel)?, facts, ..RoleReport::default() })
    }
}

impl OsOperation for SystemCall {
    fn row(&self, point: &Point) -> Option<Row> {
        let call = find(point)?;
        let row = Row::listed(call.label);
        let row = if call.id == "getppid" { row.told_as("a system call (getppid)") } else { row };
        Some(match call.published {
            Some(variant) => row.as_published("system_call", variant),
            None => row,
        })
    }

    fn predict(&self, point: &Point, mut inputs: Inputs<'_>) -> Option<CostAccount> {
        let call = find(point)?;
        let hertz = inputs.fact("frequency", "core_hertz", Unit::Hertz);
        let per_cycle = inputs.constant(
            "instructions_per_cycle",
            2.0,
            Unit::Ratio,
            "cache-hot kernel code between serialising instructions; processors sustain 1 to 3",
        );
        let in_ns = |cycles: f64| hertz.map(|hz| cycles * 1e9 / hz);
        let Some(beyond) = call.instructions_beyond else {
            return predict_trap(inputs, per_cycle, in_ns);
        };
        let beyond =
            inputs.constant("instructions", beyond, Unit::Count, "estimated from the kernel's source");
        let software = in_ns(beyond / per_cycle);
        if call.traps == 0 {
            let clock = if cfg!(target_arch = "x86_64") { "rdtscp" } else { "isb_cntvct" };
            let counter = inputs.row("counter", timer::reading(clock));
            let formula = "counter + instructions / instructions_per_cycle / frequency";
            return Some(inputs.sum(formula, counter, software));
        }
        if call.of_run_queue {
            let queue = inputs.row("run_queue", primitive::fastest_of("run_queue"));
            let software = queue.zip(software).map(|(queue, rest)| queue + rest);
            let formula = "run_queue + instructions / instructions_per_cycle / frequency";
            return Some(inputs.sum(formula, Some(0.0), software));
        }
        let traps = inputs.constant("traps", call.traps as f64, Unit::Count, "calls in the operation");
        let trap = inputs.row("trap", cost_of("getppid"));
        let formula = "traps * trap + instructions / instructions_per_cycle / frequency";
        let software = trap.zip(software).map(|(trap, rest)| traps * trap + rest);
        Some(inputs.sum(formula, Some(0.0), software))
    }
}

/// The cheapest call: a refused one, and what getppid does between entry and exit. Of the former the processor's part is
/// documented.
fn predict_trap(
    mut inputs: Inputs<'_>,
    per_cycle: f64,
    in_ns: impl Fn(f64) -> Option<f64>,
) -> Option<CostAccount> {
    let refused = inputs.row("kernel_entry", primitive::cost_of("kernel_entry"));
    let body = inputs.constant(
        "instructions",
        60.0,
        Unit::Count,
        "the parent found under RCU and its number in this namespace: kernel/sys.c, kernel/pid.c, estimated",
    );
    let software = refused.zip(in_ns(body / per_cycle)).map(|(refused, body)| refused + body);
    let formula = "kernel_entry + instructions / instructions_per_cycle / frequency";
    Some(inputs.sum(formula, Some(0.0), software))
}

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
