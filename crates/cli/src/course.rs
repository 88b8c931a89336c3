//! `course LAYOUT RUN`: the files that a course asks for, from a recorded run.
//!
//! What a person writes in is never replaced: a report that exists stays as it is.

use crate::args::Global;
use crate::course_args::{CourseArgs, CourseLayout};
use crate::output::complain;
use crate::{drawn, output, run};
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use syscost_analyze::whole::Analysis;
use syscost_course::{Artefact, cse221, pa02, page};
use syscost_experiment::run::directory::OpenDirectory;
use syscost_experiment::run::files::{RECORD, RunDir};
use syscost_sys::{process, program};

const KEPT: &str = "the files could not be written (--out DIR writes them elsewhere)";

pub fn run(args: &CourseArgs, global: &Global) -> Result<()> {
    let (CourseLayout::Pa02 { common, .. } | CourseLayout::Cse221 { common }) = &args.layout;
    let experiment = match &args.layout {
        CourseLayout::Pa02 { .. } => pa02::EXPERIMENT,
        CourseLayout::Cse221 { .. } => cse221::EXPERIMENT,
    };
    let (out, measured) = (&common.out, common.run.is_none());
    let course = CourseMeasuring { quick: common.quick };
    let dir =
        &common.run.as_ref().map_or_else(|| course.sweep(&args.layout, experiment), |dir| Ok(dir.clone()))?;
    let run = RunDir::load(dir)?;
    let analysis = Analysis::of(&run);
    let (name, files) = match &args.layout {
        CourseLayout::Pa02 { roll, two_copy, cache, .. } => {
            let cache = match cache {
                None if measured && !pa02::has_misses(&run, &analysis) => course.counts(),
                cache => cache.clone(),
            };
            let counts = cache.as_deref().map(RunDir::load).transpose()?;
            let counts = counts.as_ref().map(|counts| (counts, Analysis::of(counts)));
            let counts = counts.as_ref().map(|(run, analysis)| (*run, analysis));
            (format!("{roll}_PA02"), pa02::artefacts(&run, &analysis, roll, *two_copy, counts)?)
        }
        CourseLayout::Cse221 { .. } => ("cse221".to_string(), cse221::artefacts(&run, &analysis)?),
    };
    run.samples.intact()?;
    let out = out.clone().unwrap_or_else(|| dir.join(name));
    let place = OpenDirectory::make(&out).context(KEPT)?;
    let mut written: Vec<PathBuf> = Vec::new();
    let mut kept: Vec<PathBuf> = Vec::new();
    for file in &files {
        let list = if write(&place, file)? { &mut written } else { &mut kept };
        list.push(out.join(&file.name));
    }
    if common.pdf {
        written.extend(printed(&place, &files)?);
    }
    if global.json {
        return output::print_json(&json!({ "dir": out, "files": written, "kept": kept }));
    }
    let written = written.iter().map(|path| format!("{}\n", path.display()));
    let kept = kept.iter().map(|path| format!("{} (kept: it may have your edits)\n", path.display()));
    output::print(&written.chain(kept).collect::<String>())
}

/// The sweep that is measured where no run is named.
struct CourseMeasuring {
    quick: bool,
}

impl CourseMeasuring {
    fn sweep(&self, layout: &CourseLayout, experiment: &'static str) -> Result<PathBuf> {
        let few = match layout {
            CourseLayout::Pa02 { .. } => pa02::QUICK,
            CourseLayout::Cse221 { .. } => &["--quick"],
        };
        let more = if self.quick { few } else { &[] };
        self.measure(&[&["run", experiment], more].concat(), experiment, "4 minutes")
    }

    /// Cache misses as the lab counts them; `None`: it cannot here, and has said why.
    fn counts(&self) -> Option<PathBuf> {
        let more = if self.quick { pa02::QUICK } else { pa02::SIZES };
        let counts = self.measure(&[pa02::COUNTS, more].concat(), "cache", "4 minutes on a quiet machine");
        counts.inspect_err(|error| complain(&format!("note: cache misses stay empty: {error:#}"))).ok()
    }

    /// Runs a command of this program into a new directory: another process, as whoever typed it would.
    fn measure(&self, arguments: &[&str], name: &str, whole: &str) -> Result<PathBuf> {
        let dir = run::default_dir(name)?;
        let time = if self.quick { "a minute" } else { whole };
        complain(&format!(
            "measuring for about {time}: syscost {} --out {}",
            arguments.join(" "),
            dir.display()
        ));
        let mut command = Command::new(program::path());
        command.args(arguments).arg("--out").arg(&dir).stdout(Stdio::null());
        process::die_with_parent_on_exec(&mut command);
        let status = command.status().context("cannot start the measurement")?;
        run::leave_nothing(None, &dir);
        match status.success() || dir.join(RECORD).exists() {
            true => Ok(dir),
            false => bail!("the measurement ended with {status}, and made no run"),
        }
    }
}

/// The report as it stands in the directory, as a page and as PDF. The page stays where nothing prints it.
fn printed(place: &OpenDirectory, files: &[Artefact]) -> Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    for report in files.iter().filter(|file| file.name.to_lowercase().ends_with("report.md")) {
        let path = place.path().join(&report.name);
        let markdown = std::fs::read_to_string(&path)
            .with_context(|| format!("{} cannot be read as text", path.display()))?;
        let [page, pdf] = ["html", "pdf"].map(|kind| report.name.replace(".md", &format!(".{kind}")));
        place.replace(&page, page::page(&markdown, files).as_bytes()).context(KEPT)?;
        let page = place.path().join(page);
        let content = drawn::pdf(place.path(), &page)?;
        place.replace(&pdf, &content).context(KEPT)?;
        written.extend([page, place.path().join(pdf)]);
    }
    Ok(written)
}

/// False: it is there and belongs to whoever writes in it.
fn write(out: &OpenDirectory, file: &Artefact) -> Result<bool> {
    if file.to_write_in && out.has(&file.name) {
        return Ok(false);
    }
    out.replace(&file.name, &file.content).context(KEPT)?;
    Ok(true)
}
