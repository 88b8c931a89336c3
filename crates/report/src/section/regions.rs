//! Where each way is best: a map over size and threads for each metric that ranks, and the recommendations that
//! the verdict has no room for.

use super::{unless_empty, verdict};
use crate::escape::slug;
use crate::material::Material;
use crate::{Block, RegionMap, RegionPlace, RegionRow, Section, Statement};
use std::collections::BTreeMap;
use syscost_analyze::compare::study::{ALONG, Study};
use syscost_analyze::compare::winners::Outcome;
use syscost_analyze::recommend::choice::Namer;
use syscost_analyze::recommend::regions::{self, RegionLine, RegionStep};
use syscost_analyze::words::{Words, and};
use syscost_core::axis::{Point, Value};
use syscost_core::units;
use syscost_measure::probe::transfer::axes::THREADS;

/// Combinations of the other axes that are drawn, as long as the page has room for their places.
const COMBINATIONS: usize = 6;
const PLACES: usize = 1000;
/// Places of a row that are all drawn; of more, the ends of each run of equal answers are.
const ROW_PLACES: usize = 64;

pub fn section(m: &Material) -> Option<Section> {
    let words = Words::of(m.run);
    let namer = Namer { run: m.run, words: &words };
    let mut styles = Styles::of(m);
    let mut maps = Vec::new();
    let mut places = 0;
    for study in &m.analysis.ways {
        let lines = regions::lines(m.run, study, ALONG.id);
        let mut grids: BTreeMap<Point, Vec<&RegionLine>> = BTreeMap::new();
        for line in lines.iter().filter(|l| l.steps.len() > 1) {
            grids.entry(line.held.without(THREADS.id)).or_default().push(line);
        }
        for (rest, mut lines) in grids.into_iter().take(COMBINATIONS) {
            lines.sort_by_key(|l| l.held.int(THREADS));
            let map = map(&namer, study, &rest, &lines, &mut styles);
            places += map.rows.iter().map(|row| row.places.len()).sum::<usize>();
            if places > PLACES {
                break;
            }
            maps.push(Block::Regions(map));
        }
    }
    if maps.is_empty() {
        return None;
    }
    let mut blocks = maps;
    let rest: Vec<Statement> = verdict::recommendations(m).into_iter().skip(verdict::PARAGRAPHS).collect();
    if !rest.is_empty() {
        blocks.push(Block::Statements(rest));
    }
    let plan = &m.run.record.plan;
    if !plan.refinements.is_empty() {
        blocks.push(Block::Text(format!(
            "{} of {} cases were added in {} of refinement, each between two places with different answers; there only \
             the ways that could be best by what was measured on either side were run.",
            plan.refined(),
            plan.cases.len(),
            super::plural(plan.refinements.len(), "stage")
        )));
    }
    unless_empty("regions", "Where each way is best", "Regions", blocks)
}

/// The style of each way: that of its mechanism's lines where it is one of them, else one of its own.
struct Styles {
    known: Vec<String>,
}

impl Styles {
    fn of(m: &Material) -> Styles {
        let series = m.layouts.iter().find(|l| l.comparable()).map(|l| l.series.clone());
        Styles { known: series.unwrap_or_default() }
    }

    fn style(&mut self, name: &str) -> usize {
        let known = self.known.iter().position(|n| n == name);
        known.unwrap_or_else(|| {
            self.known.push(name.to_string());
            self.known.len() - 1
        })
    }
}

fn map(namer: &Namer, study: &Study, rest: &Point, lines: &[&RegionLine], styles: &mut Styles) -> RegionMap {
    let metric = &study.comparisons.metric;
    let mut names: Vec<(String, usize)> = Vec::new();
    let mut index = |name: String| {
        names.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            let style = styles.style(&name);
            names.push((name, style));
            names.len() - 1
        })
    };
    let rows = lines.iter().map(|line| {
        let places = legible(line.steps.iter().map(|step| place(namer, study, step, &mut index)).collect());
        let ranges = regions::ranges(&[*line]);
        let borders = ranges.windows(2).map(|pair| (pair[0].to as f64, pair[1].from as f64)).collect();
        let label = line.held.get(THREADS.id).map_or_else(|| "all".into(), Value::to_string);
        RegionRow { label, places, borders }
    });
    let rows = rows.collect();
    let place = namer.words.place(rest, &namer.words.constant());
    let title = format!("Best {}{}{place}", metric.title, if place.is_empty() { "" } else { " " });
    RegionMap {
        id: slug(&format!("regions {} {place}", metric.id)),
        title,
        x_title: "message size".into(),
        y_title: THREADS.id.into(),
        names,
        rows,
    }
}

/// What a row has room for: between two places with the same answer lies nothing to be seen.
fn legible(places: Vec<RegionPlace>) -> Vec<RegionPlace> {
    if places.len() <= ROW_PLACES {
        return places;
    }
    let alike = |a: &RegionPlace, b: &RegionPlace| (&a.best, a.significant) == (&b.best, b.significant);
    let ends = |run: &[RegionPlace]| match run {
        [first, .., last] => vec![first.clone(), last.clone()],
        alone => alone.to_vec(),
    };
    places.chunk_by(alike).flat_map(ends).collect()
}

fn place(
    namer: &Namer,
    study: &Study,
    step: &RegionStep,
    index: &mut impl FnMut(String) -> usize,
) -> RegionPlace {
    let case_of = |way| step.case(way);
    let best: Vec<usize> = step.good.iter().filter_map(case_of).map(|case| index(namer.name(case))).collect();
    let good: Vec<String> = step.good.iter().filter_map(case_of).map(|case| namer.name(case)).collect();
    let significant = step.significant().is_some();
    let size = units::short_bytes(step.at);
    let title = study.comparisons.metric.title;
    let ways = step.measured.len();
    let detail = match step.winner.outcome {
        Outcome::Wins(_) => {
            format!("{size}: {} has significantly the best {title} of {ways} ways", and(&good))
        }
        Outcome::Same(_) => {
            format!(
                "{size}: {} of {ways} ways are the best and the same within 3 % in {title}: {}",
                good.len(),
                and(&good)
            )
        }
        _ => format!(
            "{size}: undecided which of {} of {ways} ways is best in {title}: {}",
            good.len(),
            and(&good)
        ),
    };
    RegionPlace { x: step.at as f64, label: size, best, significant, detail }
}
