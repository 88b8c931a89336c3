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
use syscost_report::terminal::cut;

/// Columns of the bar.
const BAR: usize = 20;

/// A line of text on a terminal; hidden where nobody reads it.
pub fn status_line(global: &Global) -> ProgressBar {
    let visible = !global.json && !global.quiet && std::io::stderr().is_terminal();
    let target = if visible { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(1), target);
    bar.set_style(ProgressStyle::with_template("{msg}").expect("a fixed, valid template"));
    bar
}

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
    /// Of a timed run the line counts time against the limit; of a check or an audit it counts cases.
    pub fn new(plan: &Plan, global: &Global, checking: bool) -> Progress {
        let bar = status_line(global);
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
            Event::CaseVisited { case, .. } | Event::CaseAudited { case, .. } => {
                self.visited(self.labels.case(case))
            }
            // A check has one visit of each case, and tells of that.
            Event::CaseDone { case, .. } if self.checking => self.visited(self.labels.case(case)),
            Event::CaseDone { .. } => {}
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
                let share = *elapsed_ns as f64 / (elapsed_ns + time_left_ns).max(1) as f64;
                let left = format_duration(Duration::from_secs(time_left_ns.div_ceil(1_000_000_000)));
                let (round, planned) = (self.round + 1, count(self.planned, "case"));
                let text =
                    format!("{left} left, round {round}, {pending_cases} of {planned} open; {}", self.last);
                self.draw(share, &text);
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
            let share = self.done as f64 / self.planned.max(1) as f64;
            self.draw(share, &format!("{} of {}; {label}", self.done, count(self.planned, "case")));
        }
        self.last = label;
    }

    fn draw(&self, share: f64, text: &str) {
        self.bar.set_message(line(share, text, usize::from(output::columns_of(std::io::stderr()))));
    }

    /// A line above the progress line; on stderr also where that is no terminal.
    fn say(&self, text: &str) {
        if !self.global.quiet {
            self.bar.suspend(|| output::complain(text));
        }
    }
}

/// The progress line, which leaves the last column free: some terminals wrap when it is written.
fn line(share: f64, text: &str, columns: usize) -> String {
    let room = columns.saturating_sub(1);
    // Words tell more than a bar does.
    if room < 3 * BAR {
        return cut(text, room);
    }
    let full = (share.clamp(0.0, 1.0) * BAR as f64).round() as usize;
    let bar = "█".repeat(full) + &"░".repeat(BAR - full);
    format!("{bar} {}", cut(text, room - BAR - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use textwrap::core::display_width;

    #[test]
    fn the_line_fits_into_every_width_and_says_where_it_is_cut() {
        let texts = [
            "59 s left, round 12, 118 of 260 cases open; transfer msg_zerocopy, 64 KiB, 8 threads, veth, mtu 9000",
            "1 s left; 名前の長い装置 名前の長い装置 名前の長い装置 名前の長い装置 名前の長い装置",
            "2 s left; two\nlines\x1b[2J",
        ];
        for text in texts {
            for columns in 0..200 {
                let line = line(0.4, text, columns);
                assert!(display_width(&line) < columns.max(1), "{columns}: {line}");
                assert!(!line.contains(['\n', '\x1b']));
            }
        }
        let line = line(0.5, texts[0], 80);
        assert!(line.starts_with("██████████░░░░░░░░░░ 59 s left, round 12, 118 of 260 cases open"));
        assert!(line.ends_with('…') && display_width(&line) == 79, "{line}");
    }

    #[test]
    fn what_fits_is_not_cut() {
        assert_eq!(line(1.0, "done", 30), "done");
        assert_eq!(line(1.0, "done", 80), format!("{} done", "█".repeat(BAR)));
    }
}
