//! Flags for the axes, generated from the probes: a new axis is a flag, a completion and a line of
//! the man page without an edit here.

use crate::output::{WIDTH, entry, roomy};
use anyhow::Result;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::ffi::OsStr;
use syscost_core::axis::{Axis, BETWEEN_PARTS, Kind, Value};
use syscost_core::units::short_bytes;
use syscost_experiment::spec::Spec;
use syscost_measure::probe;
use syscost_measure::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES, PATH, THREADS};

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

/// Names of an open list that its short help gives.
const SHOWN: usize = 3;

/// Axes that stand among the options that matter.
const USUAL: &[&str] = &[MECHANISM.id, MESSAGE_BYTES.id, THREADS.id, PATH.id];

/// The command with one flag per axis. Its help describes the usual axes, and its long help names the others.
pub fn add(command: Command) -> Command {
    let ending = command.get_after_long_help().or(command.get_after_help());
    let ending = ending.map_or(String::new(), |text| format!("\n\n{text}"));
    let command = command.after_long_help(format!("{}{ending}", others()));
    flags().iter().fold(command, |command, (probe, axis)| {
        let flag = flag(axis);
        command.arg(if USUAL.contains(&axis.id) {
            let text = format!("{} {}", brief(axis), default(axis));
            flag.help(text.clone()).long_help(text)
        } else {
            flag.help_heading(heading(probe)).hide_short_help(true).hide_long_help(true)
        })
    })
}

/// The axes that no help describes, by the probe that names them first.
fn others() -> String {
    const INDENT: usize = 20;
    let mut by_probe: Vec<(&str, Vec<String>)> = Vec::new();
    for (probe, axis) in flags().iter().filter(|(_, axis)| !USUAL.contains(&axis.id)) {
        let flag = format!("--{}", axis.flag);
        match by_probe.last_mut().filter(|(last, _)| last == probe) {
            Some((_, flags)) => flags.push(flag),
            None => by_probe.push((probe, vec![flag])),
        }
    }
    let mut text = OTHERS.to_string();
    for (probe, flags) in by_probe {
        text += &entry(&format!("  {probe}"), INDENT, &flags.join(" "));
    }
    text.trim_end().to_string()
}

const OTHERS: &str = "\
Axes of a probe: `syscost list PROBE` has what each takes, `syscost help axes`
all at once. Values are separated by commas.
";

const AXES: &str = "\
Each axis is an option of run, plan, check, audit, profile and lab. It takes
one value, or several separated by commas: the run measures every combination.
64..1M is every fourth power of two, 1..8 every number, 1,2,..8 goes on by two.
";

/// `help axes`: every axis, what it takes, and its default.
pub fn help() -> String {
    let mut axes = flags().into_iter().fold(
        Command::new("axes").term_width(WIDTH).disable_help_flag(true).help_template("{all-args}"),
        |command, (probe, axis)| command.arg(flag(&axis).help_heading(heading(probe))),
    );
    format!("{AXES}\n{}", axes.render_help())
}

fn heading(probe: &str) -> String {
    format!("Axes of {probe} (values separated by commas)")
}

fn flag(axis: &Axis) -> Arg {
    Arg::new(axis.flag)
        .long(axis.flag)
        .value_name(value_name(axis))
        .action(ArgAction::Append)
        .value_parser(OpenNames(axis.kind.names()))
        .hide_possible_values(true)
        .help(whole(axis))
        .long_help(whole(axis))
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

/// The values that were given of an axis.
pub fn typed_at(matches: &ArgMatches, id: &str) -> Vec<String> {
    let own = flags().into_iter().filter(|(_, axis)| axis.id == id);
    own.filter_map(|(_, axis)| matches.get_many::<String>(axis.flag)).flatten().cloned().collect()
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
    let between = if let Kind::Parts { .. } = axis.kind { BETWEEN_PARTS } else { "," };
    values.iter().map(one).collect::<Vec<_>>().join(between)
}

fn value_name(axis: &Axis) -> &'static str {
    match axis.kind {
        Kind::Bytes { .. } => "BYTES,..",
        Kind::Int { .. } => "N,..",
        Kind::Switch => "on|off",
        Kind::Name { .. } | Kind::Listed(_) | Kind::NameOr { .. } => "NAME,..",
        Kind::Text { .. } => "TEXT",
        Kind::Parts { .. } => "PART,..",
    }
}

/// What it is, what it takes, and its default.
fn whole(axis: &Axis) -> String {
    let mut text = titled(axis);
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
    format!("{text} {}", default(axis))
}

/// What it is; a flag that is its own title needs it once.
fn titled(axis: &Axis) -> String {
    let same = axis.title.to_lowercase().replace(' ', "-") == axis.flag;
    if same { axis.help.to_string() } else { format!("{}: {}", axis.title, axis.help) }
}

/// What it is, in one clause; an axis whose help goes through its names is its title and names.
fn brief(axis: &Axis) -> String {
    match axis.kind {
        Kind::NameOr { names, .. } => {
            format!("{}: {}, ..", axis.title, names()[..names().len().min(SHOWN)].join(", "))
        }
        _ => axis.help.to_string(),
    }
}

/// `[default: 4K; quick: 64]`
fn default(axis: &Axis) -> String {
    let shown = |values: &[Value]| roomy(&typed(axis, values));
    let (default, quick) = (shown(&axis.default()), shown(&axis.quick()));
    if quick == default {
        return format!("[default: {default}]");
    }
    format!("[default: {default}; quick: {quick}]")
}

/// Takes any text (who reads it judges it, with a better message), and tells completions the names there are.
#[derive(Clone)]
pub struct OpenNames(pub Vec<&'static str>);

impl TypedValueParser for OpenNames {
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
