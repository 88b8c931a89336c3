//! Throughput that is one figure whatever is sent: something that all cells share limits it, a link or a pacer, and no
//! difference between ways to send can show.

use super::{Remark, RemarkKind, rate};
use crate::{PublishedRow, PublishedTable, TableColumn::*};
use std::collections::BTreeSet;

/// So many cells at least, this share of them, within this ratio of each other.
const FEWEST: usize = 8;
const SHARE: f64 = 0.75;
const BAND: f64 = 1.1;
/// At sizes so far apart: a small message costs more a byte, unless something else sets the rate.
const APART: u64 = 8;

/// Where most cells lie: the lowest and the highest of them.
pub fn band(table: &PublishedTable) -> Option<(f64, f64)> {
    let rates = table.rows.iter().filter_map(|row| row.value(Throughput));
    let mut rates: Vec<f64> = rates.filter(|rate| *rate > 0.0).collect();
    rates.sort_by(f64::total_cmp);
    if rates.len() < FEWEST {
        return None;
    }
    let within = |from: usize| rates[from..].iter().take_while(|rate| **rate <= BAND * rates[from]).count();
    let from = (0..rates.len()).max_by_key(|from| within(*from))?;
    let many = within(from);
    let (low, high) = (rates[from], rates[from + many - 1]);
    let is_inside =
        |row: &&PublishedRow| row.value(Throughput).is_some_and(|rate| (low..=high).contains(&rate));
    let inside: Vec<&PublishedRow> = table.rows.iter().filter(is_inside).collect();
    let places = |column| -> BTreeSet<u64> { inside.iter().filter_map(|row| row.count(column)).collect() };
    let names: BTreeSet<&str> = inside.iter().filter_map(|row| row.text(Mechanism)).collect();
    let sizes = places(MessageBytes);
    let far = sizes.last().zip(sizes.first()).is_some_and(|(most, least)| *most >= APART * (*least).max(1));
    // One name at one size is the same by itself.
    let differ = far || sizes.is_empty() && names.len() > 1 && places(Threads).len() > 1;
    (differ && many as f64 >= SHARE * rates.len() as f64).then_some((low, high))
}

pub fn look(table: &PublishedTable) -> Vec<Remark> {
    let Some((low, high)) = band(table) else { return Vec::new() };
    let rates: Vec<f64> = table.rows.iter().filter_map(|row| row.value(Throughput)).collect();
    let text = format!(
        "Throughput is between {} and {} in {} of {} cells, independent of what is sent. Something that they share sets it \
         (a link, a pacer, a slow receiver): it says nothing of the ways to send.",
        rate(low),
        rate(high),
        rates.iter().filter(|rate| (low..=high).contains(rate)).count(),
        rates.len()
    );
    vec![Remark { id: "flat", kind: RemarkKind::Unexpected, text, lines: Vec::new() }]
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    #[test]
    fn a_link_is_told_and_a_mechanism_is_not() {
        let rows = |rate: fn(u64) -> f64| {
            let row = |n: u64| format!("A{},{},{:.3}\n", n % 3 + 1, 64 << (n / 3), rate(n));
            table(&format!("mechanism,size,throughput_gbps\n{}", (0..15).map(row).collect::<String>()))
        };
        let told = look(&rows(|n| 0.84 + 0.07 * (n % 2) as f64));
        assert!(
            told[0].text.starts_with("Throughput is between 840 Mbit/s and 910 Mbit/s in 15 of 15 cells"),
            "{told:?}"
        );
        assert!(look(&rows(|n| n as f64 + 1.0)).is_empty());
        let one = "mechanism,size,throughput_gbps\n".to_string() + &"A1,64,0.9\n".repeat(9);
        assert!(look(&table(&one)).is_empty(), "repetitions are alike");
    }
}
