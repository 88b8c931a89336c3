//! Units as the wild writes them: `Gbps`, `Mbit/s`, `MB/s`, `us`, `KB`. What could be read two ways is refused.
//!
//! A small `b` is bits and a capital `B` is bytes; `K` of a size is 1024 bytes, `M` of a rate a million.

/// What a unit measures; its factor leads to the base unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// bit/s
    Rate,
    /// ns
    Time,
    /// bytes
    Size,
    /// A number without a unit, or one counted in thousands.
    Count,
    Percent,
    /// Of a clock whose rate nobody says.
    Cycles,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitScale {
    pub dimension: Dimension,
    pub factor: f64,
}

/// Why a text is no unit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoUnit {
    #[error("is no unit known here")]
    Unknown,
    /// Both readings, for the question to the reader.
    #[error("may be {0}")]
    Ambiguous(&'static str),
}

/// Reads a unit.
pub fn parse(text: &str) -> Result<UnitScale, NoUnit> {
    let text = text.trim().trim_matches(['(', ')', '[', ']']).trim();
    let scale = |dimension, factor| Ok(UnitScale { dimension, factor });
    match text {
        "ns" | "Ns" | "nanos" | "nanosec" | "NS" | "nsec" | "nanosecond" | "nanoseconds" => {
            return scale(Dimension::Time, 1.0);
        }
        "us" | "uS" | "Us" | "micros" | "microsec" | "µsec" | "US" | "µs" | "μs" | "usec" | "microsecond"
        | "microseconds" => return scale(Dimension::Time, 1e3),
        "ms" | "millis" | "millisec" | "MS" | "msec" | "millisecond" | "milliseconds" => {
            return scale(Dimension::Time, 1e6);
        }
        "s" | "S" | "sec" | "secs" | "second" | "seconds" => return scale(Dimension::Time, 1e9),
        "B" | "b" | "byte" | "bytes" | "Bytes" | "Byte" | "BYTES" => return scale(Dimension::Size, 1.0),
        "%" | "percent" | "pct" => return scale(Dimension::Percent, 1.0),
        "cycles" | "cycle" | "ticks" => return scale(Dimension::Cycles, 1.0),
        "count" | "1" => return scale(Dimension::Count, 1.0),
        _ => {}
    }
    if let Some(rate) = rate(text) {
        return rate;
    }
    let binary = |power: i32| scale(Dimension::Size, 1024f64.powi(power));
    match text {
        "K" | "k" | "KB" | "Kbytes" | "KBytes" | "kbytes" | "kb" | "Kb" | "KiB" | "kib" => binary(1),
        "M" | "MB" | "mb" | "MiB" | "mib" => binary(2),
        "G" | "GB" | "gb" | "GiB" | "gib" => binary(3),
        // Of sizes: kilo as in SI.
        "kB" => scale(Dimension::Size, 1e3),
        _ => Err(NoUnit::Unknown),
    }
}

/// So many: `M`, `billions`, `x10^9`, `1e6`, `count`.
pub fn count(text: &str) -> Result<UnitScale, NoUnit> {
    let text = text.trim().trim_matches(['(', ')', '[', ']']).trim().to_ascii_lowercase();
    let power = |text: &str| {
        let digits = text
            .strip_prefix("10^")
            .or_else(|| text.strip_prefix("1e"))
            .or_else(|| text.strip_prefix("10e"))?;
        digits.parse::<i32>().ok().filter(|power| (0..=15).contains(power)).map(|power| 10f64.powi(power))
    };
    let factor = match text.trim_start_matches(['x', '×', '*', ' ']) {
        "k" | "thousand" | "thousands" | "kilo" => 1e3,
        "m" | "million" | "millions" | "mega" | "mil" => 1e6,
        "b" | "g" | "bn" | "billion" | "billions" | "giga" => 1e9,
        "t" | "trillion" | "trillions" => 1e12,
        "count" | "#" | "n" | "total" | "events" | "cycles" | "cycles/byte" | "cycles per byte" => 1.0,
        other => power(other).ok_or(NoUnit::Unknown)?,
    };
    Ok(UnitScale { dimension: Dimension::Count, factor })
}

/// A rate: a prefix, bits or bytes, per second.
fn rate(text: &str) -> Option<Result<UnitScale, NoUnit>> {
    let per_second =
        ["/s", "/sec", "/second", "ps", "PS", "_per_s", "_per_sec", " per second", "s/sec", "s/s"];
    let stem = per_second.iter().filter_map(|end| text.strip_suffix(end)).min_by_key(|stem| stem.len())?;
    let stem = stem.strip_prefix("10^6").map_or(stem.to_string(), |rest| format!("M{rest}"));
    let (prefix, what) = match stem.chars().next()? {
        'k' | 'K' => (1e3, &stem[1..]),
        'm' | 'M' => (1e6, &stem[1..]),
        'g' | 'G' => (1e9, &stem[1..]),
        't' | 'T' => (1e12, &stem[1..]),
        _ => (1.0, stem.as_str()),
    };
    let bits = |per: f64| Some(Ok(UnitScale { dimension: Dimension::Rate, factor: prefix * per }));
    match what {
        "b" | "bit" | "bits" | "Bits" | "Bit" => bits(1.0),
        // All capitals say nothing about the b.
        "B" if text.ends_with("PS") => {
            Some(Err(NoUnit::Ambiguous("bits or bytes per second: write Gbit/s or GB/s")))
        }
        "B" | "Byte" | "Bytes" | "bytes" | "byte" => bits(8.0),
        "iB" => {
            let binary = prefix.log10() / 3.0;
            Some(Ok(UnitScale { dimension: Dimension::Rate, factor: 8.0 * 1024f64.powf(binary) }))
        }
        _ => None,
    }
}

/// What a file writes between whole and decimal digits; the other mark groups thousands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
pub enum DecimalMark {
    #[default]
    #[serde(rename = ".")]
    Point,
    #[serde(rename = ",")]
    Comma,
}

/// Spaces that group thousands; a narrow or an unbroken one is what spreadsheets write.
const SPACES: [char; 4] = [' ', '\u{a0}', '\u{202f}', '\''];

/// Reads a number with an optional unit behind it: `64`, `1,024`, `64KB`, `2.46 Gbps`, `5.2e6`. The
/// second value is half a unit of the last digit printed.
pub fn number(text: &str, mark: DecimalMark) -> Option<(f64, f64, Option<&str>)> {
    let text = text.trim();
    let (digits, unit) = text.split_at(end_of_number(text));
    let plain = ungrouped(digits, mark)?;
    let value: f64 = plain.parse().ok()?;
    let unit = Some(unit.trim()).filter(|u| !u.is_empty());
    Some((value, half_unit(&plain), unit))
}

fn end_of_number(text: &str) -> usize {
    let within = |(i, c): &(usize, char)| {
        let after = &text[i + c.len_utf8()..];
        let exponent =
            matches!(c, 'e' | 'E') && after.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+');
        let sign = matches!(c, '+' | '-') && (*i == 0 || text[..*i].ends_with(['e', 'E']));
        let groups =
            SPACES.contains(c) && group_follows(after) && text[..*i].ends_with(|c: char| c.is_ascii_digit());
        c.is_ascii_digit() || matches!(c, '.' | ',' | '_') || exponent || sign || groups
    };
    text.char_indices().find(|at| !within(at)).map_or(text.len(), |(i, _)| i)
}

/// Three digits and no fourth.
fn group_follows(text: &str) -> bool {
    text.bytes().take_while(u8::is_ascii_digit).count() == 3
}

/// Thousands separators removed, the decimal mark a point. A separator anywhere else is a mistake: refused.
fn ungrouped(digits: &str, mark: DecimalMark) -> Option<String> {
    let (point, group) = match mark {
        DecimalMark::Point => ('.', ','),
        DecimalMark::Comma => (',', '.'),
    };
    let groups = |c: char| c == group || c == '_' || SPACES.contains(&c);
    let (whole, rest) = digits.split_once(point).unwrap_or((digits, ""));
    if rest.contains(groups) {
        return None;
    }
    let parts: Vec<&str> = whole.split(groups).collect();
    let grouped = parts.len() == 1 || parts[1..].iter().all(|part| part.len() == 3);
    grouped.then(|| digits.replace(groups, "").replace(point, "."))
}

fn half_unit(plain: &str) -> f64 {
    let (mantissa, exponent) = plain.split_once(['e', 'E']).unwrap_or((plain, "0"));
    let decimals = mantissa.split_once('.').map_or(0, |(_, d)| d.len() as i32);
    // A whole number of many zeros was rounded somewhere; it is taken as written.
    0.5 * 10f64.powi(exponent.parse::<i32>().unwrap_or(0) - decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(text: &str) -> (Dimension, f64) {
        let scale = parse(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
        (scale.dimension, scale.factor)
    }

    fn n(text: &str) -> Option<(f64, f64, Option<&str>)> {
        number(text, DecimalMark::Point)
    }

    #[test]
    fn rates_times_and_sizes_as_people_write_them() {
        for text in ["Gbps", "gbps", "Gb/s", "Gbit/s", "Gbits/sec", "(Gbps)"] {
            assert_eq!(factor(text), (Dimension::Rate, 1e9), "{text}");
        }
        assert_eq!(factor("10^6bits/s"), (Dimension::Rate, 1e6));
        assert_eq!(factor("MB/s"), (Dimension::Rate, 8e6));
        assert_eq!(factor("MBytes/sec"), (Dimension::Rate, 8e6));
        assert_eq!(factor("MiB/s"), (Dimension::Rate, 8.0 * 1048576.0));
        assert_eq!(factor("us"), (Dimension::Time, 1e3));
        assert_eq!(factor("KB"), (Dimension::Size, 1024.0));
        assert_eq!(factor("bytes"), (Dimension::Size, 1.0));
        assert!(matches!(parse("GBPS"), Err(NoUnit::Ambiguous(_))));
        assert_eq!(parse("furlongs"), Err(NoUnit::Unknown));
    }

    #[test]
    fn numbers_keep_their_rounding_and_their_unit() {
        assert_eq!(n("2.46"), Some((2.46, 0.005, None)));
        assert_eq!(n(" 64KB"), Some((64.0, 0.5, Some("KB"))));
        assert_eq!(n("1,024 B"), Some((1024.0, 0.5, Some("B"))));
        assert_eq!(n("5.2e6"), Some((5.2e6, 0.5 * 10f64.powi(5), None)));
        assert_eq!(n("-3"), Some((-3.0, 0.5, None)));
        for bad in ["", "n/a", "1,5", "1.2.3", "--4"] {
            assert_eq!(n(bad), None, "{bad}");
        }
    }

    #[test]
    fn decimal_commas_and_grouping_spaces() {
        let comma = |text| number(text, DecimalMark::Comma).map(|(value, ..)| value);
        assert_eq!(comma("2,46"), Some(2.46));
        assert_eq!(comma("1.234,5"), Some(1234.5));
        assert_eq!(comma("1.024"), Some(1024.0));
        assert_eq!(comma("2.46"), None);
        assert_eq!(n("1 048 576"), Some((1048576.0, 0.5, None)));
        assert_eq!(n("65\u{a0}536 B"), Some((65536.0, 0.5, Some("B"))));
    }
}
