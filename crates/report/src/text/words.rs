//! How sentences name places, figures and ratios; no figure is chosen here.

pub use syscost_analyze::grouped::grouped;
pub use syscost_analyze::operations::operation::row_name;
use syscost_analyze::varied;
use syscost_core::axis::{Axis, Point, Value};
use syscost_core::units::Unit;
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_measure::message::{MessageShape, OpenPiece};
use syscost_measure::probe::transfer::axes::{FIELDS, MECHANISM, MESSAGE_BYTES, NODELAY, PATH, THREADS};
use syscost_measure::probe::{self, Probe};

use std::collections::BTreeSet;
pub use syscost_core::units::{and, count, percent};

/// Coordinates that every sentence names, because they decide more than most others.
const ALWAYS: &[&str] = &[FIELDS.id, MESSAGE_BYTES.id, THREADS.id, PATH.id, NODELAY.id];

/// Names the places of one run.
pub struct Words {
    axes: Vec<Axis>,
    /// Axes that have more than one value in the run.
    varied: BTreeSet<String>,
}

impl Words {
    pub fn of(run: &Run) -> Words {
        Words { axes: axes(run), varied: varied::axes(run) }
    }

    /// `64 KiB and 1 thread over veth (TCP_NODELAY on)`: the coordinates that are always named and
    /// those that vary in the run, without the ones in `known`.
    pub fn place(&self, point: &Point, known: &[&str]) -> String {
        let (mut main, mut over, mut aside) = (Vec::new(), String::new(), Vec::new());
        for axis in &self.axes {
            let Some(value) = point.get(axis.id) else { continue };
            if known.contains(&axis.id) || !(ALWAYS.contains(&axis.id) || self.varied.contains(axis.id)) {
                continue;
            }
            match axis.id {
                id if id == MESSAGE_BYTES.id => main.push(axis.show(value)),
                id if id == THREADS.id => main.push(threads(std::slice::from_ref(value))),
                id if id == PATH.id => over = format!("over {value}"),
                _ => aside.push(format!("{} {}", axis.title, axis.show(value))),
            }
        }
        let mut parts = vec![main.join(" and "), over];
        if !aside.is_empty() {
            parts.push(format!("({})", aside.join(", ")));
        }
        parts.retain(|p| !p.is_empty());
        parts.join(" ")
    }

    /// Coordinates of [`Words::place`] that are the same in the whole run: said once, they may be
    /// left out of the rest of a statement.
    pub fn constant(&self) -> Vec<&'static str> {
        ALWAYS.iter().copied().filter(|id| !self.varied.contains(*id)).collect()
    }

    /// A value of an axis as reports show it.
    pub fn value(&self, axis: &str, value: &Value) -> String {
        self.axes.iter().find(|a| a.id == axis).map_or_else(|| value.to_string(), |a| a.show(value))
    }

    /// What a case is called among its rivals: its value on the axis, and its own axes if they vary.
    pub fn name(&self, point: &Point, axis: &str, shared: &Point) -> String {
        let value = point.get(axis).map_or_else(String::new, |v| self.value(axis, v));
        let own = |a: &&Axis| {
            a.id != axis
                && shared.get(a.id).is_none()
                && self.varied.contains(a.id)
                && !ALWAYS.contains(&a.id)
        };
        let own: Vec<String> = self
            .axes
            .iter()
            .filter(own)
            .filter_map(|a| point.get(a.id).map(|v| format!("{} {}", a.title, a.show(v))))
            .collect();
        if own.is_empty() { value } else { format!("{value} ({})", own.join(", ")) }
    }

    /// `pack_send (messages per call 64)`: what a case is called among ways of doing one thing. What
    /// every case of the run shares is left out, and so is what its axis has by default.
    pub fn way(&self, probe: &dyn Probe, point: &Point, first: &str) -> String {
        let chosen = |id: &str| id != first && probe.chosen(id) && self.varied.contains(id);
        let told: Vec<String> = point
            .iter()
            .filter(|(id, value)| chosen(id) && !self.is_default(id, value))
            .map(|(id, value)| format!("{} {}", self.title(id), self.value(id, value)))
            .collect();
        let name = point.get(first).map_or_else(String::new, |value| self.value(first, value));
        match (name.is_empty(), told.is_empty()) {
            (_, true) => name,
            (true, false) => told.join(", "),
            (false, false) => format!("{name} ({})", told.join(", ")),
        }
    }

    /// What an axis has where nobody names it.
    pub fn is_default(&self, id: &str, value: &Value) -> bool {
        self.axes.iter().find(|a| a.id == id).is_some_and(|axis| axis.default().first() == Some(value))
    }

    pub fn title<'s>(&'s self, id: &'s str) -> &'s str {
        self.axes.iter().find(|a| a.id == id).map_or(id, |a| a.title)
    }

    /// ` with 1 thread over veth`, ` over veth`, or nothing where everything is known.
    pub fn with(&self, point: &Point) -> String {
        let place = self.place(point, &self.constant());
        match place.chars().next() {
            None => String::new(),
            Some(first) if first.is_ascii_digit() => format!(" with {place}"),
            Some(_) => format!(" {place}"),
        }
    }

    /// `The CPU per byte of sendmsg at 64 KiB and 1 thread over veth`.
    pub fn subject(&self, case: &Case, metric: &str) -> String {
        if let Some(name) = operation_name(case) {
            return format!("The {metric} of {name}");
        }
        let who = case.point.text(MECHANISM).map(|m| format!(" of {m}")).unwrap_or_default();
        let place = self.place(&case.point, &[MECHANISM.id]);
        // A place without a size or threads begins with its path.
        let at = if place.starts_with("over ") { "" } else { "at " };
        format!("The {metric}{who} {at}{place}")
    }

    /// Does the axis have several values in the run?
    pub fn varies(&self, axis: &str) -> bool {
        self.varied.contains(axis)
    }

    /// Values of an axis in a row: `64 KiB to 1 MiB`, or one of them.
    pub fn range(&self, axis: &str, from: u64, to: u64) -> String {
        let show = |n: u64| self.value(axis, &Value::Int(n));
        if from == to { show(from) } else { format!("{} to {}", show(from), show(to)) }
    }
}

/// Sizes of a line as sentences name them: of the message, or of its only piece that grows with it.
pub struct LineSizes<'a> {
    words: &'a Words,
    axis: &'a str,
    open: Option<OpenPiece>,
}

impl Words {
    /// Along this axis, of what is held.
    pub fn sizes<'a>(&'a self, axis: &'a str, held: &Point) -> LineSizes<'a> {
        let open = MessageShape::of(held).open_piece().filter(|_| axis == MESSAGE_BYTES.id);
        LineSizes { words: self, axis, open }
    }
}

impl LineSizes<'_> {
    /// `64 KiB`
    pub fn bare(&self, value: u64) -> String {
        match self.open {
            Some(open) => Unit::Bytes.format(value.saturating_sub(open.others) as f64),
            None => self.words.range(self.axis, value, value),
        }
    }

    /// `a second piece of `, or nothing.
    pub fn whose(&self) -> String {
        let Some(OpenPiece { place, pieces, .. }) = self.open else { return String::new() };
        let which = match place {
            1 => "a first",
            2 => "a second",
            3 => "a third",
            _ if place == pieces => "a last",
            _ => "an open",
        };
        format!("{which} piece of ")
    }

    /// `64 KiB`, `a second piece of 64 KiB`
    pub fn one(&self, value: u64) -> String {
        self.whose() + &self.bare(value)
    }

    /// `64 KiB to 1 MiB`, or one of them.
    pub fn range(&self, from: u64, to: u64) -> String {
        if from == to { self.one(from) } else { format!("{} to {}", self.one(from), self.bare(to)) }
    }
}

/// Every axis of the run's probes. Probes share axes: each is named once, in the order of the first that has it.
pub fn axes(run: &Run) -> Vec<Axis> {
    let planned: BTreeSet<&str> = run.record.plan.cases.iter().map(|c| c.probe.as_str()).collect();
    let probes = probe::ALL.iter().filter(|p| planned.contains(p.about().id));
    let axes = grouped(probes.flat_map(|p| p.axes()).map(|axis| (axis.id, axis)));
    axes.into_iter().filter_map(|(_, same)| same.into_iter().next()).collect()
}

/// What a case is called, where it is an operation.
pub fn operation_name(case: &Case) -> Option<String> {
    let probe = probe::find(&case.probe)?;
    Some(row_name(probe.about().title, &probe.row(&case.point)?))
}

/// The first letter in upper case, unless the first word is a name of code.
pub fn capital(text: &str) -> String {
    if text.split_whitespace().next().is_some_and(|word| word.contains(['_', '='])) {
        return text.into();
    }
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |c| c.to_uppercase().chain(chars).collect())
}

/// `1 thread`, `1, 2 and 4 threads`.
pub fn threads(values: &[Value]) -> String {
    let one = matches!(values, [Value::Int(1)]);
    let list: Vec<String> = values.iter().map(Value::to_string).collect();
    format!("{} thread{}", and(&list), if one { "" } else { "s" })
}

/// `40 s`, `5 minutes`, `3 hours`.
pub fn minutes(minutes: f64) -> String {
    match minutes {
        m if m < 1.5 => count((60.0 * m).ceil() as usize, "second"),
        m if m < 90.0 => count(m.ceil() as usize, "minute"),
        m => count((m / 60.0).ceil() as usize, "hour"),
    }
}

/// A figure in its unit: `0.21 ns/B`; a ratio as a share.
pub fn figure(value: f64, unit: Unit) -> String {
    if unit == Unit::Ratio { percent(value) } else { unit.format(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_begins_with_a_capital_letter_and_a_name_stays_as_it_is() {
        assert_eq!(capital("the kernel refuses"), "The kernel refuses");
        assert_eq!(
            capital("congestion_control cubic is not possible"),
            "congestion_control cubic is not possible"
        );
    }
}
