//! A question without a command: `syscost send sendmsg --size 4K` and `syscost latency` are runs.

use crate::{args, axes};
use std::ffi::OsString;
use syscost_core::axis::suggest;
use syscost_experiment::spec::Spec;
use syscost_measure::probe::transfer::axes::MECHANISM;

/// The arguments with `run` before a question; `None`: they begin with none.
pub fn asked(arguments: &[OsString]) -> Option<Vec<OsString>> {
    let words: Vec<&str> =
        arguments.iter().skip(1).map_while(|word| word.to_str()).take_while(is_word).collect();
    let first = words.first()?;
    let mechanism = axes::flags().into_iter().find(|(_, axis)| axis.id == MECHANISM.id);
    let asked: Vec<OsString> = if Spec::names().contains(first) {
        vec!["run".into(), first.into()]
    } else if mechanism.is_some_and(|(_, axis)| words.iter().all(|word| axis.parse(word).is_ok())) {
        vec!["run".into(), "--mechanism".into(), words.join(",").into()]
    } else {
        return None;
    };
    let rest = if asked.len() == 2 { 2 } else { 1 + words.len() };
    Some(arguments[..1].iter().cloned().chain(asked).chain(arguments[rest..].iter().cloned()).collect())
}

/// The nearest command to a word that is none; behind a command that has its own, one of those.
pub fn instead_of(arguments: &[OsString], word: &str) -> String {
    let typed = arguments.iter().skip(1).filter_map(|word| word.to_str()).take_while(|other| *other != word);
    let all = args::command();
    let parent = typed.filter_map(|before| all.find_subcommand(before)).find(|one| one.has_subcommands());
    let commands = commands(parent.unwrap_or(&all));
    let names: Vec<&str> = commands.iter().map(String::as_str).collect();
    format!("there is no command {word:?}: {}", suggest(word, &names, &[]))
}

fn is_word(word: &&str) -> bool {
    !word.starts_with('-')
}

/// Those that help shows, and help itself.
fn commands(command: &clap::Command) -> Vec<String> {
    let shown =
        command.get_subcommands().filter(|one| !one.is_hide_set()).map(|one| one.get_name().to_string());
    shown.chain(["help".to_string()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_a_run_and_anything_else_stays() {
        let of = |text: &str| {
            let words: Vec<OsString> = text.split(' ').map(OsString::from).collect();
            asked(&words)
                .unwrap_or(words)
                .into_iter()
                .map(|word| word.into_string().unwrap())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(of("syscost send sendmsg --size 4K"), "syscost run --mechanism send,sendmsg --size 4K");
        assert_eq!(of("syscost zero-copy"), "syscost run --mechanism zero-copy");
        assert_eq!(of("syscost latency --quick"), "syscost run latency --quick");
        for same in [
            "syscost",
            "syscost run send",
            "syscost --json run",
            "syscost rnu",
            "syscost send 4K",
            "syscost help axes",
        ] {
            assert_eq!(of(same), same);
        }
        assert!(instead_of(&[], "rnu").contains("did you mean run?"), "{}", instead_of(&[], "rnu"));
        let layouts = instead_of(&["syscost", "course", "pa03"].map(OsString::from), "pa03");
        assert!(layouts.contains("did you mean pa02?") && !layouts.contains("doctor"), "{layouts}");
    }
}
