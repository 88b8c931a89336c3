//! What this machine is and what it allows: fingerprint, topology, clock, counters, namespaces.

pub mod files;
pub mod settings;
pub mod topology;
pub mod storage;
pub mod allowance;
pub mod modelled;
pub mod clock;
pub mod noise;
pub mod conditions;
pub mod counters;
pub mod packet_sockets;
pub mod link;
pub mod namespaces;
pub mod acceptor;
pub mod caches;
pub mod fingerprint;
pub mod identity;
pub mod remote;
pub mod scratch;
pub mod doctor;
pub mod huge_pages;
pub mod cleaner;
pub mod memory_group;
pub mod kernel_threads;
pub mod sampling;
pub mod scarce;
pub mod thread_clock;
pub mod uring;

use serde::{Deserialize, Serialize};

/// "Not measurable here, because": an answer with a reason and a remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{reason}")]
pub struct Unavailable {
    /// What is missing: `the kernel has no io_uring (ENOSYS)`.
    pub reason: String,
    /// The next command or setting: `sysctl kernel.perf_event_paranoid=1`.
    pub remedy: String,
}

/// One recorded property of the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// `cpu_model`, `kernel_release`, `tcp_wmem_max_bytes`
    pub id: String,
    /// Label for people: `CPU model`.
    pub title: String,
    /// `None`: this machine does not say.
    pub value: Option<String>,
    /// Where it was read: `/proc/cpuinfo`, `CPUID leaf 0x15`.
    pub source: String,
}
