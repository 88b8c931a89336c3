//! What a role is told, and what it says: the round's task, its windows and its report.

use crate::own::OwnObject;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use syscost_core::axis::Point;
use syscost_core::sample::Sample;
use syscost_core::stats::histogram::Histogram;
use syscost_host::Unavailable;

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

impl Timing {
    /// With windows so many times as long.
    pub fn stretched(self, times: u64) -> Timing {
        Timing { window_ns: self.window_ns.saturating_mul(times), ..self }
    }
}

/// Rivals that one pair of workers plays in turns, instead of the task's point alone. After the slices each has its
/// windows, by the task's timing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BlockTask {
    /// In the order of the block; the control may be there twice.
    pub rivals: Vec<Point>,
    /// Length of each rival's slice in the first, untimed pass.
    pub warmup_ns: u64,
    /// Of each slice.
    pub slice_ns: u64,
    /// Timed passes: each rival has one slice in each.
    pub passes: u32,
    /// Of the order of every pass.
    pub seed: u64,
    /// Another run measures beside this one: the descriptor by which the sender passes the baton after every slice.
    pub baton: Option<i32>,
}

/// One slice of one rival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    pub pass: u32,
    /// Its place in the pass.
    pub position: u32,
    /// As asked for.
    pub length_ns: u64,
    /// CLOCK_MONOTONIC of the sender's host; in a run's files since its start.
    pub start_ns: u64,
    pub wall_ns: u64,
    pub messages: u64,
    pub sender_cpu_ns: u64,
    /// Until everything of the slice had arrived.
    pub receiver_cpu_ns: u64,
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
    /// The first group of hardware counters, in a round that counts and is not timed.
    pub counting: Option<u32>,
    /// A round of a block; the point is then that of its first rival.
    pub block: Option<BlockTask>,
    /// Verify every byte (`check`): figures are then not to be used.
    pub verify_all: bool,
    /// Copies are counted (`audit`): nobody uses its times.
    pub audited: bool,
    /// Address of this role's side of the path.
    pub address: String,
    /// Ports that its listeners have to be on, where a firewall lets only these through.
    pub ports: Option<(u16, u16)>,
    /// What the role before this one offered (its listening address), if any.
    pub peer: Option<serde_json::Value>,
    /// The files that [`Needs::files`](super::Needs) asked for, in its order: paths to open.
    pub files: Vec<String>,
    /// Objects of the user's own that the case calls: the worker opens them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own: Vec<OwnObject>,
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
            counting: None,
            block: None,
            verify_all: false,
            audited: false,
            address: String::new(),
            ports: None,
            peer: None,
            files: Vec::new(),
            own: Vec::new(),
        }
    }
}

/// One timed window of one role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// When it began: CLOCK_MONOTONIC of the machine that the role is on.
    pub start_ns: Option<u64>,
    pub elapsed_ns: f64,
    pub ops: f64,
    pub bytes: f64,
    pub marks: Vec<String>,
    pub quantities: BTreeMap<String, Option<f64>>,
    /// Every single time of the window, where the role keeps them.
    pub histogram: Option<Histogram>,
}

/// Quantities of [`batch`](super::batch) that are times of an operation.
const TIMES: [&str; 6] = ["low_ns", "median_ns", "p90_ns", "p99_ns", "max_ns", "overhead_ns"];

impl Window {
    /// As the sample of this number; the harness adds case and round.
    pub fn sample(&self, index: usize) -> Sample {
        Sample {
            index: index as u32,
            start_ns: self.start_ns,
            elapsed_ns: self.elapsed_ns,
            ops: self.ops,
            bytes: self.bytes,
            verified: true,
            marks: self.marks.clone(),
            quantities: self.quantities.clone().into(),
            histogram: self.histogram.clone(),
            ..Sample::default()
        }
    }

    /// Of round trips, each of which is so many of the operations that are counted.
    pub fn of_each(&mut self, operations: f64) {
        let mut scale = |id: &str, by: f64| {
            if let Some(Some(value)) = self.quantities.get_mut(id) {
                *value *= by;
            }
        };
        TIMES.iter().for_each(|id| scale(id, 1.0 / operations));
        scale("batch_ops", operations);
        self.ops *= operations;
    }
}

/// What a role says when its round is over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoleReport {
    pub windows: Vec<Window>,
    /// Of a round of a block: the slices, as the sender timed them, each with its rival's place in the block.
    pub slices: Vec<(usize, Slice)>,
    /// Of a round of a block: the rest of each rival's report.
    pub rivals: Vec<RoleReport>,
    /// Totals of the whole round, warm-up included, for cross-checks between roles.
    pub totals: BTreeMap<String, f64>,
    /// Settings as the kernel reported them back (`send_buffer_bytes`, `congestion_control`, `cpus`).
    pub facts: BTreeMap<String, String>,
    /// Quantities that could not be measured: id, reason, remedy.
    pub missing: Vec<Missing>,
    /// Why every sample of the round is suspect (the process was stopped): filled in by the worker.
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
pub trait Channel {
    /// Tells the harness what the next role needs (a listening address).
    fn offer(&mut self, offer: serde_json::Value) -> anyhow::Result<()>;

    /// Says that this role is set up; returns when every role is and the round starts.
    fn ready(&mut self) -> anyhow::Result<()>;
}

/// The samples of a probe with a single role: one for each window.
pub fn samples_of_one_role(reports: &[RoleReport]) -> Result<Vec<Sample>, String> {
    let [report] = reports else {
        return Err(format!("one role, not {}, makes a sample", reports.len()));
    };
    Ok(report.windows.iter().enumerate().map(|(index, window)| window.sample(index)).collect())
}
