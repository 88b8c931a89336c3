//! The levels of a curve over sizes, compared with the capacities that the machine reports.
//!
//! Where a level ends is what a program sees of a cache; what the processor reports may be more
//! (a share of it is another guest's, or other data's) or of another instance. A level is given a
//! capacity's name only where its end lies within a factor of four of it.

use crate::cells::Cells;
use crate::operations::curves::{self, CurveLine};
use crate::{Statement, words};
use syscost_core::axis::Axis;
use syscost_core::stats::{Level, levels};
use syscost_core::units::Unit;
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_measure::probe::row::{Drawing, Shape};
use syscost_measure::probe::{self, Probe};

/// Facts that are capacities, and what people call them.
const CAPACITIES: &[(&str, &str)] = &[
    ("cache_l1d_bytes", "L1d"),
    ("cache_l2_bytes", "L2"),
    ("cache_l3_bytes", "L3"),
    ("cache_l4_bytes", "L4"),
    ("memory_bytes", "memory"),
];
/// How far the end of a level may lie from the capacity that explains it.
const NEAR: f64 = 4.0;

/// Fewer points than this show no level, whatever the curve does: two plateaus of three.
const FEWEST: usize = 6;

/// What the machine says that something holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    pub name: &'static str,
    pub bytes: f64,
}

/// The capacities that a run's machine reports, smallest first.
pub fn capacities(run: &Run) -> Vec<Capacity> {
    let fact = |id: &str| run.record.host.iter().find(|f| f.id == id)?.value.as_ref()?.parse::<f64>().ok();
    let known = CAPACITIES.iter().filter_map(|(id, name)| Some(Capacity { name, bytes: fact(id)? }));
    let mut known: Vec<Capacity> = known.filter(|c| c.bytes > 0.0).collect();
    known.sort_by(|a, b| a.bytes.total_cmp(&b.bytes));
    known
}

/// The levels of one line.
pub fn of_line(line: &CurveLine) -> Vec<Level> {
    let points: Vec<(f64, f64)> = line.points.iter().map(|(x, e, _)| (*x, e.value)).collect();
    levels(&points)
}

/// A statement for each line of a curve whose levels a probe wants to know.
pub fn findings(run: &Run, cells: &Cells) -> Vec<Statement> {
    let known = capacities(run);
    let planned = |p: &&&dyn Probe| run.record.plan.cases.iter().any(|c| c.probe == p.about().id);
    let mut findings = Vec::new();
    for probe in probe::ALL.iter().filter(planned) {
        for drawing in probe.drawings() {
            let cases = curves::cases(run.record.plan.cases.iter(), probe.about().id, &drawing);
            findings.extend(of_drawing(&cases, cells, &probe.axes(), &drawing, &known));
        }
    }
    findings
}

fn of_drawing(
    cases: &[&Case],
    cells: &Cells,
    axes: &[Axis],
    drawing: &Drawing,
    known: &[Capacity],
) -> Vec<Statement> {
    let Shape::Curve { along, levels: true, .. } = drawing.shape else { return Vec::new() };
    let Some(axis) = axes.iter().find(|a| a.id == along) else { return Vec::new() };
    let known = if axis.unit == Unit::Bytes { known } else { &[] };
    curves::lines(cases, cells, axes, drawing)
        .iter()
        .filter_map(|line| tell(line, axis, drawing.title, known))
        .collect()
}

fn tell(line: &CurveLine, axis: &Axis, title: &str, known: &[Capacity]) -> Option<Statement> {
    let (first, last) = (line.points.first()?, line.points.last()?);
    let unit = first.1.unit;
    let found = of_line(line);
    let about = if line.name.is_empty() { String::new() } else { format!(" ({})", line.name) };
    let to = |x: f64| axis.unit.format(x);
    let text = match found.as_slice() {
        [] if line.points.len() < FEWEST => format!(
            "{title}{about}: {} from {} to {} are too few to find a level in.",
            words::count(line.points.len(), "size"),
            to(first.0),
            to(last.0)
        ),
        [] => format!(
            "{title}{about}: no level from {} to {}; the curve never stands still.",
            to(first.0),
            to(last.0)
        ),
        [one] if one.to_x >= last.0 => format!(
            "{title}{about}: one level, {}, and no knee up to {}: what holds the data holds at least that.",
            words::figure(one.value, unit),
            to(last.0)
        ),
        several => {
            let named = matched(several, known);
            let parts: Vec<String> = several
                .iter()
                .zip(&named)
                .map(|(level, capacity)| {
                    let value = words::figure(level.value, unit);
                    let capacity = capacity
                        .map_or(String::new(), |c| format!(" ({}: {} reported)", c.name, to(c.bytes)));
                    if level.to_x >= last.0 {
                        // It ends where the measurement does.
                        return format!("{value} from {} on", to(level.from_x));
                    }
                    format!("{value} up to about {}{capacity}", to(level.to_x))
                })
                .collect();
            let spanned = |c: &&Capacity| c.bytes > first.0 && c.bytes * NEAR < last.0;
            let unseen: Vec<String> = known
                .iter()
                .filter(spanned)
                .filter(|c| !named.iter().flatten().any(|n| n.name == c.name))
                .map(|c| format!("{} ({} reported)", c.name, to(c.bytes)))
                .collect();
            let unseen = if unseen.is_empty() {
                String::new()
            } else {
                format!(" No level ends near {}.", words::and(&unseen))
            };
            format!(
                "{title}{about}: {} seen: {}.{unseen}",
                words::count(several.len(), "level"),
                words::and(&parts)
            )
        }
    };
    let cells = line.points.iter().filter(|(x, ..)| found.iter().any(|l| l.to_x == *x));
    let mut cells: Vec<_> = cells.map(|(_, _, cell)| cell.clone()).collect();
    if cells.is_empty() {
        cells = vec![first.2.clone(), last.2.clone()];
    }
    Some(Statement { text, cells })
}

/// The capacity that explains each level's end: the nearest, and each explains one.
fn matched(found: &[Level], known: &[Capacity]) -> Vec<Option<Capacity>> {
    let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
    // The last level ends where the measurement does.
    for (i, level) in found.iter().enumerate().take(found.len().saturating_sub(1)) {
        for (j, capacity) in known.iter().enumerate() {
            let distance = (level.to_x / capacity.bytes).ln().abs();
            if distance <= NEAR.ln() {
                pairs.push((distance, i, j));
            }
        }
    }
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut named = vec![None; found.len()];
    let mut taken = vec![false; known.len()];
    for (_, i, j) in pairs {
        if named[i].is_none() && !taken[j] {
            named[i] = Some(known[j]);
            taken[j] = true;
        }
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CellRef;
    use syscost_core::stats::Estimate;
    use syscost_host::Fact;

    const KIB: f64 = 1024.0;

    fn line(value: impl Fn(f64) -> f64) -> CurveLine {
        let point = |i: u32| {
            let x = KIB * 4.0 * f64::from(1u32 << i);
            let (value, unit) = (value(x), Unit::Nanoseconds);
            let e = Estimate { value, low: value, high: value, level: 0.95, n: 8, unit };
            (x, e, CellRef { case: i as usize, metric: "cost" })
        };
        CurveLine { name: "huge pages on".into(), points: (0..17).map(point).collect() }
    }

    fn axis() -> Axis {
        let axes = probe::find("transfer").unwrap().axes();
        *axes.iter().find(|a| a.unit == Unit::Bytes).unwrap()
    }

    fn known() -> Vec<Capacity> {
        let of = |(name, kib): (&'static str, f64)| Capacity { name, bytes: kib * KIB };
        [("L1d", 48.0), ("L2", 1024.0), ("L3", 32.0 * KIB), ("memory", 1e9)].map(of).to_vec()
    }

    #[test]
    fn levels_are_told_beside_what_is_reported() {
        let steps = |x: f64| match x / KIB {
            x if x <= 32.0 => 1.2,
            x if x <= 16.0 * KIB => 20.0,
            _ => 100.0,
        };
        let told = tell(&line(steps), &axis(), "Load latency", &known()).unwrap();
        assert_eq!(
            told.text,
            "Load latency (huge pages on): 3 levels seen: 1.2 ns up to about 32 KiB (L1d: 48 KiB reported), 20 ns up \
             to about 16 MiB (L3: 32 MiB reported) and 100 ns from 32 MiB on. No level ends near L2 (1 MiB reported)."
        );
        assert_eq!(told.cells.iter().map(|c| c.case).collect::<Vec<_>>(), [3, 12, 16]);
    }

    #[test]
    fn no_knee_is_an_answer() {
        let told = tell(&line(|_| 80.0), &axis(), "Page cache", &known()).unwrap();
        assert!(told.text.ends_with(
            "one level, 80 ns, and no knee up to 256 MiB: what holds the data holds at least that."
        ));
        let short = CurveLine { points: line(|x| x).points[..4].to_vec(), ..line(|x| x) };
        let short = tell(&short, &axis(), "Short", &[]).unwrap();
        assert_eq!(
            short.text,
            "Short (huge pages on): 4 sizes from 4 KiB to 32 KiB are too few to find a level in."
        );
        let ramp = tell(&line(|x| x), &axis(), "Ramp", &[]).unwrap();
        assert!(ramp.text.contains("never stands still") && ramp.cells.len() == 2, "{}", ramp.text);
    }

    #[test]
    fn capacities_come_from_the_facts_of_the_machine() {
        let mut run = crate::synthetic::Synthetic::default().run();
        for (id, value) in [
            ("cache_l2_bytes", Some("1048576")),
            ("cache_l1d_bytes", Some("32768")),
            ("cache_l3_bytes", None),
        ] {
            let value = value.map(String::from);
            run.record.host.push(Fact { id: id.into(), title: id.into(), value, source: String::new() });
        }
        let names: Vec<&str> = capacities(&run).iter().map(|c| c.name).collect();
        assert_eq!(names, ["L1d", "L2"]);
        assert!(findings(&run, &Cells::of(&run)).is_empty(), "nothing here asks for levels");
    }
}
