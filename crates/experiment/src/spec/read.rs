//! Reads a spec from TOML, with the place of each mistake and the nearest valid choice.
//!
//! Walked by hand rather than through serde: the keys of a probe are its axes, which only the
//! probe knows, and every message names a line.

use super::{ProbeSpec, Refine, Spec, SpecError, distinct, nanoseconds};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use syscost_core::axis::{Axis, Kind, Value, suggest};
use syscost_core::units::{parse_count, parse_duration, parse_fraction};
use syscost_host::remote::transport::rsh;
use syscost_measure::probe::{self, Probe, Timing};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

type ParsedItem<'a> = Spanned<DeValue<'a>>;

const KEYS: &[&str] = &[
    "name",
    "title",
    "precision",
    "confidence",
    "min_rounds",
    "max_rounds",
    "time_limit",
    "seed",
    "quick",
    "rsh",
    "timing",
    "refine",
    "suite",
    "probe",
];
/// Of a probe: it is measured beside the question, in a whole study only.
const RULER: &str = "ruler";
/// Of a probe: axes that `--quick` keeps whole.
const KEPT: &str = "keep";
const TIMING_KEYS: &[&str] = &["warmup", "window", "windows"];
const REFINE_KEYS: &[&str] = &["axes", "stages", "most_cases", "time_share"];

/// The text and its name: what turns a span into a place.
struct SpecSource<'a> {
    text: &'a str,
    origin: &'a str,
}

impl SpecSource<'_> {
    fn error(&self, span: Range<usize>, message: impl Into<String>) -> SpecError {
        let mut start = span.start.min(self.text.len());
        while !self.text.is_char_boundary(start) {
            start -= 1;
        }
        let before = &self.text[..start];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        SpecError::At {
            origin: self.origin.to_string(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message: message.into(),
        }
    }

    fn unknown(
        &self,
        key: &Spanned<impl AsRef<str>>,
        of: &str,
        valid: &[&str],
        aliases: &[(&str, &str)],
    ) -> SpecError {
        let name = key.get_ref().as_ref();
        self.error(key.span(), format!("{of} has no key {name:?}: {}", suggest(name, valid, aliases)))
    }

    fn table<'a, 'i>(&self, key: &str, item: &'a ParsedItem<'i>) -> Result<&'a DeTable<'i>, SpecError> {
        let wanted = || format!("{key} must be a table, written as [{key}]");
        item.get_ref().as_table().ok_or_else(|| self.error(item.span(), wanted()))
    }

    fn string(&self, key: &str, item: &ParsedItem<'_>) -> Result<String, SpecError> {
        let wanted = || format!("{key} must be text in quotes");
        Ok(item.get_ref().as_str().ok_or_else(|| self.error(item.span(), wanted()))?.to_string())
    }

    fn boolean(&self, key: &str, item: &ParsedItem<'_>) -> Result<bool, SpecError> {
        let wanted = || format!("{key} must be true or false");
        item.get_ref().as_bool().ok_or_else(|| self.error(item.span(), wanted()))
    }

    fn strings(&self, key: &str, item: &ParsedItem<'_>) -> Result<Vec<String>, SpecError> {
        let wanted = || format!("{key} must be a list, such as [\"size\"]");
        let list = item.get_ref().as_array().ok_or_else(|| self.error(item.span(), wanted()))?;
        list.iter().map(|entry| self.string(key, entry)).collect()
    }

    /// A number or a word as a person would type it on the command line.
    fn scalar(&self, key: &str, item: &ParsedItem<'_>) -> Result<String, SpecError> {
        match item.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(n) => match i128::from_str_radix(n.as_str(), n.radix()) {
                Ok(n) => Ok(n.to_string()),
                Err(_) => Err(self.error(item.span(), format!("{key}: {n} is too large"))),
            },
            DeValue::Float(n) => Ok(n.to_string()),
            DeValue::Boolean(b) => Ok(b.to_string()),
            DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
                Err(self.error(item.span(), format!("{key} must be a number or text in quotes")))
            }
        }
    }

    fn parsed<T, E: std::fmt::Display>(
        &self,
        key: &str,
        item: &ParsedItem<'_>,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<T, SpecError> {
        parse(&self.scalar(key, item)?).map_err(|e| self.error(item.span(), format!("{key}: {e}")))
    }

    fn whole(&self, key: &str, item: &ParsedItem<'_>) -> Result<u32, SpecError> {
        self.parsed(key, item, |text| {
            let number = parse_count(text).and_then(|number| number.try_into().ok());
            number.ok_or_else(|| format!("'{text}' is not a whole number from 0 to {}", u32::MAX))
        })
    }

    fn duration_ns(&self, key: &str, item: &ParsedItem<'_>) -> Result<u64, SpecError> {
        self.parsed(key, item, parse_duration).map(nanoseconds)
    }
}

pub fn spec(text: &str, origin: &str) -> Result<Spec, SpecError> {
    let source = SpecSource { text, origin };
    let document = DeTable::parse(text)
        .map_err(|e| source.error(e.span().unwrap_or(0..0), format!("this is not TOML: {}", e.message())))?;
    let stem = Path::new(origin).file_stem().and_then(|s| s.to_str()).unwrap_or("spec");
    let mut spec = Spec::empty(stem);
    // First, because it sets the time limit that a key of its own may replace.
    let quick = document.get_ref().iter().find(|(key, _)| key.get_ref() == "quick");
    if quick.map_or(Ok(false), |(_, item)| source.boolean("quick", item))? {
        spec.set_quick();
    }
    for (key, item) in document.get_ref() {
        let name = key.get_ref();
        // On the command line it is --time-limit.
        let plain = name.replace('-', "_");
        set(&source, &mut spec, &plain, item).unwrap_or_else(|| match named(&all_axes(), name) {
            Some(_) => {
                let message = format!("{name} is an axis of a probe: write it below [[probe]] and its id");
                Err(source.error(key.span(), message))
            }
            None => Err(source.unknown(key, "a spec", KEYS, &[("probes", "probe")])),
        })?;
    }
    spec.validate().map_err(|e| source.error(place_of(&e, document.get_ref()), e.to_string()))?;
    Ok(spec)
}

/// Every probe of a collection, with its default axes.
fn suite(source: &SpecSource<'_>, key: &str, item: &ParsedItem<'_>) -> Result<Vec<ProbeSpec>, SpecError> {
    let name = source.string(key, item)?;
    let members = probe::ALL.iter().filter(|p| p.suite() == Some(name.as_str()));
    let probes: Vec<ProbeSpec> = members.map(|p| ProbeSpec::of(p.about().id)).collect();
    if probes.is_empty() {
        let mut names: Vec<&str> = probe::ALL.iter().filter_map(|p| p.suite()).collect();
        names.dedup();
        let message = format!("there is no suite {name:?}: {}", suggest(&name, &names, &[]));
        return Err(source.error(item.span(), message));
    }
    Ok(probes)
}

/// Members of a suite in its order, each as its own entries have it where it has any; then probes of no suite.
fn in_order(members: Vec<ProbeSpec>, named: Vec<ProbeSpec>) -> Vec<ProbeSpec> {
    let is_member = |own: &ProbeSpec| members.iter().any(|member| member.probe == own.probe);
    let (own, others): (Vec<ProbeSpec>, Vec<ProbeSpec>) = named.into_iter().partition(is_member);
    let mut probes = Vec::new();
    for member in members {
        let entries: Vec<&ProbeSpec> = own.iter().filter(|own| own.probe == member.probe).collect();
        if entries.is_empty() {
            probes.push(member);
        } else {
            probes.extend(entries.into_iter().cloned());
        }
    }
    probes.extend(others);
    probes
}

/// One key of the document; `None`: there is no such key.
fn set(
    source: &SpecSource<'_>,
    spec: &mut Spec,
    key: &str,
    item: &ParsedItem<'_>,
) -> Option<Result<(), SpecError>> {
    let result = match key {
        "name" => source.string(key, item).map(|v| spec.name = v),
        "title" => source.string(key, item).map(|v| spec.title = v),
        "precision" => source.parsed(key, item, parse_fraction).map(|v| spec.precision = v),
        "confidence" => source.parsed(key, item, parse_fraction).map(|v| spec.confidence = v),
        "min_rounds" => source.whole(key, item).map(|v| spec.min_rounds = v),
        "max_rounds" => source.whole(key, item).map(|v| spec.max_rounds = v),
        "time_limit" => source.duration_ns(key, item).map(|v| spec.time_limit_ns = v),
        "seed" => source
            .parsed(key, item, |t| t.parse().map_err(|_| format!("'{t}' is not a whole number")))
            .map(|v| spec.seed = v),
        "quick" => Ok(()),
        "rsh" => {
            source.parsed(key, item, |t| rsh::check(t).map(|()| t.to_string())).map(|v| spec.rsh = Some(v))
        }
        "timing" => timing(source, item, spec.timing).map(|v| spec.timing = v),
        "refine" => refine(source, item).map(|v| spec.refine = Some(v)),
        "suite" => suite(source, key, item).map(|members| {
            let named = std::mem::take(&mut spec.probes);
            spec.probes = in_order(members, named);
        }),
        "probe" => probes(source, item).map(|named| {
            let members = std::mem::take(&mut spec.probes);
            spec.probes = in_order(members, named);
        }),
        _ => return None,
    };
    Some(result)
}

fn timing(source: &SpecSource<'_>, item: &ParsedItem<'_>, base: Timing) -> Result<Timing, SpecError> {
    let mut timing = base;
    for (key, item) in source.table("timing", item)? {
        match key.get_ref().as_ref() {
            "warmup" => timing.warmup_ns = source.duration_ns("warmup", item)?,
            "window" => timing.window_ns = source.duration_ns("window", item)?,
            "windows" => timing.windows = source.whole("windows", item)?,
            _ => return Err(source.unknown(key, "[timing]", TIMING_KEYS, &[])),
        }
    }
    Ok(timing)
}

fn refine(source: &SpecSource<'_>, item: &ParsedItem<'_>) -> Result<Refine, SpecError> {
    let mut refine = Refine::default();
    for (key, item) in source.table("refine", item)? {
        match key.get_ref().as_ref() {
            "axes" => {
                let axes = all_axes();
                let id = |name: String| named(&axes, &name).map_or(name, |axis| axis.id.to_string());
                refine.axes = source.strings("axes", item)?.into_iter().map(id).collect();
            }
            "stages" => refine.stages = source.whole("stages", item)?,
            "most_cases" => refine.most_cases = source.whole("most_cases", item)?,
            "time_share" => refine.time_share = source.parsed("time_share", item, parse_fraction)?,
            _ => return Err(source.unknown(key, "[refine]", REFINE_KEYS, &[])),
        }
    }
    Ok(refine)
}

fn probes(source: &SpecSource<'_>, item: &ParsedItem<'_>) -> Result<Vec<ProbeSpec>, SpecError> {
    let wanted = "probe must be a list of tables, each written as [[probe]]";
    let list = item.get_ref().as_array().ok_or_else(|| source.error(item.span(), wanted))?;
    list.iter().map(|entry| one_probe(source, entry)).collect()
}

fn one_probe(source: &SpecSource<'_>, item: &ParsedItem<'_>) -> Result<ProbeSpec, SpecError> {
    let table = source.table("[probe]", item)?;
    let ids: Vec<&str> = probe::ALL.iter().map(|p| p.about().id).collect();
    let (_, id_item) = table.iter().find(|(key, _)| key.get_ref() == "id").ok_or_else(|| {
        source.error(item.span(), format!("[[probe]] needs an id: valid are {}", ids.join(", ")))
    })?;
    let id = source.string("id", id_item)?;
    let probe = probe::find(&id).ok_or_else(|| {
        source.error(id_item.span(), format!("there is no probe {id:?}: {}", suggest(&id, &ids, &[])))
    })?;
    let mut entry = ProbeSpec::of(&id);
    for (key, item) in table.iter().filter(|(key, _)| key.get_ref() != "id") {
        if key.get_ref() == RULER {
            entry.ruler = source.boolean(RULER, item)?;
            continue;
        }
        if key.get_ref() == KEPT {
            entry.kept = kept(source, probe, item)?;
            continue;
        }
        let (id, values) = axis_values(source, probe, key, item)?;
        if entry.axes.insert(id.to_string(), values).is_some() {
            let message = format!("{} is there twice: {id} is the same axis", key.get_ref());
            return Err(source.error(key.span(), message));
        }
    }
    Ok(entry)
}

fn kept(
    source: &SpecSource<'_>,
    probe: &dyn Probe,
    item: &ParsedItem<'_>,
) -> Result<BTreeSet<String>, SpecError> {
    let axes = probe.axes();
    let flags: Vec<&str> = axes.iter().map(|axis| axis.flag).collect();
    let known = |name: &String| {
        let id = named(&axes, name).map(|axis| axis.id.to_string());
        let unknown = || format!("{KEPT}: no axis {name:?}: {}", suggest(name, &flags, &[]));
        id.ok_or_else(|| source.error(item.span(), unknown()))
    };
    source.strings(KEPT, item)?.iter().map(known).collect()
}

fn axis_values(
    source: &SpecSource<'_>,
    probe: &dyn Probe,
    key: &Spanned<std::borrow::Cow<'_, str>>,
    item: &ParsedItem<'_>,
) -> Result<(&'static str, Vec<Value>), SpecError> {
    let axes = probe.axes();
    let name = key.get_ref().as_ref();
    let Some(axis) = named(&axes, name) else {
        let flags: Vec<&str> = ["id", RULER, KEPT].into_iter().chain(axes.iter().map(|a| a.flag)).collect();
        let ids: Vec<(&str, &str)> = axes.iter().map(|a| (a.id, a.flag)).collect();
        return Err(source.unknown(key, &format!("probe {:?}", probe.about().id), &flags, &ids));
    };
    // One value may hold commas: in a list each value has quotes of its own.
    let listed = matches!(axis.kind, Kind::Int { .. } | Kind::Bytes { .. } | Kind::Name { .. });
    let one = |item: &ParsedItem<'_>| {
        let text = source.scalar(name, item)?;
        let values = if listed { axis.parse_values(&text) } else { axis.parse_all(&text) };
        values.map_err(|e| source.error(item.span(), format!("{name} {:?}: {}", e.text, e.reason)))
    };
    let values = match item.get_ref() {
        DeValue::Array(list) => list.iter().map(one).collect::<Result<Vec<_>, _>>()?.concat(),
        _ => one(item)?,
    };
    if values.is_empty() {
        return Err(source.error(item.span(), format!("{name} needs at least one value")));
    }
    Ok((axis.id, distinct(values)))
}

/// The axis of this flag, or of this column of a table; `-` and `_` are one.
fn named<'a>(axes: &'a [Axis], name: &str) -> Option<&'a Axis> {
    let wanted = name.replace('-', "_");
    axes.iter().find(|axis| axis.id == wanted || axis.flag.replace('-', "_") == wanted)
}

/// The axes of every probe.
fn all_axes() -> Vec<Axis> {
    probe::ALL.iter().flat_map(|probe| probe.axes()).collect()
}

/// Where a refusal of the whole spec is best shown: the key that its message names, if present.
fn place_of(error: &SpecError, document: &DeTable<'_>) -> Range<usize> {
    let message = error.to_string();
    let names = |key: &str| message.contains(key) || message.contains(&key.replace('_', " "));
    document.iter().find(|(key, _)| names(key.get_ref())).map_or(0..0, |(key, _)| key.span())
}
