//! The report as one HTML file: no script, no network, light and dark, phone to wide screen.
//!
//! Markup only; every text is escaped by maud after control characters are written out, and the
//! page's own policy forbids anything it does not carry. Drawing is in [`super::svg`].

use super::escape::visible;
use super::flame::FLAME_NOTE;
use super::sentence::{self, Targets, linked, prose, sentence};
use super::text::ending::figure::within;
use super::text::words::grouped;
use super::{
    Block, Compared, ComparedWith, Diagram, Entry, Layer, Movement, Notice, Plot, PlotRoom, Report, Section,
    Standing, SvgDrawing, Table, TrustBar, canvas, diagram, palette, policy, svg,
};
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// Renders the whole page.
pub fn page(report: &Report) -> String {
    let targets = Targets::of(report);
    let (folded, open): (Vec<&Section>, Vec<&Section>) =
        report.sections.iter().partition(|s| s.folded.is_some());
    let body = html! { body {
        (PreEscaped(canvas::HATCH))
        header {
            h1 { (visible(&report.title)) }
            p.subtitle { (visible(&report.subtitle)) }
        }
        main {
            @for error in &report.errors { div.error role="alert" { (notice(error)) } }
            (trust(&report.trust))
            (answer(report, &targets))
            @for section in open { (self::section(section, &targets)) }
            @for group in folded.chunk_by(|a, b| a.folded == b.folded) { (fold(group, &targets)) }
        }
    } };
    let style = [canvas::STYLE, include_str!("page.css"), &palette::rules(&body.0)].concat();
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
            (body)
        }
    };
    page.into_string()
}

fn trust(bar: &TrustBar) -> Markup {
    html! {
        @if !bar.headline.is_empty() { div class={"trust " (bar.colour)} id="trust" {
            b { (visible(&bar.headline)) }
            @for fact in &bar.facts { span { (prose(fact)) } }
        } }
    }
}

fn answer(report: &Report, targets: &Targets) -> Markup {
    html! {
        div.cards id="answer" { @for card in &report.answers {
            div.card {
                @if !card.title.is_empty() { h2 { (visible(&card.title)) } }
                @for said in &card.headlines { p { b { (prose(&said.text)) } } }
                @if card.figures.is_empty() { @for said in &card.shown { p { (prose(&said.text)) } } }
                @else { dl.figures { @for of in &card.figures { dt { (visible(&of.what)) } dd { (linked(&of.figure, &of.cell, targets)) } } } }
                @if !card.folded.is_empty() {
                    details { summary { (card.folded.len()) " more" }
                        @for said in &card.folded { div.said { (sentence(said, targets)) } }
                    }
                }
                @if !card.note.is_empty() { p.note { (visible(&card.note)) } }
            }
        } }
    }
}

fn section(section: &Section, targets: &Targets) -> Markup {
    html! {
        section id=(section.id) {
            h2 { (visible(&section.title)) }
            (blocks(&section.blocks, targets))
        }
    }
}

/// Sections behind their title.
fn fold(group: &[&Section], targets: &Targets) -> Markup {
    html! {
        details.section {
            summary { h2 { (group[0].folded.unwrap_or_default()) } }
            @for section in group { (self::section(section, targets)) }
        }
    }
}

/// Neighbouring drawings share a grid.
fn blocks(blocks: &[Block], targets: &Targets) -> Markup {
    let groups = blocks.chunk_by(|a, b| grid(a).is_some() && grid(a) == grid(b));
    html! {
        @for group in groups {
            @if let Some(class) = grid(&group[0]) {
                (shared_legend(group))
                div class=(class) { @for b in group { (block(b, targets)) } }
            } @else { (block(&group[0], targets)) }
        }
    }
}

/// The parts of bars beside each other have the same colours: named once.
fn shared_legend(group: &[Block]) -> Markup {
    let parts = group.iter().flat_map(|b| if let Block::Bars(bars) = b { bars.legend() } else { Vec::new() });
    let names = grouped(parts.map(|(name, style)| (style, name)));
    html! { @if !names.is_empty() { div.legend { @for (style, names) in names {
        span { (PreEscaped(svg::colour_icon(style))) (visible(names[0])) }
    } } } }
}

/// The grid that a drawing stands in.
fn grid(block: &Block) -> Option<&'static str> {
    match block {
        Block::Diagram(_) => Some("flows"),
        Block::Bars(_) => Some("grid bars"),
        Block::Plot(_) => Some("grid"),
        // Others are as wide as the page.
        _ => None,
    }
}

fn block(block: &Block, targets: &Targets) -> Markup {
    match block {
        Block::Heading(text) => html! { h3 { (visible(text)) } },
        Block::Question { id, headline, question, blocks } => html! {
            details.question id=(id) {
                summary { b { (prose(headline)) } " " span { (visible(question)) } }
                (self::blocks(blocks, targets))
            }
        },
        Block::Statement(statement) => html! { div.said { (sentence(statement, targets)) } },
        Block::Statements(list) => html! { ul { @for s in list { li { (sentence(s, targets)) } } } },
        Block::Text(text) => html! { p { (prose(text)) } },
        Block::Note(text) => note(text),
        Block::Legend(names) => html! { div.legend { @for (name, style) in names {
            span { (PreEscaped(svg::line_icon(*style))) (visible(name)) }
        } } },
        Block::Facts { folded: None, facts } => fact_list(facts),
        Block::Facts { folded: Some(title), facts } => html! {
            details { summary { (visible(title)) } (fact_list(facts)) }
        },
        Block::Command(text) => html! { pre tabindex="0" { (visible(text)) } },
        Block::Notice(notice) => self::notice(notice),
        Block::Table(t) => html! {
            div.table id=(t.id) {
                @if !t.title.is_empty() { h3 { (visible(&t.title)) } }
                (table(t))
            }
        },
        Block::Panels(plots) => html! {
            div class=(row_of(plots)) { @for plot in plots { (figure(plot, &notes(plot))) } }
        },
        Block::Plot(plot) => figure(plot, &notes(plot)),
        Block::Diagram(diagram) => flow(diagram),
        Block::Bars(bars) => figure(bars, &html! {}),
        Block::Flame(graph) => figure(graph, &note(FLAME_NOTE)),
        Block::Forest(plot) => figure(plot, &html! {}),
        Block::Tabs { id, tabs } => self::tabs(id, tabs, targets),
        Block::Folded { title, blocks } => html! {
            details.folded {
                summary { (visible(title)) }
                (self::blocks(blocks, targets))
            }
        },
    }
}

/// The grid of plots that are read against each other.
fn row_of(plots: &[Plot]) -> &'static str {
    match plots.first().map(|plot| plot.room) {
        Some(PlotRoom::Quarter) if plots.len() == 3 => "row small three",
        Some(PlotRoom::Quarter) => "row small",
        _ => "row",
    }
}

/// Its note; and where it is narrow, its names.
fn notes(plot: &Plot) -> Markup {
    html! {
        @if plot.room == PlotRoom::Half { div.legend.narrow { @for series in &plot.series {
            span { (PreEscaped(svg::line_icon(series.style))) (visible(&series.name)) }
        } } }
        @if let Some(text) = &plot.note { (note(text)) }
    }
}

/// One shown at a time, by the style sheet; without it one after the other.
fn tabs(id: &str, tabs: &[(String, Vec<Block>)], targets: &Targets) -> Markup {
    html! {
        div.tabs role="group" {
            @for (i, (name, _)) in tabs.iter().enumerate() {
                input type="radio" name=(id) id={(id) "-" (i)} checked[i == 0];
                label for={(id) "-" (i)} { (visible(name)) }
            }
            @for (_, blocks) in tabs { div.tab { (self::blocks(blocks, targets)) } }
        }
    }
}

/// A way's places in a row, and between them how often the payload was copied.
fn flow(diagram: &Diagram) -> Markup {
    let hops = diagram.arrows.iter().zip(diagram.stages.windows(2));
    let hops = hops.map(|(arrow, ends)| Some((arrow, diagram::hop(arrow, ends)))).chain([None]);
    html! {
        div.flow id=(diagram.id) {
            div.way {
                b { (breakable(&diagram.title)) }
                @if let Some((kept, text)) = &diagram.claim {
                    span.broken[*kept == Some(false)] { (visible(text)) }
                }
            }
            div.path { @for (stage, hop) in diagram.stages.iter().zip(hops) {
                span.hop {
                    span.stage.kernel[stage.area != Layer::User] title=(visible(&stage.name)) { (visible(&stage.short)) }
                    @if let Some((arrow, told)) = hop {
                        span.copied[matches!(arrow.kind, Movement::Copied(_))] title=(visible(&told)) { (arrow.amount) }
                    }
                }
            } }
        }
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

fn table(table: &Table) -> Markup {
    let numeric: Vec<bool> = (0..table.columns.len())
        .map(|i| {
            let figure = |e: &Entry| {
                matches!(
                    e,
                    Entry::Number(..) | Entry::Estimate { .. } | Entry::Share { .. } | Entry::Compared(_)
                )
            };
            table.rows.iter().any(|r| r.get(i).is_some_and(figure))
        })
        .collect();
    let compared = table.rows.iter().flatten().any(|e| matches!(e, Entry::Compared(_)));
    html! {
        div.scroll.tall[table.rows.len() > TALL && !compared] tabindex="0" role="region" aria-label=(visible(label(table))) {
            table.costs[compared] {
                thead { tr { @for (i, name) in table.columns.iter().enumerate() {
                    th.n[numeric[i]] scope="col" {
                        (breakable(name))
                        @if let Some(kind) = table.kinds.get(i).filter(|kind| !kind.is_empty()) { small { (visible(kind)) } }
                    }
                } } }
                tbody { @for row in &table.rows { tr {
                    @for (i, entry) in row.iter().enumerate() {
                        (self::entry(entry, compared && i == 0, numeric.get(i).copied().unwrap_or(false)))
                    }
                } } }
            }
        }
        @if let Some(text) = &table.note { (note(text)) }
    }
}

/// Rows from which on a table scrolls within the page.
const TALL: usize = 40;

fn label(table: &Table) -> &str {
    if table.title.is_empty() { &table.id } else { &table.title }
}

fn entry(entry: &Entry, head: bool, numeric: bool) -> Markup {
    match entry {
        Entry::Text(text) if head => html! { th scope="row" { (breakable(text)) } },
        Entry::Named { text, cell } => html! { td id=(sentence::id(cell)) { (visible(text)) } },
        Entry::Text(text) => {
            let wide = text.chars().count() > 28;
            let note = numeric && text.chars().count() > 12;
            html! { td.n[numeric] .w[wide && !note] .t[note] { @if note { (breakable(text)) } @else { (visible(text)) } } }
        }
        Entry::Share { share, signed } => html! { td.n { (Entry::share(*share, *signed)) } },
        Entry::Number(value, unit) => html! { td.n { (unit.format(*value)) } },
        Entry::Missing => html! { td.none.n[numeric] title="not measured; see Not measured" { "–" } },
        Entry::Compared(figure) => compared(figure),
        Entry::Estimate { estimate, cell, standing } => {
            let id = cell.as_ref().map(sentence::id);
            html! {
                td.n.off[*standing == Standing::Off].best[matches!(standing, Standing::Best | Standing::Same)] id=[id] { (estimate.unit.format(estimate.value)) " " small { (within(estimate)) } }
            }
        }
    }
}

fn compared(figure: &Compared) -> Markup {
    let undecided = figure.with == ComparedWith::Undecided;
    let same = figure.with == ComparedWith::Same;
    html! {
        td.n.best[figure.best].undecided[undecided].same[same] title=(visible(&figure.detail)) {
            (figure.value) " " i { (figure.within) }
            @match &figure.with {
                ComparedWith::Nothing => {}
                ComparedWith::Same => { " " b { "same" } }
                ComparedWith::Undecided => { " " b { "undecided" } }
                ComparedWith::Ratio(ratio) => { " " b { (ratio) } }
            }
        }
    }
}

/// A drawing under its title, with what stands below it.
fn figure(drawing: &dyn SvgDrawing, below: &Markup) -> Markup {
    let frame = drawing.frame();
    html! {
        figure id=(frame.id) {
            figcaption { (breakable(frame.title)) }
            @if frame.area.is_some() { (PreEscaped(drawing.inline())) }
            @else { div.scroll tabindex="0" role="region" aria-label=(visible(frame.title)) { (PreEscaped(drawing.inline())) } }
            (below)
        }
    }
}

fn note(text: &str) -> Markup {
    html! { @if !text.is_empty() { p.note { (prose(text)) } } }
}

/// A name that may break after its underscores.
fn breakable(name: &str) -> Markup {
    let text = visible(name);
    let mut parts = text.split_inclusive('_').peekable();
    html! { @while let Some(part) = parts.next() { (part) @if parts.peek().is_some() { wbr; } } }
}
