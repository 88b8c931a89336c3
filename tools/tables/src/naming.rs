//! From a heading to the column that it names: the words of `words.toml` first, then their parts with qualifiers
//! (`avg`, `receiver`), statistics (`p99`, `stddev`) and units taken off.

use super::TableColumn;
use super::english;
use super::memo::Memo;
use super::unit::{self, Dimension, NoUnit, UnitScale};
use super::vocabulary::{self, tokens};

/// What a heading names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NamedColumn {
    pub column: TableColumn,
    pub unit: Option<UnitScale>,
    /// 0: by its usual words; the more is said beside them, the higher. Of two headings for one column the lower is it.
    pub rank: u8,
}

/// A figure of the run as a whole.
#[rustfmt::skip]
const WHOLE: &[&str] = &[
    "avg", "av", "average", "mean", "weighted", "the", "of", "used", "num", "number", "no", "total", "overall", "aggregate", "aggregated", "agg", "measured", "observed",
    "result", "value", "sum", "in", "net", "actual", "perf", "app", "application", "system", "count", "counts", "cnt", "nr", "hw", "hardware", "u", "all", "data", "achieved", "obtained", "recorded", "effective", "sustained", "reported",
];
/// Short for throughput, before its unit; alone they are something else.
pub const RATES: &[&str] = &["thr", "tp", "thru", "perf"];
const NUMBERS: &[&str] = &["number", "num", "no", "nr", "count", "counts", "cnt"];
const THINGS: &[&str] =
    &["message", "msg", "mesg", "datagram", "chunk", "block", "payload", "frame", "buffer", "buf"];
const SUMS: &[&str] = &["total", "overall", "aggregate", "aggregated", "agg", "sum", "net"];
/// Is it a total?
pub fn sums_up(text: &str) -> bool {
    vocabulary::has_word(text, SUMS)
}

pub const MEANS: &[&str] = &["avg", "av", "average", "mean", "weighted"];
pub const MIDDLE: &[&str] = &["median", "p50", "med", "50th", "50"];
const SENDER: &[&str] = &["sender", "client", "tx", "sent", "snd", "cli", "user", "k"];
/// How far figures lie apart, or one of their extremes.
#[rustfmt::skip]
pub const SPREADS: &[&str] = &[
    "min", "max", "minimum", "maximum", "p1", "p5", "p10", "p25", "p75", "p90", "p95", "p99", "p999", "p9999", "90th", "95th", "99th", "std",
    "stddev", "stdev", "sd", "sem", "stderr", "dev", "deviation", "var", "variance", "ci", "ci95", "err", "error", "low", "lo", "high", "hi", "lower",
    "upper", "iqr", "cov", "cv", "tail", "worst", "best", "peak", "sigma", "margin", "range", "jitter", "percentile", "95", "99", "90",
];
/// With these a count is another quantity.
#[rustfmt::skip]
const OTHER: &[&str] = &[
    "per", "rate", "ratio", "percent", "pct", "%", "tlb", "dtlb", "itlb", "branch", "l1i", "icache", "l2", "stalled", "ref", "idle", "voluntary",
    "involuntary", "vol", "invol", "nonvoluntary", "byte", "kb", "message", "msg", "store", "stores", "cpi", "ipc", "pkt", "packet", "req", "request", "op", "call",
];

thread_local! {
    static KNOWN: Memo<Option<NamedColumn>> = Memo::default();
}

pub fn column_of(text: &str) -> Option<NamedColumn> {
    if text.len() > vocabulary::LONGEST_HEADING {
        return None;
    }
    KNOWN.with(|known| known.of(text, looked_up))
}

fn looked_up(text: &str) -> Option<NamedColumn> {
    let text = english::undotted(text);
    let english = english::english(&text);
    let text = english.as_ref();
    // `msg/s` is no count of messages.
    let is_rate = unit::parse(text).is_ok_and(|unit| unit.dimension == Dimension::Calls);
    if is_rate && text.contains('/') {
        return unit_alone(text);
    }
    let splits = vocabulary::splits(text);
    let named = splits
        .iter()
        .find_map(|(name, unit)| said(name.trim_end().strip_suffix(" in").unwrap_or(name), *unit, exact));
    let percent = |named: &NamedColumn| text.contains('%') && measured_in_units(named.column);
    named
        .filter(|named| !percent(named))
        .or_else(|| splits.iter().find_map(|(name, unit)| said(name, *unit, qualified)))
        .or_else(|| without_unit(text))
        .or_else(|| without_remark(text))
        .filter(|named| !percent(named))
}

/// `Throughput Gbps (3 runs)`
fn without_remark(text: &str) -> Option<NamedColumn> {
    let (name, remark) = unit::bracketed(text)?;
    let other = |word: &String| OTHER.contains(&word.as_str()) || SPREADS.contains(&word.as_str());
    let plain = unit::parse(remark).is_err() && !tokens(remark).iter().any(other);
    column_of(name).filter(|named| plain && named.column.is_measure())
}

/// A share of it is another quantity.
fn measured_in_units(column: TableColumn) -> bool {
    use TableColumn::{Latency, MessageRate, Throughput};
    [Throughput, Latency, MessageRate].contains(&column)
}

/// A unit alone, or with a word of the middle or the whole: `Gbps`, `us`, `total_gbps`, `p50_us`.
pub fn unit_alone(text: &str) -> Option<NamedColumn> {
    let of = |text: &str| unit::parse(text).ok().and_then(|unit| Some((unit, measured(Some(unit))?)));
    if let Some((unit, column)) = of(text) {
        return Some(NamedColumn { column, unit: Some(unit), rank: 1 });
    }
    if text.len() > vocabulary::LONGEST_HEADING {
        return None;
    }
    let text = english::undotted(text);
    let english = english::english(&text);
    let text = english.as_ref();
    if let Some(bytes) = total_bytes(text) {
        return Some(bytes);
    }
    let cuts = text.char_indices().filter(|(_, c)| matches!(c, ' ' | '_' | '-' | '(' | '['));
    cuts.filter_map(|(at, _)| {
        let (unit, column) = of(&text[at + 1..])?;
        let words = tokens(&text[..at]);
        let sums = |word: &String| {
            SUMS.contains(&word.as_str()) || SENDER.contains(&word.as_str()) || is_receiver(word)
        };
        let middle = |word: &String| MEANS.contains(&word.as_str()) || MIDDLE.contains(&word.as_str());
        // The sum of times is none of a message.
        let rate = |word: &String| sums(word) || RATES.contains(&word.as_str());
        let fits = |word| middle(word) || unit.dimension != Dimension::Time && rate(word);
        let rank = 2 + side(&words);
        // `thr_std_gbps`
        let lies_apart = |word: &String| SPREADS.contains(&word.as_str());
        let spread = words.iter().any(lies_apart) && words.iter().any(rate);
        let fits = |word| fits(word) || spread && unit.dimension == Dimension::Rate && lies_apart(word);
        let column = if spread { TableColumn::Spread } else { column };
        (!words.is_empty() && words.iter().all(fits)).then_some(NamedColumn {
            column,
            unit: Some(unit),
            rank,
        })
    })
    .next()
}

/// `total_MB`
fn total_bytes(text: &str) -> Option<NamedColumn> {
    let (name, unit) = text.trim_end_matches([')', ']']).rsplit_once(['_', ' ', '(', '['])?;
    let unit = unit_for(TableColumn::Bytes, unit).ok()?;
    let words = tokens(name);
    let sums = |word: &String| {
        SUMS.contains(&word.as_str()) || ["data", "sent", "received", "transferred"].contains(&word.as_str())
    };
    let total = words.iter().any(|word| SUMS.contains(&word.as_str())) && words.iter().all(sums);
    total.then_some(NamedColumn { column: TableColumn::Bytes, unit: Some(unit), rank: 2 })
}

/// What figures of a unit are, where nothing else says it.
pub fn measured(unit: Option<UnitScale>) -> Option<TableColumn> {
    match unit?.dimension {
        Dimension::Rate => Some(TableColumn::Throughput),
        Dimension::Time => Some(TableColumn::Latency),
        Dimension::Calls => Some(TableColumn::MessageRate),
        _ => None,
    }
}

/// What a rate in these units is, and its factor; `None`: no rate known here.
pub fn rate(units: &str) -> Option<(TableColumn, f64)> {
    let scale =
        unit::parse(units).ok().filter(|of| matches!(of.dimension, Dimension::Rate | Dimension::Calls))?;
    Some((measured(Some(scale))?, scale.factor))
}

fn exact(name: &str) -> Option<(TableColumn, u8)> {
    vocabulary::column(name).map(|column| (column, 0))
}

/// A name and what stands behind it: a unit, or in brackets a remark.
fn said(name: &str, unit: Option<&str>, of: fn(&str) -> Option<(TableColumn, u8)>) -> Option<NamedColumn> {
    let (column, rank) = of(name)?;
    let Some(text) = unit else { return Some(NamedColumn { column, unit: None, rank }) };
    // `server_cycles` is no server.
    if column.is_text() && !text.starts_with(['(', '[']) {
        return None;
    }
    let counted = unit_for(TableColumn::MessageRate, text).is_ok();
    let column = if counted && column == TableColumn::Throughput { TableColumn::MessageRate } else { column };
    // `cpu_ns_per_byte` is no share.
    let each = unit_for(TableColumn::CpuPerByte, text).is_ok();
    let column = if each && column == TableColumn::CpuPercent { TableColumn::CpuPerByte } else { column };
    // `Av time (in cycles)`: of a clock whose rate nobody says.
    let cycles =
        unit::cycles(text).filter(|_| [TableColumn::Latency, TableColumn::Elapsed].contains(&column));
    if cycles.is_some() {
        return Some(NamedColumn { column: TableColumn::Measured, unit: cycles, rank });
    }
    match unit_for(column, text) {
        Ok(unit) => Some(NamedColumn { column, unit: Some(unit), rank }),
        // Bits or bytes: a question, once the figures are known.
        Err(NoUnit::Ambiguous(_)) => Some(NamedColumn { column, unit: None, rank }),
        Err(NoUnit::Unknown) if text.starts_with(['(', '[']) && text.trim_end().ends_with([')', ']']) => {
            remarked(column, rank, text)
        }
        Err(NoUnit::Unknown) => None,
    }
}

/// `(avg)`, `(p99)`, `(Gbps, mean)`, `(lower is better)`
fn remarked(column: TableColumn, rank: u8, text: &str) -> Option<NamedColumn> {
    let words = tokens(text);
    let any = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
    if any(OTHER) {
        return None;
    }
    // A unit that is none of this quantity: another quantity.
    if unit::parse(text).is_ok() && !column.is_place() {
        return None;
    }
    let mut parts = text.split([' ', ',', ';', '(', ')', '[', ']', ':']).filter(|part| !part.is_empty());
    let unit = parts.find_map(|part| unit_for(column, part).ok());
    // `(mean ± std)`
    let spread = any(SPREADS) && !any(MEANS) && !any(MIDDLE);
    let column = if spread && !column.is_place() && !column.is_text() { TableColumn::Spread } else { column };
    Some(NamedColumn { column, unit, rank: rank + 1 + side(&words) })
}

/// Of several runs one.
pub const BESTS: &[&str] = &["best", "peak", "worst"];
const EXTREMES: &[&str] = &["best", "peak", "worst", "max", "maximum", "min", "minimum"];

/// The word of an extreme in a heading, and what it is of: `Best Throughput (Gbps)`.
pub fn extreme(text: &str) -> Option<(String, NamedColumn)> {
    let word = tokens(text).into_iter().find(|word| EXTREMES.contains(&word.as_str()))?;
    let other = |part: &&str| !part.trim_matches(['(', ')', '[', ']']).eq_ignore_ascii_case(&word);
    let rest: Vec<&str> = text.split([' ', '_', '-']).filter(other).collect();
    let named = column_of(&rest.join(" "))
        .filter(|named| named.column.is_measure() && named.column != TableColumn::Spread)?;
    Some((word, named))
}

/// Ends of a range.
pub const LOWS: &[&str] =
    &["min", "minimum", "low", "lo", "lower", "p1", "p5", "p10", "p25", "q1", "best", "fastest"];
#[rustfmt::skip]
pub const HIGHS: &[&str] = &[
    "max", "maximum", "high", "hi", "upper", "p75", "p90", "p95", "p99", "p999", "p9999", "90th", "95th", "99th", "q3",
    "tail", "worst", "peak", "95", "99", "90", "percentile", "slowest",
];
/// A spread whatever stands beside it.
#[rustfmt::skip]
pub const WHOLE_SPREADS: &[&str] = &[
    "std", "stddev", "stdev", "sd", "sem", "stderr", "dev", "deviation", "var", "variance", "err", "error",
    "iqr", "cov", "cv", "sigma", "margin", "range",
];

/// `Read Time Standard Deviation`, `standard deviation of the read time`
pub fn is_deviation(text: &str) -> bool {
    let words = tokens(text);
    let is = |word: &String| WHOLE_SPREADS.contains(&word.as_str());
    let standard = |pair: &[String]| ["standard", "std"].contains(&pair[0].as_str()) && is(&pair[1]);
    words.last().is_some_and(is) || words.windows(2).any(standard)
}

/// Is it one end of a spread, among these?
pub fn side_of_spread(text: &str, of: &[&str]) -> bool {
    let words = tokens(text);
    let any = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
    let ends = any(&["low", "lo", "lower", "high", "hi", "upper"]);
    any(of) && !any(WHOLE_SPREADS) && (ends || !any(&["ci", "ci95", "confidence"]))
}

fn is_receiver(word: &str) -> bool {
    word.starts_with("rec") || ["server", "rx", "side"].contains(&word)
}

fn side(words: &[String]) -> u8 {
    let any = |of: &[&str]| words.iter().any(|word| of.contains(&word.as_str()));
    let receiver = if words.iter().any(|word| is_receiver(word)) { 2 } else { 0 };
    receiver + [(MIDDLE, 1), (SENDER, 3)].iter().filter(|(of, _)| any(of)).map(|(_, rank)| rank).sum::<u8>()
}

/// The column that is left when qualifiers and statistics are taken off.
fn qualified(name: &str) -> Option<(TableColumn, u8)> {
    let words = tokens(name);
    let of = |list: &[&str], word: &String| list.contains(&word.as_str());
    let spread = words.iter().any(|word| of(SPREADS, word));
    let plain = |word: &&String| {
        ![WHOLE, MIDDLE, SENDER, SPREADS].iter().any(|list| of(list, word)) && !is_receiver(word)
    };
    let core: Vec<&str> = words.iter().filter(plain).map(String::as_str).collect();
    // `ci95_low`
    let named = |word: &String| of(SPREADS, word) && word.starts_with(char::is_alphabetic);
    if core.is_empty()
        && words.len() > 1
        && words.iter().all(|word| of(SPREADS, word))
        && words.iter().any(named)
    {
        return Some((TableColumn::Spread, 0));
    }
    let column =
        vocabulary::column(&core.join(" ")).filter(|_| !core.is_empty()).or_else(|| counter(&core))?;
    // `Total of Bytes received`
    let column = if core == ["bytes"] && sums_up(name) { TableColumn::Bytes } else { column };
    // `Threads: 50` is no median of threads, and a number of blocks is no size.
    let things = column == TableColumn::MessageBytes && THINGS.contains(&core.concat().as_str());
    let other = |word: &String| word.bytes().all(|b| b.is_ascii_digit()) || things && of(NUMBERS, word);
    if column.is_place() && words.iter().any(other) {
        return None;
    }
    if spread {
        return (!column.is_place() && !column.is_text()).then_some((TableColumn::Spread, 0));
    }
    Some((column, 1 + side(&words)))
}

/// Counters of perf, however they are written.
fn counter(core: &[&str]) -> Option<TableColumn> {
    let any = |of: &[&str]| core.iter().any(|word| of.contains(word));
    // `A1 LLC misses`, `llc_misses_t4`: a counter of a name, or at a place.
    let place = |word: &&str| word.strip_prefix('t').is_some_and(|number| number.parse::<u64>().is_ok());
    let number = |word: &&str| word.bytes().all(|b| b.is_ascii_digit());
    if any(OTHER)
        || core.iter().any(place)
        || core.iter().any(number)
        || vocabulary::role(&core.join(" ")).is_some()
    {
        return None;
    }
    if any(&["miss", "misses"]) {
        return match () {
            () if any(&["l1", "l1d", "dcache"]) => Some(TableColumn::L1Misses),
            () if any(&["llc", "l3"]) => Some(TableColumn::LlcMisses),
            () if any(&["cache"]) => Some(TableColumn::CacheMisses),
            () => None,
        };
    }
    if any(&["switch", "switches"]) && any(&["context", "ctx", "ctxt", "cs", "thread"]) {
        return Some(TableColumn::ContextSwitches);
    }
    let only = |of: &[&str]| core.iter().all(|word| of.contains(word));
    match () {
        () if any(&["cycles"]) && only(&["cycles", "cpu", "core", "clock"]) => Some(TableColumn::Cycles),
        () if any(&["instructions"]) && only(&["instructions", "retired", "cpu"]) => {
            Some(TableColumn::Instructions)
        }
        () => None,
    }
}

/// A unit somewhere among the words: `throughput_gbps_mean`, `p99_us_latency`, `Throughput MB_per_s avg`.
fn without_unit(text: &str) -> Option<NamedColumn> {
    let chunks: Vec<&str> =
        text.split([' ', '_', '-', '(', ')', '[', ']', ',', ':']).filter(|chunk| !chunk.is_empty()).collect();
    let windows =
        (1..=3).rev().flat_map(|many| (0..chunks.len().saturating_sub(many - 1)).map(move |at| (at, many)));
    windows
        .filter_map(|(at, many)| {
            let rest: Vec<&str> = chunks[..at].iter().chain(&chunks[at + many..]).copied().collect();
            let name = rest.join(" ");
            let (column, rank) = exact(&name).or_else(|| qualified(&name)).filter(|(of, _)| !of.is_text())?;
            let unit = unit_for(column, &spelled(&chunks[at..at + many])).ok()?;
            Some(NamedColumn { column, unit: Some(unit), rank })
        })
        .next()
}

/// `MB`, `per`, `s` is `MB/s`.
fn spelled(chunks: &[&str]) -> String {
    match chunks {
        [what, "per" | "Per", second] => format!("{what}/{second}"),
        [what, "s" | "sec" | "S"] => format!("{what}/s"),
        many => many.join(" "),
    }
}

/// Is it a count, which has prefixes and no unit?
pub fn is_count(column: TableColumn) -> bool {
    use TableColumn::*;
    #[rustfmt::skip]
    let counts = [
        Cycles, Instructions, CacheMisses, LlcMisses, L1Misses, ContextSwitches, Messages, MessageRate, Retransmits, Threads, Runs, Repetition,
    ];
    counts.contains(&column)
}

/// A unit as it is meant behind the name of a column.
pub fn unit_for(column: TableColumn, text: &str) -> Result<UnitScale, NoUnit> {
    use TableColumn::*;
    if is_count(column) && column != MessageRate || [CyclesPerByte, CyclesPerMessage].contains(&column) {
        return unit::count(text);
    }
    let mut unit = unit::parse(text)?;
    // Of sizes K is 1024; what a disk or a network counts in GB are 10^9 bytes.
    if column == Bytes && unit.dimension == Dimension::Size && !text.contains(['i', 'I']) {
        unit.factor = 1000f64.powf(unit.factor.log(1024.0).round());
    }
    let fits = match column {
        MessageRate => unit.dimension == Dimension::Calls,
        Throughput => unit.dimension == Dimension::Rate,
        Latency | Elapsed | CpuTime | Jitter => unit.dimension == Dimension::Time,
        MessageBytes | Bytes => unit.dimension == Dimension::Size,
        CpuPerByte => unit.dimension == Dimension::TimePerByte,
        CpuPercent => unit.dimension == Dimension::Percent,
        _ => true,
    };
    if fits { Ok(unit) } else { Err(NoUnit::Unknown) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means(text: &str) -> (TableColumn, Option<f64>) {
        let named = column_of(text).unwrap_or_else(|| panic!("{text}"));
        (named.column, named.unit.map(|u| u.factor))
    }

    #[test]
    fn headings_of_the_wild() {
        #[rustfmt::skip]
        let rates = [
            "throughput_gbps", "Throughput (Gbps)", "Throughput [Gbit/s]", "THROUGHPUT Gbps", "tput_Gbps", "ThroughputGbps",
            "Throughput in Gbit/s", "agg_throughput_gbps", "throughput_gbps_mean", "Avg Throughput (Gbps, mean)", "Server Throughput (Gbps)",
        ];
        for text in rates {
            assert_eq!(means(text), (TableColumn::Throughput, Some(1e9)), "{text}");
        }
        assert_eq!(means("total_rx_bytes").0, TableColumn::Bytes);
        assert_eq!(means("throughput_MB_s"), (TableColumn::Throughput, Some(8e6)));
        assert_eq!(means("Throughput_MB_per_s"), (TableColumn::Throughput, Some(8e6)));
        assert_eq!(means("message_bytes"), (TableColumn::MessageBytes, None));
        assert_eq!(means("Message Size (KB)"), (TableColumn::MessageBytes, Some(1024.0)));
        assert_eq!(means("MsgSize"), (TableColumn::MessageBytes, None));
        assert_eq!(means("field_size"), (TableColumn::MessageBytes, None));
        assert_eq!(means("latency_us"), (TableColumn::Latency, Some(1e3)));
        assert_eq!(means("LatencyUs"), (TableColumn::Latency, Some(1e3)));
        assert_eq!(means("median_latency_us"), (TableColumn::Latency, Some(1e3)));
        assert_eq!(means("Throughput (Kmsgs/sec)"), (TableColumn::MessageRate, Some(1e3)));
        assert_eq!(means("msg/s"), (TableColumn::MessageRate, Some(1.0)));
        assert_eq!(means("Cycles/Byte"), (TableColumn::CyclesPerByte, None));
        assert_eq!(means("cpu_ns_per_byte"), (TableColumn::CpuPerByte, Some(1.0)));
        assert_eq!(means("CPU (%)").0, TableColumn::CpuPercent);
        assert_eq!(means("Cycles (M)"), (TableColumn::Cycles, Some(1e6)));
        assert_eq!(means("Cycles (x10^9)"), (TableColumn::Cycles, Some(1e9)));
        assert_eq!(means("Threads"), (TableColumn::Threads, None));
        assert_eq!(means("Throughput (GBPS)"), (TableColumn::Throughput, None), "bits or bytes: a question");
    }

    #[test]
    fn a_unit_with_a_word_of_the_whole_or_the_middle() {
        for (text, column) in [
            ("total_gbps", Some(TableColumn::Throughput)),
            ("p50_us", Some(TableColumn::Latency)),
            ("avg (us)", Some(TableColumn::Latency)),
            ("thr_gbps", Some(TableColumn::Throughput)),
            ("total_us", None),
            ("favourite_us", None),
            ("user_ms", None),
        ] {
            assert_eq!(unit_alone(text).map(|named| named.column), column, "{text}");
        }
        assert_eq!(column_of("server_cycles").map(|named| named.column), Some(TableColumn::Cycles));
    }

    #[test]
    fn counters_and_spreads() {
        for (text, column) in [
            ("L1-dcache-load-misses", TableColumn::L1Misses),
            ("l1d_misses", TableColumn::L1Misses),
            ("LLC-load-misses:u", TableColumn::LlcMisses),
            ("LLCMisses", TableColumn::LlcMisses),
            ("cache-misses", TableColumn::CacheMisses),
            ("CPUCycles", TableColumn::Cycles),
            ("cycles:u", TableColumn::Cycles),
            ("ContextSwitches", TableColumn::ContextSwitches),
            ("ctx_switches", TableColumn::ContextSwitches),
            ("latency_p99_us", TableColumn::Spread),
            ("min_us", TableColumn::Spread),
            ("ci95_lo", TableColumn::Spread),
            ("Throughput Std Dev", TableColumn::Spread),
            ("Latency (p99)", TableColumn::Spread),
        ] {
            assert_eq!(column_of(text).map(|n| n.column), Some(column), "{text}");
        }
        #[rustfmt::skip]
        let others = ["favourite colour", "cache miss rate", "LLC miss ratio", "branch-misses", "dTLB-load-misses", "misses/KB"];
        for text in others {
            assert_eq!(column_of(text), None, "{text}");
        }
    }
}
