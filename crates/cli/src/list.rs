//! `list`: everything that can be measured, derived from the registries; available here, or why not.

use crate::args::{Global, ListArgs};
use crate::axes;
use crate::output::{self, Paint, entry};
use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::{Value as Json, json};
use syscost_core::axis::{Axis, Kind, Point, Value};
use syscost_experiment::spec::{BUILT_IN, Spec};
use syscost_host::Unavailable;
use syscost_measure::mechanism::{self, About};
use syscost_measure::probe::{self, Probe};
use syscost_measure::receiver;

/// A way to send or to receive.
#[derive(Serialize)]
struct WayEntry {
    #[serde(flatten)]
    about: About<()>,
    /// Of a receiver: does whoever receives see the data? No: it shows an upper bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    delivers: Option<bool>,
    axes: Vec<&'static str>,
    available: bool,
    #[serde(flatten)]
    why: Option<Unavailable>,
}

pub fn run(args: &ListArgs, global: &Global) -> Result<()> {
    let paint = Paint::stdout(global.color);
    if let Some(probe) = args.name.as_deref().and_then(probe::find) {
        return match global.json {
            true => output::print_json(&probe_document(probe)),
            false => output::print(&probe_text(probe, paint)),
        };
    }
    let named = |(name, _): &(&'static str, _)| Ok((*name, Spec::named(name)?.title));
    let experiments = BUILT_IN.iter().map(named).collect::<Result<Vec<(&str, String)>>>()?;
    let mechanisms: Vec<_> = mechanism::ALL.iter().map(|m| way(m.about(), None, m.available())).collect();
    let receivers: Vec<_> =
        receiver::ALL.iter().map(|r| way(r.about(), Some(r.delivers()), r.available())).collect();
    if let Some(name) = &args.name {
        return one_way(name, mechanisms.iter().chain(&receivers), paint, global);
    }
    if global.json {
        let experiments: Vec<Json> =
            experiments.iter().map(|(name, title)| json!({ "name": name, "title": title })).collect();
        return output::print_json(&json!({
            "version": env!("CARGO_PKG_VERSION"), "experiments": experiments,
            "probes": probe::ALL.iter().map(|probe| probe_document(*probe)).collect::<Vec<_>>(),
            "mechanisms": mechanisms, "receivers": receivers,
        }));
    }
    let mut text = paint.bold("Experiments") + " (syscost run NAME)\n";
    text.extend(experiments.iter().map(|(name, title)| entry(&format!("  {name}"), 16, title)));
    text += &format!("\n{} (syscost run NAME, syscost list NAME)\n", paint.bold("Probes"));
    let probes = probe::ALL.iter().map(|probe| probe.about());
    text.extend(probes.map(|about| entry(&format!("  {}", about.id), 21, about.title)));
    text += &ways("Mechanisms", "how a message is sent", &mechanisms, paint);
    text += &ways("Receivers", "how a stream is received", &receivers, paint);
    output::print(&text)
}

/// A way to send or to receive, by its name or another one of it. Anything else that has a name is listed elsewhere.
fn one_way<'a>(
    name: &str,
    ways: impl Iterator<Item = &'a WayEntry>,
    paint: Paint,
    global: &Global,
) -> Result<()> {
    let ways: Vec<&WayEntry> = ways.collect();
    if let Some(way) = ways.iter().find(|way| way.about.id == name || way.about.aliases.contains(&name)) {
        return match global.json {
            true => output::print_json(way),
            false => output::print(&way_text(way, paint)),
        };
    }
    if BUILT_IN.iter().any(|(known, _)| *known == name) {
        bail!(
            "{name} is an experiment: `syscost plan {name}` shows what it measures, `syscost spec {name}` prints it"
        );
    }
    let probes = probe::ALL.iter().map(|probe| probe.about().id);
    let known: Vec<&str> = probes.chain(ways.iter().map(|way| way.about.id)).collect();
    bail!("there is no probe, mechanism or receiver {name:?}: {}", Spec::nearest(name, &known))
}

fn way<Facts>(about: About<Facts>, delivers: Option<bool>, available: Result<(), Unavailable>) -> WayEntry {
    let why = available.err();
    let axes = about.axes.iter().map(|axis| axis.id).collect();
    WayEntry { about: about.with(()), delivers, axes, available: why.is_none(), why }
}

fn probe_document(probe: &dyn Probe) -> Json {
    let axes = probe.axes();
    let base = possible_point(probe, &axes);
    let axis_document = |axis: &Axis| {
        let missing = unavailable(probe, axis, &base).into_iter();
        let missing =
            missing.map(|(value, why)| json!({ "value": value, "reason": why.reason, "remedy": why.remedy }));
        let mut document = json!(axis);
        document["default"] = json!(axis.default());
        document["quick"] = json!(axis.quick());
        document["names"] = json!(axis.kind.names());
        document["unavailable"] = missing.collect();
        document
    };
    let probe::ProbeAbout { id, title, method, source, .. } = probe.about();
    json!({
        "id": id, "title": title, "method": method, "source": source,
        "axes": axes.iter().map(axis_document).collect::<Vec<_>>(), "metrics": probe.metrics(),
    })
}

/// A point that can run here, found by changing one name of the first default point at a time; the
/// first default point where none can.
fn possible_point(probe: &dyn Probe, axes: &[Axis]) -> Point {
    let mut first = Point::default();
    for axis in axes {
        let value = axis.default().into_iter().next().filter(|_| probe.applies(axis.id, &first));
        value.into_iter().for_each(|value| first.set(axis.id, value));
    }
    let changed = axes.iter().flat_map(|axis| {
        let first = &first;
        axis.kind.names().into_iter().map(move |name| with(first, axis, name))
    });
    let possible = std::iter::once(first.clone()).chain(changed).find(|p| probe.available(p).is_ok());
    possible.unwrap_or(first)
}

/// The names of an axis that cannot run here although the rest of the point could, and why.
fn unavailable(probe: &dyn Probe, axis: &Axis, base: &Point) -> Vec<(&'static str, Unavailable)> {
    if !matches!(axis.kind, Kind::Name { .. } | Kind::NameOr { .. }) {
        return Vec::new();
    }
    let names = axis.kind.names().into_iter();
    names.filter_map(|name| Some((name, probe.available(&with(base, axis, name)).err()?))).collect()
}

fn with(point: &Point, axis: &Axis, name: &str) -> Point {
    let mut point = point.clone();
    point.set(axis.id, Value::text(name));
    point
}

fn probe_text(probe: &dyn Probe, paint: Paint) -> String {
    let about = probe.about();
    let mut text = format!("{}: {}\n", paint.bold(about.id), about.title);
    text += &entry("", 2, about.method);
    text += &entry("", 2, &format!("Source: {}.", about.source));
    text += &format!("\n{}\n", paint.bold("Axes"));
    let axes = probe.axes();
    let base = possible_point(probe, &axes);
    for axis in &axes {
        text += &entry(&format!("  --{}", axis.flag), 20, axis.help);
        let (default, quick) = (axes::typed(axis, &axis.default()), axes::typed(axis, &axis.quick()));
        let quick = if quick == default { String::new() } else { format!("; quick {quick}") };
        text += &entry("", 20, &format!("default {default}{quick}"));
        let missing = unavailable(probe, axis, &base).into_iter();
        text.extend(missing.map(|(value, why)| not_here(value, &why, paint)));
    }
    text += &format!("\n{}\n", paint.bold("Metrics"));
    for metric in probe.metrics() {
        let help = format!("{} [{}]", metric.help, metric.unit.symbol());
        text += &entry(&format!("  {}", metric.id), 20, &help);
    }
    text
}

fn ways(title: &str, what: &str, ways: &[WayEntry], paint: Paint) -> String {
    let mut text = format!("\n{} ({what})\n", paint.bold(title));
    text.extend(ways.iter().map(|way| way_text(way, paint)));
    text
}

fn way_text(way: &WayEntry, paint: Paint) -> String {
    let About { id, title, aliases, summary, in_default, .. } = way.about;
    let mut about = summary.to_string();
    if let Some(name) = aliases.first().copied().or((title != id).then_some(title)) {
        about += &format!(" ({name})");
    }
    if way.delivers == Some(false) {
        about += "; delivers nothing to the reader: an upper bound";
    }
    if !in_default {
        about += "; not in the default study";
    }
    let mut text = entry(&format!("  {id}"), 16, &about);
    if let Some(why) = &way.why {
        text += &not_here("", why, paint);
    }
    text
}

fn not_here(value: &str, why: &Unavailable, paint: Paint) -> String {
    let colon = if value.is_empty() { "not here" } else { " not here" };
    entry("", 20, &format!("{value}{}: {} -> {}", paint.yellow(colon), why.reason, why.remedy))
}
