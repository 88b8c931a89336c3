//! A spec as TOML. Sizes are written as people type them (`"64K"`), durations exactly.

use super::{ProbeSpec, Spec, axis_of};
use std::fmt::Write;
use syscost_core::axis::{Axis, Kind, Value};
use syscost_core::units::{parse_fraction, short_bytes};
use syscost_measure::own::OwnObject;

pub fn toml(spec: &Spec) -> String {
    let known = |object: &OwnObject| format!("# with --own {}\n", object.asked());
    let mut text: String = spec.own.iter().map(known).collect();
    let mut line = |key: &str, value: String| {
        // A key in brackets begins a table.
        let _ =
            if key.starts_with('[') { writeln!(text, "\n{key}") } else { writeln!(text, "{key} = {value}") };
    };
    line("name", quoted(&spec.name));
    line("title", quoted(&spec.title));
    line("precision", fraction(spec.precision));
    line("confidence", fraction(spec.confidence));
    line("min_rounds", spec.min_rounds.to_string());
    line("max_rounds", spec.max_rounds.to_string());
    line("time_limit", duration(spec.time_limit_ns));
    // TOML integers end at 2^63 - 1.
    line("seed", quoted_unless(i64::try_from(spec.seed).is_ok(), spec.seed));
    if spec.quick {
        line("quick", "true".into());
    }
    if let Some(rsh) = &spec.rsh {
        line("rsh", quoted(rsh));
    }
    line("[timing]", String::new());
    line("warmup", duration(spec.timing.warmup_ns));
    line("window", duration(spec.timing.window_ns));
    line("windows", spec.timing.windows.to_string());
    if let Some(refine) = &spec.refine {
        let axes: Vec<String> = refine.axes.iter().map(|id| quoted(flag_in(spec, id))).collect();
        line("[refine]", String::new());
        line("axes", format!("[{}]", axes.join(", ")));
        line("stages", refine.stages.to_string());
        line("most_cases", refine.most_cases.to_string());
        line("time_share", fraction(refine.time_share));
    }
    for entry in &spec.probes {
        probe(&mut text, entry);
    }
    text
}

/// A probe alone: what may be varied is there to be uncommented.
pub fn of_probe(spec: &Spec, axes: &[Axis]) -> String {
    let mut text = format!("name = {}\ntitle = {}\n", quoted(&spec.name), quoted(&spec.title));
    spec.probes.iter().for_each(|entry| probe(&mut text, entry));
    for axis in axes {
        let values = listed(&axis.default(), matches!(axis.kind, Kind::Bytes { .. }));
        writeln!(text, "\n# {}\n# {} = {values}", axis.help, axis.flag).expect("writing to a String");
    }
    text
}

fn listed(values: &[Value], bytes: bool) -> String {
    let values: Vec<String> = values.iter().map(|v| value(v, bytes)).collect();
    if let [one] = values.as_slice() { one.clone() } else { format!("[{}]", values.join(", ")) }
}

fn probe(text: &mut String, entry: &ProbeSpec) {
    write!(text, "\n[[probe]]\nid = {}\n", quoted(&entry.probe)).expect("writing to a String");
    if entry.ruler {
        writeln!(text, "ruler = true").expect("writing to a String");
    }
    if !entry.kept.is_empty() {
        let kept: Vec<String> = entry.kept.iter().map(|id| quoted(flag(&entry.probe, id))).collect();
        writeln!(text, "keep = [{}]", kept.join(", ")).expect("writing to a String");
    }
    for (id, values) in &entry.axes {
        let bytes = axis_of(&entry.probe, |axis| axis.id == id)
            .is_some_and(|axis| matches!(axis.kind, Kind::Bytes { .. }));
        let values = listed(values, bytes);
        writeln!(text, "{} = {values}", flag(&entry.probe, id)).expect("writing to a String");
    }
}

/// An axis as the command line calls it; of a probe that this version does not know, as the record does.
fn flag<'a>(probe: &str, id: &'a str) -> &'a str {
    axis_of(probe, |axis| axis.id == id).map_or(id, |axis| axis.flag)
}

/// The same of an axis that any probe of the spec has.
fn flag_in<'a>(spec: &Spec, id: &'a str) -> &'a str {
    spec.probes.iter().map(|entry| flag(&entry.probe, id)).find(|flag| *flag != id).unwrap_or(id)
}

fn value(value: &Value, bytes: bool) -> String {
    match value {
        Value::Int(n) if bytes => {
            let short = short_bytes(*n);
            quoted_unless(short.bytes().all(|b| b.is_ascii_digit()), short)
        }
        Value::Int(n) => n.to_string(),
        Value::Text(text) => quoted(text),
    }
}

/// As a percentage where that reads back exactly, else as the number.
fn fraction(value: f64) -> String {
    let percent = format!("{}%", value * 100.0);
    if parse_fraction(&percent) == Ok(value) { quoted(&percent) } else { format!("{value:?}") }
}

/// In the largest unit that keeps it whole.
fn duration(ns: u64) -> String {
    let (scale, unit) = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")]
        .into_iter()
        .find(|(scale, _)| ns % *scale == 0)
        .unwrap_or((1, "ns"));
    quoted(&format!("{}{unit}", ns / scale))
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_string()).to_string()
}

fn quoted_unless(plain: bool, text: impl ToString) -> String {
    if plain { text.to_string() } else { quoted(&text.to_string()) }
}
