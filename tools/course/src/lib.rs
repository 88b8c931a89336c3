//! Course layouts: the files that a course asks for, made from a recorded run. One file or folder per
//! layout; its texts and scripts are templates, in which a run's figures are filled in.
//!
//! Nothing is measured and nothing is explained here: figures and evidence are filled in, and what a
//! student has to say is left as headings. A figure that the run does not have is an empty cell with
//! its reason, never 0 and never derived from another (latency is not threads over throughput).

use syscost_analyze::whole::Analysis;
use syscost_core::units::Unit;
use syscost_experiment::run::Run;
use syscost_report::{Block, Plot, build, escape};

mod markdown;
pub mod page;

pub mod cse221;
pub mod pa02;

/// One file of a layout.
#[derive(Clone, Debug, PartialEq)]
pub struct Artefact {
    /// Without a directory.
    pub name: String,
    pub content: Vec<u8>,
    /// Made to be written in by a person: one that exists is never replaced.
    pub to_write_in: bool,
    /// The same as a block of a page.
    pub drawing: Option<Block>,
}

impl Artefact {
    fn made(name: impl Into<String>, content: impl Into<Vec<u8>>) -> Artefact {
        Artefact { name: name.into(), content: content.into(), to_write_in: false, drawing: None }
    }

    fn picture(picture: CoursePicture) -> Artefact {
        Artefact { drawing: Some(picture.block), ..Artefact::made(picture.name, picture.svg) }
    }

    fn to_write_in(name: impl Into<String>, content: impl Into<Vec<u8>>) -> Artefact {
        Artefact { to_write_in: true, ..Artefact::made(name, content) }
    }
}

/// What a run lacks for a layout, and what would have it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{lacks}; `{command}` makes a run that the layout can be made from")]
pub struct Unsuitable {
    pub lacks: String,
    pub command: &'static str,
}

impl Unsuitable {
    /// Times of an emulated machine are laid out nowhere.
    fn refuse_emulated(run: &Run, command: &'static str) -> Result<(), Unsuitable> {
        let Some(emulator) = run.record.emulator() else { return Ok(()) };
        let lacks = format!("the run was made in an emulated machine ({emulator}), whose times mean nothing");
        Err(Unsuitable { lacks, command })
    }
}

/// A template with a value for each `{{name}}`. What a value holds is never filled in again.
fn fill(template: &str, value: impl Fn(&str) -> String) -> String {
    let mut parts = template.split("{{");
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (name, text) = part.split_once("}}").expect("a template closes its names");
        out.extend([value(name).as_str(), text]);
    }
    out
}

/// A picture of the run's report.
struct CoursePicture {
    /// Of a file, without what its layout begins names with.
    name: String,
    title: String,
    svg: String,
    block: Block,
}

impl CoursePicture {
    /// `None`: the block draws nothing.
    fn of(block: Block) -> Option<CoursePicture> {
        let (name, title, svg) = {
            let drawing = *block.drawings().first()?;
            let frame = drawing.frame();
            (format!("{}.svg", frame.id), frame.title.to_string(), drawing.standalone())
        };
        Some(CoursePicture { name, title, svg, block })
    }
}

fn pictures(run: &Run, analysis: &Analysis) -> Vec<CoursePicture> {
    let report = build::report(run, analysis);
    let blocks = report.sections.iter().flat_map(|section| {
        section.blocks.iter().flat_map(Block::all).flat_map(|block| alone(&section.title, block))
    });
    blocks.filter_map(CoursePicture::of).collect()
}

/// Drawings one by one. Away from their section plots of a row say what they are of.
fn alone(section: &str, block: &Block) -> Vec<Block> {
    let titled = |plot: &Plot| {
        let title = format!("{section}: {}", plot.title);
        Block::Plot(Plot {
            title: if plot.y.unit == Unit::Ratio { title } else { plot.title.clone() },
            ..plot.clone()
        })
    };
    match block {
        Block::Panels(plots) => plots.iter().map(titled).collect(),
        other => vec![other.clone()],
    }
}

/// Six significant digits: more than any interval here is worth, and the same in every file.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// A field of a CSV file.
fn number(value: Option<f64>) -> String {
    value.map_or(String::new(), |v| rounded(v).to_string())
}

/// Rows as CSV.
fn csv(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Writing into memory cannot fail; every row has the header's length.
    writer.write_record(header).expect("in memory");
    for row in rows {
        writer.write_record(row.iter().map(|field| escape::cell(field))).expect("in memory");
    }
    String::from_utf8(writer.into_inner().expect("in memory")).expect("only text was written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_six_digits_and_no_exponent() {
        assert_eq!(number(Some(12.345678901)), "12.3457");
        assert_eq!(number(Some(1.0 / 3e7)), "0.0000000333333");
        assert_eq!(number(Some(94_200_000_000.0)), "94200000000");
        assert_eq!(number(None), "");
    }

    #[test]
    fn what_is_filled_in_is_no_template() {
        let told = fill("a {{b}}, {{c}}.", |name| format!("<{name} {{{{b}}}}>"));
        assert_eq!(told, "a <b {{b}}>, <c {{b}}>.");
    }
}
