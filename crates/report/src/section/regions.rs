//! Where each way is best: a map over size and threads for each metric that ranks and each reader's situation.

use super::unless_empty;
use crate::escape::slug;
use crate::material::Material;
use crate::text::recommendation::condition;
use crate::{Block, RegionMap, RegionPlace, RegionRow, Section};
use std::collections::BTreeMap;
use syscost_analyze::compare::study::{ALONG, RIVALS};
use syscost_analyze::compare::winners::Sure;
use syscost_analyze::recommend::advice::borders;
use syscost_analyze::recommend::line::{LineStep, SizeLine, Way, lines};
use syscost_analyze::recommend::situation::Situation;
use syscost_analyze::words::{Words, and};
use syscost_core::axis::Point;
use syscost_core::units;
use syscost_measure::probe;
use syscost_measure::probe::transfer::axes::THREADS;

/// Combinations of the other axes that are drawn, as long as the page has room for their places.
const COMBINATIONS: usize = 6;
const PLACES: usize = 1000;
/// Places of a row that are all drawn; of more, the ends of each run of equal answers are.
const ROW_PLACES: usize = 64;

pub fn section(m: &Material) -> Option<Section> {
    let words = Words::of(m.run);
    let mut styles = Styles::of(m);
    let mut blocks = Vec::new();
    let mut places = 0;
    let readers =
        Situation::ALL.into_iter().flat_map(|situation| m.analysis.ways.iter().map(move |s| (situation, s)));
    for (situation, study) in readers {
        let mut grids: BTreeMap<(&str, Point), Vec<SizeLine>> = BTreeMap::new();
        for line in lines(m.run, study, ALONG.id, situation).into_iter().filter(contested) {
            grids.entry((line.probe, line.held.clone())).or_default().push(line);
        }
        for lines in grids.into_values().take(COMBINATIONS) {
            let map = map(&words, situation, &lines, &mut styles);
            places += map.rows.iter().map(|row| row.places.len()).sum::<usize>();
            if places > PLACES {
                break;
            }
            blocks.push(Block::Regions(map));
        }
    }
    if blocks.is_empty() {
        return None;
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

/// Several places, and something that competes at them.
fn contested(line: &SizeLine<'_>) -> bool {
    line.steps.len() > 1 && line.steps.iter().any(|step| step.sure != Sure::Alone)
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

/// Of lines that differ in threads alone, ascending.
fn map(words: &Words, situation: Situation, lines: &[SizeLine<'_>], styles: &mut Styles) -> RegionMap {
    let metric = &lines[0].study.comparisons.metric;
    let mut names: Vec<(String, usize)> = Vec::new();
    let mut index = |name: String| {
        names.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            let style = styles.style(&name);
            names.push((name, style));
            names.len() - 1
        })
    };
    let rows = lines.iter().map(|line| {
        let places = legible(line.steps.iter().map(|step| place(words, line, step, &mut index)).collect());
        let borders = borders(line).into_iter().map(|(low, high)| (low as f64, high as f64)).collect();
        let label = line.threads.first().map_or_else(|| "all".into(), u64::to_string);
        RegionRow { label, places, borders }
    });
    let rows = rows.collect();
    let place = words.place(&lines[0].held, &words.constant());
    let space = if place.is_empty() { "" } else { " " };
    let title = format!("Best {} if {}{space}{place}", metric.title, condition(situation));
    RegionMap {
        id: slug(&format!("regions {} {} {place}", metric.id, condition(situation))),
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
    words: &Words,
    line: &SizeLine<'_>,
    step: &LineStep,
    index: &mut impl FnMut(String) -> usize,
) -> RegionPlace {
    let name = |way: &Way| {
        probe::find(line.probe).map_or_else(String::new, |probe| words.way(probe, way, RIVALS.id))
    };
    let good: Vec<String> = step.good.iter().map(name).collect();
    let best: Vec<usize> = good.iter().cloned().map(index).collect();
    let (size, title, ways) =
        (units::short_bytes(step.at), line.study.comparisons.metric.title, step.measured.len());
    let detail = match step.sure {
        Sure::Best => format!("{size}: {} has significantly the best {title} of {ways} ways", and(&good)),
        Sure::Same => format!(
            "{size}: {} of {ways} ways are the best and the same within 3 % in {title}: {}",
            good.len(),
            and(&good)
        ),
        Sure::Alone => format!("{size}: only {} was measured", and(&good)),
        Sure::Undecided => {
            format!(
                "{size}: undecided which of {} of {ways} ways is best in {title}: {}",
                good.len(),
                and(&good)
            )
        }
    };
    RegionPlace { x: step.at as f64, label: size, best, significant: step.sure == Sure::Best, detail }
}
