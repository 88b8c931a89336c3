//! Reports of a recorded run in `tests/data`: the files of today's build against yesterday's.
//!
//! After a wanted change: SYSCOST_BLESS=1 cargo test --test report golden, and read the diff.

use crate::common::{self, Shape};
use std::fs;
use std::path::{Path, PathBuf};
use syscost_analyze::whole::Analysis;
use syscost_experiment::run::RunDir;
use syscost_report::terminal::{self, Look};
use syscost_report::{Block, Entry, Report, build, csv, diagram, html, svg};

/// Small on purpose: it is read in diffs.
fn shape() -> Shape {
    Shape { sizes: vec![64, 4096, 262144], rounds: 7, samples: 1, ..common::small() }
}

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/small-run")
}

fn bless() -> bool {
    std::env::var_os("SYSCOST_BLESS").is_some()
}

/// The report as plain text: everything that any renderer shows, so that a diff can be read.
fn outline(report: &Report) -> String {
    let mut out = format!("# {}\n{}\n", report.title, report.subtitle);
    for s in &report.verdict {
        out.push_str(&format!(
            "verdict: {} {:?}\n",
            s.text,
            s.cells.iter().map(|c| c.case).collect::<Vec<_>>()
        ));
    }
    for section in &report.sections {
        out.push_str(&format!("\n## {} ({})\n", section.title, section.id));
        for block in &section.blocks {
            out.push_str(&block_outline(block));
        }
    }
    out
}

fn block_outline(block: &Block) -> String {
    match block {
        Block::Heading(text) => format!("### {text}\n"),
        Block::Question(link) => format!("### {} ({})\n", link.text, link.id),
        Block::Contents(links) => links.iter().map(|l| format!("> {} ({})\n", l.text, l.id)).collect(),
        Block::Text(text) => format!("{text}\n"),
        Block::Facts { facts, .. } => facts.iter().map(|(t, v, s)| format!("{t}: {v} ({s})\n")).collect(),
        Block::Command(text) => format!("$ {text}\n"),
        Block::Statement(s) => format!("- {}\n", s.text),
        Block::Statements(list) => list.iter().map(|s| format!("- {}\n", s.text)).collect(),
        Block::Notice(n) => format!("! {} | {} | {} | {:?}\n", n.title, n.text, n.remedy, n.cases),
        Block::Table(table) => {
            let show = |e: &Entry| match e {
                Entry::Text(text) | Entry::Named { text, .. } => text.clone(),
                Entry::Number(n, unit) => unit.format(*n),
                Entry::Estimate { estimate, .. } => svg::with_interval(estimate),
                Entry::Share { share, signed } => Entry::share(*share, *signed),
                Entry::Missing => "-".into(),
            };
            let row = |r: &Vec<Entry>| r.iter().map(show).collect::<Vec<_>>().join(" | ") + "\n";
            let rows: String = table.rows.iter().map(row).collect();
            format!(
                "table {}: {}\n{rows}{}\n",
                table.id,
                table.columns.join(" | "),
                table.note.clone().unwrap_or_default()
            )
        }
        Block::Plot(plot) => {
            let names: Vec<String> =
                plot.series.iter().map(|s| format!("{} ({})", s.name, s.points.len())).collect();
            format!("plot {}: {}: {}\n", plot.id, plot.title, names.join(", "))
        }
        Block::Map(map) => {
            let cell =
                |c: &syscost_report::MapCell| c.winner.map_or(c.label.clone(), |w| map.names[w].clone());
            let rows = map.winners.chunks(map.x.len()).zip(&map.y);
            let rows: String = rows
                .map(|(r, y)| format!("{y}: {}\n", r.iter().map(cell).collect::<Vec<_>>().join(", ")))
                .collect();
            format!("map {}: {}\n{rows}", map.id, map.x.join(", "))
        }
        Block::Heat(map) => {
            let label = |c: &Option<syscost_report::HeatCell>| {
                c.as_ref().map_or("-".into(), |c| format!("{}/{}", c.label, c.shade))
            };
            let rows = map.cells.chunks(map.x.len()).zip(&map.y);
            let rows: String = rows
                .map(|(r, y)| format!("{y}: {}\n", r.iter().map(label).collect::<Vec<_>>().join(", ")))
                .collect();
            format!("heat {}: {} in {}: {}\n{rows}", map.id, map.title, map.unit, map.x.join(", "))
        }
        Block::Diagram(d) => {
            let claim = d.claim.as_ref().map_or("", |(_, claim)| claim);
            format!("path {}: {}: {} | {claim} | {}\n", d.id, d.title, diagram::line(d), d.notes.join("; "))
        }
        Block::Regions(map) => {
            let name = |i: &usize| map.names[*i].0.clone();
            let place = |p: &syscost_report::RegionPlace| {
                let best = p.best.iter().map(name).collect::<Vec<_>>().join(" or ");
                format!("{} {best}{}", p.label, if p.claimed { "!" } else { "" })
            };
            let row = |r: &syscost_report::RegionRow| {
                let places = r.places.iter().map(place).collect::<Vec<_>>().join(", ");
                format!("{}: {places} | {:?}\n", r.label, r.borders)
            };
            format!("regions {}: {}\n{}", map.id, map.title, map.rows.iter().map(row).collect::<String>())
        }
        Block::Bars(bars) => {
            let row = |b: &syscost_report::StackedBar| {
                let parts: Vec<String> = b.parts.iter().map(|part| bars.unit.format(*part)).collect();
                format!("{}: {} | {}\n", b.label, parts.join(", "), bars.unit.format(b.measured))
            };
            let rows: String = bars.bars.iter().map(row).collect();
            format!("bars {}: {}: {}\n{rows}", bars.id, bars.title, bars.parts.join(", "))
        }
        Block::Folded { title, blocks } => {
            format!("> {title}\n{}", blocks.iter().map(block_outline).collect::<String>())
        }
    }
}

#[test]
fn the_recorded_run_gives_the_recorded_reports() {
    let dir = recorded();
    if bless() {
        let run = common::run(&shape());
        let _ = fs::remove_dir_all(&dir);
        RunDir::create(&dir, &run.record).unwrap().append(&run.samples).unwrap();
    }
    let run = RunDir::load(&dir).expect("SYSCOST_BLESS=1 makes tests/data/small-run");
    let analysis = Analysis::of(&run);
    let report = build::report(&run, &analysis);
    let terminal =
        terminal::text(&report, Some(Path::new("DIR/report.html")), Look { width: 80, colour: false });
    let files = [
        ("results.csv", csv::results(&run, &analysis.cells)),
        ("terminal.txt", terminal),
        ("outline.txt", outline(&report)),
    ];
    for (name, now) in files {
        let path = dir.with_file_name(format!("small-run.{name}"));
        if bless() {
            fs::write(&path, &now).unwrap();
        }
        let before = fs::read_to_string(&path).unwrap_or_default();
        let differs = before.lines().zip(now.lines()).position(|(a, b)| a != b);
        assert!(
            before == now,
            "{} differs from line {:?}: {:?} is now {:?}; if wanted: SYSCOST_BLESS=1 cargo test --test report golden",
            path.display(),
            differs.map(|l| l + 1),
            differs.and_then(|l| before.lines().nth(l)),
            differs.and_then(|l| now.lines().nth(l)),
        );
    }
    assert_eq!(html::page(&report), html::page(&build::report(&run, &Analysis::of(&run))));
}
