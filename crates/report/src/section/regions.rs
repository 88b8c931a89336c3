//! Where each way is best: a map over size and threads for each metric that ranks and each reader's situation.

use super::unless_empty;
use crate::escape::slug;
use crate::material::Material;
use crate::rivals::RivalField;
use crate::text::recommendation::condition;
use crate::text::words::{Words, and};
use crate::{Block, RegionMap, RegionPlace, RegionRow, Section};
use std::collections::BTreeMap;
use syscost_analyze::compare::study::{ALONG, RIVALS};
use syscost_analyze::compare::winners::Sure;
use syscost_analyze::recommend::advice::borders;
use syscost_analyze::recommend::line::{SizeLine, SizePlace, Way, lines};
use syscost_analyze::recommend::situation::Situation;
use syscost_core::axis::Point;
use syscost_core::sample::Better;
use syscost_core::units;
use syscost_core::units::count;
use syscost_measure::probe;
use syscost_measure::probe::transfer::axes::THREADS;

/// Combinations of the other axes that are drawn, as long as the page has room for their places.
const COMBINATIONS: usize = 6;
const PLACES: usize = 1000;
/// Places of a row that are all drawn; of more, the ends of each run of equal answers are.
const ROW_PLACES: usize = 64;

/// Where only the mechanism differs, the figure and the table say the same.
pub fn section(m: &Material) -> Option<Section> {
    if !m.analysis.ways_vary {
        return None;
    }
    let words = Words::of(m.run);
    let mut styles = Styles { words: &words, fields: RivalField::all(m), more: Vec::new() };
    let mut places = 0;
    let mut metrics = Vec::new();
    for study in &m.analysis.ways {
        let mut readers = Vec::new();
        for situation in Situation::ALL {
            let mut grids: BTreeMap<(&str, Point), Vec<SizeLine>> = BTreeMap::new();
            for line in lines(m.run, study, ALONG.id, situation).into_iter().filter(contested) {
                grids.entry((line.probe, line.held.clone())).or_default().push(line);
            }
            let mut maps = Vec::new();
            for lines in grids.into_values().take(COMBINATIONS) {
                let map = map(&words, situation, &lines, &mut styles);
                places += map.rows.iter().map(|row| row.places.len()).sum::<usize>();
                if places > PLACES {
                    break;
                }
                maps.push(Block::Regions(map));
            }
            if !maps.is_empty() {
                readers.push((condition(situation).trim_start_matches("your ").to_string(), maps));
            }
        }
        let id = format!("readers-{}", study.comparisons.metric.id);
        metrics.push((study.comparisons.metric.title.to_string(), Block::tabs(&id, readers)));
    }
    metrics.retain(|(_, blocks)| !blocks.is_empty());
    let mut blocks = Block::tabs("regions-tabs", metrics);
    if blocks.is_empty() {
        return None;
    }
    let plan = &m.run.record.plan;
    if !plan.refinements.is_empty() {
        blocks.push(Block::Note(format!(
            "{} of {} cases were added in {} of refinement, with the ways that could be best there.",
            plan.refined(),
            plan.cases.len(),
            super::plural(plan.refinements.len(), "stage")
        )));
    }
    unless_empty("regions", "Where each way is best", blocks)
}

/// Several places, and something that competes at them.
fn contested(line: &SizeLine<'_>) -> bool {
    line.steps.len() > 1 && line.steps.iter().any(|step| step.sure != Sure::Alone)
}

/// The name and the style of each way: those of the figure where it is drawn, else a style of its own.
struct Styles<'a> {
    words: &'a Words,
    fields: Vec<RivalField<'a>>,
    /// Of ways that the figure has no room for.
    more: Vec<String>,
}

impl Styles<'_> {
    fn of_way(&mut self, probe: &str, way: &Way) -> (String, usize) {
        let known = self.fields.iter().find_map(|field| field.way(way));
        let name = known.map_or_else(|| self.name(probe, way), |way| way.name.clone());
        if let Some(style) = known.and_then(|way| way.style) {
            return (name, style);
        }
        let place = self.more.iter().position(|n| *n == name).unwrap_or_else(|| {
            self.more.push(name.clone());
            self.more.len() - 1
        });
        (name, place + crate::svg::COLOURS * MORE)
    }

    fn name(&self, probe: &str, way: &Way) -> String {
        probe::find(probe).map_or_else(String::new, |probe| self.words.way(probe, way, RIVALS.id))
    }
}

/// Dashes that no way of the figure has: a map shows colours alone.
const MORE: usize = 3;

/// Of lines that differ in threads alone, ascending.
fn map(words: &Words, situation: Situation, lines: &[SizeLine<'_>], styles: &mut Styles) -> RegionMap {
    let metric = &lines[0].study.comparisons.metric;
    let mut names: Vec<(String, usize)> = Vec::new();
    let probe = lines[0].probe;
    let mut index = |way: &Way| {
        let (name, style) = styles.of_way(probe, way);
        names.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
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
    let mut rows: Vec<RegionRow> = rows.collect();
    // One row needs no axis: its title says at how many threads.
    let alone = match (&mut rows[..], &lines[0].threads[..]) {
        ([row], [only]) => {
            row.label.clear();
            format!(", {}", count(*only as usize, "thread"))
        }
        _ => String::new(),
    };
    let place = words.place(&lines[0].held, &words.constant());
    let space = if place.is_empty() { "" } else { " " };
    let title = format!("Lowest {}{space}{place}{alone}", metric.title);
    let title = if metric.better == Better::Higher { title.replacen("Lowest", "Highest", 1) } else { title };
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
    step: &SizePlace,
    index: &mut impl FnMut(&Way) -> usize,
) -> RegionPlace {
    let name = |way: &Way| {
        probe::find(line.probe).map_or_else(String::new, |probe| words.way(probe, way, RIVALS.id))
    };
    let good: Vec<String> = step.good.iter().map(name).collect();
    let best: Vec<usize> = step.good.iter().map(index).collect();
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
