//! What is shown while something runs: a line with the time left on a terminal, JSON lines for a
//! script, nothing otherwise. The line goes to stderr, the JSON lines to stdout.

use crate::args::Global;
use crate::label::Labels;
use crate::output::{self, Paint};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;
use syscost_core::units::{count, format_duration};
use syscost_experiment::plan::Plan;
use syscost_harness::Event;
use syscost_host::doctor::Status;

/// Receives a run's events and shows them.
pub struct Progress {
    global: Global,
    bar: ProgressBar,
    labels: Labels,
    /// Shown beside the time: which case was visited last.
    last: String,
    round: u32,
    planned: usize,
    done: u64,
    checking: bool,
}

impl Progress {
    /// For a timed run: the line counts time against the limit.
    pub fn measuring(plan: &Plan, global: &Global) -> Progress {
        Progress::new(plan, global, false)
    }

    /// For a check or an audit: the line counts cases.
    pub fn checking(plan: &Plan, global: &Global) -> Progress {
        Progress::new(plan, global, true)
    }

    fn new(plan: &Plan, global: &Global, checking: bool) -> Progress {
        let visible = !global.json && !global.quiet && std::io::stderr().is_terminal();
        let target = if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(1), target);
        let template = "{bar:20} {wide_msg}";
        bar.set_style(ProgressStyle::with_template(template).expect("a fixed, valid template"));
        Progress {
            global: *global,
            bar,
            labels: Labels::of(plan),
            last: String::new(),
            round: 0,
            planned: plan.cases.len(),
            done: 0,
            checking,
        }
    }

    /// Shows one event.
    pub fn show(&mut self, event: &Event<'_>) {
        if self.global.json {
            // Nobody reads any more: the run itself goes on, its files are what counts.
            let _ = output::print_json_line(event);
            return;
        }
        let paint = Paint::stderr(self.global.color);
        match event {
            Event::Started { cases, .. } => self.planned = *cases,
            Event::Machine { before, status } => {
                let line = before.line();
                self.say(&if *status > Status::Unknown { paint.yellow(&line) } else { line });
            }
            Event::RoundStarted { round, .. } => self.round = *round,
            Event::CaseDone { case, .. } | Event::CaseAudited { case, .. } => {
                self.visited(self.labels.case(case))
            }
            Event::CaseFailed { case, message, .. } => {
                self.left_out(paint.red("failed:"), self.labels.case(case), message)
            }
            Event::CaseSkipped { case, why } => {
                let why = format!("{}: {}", why.reason, why.remedy);
                self.left_out(paint.yellow("skipped:"), self.labels.case(case), &why)
            }
            Event::Warning { warning } => {
                let text = format!("{}; {}", warning.observed, warning.consequence);
                self.say(&format!("{} {text}: {}", paint.yellow("warning:"), warning.remedy));
            }
            Event::Progress { pending_cases, elapsed_ns, time_left_ns, .. } => {
                self.bar.set_length(elapsed_ns + time_left_ns);
                self.bar.set_position(*elapsed_ns);
                let left = format_duration(Duration::from_secs(time_left_ns.div_ceil(1_000_000_000)));
                let (round, planned) = (self.round + 1, count(self.planned, "case"));
                self.bar.set_message(format!(
                    "{left} left, round {round}, {pending_cases} of {planned} not yet precise; {}",
                    self.last
                ));
            }
            Event::Refined { stage, cases } => {
                self.planned += cases;
                let cases = count(*cases, "case");
                self.say(&format!("refining, stage {stage}: {cases} where the answer changes"));
            }
            Event::Finished { .. } => self.bar.finish_and_clear(),
        }
    }

    /// A check lists what failed and what was skipped at its end.
    fn left_out(&mut self, how: String, label: String, why: &str) {
        if !self.checking {
            self.say(&format!("{how} {label}: {why}"));
        }
        self.visited(label);
    }

    fn visited(&mut self, label: String) {
        self.done += 1;
        if self.checking {
            self.bar.set_length(self.planned as u64);
            self.bar.set_position(self.done);
            self.bar.set_message(format!("{} of {}; {label}", self.done, count(self.planned, "case")));
        }
        self.last = label;
    }

    /// A line above the progress line; on stderr also where that is no terminal.
    fn say(&self, text: &str) {
        if !self.global.quiet {
            self.bar.suspend(|| output::complain(text));
        }
    }
}
