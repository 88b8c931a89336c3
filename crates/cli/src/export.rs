//! `--export-..`: an answer for other programs, into a file or to stdout. What it holds is `syscost_report::export`'s.

use crate::output;
use anyhow::{Context, Result, bail};
use clap::Args;
use std::path::{Path, PathBuf};
use syscost_experiment::run::directory::OpenDirectory;

/// The file that is standard output.
const STDOUT: &str = "-";

/// Where the answer goes beside the screen.
#[derive(Args, Debug, Default, Clone)]
pub struct ExportArgs {
    /// Write the answer and its tables as Markdown; FILE - is stdout, in place of the screen
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub export_markdown: Option<PathBuf>,
    /// Write every figure with its interval as CSV; FILE - is stdout
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub export_csv: Option<PathBuf>,
    /// Write the answer, its figures and findings as one JSON document; FILE - is stdout
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub export_json: Option<PathBuf>,
}

/// The same of a run.
#[derive(Args, Debug, Default, Clone)]
pub struct RunExportArgs {
    #[command(flatten)]
    pub answer: ExportArgs,
    /// Write every figure in OpenMetrics, which Prometheus reads (textfile collector); FILE - is stdout
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub export_openmetrics: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    Markdown,
    Csv,
    Json,
    OpenMetrics,
}

/// The documents that were asked for.
#[derive(Debug, Default)]
pub struct Exports(Vec<(ExportFormat, PathBuf)>);

impl ExportArgs {
    fn list(&self) -> impl Iterator<Item = (ExportFormat, PathBuf)> {
        let asked = [
            (ExportFormat::Markdown, &self.export_markdown),
            (ExportFormat::Csv, &self.export_csv),
            (ExportFormat::Json, &self.export_json),
        ];
        asked.into_iter().filter_map(|(format, file)| Some((format, file.clone()?)))
    }

    /// Checked before anything is measured: where a file cannot go is told at once.
    pub fn checked(&self, json: bool) -> Result<Exports> {
        Exports(self.list().collect()).checked(json)
    }
}

impl RunExportArgs {
    pub fn checked(&self, json: bool) -> Result<Exports> {
        let metrics = self.export_openmetrics.clone().map(|file| (ExportFormat::OpenMetrics, file));
        Exports(self.answer.list().chain(metrics).collect()).checked(json)
    }
}

impl Exports {
    fn checked(self, json: bool) -> Result<Exports> {
        let to_stdout = self.0.iter().filter(|(_, file)| is_stdout(file)).count() + usize::from(json);
        if to_stdout > 1 {
            bail!("stdout takes one document: name a file for the others (--json writes to stdout too)");
        }
        for (_, file) in self.0.iter().filter(|(_, file)| !is_stdout(file)) {
            place(file)?;
            if file.is_dir() {
                bail!("cannot write {}: it is a directory, name a file in it", file.display());
            }
        }
        Ok(self)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Does a document take the place of the screen?
    pub fn to_stdout(&self) -> bool {
        self.0.iter().any(|(_, file)| is_stdout(file))
    }

    pub fn write(&self, text: impl Fn(ExportFormat) -> Result<String>) -> Result<()> {
        self.0.iter().try_for_each(|(format, file)| put(file, &text(*format)?))
    }
}

pub fn is_stdout(file: &Path) -> bool {
    file.as_os_str() == STDOUT
}

/// Replaces the file as a whole; `-` is stdout.
pub fn put(file: &Path, text: &str) -> Result<()> {
    if is_stdout(file) {
        return output::print(text);
    }
    let (directory, name) = place(file)?;
    Ok(directory.replace(&name, text.as_bytes())?)
}

/// The directory of a file, made where it is missing, and the file's name in it.
fn place(file: &Path) -> Result<(OpenDirectory, String)> {
    let name = file.file_name().with_context(|| format!("{} is no file", file.display()))?;
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((OpenDirectory::make(parent)?, name.to_string_lossy().into_owned()))
}
