//! `own_command`: runs of commands as fresh processes. `syscost cmp --out DIR` measures and records them; what reads runs then
//! reads these too.

use super::row::Row;
use super::{Channel, Figures, Probe, ProbeAbout, RoleReport, Task, Timing, metrics, quantities};
use anyhow::{Result, bail};
use syscost_core::axis::DefaultValues::Names;
use syscost_core::axis::{Axis, NameAxis, Point};
use syscost_core::sample::{Metric, Quantity};
use syscost_host::Unavailable;

pub struct CommandRuns;

pub const OWN_COMMAND: NameAxis = NameAxis::new("own_command");

/// Quantities of a run, as `cmp` records them.
pub const USER_NS: &str = "user_ns";
pub const SYSTEM_NS: &str = "system_ns";
pub const PEAK_BYTES: &str = "peak_bytes";
pub const SWITCHES: &str = "switches";
pub const FAULTS: &str = "faults";

const QUANTITIES: &[Quantity] = quantities! {
    USER_NS, Nanoseconds, "CPU time of the run in user mode, of all its processes that it waited for";
    SYSTEM_NS, Nanoseconds, "CPU time of the run in the kernel";
    PEAK_BYTES, Bytes, "the most memory that one process of the run had resident";
    SWITCHES, Count, "context switches of the run, voluntary and involuntary";
    FAULTS, Count, "page faults of the run, minor and major";
};

const METRICS: &[Metric] = metrics! {
    "cost", Nanoseconds, Lower, "time", "wall-clock time of a run, from the start of its process to its end",
        |s, _| (s.ops > 0.0).then(|| s.elapsed_ns / s.ops);
    "cpu_time", Nanoseconds, Lower, "CPU time", "CPU time of a run, user mode and kernel",
        |s, _| Some(s.get(USER_NS)? + s.get(SYSTEM_NS)?);
    "user_time", Nanoseconds, Lower, "user time", "CPU time of a run in user mode", |s, _| s.get(USER_NS);
    "system_time", Nanoseconds, Lower, "system time", "CPU time of a run in the kernel", |s, _| s.get(SYSTEM_NS);
    "peak_memory", Bytes, Neither, "peak memory", "the most memory that one process of a run had resident", |s, _| s.get(PEAK_BYTES);
    "context_switches", Count, Neither, "context switches", "context switches of a run", |s, _| s.get(SWITCHES);
    "page_faults", Count, Neither, "page faults", "page faults of a run", |s, _| s.get(FAULTS);
};

impl Probe for CommandRuns {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: OWN_COMMAND.id,
            title: "command",
            method: "syscost cmp starts each command as a fresh process, one after the other in random order, several times a \
                     round. The time is the wall-clock time of a run; a round's is the median over its runs.",
            source: "docs/own-code.md",
            roles: &["caller"],
            together: Some(OWN_COMMAND.id),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        let axis = OWN_COMMAND.checked_text(check).flag("command", "command");
        vec![axis.help("a command, for syscost cmp, which records its runs").default_on(Names(&["true"]))]
    }

    fn figures(&self) -> Figures {
        Figures::of(QUANTITIES, METRICS, &["cost"])
    }

    fn available(&self, _: &Point) -> Result<(), Unavailable> {
        Err(Unavailable {
            reason: "commands are measured by another command of syscost".into(),
            remedy: "syscost cmp 'COMMAND' 'COMMAND' --out DIR".into(),
        })
    }

    fn row(&self, point: &Point) -> Option<Row> {
        Some(Row::listed(point.text(OWN_COMMAND)?))
    }

    /// A run is as long as the command.
    fn timing(&self, _: &Point, base: Timing) -> Timing {
        Timing { window_ns: 0, ..base }
    }

    fn play(&self, _: &Task, _: &mut dyn Channel) -> Result<RoleReport> {
        bail!("commands are measured by syscost cmp")
    }
}

fn check(text: &str) -> Result<(), String> {
    if text.trim().is_empty() { Err("write a command, such as true".into()) } else { Ok(()) }
}
