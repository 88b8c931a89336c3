//! The command line: every option and its help, in one visible place. Completions and the man
//! page are generated from it; the flags of the axes are added from the probes.

use crate::axes::{self, OpenNames};
use crate::cmp_args::{CMP_EXAMPLES, CmpArgs};
use crate::course_args::{COURSE_EXAMPLES, CourseArgs};
use crate::experiment_args::ExperimentArgs;
use crate::export::RunExportArgs;
use crate::fleet_args::{FLEET_EXAMPLES, FleetArgs};
use crate::history_args::{HISTORY_EXAMPLES, HistoryArgs};
use crate::lab_args::{LAB_EXAMPLES, LabArgs};
use crate::new_args::NewArgs;
use crate::output::Color;
use crate::side_args::{COMPARE_EXAMPLES, CompareArgs, GATE_EXAMPLES, GateArgs, NameArgs};
use clap::{Args, CommandFactory, Parser, Subcommand};
use std::path::PathBuf;
use syscost_core::units::parse_duration;
use syscost_experiment::spec::Spec;
use syscost_harness::profile;
use syscost_measure::{mechanism, probe, receiver};

/// Measures what operations cost on a Linux machine, and says what the numbers mean
#[derive(Parser, Debug)]
#[command(name = "syscost", version, max_term_width = 80, after_help = EXAMPLES)]
pub struct Cli {
    #[command(subcommand)]
    pub command: CliCommand,
    #[command(flatten)]
    pub global: Global,
}

// Lines of at most 80 columns: they are printed as they stand.
const EXAMPLES: &str = "\
Examples:
  syscost run                 the data-movement study, a minute
  syscost run --quick         a coarse look at it, under half a minute
  syscost run --mechanism send,zero-copy --size 4K,64K --threads 1
                              only what you name; the rest keeps its defaults
  syscost plan --quick        what would run, and how long it would take
  syscost doctor              does this machine give clean numbers?
  syscost report syscost-runs/DIR
                              the report again, from the recorded samples

Data goes to stdout, progress and warnings to stderr.

Exit status:
  0   every planned case was measured; skips and failed rounds are told
  1   a case failed or was not reached, or Ctrl-C; with --strict: a case was
      skipped, or a check of doctor is bad
  2   not one case could be measured, wrong usage, or this machine cannot do
      what was asked";

// The man page takes the long help of what the short help hides.
const COLOR: &str = "When to use colour";

#[derive(Args, Debug, Clone, Copy)]
pub struct Global {
    /// JSON on stdout: one document, or one event a line while something runs
    #[arg(long, global = true, display_order = 990)]
    pub json: bool,
    /// Show results and errors only, no progress
    #[arg(long, short, global = true, display_order = 991)]
    pub quiet: bool,
    /// Start what a file names: commands of a spec, variants, a recorded run or a fleet, and hosts to log in to
    #[arg(long, global = true, display_order = 992, hide_short_help = true)]
    pub allow_commands: bool,
    /// When to use colour
    #[arg(long, global = true, display_order = 993, value_name = "WHEN", default_value = "auto", hide_short_help = true, long_help = COLOR)]
    pub color: Color,
}

#[derive(Subcommand, Debug)]
pub enum CliCommand {
    /// List experiments, probes, mechanisms and receivers, and what works here
    List(ListArgs),
    /// List the built-in experiments, or print one as a file to edit
    Spec(SpecArgs),
    /// Check whether this machine gives clean numbers, with remedies
    Doctor(DoctorArgs),
    /// Show what a run would do and how long it takes, without measuring
    Plan(PlanArgs),
    /// Run each case once and verify its work, without timing it
    Check(CheckArgs),
    /// Count how often each way to move data copies it, untimed
    #[command(after_help = AUDIT_EXAMPLES)]
    Audit(AuditArgs),
    /// Sample where the CPU time of a case goes inside the kernel
    #[command(after_help = PROFILE_EXAMPLES)]
    Profile(ProfileArgs),
    /// Measure an experiment into a new directory and report on it
    #[command(after_help = RUN_EXAMPLES, after_long_help = RUN_DETAILS)]
    Run(RunArgs),
    /// Count copies in an emulated machine with two network devices, where
    /// zero-copy is really not copied
    #[command(after_help = LAB_EXAMPLES)]
    Lab(Box<LabArgs>),
    /// Decide which of several commands is faster: fresh processes that take turns
    #[command(after_help = CMP_EXAMPLES)]
    Cmp(CmpArgs),
    /// Rebuild the report of a run from its recorded samples
    Report(ReportArgs),
    /// Compare runs with runs: what got worse, better, or stayed the same
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(CompareArgs),
    /// Fail where runs became dearer than a budget allows, for CI jobs
    #[command(after_help = GATE_EXAMPLES)]
    Gate(GateArgs),
    /// Follow the cost of one case over runs, and say between which it changed
    #[command(after_help = HISTORY_EXAMPLES)]
    History(HistoryArgs),
    /// Measure many hosts, alone and in pairs: which one is slow
    #[command(after_help = FLEET_EXAMPLES)]
    Fleet(FleetArgs),
    /// Explain where the time of one case goes, term by term
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainArgs),
    /// Check a table of results: what it says, contradicts and cannot support
    #[command(visible_alias = "analyze", after_help = ANALYSE_EXAMPLES)]
    Analyse(AnalyseArgs),
    /// Write the files that a course asks for, from a recorded run: table,
    /// plots, a report to complete
    #[command(after_help = COURSE_EXAMPLES)]
    Course(CourseArgs),
    /// Write a folder with an operation or a mechanism of your own that
    /// compiles, or print syscost.h
    New(NewArgs),
    /// List every axis that an experiment can vary: option, values, default
    Axes,
    /// Explain the columns of a run's files, or the axes, quantities and metrics in them
    Columns {
        /// Which file, or what its columns are made of
        of: ColumnsOf,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell to complete for
        shell: clap_complete::Shell,
    },
    /// Print the man page, or write one page per subcommand
    Man {
        /// Write every page into this directory
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}

const AUDIT_EXAMPLES: &str = "\
Examples:
  syscost audit                                  64 KiB on loopback and veth
  syscost audit --mechanism zero-copy --size 4K,1M --path veth

Copies are bytes per byte of payload, counted in the kernel. That needs root, or
a binary with CAP_BPF and CAP_PERFMON. Without them only completions are known,
and the rest is \"not verified\".";

const PROFILE_EXAMPLES: &str = "\
Examples:
  syscost profile                           every mechanism, 64 KiB on loopback
  syscost profile --mechanism send,zero-copy --size 1M --path veth
  syscost profile system_call               an operation of the system

Shares of CPU time by class of work, with 95 % confidence intervals over rounds.
The directory has profile.json, profile.csv, flame graphs and folded stacks.
Needs root, or CAP_PERFMON and CAP_SYSLOG, or kernel.perf_event_paranoid <= 1
with kernel.kptr_restrict = 0.

Exit status: 0 every case was profiled; 1 a case failed or had no sample;
2 this machine does not allow it, with the reason and the remedy.";

const RUN_EXAMPLES: &str = "\
Examples:
  syscost run                        the data-movement study: a minute
  syscost run --size 64K --threads 1 --mechanism send,zero-copy
  syscost run os                     what operations of the system cost

More: syscost run --help    every option
      syscost help axes     what else can be varied
      syscost list          experiments, probes and mechanisms";

const RUN_DETAILS: &str = "\
Examples:
  syscost run                       the data-movement study: a minute
  syscost run mine.toml --seed 7    your own, in a known order
  syscost run --quick --path loopback
  syscost run --resume syscost-runs/20261121T090000Z-default

The directory holds run.json, samples.csv, results.csv, comparisons.csv,
findings.json and report.html. With --json, stdout has one object a line. Its
\"event\" is one of: started, warning, round_started, case_visited, case_done,
case_failed, progress, finished, written.";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  syscost explain 12                      case 12 of the newest run
  syscost explain '64 KiB sendmsg'        its row and column in the newest run
  syscost explain 'sendmsg 64K 1 thread' syscost-runs/DIR

An account is a sum of counts times unit costs. Unit costs come from other probes
of the run. Counts come from rules, or from the counters of the case itself: an
account is no forecast. The run needs the steps of the path, as `syscost run` does.";

const ANALYSE_EXAMPLES: &str = "\
Examples:
  syscost analyse theirs.csv                     what it says and contradicts
  syscost analyse theirs.csv --column throughput=Speed:Mbit/s
  syscost analyse wide.csv --wide threads=throughput:Gbit/s
  syscost analyse *.csv --name '{mechanism}_{size}_{threads}' --seconds 5
  syscost analyse *.csv --json                   every table as data, for jq

Reads CSV, TSV and tables between pipes (Markdown) with a line of headings,
and what these write: iperf3 -J, netperf -k, fio --output-format=json,
sockperf, neper, lmbench's summary, perf stat -x, and -j,
hyperfine --export-json, Google Benchmark's JSON.
A heading that is not known is left out, or asked for where something depends
on it. Everything else is refused.

Roles: mechanism, variant, operation, unit, size, threads, run, throughput,
message_rate, latency, cycles_per_byte, cycles, instructions, l1_misses,
llc_misses, cache_misses, context_switches, bytes, messages, elapsed, runs,
base_hardware, software_overhead, predicted, measured, ignored.

Exit status: 0 no contradictions; 1 a table contradicts itself; 2 a file could
not be read (the others were analysed), or wrong usage.";

#[derive(Args, Debug)]
pub struct ListArgs {
    /// A probe: its method, axes and metrics. Or a mechanism or receiver: what it does, and whether it works here
    #[arg(value_name = "NAME", value_parser = OpenNames(listed()), hide_possible_values = true)]
    pub name: Option<String>,
}

#[derive(Args, Debug)]
pub struct SpecArgs {
    /// A built-in experiment or a probe: syscost spec ways > mine.toml
    #[arg(value_name = "NAME", value_parser = OpenNames(Spec::names()), hide_possible_values = true)]
    pub name: Option<String>,
}

#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Try this path too: log in, look at both ends, make one data connection
    #[arg(long, value_name = "ssh://HOST|netns:NAME|..")]
    pub path: Option<String>,
    /// What starts a process there on a path rsh:HOST, as of `run`
    #[arg(long, value_name = "COMMAND", requires = "path")]
    pub rsh: Option<String>,
    /// Exit 1 where a check is bad: numbers from this machine would be wrong or missing
    #[arg(long)]
    pub strict: bool,
}

#[derive(Args, Debug)]
pub struct PlanArgs {
    #[command(flatten)]
    pub asked: ExperimentArgs,
    /// List every case
    #[arg(long)]
    pub cases: bool,
    /// Print the experiment as a TOML file, to keep or change
    #[arg(long, conflicts_with_all = ["cases", "json"])]
    pub toml: bool,
}

#[derive(Args, Debug)]
pub struct CheckArgs {
    #[command(flatten)]
    pub asked: ExperimentArgs,
    /// A skipped case is a failure
    #[arg(long)]
    pub strict: bool,
}

#[derive(Args, Debug)]
pub struct AuditArgs {
    /// A TOML file, or the name of a built-in experiment or probe [default: every mechanism of the
    /// default study at 64 KiB with 1 thread, on loopback and veth]
    #[arg(value_name = "SPEC.toml|NAME", value_parser = OpenNames(Spec::names()), hide_possible_values = true)]
    pub experiment: Option<String>,
    /// A skipped case is a failure
    #[arg(long)]
    pub strict: bool,
}

#[derive(Args, Debug)]
pub struct ProfileArgs {
    /// A TOML file, or the name of a built-in experiment or probe [default: every mechanism of the
    /// default study at 64 KiB with 1 thread, on loopback]
    #[arg(value_name = "SPEC.toml|NAME", value_parser = OpenNames(Spec::names()), hide_possible_values = true)]
    pub experiment: Option<String>,
    /// Sampled rounds of each case; as many without sampling alternate with them
    #[arg(long, value_name = "N", default_value_t = profile::ROUNDS, value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub rounds: u32,
    /// Directory to write [default: syscost-runs/<UTC time>-profile]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// A skipped case is a failure
    #[arg(long)]
    pub strict: bool,
}

#[derive(Args, Debug)]
pub struct RunArgs {
    #[command(flatten)]
    pub asked: ExperimentArgs,
    /// Directory to write, new or empty [default: syscost-runs/<UTC time>-<name>]
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub out: Option<PathBuf>,
    /// Sample where CPU time goes inside the kernel, before the rounds: a third of the time at most
    #[arg(long)]
    pub profile: bool,
    /// Continue a stopped run: same cases, same seed
    #[arg(long, value_name = "DIR", conflicts_with_all = ["experiment", "quick", "refine", "precision", "seed"])]
    pub resume: Option<PathBuf>,
    /// Measure the experiment so many times, a new process each, into DIR/run-1, DIR/run-2 ..: one
    /// group, for `syscost compare`
    #[arg(long, value_name = "N", conflicts_with = "resume", value_parser = clap::value_parser!(u32).range(1..=1000), hide_short_help = true)]
    pub repeat: Option<u32>,
    #[command(flatten)]
    pub names: NameArgs,
    /// Exit 1 where a case was skipped
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub exports: RunExportArgs,
    /// Record the samples alone: a guest's run is reported outside
    #[arg(long, hide = true)]
    pub no_report: bool,
}

/// Options of `report` that say something of a table beside the run.
const BESIDE: &str = "Tables of --beside";

#[derive(Args, Debug)]
pub struct ReportArgs {
    /// Directory of a run
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Write each plot and data path into this directory: SVG, and PNG where rsvg-convert or a browser is installed
    #[arg(long, value_name = "DIR")]
    pub plots: Option<PathBuf>,
    /// Show the figures of a table that `analyse` reads, or of an earlier run's directory, beside
    /// this run's; may be given several times
    #[arg(long, value_name = "FILE|DIR")]
    pub beside: Vec<PathBuf>,
    /// Write here instead of into the run's directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub exports: RunExportArgs,
    #[command(flatten, next_help_heading = BESIDE)]
    pub reading: ReadingArgs,
}

#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// The number of a transfer, or its name as tables print it: "4K send", "sendmsg 64 KiB 1 thread"
    #[arg(value_name = "CASE")]
    pub case: String,
    /// Directory of a run [default: the newest in syscost-runs]
    #[arg(value_name = "RUN")]
    pub run: Option<PathBuf>,
}

/// What to say of a table where it does not.
#[derive(Args, Debug)]
pub struct ReadingArgs {
    /// What a heading is: throughput='Speed (net)':Mbit/s
    #[arg(long, value_name = "ROLE=HEADING[:UNIT]")]
    pub column: Vec<String>,
    /// Headings are values of one role, their cells figures of another:
    /// threads=throughput:Gbit/s
    #[arg(long, value_name = "ROLE=QUANTITY[:UNIT]")]
    pub wide: Option<String>,
    /// What names of files say; files of the same columns are one table then:
    /// '{mechanism}_{size}_{threads}'
    #[arg(long, value_name = "PATTERN")]
    pub name: Option<String>,
    /// Threads of tables without such a column
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub threads: Option<u64>,
    /// Duration of a run in seconds, for tables without such a column
    #[arg(long, value_name = "S", value_parser = positive)]
    pub seconds: Option<f64>,
    /// The decimal mark, where a table leaves it open: . or ,
    #[arg(long, value_name = "MARK", value_parser = [".", ","], hide_possible_values = true)]
    pub decimal: Option<String>,
}

#[derive(Args, Debug)]
pub struct AnalyseArgs {
    /// Tables (CSV, TSV, Markdown), folders of them, or what a tool wrote
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// Print every row that was read
    #[arg(long)]
    pub rows: bool,
}

fn positive(text: &str) -> Result<f64, String> {
    let seconds = parse_duration(text).map(|time| time.as_secs_f64()).ok().filter(|seconds| *seconds > 0.0);
    seconds.ok_or_else(|| "a time above 0: 5, 5s, 500ms".into())
}

/// The whole command line, axis flags included: what is parsed, completed and documented.
pub fn command() -> clap::Command {
    ["plan", "check", "audit", "profile", "run", "lab"]
        .into_iter()
        .fold(Cli::command(), |command, name| command.mut_subcommand(name, axes::add))
        .mut_subcommand("run", |run| run.mut_args(rarely))
        .mut_subcommand("report", |report| report.mut_args(of_beside))
        .mut_subcommand("axes", |axes| axes.override_help(axes::help()))
}

/// What `run --help` says of an option and `run -h` does not.
const RARE: &[&str] = &["precision", "rsh", "seed", "strict"];

fn rarely(option: clap::Arg) -> clap::Arg {
    let Some(help) = option.get_help().cloned().filter(|_| RARE.contains(&option.get_id().as_str())) else {
        return option;
    };
    // The man page takes the long help of what the short help hides.
    option.long_help(help).hide_short_help(true)
}

/// They say nothing of the run itself.
fn of_beside(option: clap::Arg) -> clap::Arg {
    if option.get_help_heading() == Some(BESIDE) { option.requires("beside") } else { option }
}

/// The names that `list` takes.
fn listed() -> Vec<&'static str> {
    let probes = probe::ALL.iter().map(|probe| probe.about().id);
    let ways = mechanism::ALL.iter().map(|way| way.about().id);
    probes.chain(ways).chain(receiver::ALL.iter().map(|way| way.about().id)).collect()
}

/// A file of a run, or what its columns are made of.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum ColumnsOf {
    /// samples.csv; one column a quantity follows
    Samples,
    /// What a sample counts and times, by probe
    Quantities,
    /// slices.csv
    Slices,
    /// histograms.csv
    Histograms,
    /// results.csv; its axes stand behind the second column
    Results,
    /// Coordinates of a case, by probe
    Axes,
    /// The column `metric` of results.csv, by probe
    Metrics,
    /// comparisons.csv
    Comparisons,
    /// profile.csv
    Profile,
    /// The table of `course pa02`
    Pa02,
    /// The table of `course cse221`
    Cse221,
}
