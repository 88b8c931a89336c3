//! Units: the only place that parses or formats a quantity.
//!
//! Numbers in files are bare, in the unit that the header names; only terminals and pages see
//! prefixes. `K`, `M`, `G` and `KiB`, `MiB`, `GiB` mean powers of 1024 for sizes (as in ls -h and
//! iperf3); `kB`, `MB`, `GB` mean powers of 1000 (SI).

use serde::{Deserialize, Serialize};

/// The unit of a number; serialised as its symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Unit {
    /// A dimensionless ratio, 1 = equal.
    #[serde(rename = "1")]
    Ratio,
    /// A count of things.
    #[serde(rename = "count")]
    Count,
    #[serde(rename = "B")]
    Bytes,
    #[serde(rename = "ns")]
    Nanoseconds,
    #[serde(rename = "bit/s")]
    BitsPerSecond,
    #[serde(rename = "B/s")]
    BytesPerSecond,
    #[serde(rename = "1/s")]
    PerSecond,
    /// Nanoseconds of CPU (or wall) time per byte moved.
    #[serde(rename = "ns/B")]
    NanosecondsPerByte,
    /// Cycles of a clock whose rate is not known.
    #[serde(rename = "cycles")]
    Cycles,
    /// Core cycles per byte, from a hardware counter.
    #[serde(rename = "cycle/B")]
    CyclesPerByte,
    /// Time-stamp-counter ticks at its constant rate, per byte: not core cycles.
    #[serde(rename = "TSC cycle/B")]
    TscCyclesPerByte,
    /// Time-stamp-counter ticks at its constant rate: not core cycles.
    #[serde(rename = "TSC cycle")]
    TscCycles,
    #[serde(rename = "Hz")]
    Hertz,
    /// Text: an axis of names.
    #[serde(rename = "")]
    Name,
}

impl Unit {
    /// The symbol as written in CSV and JSON.
    pub fn symbol(self) -> &'static str {
        match self {
            Unit::Ratio => "1",
            Unit::Count => "count",
            Unit::Bytes => "B",
            Unit::Nanoseconds => "ns",
            Unit::BitsPerSecond => "bit/s",
            Unit::BytesPerSecond => "B/s",
            Unit::PerSecond => "1/s",
            Unit::NanosecondsPerByte => "ns/B",
            Unit::Cycles => "cycles",
            Unit::CyclesPerByte => "cycle/B",
            Unit::TscCyclesPerByte => "TSC cycle/B",
            Unit::TscCycles => "TSC cycle",
            Unit::Hertz => "Hz",
            Unit::Name => "",
        }
    }

    /// A number for people: three significant digits and a prefix, e.g. `41.2 Gbit/s`, `64 KiB`.
    pub fn format(self, value: f64) -> String {
        if !value.is_finite() {
            return "n/a".into();
        }
        match self {
            Unit::Name => significant(value),
            Unit::Ratio | Unit::Count => significant(value),
            Unit::Bytes => format_bytes(value),
            Unit::Nanoseconds => format_nanoseconds(value),
            Unit::BitsPerSecond | Unit::BytesPerSecond | Unit::Hertz | Unit::PerSecond => {
                let (scaled, prefix) = si(value);
                let symbol = if self == Unit::PerSecond { "/s" } else { self.symbol() };
                format!("{} {prefix}{symbol}", significant(scaled)).replace(" /s", "/s")
            }
            _ => format!("{} {}", significant(value), self.symbol()),
        }
    }
}

impl Unit {
    /// One scale for a table whose largest figure is this: what to divide by, and the name of the
    /// unit then, e.g. (1e9, `Gbit/s`).
    pub fn scale_for(self, largest: f64) -> (f64, String) {
        match self {
            Unit::BitsPerSecond | Unit::BytesPerSecond | Unit::Hertz | Unit::PerSecond => {
                let (_, prefix) = si(largest);
                let scale = [("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)];
                let scale = scale.iter().find(|s| s.0 == prefix).map_or(1.0, |s| s.1);
                let gap = if self == Unit::PerSecond && !prefix.is_empty() { " " } else { "" };
                (scale, format!("{prefix}{gap}{}", self.symbol()))
            }
            _ => (1.0, self.symbol().to_string()),
        }
    }
}

/// A number of things in words: `1 case`, `3 cases`, `2 quantities`.
pub fn count(n: usize, thing: &str) -> String {
    if n == 1 {
        return format!("1 {thing}");
    }
    match thing.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{n} {stem}ies"),
        _ if thing.ends_with('s') => format!("{n} {thing}es"),
        _ => format!("{n} {thing}s"),
    }
}

/// `a`, `a and b`, `a, b and c`.
pub fn and(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [start @ .., last] => format!("{} and {last}", start.join(", ")),
    }
}

/// A share for people: `18 %`, `0.4 %`.
pub fn percent(share: f64) -> String {
    format!(
        "{} %",
        if share.abs() >= 0.1 { format!("{:.0}", share * 100.0) } else { share_digits(share * 100.0) }
    )
}

fn share_digits(value: f64) -> String {
    let text = format!("{value:.1}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// Three significant digits without an exponent, trailing zeros of the fraction removed.
pub fn significant(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let magnitude = value.abs().log10().floor() as i32;
    if magnitude >= 3 {
        return format!("{value:.0}");
    }
    if magnitude < -6 {
        return format!("{value:.2e}");
    }
    let digits = (2 - magnitude).max(0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

/// A confidence level for people, rounded down and never to 100: `95 %`, `99.2 %`, `99.97 %`.
pub fn confidence(level: f64) -> String {
    let error = (100.0 * (1.0 - level)).max(1e-6);
    let digits = (-error.log10()).ceil().max(1.0) as i32;
    let scale = 10f64.powi(digits);
    let text = format!("{:.*}", digits as usize, ((100.0 - error) * scale + 1e-6).floor() / scale);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

fn si(value: f64) -> (f64, &'static str) {
    for (scale, prefix) in [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")] {
        if value.abs() >= scale * 0.9995 {
            return (value / scale, prefix);
        }
    }
    (value, "")
}

fn format_bytes(value: f64) -> String {
    for (scale, prefix) in [
        ((1u64 << 40) as f64, "TiB"),
        ((1u64 << 30) as f64, "GiB"),
        ((1u64 << 20) as f64, "MiB"),
        (1024.0, "KiB"),
    ] {
        if value.abs() >= scale {
            return format!("{} {prefix}", significant(value / scale));
        }
    }
    format!("{} B", significant(value))
}

fn format_nanoseconds(value: f64) -> String {
    for (scale, unit) in [(1e9, "s"), (1e6, "ms"), (1e3, "us")] {
        if value.abs() >= scale * 0.9995 {
            return format!("{} {unit}", significant(value / scale));
        }
    }
    format!("{} ns", significant(value))
}

/// Why a quantity could not be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ParseError {
    #[error("'{0}' is not a size: write bytes (4096) or a number with K, M, G (64K, 1MiB)")]
    Size(String),
    #[error("'{0}' is too large: the largest size is 8 PiB (8192T)")]
    LargeSize(String),
    #[error("'{0}' is not a duration: write a number with ns, us, ms, s, m or h (500ms, 4m, 90s)")]
    Duration(String),
    #[error("'{0}' is too long: the longest is a year (8760h)")]
    LongDuration(String),
    #[error("'{0}' is not a share between 0 and 1: write a percentage (5%) or a fraction (0.05)")]
    Fraction(String),
}

fn split_number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    Some((number, text[end..].trim()))
}

/// Reads a size in bytes: `64`, `64B`, `4K`, `4KiB`, `1M`, `1MiB`, `1GB` (= 10^9).
pub fn parse_bytes(text: &str) -> Result<u64, ParseError> {
    let error = || ParseError::Size(text.trim().to_string());
    let (number, suffix) = split_number(text).ok_or_else(error)?;
    let scale = match suffix.to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "ki" | "kib" => 1024.0,
        "m" | "mi" | "mib" => (1u64 << 20) as f64,
        "g" | "gi" | "gib" => (1u64 << 30) as f64,
        "t" | "ti" | "tib" => (1u64 << 40) as f64,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        _ => return Err(error()),
    };
    let bytes = number * scale;
    if bytes > 2f64.powi(53) {
        return Err(ParseError::LargeSize(text.trim().into()));
    }
    if bytes.fract() != 0.0 {
        return Err(error());
    }
    Ok(bytes as u64)
}

/// Reads a whole number: `64`, `10k`, `2M`, `1.5k` (powers of 1,000), `20k/s`, `20000 per second`.
pub fn parse_count(text: &str) -> Option<u64> {
    let text = text.trim();
    let text = ["/s", "per second"].iter().find_map(|per| text.strip_suffix(per)).unwrap_or(text).trim();
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok();
    }
    let (number, suffix) = split_number(text)?;
    let scale = match suffix {
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        _ => return None,
    };
    let count = number * scale;
    (count.fract() == 0.0 && count <= 2f64.powi(53)).then_some(count as u64)
}

/// A size as a person types it and as [`parse_bytes`] reads it back exactly: `64`, `4K`, `1M`.
pub fn short_bytes(bytes: u64) -> String {
    for (shift, letter) in [(30, 'G'), (20, 'M'), (10, 'K')] {
        if bytes >= 1 << shift && bytes % (1 << shift) == 0 {
            return format!("{}{letter}", bytes >> shift);
        }
    }
    bytes.to_string()
}

/// Reads a duration: `500ms`, `4m`, `90s`, `1.5h`, `1m30s`; a bare number is seconds.
pub fn parse_duration(text: &str) -> Result<std::time::Duration, ParseError> {
    let error = || ParseError::Duration(text.trim().to_string());
    let (number, suffix) = split_number(text).ok_or_else(error)?;
    // More may follow the first unit, as in 1m30s.
    let unit = suffix.find(|c: char| c.is_ascii_digit()).unwrap_or(suffix.len());
    let (suffix, rest) = suffix.split_at(unit);
    let rest = match rest {
        "" => std::time::Duration::ZERO,
        rest if rest.contains(char::is_alphabetic) => parse_duration(rest).map_err(|_| error())?,
        _ => return Err(error()),
    };
    let scale = match suffix.trim() {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "" | "s" | "sec" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(error()),
    };
    let seconds = number * scale + rest.as_secs_f64();
    if seconds > 365.0 * 86400.0 {
        return Err(ParseError::LongDuration(text.trim().into()));
    }
    Ok(std::time::Duration::from_secs_f64(seconds))
}

/// Reads a share: `5%` or `0.05`; the result lies in (0, 1).
pub fn parse_fraction(text: &str) -> Result<f64, ParseError> {
    let error = || ParseError::Fraction(text.trim().to_string());
    let (number, suffix) = split_number(text).ok_or_else(error)?;
    let fraction = match suffix {
        "%" => number / 100.0,
        "" => number,
        _ => return Err(error()),
    };
    if fraction > 0.0 && fraction < 1.0 { Ok(fraction) } else { Err(error()) }
}

/// A duration for people: `4m 40s`, `28 s`, `950 ms`.
pub fn format_duration(duration: std::time::Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds >= 60.0 {
        let whole = seconds.round() as u64;
        return if whole % 60 == 0 {
            format!("{}m", whole / 60)
        } else {
            format!("{}m {}s", whole / 60, whole % 60)
        };
    }
    format_nanoseconds(duration.as_nanos() as f64)
}

/// A moment in UTC as RFC 3339 has it: `2026-11-21T22:26:40Z`.
pub fn utc(unix_seconds: u64) -> String {
    let moment = std::time::UNIX_EPOCH + std::time::Duration::from_secs(unix_seconds);
    humantime::format_rfc3339_seconds(moment).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_thing_is_not_called_several() {
        let said = [(1, "case"), (2, "case"), (0, "process"), (1, "process"), (3, "quantity"), (2, "way")];
        let said = said.map(|(n, thing)| count(n, thing));
        assert_eq!(said, ["1 case", "2 cases", "0 processes", "1 process", "3 quantities", "2 ways"]);
    }

    #[test]
    fn people_read_prefixes() {
        assert_eq!(Unit::BitsPerSecond.format(41.23e9), "41.2 Gbit/s");
        assert_eq!(Unit::PerSecond.format(1_234_567.0), "1.23 M/s");
        assert_eq!(Unit::PerSecond.format(12.0), "12/s");
        assert_eq!(Unit::Bytes.format(65536.0), "64 KiB");
        assert_eq!(Unit::Nanoseconds.format(3540.0), "3.54 us");
        assert_eq!(Unit::NanosecondsPerByte.format(0.0543), "0.0543 ns/B");
        assert_eq!(significant(999.96), "1000");
        assert_eq!(Unit::BitsPerSecond.scale_for(41.2e9), (1e9, "Gbit/s".into()));
        assert_eq!(Unit::PerSecond.scale_for(2e6), (1e6, "M 1/s".into()));
        assert_eq!(Unit::NanosecondsPerByte.scale_for(120.0), (1.0, "ns/B".into()));
    }

    #[test]
    fn a_corrected_level_is_not_rounded_up_to_certainty() {
        let said = [0.95, 0.957, 0.9375, 0.992_19, 0.999_74, 0.999_996, 1.0].map(confidence);
        assert_eq!(said, ["95 %", "95.7 %", "93.7 %", "99.2 %", "99.97 %", "99.9996 %", "99.999999 %"]);
    }

    #[test]
    fn sizes_are_binary_unless_si_is_written() {
        assert_eq!(parse_bytes("64K"), Ok(65536));
        assert_eq!(parse_bytes("64KB"), Ok(64000));
        assert_eq!(parse_bytes(" 1 MiB "), Ok(1 << 20));
        assert!(parse_bytes("-1").is_err());
        assert!(parse_bytes("1.3").is_err());
        assert!(parse_bytes("64Q").is_err());
        assert!(parse_bytes("").is_err());
    }

    #[test]
    fn numbers_take_the_suffixes_that_people_type() {
        let counts = ["64", "10k", "2M", "1.5k", "20k/s", "20000 per second", "1.5", "k", "10q", "-1", ""]
            .map(parse_count);
        let known = [64, 10_000, 2_000_000, 1_500, 20_000, 20_000].map(Some);
        assert_eq!(counts[..6], known);
        assert!(counts[6..].iter().all(Option::is_none), "{counts:?}");
        let durations =
            ["90", "90s", "1.5m", "1m30s", "1m 30s"].map(|text| parse_duration(text).unwrap().as_secs());
        assert_eq!(durations, [90; 5]);
        assert!(["1m30", "s", "1x", "m30s", "1m-3s"].iter().all(|text| parse_duration(text).is_err()));
    }

    proptest! {
        #[test]
        fn short_sizes_read_back(bytes in 0u64..(1 << 50)) {
            prop_assert_eq!(parse_bytes(&short_bytes(bytes)), Ok(bytes));
        }

        #[test]
        fn no_text_panics(text in ".{0,24}") {
            let _ = (parse_bytes(&text), parse_duration(&text), parse_fraction(&text));
        }
    }
}
