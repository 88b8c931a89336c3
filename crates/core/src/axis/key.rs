//! The typed names of axes: how code reads a value of an axis that it knows.
//!
//! A key stands next to the axis that it names, once; everybody else imports it. So a wrong name and a
//! number read as text do not compile.

use super::{Point, Value};

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
}

impl NameAxis {
    pub const fn new(id: &'static str) -> NameAxis {
        NameAxis { id }
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
