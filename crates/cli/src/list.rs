//! `list`: everything that can be measured, derived from the registries; available here, or why not.

use crate::args::{Global, ListArgs};
use crate::axes;
use crate::output::{self, Paint, entry};
use anyhow::{Result, anyhow};
use serde::Serialize;
use syscost_core::axis::{Axis, Kind, Point, Value, suggest};
use syscost_core::sample::Metric;
use syscost_experiment::spec::{BUILT_IN, Spec};
use syscost_host::Unavailable;
use syscost_measure::mechanism::{self, About};
use syscost_measure::probe::{self, Probe};
use syscost_measure::receiver;

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
    metrics: Vec<Metric>,
}

#[derive(Serialize)]
struct AxisEntry {
    #[serde(flatten)]
    axis: Axis,
    default: Vec<Value>,
    quick: Vec<Value>,
    /// Empty where the axis takes numbers or text.
    names: Vec<&'static str>,
    unavailable: Vec<UnavailableValue>,
}

#[derive(Serialize)]
struct UnavailableValue {
    value: &'static str,
    #[serde(flatten)]
    why: Unavailable,
}

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
    match &args.probe {
        None if global.json => output::print_json(&listing()?),
        None => output::print(&text(&listing()?, paint)),
        Some(id) => {
            let entry = probe_entry(named(id)?);
            if global.json { output::print_json(&entry) } else { output::print(&probe_text(&entry, paint)) }
        }
    }
}

fn named(id: &str) -> Result<&'static dyn Probe> {
    let ids: Vec<&str> = probe::ALL.iter().map(|p| p.about().id).collect();
    probe::find(id).ok_or_else(|| anyhow!("there is no probe {id:?}: {}", suggest(id, &ids, &[])))
}

fn listing() -> Result<Listing> {
    let experiments = BUILT_IN
        .iter()
        .map(|(name, _)| Ok(Experiment { name: name.to_string(), title: Spec::named(name)?.title }))
        .collect::<Result<_>>()?;
    Ok(Listing {
        version: env!("CARGO_PKG_VERSION"),
        experiments,
        probes: probe::ALL.iter().map(|p| probe_entry(*p)).collect(),
        mechanisms: mechanism::ALL.iter().map(|m| way(m.about(), None, m.available())).collect(),
        receivers: receiver::ALL.iter().map(|r| way(r.about(), Some(r.delivers()), r.available())).collect(),
    })
}

fn way<Facts>(about: About<Facts>, delivers: Option<bool>, available: Result<(), Unavailable>) -> WayEntry {
    let why = available.err();
    let axes = about.axes.iter().map(|axis| axis.id).collect();
    WayEntry { about: about.with(()), delivers, axes, available: why.is_none(), why }
}

fn probe_entry(probe: &dyn Probe) -> ProbeEntry {
    let axes = probe.axes();
    let base = possible_point(probe, &axes);
    let axis_entry = |axis: &Axis| AxisEntry {
        axis: *axis,
        default: axis.default(),
        quick: axis.quick(),
        names: axis.kind.names(),
        unavailable: base.as_ref().map(|base| unavailable(probe, axis, base)).unwrap_or_default(),
    };
    let probe::ProbeAbout { id, title, method, source, .. } = probe.about();
    let axes = axes.iter().map(axis_entry).collect();
    ProbeEntry { id, title, method, source, axes, metrics: probe.metrics() }
}

/// A point that can run here, found by changing one name of the first default point at a time; the
/// first default point where none can.
fn possible_point(probe: &dyn Probe, axes: &[Axis]) -> Option<Point> {
    let mut first = Point::default();
    for axis in axes {
        if probe.applies(axis.id, &first) {
            first.set(axis.id, axis.default().into_iter().next()?);
        }
    }
    let changed = axes.iter().flat_map(|axis| {
        let first = &first;
        axis.kind.names().into_iter().map(move |name| with(first, axis, name))
    });
    let possible = std::iter::once(first.clone()).chain(changed).find(|p| probe.available(p).is_ok());
    Some(possible.unwrap_or(first))
}

/// The names of an axis that cannot run here although the rest of the point could.
fn unavailable(probe: &dyn Probe, axis: &Axis, base: &Point) -> Vec<UnavailableValue> {
    if !matches!(axis.kind, Kind::Name { .. } | Kind::NameOr { .. }) {
        return Vec::new();
    }
    let names = axis.kind.names().into_iter();
    names
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
    text += &format!("\n{} (syscost run NAME, syscost list NAME)\n", paint.bold("Probes"));
    for probe in &listing.probes {
        text += &entry(&format!("  {}", probe.id), 21, probe.title);
    }
    text += &ways("Mechanisms", "how a message is sent", &listing.mechanisms, paint);
    text += &ways("Receivers", "how a stream is received", &listing.receivers, paint);
    text
}

fn probe_text(probe: &ProbeEntry, paint: Paint) -> String {
    let mut text = format!("{}: {}\n", paint.bold(probe.id), probe.title);
    text += &entry("", 2, probe.method);
    text += &entry("", 2, &format!("Source: {}.", probe.source));
    text += &format!("\n{}\n", paint.bold("Axes"));
    for axis in &probe.axes {
        text += &axis_text(axis, paint);
    }
    text += &format!("\n{}\n", paint.bold("Metrics"));
    for metric in &probe.metrics {
        text +=
            &entry(&format!("  {}", metric.id), 20, &format!("{} [{}]", metric.help, metric.unit.symbol()));
    }
    text
}

fn ways(title: &str, what: &str, ways: &[WayEntry], paint: Paint) -> String {
    let mut text = format!("\n{} ({what})\n", paint.bold(title));
    for way in ways {
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
        text += &entry(&format!("  {id}"), 16, &about);
        if let Some(why) = &way.why {
            text += &not_here("", why, paint);
        }
    }
    text
}

fn axis_text(axis: &AxisEntry, paint: Paint) -> String {
    let AxisEntry { axis, default, quick, unavailable, .. } = axis;
    let mut text = entry(&format!("  --{}", axis.flag), 20, axis.help);
    let (default, quick) = (axes::typed(axis, default), axes::typed(axis, quick));
    let quick = if quick == default { String::new() } else { format!("; quick {quick}") };
    text += &entry("", 20, &format!("default {default}{quick}"));
    for UnavailableValue { value, why } in unavailable {
        text += &not_here(value, why, paint);
    }
    text
}

fn not_here(value: &str, why: &Unavailable, paint: Paint) -> String {
    let colon = if value.is_empty() { "not here" } else { " not here" };
    entry("", 20, &format!("{value}{}: {} -> {}", paint.yellow(colon), why.reason, why.remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_core::axis::NameAxis;
    use syscost_core::sample::Better;
    use syscost_core::units::Unit;

    /// A listing that no registry decides: what is tested is how it reads.
    fn fixed() -> Listing {
        let why = || Unavailable {
            reason: "the kernel has no teleport (ENOSYS)".into(),
            remedy: "use a kernel that has".into(),
        };
        let way = |id, aliases, in_default, why: Option<Unavailable>| WayEntry {
            about: About {
                id,
                title: id,
                aliases,
                summary: "one system call for each of the eight fields, so that a line has to be broken",
                source: "",
                in_default,
                ..About::of(())
            },
            delivers: None,
            axes: vec![],
            available: why.is_none(),
            why,
        };
        let axis = AxisEntry {
            axis: NameAxis::new("path").switch().help("where the two ends are"),
            default: vec![Value::text("here"), Value::text("there")],
            quick: vec![Value::text("here")],
            names: vec!["here", "there"],
            unavailable: vec![UnavailableValue { value: "there", why: why() }],
        };
        let metric = |id| {
            let (unit, better) = (Unit::Name, Better::Higher);
            Metric { id, title: "", unit, better, help: "", of: |_, _| None, counted: false, of_times: None }
        };
        Listing {
            version: "0",
            experiments: vec![Experiment { name: "first".into(), title: "What moving costs".into() }],
            probes: vec![ProbeEntry {
                id: "move",
                title: "moving things",
                method: "Things are moved, and the time is read before and after it.",
                source: "",
                axes: vec![axis],
                metrics: vec![metric("speed"), metric("distance")],
            }],
            mechanisms: vec![
                way("walk", &["on-foot"], true, None),
                way("a_mechanism_of_a_long_name", &[], false, None),
                way("beam", &[], true, Some(why())),
            ],
            receivers: vec![
                way("catch", &[], true, None),
                WayEntry { delivers: Some(false), ..way("drop", &[], false, None) },
            ],
        }
    }

    #[test]
    fn a_listing_reads_well() {
        assert_eq!(text(&fixed(), Paint::none()), include_str!("snapshots/list.txt"));
        assert_eq!(probe_text(&fixed().probes[0], Paint::none()), include_str!("snapshots/list-probe.txt"));
    }
}
