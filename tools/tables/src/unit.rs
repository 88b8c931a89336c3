//! Units as the wild writes them: `Gbps`, `Mbit/s`, `MB/s`, `us`, `KB`. What could be read two ways is refused.
//!
//! The words are data, in `units.toml`. A small `b` is bits and a capital `B` is bytes; `K` of a size is 1024 bytes, `M` of a rate a million.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use syscost_core::units::Unit;

/// A base unit, and the factor that leads to it. A share is in per cent here; a number is a count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnitScale {
    pub base: Unit,
    pub factor: f64,
}

/// Factors by kind and word, as `units.toml` has them.
static WORDS: LazyLock<BTreeMap<String, BTreeMap<String, f64>>> = LazyLock::new(|| {
    let kinds: BTreeMap<String, BTreeMap<String, Vec<String>>> =
        toml::from_str(include_str!("units.toml")).expect("a test reads it");
    let by_word = |(factor, words): (String, Vec<String>)| {
        let factor: f64 = factor.parse().expect("a test reads it");
        words.into_iter().map(move |word| (word, factor))
    };
    kinds.into_iter().map(|(kind, of)| (kind, of.into_iter().flat_map(by_word).collect())).collect()
});

fn factor(kind: &str, word: &str) -> Option<f64> {
    WORDS[kind].get(word).copied()
}

/// A unit; else both readings of one that has two, for the question to the reader, or nothing.
pub type MaybeUnit = Result<UnitScale, Option<&'static str>>;

/// Reads a unit: one word, or one `/` or `per` another.
pub fn parse(text: &str) -> MaybeUnit {
    let text = bracketless(text);
    let scale = |base, factor| Ok(UnitScale { base, factor });
    let Some((what, of)) = ratio(text) else {
        let word = &text.to_ascii_lowercase();
        let words =
            [("time", word), ("percent", word), ("cycles", word), ("number", word), ("size", &text.into())];
        let bases = [Unit::Nanoseconds, Unit::Ratio, Unit::Cycles, Unit::Count, Unit::Bytes];
        let known =
            words.iter().zip(bases).find_map(|((kind, word), base)| Some((base, factor(kind, word)?)));
        let (base, factor) = known.ok_or(None)?;
        return scale(base, factor);
    };
    let time = |text: &str| factor("time", &text.to_ascii_lowercase());
    let second = time(&of) == Some(1e9);
    // All capitals say nothing about the b; `mb/s` is written for either, `mbps` for bits alone.
    let either = match text.get(text.len().saturating_sub(2)..) {
        Some("PS") => what.ends_with('B'),
        Some("ps") => false,
        _ => ["kb", "mb", "gb", "kib", "mib", "gib"].contains(&what.as_str()),
    };
    match (bits(&what), calls(&what), time(&what)) {
        (Some(_), ..) if second && either => {
            Err(Some("bits or bytes per second: write Mbit/s or MB/s, Gbit/s or GB/s, Mibit/s or MiB/s"))
        }
        (Some(bits), ..) if second => scale(Unit::BitsPerSecond, bits),
        (_, Some(many), _) if second => scale(Unit::PerSecond, many),
        (.., Some(ns)) if calls(&of) == Some(1.0) => scale(Unit::Nanoseconds, ns),
        (.., Some(ns)) => scale(Unit::NanosecondsPerByte, ns / factor("size", &of).ok_or(None)?),
        _ => Err(None),
    }
}

/// `MB/s`, `us per msg`, `MB_per_s`; in `Gbps` the p is "per".
fn ratio(text: &str) -> Option<(String, String)> {
    let words: Vec<&str> = text.split([' ', '_', '-']).filter(|word| !word.is_empty()).collect();
    let per = words.iter().position(|word| word.eq_ignore_ascii_case("per"));
    let second = |what: &str| Some((what.to_string(), "s".to_string()));
    match (text.split_once('/'), per, words.split_last()) {
        (Some((what, of)), ..) => Some((what.trim().into(), of.trim().into())),
        (_, Some(at), _) => Some((words[..at].join(" "), words[at + 1..].join(" "))),
        (.., Some((&("s" | "sec" | "second"), what @ [_, ..]))) => second(&what.join(" ")),
        // Operations, not octets.
        _ if text.ends_with("ops") => second(text.strip_suffix('s')?),
        _ => second(text.strip_suffix("ps").or_else(|| text.strip_suffix("PS"))?),
    }
}

/// The factor of a prefix (`G`, `10^9`), and what stands behind it.
fn prefixed(text: &str) -> (f64, &str) {
    let power = |text: &str| text.strip_prefix("10^")?.get(..1)?.parse::<i32>().ok();
    let letter = |text: &str| "kmgt".find(text.chars().next()?.to_ascii_lowercase());
    match (power(text), letter(text)) {
        (Some(power), _) => (10f64.powi(power), text["10^".len() + 1..].trim_start()),
        (_, Some(at)) => (1000f64.powi(at as i32 + 1), text[1..].trim_start()),
        _ => (1.0, text),
    }
}

/// Bits of what is sent each second: a prefix, bits or bytes.
fn bits(text: &str) -> Option<f64> {
    let (prefix, what) = prefixed(text);
    // `MegaBits`
    let what = if what.len() > 5 { what.to_ascii_lowercase() } else { what.to_string() };
    let binary = || Some(factor("binary_bits", &what)? * 1024f64.powf(prefix.log10() / 3.0));
    factor("bits", &what).map(|bits| bits * prefix).or_else(binary)
}

/// Messages, operations: `Kmsgs`, `ops`, `M req`, `messages sent`.
fn calls(text: &str) -> Option<f64> {
    let text = text.to_ascii_lowercase();
    let text = [" sent", " received"].iter().find_map(|said| text.strip_suffix(said)).unwrap_or(&text);
    let known = |word: &str| factor("calls", word).or_else(|| factor("calls", word.strip_suffix('s')?));
    let (prefix, what) = prefixed(text);
    known(text).or_else(|| Some(prefix * known(what)?))
}

/// So many: `M`, `billions`, `x10^9`, `1e6`, `count`.
pub fn count(text: &str) -> Option<UnitScale> {
    let text = bracketless(text).to_ascii_lowercase();
    let text = text.trim_start_matches(['x', '×', '*', ' ']);
    let power = ["10^", "1e", "10e"].iter().find_map(|mark| text.strip_prefix(mark)?.parse::<i32>().ok());
    let power = power.filter(|power| (0..=15).contains(power));
    let factor = factor("count", text).or_else(|| Some(10f64.powi(power?)))?;
    Some(UnitScale { base: Unit::Count, factor })
}

/// A unit without the brackets around it.
pub fn bracketless(text: &str) -> &str {
    text.trim().trim_matches(['(', ')', '[', ']']).trim()
}

/// Spaces that group thousands; a narrow or an unbroken one is what spreadsheets write.
const SPACES: [char; 4] = [' ', '\u{a0}', '\u{202f}', '\''];

/// Reads a number with an optional unit behind it: `64`, `1,024`, `64KB`, `2.46 Gbps`, `5.2e6`. The
/// second value is half a unit of the last digit printed. The mark stands before decimals: a point or a comma.
pub fn number(text: &str, mark: char) -> Option<(f64, f64, Option<&str>)> {
    let text = text.trim();
    let (digits, unit) = text.split_at(end_of_number(text));
    let plain = ungrouped(digits, mark)?;
    let value: f64 = plain.parse().ok()?;
    let unit = unit.trim();
    Some((value, half_unit(&plain), Some(unit).filter(|u| !u.is_empty())))
}

fn end_of_number(text: &str) -> usize {
    let within = |(i, c): &(usize, char)| {
        let after = &text[i + c.len_utf8()..];
        let exponent =
            matches!(c, 'e' | 'E') && after.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+');
        let sign = matches!(c, '+' | '-') && (*i == 0 || text[..*i].ends_with(['e', 'E']));
        // Three digits and no fourth.
        let group = || after.bytes().take_while(u8::is_ascii_digit).count() == 3;
        let groups = SPACES.contains(c) && group() && text[..*i].ends_with(|c: char| c.is_ascii_digit());
        c.is_ascii_digit() || matches!(c, '.' | ',' | '_') || exponent || sign || groups
    };
    text.char_indices().find(|at| !within(at)).map_or(text.len(), |(i, _)| i)
}

/// Thousands separators removed, the decimal mark a point. A separator anywhere else is a mistake: refused.
fn ungrouped(digits: &str, mark: char) -> Option<String> {
    let groups = |c: char| c == (if mark == '.' { ',' } else { '.' }) || c == '_' || SPACES.contains(&c);
    let (whole, rest) = digits.split_once(mark).unwrap_or((digits, ""));
    if rest.contains(groups) {
        return None;
    }
    let parts: Vec<&str> = whole.split(groups).collect();
    let grouped = parts.len() == 1 || parts[1..].iter().all(|part| part.len() == 3);
    grouped.then(|| digits.replace(groups, "").replace(mark, "."))
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

    fn factor(text: &str) -> (Unit, f64) {
        let scale = parse(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
        (scale.base, scale.factor)
    }

    fn n(text: &str) -> Option<(f64, f64, Option<&str>)> {
        number(text, '.')
    }

    #[test]
    fn rates_times_and_sizes_as_people_write_them() {
        for text in ["Gbps", "gbps", "Gb/s", "Gbit/s", "Gbits/sec", "(Gbps)"] {
            assert_eq!(factor(text), (Unit::BitsPerSecond, 1e9), "{text}");
        }
        assert_eq!(factor("10^6bits/s"), (Unit::BitsPerSecond, 1e6));
        assert_eq!(factor("MB/s"), (Unit::BitsPerSecond, 8e6));
        assert_eq!(factor("MBytes/sec"), (Unit::BitsPerSecond, 8e6));
        assert_eq!(factor("MiB/s"), (Unit::BitsPerSecond, 8.0 * 1048576.0));
        assert_eq!(factor("us"), (Unit::Nanoseconds, 1e3));
        assert_eq!(factor("KB"), (Unit::Bytes, 1024.0));
        assert_eq!(factor("bytes"), (Unit::Bytes, 1.0));
        for text in ["MiByte/sec", "MiBytes/s"] {
            assert_eq!(factor(text), (Unit::BitsPerSecond, 8.0 * 1048576.0), "{text}");
        }
        assert_eq!(factor("MegaBits/Sec"), (Unit::BitsPerSecond, 1e6));
        for text in ["Mib/s", "[Mibit/s]", "Mibps"] {
            assert_eq!(factor(text), (Unit::BitsPerSecond, 1048576.0), "{text}");
        }
        for text in ["P/s", "pps", "packets/s"] {
            assert_eq!(factor(text), (Unit::PerSecond, 1.0), "{text}");
        }
        for text in ["us/msg", "usec_per_msg", "us per packet", "µs/op", "us/block"] {
            assert_eq!(factor(text), (Unit::Nanoseconds, 1e3), "{text}");
        }
        assert_eq!(factor("MB per sec"), (Unit::BitsPerSecond, 8e6));
        for (text, many) in [("ops/s", 1.0), ("Kmsgs/sec", 1e3), ("trans/s", 1.0), ("Mpps", 1e6)] {
            assert_eq!(factor(text), (Unit::PerSecond, many), "{text}");
        }
        assert_eq!(factor("us/KB"), (Unit::NanosecondsPerByte, 1e3 / 1024.0));
        assert_eq!(parse("us/furlong"), Err(None));
        assert!(["GBPS", "mib/s"].iter().all(|text| matches!(parse(text), Err(Some(_)))));
        assert_eq!(parse("furlongs"), Err(None));
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
        let comma = |text| number(text, ',').map(|(value, ..)| value);
        assert_eq!(comma("2,46"), Some(2.46));
        assert_eq!(comma("1.234,5"), Some(1234.5));
        assert_eq!(comma("1.024"), Some(1024.0));
        assert_eq!(comma("2.46"), None);
        assert_eq!(n("1 048 576"), Some((1048576.0, 0.5, None)));
        assert_eq!(n("65\u{a0}536 B"), Some((65536.0, 0.5, Some("B"))));
    }
}
