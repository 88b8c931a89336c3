//! Options of what lays a run out for a course.

use clap::{Args, Subcommand};
use std::path::PathBuf;

pub const COURSE_EXAMPLES: &str = "\
Examples:
  syscost course pa02 --roll MT25999 --pdf     measures, counts, writes everything:
                                         about eight minutes; with --quick about two
  syscost run pa02-60 --out sweep        60 cells in four minutes
  syscost course pa02 --roll MT25999 sweep
  syscost lab --count cache --out counts
  syscost course pa02 --roll MT25999 --cache counts sweep
  syscost run cse221 --out suite
  syscost course cse221 suite
  syscost course cse221 suite --pdf      again, after you wrote in the report

Figures and evidence are filled in; you explain them under the headings.
An existing report or README is never replaced.";

#[derive(Args, Debug)]
pub struct CourseArgs {
    #[command(subcommand)]
    pub layout: CourseLayout,
}

#[derive(Subcommand, Debug)]
pub enum CourseLayout {
    /// Network I/O primitives: two-copy, one-copy and zero-copy by size and threads
    Pa02 {
        /// Your roll number: file names begin with it
        #[arg(long, value_name = "ID", value_parser = syscost_course::pa02::roll)]
        roll: String,
        /// What counts as two-copy: pack_send (one buffer, one send) or send_fields (a send for each field)
        #[arg(long, value_name = "MECHANISM", value_parser = syscost_course::pa02::two_copy)]
        two_copy: Option<&'static str>,
        /// Directory of a run of lab --count cache: its counts fill the columns of a modelled cache
        #[arg(long, value_name = "RUN")]
        cache: Option<PathBuf>,
        #[command(flatten)]
        common: CourseRun,
    },
    /// System measurement: each operation predicted and measured
    Cse221 {
        #[command(flatten)]
        common: CourseRun,
    },
}

#[derive(Args, Debug)]
pub struct CourseRun {
    /// Directory of a run [default: measure one now, and of pa02 count cache misses in the lab where this machine has no
    /// counters]
    #[arg(value_name = "RUN")]
    pub run: Option<PathBuf>,
    /// Write here [default: a directory in the run's]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Without a RUN: measure a few cells, for a look at everything within two minutes
    #[arg(long, conflicts_with = "run")]
    pub quick: bool,
    /// Also the report, with what you have written in it, as a page and as PDF (by chromium, Chrome or WeasyPrint)
    #[arg(long)]
    pub pdf: bool,
}
