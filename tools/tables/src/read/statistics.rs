//! Statistics of one quantity that stand in no possible order: a mean above its own maximum, p50 above p99.

use super::columns::Below;
use super::heading::TableHeading;
use crate::TableColumn::{MessageRate, Throughput};
use crate::unit::{self, DecimalMark, Dimension, UnitScale};
use crate::{cells, naming, vocabulary};

/// From the lowest to the highest.
const ORDER: &[&[&str]] = &[
    &["min", "minimum"],
    &["p1"],
    &["p5"],
    &["p10"],
    &["p25", "q1"],
    naming::MIDDLE,
    &["p75", "q3"],
    &["p90", "90th"],
    &["p95", "95th"],
    &["p99", "99th"],
    &["p999"],
    &["p9999"],
    &["max", "maximum"],
];

/// What a heading is a statistic of, and its place in the order; a mean has none: only the ends bound it.
struct StatisticHeading {
    of: Vec<String>,
    place: Option<usize>,
    unit: Option<UnitScale>,
}

impl StatisticHeading {
    fn of(heading: &TableHeading) -> Option<StatisticHeading> {
        let mut of = vocabulary::tokens(&heading.text);
        let is = |word: &String, list: &[&str]| list.contains(&word.as_str());
        let statistic = |word: &String| is(word, naming::SPREADS) || is(word, naming::MIDDLE);
        let only = |found: Vec<usize>| found.first().copied().filter(|_| found.len() == 1);
        let at =
            only((0..of.len()).filter(|at| statistic(&of[*at]) || is(&of[*at], naming::MEANS)).collect())?;
        let word = of.remove(at);
        let place = ORDER.iter().position(|words| is(&word, words));
        // The p99 of a rate may be what was slower: one in a hundred.
        let rate = heading.unit.is_some_and(|of| [Dimension::Rate, Dimension::Calls].contains(&of.dimension))
            || [Throughput, MessageRate].map(Some).contains(&vocabulary::column(&of.join(" ")));
        let tail = word.starts_with('p') || word.ends_with("th");
        let known = (place.is_some() || is(&word, naming::MEANS)) && !(rate && tail);
        of.retain(|word| heading.unit.is_none() || unit::parse(word).is_err());
        known.then_some(StatisticHeading { of, place, unit: heading.unit })
    }

    fn is_below(&self, other: &StatisticHeading) -> bool {
        let ordered = match (self.place, other.place) {
            (Some(low), Some(high)) => low < high,
            (Some(low), None) => low == 0,
            (None, Some(high)) => high + 1 == ORDER.len(),
            (None, None) => false,
        };
        ordered && self.of == other.of && self.unit.map(|u| u.dimension) == other.unit.map(|u| u.dimension)
    }

    /// The least and the most that a cell may stand for.
    fn range(&self, cell: &str) -> Option<(f64, f64)> {
        let (value, rounding, own) = unit::number(cells::plain(cell), DecimalMark::Point)?;
        let own = own.map(unit::parse).transpose().ok()?;
        let factor = own.or(self.unit).map_or(1.0, |unit| unit.factor);
        // What is zero was not measured.
        (value > 0.0).then_some(((value - rounding) * factor, (value + rounding) * factor))
    }
}

pub fn contradictions(headings: &[TableHeading], below: &Below) -> Vec<String> {
    let of = |(at, heading)| Some((at, heading, StatisticHeading::of(heading)?));
    let all: Vec<_> = headings.iter().enumerate().filter_map(of).collect();
    let pairs = all.iter().flat_map(|low| all.iter().map(move |high| (low, high)));
    let ordered = pairs.filter(|((.., low), (.., high))| low.is_below(high));
    type StatisticAt<'h> = (usize, &'h TableHeading, StatisticHeading);
    let told = |((low_at, low, of_low), (high_at, high, of_high)): (&StatisticAt, &StatisticAt)| {
        let above = |(_, one, other): &(usize, &str, &str)| {
            of_low.range(one).zip(of_high.range(other)).is_some_and(|(one, other)| one.0 > other.1)
        };
        let rows: Vec<(usize, &str, &str)> = below.pairs([*low_at, *high_at]).filter(above).collect();
        let (line, one, other) = rows.first()?;
        let first = if rows.len() > 1 { "the first in line" } else { "line" };
        let many = syscost_core::units::count(rows.len(), "row");
        Some(format!(
            "{:?} is above {:?} in {many} ({first} {line}: {one} and {other}). One of them is not what its heading says.",
            low.text, high.text
        ))
    };
    ordered.filter_map(told).collect()
}

#[cfg(test)]
mod tests {
    use crate::remark::{RemarkKind, remarks, table};

    fn told(text: &str) -> Vec<String> {
        let contradictions =
            remarks(&table(text)).into_iter().filter(|r| r.kind == RemarkKind::Contradiction);
        contradictions.map(|remark| remark.text).collect()
    }

    #[test]
    fn no_mean_is_above_its_maximum_and_no_median_above_a_tail() {
        let mean = "mode,size,thr_mean_gbps,thr_min_gbps,thr_max_gbps\nA1,64,1.75,1.6,1.82\nA2,64,57.939,26.6,33.776\n";
        assert_eq!(
            told(mean),
            [
                "\"thr_mean_gbps\" is above \"thr_max_gbps\" in 1 row (line 3: 57.939 and 33.776). One of them is not what its \
              heading says."
            ]
        );
        let tails = "impl;size;p50 [us];p99 [us]\nA1;64;2.1;5.88\nA2;64;5.18;1.75\nA2;128;6.18;1.5\n";
        assert!(
            told(tails)[0].starts_with("\"p50 [us]\" is above \"p99 [us]\" in 2 rows (the first in line 3:")
        );
        let units = "impl,size,latency_p50_us,latency_p99_ms\nA1,64,812,1.2\nA2,64,1300,1.1\n";
        assert!(told(units)[0].contains("(line 3: 1300 and 1.1)"), "{:?}", told(units));
    }

    #[test]
    fn statistics_of_other_quantities_and_what_was_not_measured_are_no_contradiction() {
        for text in [
            "impl,size,mean_latency_us,max_cpu\nA1,64,90,80\nA2,64,91,80\n",
            "impl,size,mean_us,p99_us\nA1,64,90,80\nA2,64,91,80\n",
            "impl,size,p50_gbps,p99_gbps\nA1,64,9,8\nA2,64,7,6.5\n",
            "impl,size,p50_us,p99_us\nA1,64,90,0\nA2,64,91,\n",
            "impl,size,p50_us,p99_us\nA1,64,2,1.9\nA2,64,2,1.8\n",
        ] {
            assert!(told(text).is_empty(), "{text}: {:?}", told(text));
        }
    }
}
