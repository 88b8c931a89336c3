//! Counters that a formula gives: a straight line in message size and threads, another counter or another way to send
//! times a constant, to the last digit and in every row. What is counted in real runs scatters.

use super::{COUNTERS, Remark, RemarkKind, by_name, capital, extent};
use crate::{PublishedFigure, PublishedRow, PublishedTable, TableColumn, TableColumn::*};
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::units::{count, significant};

/// Rows beyond the constants of a formula.
const SPARE: usize = 4;
/// Of a value and half a unit of its last digit: fewer digits agree by chance.
const EXACT: f64 = 40.0;
const SLACK: f64 = 1e-9;
/// A table of more names is not looked at name against name: their pairs are too many.
const MOST_NAMES: usize = 64;
/// How every one of these remarks ends.
const WHY: &str = "Counts of real runs scatter; a formula does not.";

/// Terms of a formula in size and threads.
const TERMS: [&str; 4] = ["", "size", "threads", "size x threads"];

const MODELS: [&[usize]; 8] = [&[0], &[2], &[1], &[3], &[0, 2], &[0, 1], &[1, 2], &[0, 1, 2]];

pub fn look(table: &PublishedTable) -> Vec<Remark> {
    let lines = COUNTERS.into_iter().filter_map(|column| straight(table, column));
    lines.chain(proportional(table)).collect()
}

/// The terms of a row, its figure, and its line.
type FormulaPoint = ([f64; 4], PublishedFigure, usize);

/// The rows of the whole table, else those of each name.
fn straight(table: &PublishedTable, column: TableColumn) -> Option<Remark> {
    let of = |rows: &[&PublishedRow]| {
        let point = |row: &&PublishedRow| {
            let figure = row.figure(column).filter(|f| f.value > 0.0)?;
            let [size, threads] = [MessageBytes, Threads].map(|column| row.value(column).unwrap_or(0.0));
            Some(([1.0, size, threads, size * threads], figure, row.line))
        };
        let points: Vec<FormulaPoint> = rows.iter().filter_map(point).collect();
        Some((formula(&points)?, points))
    };
    let of_name = |(name, rows): (&str, Vec<&PublishedRow>)| Some((format!(" of {name}"), of(&rows)?));
    let found: Vec<(String, (String, Vec<FormulaPoint>))> = match of(&table.rows.iter().collect::<Vec<_>>()) {
        Some(whole) => vec![(String::new(), whole)],
        None => by_name(table).into_iter().filter_map(of_name).collect(),
    };
    let (name, (formula, of_first)) = found.first()?;
    let others = match found.len() - 1 {
        0 => String::new(),
        more => format!("; likewise {}", count(more, "other name")),
    };
    let (title, rows) = (capital(&column.title()), of_first.len());
    let text = format!("{title} = {formula} in all {rows} rows{name}, to the last digit{others}. {WHY}");
    let lines = found.iter().flat_map(|(_, (_, points))| points.iter().map(|point| point.2)).collect();
    Remark::of(RemarkKind::Contradiction, "formula", text, lines)
}

fn formula(points: &[FormulaPoint]) -> Option<String> {
    let exact = points.iter().filter(|(_, figure, _)| figure.value >= EXACT * figure.rounding).count();
    if exact * 2 < points.len() {
        return None;
    }
    MODELS.into_iter().filter(|terms| points.len() >= terms.len() + SPARE).find_map(|terms| {
        let factors = solve(points, terms)?;
        let sum = |own: &[f64; 4]| terms.iter().zip(&factors).map(|(at, f)| f * own[*at]).sum::<f64>();
        let told = |(at, factor): (&usize, &f64)| match TERMS[*at] {
            "" => significant(*factor),
            name => format!("{} x {name}", significant(*factor)),
        };
        let holds = |(own, figure, _): &FormulaPoint| {
            (sum(own) - figure.value).abs() <= figure.rounding + SLACK * figure.value
        };
        let all = points.iter().all(holds);
        all.then(|| terms.iter().zip(&factors).map(told).collect::<Vec<_>>().join(" + "))
    })
}

/// Least squares by the normal equations, each term scaled to its largest value, and Cramer's rule. `None`: the terms are
/// collinear (one size, one thread count).
fn solve(points: &[FormulaPoint], terms: &[usize]) -> Option<Vec<f64>> {
    let largest = |at: &usize| points.iter().map(|(own, ..)| own[*at]).fold(0.0, f64::max);
    let scales: Vec<f64> = terms.iter().map(largest).collect();
    let all = 0..terms.len();
    // With the figures in the place of one term, or of none.
    let with_figures = |place: usize| {
        let term = |p: &FormulaPoint, at: usize| p.0[terms[at]] / scales[at];
        let other = |p: &FormulaPoint, at: usize| if at == place { p.1.value } else { term(p, at) };
        let sum = |row, column| points.iter().map(|p| term(p, row) * other(p, column)).sum();
        let row = |row| all.clone().map(|column| sum(row, column)).collect();
        determinant(&all.clone().map(row).collect::<Vec<Vec<f64>>>())
    };
    let whole = with_figures(terms.len());
    (whole.abs() > 1e-9).then(|| all.clone().map(|at| with_figures(at) / whole / scales[at]).collect())
}

/// By the minors of its first row: there are three at most.
fn determinant(rows: &[Vec<f64>]) -> f64 {
    let Some((first, others)) = rows.split_first() else { return 1.0 };
    let minor =
        |at: usize| others.iter().map(|row| [&row[..at], &row[at + 1..]].concat()).collect::<Vec<_>>();
    let signed = |at: usize| if at % 2 == 0 { first[at] } else { -first[at] };
    (0..first.len()).map(|at| signed(at) * determinant(&minor(at))).sum()
}

type FigurePair = (PublishedFigure, PublishedFigure, usize);

/// Two counters, or one counter of two names, that differ by a constant factor in every row.
fn proportional(table: &PublishedTable) -> Vec<Remark> {
    let mut found = Vec::new();
    // What is a multiple of one is a multiple of the others.
    let mut told: BTreeSet<TableColumn> = BTreeSet::new();
    let all = [&COUNTERS[..], &[Throughput]].concat();
    for (one, other) in pairs(&all) {
        let known = told.contains(one) && told.contains(other);
        if let Some(remark) = if known { None } else { multiple(table, *one, *other) } {
            told.extend([one, other]);
            found.push(remark);
        }
    }
    found.extend(all.into_iter().flat_map(|column| names(table, column)));
    found
}

/// Each of them with each that comes behind it.
fn pairs<T>(all: &[T]) -> impl Iterator<Item = (&T, &T)> {
    all.iter().enumerate().flat_map(|(at, one)| all[at + 1..].iter().map(move |other| (one, other)))
}

/// In all rows, else in those of each name.
fn multiple(table: &PublishedTable, one: TableColumn, other: TableColumn) -> Option<Remark> {
    let pair = |row: &PublishedRow| Some((row.figure(one)?, row.figure(other)?, row.line));
    let pairs: Vec<FigurePair> = table.rows.iter().filter_map(pair).collect();
    let title = if other == Throughput { "throughput in bit/s".into() } else { other.title() };
    if let Some(factor) = constant(&pairs) {
        return Some(related(&one.title(), &title, factor, &pairs));
    }
    let of_name = |rows: Vec<&PublishedRow>| constant(&rows.into_iter().filter_map(pair).collect::<Vec<_>>());
    let all: Vec<f64> = by_name(table).into_values().map(of_name).collect::<Option<_>>()?;
    let (least, most) = Some(extent(all.iter().copied())).filter(|_| !all.is_empty())?;
    let (name, least, most) = (capital(&one.title()), significant(least), significant(most));
    let text = format!(
        "{name} = {title} x a constant of each name ({least} to {most}) in all {} rows, within one in the last digit. {WHY}",
        pairs.len()
    );
    let lines = pairs.iter().map(|pair| pair.2).collect();
    Remark::of(RemarkKind::Contradiction, "formula", text, lines)
}

fn names(table: &PublishedTable, column: TableColumn) -> Vec<Remark> {
    let place = |row: &PublishedRow| [MessageBytes, Threads].map(|column| row.count(column));
    let figure =
        |row: &'_ PublishedRow| Some(((place(row), row.texts.get(&Variant).cloned()), row.figure(column)?));
    let figures = |rows: Vec<&PublishedRow>| rows.into_iter().filter_map(figure).collect::<BTreeMap<_, _>>();
    let names = by_name(table).into_iter().map(|(name, rows)| (name, figures(rows)));
    let names: Vec<_> = names.filter(|(_, figures)| figures.len() > SPARE).collect();
    if names.len() > MOST_NAMES {
        return Vec::new();
    }
    let related = |((one, figures), (other, others)): (&(&str, BTreeMap<_, _>), &(&str, BTreeMap<_, _>))| {
        let pair = |(place, figure): (&_, &PublishedFigure)| Some((*figure, *others.get(place)?, 0));
        let pairs: Vec<FigurePair> = figures.iter().filter_map(pair).collect();
        let factor = constant(&pairs).filter(|factor| *factor != 1.0)?;
        let [one, other] = [one, other].map(|name| format!("{} of {name}", column.title()));
        Some(related(&one, &other, factor, &pairs))
    };
    pairs(&names).filter_map(related).collect()
}

/// The factor between the figures of every pair, of figures exact enough that none agrees by chance. Programs round down:
/// a product may be a whole unit of its last digit off.
fn constant(pairs: &[FigurePair]) -> Option<f64> {
    let exact = |f: &PublishedFigure| f.value > 0.0 && f.value >= 10.0 * EXACT * f.rounding;
    let values: BTreeSet<u64> = pairs.iter().map(|(a, ..)| a.value.to_bits()).collect();
    let all = pairs.len() > SPARE && values.len() > 3 && pairs.iter().all(|(a, b, _)| exact(a) && exact(b));
    let longest = pairs.iter().max_by(|a, b| a.1.value.total_cmp(&b.1.value)).filter(|_| all)?;
    let factor = longest.0.value / longest.1.value;
    let holds = |(a, b, _): &FigurePair| {
        (a.value - factor * b.value).abs() <= 2.0 * (a.rounding + factor * b.rounding) + SLACK * a.value
    };
    let equal = || pairs.iter().all(|(a, b, _)| a.value == b.value);
    (pairs.iter().all(holds) && (factor != 1.0 || equal())).then_some(factor)
}

fn related(one: &str, other: &str, factor: f64, pairs: &[FigurePair]) -> Remark {
    let lines: Vec<usize> = pairs.iter().map(|pair| pair.2).filter(|line| *line > 0).collect();
    let (one, rows) = (capital(one), pairs.len());
    let (kind, text) = match factor {
        1.0 => {
            let why = "one count under two headings.";
            (RemarkKind::Caution, format!("{one} and {other} are equal in all {rows} rows: {why}"))
        }
        factor => {
            let factor = significant(factor);
            let how = format!("in all {rows} rows, within one in the last digit");
            (RemarkKind::Contradiction, format!("{one} = {factor} x {other} {how}. {WHY}"))
        }
    };
    Remark { id: "formula", kind, text, lines }
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    fn told(cell: impl Fn(usize, f64, f64) -> String) -> Vec<String> {
        let mut text = "mechanism,msg_size,threads,cycles,context_switches,llc_misses\n".to_string();
        let mut row = 0;
        for size in [64.0, 256.0, 1024.0, 4096.0] {
            for threads in [1.0, 2.0, 4.0, 8.0] {
                text += &format!("A1,{size},{threads},{}\n", cell(row, size, threads));
                row += 1;
            }
        }
        look(&table(&text)).into_iter().map(|remark| remark.text).collect()
    }

    /// Name against name against row took a minute.
    #[test]
    fn many_names_are_looked_at_in_a_moment() {
        let row = |n: usize| format!("way {},{},1,{}\n", n / 5, 64 << (n % 5), 1_000_000 + n * n * 37 % 911);
        let rows: String = (0..20_000).map(row).collect();
        assert_eq!(look(&table(&format!("mechanism,msg_size,threads,cycles\n{rows}"))).len(), 0);
    }

    #[test]
    fn straight_lines_are_found_and_counts_are_not() {
        let made = told(|row, size, threads| {
            format!("{},{},{}", 5.0 * size + 1000.0 * threads, 50.0 * threads, 1000 + row * row * 37 % 911)
        });
        assert_eq!(made.len(), 2, "{made:?}");
        assert!(made[0].starts_with("Cycles = 5 x size + 1000 x threads in all 16 rows"), "{made:?}");
        assert!(made[1].starts_with("Context switches = 50 x threads in all 16 rows"), "{made:?}");
        let counted = told(|row, size, threads| {
            let scatter = (row * row * 7919 % 97) as f64;
            format!(
                "{},{},{}",
                5.0 * size * threads + 1000.0 + 10.0 * scatter,
                50.0 * threads + scatter,
                500 + row * 13 % 7
            )
        });
        assert!(counted.is_empty(), "{counted:?}");
        let few = told(|_, _, threads| format!("12345678,{threads},7"));
        assert_eq!(few.len(), 1, "threads themselves have too few digits: {few:?}");
    }

    #[test]
    fn one_counter_times_a_constant() {
        let made = told(|row, _, _| {
            let misses = 31_337 + row * row * 7919 % 9973;
            format!("{},{},{misses}", 1_000_000 + row * row * row * 131 % 65537, 900 + row * 37 % 101)
        });
        assert!(made.is_empty(), "{made:?}");
        let made = told(|row, _, _| {
            let cycles = 1_000_000 + row * row * row * 131 % 65537;
            format!("{cycles},{},{}", 900 + row * 37 % 101, 2 * cycles)
        });
        assert!(made[0].starts_with("Cycles = 0.5 x LLC misses in all 16 rows"), "{made:?}");
        let made = told(|row, _, _| {
            let cycles = 1_000_000 + row * row * row * 131 % 65537;
            format!("{cycles},{},{}", 900 + row * 37 % 101, cycles / 50)
        });
        assert!(made[0].starts_with("Cycles = 50 x LLC misses in all 16 rows"), "rounded down: {made:?}");
        let row = |name: usize, n: usize| {
            let gbps = 4.5 + (n * n * 7919 % 997) as f64 / 100.0;
            format!("A{name},{},1,{gbps:.3},{:.0}\n", 64 << n, gbps * 1e9 * (name + 1) as f64)
        };
        let rows: String = (0..12).map(|n| row(1 + n / 6, n % 6)).collect();
        let made = look(&table(&format!("mechanism,size,threads,throughput_gbps,cycles\n{rows}")));
        let of_each = "Cycles = throughput in bit/s x a constant of each name (2 to 3) in all 12 rows";
        assert!(made[0].text.starts_with(of_each), "{made:?}");
    }
}
