//! The report as one HTML file: no script, no network, light and dark, phone to wide screen.
//!
//! Markup only; every text is escaped by maud after control characters are written out, and the
//! page's own policy forbids anything it does not carry. Drawing is in [`super::svg`].

use super::escape::visible;
use super::sentence::{self, Targets, prose, sentence};
use super::{Block, Entry, Notice, Plot, Report, Section, Standing, SvgDrawing, Table, policy, svg};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use syscost_core::stats::Estimate;
use syscost_core::units::{self, Unit};

/// Renders the whole page.
pub fn page(report: &Report) -> String {
    let targets = Targets::of(report);
    let style = [svg::STYLE, include_str!("page.css")].concat();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy::of(&style));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (visible(&report.title)) }
                style { (PreEscaped(&style)) }
            }
            body {
                div.wrap { header {
                    p.eyebrow { "syscost report" }
                    h1 { (visible(&report.title)) }
                    p.subtitle { (visible(&report.subtitle)) }
                } }
                (navigation(report))
                main.wrap {
                    @for error in &report.errors { div.error role="alert" { (notice(error)) } }
                    (verdict(report, &targets))
                    @for section in &report.sections { (self::section(section, &targets)) }
                    footer { "Made by syscost from the recorded samples; nothing on this page was loaded from anywhere else." }
                }
            }
        }
    };
    page.into_string()
}

fn navigation(report: &Report) -> Markup {
    html! {
        nav aria-label="Sections" { div.wrap {
            a href="#verdict" { "Verdict" }
            @for section in &report.sections { a href={"#" (section.id)} { (visible(&section.short)) } }
        } }
    }
}

fn verdict(report: &Report, targets: &Targets) -> Markup {
    html! {
        div.verdict id="verdict" {
            h2 { "Verdict" }
            @if let Some((lead, rest)) = report.verdict.split_first() {
                div.said.lead { (sentence(lead, targets)) }
                @if !rest.is_empty() { ul { @for s in rest { li { (sentence(s, targets)) } } } }
            }
            @if !report.notices.is_empty() {
                p.count { a href="#warnings" {
                    @if report.notices.len() == 1 { "1 warning weakens this run" }
                    @else { (report.notices.len()) " warnings weaken this run" }
                } }
            }
        }
        @if !report.glance.is_empty() {
            section id="glance" {
                h2 { "At a glance" }
                div.grid { @for t in &report.glance {
                    div.card.glance.wide[wordy(t)] { h3 { (visible(&t.title)) } (table(t, false)) }
                } }
                @if report.glance.iter().any(ranked) {
                    p.note { "Green: significantly better than every other. Bold: the same within 3 % as the best. Bold with ?: undecided. Intervals on hover and in the case table." }
                }
            }
        }
    }
}

/// Does most of a table consist of words, which need more room than figures?
fn wordy(table: &Table) -> bool {
    let words = |row: &Vec<Entry>| {
        row.iter().filter(|e| matches!(e, Entry::Text(_) | Entry::Named { .. })).count() > 3
    };
    table.rows.first().is_some_and(words)
}

/// Does a table say who is best?
fn ranked(table: &Table) -> bool {
    let best = |e: &Entry| {
        matches!(e, Entry::Estimate { standing: Standing::Best | Standing::Same | Standing::Undecided, .. })
    };
    table.rows.iter().flatten().any(best)
}

fn section(section: &Section, targets: &Targets) -> Markup {
    // Neighbouring plots and maps share a grid.
    let mut groups: Vec<Vec<&Block>> = Vec::new();
    for block in &section.blocks {
        let alike =
            |group: &[&Block]| grid(block).is_some() && group.first().and_then(|b| grid(b)) == grid(block);
        match groups.last_mut() {
            Some(group) if alike(group) => group.push(block),
            _ => groups.push(vec![block]),
        }
    }
    html! {
        section id=(section.id) {
            h2 { (visible(&section.title)) }
            @for group in &groups {
                @if let Some(class) = grid(group[0]) {
                    div class=(class) { @for b in group { (block(b, targets)) } }
                } @else { (block(group[0], targets)) }
            }
        }
    }
}

/// The grid that a figure stands in.
fn grid(block: &Block) -> Option<&'static str> {
    match block {
        Block::Diagram(_) => Some("grid paths"),
        _ => block.drawing().map(|_| "grid"),
    }
}

fn block(block: &Block, targets: &Targets) -> Markup {
    match block {
        Block::Heading(text) => html! { h3 { (visible(text)) } },
        Block::Question(link) => html! { h3 id=(link.id) { (visible(&link.text)) } },
        Block::Contents(links) => html! {
            ol.contents { @for link in links { li { a href={"#" (link.id)} { (visible(&link.text)) } } } }
        },
        Block::Statement(statement) => html! { div.said { (sentence(statement, targets)) } },
        Block::Statements(list) => html! { ul { @for s in list { li { (sentence(s, targets)) } } } },
        Block::Text(text) => html! { p { (prose(text)) } },
        Block::Facts { folded: None, facts } => fact_list(facts),
        Block::Facts { folded: Some(title), facts } => html! {
            details { summary { (visible(title)) } (fact_list(facts)) }
        },
        Block::Command(text) => html! { pre { (visible(text)) } },
        Block::Notice(notice) => self::notice(notice),
        Block::Table(t) => html! {
            div.card id=(t.id) {
                @if !t.title.is_empty() { h3 { (visible(&t.title)) } }
                (table(t, true))
            }
        },
        Block::Plot(plot) => figure(plot, false, &html! {}, &beside_plot(plot)),
        Block::Heat(map) => figure(map, map.x.len() > 8, &html! {}, &note("Hover a cell for its interval.")),
        Block::Diagram(diagram) => {
            let claim = diagram.claim.as_ref().map(|(kept, text)| {
                html! {
                    p.claim.broken[*kept == Some(false)].kept[*kept == Some(true)] { (visible(text)) }
                }
            });
            figure(diagram, false, &claim.unwrap_or_default(), &note(&diagram.notes.join("; ")))
        }
        Block::Regions(map) => figure(map, false, &legend(&map.names), &note(REGIONS)),
        Block::Bars(bars) => figure(bars, true, &legend(&bars.legend()), &html! {}),
        Block::Level(line) => figure(line, false, &html! {}, &note(LEVEL)),
        Block::Folded { title, blocks } => html! {
            details.folded {
                summary { (visible(title)) }
                @for b in blocks { (self::block(b, targets)) }
            }
        },
    }
}

fn fact_list(facts: &[(String, String, String)]) -> Markup {
    html! {
        dl.card.facts { @for (title, value, source) in facts {
            div title={"read from " (visible(source))} { dt { (visible(title)) } dd { (visible(value)) } }
        } }
    }
}

fn notice(notice: &Notice) -> Markup {
    html! {
        div.notice {
            p { strong { (visible(&notice.title)) } }
            @if !notice.text.is_empty() { p { (prose(&notice.text)) } }
            @if !notice.remedy.is_empty() { p.remedy { "What to do: " (prose(&notice.remedy)) } }
            @if !notice.cases.is_empty() {
                p.cases {
                    @if notice.cases.len() == 1 { "Case " } @else { "Cases " }
                    (notice.cases.iter().take(30).map(usize::to_string).collect::<Vec<_>>().join(", "))
                    @if notice.cases.len() > 30 { " and " (notice.cases.len() - 30) " more" }
                }
            }
        }
    }
}

fn table(table: &Table, ids: bool) -> Markup {
    let numeric: Vec<bool> = (0..table.columns.len())
        .map(|i| {
            let figure =
                |e: &Entry| matches!(e, Entry::Number(..) | Entry::Estimate { .. } | Entry::Share { .. });
            table.rows.iter().any(|r| r.get(i).is_some_and(figure))
        })
        .collect();
    // The glance is short, and is to be seen at once.
    let tall = ids && table.rows.len() > 24;
    html! {
        div.scroll.tall[tall] tabindex="0" {
            table {
                thead { tr { @for (i, name) in table.columns.iter().enumerate() {
                    th.n[numeric[i]] { (breakable(name)) }
                } } }
                tbody { @for row in &table.rows { tr {
                    @for (i, entry) in row.iter().enumerate() {
                        (self::entry(entry, table, ids, numeric.get(i).copied().unwrap_or(false)))
                    }
                } } }
            }
        }
        @if let Some(text) = &table.note { (note(text)) }
    }
}

fn entry(entry: &Entry, table: &Table, ids: bool, numeric: bool) -> Markup {
    match entry {
        Entry::Named { text, cell } => html! { td id=[ids.then(|| sentence::id(cell))] { (visible(text)) } },
        Entry::Text(text) => {
            let wide = text.chars().count() > 28;
            let note = numeric && text.chars().count() > 12;
            html! { td.n[numeric] .w[wide && !note] .t[note] { @if note { (breakable(text)) } @else { (visible(text)) } } }
        }
        Entry::Share { share, signed } => html! { td.n { (Entry::share(*share, *signed)) } },
        Entry::Number(value, unit) => html! { td.n { (unit.format(*value)) } },
        Entry::Missing => html! { td.none.n[numeric] title="not measured; see Not measured" { "–" } },
        Entry::Estimate { estimate, cell, standing } => {
            let id = cell.as_ref().filter(|_| ids).map(sentence::id);
            let (value, range) = figures(estimate, table);
            html! {
                td.n.best[*standing == Standing::Best].same[*standing == Standing::Same].undecided[*standing == Standing::Undecided].off[*standing == Standing::Off]
                    id=[id] title=(svg::interval(estimate)) { (value) @if ids { small { (range) } } }
            }
        }
    }
}

/// The value and its interval, in the table's common unit where it has one.
fn figures(e: &Estimate, table: &Table) -> (String, String) {
    match &table.shown_in {
        Some((scale, _)) => {
            let show = |v: f64| units::significant(v / scale);
            (show(e.value), format!("{}–{}", show(e.low), show(e.high)))
        }
        None => {
            let (low, high) = (e.unit.format(e.low), e.unit.format(e.high));
            // The unit once, where both ends have the same.
            let low = match (low.split_once(' '), high.split_once(' ')) {
                (Some((number, a)), Some((_, b))) if a == b => number.to_string(),
                _ => low,
            };
            (e.unit.format(e.value), format!("{low}–{high}"))
        }
    }
}

const REGIONS: &str = "Sizes across, threads down; dots are the tested places. Full: significantly better than every other. \
    Hatched: the same within 3 % or undecided, in the colours of the first two. Hover a place for its figures.";

const LEVEL: &str = "Costs of all cases over their usual ones: up is slower. Band: what chance makes of a machine that does not change. The second colour: samples that are \
    marked as measured on a slow machine; they are kept and used.";

/// A drawing under its title, with what stands above and below it.
fn figure(drawing: &dyn SvgDrawing, wide: bool, above: &Markup, below: &Markup) -> Markup {
    let frame = drawing.frame();
    html! {
        figure.wide[wide] id=(frame.id) {
            figcaption { (breakable(frame.title)) }
            (above)
            div.scroll tabindex=[wide.then_some("0")] { (PreEscaped(drawing.inline())) }
            (below)
        }
    }
}

fn note(text: &str) -> Markup {
    html! { p.note { (visible(text)) } }
}

fn legend<T: AsRef<str>>(names: &[(T, usize)]) -> Markup {
    html! { div.legend { @for (name, style) in names {
        span { (PreEscaped(svg::marker_icon(*style))) (visible(name.as_ref())) }
    } } }
}

/// Names that the plot has no room for, its note, and its figures.
fn beside_plot(plot: &Plot) -> Markup {
    let names: Vec<(&str, usize)> = plot.series.iter().map(|s| (s.name.as_str(), s.style)).collect();
    html! {
        @if names.iter().any(|(name, _)| !svg::fits(name)) { (legend(&names)) }
        @if let Some(text) = &plot.note { (note(text)) }
        details { summary { "Numbers" } (numbers(plot)) }
    }
}

/// The plot's figures: a row per x, a column per series.
fn numbers(plot: &Plot) -> Markup {
    let show =
        |x: f64| if plot.x.unit == Unit::Bytes { Unit::Bytes.format(x) } else { units::significant(x) };
    html! {
        div.scroll tabindex="0" { table {
            thead { tr {
                th { (visible(&plot.x.title)) }
                @for series in &plot.series { th.n { (visible(&series.name)) } }
            } }
            tbody { @for x in svg::xs(&plot.series) { tr {
                td { (show(x)) }
                @for series in &plot.series {
                    @match series.points.iter().find(|p| p.0 == x) {
                        Some((_, e)) => {
                            @let (value, range) = figures(e, &Table::default());
                            td.n { (value) small { (range) } }
                        }
                        None => { td.n.none { "–" } }
                    }
                }
            } } }
        } }
    }
}

/// A name that may break after its underscores.
fn breakable(name: &str) -> Markup {
    let text = visible(name);
    let mut parts = text.split_inclusive('_').peekable();
    html! { @while let Some(part) = parts.next() { (part) @if parts.peek().is_some() { wbr; } } }
}
