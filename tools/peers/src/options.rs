//! The command line.

use crate::{contests, os, sink, stamped};
use clap::{Parser, Subcommand};

/// Compares syscost with other benchmarks on equal terms: plain sends and round trips beside netperf, iperf3, nuttcp and
/// others, in the same namespaces and on the same CPUs, alternately in the same run.
#[derive(Clone, Debug, Parser)]
#[command(name = "peers", version, args_conflicts_with_subcommands = true)]
pub struct CommandLine {
    #[command(subcommand)]
    pub what: Option<What>,
    #[command(flatten)]
    pub plain: contests::Options,
}

/// Other comparisons than that of plain sends.
#[derive(Clone, Debug, Subcommand)]
pub enum What {
    /// Compares the costs of operations with lmbench, perf bench, fio and others
    Os(os::Options),
    /// Compares every other way to send, to receive and to wait with the programs that use the same one
    Ways(contests::Options),
    #[command(hide = true)]
    Sink(sink::Options),
    #[command(hide = true)]
    Stamped(stamped::Options),
}
