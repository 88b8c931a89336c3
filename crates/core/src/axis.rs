//! The coordinates of a case: axes, their values, and the point they make.
//!
//! An axis belongs to a probe, a mechanism or a receiver; command-line flags, CSV columns, plots
//! and help are derived from it. A point has no value on an axis that does not apply to it (the
//! reap batch of a mechanism that reaps nothing): the CSV cell is then empty.

mod few;
mod key;
mod name;
pub mod range;

pub use few::{Few, Point};
pub use key::{IntAxis, NameAxis};
pub use name::Name;

use crate::units::{self, Unit};
use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;
use strsim::osa_distance;

/// One value on an axis. Booleans are the names `on` and `off`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum Value {
    Int(u64),
    Text(Name),
}

impl Value {
    pub fn text(text: impl Into<Name>) -> Value {
        Value::Text(text.into())
    }

    pub fn as_int(&self) -> Option<u64> {
        match self {
            Value::Int(n) => Some(*n),
            Value::Text(_) => None,
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Int(_) => None,
            Value::Text(text) => Some(text),
        }
    }
}

/// Without a detour: a record has a million of them, and what is neither a number nor a text is named as it is.
impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        struct ValueVisitor;
        impl Visitor<'_> for ValueVisitor {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number or a text")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
                Ok(Value::Int(number))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
                let negative = |_| E::custom(format!("{number} is not a whole number of at least 0"));
                number.try_into().map(Value::Int).map_err(negative)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
                Ok(Value::text(text))
            }
        }
        deserializer.deserialize_any(ValueVisitor)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(n) => write!(f, "{n}"),
            Value::Text(text) => f.write_str(text),
        }
    }
}

/// What kind of values an axis takes.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A size in bytes, between the two bounds (inclusive).
    Bytes { min: u64, max: u64 },
    /// A whole number between the two bounds (inclusive).
    Int { min: u64, max: u64 },
    /// `on` or `off`.
    Switch,
    /// One of a list of names, computed so that registries stay the only list; with aliases
    /// (alias, name) that the command line accepts.
    Name { names: fn() -> Vec<&'static str>, aliases: fn() -> Vec<(&'static str, &'static str)> },
    /// One of these names: what a user's own code says of its axes is read when it is known.
    Listed(&'static [&'static str]),
    /// One of a list of names, or text of the given form, checked by the function.
    NameOr {
        names: fn() -> Vec<&'static str>,
        aliases: fn() -> Vec<(&'static str, &'static str)>,
        form: &'static str,
        /// Does this text begin like the form? What does not is a wrong name.
        begins: fn(&str) -> bool,
        check: fn(&str) -> Result<(), String>,
    },
    /// Free text checked by the function (an error says what would be valid).
    Text { check: fn(&str) -> Result<(), String> },
    /// Text with commas of its own, of which the function makes the one form that is kept. Several values are
    /// separated by [`BETWEEN_PARTS`].
    Parts { canonical: fn(&str) -> Result<String, String> },
}

/// Between values that hold commas themselves.
pub const BETWEEN_PARTS: &str = "/";

impl Kind {
    /// The names that it allows; none where it takes numbers or text only.
    pub fn names(self) -> Vec<&'static str> {
        match self {
            Kind::Name { names, .. } | Kind::NameOr { names, .. } => names(),
            Kind::Listed(names) => names.to_vec(),
            Kind::Switch => vec!["on", "off"],
            Kind::Bytes { .. } | Kind::Int { .. } | Kind::Text { .. } | Kind::Parts { .. } => Vec::new(),
        }
    }
}

/// One dimension of a probe's cases.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Axis {
    /// Column name and TOML key: `message_bytes`.
    pub id: &'static str,
    /// Long flag without dashes: `size`.
    pub flag: &'static str,
    /// Label of a plot: `message size`.
    pub title: &'static str,
    /// One sentence for `--help` and `list`.
    pub help: &'static str,
    pub unit: Unit,
    #[serde(skip)]
    pub kind: Kind,
    /// Numbers that have a name.
    #[serde(skip)]
    words: &'static [(&'static str, u64)],
    #[serde(skip)]
    default: DefaultValues,
    #[serde(skip)]
    quick: Option<DefaultValues>,
    /// A point without it has its default: see [`Axis::unsaid`].
    #[serde(skip)]
    unsaid: bool,
}

/// Values that are measured where nobody names any.
#[derive(Clone, Copy, Debug)]
pub enum DefaultValues {
    /// Every name that the axis has.
    All,
    Ints(&'static [u64]),
    Names(&'static [&'static str]),
    /// Those of this machine.
    Of(fn() -> Vec<Value>),
}

/// A value that an axis refuses, and the nearest valid choice.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("{text:?} is not a value of --{flag}: {reason}")]
pub struct BadValue {
    pub flag: &'static str,
    pub text: String,
    pub reason: String,
}

impl Axis {
    /// Under its own id as its flag and title; made by a key ([`IntAxis`], [`NameAxis`]).
    const fn new(id: &'static str, kind: Kind) -> Axis {
        let unit = match kind {
            Kind::Bytes { .. } => Unit::Bytes,
            Kind::Int { .. } => Unit::Count,
            Kind::Switch
            | Kind::Listed(_)
            | Kind::Name { .. }
            | Kind::NameOr { .. }
            | Kind::Text { .. }
            | Kind::Parts { .. } => Unit::Name,
        };
        Axis {
            id,
            flag: id,
            title: id,
            help: "",
            unit,
            kind,
            words: &[],
            default: DefaultValues::All,
            quick: None,
            unsaid: false,
        }
    }

    /// Where its default is the only value it is no coordinate, so that runs from before it was an axis have the same
    /// points.
    pub const fn unsaid(self) -> Axis {
        Axis { unsaid: true, ..self }
    }

    /// Is it no coordinate where it has these values?
    pub fn is_unsaid(&self, values: &[Value]) -> bool {
        self.unsaid && values == self.default()
    }

    /// These numbers are written and shown by name.
    pub const fn words(self, words: &'static [(&'static str, u64)]) -> Axis {
        Axis { words, ..self }
    }

    pub const fn flag(self, flag: &'static str, title: &'static str) -> Axis {
        Axis { flag, title, ..self }
    }

    pub const fn help(self, help: &'static str) -> Axis {
        Axis { help, ..self }
    }

    /// Values of the default study, and of `--quick` unless [`Axis::quick_on`] says others.
    pub const fn default_on(self, values: DefaultValues) -> Axis {
        Axis { default: values, quick: None, ..self }
    }

    pub const fn quick_on(self, values: DefaultValues) -> Axis {
        Axis { quick: Some(values), ..self }
    }

    /// Values of the default study.
    pub fn default(&self) -> Vec<Value> {
        match self.default {
            DefaultValues::All => self.kind.names().into_iter().map(Value::text).collect(),
            DefaultValues::Ints(numbers) => numbers.iter().copied().map(Value::Int).collect(),
            DefaultValues::Names(names) => names.iter().copied().map(Value::text).collect(),
            DefaultValues::Of(values) => values(),
        }
    }

    /// Is it what every machine takes where nothing is asked?
    pub fn is_default(&self, value: &Value) -> bool {
        !matches!(self.default, DefaultValues::Of(_))
            && matches!(self.default().as_slice(), [one] if one == value)
    }

    /// Values of `--quick`.
    pub fn quick(&self) -> Vec<Value> {
        Axis { default: self.quick.unwrap_or(self.default), ..*self }.default()
    }

    /// Reads one value as a person writes it.
    pub fn parse(&self, text: &str) -> Result<Value, BadValue> {
        let text = text.trim();
        let bad = |reason: String| self.bad(text, reason);
        if let Some((_, number)) = self.words.iter().find(|(word, _)| *word == text) {
            return Ok(Value::Int(*number));
        }
        match self.kind {
            Kind::Bytes { min, max } => {
                let bytes = match units::parse_bytes(text) {
                    Err(units::ParseError::LargeSize(_)) => u64::MAX,
                    other => other.map_err(|e| bad(e.to_string()))?,
                };
                self.in_range(bytes, min, max).map_err(bad)
            }
            Kind::Int { min, max } => {
                let number = units::parse_count(text)
                    .or_else(|| self.microseconds(text))
                    .ok_or_else(|| bad(format!("write a whole number from {min} to {max}")))?;
                self.in_range(number, min, max).map_err(bad)
            }
            Kind::Switch => match text {
                "on" | "true" | "yes" | "1" => Ok(Value::text("on")),
                "off" | "false" | "no" | "0" => Ok(Value::text("off")),
                _ => Err(bad("write on or off".into())),
            },
            Kind::NameOr { names, aliases, begins, check, .. } if begins(text) => {
                // The form may hold commas, but a name of the axis behind one is the next of several values.
                let known = |part: &&str| names().contains(part) || aliases().iter().any(|(a, _)| a == part);
                if let Some(name) = text.split(',').skip(1).map(str::trim).find(known) {
                    return Err(bad(format!("{name} is a value of its own, not a part of this one")));
                }
                check(text).map(|()| Value::text(text)).map_err(bad)
            }
            Kind::NameOr { names, aliases, form, .. } => {
                let named = Axis { kind: Kind::Name { names, aliases }, ..*self };
                named.parse(text).map_err(|error| bad(format!("{}, or {form}", error.reason)))
            }
            Kind::Name { names, aliases } => {
                let wanted = text.to_ascii_lowercase().replace(' ', "-");
                let underscored = wanted.replace('-', "_");
                if let Some(name) = names().into_iter().find(|n| *n == wanted || *n == underscored) {
                    return Ok(Value::text(name));
                }
                if let Some((_, name)) = aliases().into_iter().find(|(a, _)| *a == wanted) {
                    return Ok(Value::text(name));
                }
                Err(bad(suggest(&wanted, &names(), &aliases())))
            }
            Kind::Listed(names) => match names.iter().find(|name| **name == text) {
                Some(name) => Ok(Value::text(*name)),
                None => Err(bad(suggest(text, names, &[]))),
            },
            Kind::Text { check } => check(text).map(|()| Value::text(text)).map_err(bad),
            Kind::Parts { canonical } => canonical(text).map(Value::text).map_err(bad),
        }
    }

    /// Reads one value; `all` of an axis of names: every name that it knows; several of values that hold commas.
    pub fn parse_all(&self, text: &str) -> Result<Vec<Value>, BadValue> {
        if let Kind::Parts { .. } = self.kind {
            return text.split(BETWEEN_PARTS).map(|part| self.parse(part)).collect();
        }
        let named =
            matches!(self.kind, Kind::Name { .. } | Kind::Listed(_) | Kind::NameOr { .. } | Kind::Switch);
        if named && text.trim() == "all" {
            return Ok(self.kind.names().into_iter().map(Value::text).collect());
        }
        if let (Kind::Int { .. } | Kind::Bytes { .. }, Some((from, to))) = (self.kind, text.split_once(".."))
        {
            if from.trim().is_empty() || to.trim().is_empty() {
                return Err(self.bad(text, "a range has two ends: 64..1M, 1..8".into()));
            }
            let all = if let Kind::Bytes { .. } = self.kind { range::sizes } else { range::numbers };
            let ends = (self.number(from)?, self.number(to)?);
            return Ok(all(ends.0, ends.1)
                .map_err(|why| self.bad(text, why))?
                .into_iter()
                .map(Value::Int)
                .collect());
        }
        self.parse(text).map(|value| vec![value])
    }

    /// Reads values as a person writes them, separated by commas; `1,2,..8` goes on as it began. Free text may hold commas
    /// itself (`0,2:1,3`): it is split only where the whole is not a value.
    pub fn parse_values(&self, text: &str) -> Result<Vec<Value>, BadValue> {
        if let Kind::Parts { .. } = self.kind {
            return self.parse_all(text);
        }
        if let (Kind::Text { .. } | Kind::NameOr { .. }, Ok(value)) = (self.kind, self.parse(text)) {
            return Ok(vec![value]);
        }
        let mut values = Vec::new();
        for part in text.split(',') {
            match (self.kind, part.trim().strip_prefix("..")) {
                (Kind::Int { .. } | Kind::Bytes { .. }, Some(end)) => {
                    let before: Vec<u64> = values.iter().filter_map(Value::as_int).collect();
                    let more =
                        range::onward(&before, self.number(end)?).map_err(|why| self.bad(part, why))?;
                    values.extend(more.into_iter().map(Value::Int));
                }
                _ => values.extend(self.parse_all(part)?),
            }
        }
        Ok(values)
    }

    /// Reads a time with its unit, where the axis counts microseconds: `50us`, `1ms`.
    fn microseconds(&self, text: &str) -> Option<u64> {
        let time = units::parse_duration(text).ok().filter(|_| self.id.ends_with("_us"))?;
        (time.as_nanos() % 1_000 == 0).then_some(u64::try_from(time.as_micros()).ok()?)
    }

    fn number(&self, text: &str) -> Result<u64, BadValue> {
        self.parse(text)?.as_int().ok_or_else(|| self.bad(text, "write a number".into()))
    }

    fn bad(&self, text: &str, reason: String) -> BadValue {
        BadValue { flag: self.flag, text: text.trim().to_string(), reason }
    }

    fn in_range(&self, n: u64, min: u64, max: u64) -> Result<Value, String> {
        if n < min {
            Err(format!("the smallest is {}", self.limit(min)))
        } else if n > max {
            Err(format!("the largest is {}", self.limit(max)))
        } else {
            Ok(Value::Int(n))
        }
    }

    /// A bound as it may be typed: 65535 is not 64 KiB, and no word stands for it.
    fn limit(&self, n: u64) -> String {
        Axis { words: &[], ..*self }.show(&Value::Int(n))
    }

    /// A value for people, in the axis's unit: `64 KiB`, `1500 B`, `4`, `sendmsg`; exact.
    pub fn show(&self, value: &Value) -> String {
        if let Some((word, _)) = self.words.iter().find(|(_, number)| value.as_int() == Some(*number)) {
            return word.to_string();
        }
        match value {
            Value::Int(n) if self.unit == Unit::Bytes => {
                let rounded = Unit::Bytes.format(*n as f64);
                if units::parse_bytes(&rounded) == Ok(*n) { rounded } else { format!("{n} B") }
            }
            other => other.to_string(),
        }
    }
}

/// "did you mean" with the nearest name, and every valid one.
pub fn suggest(wanted: &str, names: &[&str], aliases: &[(&str, &str)]) -> String {
    // Two letters in the wrong order are one mistake, and what a name begins with is none.
    let distance = |name: &str| {
        let begins = wanted.len() > 2 && name.len() > wanted.len() && name.starts_with(wanted);
        if begins { 1 } else { osa_distance(wanted, name) }
    };
    let nearest =
        names.iter().map(|n| (distance(n), *n)).chain(aliases.iter().map(|(a, n)| (distance(a), *n))).min();
    let list = names.join(", ");
    match nearest {
        Some((distance, name)) if distance <= wanted.len().max(3) / 2 => {
            format!("did you mean {name}? valid are {list}")
        }
        _ => format!("valid are {list}"),
    }
}
