//! The commands as cases of a run, and their rounds as its samples: what reads runs reads these.

use crate::asked::AskedCommand;
use crate::decided::is_decided;
use crate::rounds::{CONFIDENCE, CommandTurns};
use crate::turns::TurnOptions;
use std::collections::BTreeMap;
use syscost_core::axis::{Point, Value};
use syscost_core::decide::Looks;
use syscost_core::sample::Sample;
use syscost_experiment::plan::{Case, Plan};
use syscost_experiment::run::State;
use syscost_experiment::spec::{ProbeSpec, Spec, nanoseconds};
use syscost_measure::probe::own_command::{FAULTS, OWN_COMMAND, PEAK_BYTES, SWITCHES, SYSTEM_NS, USER_NS};
use syscost_report::terminal::cut;
use syscost_sys::command::CommandUsage;

/// Characters of a command's name in records. Its whole text is a setting of its case.
const NAME: usize = 120;
const ROLE: &str = "caller";

/// What was asked, as a run records it.
pub fn spec(commands: &[AskedCommand], options: &TurnOptions) -> Spec {
    let values = names(commands).iter().map(|name| Value::text(&**name)).collect();
    let axes = BTreeMap::from([(OWN_COMMAND.id.to_string(), values)]);
    let spec = Spec::empty(OWN_COMMAND.id);
    Spec {
        title: "commands".into(),
        probes: vec![ProbeSpec { axes, ..ProbeSpec::of(OWN_COMMAND.id) }],
        // Several are compared, and measured until that is decided.
        precision: if commands.len() == 1 { options.precision } else { spec.precision },
        confidence: CONFIDENCE,
        min_rounds: 1,
        time_limit_ns: nanoseconds(options.time_limit),
        seed: options.seed,
        ..spec
    }
}

/// One case for each command.
pub fn plan(commands: &[AskedCommand]) -> Plan {
    let case = |(index, name): (usize, String)| {
        let mut point = Point::default();
        point.set(OWN_COMMAND.id, Value::text(&*name));
        Case { index, probe: OWN_COMMAND.id.into(), point, twin_of: None }
    };
    Plan { cases: names(commands).into_iter().enumerate().map(case).collect(), ..Plan::default() }
}

/// A name for each, on one line. The second of one name is `name (2)`, so that a command may be held against itself.
fn names(commands: &[AskedCommand]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for command in commands {
        let words: Vec<&str> = command.name.split(|c: char| c.is_whitespace() || c.is_control()).collect();
        let name = cut(&words.join(" "), NAME);
        let again = |n: &usize| if *n == 1 { name.clone() } else { format!("{name} ({n})") };
        let free = (1..).map(|n| again(&n)).find(|name| !names.contains(name));
        names.extend(free);
    }
    names
}

/// A round that is over.
pub fn samples(turns: &CommandTurns, round: usize) -> Vec<Sample> {
    let of_command = |(case, runs): (usize, &Vec<_>)| {
        let sample = move |(index, run): (usize, &CommandUsage)| Sample {
            case,
            round: round as u32,
            index: index as u32,
            start_ns: Some(run.start_ns),
            elapsed_ns: run.wall_ns,
            ops: 1.0,
            verified: true,
            quantities: [
                (USER_NS, Some(run.user_ns)),
                (SYSTEM_NS, Some(run.system_ns)),
                (PEAK_BYTES, Some(run.peak_bytes).filter(|bytes| turns.is_own_memory(*bytes))),
                (SWITCHES, Some(run.switches)),
                (FAULTS, Some(run.faults)),
            ]
            .map(|(id, value)| (id.to_string(), value))
            .into_iter()
            .collect(),
            ..Sample::default()
        };
        runs.iter().enumerate().map(sample).collect::<Vec<_>>()
    };
    turns.rounds[round].iter().enumerate().flat_map(of_command).collect()
}

/// What is known of a command beside its times, by role and name.
pub fn settings(turns: &CommandTurns, command: usize) -> BTreeMap<String, String> {
    let look = &turns.looks[command];
    let mut known = vec![
        ("command", turns.commands[command].text.clone()),
        ("shell", turns.shell.clone().unwrap_or_else(|| "none".into())),
        ("output_bytes", look.output_bytes.to_string()),
        ("output_sha256", look.output_sha256.iter().map(|byte| format!("{byte:02x}")).collect()),
    ];
    known.extend(look.calls.as_ref().ok().map(|calls| ("system_calls", calls.to_string())));
    known.into_iter().map(|(name, value)| (format!("{ROLE}.{name}"), value)).collect()
}

/// How measuring ended.
pub fn state(turns: &CommandTurns, options: &TurnOptions) -> State {
    let done = options.rounds.is_some() || is_decided(turns, &Looks::end(CONFIDENCE, 1));
    match (turns.interrupted, done) {
        (true, _) => State::Interrupted,
        (_, true) => State::Complete,
        (_, false) => State::TimeLimit,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_has_a_name_of_its_own_on_one_line() {
        let one = |name: &str| AskedCommand { name: name.into(), text: name.into(), parameters: Vec::new() };
        let long = "x".repeat(500);
        let all = names(&[one("true"), one("echo\ta\nb"), one("true"), one("true (2)"), one(&long)]);
        assert_eq!(all[..4], ["true", "echo a b", "true (2)", "true (2) (2)"]);
        assert_eq!(all[4].chars().count(), NAME);
        assert_eq!(plan(&[one("true"), one("true")]).cases.len(), 2);
    }
}
