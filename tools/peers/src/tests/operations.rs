//! The readers of the benchmarks of operations, over what each really printed.

use crate::parse::{self, ParseError};
use proptest::prelude::*;

type Reader = fn(&str) -> Result<f64, ParseError>;

/// A recorded output, its reader, and the figure that a person reads in it, in base units.
const RECORDED: &[(&str, Reader, &str, f64)] = &[
    (
        "lmbench lat_syscall",
        parse::lmbench::microseconds,
        include_str!("../../fixtures/lmbench-lat_syscall.txt"),
        880.8,
    ),
    (
        "lmbench lat_pagefault",
        parse::lmbench::microseconds,
        include_str!("../../fixtures/lmbench-lat_pagefault.txt"),
        1971.2,
    ),
    (
        "lmbench lat_ctx",
        parse::lmbench::context_switch,
        include_str!("../../fixtures/lmbench-lat_ctx.txt"),
        4710.0,
    ),
    (
        "lmbench bw_mem",
        parse::lmbench::bandwidth,
        include_str!("../../fixtures/lmbench-bw_mem.txt"),
        5.410_07e9,
    ),
    (
        "lmbench lat_mem_rd, 16 KiB",
        |output| parse::lmbench::load_at(output, 16 << 10),
        include_str!("../../fixtures/lmbench-lat_mem_rd.txt"),
        5.005,
    ),
    (
        "lmbench lat_mem_rd, 8 MiB",
        |output| parse::lmbench::load_at(output, 8 << 20),
        include_str!("../../fixtures/lmbench-lat_mem_rd.txt"),
        474.261,
    ),
    (
        "perf bench syscall",
        parse::perf_bench::nanoseconds,
        include_str!("../../fixtures/perf-bench-syscall.txt"),
        231.225,
    ),
    (
        "perf bench sched pipe",
        parse::perf_bench::nanoseconds,
        include_str!("../../fixtures/perf-bench-pipe.txt"),
        14_736.95,
    ),
    (
        "perf bench mem memcpy",
        parse::perf_bench::bytes_per_second,
        include_str!("../../fixtures/perf-bench-memcpy.txt"),
        4.794_691 * (1u64 << 30) as f64,
    ),
    (
        "stress-ng vfork",
        |output| parse::stress_ng::nanoseconds_per_bogo_operation(output, "vfork"),
        include_str!("../../fixtures/stress-ng-vfork.txt"),
        1e9 / 12_791.80,
    ),
    (
        "stress-ng pthread",
        |output| parse::stress_ng::nanoseconds_per_bogo_operation(output, "pthread"),
        include_str!("../../fixtures/stress-ng-pthread.txt"),
        1e9 / 2_186.94,
    ),
    (
        "stress-ng fault",
        |output| parse::stress_ng::own_metric(output, "nanosecs per page fault"),
        include_str!("../../fixtures/stress-ng-fault.txt"),
        2_941.60,
    ),
    (
        "osbench create_threads",
        parse::osbench::each,
        include_str!("../../fixtures/osbench-create_threads.txt"),
        33_469.2,
    ),
    (
        "sysbench memory",
        parse::sysbench::bytes_per_second,
        include_str!("../../fixtures/sysbench-memory.txt"),
        13_606.78 * (1u64 << 20) as f64,
    ),
    (
        "mbw",
        parse::mbw::bytes_per_second,
        include_str!("../../fixtures/mbw.txt"),
        8_745.957 * (1u64 << 20) as f64,
    ),
    (
        "core-to-core-latency",
        parse::core_to_core::nanoseconds,
        include_str!("../../fixtures/core-to-core-latency.txt"),
        28.552550000000004,
    ),
    (
        "netperf TCP_RR",
        parse::netperf::transaction_ns,
        include_str!("../../fixtures/netperf-rr.txt"),
        1e9 / 33_749.711,
    ),
    (
        "netperf TCP_CC",
        parse::netperf::connection_ns,
        include_str!("../../fixtures/netperf-cc.txt"),
        1e9 / 11_757.37,
    ),
    (
        "ping, without the slowest of 30",
        parse::ping::nanoseconds,
        include_str!("../../fixtures/ping.txt"),
        169e3 / 29.0,
    ),
    ("fio", parse::fio::latency_ns, include_str!("../../fixtures/fio-reader.json"), 139383.566406),
];

#[test]
fn recorded_outputs_are_read() {
    for (name, read, output, expected) in RECORDED {
        let figure = read(output).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!((figure / expected - 1.0).abs() < 1e-9, "{name}: {figure}, not {expected}");
    }
}

/// A curve is read at the size asked for, not at the nearest.
#[test]
fn a_size_that_was_not_measured_has_no_latency() {
    let curve = include_str!("../../fixtures/lmbench-lat_mem_rd.txt");
    assert!(matches!(parse::lmbench::load_at(curve, 5 << 20), Err(ParseError::Missing { .. })));
}

/// The command's own other lines count the same: a wrong unit would be off by 1.05 or 1000.
#[test]
fn figures_agree_with_the_tools_other_lines() {
    let sysbench = include_str!("../../fixtures/sysbench-memory.txt");
    let operations = sysbench.lines().find(|line| line.starts_with("Total operations")).unwrap();
    let per_second =
        operations.split(['(', ' ']).filter_map(|word| word.parse::<f64>().ok()).next_back().unwrap();
    let bytes = parse::sysbench::bytes_per_second(sysbench).unwrap();
    assert!((bytes / (per_second * 256.0 * f64::from(1 << 20)) - 1.0).abs() < 0.01, "{bytes} {per_second}");
    let perf = include_str!("../../fixtures/perf-bench-pipe.txt");
    let rate = perf.lines().find_map(|line| line.trim().strip_suffix(" ops/sec")).unwrap();
    let ns = parse::perf_bench::nanoseconds(perf).unwrap();
    assert!((ns * rate.parse::<f64>().unwrap() / 1e9 - 1.0).abs() < 1e-3);
}

#[test]
fn a_failed_command_is_no_figure() {
    assert!(parse::lmbench::microseconds("Simple syscall: 0.0000 microseconds").is_err());
    assert!(
        parse::stress_ng::own_metric(
            "stress-ng: metrc: [1] fault 0.00 nanosecs per page fault",
            "nanosecs per page fault"
        )
        .is_err()
    );
    assert!(parse::fio::latency_ns(r#"{"jobs":[{"error":5,"read":{"lat_ns":{"mean":9.0}}}]}"#).is_err());
    assert!(parse::fio::latency_ns(r#"{"jobs":[{"error":0,"read":{"lat_ns":{"mean":0.0}}}]}"#).is_err());
    assert!(parse::ping::nanoseconds("From 127.0.0.1 icmp_seq=1 Destination Host Unreachable").is_err());
}

#[test]
fn a_cut_output_is_no_figure() {
    for (name, read, output, _) in RECORDED {
        // Before anything was said: what came before the figure must not be taken for it.
        assert!(read(&output[..output.len().min(8)]).is_err(), "{name}");
        assert!(read("").is_err(), "{name}");
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in ".{0,200}", at in 0usize..RECORDED.len(), cut in 0usize..8000) {
        let (_, read, output, _) = RECORDED[at];
        let _ = read(&text);
        let _ = read(output.get(..cut).unwrap_or(output));
    }
}
