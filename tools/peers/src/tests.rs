//! Every entry reads what its program really printed (fixtures/), and every contest and row is a case of ours.

use crate::contest::{Contest, ENTRIES, Page};
use crate::ours::resolved;
use crate::read::Reading;
use std::collections::HashSet;
use syscost_measure::probe;

/// A recorded output of a transfer, the entry that reads it, and the figure that a person reads in it.
const TRANSFERRED: &[(&str, &str, f64)] = &[
    ("iperf3", include_str!("../fixtures/iperf3-3.12.json"), 7_261_100_936.536_91),
    ("iperf3 -Z", include_str!("../fixtures/iperf3-3.21.json"), 16_254_530_451.505_45),
    ("netperf", include_str!("../fixtures/netperf.txt"), 26_019_353_500.0),
    ("neper", include_str!("../fixtures/neper.txt"), 12_392_164_916.0),
    ("nuttcp", include_str!("../fixtures/nuttcp.txt"), 180_642_200.0),
    ("nuttcp", include_str!("../fixtures/nuttcp-2-streams.txt"), 16_515_390_400.0),
    ("qperf", include_str!("../fixtures/qperf.txt"), 1_944_477_696.0 * 8.0),
    ("sockperf", include_str!("../fixtures/sockperf.txt"), 718_559.0 * 4096.0 * 8.0),
    ("fio", include_str!("../fixtures/fio-receiver.json"), 1_650_575_089.0 * 8.0),
    ("tcp_mmap -z", include_str!("../fixtures/tcp_mmap.txt"), 17_884_000_000.0),
    ("netperf TCP_SENDFILE", include_str!("../fixtures/netperf-sendfile.txt"), 16_044_488_740.0),
    ("msg_zerocopy -z", include_str!("../fixtures/sink.txt"), 32_054_046_248.360_75),
    ("sockperf ping-pong", include_str!("../fixtures/sockperf-ping-pong.txt"), 11_977.0),
    ("neper tcp_rr", include_str!("../fixtures/neper-rr.txt"), 455_670.0),
    ("netperf TCP_RR", include_str!("../fixtures/netperf-rr.txt"), 1e9 / 33_749.711),
    ("iperf3 -u", include_str!("../fixtures/iperf3-udp.json"), 19_788_436.585_082_546 / 8.0 / 4096.0),
    (
        "iperf3 -u, sender",
        include_str!("../fixtures/iperf3-udp.json"),
        19.669_469_456_907_1e7 * 4096.0 / 2_491_520.0,
    ),
    (
        "iperf3 -u, receiver",
        include_str!("../fixtures/iperf3-udp.json"),
        11.775_889_523_391_172e7 * 4096.0 / 2_072_384.0,
    ),
];

/// The same of operations: the program, its row, the output and the figure in base units.
const OPERATED: &[(&str, &str, &str, f64)] = &[
    ("lmbench", "getppid", include_str!("../fixtures/lmbench-lat_syscall.txt"), 880.8),
    ("lmbench", "fault_file", include_str!("../fixtures/lmbench-lat_pagefault.txt"), 1971.2),
    ("lmbench", "switch", include_str!("../fixtures/lmbench-lat_ctx.txt"), 4710.0),
    ("lmbench", "read_16k", include_str!("../fixtures/lmbench-bw_mem.txt"), 5.410_07e9),
    ("lmbench", "load_16k", include_str!("../fixtures/lmbench-lat_mem_rd.txt"), 5.005),
    ("lmbench", "load_8m", include_str!("../fixtures/lmbench-lat_mem_rd.txt"), 474.261),
    ("perf", "getppid", include_str!("../fixtures/perf-bench-syscall.txt"), 231.225),
    ("perf", "pipe_processes", include_str!("../fixtures/perf-bench-pipe.txt"), 14_736.95),
    ("perf", "copy_256m", include_str!("../fixtures/perf-bench-memcpy.txt"), 4.794_691 * (1u64 << 30) as f64),
    ("stress-ng", "vfork", include_str!("../fixtures/stress-ng-vfork.txt"), 1e9 / 12_791.80),
    ("stress-ng", "fault_anonymous", include_str!("../fixtures/stress-ng-fault.txt"), 2_941.60),
    ("osbench", "thread", include_str!("../fixtures/osbench-create_threads.txt"), 33_469.2),
    (
        "sysbench",
        "read_256m",
        include_str!("../fixtures/sysbench-memory.txt"),
        13_606.78 * (1u64 << 20) as f64,
    ),
    ("mbw", "copy_256m", include_str!("../fixtures/mbw.txt"), 8_745.957 * (1u64 << 20) as f64),
    ("core-to-core-latency", "core_to_core", include_str!("../fixtures/core-to-core-latency.txt"), 28.552_55),
    ("netperf", "tcp", include_str!("../fixtures/netperf-rr.txt"), 1e9 / 33_749.711),
    ("netperf", "connect", include_str!("../fixtures/netperf-cc.txt"), 1e9 / 11_757.37),
    ("ping", "icmp", include_str!("../fixtures/ping.txt"), 169e3 / 29.0),
    ("fio", "file_direct_random", include_str!("../fixtures/fio-reader.json"), 139_383.566_406),
];

fn transfer(key: &str) -> &'static Reading {
    let program = ENTRIES.program.iter().find(|program| program.key() == key).unwrap();
    program.read.as_ref().unwrap()
}

fn operation(id: &str, row: &str) -> &'static Reading {
    let mut measures = ENTRIES.program.iter().filter(|program| program.id == id);
    measures.find_map(|program| program.measures(row)?.figures.get(row)).unwrap()
}

fn all() -> Vec<(&'static Reading, &'static str, f64)> {
    let transfers = TRANSFERRED.iter().map(|(key, output, figure)| (transfer(key), *output, *figure));
    let operations = OPERATED.iter().map(|(id, row, output, figure)| (operation(id, row), *output, *figure));
    transfers.chain(operations).collect()
}

#[test]
fn recorded_outputs_are_read_and_cut_ones_are_no_figure() {
    for (reading, output, expected) in all() {
        let figure =
            reading.figure(output, 4096, "50").unwrap_or_else(|error| panic!("{reading:?}: {error}"));
        assert!((figure / expected - 1.0).abs() < 1e-9, "{reading:?}: {figure}, not {expected}");
        for cut in ["", &output[..output.len().min(8)]] {
            assert!(reading.figure(cut, 4096, "50").is_err(), "{reading:?}");
        }
    }
}

#[test]
fn a_tools_own_error_units_that_lie_and_zeroes_are_refused() {
    let refused = transfer("iperf3").figure(include_str!("../fixtures/iperf3-refused.json"), 64, "");
    let said = refused.unwrap_err().to_string();
    assert_eq!(said, "the tool says: unable to connect to server: Connection refused");
    let refused =
        |key: &str, output: &str| assert!(transfer(key).figure(output, 64, "").is_err(), "{key}: {output}");
    refused("netperf", include_str!("../fixtures/netperf-unit-b.txt"));
    refused("qperf", include_str!("../fixtures/qperf-prefixed.txt"));
    refused("neper", "remote_throughput=0\n");
    refused("nuttcp", "rate_Mbps=nan");
    refused("fio", r#"{"jobs":[{"error":0,"read":{"bw_bytes":0}}]}"#);
    refused("fio", r#"{"jobs":[{"error":111,"read":{"bw_bytes":9}}]}"#);
    assert!(
        operation("ping", "icmp")
            .figure("From 127.0.0.1 icmp_seq=1 Destination Host Unreachable", 0, "")
            .is_err()
    );
}

#[test]
fn every_contest_names_programs_and_axes_that_exist() {
    let mut seen = HashSet::new();
    for contest in ENTRIES.contest.iter().filter(|contest| contest.page != Page::Os) {
        assert!(contest.rivals().count() > 0 && seen.insert(&contest.id), "{}", contest.id);
        let probe = probe::find(contest.probe()).unwrap();
        contest.measured().unwrap();
        for id in contest.at.keys() {
            assert!(probe.axes().iter().any(|axis| axis.id == id), "{}: {id}", contest.id);
        }
    }
}

#[test]
fn every_operation_is_a_case_of_ours_and_every_command_says_what_it_does_otherwise() {
    let contests: Vec<&Contest> = Page::Os.contests().collect();
    let ids: HashSet<&str> = contests.iter().map(|contest| contest.id.as_str()).collect();
    assert_eq!(ids.len(), contests.len());
    for contest in contests {
        contest.measured().unwrap();
        assert!(contest.rivals().count() > 0, "{}", contest.id);
        let at: Vec<_> = contest.at.clone().into_iter().collect();
        match resolved(contest.probe(), &at, &[("directory", ".".into())]) {
            Ok(point) => assert!(contest.at.keys().all(|id| point.get(id).is_some()), "{}", contest.name()),
            // A matrix of CPUs is empty on one.
            Err(error) => {
                assert!(error.to_string().ends_with("has no default") && contest.at.is_empty(), "{error:#}")
            }
        }
    }
    for measure in ENTRIES.program.iter().flat_map(|program| &program.measure) {
        assert!(!measure.differs.is_empty() && measure.figures.keys().all(|id| ids.contains(id.as_str())));
    }
}
