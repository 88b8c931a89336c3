//! A figure that was made of cells: its value, the formula, and the cells, carried through arithmetic.

use crate::CellRef;
use crate::cells::Cell;

/// Nanoseconds for one of something, or how many there are of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub ns: f64,
    /// Over the names of steps: `(large - middle) / 53248`.
    pub formula: String,
    pub cells: Vec<CellRef>,
}

impl Figure {
    pub fn of(name: &str, cell: &Cell, of: CellRef) -> Figure {
        Figure { ns: cell.estimate.value, formula: name.into(), cells: vec![of] }
    }

    /// This figure less the other. A negative difference is noise, so it counts as zero.
    pub fn minus(&self, other: &Figure) -> Figure {
        let left = self.with(other, "-", |a, b| a - b);
        Figure { ns: left.ns.max(0.0), ..left }
    }

    pub fn plus(&self, other: &Figure) -> Figure {
        self.with(other, "+", |a, b| a + b)
    }

    /// So many of it as the other one counts.
    pub fn by(&self, count: &Figure) -> Figure {
        self.with(count, "*", |a, b| a * b)
    }

    /// For one of what the other one counts.
    pub fn per(&self, count: &Figure) -> Option<Figure> {
        Some(self.with(count, "/", |a, b| a / b)).filter(|quotient| quotient.ns.is_finite())
    }

    pub fn over(&self, n: f64) -> Figure {
        self.each(format!("{} / {n}", self.formula), |ns| ns / n)
    }

    pub fn times(&self, n: f64) -> Figure {
        self.each(format!("{n} * {}", self.formula), |ns| ns * n)
    }

    /// By another formula.
    pub fn each(&self, formula: String, of: impl Fn(f64) -> f64) -> Figure {
        Figure { ns: of(self.ns), formula, cells: self.cells.clone() }
    }

    fn with(&self, other: &Figure, sign: &str, of: impl Fn(f64, f64) -> f64) -> Figure {
        let mut cells = self.cells.clone();
        cells.extend(other.cells.iter().filter(|cell| !self.cells.contains(cell)).cloned());
        let formula = format!("({} {sign} {})", self.formula, other.formula);
        Figure { ns: of(self.ns, other.ns), formula, cells }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(ns: f64) -> Figure {
        Figure { ns, formula: "a".into(), cells: Vec::new() }
    }

    #[test]
    fn a_formula_is_carried_along_and_what_is_left_is_no_less_than_nothing() {
        let price = figure(700.0).minus(&figure(100.0)).over(2.0);
        assert_eq!((price.ns, price.formula.as_str()), (300.0, "(a - a) / 2"));
        assert_eq!(figure(1.0).minus(&figure(3.0)).ns, 0.0);
        assert!(figure(1.0).per(&figure(0.0)).is_none(), "of nothing there is no price");
    }
}
