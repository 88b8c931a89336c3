//! Each reader on a file of its tool: the figures that it has to give.

use super::*;
use crate::TableColumn::{self, *};

fn table(text: &str) -> PublishedTable {
    read(text).expect("a tool's").unwrap_or_else(|e| panic!("{e}"))
}

fn refused(text: &str) -> String {
    read(text).expect("a tool's").unwrap_err()
}

fn values<const N: usize>(table: &PublishedTable, row: usize, columns: [TableColumn; N]) -> [Option<f64>; N] {
    columns.map(|column| table.rows[row].value(column))
}

#[test]
fn iperf3_sums_streams_and_takes_what_arrived() {
    let sums = |rate: f64| format!(r#"{{"seconds": 2.0, "bits_per_second": {rate}, "retransmits": 3}}"#);
    let run =
        |start: &str, end: &str| format!(r#"{{"start": {{"test_start": {{{start}}}}}, "end": {{{end}}}}}"#);
    let tcp = run(
        r#""protocol": "TCP", "num_streams": 2, "blksize": 131072"#,
        &format!(r#""streams": [{{}}, {{}}], "sum_sent": {}, "sum_received": {}"#, sums(9e9), sums(8.9e9)),
    );
    let table = table(&tcp);
    assert_eq!(table.rows.len(), 1, "streams are no runs");
    assert_eq!(
        values(&table, 0, [Throughput, Threads, MessageBytes]),
        [Some(8.9e9), Some(2.0), Some(131072.0)]
    );
    let udp = run(
        r#""protocol": "UDP", "num_streams": 1, "blksize": 1448"#,
        r#""sum": {"seconds": 5.0, "bits_per_second": 1.0e9, "jitter_ms": 0.02, "lost_percent": 25.0}"#,
    );
    assert_eq!(values(&self::table(&udp), 0, [Throughput, Loss]), [Some(0.75e9), Some(25.0)]);
    let both = run(
        r#""bidir": 1"#,
        &format!(r#""sum_received": {}, "sum_received_bidir_reverse": {}"#, sums(1e9), sums(3e9)),
    );
    assert_eq!(self::table(&both).rows.len(), 2);
    let stream = "{\"event\": \"start\", \"data\": {\"test_start\": {\"num_streams\": 2}}}\n\
                  {\"event\": \"end\", \"data\": {\"sum_received\": {\"bits_per_second\": 5e9}}}\n";
    assert_eq!(
        values(&self::table(stream), 0, [Throughput, Threads]),
        [Some(5e9), Some(2.0)],
        "--json-stream"
    );
    assert!(
        refused(r#"{"start": {}, "end": {}, "error": "unable to connect"}"#).contains("unable to connect")
    );
}

#[test]
fn fio_sums_jobs_that_ran_at_once_and_refuses_what_it_cannot_tell() {
    let job = |group: u32, wall: &str, bytes: u64| {
        format!(
            r#"{{"jobname": "a", "groupid": {group}, "job options": {{"bs": "4k"{wall}}}, "read": {{"io_bytes": {bytes}, "bw_bytes": {bytes}, "iops": 10,
            "total_ios": {bytes}, "runtime": 1000, "lat_ns": {{"mean": 500.0}}}}, "write": {{"io_bytes": 0}}}}"#
        )
    };
    let file = |jobs: &[String]| format!(r#"{{"fio version": "fio-3.36", "jobs": [{}]}}"#, jobs.join(","));
    let summed = table(&file(&[job(0, "", 1000), job(0, "", 3000)]));
    assert_eq!(summed.rows.len(), 1, "jobs are no runs");
    assert_eq!(
        values(&summed, 0, [Throughput, MessageRate, MessageBytes, Threads, Latency]),
        [Some(32000.0), Some(20.0), Some(4096.0), Some(2.0), Some(500.0)]
    );
    let stonewall = r#", "stonewall": "1""#;
    assert_eq!(table(&file(&[job(0, "", 1), job(1, stonewall, 2)])).rows.len(), 2);
    assert!(refused(&file(&[job(0, "", 1), job(1, "", 2)])).contains("stonewall"));
    assert!(!summed.is_transfer(), "a disk is no socket");
}

#[test]
fn keys_of_netperf_and_of_neper() {
    let netperf =
        "THROUGHPUT=9411.5\nTHROUGHPUT_UNITS=10^6bits/s\nELAPSED_TIME=5.00\nLOCAL_SEND_SIZE=16384\n";
    assert_eq!(
        values(&table(netperf), 0, [Throughput, MessageBytes, Elapsed]),
        [Some(9411.5e6), Some(16384.0), Some(5e9)]
    );
    assert_eq!(
        values(&table(r#"{"THROUGHPUT": 100, "THROUGHPUT_UNITS": "Trans/s"}"#), 0, [MessageRate]),
        [Some(100.0)]
    );
    let other = netperf.replace("16384", "64");
    assert_eq!(table(&format!("{netperf}{other}")).rows.len(), 2);
    assert!(
        refused(&format!("{netperf}{netperf}")).contains("ran at the same time"),
        "a loop, or two at once?"
    );
    assert!(refused("THROUGHPUT=1\n").contains("THROUGHPUT_UNITS"));
    let neper =
        "num_threads=2\nnum_flows=4\nthroughput=15234.5\nthroughput_units=Mbit/s\nbuffer_size=16384\n";
    assert_eq!(values(&table(neper), 0, [Throughput, Threads]), [Some(15234.5e6), Some(4.0)]);
    let turns = "num_transactions=1000\nthroughput=50000.0\nlatency_mean=0.00002\n";
    assert_eq!(
        values(&table(turns), 0, [MessageRate, Throughput, Messages]),
        [Some(50000.0), None, Some(1000.0)]
    );
}

#[test]
fn sockperf_by_the_valid_part_of_its_run() {
    let text = "sockperf: == version #3.10 ==\nsockperf: using msg-size=64\nsockperf: [Total Run] RunTime=1.000 sec; ReceivedMessages=99\n\
                sockperf: [Valid Duration] RunTime=0.550 sec; SentMessages=55; ReceivedMessages=55\n\
                sockperf: ====> avg-latency=5.123 (std-dev=1.25)\n";
    let table = table(text);
    assert_eq!(values(&table, 0, [Latency, Messages, MessageBytes]), [Some(5123.0), Some(55.0), Some(64.0)]);
    assert!(refused("sockperf: == version #3.10 ==\n").contains("no summary"));
    assert!(refused(&format!("{text}{text}")).contains("--name"));
}

#[test]
fn perf_counts_of_all_modes_on_every_core() {
    let csv = "1234567890,,cycles,5000000000,100.00,3.2,GHz\n<not supported>,,LLC-load-misses,0,100.00,,\n\
               1999,,context-switches,5000,83.00,,\n77,,instructions:u,5000,100.00,,\n5000000000,ns,duration_time,5000,100.00,,\n";
    let table = table(csv);
    assert_eq!(
        values(&table, 0, [Cycles, ContextSwitches, LlcMisses, Instructions, Elapsed]),
        [Some(1234567890.0), Some(1999.0), None, None, Some(5e9)]
    );
    let told = table.understood.concat();
    assert!(
        told.contains("LLC-load-misses was not counted")
            && told.contains("83 %")
            && told.contains("instructions:u"),
        "{told}"
    );
    let json = r#"{"counter-value": "12345", "unit": "", "event": "cycles", "pcnt-running": 100.0}
{"counter-value": "55", "unit": "", "event": "context-switches", "pcnt-running": 100.0}"#;
    assert_eq!(values(&self::table(json), 0, [Cycles, ContextSwitches]), [Some(12345.0), Some(55.0)]);
    assert!(refused(&format!("{csv}{csv}")).contains("a file a run"));
    assert!(
        refused("1.0,26,,context-switches,5000,100.00,,\n1.0,99,,cycles,5000,100.00,,\n")
            .contains("intervals")
    );
    assert!(read("mechanism,size,threads,gbps,x\nA1,64,1,2,3\n").is_none());
}

#[test]
fn benchmarks_and_lmbench_are_operations() {
    let google = r#"{"benchmarks": [{"name": "BM_x/64", "run_type": "iteration", "real_time": 2.0, "time_unit": "us"},
        {"name": "BM_x/64_mean", "run_type": "aggregate", "real_time": 2.0, "time_unit": "us"}]}"#;
    assert_eq!((table(google).rows.len(), values(&table(google), 0, [Measured])), (1, [Some(2000.0)]));
    let hyperfine =
        r#"{"results": [{"command": "true", "mean": 0.001, "stddev": 0.0001, "times": [0.001, 0.001]}]}"#;
    let table = table(hyperfine);
    assert_eq!(
        (values(&table, 0, [Measured, Runs]), table.rows[0].scatter[&Measured]),
        ([Some(1e6), Some(2.0)], 1e5)
    );
    let lmbench = "                 L M B E N C H  3 . 0   S U M M A R Y\n\n\
        Context switching - times in microseconds - smaller is better\n-------------------------------------------\n\
        Host                 OS  2p/0K 2p/16K 2p/64K\n                         ctxsw  ctxsw  ctxsw\n\
        --------- ------------- ------ ------ ------\nalpha     Linux 5.4.0-4 2.1100 2.5200 2.9K\n";
    let table = self::table(lmbench);
    let told: Vec<_> =
        table.rows.iter().map(|row| (row.text(Operation).unwrap(), row.value(Measured).unwrap())).collect();
    assert_eq!(told[0], ("Context switching: 2p/0K ctxsw", 2110.0));
    assert_eq!((told.len(), told[2].1), (3, 2.9e6));
}

#[test]
fn the_documentation_names_every_tool() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tables.md");
    let Ok(docs) = std::fs::read_to_string(page) else { return };
    for tool in tools() {
        assert!(docs.contains(tool.as_str()), "docs/tables.md does not name {tool}");
    }
    for form in &crate::dictionary::DICTIONARY.refused {
        assert!(docs.contains(&form.tool), "docs/tables.md does not name {}", form.tool);
    }
}
