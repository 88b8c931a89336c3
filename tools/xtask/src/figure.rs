//! The picture of README.md and the sentences under it: what each rival costs relative to the control, by
//! message size, over all thread counts. Made of `comparisons.csv`, as anybody could.

use crate::rivals::{self, RivalScope};
use crate::{Generated, Tree};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::path::Path;
use syscost_analyze::whole::Analysis;
use syscost_core::stats::Estimate;
use syscost_core::units::Unit;
use syscost_experiment::run::Run;
use syscost_measure::probe::transfer::axes::MECHANISM;
use syscost_report::{Plot, PlotAxis, Scale, Series, SvgDrawing, comparisons, html};

const RUN: &str = "docs/runs/default";
const METRIC: &str = "total_cpu_ns_per_byte";
const DARK: &str = "@media (prefers-color-scheme:dark){";

/// What one rival costs relative to the control at one size.
struct Ratio {
    estimate: Estimate,
    /// A difference was found.
    significant: bool,
}

/// By rival, then by size.
type Ratios = BTreeMap<String, BTreeMap<u64, Ratio>>;

pub fn files(tree: &Tree) -> Result<Vec<Generated>> {
    let run = tree.load(RUN)?;
    let analysis = Analysis::of(&run);
    let svg = plot(&run, &ratios(&run, &analysis)?)?.standalone();
    let report = syscost_report::build::report(&run, &analysis);
    let file = |name: &str, content: String| Generated {
        path: Path::new("docs").join(name),
        content: content.into(),
    };
    Ok(vec![
        file("cost-light.svg", themed(&svg, |_| "")),
        file("cost-dark.svg", themed(&svg, |dark| dark)),
        file("report.html", html::page(&report)),
    ])
}

/// The picture in the reader's theme, and three sentences of it.
pub fn text(tree: &Tree, dir: &str) -> Result<String> {
    let run = tree.load(dir)?;
    let control = control(&run)?;
    let ratios = ratios(&run, &Analysis::of(&run))?;
    let title = plot(&run, &ratios)?.title;
    Ok(format!(
        "<picture>\n  <source media=\"(prefers-color-scheme: dark)\" srcset=\"docs/cost-dark.svg\">\n  \
         <img alt=\"{title}\" src=\"docs/cost-light.svg\" width=\"720\">\n</picture>\n\n{}\n",
        textwrap::fill(&sentences(control, &ratios), 110)
    ))
}

/// A file for one theme: a page chooses by its own theme, which need not be that of the system.
fn themed(svg: &str, dark: impl Fn(&str) -> &str) -> String {
    let mut parts = svg.split(DARK);
    let first = parts.next().unwrap_or_default().to_string();
    parts.fold(first, |out, part| {
        let (rules, rest) = part.split_once("}}").unwrap_or((part, ""));
        let rules = dark(rules);
        out + rules + if rules.is_empty() { "" } else { "}" } + rest
    })
}

/// The mechanism that every block has twice.
fn control(run: &Run) -> Result<&str> {
    let twin = run.record.plan.cases.iter().find(|case| case.twin_of.is_some());
    twin.and_then(|case| case.point.text(MECHANISM)).context("the run has no control")
}

fn ratios(run: &Run, analysis: &Analysis) -> Result<Ratios> {
    let control = control(run)?;
    let mut ratios = Ratios::new();
    for pair in rivals::beside(control, METRIC, &comparisons::text(run, analysis))? {
        if pair.scope != RivalScope::OverThreads {
            continue;
        }
        let (low, high) = pair.ci_low.zip(pair.ci_high).context("a ratio has an interval")?;
        let (value, level, n, unit) = (pair.ratio, pair.ci_level, pair.rounds, Unit::Ratio);
        let ratio = Ratio {
            estimate: Estimate { value, low, high, level, n, unit },
            significant: pair.verdict.differs(),
        };
        ratios.entry(pair.rival).or_default().insert(pair.message_bytes, ratio);
    }
    ensure!(!ratios.is_empty(), "the run compares nothing with {control}");
    Ok(ratios)
}

fn plot(run: &Run, ratios: &Ratios) -> Result<Plot> {
    let control = control(run)?;
    let series = ratios.iter().enumerate().map(|(style, (rival, by_size))| {
        let points = by_size.iter().map(|(size, ratio)| (*size as f64, ratio.estimate)).collect();
        Series::of(rival, style, points)
    });
    let axes = (
        PlotAxis { title: "message size".into(), unit: Unit::Bytes, scale: Scale::Log2 },
        PlotAxis { title: format!("cost of {control} = 1"), unit: Unit::Ratio, scale: Scale::Log2 },
    );
    let title = format!("CPU time of a message, relative to {control}");
    let plot = Plot::of("cost", title, axes, series.collect()).context("there are rivals")?;
    // The control is at 1.
    let ends = ratios.values().flat_map(BTreeMap::values).flat_map(|r| [r.estimate.low, r.estimate.high]);
    let span = ends.fold((1.0, 1.0), |(low, high), end| (f64::min(low, end), f64::max(high, end)));
    Ok(Plot { span: Some(span), ..plot })
}

/// One sentence for each of the two rivals that differ most, one for the others.
fn sentences(control: &str, ratios: &Ratios) -> String {
    let furthest = |by_size: &BTreeMap<u64, Ratio>| {
        by_size.values().map(|ratio| ratio.estimate.value.ln().abs()).fold(0.0, f64::max)
    };
    let mut rivals: Vec<_> = ratios.iter().collect();
    rivals.sort_by(|a, b| furthest(b.1).total_cmp(&furthest(a.1)));
    let (far, near) = rivals.split_at(rivals.len().min(2));
    let mut sentences: Vec<String> =
        far.iter().map(|rival| sentence(std::slice::from_ref(rival), control)).collect();
    if !near.is_empty() {
        sentences.push(sentence(near, control));
    }
    sentences.join(" ")
}

/// `7.7x`, `1.08x`: two digits of the difference.
fn times(ratio: f64) -> String {
    if ratio < 1.5 { format!("{ratio:.2}x") } else { format!("{ratio:.1}x") }
}

/// `send_fields costs 1.1x to 7.7x as much CPU time as send, most at 64 B (significant at 8 of 8 sizes).`
fn sentence(rivals: &[(&String, &BTreeMap<u64, Ratio>)], control: &str) -> String {
    let names: Vec<String> = rivals.iter().map(|(name, _)| format!("`{name}`")).collect();
    let all = || rivals.iter().flat_map(|(_, by_size)| by_size.iter());
    let ordered = |a: &f64, b: &f64| a.total_cmp(b);
    let value = |(_, ratio): (&u64, &Ratio)| ratio.estimate.value;
    let (low, high) = (all().map(value).min_by(ordered), all().map(value).max_by(ordered));
    let dearest = all().max_by(|a, b| value(*a).total_cmp(&value(*b))).map_or(0, |(size, _)| *size);
    let found = all().filter(|(_, ratio)| ratio.significant).count();
    format!(
        "{} {} {} to {} as much CPU time as `{control}`, most at {} (significant at {found} of {} points).",
        names.join(" and "),
        if rivals.len() == 1 { "costs" } else { "cost" },
        times(low.unwrap_or(1.0)),
        times(high.unwrap_or(1.0)),
        Unit::Bytes.format(dearest as f64),
        all().count()
    )
}
