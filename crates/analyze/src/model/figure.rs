//! A figure that was made of cells: its value, the formula, and the cells, carried through arithmetic.

use crate::CellRef;

/// Nanoseconds for one of something.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub ns: f64,
    /// Over the names of steps: `(large - middle) / 53248`.
    pub formula: String,
    pub cells: Vec<CellRef>,
}

impl Figure {
    pub fn of(name: &str, ns: f64, cell: CellRef) -> Figure {
        Figure { ns, formula: name.into(), cells: vec![cell] }
    }

    /// What is left without the other; never below nothing, which only noise could make it.
    pub fn minus(&self, other: &Figure) -> Figure {
        let ns = (self.ns - other.ns).max(0.0);
        self.with(ns, format!("({} - {})", self.formula, other.formula), other)
    }

    pub fn plus(&self, other: &Figure) -> Figure {
        self.with(self.ns + other.ns, format!("({} + {})", self.formula, other.formula), other)
    }

    pub fn over(&self, n: f64) -> Figure {
        Figure { ns: self.ns / n, formula: format!("{} / {n}", self.formula), cells: self.cells.clone() }
    }

    pub fn times(&self, n: f64) -> Figure {
        Figure { ns: self.ns * n, formula: format!("{n} * {}", self.formula), cells: self.cells.clone() }
    }

    fn with(&self, ns: f64, formula: String, other: &Figure) -> Figure {
        let mut cells = self.cells.clone();
        cells.extend(other.cells.iter().filter(|cell| !self.cells.contains(cell)).cloned());
        Figure { ns, formula, cells }
    }
}
