//! A recorded-looking run from a seeded cost model: what the report's tests read.
//!
//! The model is the shape seen on real machines (a cost per message, a cost per byte, per-round
//! and per-sample noise), so that crossovers, ties and slow cells all occur; its figures are
//! invented and are published nowhere.

use std::collections::BTreeMap;
use syscost_analyze::synthetic;
use syscost_core::axis::{Point, Value};
use syscost_core::sample::Sample;
use syscost_core::stats::random::Random;
use syscost_experiment::plan::{Case, Plan, Skip};
use syscost_experiment::run::{
    Audit, CpuTimes, Failure, KernelThreadTimes, MissingQuantities, Record, Run, Slices, State, Tool, Warning,
};
use syscost_experiment::spec::{ProbeSpec, Spec};
use syscost_host::thread_clock::{StolenTime, ThreadClock};
use syscost_host::{Fact, Unavailable};
use syscost_measure::ledger::{Counts, Spent};
use syscost_measure::probe::Timing;

/// Sender ns per message, sender ns per byte; calls per message.
const MODEL: &[(&str, f64, f64, f64)] = &[
    ("send_fields", 6800.0, 0.118, 8.0),
    ("pack_send", 3350.0, 0.164, 1.0),
    ("send", 3300.0, 0.112, 1.0),
    ("sendmsg", 3480.0, 0.113, 1.0),
    ("msg_zerocopy", 9900.0, 0.071, 1.1),
];

/// One audit of each mechanism, as loopback and veth have them.
fn audits(plan: &Plan) -> Vec<Audit> {
    let mut audits: Vec<Audit> = Vec::new();
    for case in &plan.cases {
        let mechanism = case.point.text_at("mechanism");
        if audits.iter().any(|a| a.point.text_at("mechanism") == mechanism) {
            continue;
        }
        let all = 1_000_000;
        let part = |is: bool| if is { all } else { 0 };
        let lent = part(mechanism == Some("msg_zerocopy"));
        let counts = Counts {
            copied_in: all - lent,
            uncopied_in: lent,
            orphan_copied: lent,
            copied_out: all,
            ..Counts::default()
        };
        audits.push(Audit {
            user_copied: part(mechanism == Some("pack_send")),
            completions: lent / 1000,
            completions_copied: lent / 1000,
            kernel_threads: Some(KernelThreadTimes {
                bytes: 1 << 20,
                data_threads_ns: 900_000,
                spent_ns: [("ksoftirqd".to_string(), 12_000)].into(),
                machine: None,
            }),
            cpu: Some(CpuTimes {
                bytes: all,
                sender_cpu_ns: 120_000,
                receiver_cpu_ns: 100_000,
                softirqs: Spent { sender_net_rx_ns: 60_000, receiver_net_rx_ns: 15_000, ..Spent::default() },
                softirqs_charged: Some(true),
            }),
            ..Audit::of(&case.probe, case.point.clone(), all, Some(counts))
        });
    }
    audits
}

/// What to generate.
pub struct Shape {
    pub mechanisms: Vec<&'static str>,
    pub sizes: Vec<u64>,
    pub threads: Vec<u64>,
    pub paths: Vec<&'static str>,
    pub nodelay: Vec<&'static str>,
    pub rounds: u32,
    pub samples: u32,
    /// Hardware counters present on both sides.
    pub counters: bool,
    pub twins: bool,
}

pub fn small() -> Shape {
    Shape {
        mechanisms: vec!["pack_send", "send", "sendmsg", "msg_zerocopy"],
        sizes: vec![64, 1024, 16384, 262144],
        threads: vec![1, 2],
        paths: vec!["veth"],
        nodelay: vec!["on"],
        rounds: 8,
        samples: 2,
        counters: false,
        twins: true,
    }
}

pub fn small_run() -> Run {
    run(&small())
}

pub fn run(shape: &Shape) -> Run {
    let plan = plan(shape);
    let mut random = Random::new(20_261_121);
    let mut samples = Vec::new();
    for round in 0..shape.rounds {
        for case in &plan.cases {
            let weather = 1.0 + 0.012 * bell(&mut random);
            for index in 0..shape.samples {
                samples.push(sample(shape, case, round, index, weather, &mut random));
            }
        }
    }
    let record = record(shape, plan);
    Run { record, samples: samples.into(), slices: Slices::default(), profiles: Vec::new() }
}

fn plan(shape: &Shape) -> Plan {
    let mut plan = Plan::default();
    for path in &shape.paths {
        for nodelay in &shape.nodelay {
            for threads in &shape.threads {
                for size in &shape.sizes {
                    for mechanism in &shape.mechanisms {
                        let point = point(mechanism, *size, *threads, path, nodelay);
                        push(&mut plan, point, None);
                    }
                }
            }
        }
    }
    if shape.twins {
        let count = plan.cases.len();
        for twin in [0, count / 2] {
            let point = plan.cases[twin].point.clone();
            push(&mut plan, point, Some(twin));
        }
    }
    plan.skips.push(Skip {
        probe: "transfer".into(),
        point: point("io_uring_send", 64, 1, "veth", "on"),
        why: Unavailable {
            reason: "the kernel has no io_uring (ENOSYS)".into(),
            remedy: "boot a kernel with CONFIG_IO_URING=y".into(),
        },
    });
    plan
}

fn push(plan: &mut Plan, point: Point, twin_of: Option<usize>) {
    let index = plan.cases.len();
    plan.cases.push(Case { index, probe: "transfer".into(), point, twin_of });
}

fn point(mechanism: &str, size: u64, threads: u64, path: &str, nodelay: &str) -> Point {
    let mut point = synthetic::point(mechanism, size, threads);
    let names = [
        ("path", path),
        ("nodelay", nodelay),
        ("congestion_control", "cubic"),
        ("alignment", "heap"),
        ("placement", "different"),
    ];
    names.into_iter().for_each(|(axis, value)| point.set(axis, Value::text(value)));
    point.set("socket_buffer_bytes", Value::Int(0));
    if path == "veth" {
        point.set("mtu", Value::Int(1500));
        point.set("offloads", Value::text("on"));
    }
    point
}

/// About normal, from the sum of uniforms.
fn bell(random: &mut Random) -> f64 {
    (0..6).map(|_| random.unit()).sum::<f64>() * 2f64.sqrt() - 3.0 * 2f64.sqrt()
}

fn sample(shape: &Shape, case: &Case, round: u32, index: u32, weather: f64, random: &mut Random) -> Sample {
    let p = &case.point;
    let (size, threads) = (p.int_at("message_bytes").unwrap() as f64, p.int_at("threads").unwrap() as f64);
    let model = MODEL.iter().find(|m| Some(m.0) == p.text_at("mechanism")).unwrap();
    let (_, per_message, per_byte, calls) = *model;
    let coalescing = if p.text_at("nodelay") == Some("off") { 0.25 } else { 1.0 };
    let path = if p.text_at("path") == Some("loopback") { 0.8 } else { 1.0 };
    let noise = weather * (1.0 + 0.004 * bell(random));
    let sender = (per_message * coalescing * path + per_byte * size) * noise;
    let receiver = (220.0 + 0.052 * size) * (1.0 + 0.006 * bell(random)) * weather;
    // Two CPUs: one pair of threads uses both.
    let wall_per_message = sender.max(receiver) * (1.0 + 0.06 * (threads - 1.0));
    let elapsed = 25e6;
    let messages = (elapsed / wall_per_message).round().max(1.0);
    let switches = (messages / 90.0).round();
    let mut q: BTreeMap<String, Option<f64>> = BTreeMap::new();
    let mut set = |role: &str, name: &str, value: Option<f64>| {
        if let Some(value) = value {
            q.insert(format!("{role}_{name}"), Some(value.round()));
        }
    };
    for (role, cpu) in [("sender", sender), ("receiver", receiver)] {
        set(role, "elapsed_ns", Some(elapsed));
        set(role, "messages", Some(messages));
        set(role, "cpu_ns", Some(cpu * messages));
        set(role, "system_calls", Some(if role == "sender" { calls * messages } else { messages / 3.0 }));
        set(role, "voluntary_switches", Some(switches));
        set(role, "involuntary_switches", Some((switches / 40.0).floor()));
        set(role, "tsc_cycles", Some(cpu * messages * 2.45));
        let counted = |per_ns: f64| shape.counters.then_some(cpu * messages * per_ns);
        for (counter, per_ns) in [("cycles", 2.9), ("instructions", 3.4), ("cache_misses", 0.004)] {
            set(role, &format!("{counter}_user"), counted(per_ns * 0.07));
            set(role, &format!("{counter}_kernel"), counted(per_ns * 0.93));
        }
    }
    if p.text_at("mechanism") == Some("msg_zerocopy") {
        set("sender", "completions", Some(messages));
        set("sender", "completions_copied", Some(messages));
        set("sender", "enobufs", Some(0.0));
    }
    q.insert("retransmits".into(), Some(0.0));
    let marked = round == 3 && index == 1 && case.index % 17 == 5;
    Sample {
        case: case.index,
        round,
        index,
        elapsed_ns: elapsed,
        ops: messages,
        bytes: messages * size,
        verified: true,
        marks: if marked { vec!["steal".into()] } else { Vec::new() },
        quantities: q.into(),
        ..Sample::default()
    }
}

fn fact(id: &str, title: &str, value: Option<&str>, source: &str) -> Fact {
    Fact { id: id.into(), title: title.into(), value: value.map(String::from), source: source.into() }
}

fn record(shape: &Shape, plan: Plan) -> Record {
    let axes = BTreeMap::from([
        ("mechanism".to_string(), shape.mechanisms.iter().map(|m| Value::text(*m)).collect()),
        ("message_bytes".to_string(), shape.sizes.iter().map(|n| Value::Int(*n)).collect()),
        ("threads".to_string(), shape.threads.iter().map(|n| Value::Int(*n)).collect()),
    ]);
    let settings = BTreeMap::from([
        ("sender send_buffer_bytes".to_string(), "87040".to_string()),
        ("receiver congestion_control".to_string(), "cubic".to_string()),
    ]);
    let quantities = ["cycles", "instructions", "cache_references", "cache_misses"];
    let missing = MissingQuantities {
        quantities: quantities.iter().map(|c| format!("sender_{c}_user")).collect(),
        why: Unavailable {
            reason: "this machine has no hardware performance counters (perf_event_open: ENOENT), as in most virtual machines".into(),
            remedy: "run on the bare machine, or give the guest a virtual PMU".into(),
        },
    };
    let synthetic = synthetic::record(Plan::default(), Vec::new()).record;
    Record {
        id: "20261121-synthetic".into(),
        tool: Tool { version: "0.1.0".into(), profile: "release".into(), binary_sha256: "5c".repeat(32) },
        started_unix_ns: 1_795_300_000_000_000_000,
        elapsed_ns: 281_000_000_000,
        state: State::TimeLimit,
        command: ["syscost", "run", "--size", "64,1K,16K,256K"].map(String::from).to_vec(),
        host: vec![
            fact("cpu_model", "CPU model", Some("AMD EPYC 9R14"), "/proc/cpuinfo"),
            fact("cpus", "CPUs online", Some("2"), "sched_getaffinity(2)"),
            fact("kernel_release", "kernel", Some("6.18.5"), "uname(2)"),
            fact("hypervisor", "hypervisor", Some("KVM"), "CPUID leaf 0x40000000"),
            fact("governor", "frequency governor", None, "/sys/devices/system/cpu/cpu0/cpufreq"),
        ],
        spec: Spec {
            name: "study".into(),
            title: "What moving a message costs".into(),
            probes: vec![ProbeSpec { axes, ..ProbeSpec::of("transfer") }],
            max_rounds: 30,
            time_limit_ns: 280_000_000_000,
            seed: 42,
            timing: Timing { warmup_ns: 10_000_000, window_ns: 25_000_000, windows: shape.samples },
            ..synthetic.spec
        },
        settings: plan
            .cases
            .iter()
            .map(|c| (c.index, syscost_experiment::run::settings::like(None, settings.clone())))
            .collect(),
        audits: audits(&plan),
        thread_clock: Some(ThreadClock {
            wall_ns: 400_000_000,
            cpu_ns: 395_000_000,
            run_ns: 394_000_000,
            wait_ns: 4_000_000,
            steal_ns: 40_000_000,
            interrupts_ns: 0,
            stolen: StolenTime::Included,
        }),
        plan,
        missing: if shape.counters { Vec::new() } else { vec![missing] },
        warnings: vec![Warning {
            id: "virtual_machine".into(),
            observed: "the machine is a KVM guest".into(),
            consequence: "steal time and the host's other guests widen intervals".into(),
            remedy: "run on the bare machine, or compare only within this run".into(),
            cases: Vec::new(),
        }],
        failures: vec![Failure { case: 3, round: 2, message: "the receiver closed early".into() }],
        ..synthetic
    }
}

/// What lies between the beginning of a section and that of the next.
pub fn section<'p>(page: &'p str, id: &str) -> &'p str {
    let start = begins(page, id).unwrap_or_else(|| panic!("no section {id}"));
    let rest = &page[start + 1..];
    let ends = ["<section id=", "</main>"];
    let end = ends.iter().filter_map(|next| rest.find(next)).min().expect("an end");
    &rest[..end]
}

pub fn begins(page: &str, id: &str) -> Option<usize> {
    page.find(&format!("<section id=\"{id}\""))
}
