//! `list`: everything that can be measured, derived from the registries; available here, or why not.

use super::args::Global;
use super::output::{self, Paint, entry};
use super::{Verdict, axes};
use crate::axis::{Axis, Kind, Point, Value};
use crate::host::Unavailable;
use crate::mechanism::{self, About};
use crate::probe::{self, Probe};
use crate::receiver;
use crate::spec::{BUILT_IN, Spec};
use anyhow::Result;
use serde::Serialize;

/// Hides what this machine allows, so that the text is the same on every machine (for tests and docs).
const MASK: &str = "SYSCOST_LIST_MASK";

#[derive(Serialize)]
struct Listing {
    version: &'static str,
    experiments: Vec<Experiment>,
    probes: Vec<ProbeEntry>,
    mechanisms: Vec<WayEntry>,
    receivers: Vec<WayEntry>,
}

#[derive(Serialize)]
struct Experiment {
    name: String,
    title: String,
}

#[derive(Serialize)]
struct ProbeEntry {
    id: &'static str,
    title: &'static str,
    method: &'static str,
    source: &'static str,
    axes: Vec<AxisEntry>,
    metrics: Vec<MetricEntry>,
}

#[derive(Serialize)]
struct AxisEntry {
    id: &'static str,
    flag: &'static str,
    title: &'static str,
    help: &'static str,
    unit: &'static str,
    default: Vec<Value>,
    quick: Vec<Value>,
    /// Empty where the axis takes numbers or text.
    names: Vec<&'static str>,
    unavailable: Vec<UnavailableValue>,
    #[serde(skip)]
    shown_default: String,
    #[serde(skip)]
    shown_quick: String,
}

#[derive(Serialize)]
struct UnavailableValue {
    value: &'static str,
    #[serde(flatten)]
    why: Unavailable,
}

#[derive(Serialize)]
struct MetricEntry {
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    better: crate::sample::Better,
    help: &'static str,
}

/// A way to send or to receive.
#[derive(Serialize)]
struct WayEntry {
    id: &'static str,
    title: &'static str,
    aliases: &'static [&'static str],
    summary: &'static str,
    source: &'static str,
    in_default: bool,
    axes: Vec<&'static str>,
    available: bool,
    #[serde(flatten)]
    why: Option<Unavailable>,
}

pub fn run(global: &Global) -> Result<Verdict> {
    let listing = listing(std::env::var_os(MASK).is_some())?;
    if global.json {
        output::print_json(&listing)?;
    } else {
        output::print(&text(&listing, Paint::stdout(global.color)))?;
    }
    Ok(Verdict::Good)
}

fn listing(masked: bool) -> Result<Listing> {
    let way = |about: About, axes: &'static [Axis], available: Result<(), Unavailable>| {
        let why = if masked { None } else { available.err() };
        WayEntry {
            id: about.id,
            title: about.title,
            aliases: about.aliases,
            summary: about.summary,
            source: about.source,
            in_default: about.in_default,
            axes: axes.iter().map(|axis| axis.id).collect(),
            available: why.is_none(),
            why,
        }
    };
    let experiments = BUILT_IN
        .iter()
        .map(|(name, _)| Ok(Experiment { name: name.to_string(), title: Spec::named(name)?.title }))
        .collect::<Result<_>>()?;
    Ok(Listing {
        version: env!("CARGO_PKG_VERSION"),
        experiments,
        probes: probe::ALL.iter().map(|p| probe_entry(*p, masked)).collect(),
        mechanisms: mechanism::ALL.iter().map(|m| way(m.about(), m.axes(), m.available())).collect(),
        receivers: receiver::ALL.iter().map(|r| way(r.about(), r.axes(), r.available())).collect(),
    })
}

fn probe_entry(probe: &dyn Probe, masked: bool) -> ProbeEntry {
    let axes = probe.axes();
    let base = if masked { None } else { possible_point(probe, &axes) };
    let axis_entry = |axis: &Axis| AxisEntry {
        id: axis.id,
        flag: axis.flag,
        title: axis.title,
        help: axis.help,
        unit: axis.unit.symbol(),
        default: (axis.default)(),
        quick: (axis.quick)(),
        names: axes::names(axis),
        unavailable: base.as_ref().map(|base| unavailable(probe, axis, base)).unwrap_or_default(),
        shown_default: axes::typed(axis, &(axis.default)()),
        shown_quick: axes::typed(axis, &(axis.quick)()),
    };
    let about = probe.about();
    ProbeEntry {
        id: about.id,
        title: about.title,
        method: about.method,
        source: about.source,
        axes: axes.iter().map(axis_entry).collect(),
        metrics: probe
            .metrics()
            .iter()
            .map(|m| MetricEntry {
                id: m.id,
                title: m.title,
                unit: m.unit.symbol(),
                better: m.better,
                help: m.help,
            })
            .collect(),
    }
}

/// A point that can run here, found by changing one name of the first default point at a time; the
/// first default point where none can.
fn possible_point(probe: &dyn Probe, axes: &[Axis]) -> Option<Point> {
    let mut first = Point::default();
    for axis in axes {
        if probe.applies(axis.id, &first) {
            first.set(axis.id, (axis.default)().into_iter().next()?);
        }
    }
    let changed = axes.iter().flat_map(|axis| {
        let first = &first;
        axes::names(axis).into_iter().map(move |name| with(first, axis, name))
    });
    let possible = std::iter::once(first.clone()).chain(changed).find(|p| probe.available(p).is_ok());
    Some(possible.unwrap_or(first))
}

/// The names of an axis that cannot run here although the rest of the point could.
fn unavailable(probe: &dyn Probe, axis: &Axis, base: &Point) -> Vec<UnavailableValue> {
    if !matches!(axis.kind, Kind::Name { .. }) {
        return Vec::new();
    }
    axes::names(axis)
        .into_iter()
        .filter_map(|name| {
            let why = probe.available(&with(base, axis, name)).err()?;
            Some(UnavailableValue { value: name, why })
        })
        .collect()
}

fn with(point: &Point, axis: &Axis, name: &str) -> Point {
    let mut point = point.clone();
    point.set(axis.id, Value::text(name));
    point
}

fn text(listing: &Listing, paint: Paint) -> String {
    let mut text = paint.bold("Experiments") + " (syscost run NAME)\n";
    for Experiment { name, title } in &listing.experiments {
        text += &entry(&format!("  {name}"), 16, title);
    }
    text += &format!("\n{}\n", paint.bold("Probes"));
    for probe in &listing.probes {
        text += &entry(&format!("  {}", probe.id), 16, &format!("{}. {}", probe.title, probe.method));
    }
    text += &ways("Mechanisms", "how a message is sent", &listing.mechanisms, paint);
    text += &ways("Receivers", "how a stream is received", &listing.receivers, paint);
    for probe in &listing.probes {
        text += &format!("\n{}\n", paint.bold(&format!("Axes of {}", probe.id)));
        for axis in &probe.axes {
            text += &axis_text(axis, paint);
        }
    }
    for probe in &listing.probes {
        let ids: Vec<&str> = probe.metrics.iter().map(|m| m.id).collect();
        text += &format!("\n{}\n", paint.bold(&format!("Metrics of {}", probe.id)));
        text += &entry("", 2, &ids.join(", "));
    }
    text
}

fn ways(title: &str, what: &str, ways: &[WayEntry], paint: Paint) -> String {
    let mut text = format!("\n{} ({what})\n", paint.bold(title));
    for way in ways {
        let mut about = way.summary.to_string();
        let names: Vec<&str> =
            way.aliases.iter().copied().chain((way.title != way.id).then_some(way.title)).collect();
        if let Some(name) = names.first() {
            about += &format!(" ({name})");
        }
        if !way.in_default {
            about += "; not in the default study";
        }
        text += &entry(&format!("  {}", way.id), 16, &about);
        if let Some(why) = &way.why {
            text += &not_here("", why, paint);
        }
    }
    text
}

fn axis_text(axis: &AxisEntry, paint: Paint) -> String {
    let mut text = entry(&format!("  --{}", axis.flag), 20, axis.help);
    let mut default = format!("default {}", axis.shown_default);
    if axis.shown_quick != axis.shown_default {
        default += &format!("; quick {}", axis.shown_quick);
    }
    text += &entry("", 20, &default);
    for UnavailableValue { value, why } in &axis.unavailable {
        text += &not_here(value, why, paint);
    }
    text
}

fn not_here(value: &str, why: &Unavailable, paint: Paint) -> String {
    let colon = if value.is_empty() { "not here" } else { " not here" };
    entry("", 20, &format!("{value}{}: {}. {}", paint.yellow(colon), why.reason, why.remedy))
}
