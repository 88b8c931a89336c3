//! The readers of the peers' outputs, over what each tool really printed (fixtures/), and the
//! rows of ours that they are compared with.
//!

mod operations;
mod rows;

use crate::parse::{self, ParseError};
use proptest::prelude::*;

type Reader = fn(&str) -> Result<f64, ParseError>;

fn sockperf_4096(output: &str) -> Result<f64, ParseError> {
    parse::sockperf::bits_per_second(output, 4096)
}

/// A recorded output, its reader, and the figure that a person reads in it.
const RECORDED: &[(&str, Reader, &str, f64)] = &[
    (
        "iperf3 3.12, two streams",
        parse::iperf3::bits_per_second,
        include_str!("../../fixtures/iperf3-3.12.json"),
        7_261_100_936.536_91,
    ),
    (
        "iperf3 3.21",
        parse::iperf3::bits_per_second,
        include_str!("../../fixtures/iperf3-3.21.json"),
        16_254_530_451.505_45,
    ),
    (
        "netperf",
        parse::netperf::bits_per_second,
        include_str!("../../fixtures/netperf.txt"),
        26_019_353_500.0,
    ),
    ("neper", parse::neper::bits_per_second, include_str!("../../fixtures/neper.txt"), 12_392_164_916.0),
    ("nuttcp", parse::nuttcp::bits_per_second, include_str!("../../fixtures/nuttcp.txt"), 180_642_200.0),
    (
        "nuttcp, two streams",
        parse::nuttcp::bits_per_second,
        include_str!("../../fixtures/nuttcp-2-streams.txt"),
        16_515_390_400.0,
    ),
    ("qperf", parse::qperf::bits_per_second, include_str!("../../fixtures/qperf.txt"), 1_944_477_696.0 * 8.0),
    ("sockperf", sockperf_4096, include_str!("../../fixtures/sockperf.txt"), 718_559.0 * 4096.0 * 8.0),
    (
        "fio",
        parse::fio::bits_per_second,
        include_str!("../../fixtures/fio-receiver.json"),
        1_650_575_089.0 * 8.0,
    ),
    (
        "tcp_mmap",
        parse::tcp_mmap::bits_per_second,
        include_str!("../../fixtures/tcp_mmap.txt"),
        17_884_000_000.0,
    ),
    (
        "netperf TCP_SENDFILE",
        parse::netperf::sendfile_bits_per_second,
        include_str!("../../fixtures/netperf-sendfile.txt"),
        16_044_488_740.0,
    ),
    (
        "our receiver of another sender",
        parse::sink::bits_per_second,
        include_str!("../../fixtures/sink.txt"),
        32_054_046_248.360_75,
    ),
    (
        "sockperf ping-pong",
        |output| parse::sockperf::round_trip_ns("50.000", output),
        include_str!("../../fixtures/sockperf-ping-pong.txt"),
        11_977.0,
    ),
    (
        "neper tcp_rr",
        |output| parse::neper::round_trip_ns(50, output),
        include_str!("../../fixtures/neper-rr.txt"),
        455_670.0,
    ),
    (
        "stamps in the message",
        |output| parse::stamped::nanoseconds("p999", output),
        include_str!("../../fixtures/stamped.txt"),
        5523325.0,
    ),
];

#[test]
fn recorded_outputs_are_read() {
    for (name, read, output, expected) in RECORDED {
        let figure = read(output).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!((figure / expected - 1.0).abs() < 1e-12, "{name}: {figure}, not {expected}");
    }
}

/// What the tool itself counted, in other words, agrees: a wrong unit would be off by 8 or 1.05.
#[test]
fn figures_agree_with_the_tools_other_lines() {
    let nuttcp_bytes = 21.45 * f64::from(1 << 20);
    let nuttcp = parse::nuttcp::bits_per_second(RECORDED[4].2).unwrap();
    assert!((nuttcp / (nuttcp_bytes * 8.0) - 1.0).abs() < 0.01);
    let sockperf_mebibytes = 2806.871;
    let sockperf = sockperf_4096(RECORDED[7].2).unwrap();
    assert!((sockperf / (sockperf_mebibytes * 8.0 * f64::from(1 << 20)) - 1.0).abs() < 0.001);
    // Mebibytes and seconds on the same line.
    let tcp_mmap = parse::tcp_mmap::bits_per_second(RECORDED[9].2).unwrap();
    assert!((tcp_mmap / (2126.0 * f64::from(1 << 20) * 8.0 / 0.997217) - 1.0).abs() < 0.001);
    // The median lies between the lowest and the mean, in microseconds on other lines.
    let ping_pong = parse::sockperf::round_trip_ns("50.000", RECORDED[12].2).unwrap();
    assert!((10_756.0..12_448.0).contains(&ping_pong));
    let fio_bytes_in_999_ms = 1_648_924_514.0;
    let fio = parse::fio::bits_per_second(RECORDED[8].2).unwrap();
    assert!((fio / (fio_bytes_in_999_ms * 8.0 / 0.999) - 1.0).abs() < 0.001);
}

#[test]
fn a_tools_own_error_is_passed_on() {
    let refused = parse::iperf3::bits_per_second(include_str!("../../fixtures/iperf3-refused.json"));
    assert_eq!(refused, Err(ParseError::Tool("unable to connect to server: Connection refused".into())));
}

#[test]
fn units_that_lie_or_round_are_refused() {
    let bytes_called_bits = include_str!("../../fixtures/netperf-unit-b.txt");
    assert!(matches!(
        parse::netperf::bits_per_second(bytes_called_bits),
        Err(ParseError::NotARate { field: "THROUGHPUT_UNITS", .. })
    ));
    let prefixed = include_str!("../../fixtures/qperf-prefixed.txt");
    assert!(matches!(parse::qperf::bits_per_second(prefixed), Err(ParseError::Missing { .. })));
}

#[test]
fn zero_is_a_failure_not_a_figure() {
    assert!(parse::neper::bits_per_second("remote_throughput=0\n").is_err());
    assert!(parse::nuttcp::bits_per_second("rate_Mbps=nan").is_err());
    assert!(parse::fio::bits_per_second(r#"{"jobs":[{"error":0,"read":{"bw_bytes":0}}]}"#).is_err());
    assert!(parse::fio::bits_per_second(r#"{"jobs":[]}"#).is_err());
    assert!(parse::fio::bits_per_second(r#"{"jobs":[{"error":111,"read":{"bw_bytes":9}}]}"#).is_err());
}

#[test]
fn a_cut_output_says_what_is_missing() {
    // A table of one row has no third that could be told from another tool's.
    for (name, read, output, _) in RECORDED.iter().filter(|(_, _, output, _)| output.len() > 100) {
        let half = &output[..output.len() / 3];
        let error = read(half).expect_err(name).to_string();
        assert!(error.contains("no ") && error.contains("ends"), "{name}: {error}");
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
