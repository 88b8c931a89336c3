//! The answer in words, as a table, and as data. Nothing is decided here.

use crate::decided::{CPU, CommandFigure, CommandPair, WALL, best, estimate, pairs};
use crate::rounds::{CONFIDENCE, CommandTurns};
use anyhow::Result;
use serde_json::{Value as Json, json};
use std::time::Duration;
use syscost_core::decide::{Decision, Looks, MARGIN, Verdict};
use syscost_core::stats::{Estimate, median};
use syscost_core::units::{Unit, and, count, format_duration, percent};
use syscost_report::terminal::cut;
use syscost_report::text::ending::EndTable;

/// Characters of a command in a table or a sentence.
const NAME: usize = 32;
/// Raised where a reader of the last one would misread the document.
const SCHEMA: u32 = 1;
/// A limit that is advised is so much longer than what seems to be needed: estimates err.
const SPARE: f64 = 1.5;

/// What was decided of the commands.
pub struct CommandAnswer<'a> {
    turns: &'a CommandTurns,
    wall: Vec<CommandPair>,
    cpu: Vec<CommandPair>,
    /// The answer first, then what the CPU says where that is another thing.
    pub sentences: Vec<String>,
    /// What the reader must know before the table is believed.
    pub notes: Vec<String>,
}

const MEMORY: &str = "peak memory";
/// A column of counts: they are told, and not compared.
const COUNTS: [(&str, CommandFigure, Unit); 3] = [
    (MEMORY, |run| run.peak_bytes, Unit::Bytes),
    ("switches", |run| run.switches, Unit::Count),
    ("page faults", |run| run.faults, Unit::Count),
];

impl<'a> CommandAnswer<'a> {
    pub fn of(turns: &'a CommandTurns) -> CommandAnswer<'a> {
        let looks = Looks::end(CONFIDENCE, 1);
        let (wall, cpu) = (pairs(turns, WALL, &looks), pairs(turns, CPU, &looks));
        let mut answer = CommandAnswer { turns, wall, cpu, sentences: Vec::new(), notes: Vec::new() };
        (answer.sentences, answer.notes) = (answer.told(), answer.noted());
        answer
    }

    fn name(&self, command: usize) -> String {
        cut(&self.turns.commands[command].name, NAME)
    }

    fn told(&self) -> Vec<String> {
        let commands = self.turns.commands.len();
        if commands == 1 {
            let told = self.figure(0, WALL, &self.wall).map(|time| shown(&time));
            return vec![format!(
                "{} takes {}.",
                self.name(0),
                told.unwrap_or_else(|| "an unknown time".into())
            )];
        }
        let mut told = Vec::new();
        if commands > 2 {
            told.push(self.fastest());
        }
        told.extend(self.against_first(&self.wall).map(|pair| self.pair(pair)));
        let is_other = |pair: &&CommandPair| {
            let wall = self.wall.iter().find(|wall| (wall.of, wall.against) == (pair.of, pair.against));
            let decided = matches!(pair.decision.verdict, Verdict::Less | Verdict::More);
            decided && wall.is_some_and(|wall| wall.decision.verdict != pair.decision.verdict)
        };
        told.extend(self.against_first(&self.cpu).filter(is_other).map(|pair| {
            format!(
                "{} takes {} the CPU time of {}.",
                self.name(pair.of),
                ratio(&pair.decision),
                self.name(pair.against)
            )
        }));
        told
    }

    fn against_first<'p>(&self, pairs: &'p [CommandPair]) -> impl Iterator<Item = &'p CommandPair> {
        pairs.iter().filter(|pair| pair.against == 0)
    }

    fn fastest(&self) -> String {
        let best = best(self.turns.commands.len(), &self.wall);
        let names: Vec<String> = best.iter().map(|at| self.name(*at)).collect();
        match names.as_slice() {
            [one] => format!("{one} is the fastest."),
            several => format!("Nothing is significantly faster than {}.", and(several)),
        }
    }

    fn pair(&self, pair: &CommandPair) -> String {
        let (of, against) = (self.name(pair.of), self.name(pair.against));
        let decision = &pair.decision;
        match decision.verdict {
            Verdict::Less => format!("{of} is {} faster than {against}.", ratio(&inverse(decision))),
            Verdict::More => format!("{against} is {} faster than {of}.", ratio(decision)),
            Verdict::Same => format!(
                "{of} and {against} take the same time within {}: {}.",
                percent(MARGIN),
                ratio(decision)
            ),
            Verdict::Undecided => {
                format!(
                    "Undecided: {of} takes {} the time of {against}.{}",
                    ratio(decision),
                    self.what_would_decide(decision)
                )
            }
        }
    }

    /// How much longer an undecided pair needs.
    fn what_would_decide(&self, decision: &Decision) -> String {
        let Some(needed) = decision.rounds_needed.filter(|_| decision.rounds > 0) else {
            return String::new();
        };
        let seconds = self.turns.elapsed.as_secs_f64() * needed / f64::from(decision.rounds) * SPARE;
        let limit = format_duration(Duration::from_secs(seconds.ceil() as u64));
        format!(
            " About {} would decide: --time-limit {}",
            count(needed as usize, "round"),
            limit.replace(' ', "")
        )
    }

    /// A time of a command; of a rival, that of the first times the ratio that was tested.
    fn figure(&self, command: usize, figure: CommandFigure, pairs: &[CommandPair]) -> Option<Estimate> {
        let own = estimate(self.turns, command, figure)?;
        let pair = pairs.iter().find(|pair| (pair.of, pair.against) == (command, 0));
        let Some(pair) = pair.filter(|pair| pair.decision.rounds > 0) else { return Some(own) };
        let scale = estimate(self.turns, 0, figure)?.value * pair.decision.ratio / own.value;
        Some(Estimate { value: own.value * scale, low: own.low * scale, high: own.high * scale, ..own })
    }

    pub fn table(&self) -> EndTable {
        let rivals = self.turns.commands.len() > 1;
        let mut columns = vec!["command", "time"];
        columns.extend(rivals.then_some("against the first"));
        columns.push("CPU time");
        columns.extend(COUNTS.map(|(title, ..)| title));
        columns.push("system calls");
        let rows = (0..self.turns.commands.len()).map(|at| self.row(at, rivals)).collect();
        EndTable { title: None, columns: columns.into_iter().map(String::from).collect(), rows, note: None }
    }

    fn row(&self, at: usize, rivals: bool) -> Vec<String> {
        let time = |figure: CommandFigure, pairs: &[CommandPair]| {
            self.figure(at, figure, pairs).map_or_else(|| "-".into(), |time| shown(&time))
        };
        let mut row = vec![self.name(at), time(WALL, &self.wall)];
        if rivals {
            let pair = self.against_first(&self.wall).find(|pair| pair.of == at);
            row.push(pair.map_or_else(|| "-".into(), |pair| verdict(&pair.decision)));
        }
        row.push(time(CPU, &self.cpu));
        row.extend(COUNTS.map(|(title, figure, unit)| match self.middle(at, figure) {
            Some(_) if title == MEMORY && self.is_small(at) => {
                format!("<{}", unit.format(self.turns.least_bytes))
            }
            Some(n) => unit.format(n),
            None => "-".into(),
        }));
        row.push(self.turns.looks[at].calls.as_ref().map_or("-".into(), |calls| calls.to_string()));
        row
    }

    /// Has it no more memory than what the kernel says of a program without any?
    fn is_small(&self, at: usize) -> bool {
        self.middle(at, COUNTS[0].1).is_some_and(|bytes| !self.turns.is_own_memory(bytes))
    }

    fn middle(&self, at: usize, figure: CommandFigure) -> Option<f64> {
        median(&self.turns.rounds.iter().flat_map(|round| round[at].iter().map(figure)).collect::<Vec<_>>())
    }

    fn noted(&self) -> Vec<String> {
        let turns = self.turns;
        let runs: usize = turns.rounds.iter().map(|round| round[0].len()).sum();
        let mut notes = vec![format!(
            "{} of each command in {}, alternating in random order.",
            count(runs, "run"),
            count(turns.rounds.len(), "round")
        )];
        if turns.interrupted {
            notes.push("Note: you ended it before it was decided.".into());
        }
        if let Some(start) = median(&turns.starts_ns) {
            let what = turns
                .shell
                .as_ref()
                .map_or("a process".into(), |shell| format!("a process and the shell ({shell})"));
            notes.push(format!(
                "Note: {} of each run is the start of {what}. It is not subtracted. Where it is much of the time, let a command do more work.",
                Unit::Nanoseconds.format(start)
            ));
        } else if let Some(shell) = &turns.shell {
            notes.push(format!(
                "Note: every command runs in a shell ({shell}), whose start is part of its time."
            ));
        }
        let differs = |at: &usize| turns.looks[*at].output_sha256 != turns.looks[0].output_sha256;
        let others: Vec<String> = (1..turns.looks.len()).filter(differs).map(|at| self.name(at)).collect();
        if !others.is_empty() {
            let bytes = |at: usize| Unit::Bytes.format(turns.looks[at].output_bytes as f64);
            let of = (1..turns.looks.len()).find(differs).unwrap_or(0);
            notes.push(format!(
                "Note: the output differs: {} wrote {}, {} wrote {}. Do they do the same work?",
                self.name(0),
                bytes(0),
                self.name(of),
                bytes(of)
            ));
        }
        if turns.failed_runs > 0 {
            notes.push(format!(
                "Note: {} failed, and their times count.",
                count(turns.failed_runs as usize, "run")
            ));
        }
        notes.extend(
            turns
                .looks
                .iter()
                .find_map(|look| look.calls.as_ref().err())
                .map(|why| format!("Note: system calls are not known of all: {why}.")),
        );
        notes
    }

    pub fn json(&self) -> Json {
        let turns = self.turns;
        let command = |at: usize| {
            let asked = &turns.commands[at];
            let runs = |figure: CommandFigure| {
                turns
                    .rounds
                    .iter()
                    .map(|round| round[at].iter().map(figure).collect::<Vec<_>>())
                    .collect::<Vec<_>>()
            };
            let look = &turns.looks[at];
            json!({
                "name": asked.name, "command": asked.text,
                "parameters": asked.parameters.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
                "wall_ns": interval(self.figure(at, WALL, &self.wall)), "cpu_ns": interval(self.figure(at, CPU, &self.cpu)),
                "peak_bytes": self.middle(at, COUNTS[0].1).filter(|_| !self.is_small(at)), "switches": self.middle(at, COUNTS[1].1),
                "page_faults": self.middle(at, COUNTS[2].1), "system_calls": look.calls.as_ref().ok(),
                "output_bytes": look.output_bytes, "wall_ns_by_round": runs(WALL), "cpu_ns_by_round": runs(CPU),
            })
        };
        let pair = |metric: &'static str| {
            move |pair: &CommandPair| {
                let decision = &pair.decision;
                let known = |end: f64| (decision.level > 0.0 && end.is_finite()).then_some(end);
                json!({
                    "metric": metric, "of": pair.of, "against": pair.against, "ratio": decision.ratio,
                    "ci_low": known(decision.low), "ci_high": known(decision.high), "ci_level": decision.level,
                    "rounds": decision.rounds, "verdict": decision.verdict,
                })
            }
        };
        let comparisons: Vec<Json> =
            self.wall.iter().map(pair("wall")).chain(self.cpu.iter().map(pair("cpu"))).collect();
        json!({
            "schema": SCHEMA, "answer": self.sentences, "shell": turns.shell,
            "commands": (0..turns.commands.len()).map(command).collect::<Vec<_>>(), "comparisons": comparisons,
            "start_ns": median(&turns.starts_ns), "notes": self.notes,
        })
    }

    /// One row a command and time.
    pub fn csv(&self) -> Result<String> {
        let mut out = csv::Writer::from_writer(Vec::new());
        out.write_record([
            "command",
            "metric",
            "unit",
            "value",
            "ci_low",
            "ci_high",
            "ci_level",
            "rounds",
            "ratio",
            "ratio_low",
            "ratio_high",
            "verdict",
        ])?;
        for at in 0..self.turns.commands.len() {
            for (metric, figure, pairs) in [("wall", WALL, &self.wall), ("cpu", CPU, &self.cpu)] {
                let Some(time) = self.figure(at, figure, pairs) else { continue };
                let mut row = vec![self.turns.commands[at].name.clone(), metric.into(), "ns".into()];
                row.extend(
                    [time.value, time.low, time.high, time.level, f64::from(time.n)].map(|n| n.to_string()),
                );
                match self.against_first(pairs).find(|pair| pair.of == at).map(|pair| pair.decision) {
                    Some(Decision { ratio, low, high, verdict, .. }) => {
                        row.extend([ratio, low, high].map(|n| n.to_string()));
                        row.push(json!(verdict).as_str().unwrap_or_default().into());
                    }
                    None => row.extend(std::iter::repeat_n(String::new(), 4)),
                }
                out.write_record(row)?;
            }
        }
        Ok(String::from_utf8(out.into_inner()?)?)
    }
}

fn interval(time: Option<Estimate>) -> Json {
    let Some(time) = time else { return Json::Null };
    json!({ "value": time.value, "ci_low": time.low, "ci_high": time.high, "ci_level": time.level, "rounds": time.n })
}

/// `101 ms ±0.3 %`
fn shown(time: &Estimate) -> String {
    let value = Unit::Nanoseconds.format(time.value);
    if time.reaches(CONFIDENCE) {
        format!("{value} ±{}", percent(time.relative_half_width()))
    } else {
        value
    }
}

fn verdict(decision: &Decision) -> String {
    match decision.verdict {
        Verdict::Same => format!("same {}", ratio(decision)),
        Verdict::Undecided => format!("? {}", ratio(decision)),
        Verdict::Less | Verdict::More => ratio(decision),
    }
}

fn inverse(decision: &Decision) -> Decision {
    Decision { ratio: 1.0 / decision.ratio, low: 1.0 / decision.high, high: 1.0 / decision.low, ..*decision }
}

/// `1.21x [1.18, 1.24]`, with as many digits as the interval supports.
fn ratio(decision: &Decision) -> String {
    if decision.level == 0.0 || !decision.high.is_finite() {
        return format!("{:.2}x", decision.ratio);
    }
    let digits = if decision.high - decision.low < 0.02 { 3 } else { 2 };
    format!("{:.digits$}x [{:.digits$}, {:.digits$}]", decision.ratio, decision.low, decision.high)
}
