//! The transfer of a run that a person means: its number, or words as tables and sentences print them.

use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeSet;
use syscost_core::axis::{Axis, Kind, suggest};
use syscost_core::units::short_bytes;
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_measure::mechanism::MESSAGES_PER_CALL;
use syscost_measure::probe::Probe;
use syscost_measure::probe::transfer::Transfer;
use syscost_measure::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES, PATH, RECEIVER, THREADS};
use syscost_report::text::words::Words;

/// Cases that an error names.
const SHOWN: usize = 4;
/// What stands between words of printed names.
const BETWEEN: [char; 5] = ['(', ')', ',', ';', '?'];
/// Words of printed names that tell nothing.
const FILLERS: &[&str] = &["and", "at", "over", "to", "with"];

pub fn transfers(run: &Run) -> impl Iterator<Item = &Case> {
    let cases = run.record.plan.cases.iter();
    cases.filter(|case| case.probe == Transfer.about().id && case.twin_of.is_none())
}

/// A case by its number or its words. Where no case has all of them, the error names the nearest.
pub fn find<'r>(run: &'r Run, text: &str) -> Result<&'r Case> {
    match text.parse() {
        Ok(index) => numbered(run, index),
        Err(_) => worded(run, text),
    }
}

fn numbered(run: &Run, index: usize) -> Result<&Case> {
    let cases = &run.record.plan.cases;
    let case = cases.get(index);
    let case = case
        .with_context(|| format!("the run has cases 0 to {}, not {index}", cases.len().saturating_sub(1)))?;
    ensure!(
        case.probe == Transfer.about().id,
        "case {index} is a case of {}; only transfers over TCP have an account. `syscost report` shows the \
         predictions of other rows",
        case.probe
    );
    // A twin repeats a case to measure the noise.
    cases.get(case.twin_of.unwrap_or(index)).context("a twin has a case")
}

fn worded<'r>(run: &'r Run, text: &str) -> Result<&'r Case> {
    let axes = Transfer.axes();
    let printed = Words::of(run);
    // `messages per call 8` is what an axis is called, and its value.
    let spaced = format!(" {}", text.to_lowercase().replace(BETWEEN, " "));
    let titled = axes.iter().filter(|axis| axis.id != THREADS.id).fold(spaced, |text, axis| {
        text.replace(&format!(" {} ", axis.title.to_lowercase()), &format!(" {}=", axis.flag))
    });
    let wanted: Vec<String> = words(&titled).into_iter().filter(|word| !FILLERS.contains(&&**word)).collect();
    let all: Vec<(&Case, BTreeSet<String>)> = transfers(run).map(|case| (case, names(case, &axes))).collect();
    let is_name = |word: &&String| !word.starts_with(|c: char| c.is_ascii_digit()) && !word.contains('=');
    if let Some(word) =
        wanted.iter().filter(is_name).find(|word| all.iter().all(|(_, own)| !own.contains(*word)))
    {
        let named = axes.iter().filter(|axis| [MECHANISM.id, RECEIVER.id, PATH.id].contains(&axis.id));
        let known: Vec<&str> = named.flat_map(|axis| axis.kind.names()).collect();
        bail!("no transfer is called {word:?}, and it is no message size: {}", suggest(word, &known, &[]));
    }
    let shown = |cases: &[&Case]| {
        let one = |case: &&Case| {
            let who = case.point.text(MECHANISM).unwrap_or_default();
            format!("{}: {who}, {}", case.index, printed.place(&case.point, &[MECHANISM.id]))
        };
        cases.iter().take(SHOWN).map(one).collect::<Vec<_>>().join("; ")
    };
    // Those that lack the fewest of the words; tables leave out what an axis has by default.
    let lacks = |own: &BTreeSet<String>| wanted.iter().filter(|word| !own.contains(*word)).count();
    let mut near: Vec<(usize, usize, &Case)> =
        all.iter().map(|(case, own)| (lacks(own), unusual(case, &axes), *case)).collect();
    near.sort_by_key(|(lacks, unusual, _)| (*lacks, *unusual));
    let first = near.first().map(|(lacks, unusual, _)| (*lacks, *unusual));
    let same: Vec<&Case> =
        near.iter().take_while(|one| Some((one.0, one.1)) == first).map(|(.., case)| *case).collect();
    if first.is_none_or(|(lacks, _)| lacks > 0) {
        bail!(
            "no transfer of this run is \"{text}\"; near it: {}",
            shown(&near.iter().map(|(.., case)| *case).collect::<Vec<_>>())
        )
    }
    // Of sizes and threads that were not named, the first; anything else has to be told.
    let bare = |case: &Case| case.point.without(MESSAGE_BYTES.id).without(THREADS.id);
    if same.iter().all(|case| bare(case) == bare(same[0])) {
        return Ok(same[0]);
    }
    bail!("\"{text}\" is {} cases; name one by its number, as in {}", same.len(), shown(&same))
}

/// On how many axes a case differs from what is usual; what tables always name apart.
fn unusual(case: &Case, axes: &[Axis]) -> usize {
    let told = [MECHANISM.id, MESSAGE_BYTES.id, THREADS.id];
    let own = axes.iter().filter(|axis| !told.contains(&axis.id));
    own.filter(|axis| case.point.get(axis.id).is_some_and(|value| axis.default().first() != Some(value)))
        .count()
}

/// Every word by which its coordinates may be called: `65536`, `64K`, `size=64K`, `one-copy`, `messages per call 64`, `x64`.
fn names(case: &Case, axes: &[Axis]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for axis in axes {
        let Some(value) = case.point.get(axis.id) else { continue };
        let mut forms = vec![value.to_string(), axis.show(value)];
        match axis.kind {
            Kind::Bytes { .. } => forms.extend(value.as_int().map(short_bytes)),
            Kind::Name { aliases, .. } | Kind::NameOr { aliases, .. } => {
                let own = aliases().into_iter().filter(|(_, name)| value.as_text() == Some(name));
                forms.extend(own.map(|(alias, _)| alias.to_string()));
            }
            _ => {}
        }
        if axis.id == MESSAGES_PER_CALL.id {
            forms.push(format!("x{value}"));
        }
        for form in forms {
            let form = words(&form).concat();
            names.extend([axis.flag, axis.id].map(|name| format!("{name}={form}")));
            // A bare size is that of the message.
            if axis.id == MESSAGE_BYTES.id || value.as_text().is_some() || form.starts_with('x') {
                names.insert(form);
            }
        }
    }
    names
}

/// The words without punctuation; a size, or a number of threads, is one word however it is written.
fn words(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let pieces =
        text.split(|c: char| c.is_whitespace() || BETWEEN.contains(&c)).filter(|word| !word.is_empty());
    for word in pieces.map(str::to_lowercase) {
        match out.last_mut().filter(|last| last.ends_with(|c: char| c.is_ascii_digit())) {
            Some(_) if word == "b" => {}
            Some(number) if ["kib", "mib", "gib"].contains(&&*word) => number.push_str(&word),
            Some(number) if ["thread", "threads"].contains(&&*word) => *number = format!("threads={number}"),
            _ => out.push(word),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use syscost_core::axis::Value;
    use syscost_experiment::run::files::RunDir;

    fn recorded(name: &str) -> Run {
        RunDir::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/runs").join(name)).unwrap()
    }

    fn found(run: &Run, text: &str) -> Result<usize, String> {
        super::find(run, text).map(|case| case.index).map_err(|e| e.to_string())
    }

    #[test]
    fn a_case_is_found_by_its_number_or_its_words() {
        let run = recorded("default");
        let wanted = transfers(&run).find(|case| {
            case.point.text(MECHANISM) == Some("sendmsg")
                && case.point.int(MESSAGE_BYTES) == Some(65536)
                && case.point.int(THREADS) == Some(2)
        });
        let wanted = wanted.expect("it is in the grid").index;
        for text in ["sendmsg 64K 2 threads", "one-copy size=64K threads=2", &wanted.to_string()] {
            assert_eq!(found(&run, text), Ok(wanted), "{text}");
        }
        assert!(found(&run, "sendmsg").is_ok(), "the first size and number of threads");
        assert!(found(&run, "64K").unwrap_err().contains("cases; name one"));
        assert!(found(&run, "4711").unwrap_err().contains("cases 0 to"));
        let twin = run.record.plan.cases.iter().find(|case| case.twin_of.is_some()).expect("there are twins");
        assert_eq!(found(&run, &twin.index.to_string()).ok(), twin.twin_of);
    }

    #[test]
    fn every_case_is_found_by_the_name_that_reports_print() {
        for run in ["default", "ways"].map(recorded) {
            let words = Words::of(&run);
            for case in transfers(&run) {
                let place = words.place(&case.point, &[MECHANISM.id]);
                let text = format!("{}, {place}", case.point.text(MECHANISM).expect("each has one"));
                assert_eq!(found(&run, &text), Ok(case.index), "{text}");
            }
        }
    }

    #[test]
    fn a_row_and_a_column_of_a_table_are_a_case() {
        let (default, ways) = (recorded("default"), recorded("ways"));
        for text in ["4K send", "4 KiB send", "send 4 KiB 1 thread", "send? 4 KiB"] {
            assert_eq!(found(&default, text), found(&default, "send 4096"), "{text}");
        }
        assert_eq!(found(&default, "64 B send_fields"), found(&default, "send_fields size=64"));
        let batched = found(&ways, "1 KiB send (messages per call 64)").expect("it is there");
        assert_eq!(ways.record.plan.cases[batched].point.get("messages_per_call"), Some(&Value::Int(64)));
        assert_eq!(found(&ways, "1 KiB send x64"), Ok(batched));
        assert_eq!(found(&ways, "send to recv 1 KiB"), found(&ways, "send receiver=recv 1 KiB"));
        let alone = found(&ways, "1 KiB send").expect("tables leave out what is the default");
        assert_eq!(ways.record.plan.cases[alone].point.get("messages_per_call"), Some(&Value::Int(1)));
    }

    #[test]
    fn what_is_near_is_named_where_nothing_matches() {
        let run = recorded("default");
        let error = found(&run, "sendmsg 5K").unwrap_err();
        let near = error.split("near it: ").nth(1).expect("it says what is near");
        assert!(near.split(": ").nth(1).unwrap().starts_with("sendmsg, "), "{error}");
        let error = found(&run, "snd 4K").unwrap_err();
        assert!(
            error.contains("no transfer is called \"snd\"") && error.contains("did you mean send?"),
            "{error}"
        );
    }
}
