//! A figure that was made of cells: its value, the formula, and the cells, carried through arithmetic.

use crate::CellRef;
use crate::cells::Cell;

/// Nanoseconds for one of something, or how many there are of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub ns: f64,
    /// The same in each round that all of its cells have.
    pub rounds: Vec<(u32, f64)>,
    /// Over the names of steps: `(large - middle) / 53248`.
    pub formula: String,
    pub cells: Vec<CellRef>,
}

impl Figure {
    pub fn of(name: &str, cell: &Cell, of: CellRef) -> Figure {
        Figure { ns: cell.estimate.value, rounds: cell.rounds.pairs(), formula: name.into(), cells: vec![of] }
    }

    /// What is left without the other. Below nothing is noise, which rounds keep so that their mean is right.
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

    /// For one of what the other one counts; rounds that have none of it say nothing.
    pub fn per(&self, count: &Figure) -> Option<Figure> {
        let mut quotient = self.with(count, "/", |a, b| a / b);
        quotient.rounds.retain(|(_, ns)| ns.is_finite());
        quotient.ns.is_finite().then_some(quotient)
    }

    pub fn over(&self, n: f64) -> Figure {
        self.each(format!("{} / {n}", self.formula), |ns| ns / n)
    }

    pub fn times(&self, n: f64) -> Figure {
        self.each(format!("{n} * {}", self.formula), |ns| ns * n)
    }

    /// By another formula.
    pub fn each(&self, formula: String, of: impl Fn(f64) -> f64) -> Figure {
        let rounds = self.rounds.iter().map(|(round, ns)| (*round, of(*ns))).collect();
        Figure { ns: of(self.ns), rounds, formula, cells: self.cells.clone() }
    }

    fn with(&self, other: &Figure, sign: &str, of: impl Fn(f64, f64) -> f64) -> Figure {
        let mut cells = self.cells.clone();
        cells.extend(other.cells.iter().filter(|cell| !self.cells.contains(cell)).cloned());
        // A long run has thousands of rounds, in ascending order.
        let both = |(round, ns): &(u32, f64)| {
            let at = other.rounds.binary_search_by_key(round, |(known, _)| *known).ok()?;
            Some((*round, of(*ns, other.rounds[at].1)))
        };
        Figure {
            ns: of(self.ns, other.ns),
            rounds: self.rounds.iter().filter_map(both).collect(),
            formula: format!("({} {sign} {})", self.formula, other.formula),
            cells,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(rounds: [f64; 3], ns: f64) -> Figure {
        let rounds = rounds.into_iter().enumerate().map(|(round, ns)| (round as u32, ns)).collect();
        Figure { ns, rounds, formula: "a".into(), cells: Vec::new() }
    }

    #[test]
    fn a_round_without_a_sleep_has_no_price_of_one_and_the_others_have() {
        let paid = figure([600.0, 0.0, 900.0], 700.0);
        let price = paid.per(&figure([2.0, 0.0, 3.0], 2.0)).expect("there are sleeps");
        assert_eq!((price.ns, &price.rounds[..]), (350.0, &[(0, 300.0), (2, 300.0)][..]));
        assert_eq!(paid.per(&figure([0.0; 3], 0.0)), None);
    }

    #[test]
    fn what_is_below_nothing_is_noise_of_a_round_and_no_cost() {
        let left = figure([5.0, 3.0, 7.0], 4.0).minus(&figure([4.0, 6.0, 4.0], 5.0));
        assert_eq!((left.ns, &left.rounds[..]), (0.0, &[(0, 1.0), (1, -3.0), (2, 3.0)][..]));
    }
}
