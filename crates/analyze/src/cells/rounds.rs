//! The values of a case's metrics in each of its rounds, in one piece of memory.
//!
//! A large run has millions of cells with a handful of rounds each: kept one by one they would take more memory
//! than everything else of a report. The metrics of a case have its rounds in common.

use std::fmt;
use std::sync::Arc;

/// A metric's value in each round that has one.
#[derive(Clone)]
pub struct Rounds {
    table: Arc<RoundTable>,
    row: usize,
}

/// Row by row, a row for each metric.
struct RoundTable {
    rounds: Box<[u32]>,
    /// Not a number where the round has none.
    values: Box<[f64]>,
}

impl Rounds {
    /// Those of several metrics; each has a value, or none, for each of the rounds.
    pub fn of_metrics(rounds: Vec<u32>, values: Vec<f64>) -> impl Iterator<Item = Rounds> {
        let rows = values.len().checked_div(rounds.len()).unwrap_or(0);
        let table = Arc::new(RoundTable { rounds: rounds.into(), values: values.into() });
        (0..rows).map(move |row| Rounds { table: table.clone(), row })
    }

    /// Round and value, rounds ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, f64)> {
        let RoundTable { rounds, values } = &*self.table;
        let row = &values[self.row * rounds.len()..][..rounds.len()];
        rounds.iter().copied().zip(row.iter().copied()).filter(|(_, value)| !value.is_nan())
    }

    /// The same to be looked at again.
    pub fn pairs(&self) -> Vec<(u32, f64)> {
        self.iter().collect()
    }

    pub fn values(&self) -> Vec<f64> {
        self.iter().map(|(_, value)| value).collect()
    }
}

impl PartialEq for Rounds {
    fn eq(&self, other: &Rounds) -> bool {
        self.iter().eq(other.iter())
    }
}

impl fmt::Debug for Rounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Of one metric alone.
impl FromIterator<(u32, f64)> for Rounds {
    fn from_iter<T: IntoIterator<Item = (u32, f64)>>(pairs: T) -> Rounds {
        let (rounds, values): (Vec<u32>, Vec<f64>) = pairs.into_iter().unzip();
        Rounds { table: Arc::new(RoundTable { rounds: rounds.into(), values: values.into() }), row: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_share_their_rounds_and_lack_some() {
        let none = f64::NAN;
        let all: Vec<Rounds> =
            Rounds::of_metrics(vec![0, 2, 5], vec![1.0, 2.0, 3.0, none, 7.0, none]).collect();
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].pairs(), all[1].pairs()), (vec![(0, 1.0), (2, 2.0), (5, 3.0)], vec![(2, 7.0)]));
        assert_eq!(all[1], [(2, 7.0)].into_iter().collect());
        assert_eq!(all[1].values(), [7.0]);
        assert_eq!(Rounds::of_metrics(Vec::new(), Vec::new()).count(), 0);
        assert_eq!(Rounds::from_iter([]).iter().count(), 0);
    }
}
