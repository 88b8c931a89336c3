//! Code of the user's own on the command line: `--mechanism ./mine.so:name` becomes the name that plans and records hold,
//! before anything else is read, since its axes are options too.

use anyhow::{Result, anyhow, bail, ensure};
use std::ffi::OsString;
use syscost_analyze::grouped::grouped;
use syscost_experiment::spec::Spec;
use syscost_harness::own as objects;
use syscost_measure::own::{self, OwnCode, OwnEntry, OwnKind, OwnObject, PROGRAM};
use syscost_measure::{mechanism, probe, receiver};

/// Options whose values may be objects, and what they name.
const OPTIONS: [(&str, Option<OwnKind>); 4] = [
    ("--mechanism", Some(OwnKind::Mechanism)),
    ("--receiver", Some(OwnKind::Receiver)),
    ("--operation", Some(OwnKind::Operation)),
    ("--own", None),
];

/// The command line with names in place of objects, all of which are known from here on.
pub fn taken_in(arguments: &[OsString]) -> Result<Vec<OsString>> {
    let mut taken = Vec::new();
    let mut asked: Vec<OwnObject> = Vec::new();
    let mut option = None;
    for argument in arguments {
        let text = argument.to_string_lossy();
        let joined = OPTIONS.iter().find_map(|(name, kind)| {
            Some((*name, *kind, text.strip_prefix(name)?.strip_prefix('=')?.to_string()))
        });
        if let Some((name, kind, values)) = joined {
            taken.push(format!("{name}={}", named(&values, kind, &mut asked)?).into());
        } else if let Some(kind) = option.take() {
            taken.push(named(&text, kind, &mut asked)?.into());
        } else {
            option = OPTIONS.iter().find(|(name, _)| text == *name).map(|(_, kind)| *kind);
            taken.push(argument.clone());
        }
    }
    own::register(&asked);
    Ok(taken)
}

/// Does this text name a file?
fn is_object(text: &str) -> bool {
    text.contains('/') || text.ends_with(".so") || text.contains(".so:") || text.contains(PROGRAM)
}

/// The values with names in place of objects.
fn named(values: &str, kind: Option<OwnKind>, asked: &mut Vec<OwnObject>) -> Result<String> {
    let mut names = Vec::new();
    let mut program = None;
    for value in pieces(values) {
        if !is_object(value) {
            if let Some(before) = program.filter(|_| !is_known(value, kind)) {
                bail!(
                    "{value} after the comma is no {}: a comma ends the command of {before}. Quote one that belongs to it, as \
                     in program:./mine 'a,b'",
                    kind.map_or("code", OwnKind::word)
                );
            }
            names.push(value.to_string());
            continue;
        }
        program = program.or(value.contains(PROGRAM).then_some(value));
        let object = described(value, kind)?;
        names.extend(object.codes.iter().map(|code| code.name.clone()));
        let known = asked.iter().flat_map(|object| object.codes.iter().map(move |code| (object, code)));
        let new = |code: &&OwnEntry| {
            let same = known.clone().find(|(_, other)| (&other.name, other.kind) == (&code.name, code.kind));
            match same {
                Some((other, _)) if other.sha256 != object.sha256 => Err(anyhow!(
                    "{} and {} both offer {}: give each a name of its own, as in old={}",
                    other.path,
                    object.path,
                    code.name,
                    other.path
                )),
                same => Ok(same.is_none()),
            }
        };
        let mut codes = Vec::new();
        for code in &object.codes {
            if new(&code)? {
                codes.push(code.clone());
            }
        }
        asked.push(OwnObject { codes, ..object });
    }
    Ok(names.join(","))
}

/// The values, at whose commas they end; one within quotes is a program's own.
fn pieces(values: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut quote) = (0, None);
    for (at, letter) in values.char_indices() {
        let is_program = || values[start..at].contains(PROGRAM);
        match (quote, letter) {
            (None, ',') => {
                pieces.push(&values[start..at]);
                start = at + 1;
            }
            (None, '\'' | '"') if is_program() => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            _ => {}
        }
    }
    pieces.push(&values[start..]);
    pieces
}

/// Does this name something without a file?
fn is_known(name: &str, kind: Option<OwnKind>) -> bool {
    let name = name.trim();
    match kind {
        Some(OwnKind::Operation) => name == "nothing",
        Some(OwnKind::Mechanism) => mechanism::ALL.iter().any(|known| is_called(*known, name)),
        Some(OwnKind::Receiver) => receiver::ALL.iter().any(|known| known.about().id == name),
        None => false,
    }
}

fn is_called(known: &dyn mechanism::Mechanism, name: &str) -> bool {
    let about = known.about();
    about.id == name || about.aliases.iter().any(|alias| alias.replace('-', "_") == name.replace('-', "_"))
}

/// `[LABEL=]FILE[:NAME]`: the file's object, with those of its codes that are meant.
fn described(value: &str, kind: Option<OwnKind>) -> Result<OwnObject> {
    let (label, rest) = match value.split_once('=') {
        Some((label, rest)) if !label.contains(['/', '.', ':']) => (Some(label), rest),
        _ => (None, value),
    };
    let (file, name) = match rest.rsplit_once(':') {
        Some((file, name)) if !name.contains('/') => (file, Some(name)),
        _ => (rest, None),
    };
    if let Some(text) = rest.strip_prefix(PROGRAM) {
        return program(label, text, kind);
    }
    let mut object = objects::describe(file).map_err(|why| anyhow!(why))?;
    let offered: Vec<String> = object.codes.iter().map(|code| code.name.clone()).collect();
    object.codes.retain(|code| {
        kind.is_none_or(|kind| kind == code.kind) && name.is_none_or(|name| name == code.name)
    });
    if object.codes.is_empty() {
        let kind = kind.map_or("code", OwnKind::word);
        let wanted = name.map(|name| format!(" {name}")).unwrap_or_default();
        bail!("{file} has no {kind}{wanted}: it offers {}", offered.join(", "));
    }
    if let Some(label) = label {
        let [code] = object.codes.as_mut_slice() else {
            bail!(
                "{file} offers {}: say which one is {label}, as in {label}={file}:{}",
                offered.join(", "),
                offered[0]
            );
        };
        code.name = label.to_string();
    }
    object.codes.iter().try_for_each(usable)?;
    Ok(object)
}

/// `[LABEL=]program:COMMAND`: without a label it has the name of the program's file.
fn program(label: Option<&str>, text: &str, kind: Option<OwnKind>) -> Result<OwnObject> {
    let kind = kind.unwrap_or(OwnKind::Mechanism);
    ensure!(
        kind != OwnKind::Receiver,
        "{PROGRAM}{text} cannot receive: a program sends (--mechanism) or is an operation (--operation); a way to receive \
         is a shared object: syscost new receiver my_recv"
    );
    let (path, words) = syscost_commands::asked::words(text, None)?;
    let words = words.into_iter().map(|word| Ok(word.into_string()?)).collect::<Result<Vec<_>>>()?;
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().to_lowercase().replace(['-', '.'], "_"));
    let name = label.map_or(stem.unwrap_or_default(), str::to_string);
    let object = objects::program(&path, words, kind, name).map_err(|why| anyhow!(why))?;
    object.codes.iter().try_for_each(usable)?;
    Ok(object)
}

/// Can plans and records call it so, and its axes?
fn usable(code: &OwnEntry) -> Result<()> {
    let OwnEntry { name, kind, .. } = code;
    ensure!(
        is_plain(name),
        "the name {name:?} of your code needs a lower-case letter, then letters, digits and _"
    );
    ensure!(
        !is_known(name, Some(*kind)),
        "{name} is built in: call yours by a name of its own, as in my_{name}=FILE:{name}"
    );
    for axis in &code.axes {
        ensure!(
            is_plain(&axis.name),
            "the axis {:?} of {name} needs lower-case letters, digits and _",
            axis.name
        );
        let clashes = probe::ALL
            .iter()
            .flat_map(|probe| probe.axes())
            .any(|known| known.id == axis.name || known.flag == axis.name.replace('_', "-"));
        ensure!(!clashes, "the axis {} of {name} is one of syscost's: give it another name", axis.name);
    }
    Ok(())
}

pub fn is_plain(name: &str) -> bool {
    const LONGEST: usize = 40;
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.len() <= LONGEST
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// The objects that a spec's values name.
pub fn of_spec(spec: &Spec) -> Vec<OwnObject> {
    let names = |code: &&&OwnCode| {
        let axis = probe::own_axis(code.entry.kind).id;
        let values = spec.probes.iter().filter_map(|probe| probe.axes.get(axis)).flatten();
        values.into_iter().any(|value| value.as_text() == Some(code.name()))
    };
    let known: Vec<&OwnCode> = OwnKind::ALL.into_iter().flat_map(own::all).collect();
    let by_object = grouped(known.iter().filter(names).map(|code| (&code.object.path, *code)));
    let object = |(_, codes): (&String, Vec<&OwnCode>)| {
        let object = codes[0].object.clone();
        OwnObject { codes: codes.iter().map(|code| code.entry.clone()).collect(), ..object }
    };
    by_object.into_iter().map(object).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_no_file_stays_as_it_is() {
        let given: Vec<OsString> =
            ["syscost", "run", "--mechanism", "send,one-copy", "--operation=copy", "--size", "./x.so"]
                .map(OsString::from)
                .to_vec();
        assert_eq!(taken_in(&given).unwrap(), given);
        let missing = ["syscost", "run", "--mechanism", "send,./nowhere.so"].map(OsString::from);
        assert!(taken_in(&missing).unwrap_err().to_string().contains("cannot open ./nowhere.so"));
    }

    #[test]
    fn a_comma_within_quotes_is_the_programs_own() {
        let values = "send,a=program:./mine 'x,y' \"z,w\",./it's.so,recv";
        let split = ["send", "a=program:./mine 'x,y' \"z,w\"", "./it's.so", "recv"];
        assert_eq!(pieces(values), split);
        let given = ["run", "--operation", "sh=program:sh -c a,b"].map(OsString::from);
        let refused = taken_in(&given).unwrap_err().to_string();
        assert!(refused.contains("b after the comma") && refused.contains("Quote"), "{refused}");
        let given = ["run", "--operation", "sh=program:sh -c 'a,b',nothing"].map(OsString::from);
        assert_eq!(taken_in(&given).unwrap()[2], "sh,nothing");
    }

    #[test]
    fn names_are_those_that_a_plan_can_hold() {
        assert!(
            is_plain("my_send2") && !is_plain("My") && !is_plain("2a") && !is_plain("a-b") && !is_plain("")
        );
    }
}
