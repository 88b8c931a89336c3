//! Measured operations: one file each, one visible list.
//!
//! A probe names its axes, the raw quantities it records and the metrics computed from them, and
//! supplies the bodies of its roles (a sender and a receiver; or a single role for an operation
//! of one process). The harness owns processes, rounds, order, time limits; a role owns nothing
//! but the operation. A probe of an operating-system operation also says which row of the report a
//! case is ([`Probe::row`]) and what it should cost ([`Probe::predict`]); [`batch`] is its timing
//! loop and [`cost`] its metrics.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;
use syscost_core::axis::{Axis, Point, Value};
use syscost_core::sample::{Metric, Quantity, Sample};
use syscost_core::stats::histogram::Histogram;
use syscost_host::Unavailable;
use syscost_host::scratch::ScratchFile;

pub mod batch;
pub mod blocks;
pub mod context_switch;
pub mod core_to_core;
pub mod cost;
pub mod directory;
pub mod file_cache;
pub mod file_contention;
pub mod file_read;
pub mod hierarchy;
pub mod icmp_round_trip;
pub mod local_transfer;
pub mod memory_bandwidth;
pub mod memory_latency;
pub mod memory_mountain;
pub mod meter;
pub mod network;
pub mod page_fault;
pub mod passes;
pub mod peak_bandwidth;
pub mod prediction;
pub mod procedure_call;
pub mod process_create;
pub mod remote_file_read;
pub mod rights;
pub mod row;
pub mod streaming;
pub mod system_call;
pub mod tcp_connect;
pub mod tcp_latency;
pub mod tcp_path;
pub mod tcp_round_trip;
pub mod thread_create;
pub mod timer;
pub mod transfer;
pub mod working_set;

use prediction::{Account, Inputs};
use rights::Rights;
use row::{Drawing, Row};

/// What a probe is, for `list`, help, reports and docs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    pub id: &'static str,
    pub title: &'static str,
    /// What is timed and how, in two sentences.
    pub method: &'static str,
    /// Paper, man page or kernel document of the method.
    pub source: &'static str,
}

/// How a round spends its time; the same for every role of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// Untimed work before the first sample.
    pub warmup_ns: u64,
    /// Length of one sample.
    pub window_ns: u64,
    /// Samples per round.
    pub windows: u32,
}

/// What the harness tells one role to do: one case, one round.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    pub probe: String,
    pub role: String,
    pub point: Point,
    pub timing: Timing,
    /// Random, fresh per round: data connections must present it.
    pub token: String,
    /// Rate of the time-stamp counter, where it is constant and known.
    pub tsc_hz: Option<f64>,
    /// Verify every byte (`check`): figures are then not to be used.
    pub verify_all: bool,
    /// Address of this role's side of the path.
    pub address: String,
    /// Ports that its listeners have to be on, where a firewall lets only these through.
    #[serde(default)]
    pub ports: Option<(u16, u16)>,
    /// What the role before this one offered (its listening address), if any.
    pub peer: Option<serde_json::Value>,
    /// The files that [`Probe::files`] asked for, in its order: paths to open.
    #[serde(default)]
    pub files: Vec<String>,
}

#[cfg(test)]
impl Task {
    /// What a test tells a role that it plays itself.
    pub fn of(point: Point, timing: Timing) -> Task {
        Task {
            probe: String::new(),
            role: String::new(),
            point,
            timing,
            token: String::new(),
            tsc_hz: None,
            verify_all: false,
            address: String::new(),
            ports: None,
            peer: None,
            files: Vec::new(),
        }
    }
}

/// One timed window of one role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Window {
    pub elapsed_ns: f64,
    pub ops: f64,
    pub bytes: f64,
    pub marks: Vec<String>,
    pub quantities: BTreeMap<String, Option<f64>>,
    /// Every single time of the window, where the role keeps them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub histogram: Option<Histogram>,
}

/// What a role says when its round is over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoleReport {
    pub windows: Vec<Window>,
    /// Totals of the whole round, warm-up included, for cross-checks between roles.
    pub totals: BTreeMap<String, f64>,
    /// Settings as the kernel reported them back (`send_buffer_bytes`, `congestion_control`, `cpus`).
    pub facts: BTreeMap<String, String>,
    /// Quantities that could not be measured: id, reason, remedy.
    pub missing: Vec<Missing>,
    /// Why every sample of the round is suspect (the process was stopped): filled in by the worker.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<String>,
}

/// A quantity that this machine could not provide, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    pub quantity: String,
    #[serde(flatten)]
    pub why: Unavailable,
}

/// A role's line to the harness.
pub trait Stage {
    /// Tells the harness what the next role needs (a listening address).
    fn offer(&mut self, offer: serde_json::Value) -> anyhow::Result<()>;

    /// Says that this role is set up; returns when every role is and the round starts.
    fn ready(&mut self) -> anyhow::Result<()>;
}

pub trait Probe: Sync {
    fn about(&self) -> About;

    /// Every axis that any case of this probe can have, in column order.
    fn axes(&self) -> Vec<Axis>;

    /// Does this axis exist at this point? (A reap batch only where something is reaped.) The
    /// point holds the axes before it in `axes()` order. Asked once per combination of names, switches and
    /// texts: sizes and counts cannot decide it.
    fn applies(&self, axis: &str, point: &Point) -> bool {
        let _ = (axis, point);
        true
    }

    /// Can this case run on this machine? Asked once per combination of names, switches and texts: sizes and
    /// counts cannot decide it (a case too large for memory is [`Probe::memory_bytes`]), but for those of
    /// [`Probe::decides`].
    fn available(&self, point: &Point) -> Result<(), Unavailable> {
        let _ = point;
        Ok(())
    }

    /// Does [`Probe::available`] look at this size or count too?
    fn decides(&self, axis: &str) -> bool {
        let _ = axis;
        false
    }

    /// What the points of a run have on an axis that is younger than the run.
    fn before(&self, axis: &str) -> Option<Value> {
        let _ = axis;
        None
    }

    /// What to measure instead of this default value where the machine cannot do it, and why.
    fn substitute(&self, axis: &str, value: &Value) -> Option<(Value, Unavailable)> {
        let _ = (axis, value);
        None
    }

    /// The value that this axis takes at this point when nobody named one, where that is not the axis's
    /// own default: something on the point needs it. The point holds the axes before it; asked as seldom as
    /// [`Probe::applies`].
    fn wants(&self, axis: &str, point: &Point) -> Option<Value> {
        let _ = (axis, point);
        None
    }

    /// Files that a round of this case reads.
    fn files(&self, point: &Point) -> Vec<ScratchFile> {
        let _ = point;
        Vec::new()
    }

    /// Memory that one round of this case needs beyond the workers themselves, over all roles.
    fn memory_bytes(&self, point: &Point) -> u64 {
        let _ = point;
        0
    }

    /// Those of one operation, unless it records others.
    fn quantities(&self) -> Vec<Quantity> {
        cost::QUANTITIES.to_vec()
    }

    fn metrics(&self) -> Vec<Metric>;

    /// The roles in starting order; each gets the offer of the one before.
    fn roles(&self) -> &'static [&'static str];

    /// Does this role sit on the far side of the case's path (the other namespace)?
    fn far(&self, role: &str) -> bool {
        let _ = role;
        false
    }

    /// What of root's rights this role keeps; the worker gives up all others before it plays.
    fn rights(&self, role: &str) -> Rights {
        let _ = role;
        Rights::none()
    }

    /// Plays one role in a worker process. An error that is an [`Unavailable`] skips the case with
    /// its reason instead of failing it.
    fn play(&self, task: &Task, stage: &mut dyn Stage) -> anyhow::Result<RoleReport>;

    /// Joins the roles' windows (same order as `roles`) into samples, and verifies the work.
    /// Pure. `case` and `round` are filled in by the harness.
    fn merge(&self, point: &Point, reports: &[RoleReport]) -> Result<Vec<Sample>, String> {
        let _ = point;
        samples_of_one_role(reports)
    }

    /// The metrics whose intervals decide whether a case has been measured often enough; the first
    /// is the headline: what a row shows and a prediction predicts.
    fn decisive(&self) -> &'static [&'static str] {
        &["cost"]
    }

    /// Nominal time of one round relative to its windows (threads beyond the CPUs need longer).
    fn timing(&self, point: &Point, base: Timing) -> Timing {
        let _ = point;
        base
    }

    /// What setting up one round takes beside starting its workers.
    fn set_up(&self, point: &Point) -> Duration {
        let _ = point;
        Duration::ZERO
    }

    /// How copies of its cases are counted; `None`: it moves no data over TCP, or none that is audited.
    fn copies(&self) -> Option<&'static dyn Copies> {
        None
    }

    /// The collections of probes that this one belongs to: `suite = "os"` of a spec.
    fn suite(&self) -> Option<&'static str> {
        None
    }

    /// Does whoever does this choose the axis's value (a mechanism, how many messages a call takes),
    /// rather than have it given (a message size, a path)? Ways of doing one thing differ in such axes only.
    fn chosen(&self, axis: &str) -> bool {
        let _ = axis;
        false
    }

    /// Is the whole work done at this point? What leaves a part out (a receiver that never sees the
    /// bytes) is an upper bound: it is measured, and never advised.
    fn whole(&self, point: &Point) -> bool {
        let _ = point;
        true
    }

    /// Are its cases compared with one another, so that the noise floor (A/A) has to be known?
    fn compared(&self) -> bool {
        false
    }

    /// The case as a row of the table of operations; `None`: the probe is a study of its own.
    fn row(&self, point: &Point) -> Option<Row> {
        let _ = point;
        None
    }

    /// What the case should cost, from hardware facts and other rows; `None`: nobody can say.
    fn predict(&self, point: &Point, inputs: Inputs<'_>) -> Option<Account> {
        let _ = (point, inputs);
        None
    }

    /// What another probe's figures may be held against: the ways of this one.
    fn ruler(&self) -> Option<Ruler> {
        None
    }

    /// The pictures of its cases.
    fn drawings(&self) -> Vec<Drawing> {
        Vec::new()
    }
}

/// A probe whose cases show what those of another one could cost.
#[derive(Clone, Copy)]
pub struct Ruler {
    /// Whose figures are held against it, at the coordinates that both have.
    pub of: &'static dyn Probe,
    /// The axis whose values are the rulers.
    pub axis: &'static str,
    /// The value that nothing can beat.
    pub bound: &'static str,
    /// What reports call a value.
    pub title: fn(&str) -> Option<&'static str>,
}

/// What an audit of a probe's copies has to know of it.
pub trait Copies: Sync {
    /// Do these points move data in the same way, so that one of them stands for both?
    fn same_way(&self, one: &Point, other: &Point) -> bool;

    /// How far this point is from the one that stands for its way best.
    fn distance(&self, point: &Point) -> u64;

    /// The port that the data connections go to, on the far side; from what the roles offered.
    fn port(&self, offers: &[serde_json::Value]) -> Option<u16>;

    /// What the roles themselves know, from their totals (`sender.bytes`).
    fn known(&self, totals: &BTreeMap<String, f64>) -> Option<Known>;
}

/// The part of an audit that is not the kernel's to tell; of the whole round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Received, verified and equal to what was sent.
    pub delivered_bytes: u64,
    /// Copied from user memory to user memory.
    pub user_copied: u64,
    /// Sent beside the payload, inside TCP.
    pub framing_bytes: u64,
    /// Taken by the receiver without a copy to its memory.
    pub uncopied_out: u64,
    pub completions: u64,
    pub completions_copied: u64,
    /// CPU time of each side's data threads, by their own clocks.
    pub sender_cpu_ns: u64,
    pub receiver_cpu_ns: u64,
}

/// The samples of a probe with a single role: one for each window.
pub fn samples_of_one_role(reports: &[RoleReport]) -> Result<Vec<Sample>, String> {
    let [report] = reports else {
        return Err(format!("one role, not {}, makes a sample", reports.len()));
    };
    let sample = |(index, window): (usize, &Window)| Sample {
        index: index as u32,
        elapsed_ns: window.elapsed_ns,
        ops: window.ops,
        bytes: window.bytes,
        verified: true,
        marks: window.marks.clone(),
        quantities: window.quantities.clone().into(),
        histogram: window.histogram.clone(),
        ..Sample::default()
    };
    Ok(report.windows.iter().enumerate().map(sample).collect())
}

/// Every probe, in the order of reports.
// One a line, whatever fits: two changes that add one each then meet without a conflict.
#[rustfmt::skip]
pub static ALL: &[&dyn Probe] = &[
    &transfer::Transfer,
    &local_transfer::LocalTransfer,
    &tcp_latency::TcpLatency,
    &tcp_path::TcpPath,
    &timer::Timer,
    &procedure_call::ProcedureCall,
    &system_call::SystemCall,
    &process_create::ProcessCreate,
    &thread_create::ThreadCreate,
    &context_switch::ContextSwitch,
    &core_to_core::CoreToCore,
    &memory_latency::MemoryLatency,
    &memory_bandwidth::MemoryBandwidth,
    &memory_mountain::MemoryMountain,
    &page_fault::PageFault,
    &tcp_round_trip::TcpRoundTrip,
    &icmp_round_trip::IcmpRoundTrip,
    &tcp_connect::TcpConnect,
    &peak_bandwidth::PeakBandwidth,
    &file_cache::FileCache,
    &file_read::FileRead,
    &remote_file_read::RemoteFileRead,
    &file_contention::FileContention,
];

pub fn find(id: &str) -> Option<&'static dyn Probe> {
    ALL.iter().copied().find(|p| p.about().id == id)
}
