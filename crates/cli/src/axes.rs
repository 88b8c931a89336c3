//! Flags for the axes, generated from the probes: a new axis is a flag, a completion and a line of
//! the man page without an edit here.

use crate::output::roomy;
use anyhow::Result;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::ffi::OsStr;
use syscost_core::axis::{Axis, Kind, Value};
use syscost_core::units::short_bytes;
use syscost_experiment::spec::Spec;
use syscost_measure::probe;

/// Every flag once (probes may share one), with the probe that names it first.
pub fn flags() -> Vec<(&'static str, Axis)> {
    let mut flags: Vec<(&'static str, Axis)> = Vec::new();
    for probe in probe::ALL {
        for axis in probe.axes() {
            if !flags.iter().any(|(_, known)| known.flag == axis.flag) {
                flags.push((probe.about().id, axis));
            }
        }
    }
    flags
}

/// The command with one flag per axis.
pub fn add(mut command: Command) -> Command {
    for (probe, axis) in flags() {
        let argument = Arg::new(axis.flag)
            .long(axis.flag)
            .value_name(value_name(&axis))
            .action(ArgAction::Append)
            .value_parser(AxisNames(axis.kind.names()))
            .hide_possible_values(true)
            .help(help(&axis))
            .help_heading(format!("Axes of {probe} (values separated by commas)"));
        command = command.arg(argument);
    }
    command
}

/// Moves the values that were given into the spec.
pub fn apply(matches: &ArgMatches, spec: &mut Spec) -> Result<()> {
    for (_, axis) in flags() {
        if let Some(texts) = matches.get_many::<String>(axis.flag) {
            let texts: Vec<&str> = texts.map(String::as_str).collect();
            spec.set_axis(axis.flag, &texts)?;
        }
    }
    Ok(())
}

/// The flags that were given.
pub fn given(matches: &ArgMatches) -> impl Iterator<Item = &'static str> {
    flags().into_iter().map(|(_, axis)| axis.flag).filter(|flag| matches.contains_id(flag))
}

/// Were any given?
pub fn any(matches: &ArgMatches) -> Option<&'static str> {
    given(matches).next()
}

/// The values of an axis as a person types them: `64,256,1K`.
pub fn typed(axis: &Axis, values: &[Value]) -> String {
    let one = |value: &Value| match (axis.kind, value.as_int()) {
        (Kind::Bytes { .. }, Some(bytes)) => short_bytes(bytes),
        _ => value.to_string(),
    };
    values.iter().map(one).collect::<Vec<_>>().join(",")
}

fn value_name(axis: &Axis) -> &'static str {
    match axis.kind {
        Kind::Bytes { .. } => "BYTES,..",
        Kind::Int { .. } => "N,..",
        Kind::Switch => "on|off",
        Kind::Name { .. } | Kind::NameOr { .. } => "NAME,..",
        Kind::Text { .. } => "TEXT",
    }
}

/// What it is, what it takes, and its default.
fn help(axis: &Axis) -> String {
    // A flag that is its own title needs it once.
    let titled = axis.title.to_lowercase().replace(' ', "-") == axis.flag;
    let mut text = if titled { axis.help.to_string() } else { format!("{}: {}", axis.title, axis.help) };
    if let Kind::Name { names, aliases } | Kind::NameOr { names, aliases, .. } = axis.kind {
        text += &format!(" [{}", names().join(", "));
        let aliases: Vec<String> =
            aliases().iter().map(|(alias, name)| format!("{alias} = {name}")).collect();
        if !aliases.is_empty() {
            text += &format!("; {}", aliases.join(", "));
        }
        if let Kind::NameOr { form, .. } = axis.kind {
            text += &format!("; or {form}");
        }
        text += "]";
    }
    let shown = |values: &[Value]| roomy(&typed(axis, values));
    let (default, quick) = (shown(&axis.default()), shown(&axis.quick()));
    text += &format!(" [default: {default}");
    if quick != default {
        text += &format!("; quick: {quick}");
    }
    text + "]"
}

/// Takes any text (the axis itself judges it, with a better message), and tells completions the
/// names there are.
#[derive(Clone)]
struct AxisNames(Vec<&'static str>);

impl TypedValueParser for AxisNames {
    type Value = String;

    fn parse_ref(&self, _: &Command, _: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        Ok(value.to_string_lossy().into_owned())
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        if self.0.is_empty() {
            return None;
        }
        Some(Box::new(self.0.iter().map(PossibleValue::new)))
    }
}
