//! The typed names of axes: how code reads a value of an axis that it knows.
//!
//! A key stands next to the axis that it names, once; everybody else imports it. So a wrong name and a
//! number read as text do not compile.

use super::{Axis, Kind, Point, Value};

/// An axis whose values are numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntAxis {
    pub id: &'static str,
}

/// An axis whose values are names, switches or text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameAxis {
    pub id: &'static str,
}

impl IntAxis {
    pub const fn new(id: &'static str) -> IntAxis {
        IntAxis { id }
    }

    /// An axis of sizes.
    pub const fn bytes(self, min: u64, max: u64) -> Axis {
        Axis::new(self.id, Kind::Bytes { min, max })
    }

    /// An axis of counts.
    pub const fn count(self, min: u64, max: u64) -> Axis {
        Axis::new(self.id, Kind::Int { min, max })
    }
}

impl NameAxis {
    pub const fn new(id: &'static str) -> NameAxis {
        NameAxis { id }
    }

    pub const fn of_kind(self, kind: Kind) -> Axis {
        Axis::new(self.id, kind)
    }

    pub const fn switch(self) -> Axis {
        self.of_kind(Kind::Switch)
    }

    /// An axis of these names, without aliases.
    pub const fn names(self, names: fn() -> Vec<&'static str>) -> Axis {
        self.of_kind(Kind::Name { names, aliases: Vec::new })
    }

    pub const fn checked_text(self, check: fn(&str) -> Result<(), String>) -> Axis {
        self.of_kind(Kind::Text { check })
    }
}

impl Point {
    pub fn int(&self, axis: IntAxis) -> Option<u64> {
        self.int_at(axis.id)
    }

    pub fn text(&self, axis: NameAxis) -> Option<&str> {
        self.text_at(axis.id)
    }

    /// `on` on this switch axis.
    pub fn on(&self, axis: NameAxis) -> bool {
        self.text(axis) == Some("on")
    }

    /// For code that works on any axis: `id` comes from an [`Axis`](super::Axis) or a record.
    pub fn int_at(&self, id: &str) -> Option<u64> {
        self.get(id).and_then(Value::as_int)
    }

    /// For code that works on any axis: `id` comes from an [`Axis`](super::Axis) or a record.
    pub fn text_at(&self, id: &str) -> Option<&str> {
        self.get(id).and_then(Value::as_text)
    }
}
