//! Measured operations: one file each, one visible list.
//!
//! A probe names its axes, the raw quantities it records and the metrics computed from them, and
//! supplies the bodies of its roles (a sender and a receiver; or a single role for an operation
//! of one process). The harness owns processes, rounds, order, time limits; a role owns nothing
//! but the operation. [`batch`] is the timing loop of most operations and [`cost`] their metrics.

use crate::own::{self, OwnCode, OwnKind};
use std::time::Duration;
use syscost_core::axis::{Axis, NameAxis, Point, Value};
use syscost_core::sample::Sample;
use syscost_host::Unavailable;
use syscost_host::scratch::ScratchFile;

mod counted;
pub mod batch;
pub mod blocks;
pub mod cost;
pub mod directory;
pub mod guide;
pub mod meter;
pub mod named_file;
pub mod network;
pub mod operation;
pub mod passes;
pub mod path_steps;
pub mod prediction;
pub mod rights;
pub mod row;
pub mod streaming;
pub mod working_set;
mod extensions;
mod figures;
mod formula;
mod task;

pub use extensions::{Copies, CopyTotals, OtherWay, Prices};
pub use figures::Figures;
pub(crate) use figures::{metrics, quantities};
pub use operation::OS_MORE_SUITE;
pub use task::{BlockTask, Channel, Missing, RoleReport, Slice, Task, Timing, Window, samples_of_one_role};

use prediction::{Inputs, PredictedCost};
use rights::Rights;
use row::{Drawing, Row};

/// What a probe is, for `list`, help, reports and docs.
#[derive(Clone, Copy)]
pub struct ProbeAbout {
    pub id: &'static str,
    pub title: &'static str,
    /// What is timed and how, in two sentences.
    pub method: &'static str,
    /// Paper, man page or kernel document of the method.
    pub source: &'static str,
    /// The roles in starting order; each gets the offer of the one before.
    pub roles: &'static [&'static str],
    /// The role on the far side of the case's path (the other namespace).
    pub far_role: Option<&'static str>,
    /// Are both sides processes of this host on every path?
    pub here_only: bool,
    /// The axis all of whose values one pair of workers measures in a visit, as [`BlockTask::rivals`] without slices.
    pub together: Option<&'static str>,
    /// The axis whose values are held against one another and visited one after the other, each by workers of its own.
    pub adjacent: Option<&'static str>,
    /// The suite of operations that it belongs to, as a row of their table; `None`: the probe is a study of its own.
    pub suite: Option<&'static str>,
    /// Are its cases compared with one another, so that some are measured twice (A/A)?
    pub compared: bool,
    /// The axis whose values are rulers: figures of another probe are held against them.
    pub ruler: Option<&'static str>,
    pub prices: Option<Prices>,
}

impl ProbeAbout {
    /// No extension; every probe names its own texts and roles.
    pub const DEFAULTS: ProbeAbout = ProbeAbout {
        id: "",
        title: "",
        method: "",
        source: "",
        roles: &[],
        far_role: None,
        here_only: false,
        together: None,
        adjacent: None,
        suite: None,
        compared: false,
        ruler: None,
        prices: None,
    };
}

/// What one round of a case takes beside its windows.
#[derive(Default)]
pub struct Needs {
    /// Beyond the workers themselves, over all roles.
    pub memory_bytes: u64,
    /// Scratch files that the round reads.
    pub files: Vec<ScratchFile>,
    /// Beside starting the workers.
    pub set_up: Duration,
}

impl Needs {
    pub fn memory(memory_bytes: u64) -> Needs {
        Needs { memory_bytes, ..Needs::default() }
    }

    pub fn files(files: Vec<ScratchFile>) -> Needs {
        Needs { files, ..Needs::default() }
    }
}

pub trait Probe: Sync {
    fn about(&self) -> ProbeAbout;

    /// Every axis that any case of this probe can have, in column order.
    fn axes(&self) -> Vec<Axis>;

    /// Plays one role in a worker process. An error that is an [`Unavailable`] skips the case with
    /// its reason instead of failing it.
    fn play(&self, task: &Task, channel: &mut dyn Channel) -> anyhow::Result<RoleReport>;

    fn figures(&self) -> Figures {
        Figures::of_single_operations()
    }

    /// Can this case run on this machine? Asked once per combination of names, switches and texts: sizes and
    /// counts cannot decide it (a case too large for memory is [`Needs::memory_bytes`]), but for those of
    /// [`Probe::decides`].
    fn available(&self, point: &Point) -> Result<(), Unavailable> {
        let _ = point;
        Ok(())
    }

    fn needs(&self, point: &Point) -> Needs {
        let _ = point;
        Needs::default()
    }

    /// How a round of this case spends its time (threads beyond the CPUs need longer).
    fn timing(&self, point: &Point, base: Timing) -> Timing {
        let _ = point;
        base
    }

    /// What of root's rights this role keeps; the worker gives up all others before it plays.
    fn rights(&self, role: &str) -> Rights {
        let _ = role;
        Rights::none()
    }

    /// The case as a row of the table of operations; `None`: it stands in none.
    fn row(&self, point: &Point) -> Option<Row> {
        let _ = point;
        None
    }

    /// What the case should cost, from hardware facts and other rows; `None`: nobody can say.
    fn predict(&self, point: &Point, inputs: Inputs<'_>) -> Option<PredictedCost> {
        let _ = (point, inputs);
        None
    }

    /// Curves and heat maps of its cases.
    fn drawings(&self) -> &'static [Drawing] {
        &[]
    }

    /// Ways of doing the same that may cost less, of the values that its axes have.
    fn other_ways(&self) -> &'static [OtherWay] {
        &[]
    }

    /// Another probe whose axes these are: it answers where this one says nothing of an axis, but for whether it applies.
    fn axes_as(&self) -> Option<&'static dyn Probe> {
        None
    }

    /// Does this axis exist at this point? (A reap batch only where something is reaped.) The
    /// point holds the axes before it in `axes()` order. Asked once per combination of names, switches and
    /// texts: sizes and counts cannot decide it.
    fn applies(&self, axis: &str, point: &Point) -> bool {
        let _ = (axis, point);
        true
    }

    /// Does [`Probe::available`] look at this size or count too? The point holds the axes before it.
    fn decides(&self, axis: &str, point: &Point) -> bool {
        self.axes_as().is_some_and(|other| other.decides(axis, point))
    }

    /// The value that this axis has at this point whatever was asked for, because another coordinate says it, and what
    /// to do where somebody named one. The point holds the axes before it; asked as seldom as [`Probe::applies`].
    fn settled(&self, axis: &str, point: &Point) -> Option<(Value, &'static str)> {
        self.axes_as()?.settled(axis, point)
    }

    /// The value to measure instead of this default where the machine cannot do the default, and the reason.
    fn substitute(&self, axis: &str, value: &Value) -> Option<(Value, Unavailable)> {
        self.axes_as()?.substitute(axis, value)
    }

    /// The value that this axis takes at this point when nobody named one, where that is not the axis's
    /// own default: something on the point needs it. The point holds the axes before it; asked as seldom as
    /// [`Probe::applies`].
    fn wants(&self, axis: &str, point: &Point) -> Option<Value> {
        self.axes_as()?.wants(axis, point)
    }

    /// Why it takes that value, where a host refuses the default: that is told.
    fn refusal(&self, axis: &str, point: &Point) -> Option<Unavailable> {
        self.axes_as()?.refusal(axis, point)
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

    /// May it be advised to whoever asks? What does another work is held beside the ways, and compared with them.
    fn advised(&self, point: &Point) -> bool {
        let _ = point;
        true
    }

    /// Can one pair of workers play this case in turns with others (see [`BlockTask`])?
    fn takes_turns(&self, point: &Point) -> bool {
        let _ = point;
        false
    }

    /// Does this way do nothing beside what all of them do? Others are held against it.
    fn is_control(&self, point: &Point) -> bool {
        let _ = point;
        false
    }

    /// How copies of its cases are counted; `None`: it moves no data over TCP, or none that is audited.
    fn copies(&self) -> Option<&'static dyn Copies> {
        None
    }

    /// Joins the roles' windows (same order as the roles) into samples, and verifies the work.
    /// Pure. `case` and `round` are filled in by the harness.
    fn merge(&self, point: &Point, reports: &[RoleReport]) -> Result<Vec<Sample>, String> {
        let _ = point;
        samples_of_one_role(reports)
    }
}

syscost_core::registry! {
    /// Every probe, in the order of reports.
    pub static ALL: dyn Probe = [
        pub transfer::Transfer,
        pub local_transfer::LocalTransfer,
        pub placed_transfer::PlacedTransfer,
        pub datagram_transfer::DatagramTransfer,
        pub datagram_limit::DatagramLimit,
        pub tcp_latency::TcpLatency,
        carrier_latency::CarrierLatency,
        pub tcp_path::TcpPath,
        pub timer::TIMER,
        pub procedure_call::PROCEDURE_CALL,
        pub system_call::SYSTEM_CALL,
        pub process_create::PROCESS_CREATE,
        pub thread_create::THREAD_CREATE,
        pub context_switch::CONTEXT_SWITCH,
        pub core_to_core::CORE_TO_CORE,
        pub memory_latency::MEMORY_LATENCY,
        pub memory_bandwidth::MEMORY_BANDWIDTH,
        pub page_fault::PAGE_FAULT,
        pub tcp_round_trip::TCP_ROUND_TRIP,
        pub icmp_round_trip::ICMP_ROUND_TRIP,
        pub tcp_connect::TCP_CONNECT,
        pub peak_bandwidth::PeakBandwidth,
        pub file_cache::FILE_CACHE,
        pub file_read::FILE_READ,
        pub remote_file_read::REMOTE_FILE_READ,
        pub file_contention::FILE_CONTENTION,
        pub memory_map::MEMORY_MAP,
        pub ready_descriptor::READY_DESCRIPTOR,
        pub signal_to_self::SIGNAL_TO_SELF,
        pub program_start::PROGRAM_START,
        pub file_name::FILE_NAME,
        pub primitive::PRIMITIVE,
        pub own_operation::OwnOperations,
        pub own_command::CommandRuns,
    ];
}

/// The row of a call that does next to nothing, as an input of many predictions: into the kernel and out.
pub fn trap() -> prediction::RowRef {
    system_call::cost_of("getppid")
}

pub fn find(id: &str) -> Option<&'static dyn Probe> {
    ALL.iter().copied().find(|p| p.about().id == id)
}

/// The user's own code that a case calls.
pub fn own_code(point: &Point) -> Vec<&'static OwnCode> {
    OwnKind::ALL.into_iter().filter_map(|kind| own::find(kind, point.text(own_axis(kind))?)).collect()
}

/// The axis that has this kind of code among its values.
pub fn own_axis(kind: OwnKind) -> NameAxis {
    match kind {
        OwnKind::Operation => own_operation::OWN_OPERATION,
        OwnKind::Mechanism => transfer::axes::MECHANISM,
        OwnKind::Receiver => transfer::axes::RECEIVER,
    }
}

/// The control among ways of doing one thing: of several that are one, that with the fewest settings that are not the usual.
pub fn plain_control<'p, T>(probe: &dyn Probe, ways: impl Iterator<Item = (T, &'p Point)>) -> Option<T> {
    let mut controls: Vec<(T, &Point)> = ways.filter(|(_, point)| probe.is_control(point)).collect();
    if controls.len() > 1 {
        let axes = probe.axes();
        let is_usual = |id: &str, value: &Value| {
            axes.iter().any(|axis| axis.id == id && axis.default().first() == Some(value))
        };
        controls.sort_by_key(|(_, point)| point.iter().filter(|(id, value)| !is_usual(id, value)).count());
    }
    controls.into_iter().next().map(|(way, _)| way)
}
