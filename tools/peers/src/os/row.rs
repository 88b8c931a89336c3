//! The rows that are compared: each an operation of ours, by probe and coordinates, that at least
//! one peer measures too. One visible list.

use anyhow::{Context, Result};
use syscost_core::axis::Point;
use syscost_core::sample::Metric;
use syscost_core::units::Unit;
use syscost_measure::probe;

/// One compared operation.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub id: &'static str,
    pub title: &'static str,
    pub unit: Unit,
    pub probe: &'static str,
    /// Axes by id, values as on the command line. Axes that are not named keep their first default.
    pub at: &'static [(&'static str, &'static str)],
    pub metric: &'static str,
    /// Our metric counts this often in the row: a round trip is two passes of a token.
    pub times: f64,
}

/// A row whose figure is the cost of an operation.
const fn cost(
    id: &'static str,
    title: &'static str,
    probe: &'static str,
    at: &'static [(&'static str, &'static str)],
) -> Row {
    Row { id, title, unit: Unit::Nanoseconds, probe, at, metric: "cost", times: 1.0 }
}

const fn bandwidth(
    id: &'static str,
    title: &'static str,
    at: &'static [(&'static str, &'static str)],
) -> Row {
    let (unit, probe, metric) = (Unit::BytesPerSecond, "memory_bandwidth", "bandwidth");
    Row { id, title, unit, probe, at, metric, times: 1.0 }
}

/// Every row, in the order of the page.
#[rustfmt::skip]
pub const ALL: &[Row] = &[
    cost("getppid", "system call, getppid", "system_call", &[("call", "getppid")]),
    cost("read", "read of 1 byte of /dev/zero", "system_call", &[("call", "read")]),
    cost("write", "write of 1 byte to /dev/null", "system_call", &[("call", "write")]),
    cost("procedure", "procedure call, 1 argument", "procedure_call", &[("arguments", "1")]),
    cost("fork", "fork, exit, wait", "process_create", &[("how", "fork"), ("resident_bytes", "1M")]),
    cost("vfork", "vfork, exit, wait", "process_create", &[("how", "vfork"), ("resident_bytes", "1M")]),
    cost("fork_exec", "fork, exec, wait", "process_create", &[("how", "fork_exec"), ("resident_bytes", "1M")]),
    cost("thread", "thread create and join", "thread_create", &[("stack_bytes", "8M")]),
    cost("switch", "context switch of processes, same CPU", "context_switch",
        &[("between", "process"), ("placement", "same"), ("token", "pipe")]),
    Row { metric: "gross", times: 2.0, ..cost("pipe_processes", "pipe round trip of processes, same CPU",
        "context_switch", &[("between", "process"), ("placement", "same"), ("token", "pipe")]) },
    Row { metric: "gross", times: 2.0, ..cost("pipe_threads", "pipe round trip of threads, same CPU",
        "context_switch", &[("between", "thread"), ("placement", "same"), ("token", "pipe")]) },
    cost("signal_install", "signal handler installed", "signal_to_self", &[("signal_act", "install")]),
    cost("signal_caught", "signal to oneself, handled", "signal_to_self", &[("signal_act", "deliver")]),
    cost("select_100", "select of 100 descriptors", "ready_descriptor",
        &[("wait_call", "select"), ("descriptors", "100")]),
    cost("stat", "stat of a name", "file_name", &[("file_call", "stat"), ("path_depth", "1")]),
    cost("open_close", "open and close", "file_name", &[("file_call", "open_close")]),
    cost("core_to_core", "cache line, core to core", "core_to_core", &[]),
    cost("load_16k", "load, 16 KiB", "memory_latency", &[("working_set_bytes", "16K"), ("huge_pages", "off")]),
    cost("load_512k", "load, 512 KiB", "memory_latency", &[("working_set_bytes", "512K"), ("huge_pages", "off")]),
    cost("load_8m", "load, 8 MiB", "memory_latency", &[("working_set_bytes", "8M"), ("huge_pages", "off")]),
    bandwidth("read_16k", "memory read, 16 KiB",
        &[("operation", "read"), ("working_set_bytes", "16K"), ("threads", "1")]),
    bandwidth("read_256m", "memory read, 256 MiB",
        &[("operation", "read"), ("working_set_bytes", "256M"), ("threads", "1")]),
    bandwidth("write_256m", "memory write, 256 MiB",
        &[("operation", "write"), ("working_set_bytes", "256M"), ("threads", "1")]),
    bandwidth("copy_256m", "memory copy, 128 MiB to 128 MiB",
        &[("operation", "copy"), ("working_set_bytes", "256M"), ("threads", "1")]),
    cost("fault_anonymous", "minor page fault, anonymous", "page_fault", &[("fault", "minor_anonymous")]),
    cost("fault_file", "minor page fault, file in the page cache", "page_fault", &[("fault", "minor_file")]),
    cost("tcp", "TCP round trip, 56 bytes out, 64 back, loopback", "tcp_round_trip",
        &[("exchange", "ping"), ("path", "loopback")]),
    cost("connect", "TCP connect, loopback", "tcp_connect", &[("phase", "setup"), ("path", "loopback")]),
    cost("icmp", "ICMP echo, loopback", "icmp_round_trip", &[("path", "loopback")]),
    cost("file_direct_random", "4 KiB read, random, direct", "file_read",
        &[("read_mode", "direct"), ("read_pattern", "random"), ("file_bytes", "64M")]),
    cost("file_direct_sequential", "4 KiB read, sequential, direct", "file_read",
        &[("read_mode", "direct"), ("read_pattern", "sequential"), ("file_bytes", "64M")]),
    cost("file_cold_sequential", "4 KiB read, sequential, page cache dropped", "file_read",
        &[("read_mode", "buffered"), ("page_cache", "dropped"), ("read_pattern", "sequential"), ("file_bytes", "64M")]),
    cost("file_cold_random", "4 KiB read, random, page cache dropped", "file_read",
        &[("read_mode", "buffered"), ("page_cache", "dropped"), ("read_pattern", "random"), ("file_bytes", "64M")]),
];

pub fn find(id: &str) -> Option<&'static Row> {
    ALL.iter().find(|row| row.id == id)
}

impl Row {
    /// The coordinates of our case, some of them others than the row's, and the metric that is compared.
    pub fn resolve(
        &self,
        instead: &[(&'static str, &'static str)],
        directory: &str,
    ) -> Result<(Point, Metric)> {
        let probe = probe::find(self.probe).with_context(|| format!("no probe {}", self.probe))?;
        let axes = probe.axes();
        let mut point = Point::default();
        for axis in &axes {
            if !probe.applies(axis.id, &point) {
                continue;
            }
            let asked = instead.iter().chain(self.at).find(|(id, _)| *id == axis.id).map(|(_, text)| *text);
            let asked = asked.or((axis.id == "directory").then_some(directory));
            let value = match asked {
                Some(text) => axis.parse(text)?,
                None => axis
                    .default()
                    .into_iter()
                    .next()
                    .with_context(|| format!("{} has no default", axis.id))?,
            };
            point.set(axis.id, value);
        }
        if let Some((id, _)) = self.at.iter().find(|(id, _)| point.get(id).is_none()) {
            anyhow::bail!("{} has no axis {id} there", self.probe);
        }
        let metric = probe.metrics().into_iter().find(|metric| metric.id == self.metric);
        let metric = metric.with_context(|| format!("{} has no metric {}", self.probe, self.metric))?;
        anyhow::ensure!(metric.unit == self.unit, "{} is not in {}", self.metric, self.unit.symbol());
        Ok((point, metric))
    }
}
