//! Who pays for CPU time: the sender's and the receiver's own work, and softirqs by where they ran.

use crate::context::Layout;
use crate::material::Material;
use crate::text::words::percent;
use crate::{Block, Entry, Table};
use std::time::Duration;
use syscost_core::axis::Axis;
use syscost_core::units::{Unit, count, format_duration};
use syscost_experiment::run::{Audit, CpuTimes, KernelThreadTimes, Record};
use syscost_host::kernel_threads::MachineTime;
use syscost_host::thread_clock::{StolenTime, ThreadClock};

const COLUMNS: [&str; 8] = [
    "sender's own",
    "receiving in the sender",
    "receiver's own",
    "receiving in the receiver",
    "receiving elsewhere",
    "other softirqs",
    "all",
    "of receiving, in the sender",
];

/// Runs of before lack the last.
const KERNEL_COLUMNS: [&str; 4] = [
    "ksoftirqd, kworker, napi, irq: at most",
    "of the data threads' time",
    "other kernel threads",
    "in nobody's clock, of busy CPU time",
];

const METHOD: &str = "CPU time by who ran it, from one short untimed round: shares, not a benchmark. Softirqs receive, on top of \
    whatever thread runs, and the kernel charges that thread. On loopback and veth this is often the sender's: the last column says how much. \"Elsewhere\" is \
    the rest of the machine in that time, other work included. The study's figures contain what ran in the sender and in the receiver only.";

const KERNEL_THREADS: &str = "CPU time of kernel threads in an untimed round. No data thread's clock and no figure of the study has it. \
    It is that of the whole machine, so the messages caused at most this much.";

/// Does CPU time include what the hypervisor stole? Said of virtual machines, and where anything was stolen.
pub fn stolen(record: &Record) -> Option<String> {
    let clock = record.thread_clock.as_ref()?;
    let during = record.conditions.iter().filter_map(|session| session.during.steal_share);
    let share = during.fold(clock.stolen_share(), f64::max);
    let is_virtual = record.fact("hypervisor").is_some_and(|value| value != "none seen");
    (share > 0.0 || is_virtual).then(|| stolen_sentence(clock, share))
}

fn stolen_sentence(clock: &ThreadClock, most: f64) -> String {
    let most = percent(most);
    match clock.stolen {
        StolenTime::Included => {
            format!("CPU time includes time stolen by the hypervisor: tried here, up to {most} of it.")
        }
        StolenTime::Excluded => format!(
            "CPU time excludes time stolen by the hypervisor: tried here, where up to {most} of the time was stolen."
        ),
        StolenTime::NotSeen => format!(
            "Whether CPU time includes time stolen by the hypervisor is not known: {} in the {} in which it was tried.",
            if clock.steal_ns == 0 { "none was stolen" } else { "too little was stolen" },
            format_duration(Duration::from_nanos(clock.wall_ns))
        ),
        StolenTime::Unclear => format!(
            "Whether CPU time includes time stolen by the hypervisor is unclear: a part of it was missing from a thread's \
             clock. Up to {most} of the time was stolen."
        ),
    }
}

/// The tables, where any audit has the figures.
pub fn blocks(m: &Material) -> Vec<Block> {
    let found: Vec<(&Audit, &CpuTimes)> =
        m.run.record.audits.iter().filter_map(|audit| Some((audit, audit.cpu.as_ref()?))).collect();
    let note = charged(found.iter().map(|(_, cpu)| *cpu));
    let payers = table(m, "who-pays", &COLUMNS, &found, |cpu| figures(cpu).to_vec());
    let payers = payers.map(|table| (METHOD, table.titled("Who pays for CPU time").noted(note)));
    let audits = m.run.record.audits.iter();
    let found: Vec<(&Audit, &KernelThreadTimes)> =
        audits.filter_map(|audit| Some((audit, audit.kernel_threads.as_ref()?))).collect();
    let machine = found.iter().find_map(|(_, times)| times.machine);
    let columns = &KERNEL_COLUMNS[..3 + usize::from(machine.is_some())];
    let missed = table(m, "kernel-threads", columns, &found, kernel_figures);
    let note = machine.map(nobody);
    let missed =
        missed.map(|table| (KERNEL_THREADS, table.titled("What the threads' clocks miss").noted(note)));
    let told = |(method, table): (&str, Table)| [Block::Text(method.into()), Block::Table(table)];
    payers.into_iter().chain(missed).flat_map(told).collect()
}

/// A row for each audit that has such times: what names it among the others, then its figures.
fn table<T>(
    m: &Material,
    id: &str,
    columns: &[&'static str],
    found: &[(&Audit, &T)],
    figures: impl Fn(&T) -> Vec<Entry>,
) -> Option<Table> {
    let axes = axes(m, found.iter().map(|(audit, _)| *audit));
    let titles: Vec<&str> = axes.iter().map(|axis| axis.title).chain(columns.iter().copied()).collect();
    let row = |(audit, times): &(&Audit, &T)| {
        let names = axes.iter().map(|axis| audit.point.get(axis.id).map_or(String::new(), |v| axis.show(v)));
        names.map(Entry::Text).chain(figures(times)).collect()
    };
    let rows: Vec<Vec<Entry>> = found.iter().map(row).collect();
    (!rows.is_empty()).then(|| Table::new(id, &titles, rows))
}

/// What the last column is, or why it is empty.
fn nobody(machine: MachineTime) -> String {
    let ticks = format_duration(Duration::from_nanos(machine.resolution_ns));
    if machine.in_no_clock().is_some() {
        return format!(
            "In nobody's clock: time in which a CPU was not idle (/proc/stat, to {ticks}) and no thread ran. Interrupts wake \
             an idle CPU, and it takes its way into and out of its sleep. No figure of the study has it."
        );
    }
    let ended = count(machine.ended as usize, "thread");
    format!(
        "CPU time in nobody's clock is not measurable here, because {ended} ended in that second, or {ticks} is too coarse."
    )
}

fn kernel_figures(times: &KernelThreadTimes) -> Vec<Entry> {
    let (flows, others) = times.of_flows_and_others();
    let per = |ns: u64| Entry::Number(ns as f64 / times.bytes.max(1) as f64, Unit::NanosecondsPerByte);
    let of_data = flows as f64 / times.data_threads_ns.max(1) as f64;
    let share = |share| Entry::Share { share, signed: false };
    let nobody = times.machine.map(|machine| machine.in_no_clock().map_or(Entry::Missing, share));
    [per(flows), share(of_data), per(others)].into_iter().chain(nobody).collect()
}

/// The axes that name an audit among others: the first of its probe, and each that varies.
fn axes<'a>(m: &Material, audits: impl Iterator<Item = &'a Audit>) -> Vec<Axis> {
    let audits: Vec<&Audit> = audits.collect();
    let of = |l: &&Layout| audits.iter().any(|audit| audit.probe == l.probe.about().id);
    let all = m.layouts.iter().filter(of).flat_map(|l| l.probe.axes().into_iter().enumerate());
    let varies = |id: &str| {
        let mut values = audits.iter().filter_map(|audit| audit.point.get(id));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    all.filter(|(position, axis)| *position == 0 || varies(axis.id)).map(|(_, axis)| axis).collect()
}

fn figures(cpu: &CpuTimes) -> [Entry; 8] {
    let s = &cpu.softirqs;
    let per = |ns: u64| Entry::Number(cpu.per_byte(ns), Unit::NanosecondsPerByte);
    [
        per(cpu.sender_process_ns()),
        per(s.sender_net_rx_ns),
        per(cpu.receiver_process_ns()),
        per(s.receiver_net_rx_ns),
        per(s.elsewhere_net_rx_ns),
        per(s.sender_other_ns + s.receiver_other_ns + s.elsewhere_other_ns),
        per(cpu.total_ns()),
        cpu.net_rx_in_sender().map_or(Entry::Missing, |share| Entry::Share { share, signed: false }),
    ]
}

/// Where the kernel's configuration leaves open what a thread's clock contains.
fn charged<'a>(mut found: impl Iterator<Item = &'a CpuTimes>) -> Option<String> {
    found.any(|cpu| cpu.softirqs_charged.is_none()).then(|| {
        "This kernel does not say whether threads are charged for softirqs (CONFIG_IRQ_TIME_ACCOUNTING). The table \
         assumes that they are, as in most kernels."
            .to_string()
    })
}
