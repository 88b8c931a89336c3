//! Invariants of the visible lists: whatever is added to one has to keep them.

use std::collections::BTreeSet;
use syscost_core::axis::{Axis, Kind, Point, Value};
use syscost_experiment::spec::{BUILT_IN, Spec};
use syscost_measure::mechanism::{self, About};
use syscost_measure::{probe, receiver};

fn snake_case(id: &str) -> bool {
    id.starts_with(|c: char| c.is_ascii_lowercase())
        && id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !id.ends_with('_')
        && !id.contains("__")
}

fn kebab_case(flag: &str) -> bool {
    snake_case(&flag.replace('-', "_")) && !flag.contains('_')
}

/// Panics with the first repetition.
fn unique<'a>(what: &str, names: impl IntoIterator<Item = &'a str>) {
    let mut seen = BTreeSet::new();
    for name in names {
        assert!(seen.insert(name), "{what}: {name:?} appears twice");
    }
}

/// A room, what its entries are, and their axes.
type Ways = (&'static str, Vec<About<()>>, Vec<Axis>);

fn ways() -> Vec<Ways> {
    vec![
        (
            "mechanism",
            mechanism::ALL.iter().map(|m| m.about().with(())).collect(),
            mechanism::ALL.iter().flat_map(|m| m.about().axes).copied().collect(),
        ),
        (
            "receiver",
            receiver::ALL.iter().map(|r| r.about().with(())).collect(),
            receiver::ALL.iter().flat_map(|r| r.about().axes).copied().collect(),
        ),
    ]
}

#[test]
fn ids_are_unique_snake_case_and_found() {
    for (room, abouts, _) in ways() {
        unique(room, abouts.iter().map(|a| a.id));
        assert!(abouts.iter().all(|a| snake_case(a.id)), "{room}");
    }
    unique("probe", probe::ALL.iter().map(|p| p.about().id));
    for probe in probe::ALL {
        let id = probe.about().id;
        assert!(snake_case(id), "{id}");
        assert_eq!(probe::find(id).map(|p| p.about().title), Some(probe.about().title));
    }
    for mechanism in mechanism::ALL {
        let about = mechanism.about();
        assert_eq!(mechanism::find(about.id).map(|m| m.about().id), Some(about.id));
    }
    for receiver in receiver::ALL {
        let about = receiver.about();
        assert_eq!(receiver::find(about.id).map(|r| r.about().id), Some(about.id));
    }
}

#[test]
fn aliases_are_unique_and_no_ids() {
    for (room, abouts, _) in ways() {
        let names = abouts.iter().flat_map(|a| a.aliases.iter().copied().chain([a.id]));
        let folded: Vec<String> = names.map(|n| n.replace('-', "_")).collect();
        unique(room, folded.iter().map(String::as_str));
    }
}

#[test]
fn axes_are_unique_and_their_defaults_are_valid() {
    for probe in probe::ALL {
        let axes = probe.axes();
        let id = probe.about().id;
        unique(id, axes.iter().map(|a| a.id));
        unique(id, axes.iter().map(|a| a.flag));
        for axis in &axes {
            assert!(snake_case(axis.id) && kebab_case(axis.flag), "{id} {}", axis.id);
            assert!(!axis.title.is_empty() && !axis.help.is_empty(), "{id} {}", axis.id);
            assert!(axis.id != "id", "{id}: the key of a probe in a spec");
            check_values(id, axis, "default", &axis.default());
            check_values(id, axis, "quick", &axis.quick());
        }
    }
}

/// There is at least one, each parses back to itself from how a person and a spec write it, and
/// shows as something.
fn check_values(probe: &str, axis: &Axis, which: &str, values: &[Value]) {
    let place = format!("{probe} {} {which}", axis.id);
    assert!(!values.is_empty(), "{place}");
    let distinct: BTreeSet<&Value> = values.iter().collect();
    assert_eq!(distinct.len(), values.len(), "{place}: repeated");
    for value in values {
        assert_eq!(axis.parse(&value.to_string()).as_ref(), Ok(value), "{place}");
        assert_eq!(axis.parse(&axis.show(value)).as_ref(), Ok(value), "{place}");
        assert!(!axis.show(value).is_empty(), "{place}");
    }
}

#[test]
fn the_axes_of_ways_belong_to_a_probe_and_agree() {
    let known: Vec<Axis> = probe::ALL.iter().flat_map(|p| p.axes()).collect();
    for (room, _, axes) in ways() {
        for axis in axes {
            let same = known.iter().find(|k| k.id == axis.id);
            let same = same.unwrap_or_else(|| panic!("{room}: axis {} is in no probe", axis.id));
            assert_eq!((same.flag, same.unit, same.help), (axis.flag, axis.unit, axis.help), "{}", axis.id);
        }
    }
}

#[test]
fn names_of_an_axis_and_its_aliases_are_unique() {
    for probe in probe::ALL {
        for axis in probe.axes() {
            let (Kind::Name { names, aliases } | Kind::NameOr { names, aliases, .. }) = axis.kind else {
                continue;
            };
            unique(axis.id, names().into_iter().chain(aliases().iter().map(|(alias, _)| *alias)));
            for (alias, name) in aliases() {
                assert!(names().contains(&name), "{}: {alias} = {name}", axis.id);
                assert_eq!(axis.parse(alias), Ok(Value::text(name)));
            }
        }
    }
}

#[test]
fn quantities_and_metrics_are_unique_and_described() {
    for probe in probe::ALL {
        let id = probe.about().id;
        let (quantities, metrics, axes) = (probe.quantities(), probe.metrics(), probe.axes());
        unique(id, quantities.iter().map(|q| q.id));
        unique(id, metrics.iter().map(|m| m.id));
        assert!(!metrics.is_empty(), "{id}");
        for quantity in &quantities {
            assert!(snake_case(quantity.id) && !quantity.help.is_empty(), "{id} {}", quantity.id);
            // Both are columns of samples.csv or results.csv.
            assert!(!axes.iter().any(|a| a.id == quantity.id), "{id} {}", quantity.id);
        }
        for metric in &metrics {
            assert!(snake_case(metric.id), "{id} {}", metric.id);
            assert!(!metric.title.is_empty() && !metric.help.is_empty(), "{id} {}", metric.id);
        }
    }
}

#[test]
fn a_metric_of_nothing_is_not_a_number_out_of_nowhere() {
    let nothing = syscost_core::sample::Sample::default();
    for probe in probe::ALL {
        for metric in probe.metrics() {
            assert_eq!((metric.of)(&nothing, &Point::default()), None, "{} {}", probe.about().id, metric.id);
        }
    }
}

#[test]
fn decisive_metrics_exist() {
    for probe in probe::ALL {
        for id in probe.decisive() {
            assert!(probe.metrics().iter().any(|m| m.id == *id), "{} {id}", probe.about().id);
        }
    }
}

#[test]
fn built_in_experiments_are_unique_and_no_probe_ids() {
    unique("experiments", BUILT_IN.iter().map(|(name, _)| *name));
    for (name, _) in BUILT_IN {
        assert!(probe::find(name).is_none(), "{name}");
        assert!(Spec::named(name).is_ok(), "{name}");
    }
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/experiment/specs");
    for entry in std::fs::read_dir(root).expect("specs/") {
        let path = entry.expect("readable").path();
        let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default().to_string();
        assert!(BUILT_IN.iter().any(|(name, _)| *name == stem), "specs/{stem}.toml is not in the list");
    }
}
