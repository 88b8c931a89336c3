//! The commands that are asked for: their words, or a shell's text, and the values that stand in them.

use anyhow::{Context, Result, bail, ensure};
use std::ffi::CString;
use std::path::PathBuf;
use syscost_core::axis::range;
use syscost_core::units::parse_count;
use syscost_sys::program;

/// Commands beyond this are another question.
const MOST: usize = 64;

/// Who reads a command's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandShell {
    /// A shell where a command is more than words: pipes, variables, patterns.
    Auto,
    None,
    Program(String),
}

impl std::str::FromStr for CommandShell {
    type Err = String;

    fn from_str(text: &str) -> Result<CommandShell, String> {
        match text.trim() {
            "" => Err("write auto, none, or a shell: bash".into()),
            "auto" => Ok(CommandShell::Auto),
            "none" => Ok(CommandShell::None),
            shell => Ok(CommandShell::Program(shell.into())),
        }
    }
}

/// A name in braces, and what stands for it one after the other: `-L threads 1..8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandList {
    pub name: String,
    pub values: Vec<String>,
}

/// One command, with its values in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedCommand {
    pub name: String,
    pub text: String,
    pub parameters: Vec<(String, String)>,
}

/// Every command with every combination of the values that stand in it.
pub fn expand(texts: &[String], names: &[String], lists: &[CommandList]) -> Result<Vec<AskedCommand>> {
    ensure!(names.len() <= texts.len(), "{} names for {} commands", names.len(), texts.len());
    for list in lists {
        let place = format!("{{{}}}", list.name);
        let stands = texts.iter().any(|text| text.contains(&place));
        ensure!(stands, "no command has {place}, which --list {} has values for", list.name);
    }
    let mut all = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        ensure!(!text.trim().is_empty(), "command {} is empty", at + 1);
        let first = AskedCommand {
            name: names.get(at).unwrap_or(text).trim().into(),
            text: text.clone(),
            parameters: Vec::new(),
        };
        let mut made = vec![first];
        for list in lists.iter().filter(|list| text.contains(&format!("{{{}}}", list.name))) {
            made = made
                .iter()
                .flat_map(|one| list.values.iter().map(|value| with(one, &list.name, value)))
                .collect();
        }
        all.extend(made);
        ensure!(all.len() <= MOST, "more than {MOST} commands: name fewer values");
    }
    Ok(all)
}

fn with(one: &AskedCommand, name: &str, value: &str) -> AskedCommand {
    let place = format!("{{{name}}}");
    // A name that the user gave says nothing of the value.
    let named = if one.name.contains(&place) {
        one.name.replace(&place, value)
    } else {
        format!("{} ({name} {value})", one.name)
    };
    let mut parameters = one.parameters.clone();
    parameters.push((name.into(), value.into()));
    AskedCommand { name: named, text: one.text.replace(&place, value), parameters }
}

/// `1..8`, `1,2,..16`, `gcc,clang`: numbers are counted, other words are taken as they are.
pub fn values(text: &str) -> Result<Vec<String>, String> {
    let mut values: Vec<String> = Vec::new();
    for part in text.split(',').map(str::trim) {
        let numbers = match part.split_once("..") {
            Some(("", to)) => {
                let before: Vec<u64> = values.iter().filter_map(|value| parse_count(value)).collect();
                Some(range::onward(&before, parse_count(to).ok_or(format!("{to} is no number"))?)?)
            }
            Some((from, to)) => match (parse_count(from), parse_count(to)) {
                (Some(from), Some(to)) => Some(range::numbers(from, to)?),
                _ => None,
            },
            None => None,
        };
        match numbers {
            Some(numbers) => values.extend(numbers.iter().map(u64::to_string)),
            None => values.push(part.into()),
        }
    }
    Ok(values)
}

/// Is the text more than a program and its arguments?
fn needs_shell(text: &str) -> bool {
    let mut quote = None;
    let mut escaped = false;
    for letter in text.chars() {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (Some(open), letter) if open == letter => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, '|' | '&' | ';' | '<' | '>' | '(' | ')' | '*' | '?' | '[' | '~' | '#' | '{' | '\n') => {
                return true;
            }
            (None | Some('"'), '$' | '`') => return true,
            _ => {}
        }
    }
    // A variable is set for it: LANG=C sort.
    text.split_whitespace().next().is_some_and(|word| word.contains('='))
}

/// The shell that all of these are given to, so that each pays for it alike; `None`: they are started as they are.
pub fn shell_for(asked: &CommandShell, commands: &[AskedCommand]) -> Option<String> {
    match asked {
        CommandShell::None => None,
        CommandShell::Program(shell) => Some(shell.clone()),
        CommandShell::Auto => commands.iter().any(|one| needs_shell(&one.text)).then(|| "sh".into()),
    }
}

/// The program's file and its words.
pub fn words(text: &str, shell: Option<&str>) -> Result<(PathBuf, Vec<CString>)> {
    let words = match shell {
        Some(shell) => {
            let mut words = shlex::split(shell).context("the shell has an open quote")?;
            words.extend(["-c".into(), text.into()]);
            words
        }
        None => shlex::split(text).with_context(|| format!("a quote is open in: {text}"))?,
    };
    let Some(first) = words.first() else { bail!("an empty command") };
    let program = if first.contains('/') {
        PathBuf::from(first)
    } else {
        program::named(first, &[]).with_context(|| format!("there is no program {first} on the PATH"))?
    };
    let words = words
        .into_iter()
        .map(CString::new)
        .collect::<Result<_, _>>()
        .context("a command holds a zero byte")?;
    Ok((program, words))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(name: &str, values: &str) -> CommandList {
        CommandList { name: name.into(), values: super::values(values).unwrap() }
    }

    #[test]
    fn values_stand_in_every_combination() {
        let texts = ["make -j{n} CC={cc}".to_string(), "ninja -j{n}".to_string()];
        let all = expand(&texts, &[], &[list("n", "1..2"), list("cc", "gcc,clang")]).unwrap();
        let texts: Vec<&str> = all.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "make -j1 CC=gcc",
                "make -j1 CC=clang",
                "make -j2 CC=gcc",
                "make -j2 CC=clang",
                "ninja -j1",
                "ninja -j2"
            ]
        );
        assert_eq!(all[5].parameters, [("n".to_string(), "2".to_string())]);
        let error = expand(&["true".into()], &[], &[list("n", "1")]).unwrap_err();
        assert!(error.to_string().contains("{n}"), "{error}");
    }

    #[test]
    fn numbers_are_counted_and_words_are_not() {
        assert_eq!(values("1,2,..8").unwrap(), ["1", "2", "4", "8"]);
        assert_eq!(values("a..b,c").unwrap(), ["a..b", "c"]);
        assert!(values("1..").is_err() || values("1..").unwrap() == ["1.."]);
    }

    #[test]
    fn a_shell_reads_what_is_more_than_words() {
        for text in [
            "a | b",
            "a > b",
            "echo $HOME",
            "echo \"$HOME\"",
            "ls *.c",
            "LANG=C sort x",
            "a; b",
            "echo {a,b}",
        ] {
            assert!(needs_shell(text), "{text}");
        }
        for text in ["sort x", "grep 'a|b' x", "python3 -c \"print(1)\"", "echo a\\;b", "tar -C /x --a=b"] {
            assert!(!needs_shell(text), "{text}");
        }
        let (program, words) = words("sh -c 'exit 3'", None).unwrap();
        assert!(program.is_absolute());
        assert_eq!(words, [c"sh".into(), c"-c".into(), CString::from(c"exit 3")]);
        assert!(super::words("sh -c 'x", None).is_err() && super::words("no-such-program", None).is_err());
    }
}
