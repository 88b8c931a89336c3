//! The transfer that a person means: its number, or words as tables and sentences print them.

use anyhow::{Context, Result, bail, ensure};
use syscost_core::axis::{Axis, IntAxis, Point, Value, suggest};
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_measure::mechanism::MESSAGES_PER_CALL;
use syscost_measure::probe::Probe;
use syscost_measure::probe::transfer::Transfer;
use syscost_measure::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES, PATH, RECEIVER, THREADS};
use syscost_report::text::words::Words;

/// Cases that an error names.
const SHOWN: usize = 4;
/// Words of printed names that tell nothing.
const FILLERS: &[&str] = &["and", "at", "over", "to", "with"];

/// The option of an axis of a transfer.
pub fn flag(axis: &str) -> Option<&'static str> {
    Transfer.axes().iter().find(|a| a.id == axis).map(|a| a.flag)
}

pub fn transfers(run: &Run) -> impl Iterator<Item = &Case> {
    let cases = run.record.plan.cases.iter();
    cases.filter(|case| case.probe == Transfer.about().id && case.twin_of.is_none())
}

/// A value of an axis of a transfer, as a person writes it.
pub fn value(axis: &str, text: &str) -> Result<Value> {
    let axes = Transfer.axes();
    let axis = axes.iter().find(|a| a.id == axis).context("a transfer has this axis")?;
    Ok(axis.parse(text)?)
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
    let wanted = wanted(text)?;
    let has = |case: &&Case| wanted.iter().all(|(axis, value)| case.point.get(axis) == Some(value));
    let mut found: Vec<&Case> = transfers(run).filter(has).collect();
    if wanted.get(MECHANISM.id).is_some() {
        found = plainest(found);
    }
    let Some(first) = found.first() else {
        bail!(
            "no transfer of this run is \"{text}\"; near it: {}; another size or thread count: --size, --threads",
            shown(run, &nearest(run, &wanted))
        )
    };
    // Size and threads may follow in flags; anything else has to be told.
    let bare = |case: &Case| case.point.without(MESSAGE_BYTES.id).without(THREADS.id);
    if found.iter().all(|case| bare(case) == bare(first)) {
        return Ok(first);
    }
    bail!("\"{text}\" is {} cases; name one by its number, as in {}", found.len(), shown(run, &found))
}

/// Tables leave out what an axis has by default: of these cases, those with the most defaults.
fn plainest(cases: Vec<&Case>) -> Vec<&Case> {
    let axes = Transfer.axes();
    let unusual = |case: &Case| {
        let value =
            |axis: &Axis| case.point.get(axis.id).filter(|value| axis.default().first() != Some(*value));
        let asked = |axis: &&Axis| ![MESSAGE_BYTES.id, THREADS.id].contains(&axis.id);
        axes.iter().filter(asked).filter(|axis| value(axis).is_some()).count()
    };
    let fewest = cases.iter().map(|case| unusual(case)).min();
    cases.into_iter().filter(|case| Some(unusual(case)) == fewest).collect()
}

/// The transfers that differ least: in the fewest words, then least in size and threads.
fn nearest<'r>(run: &'r Run, wanted: &Point) -> Vec<&'r Case> {
    let words =
        |case: &Case| wanted.iter().filter(|(axis, value)| case.point.get(axis) != Some(value)).count();
    let apart = |case: &Case, axis: IntAxis| match (wanted.int(axis), case.point.int(axis)) {
        (Some(wanted), Some(has)) => (wanted.max(1) as f64 / has.max(1) as f64).ln().abs(),
        _ => 0.0,
    };
    let steps = |case: &Case| apart(case, MESSAGE_BYTES) + apart(case, THREADS);
    let mut cases: Vec<&Case> = transfers(run).collect();
    cases.sort_by(|a, b| words(a).cmp(&words(b)).then(steps(a).total_cmp(&steps(b))));
    cases
}

fn shown(run: &Run, cases: &[&Case]) -> String {
    let words = Words::of(run);
    let one = |case: &&Case| {
        let who = case.point.text(MECHANISM).unwrap_or_default();
        format!("{}: {who}, {}", case.index, words.place(&case.point, &[MECHANISM.id]))
    };
    cases.iter().take(SHOWN).map(one).collect::<Vec<_>>().join("; ")
}

/// `sendmsg 64K 2 threads nodelay=on`, `send (messages per call 64), 4 KiB and 1 thread over veth`
pub fn wanted(text: &str) -> Result<Point> {
    let axes = Transfer.axes();
    let words = words(text);
    let mut words = words.iter().map(String::as_str).collect::<Vec<_>>();
    let mut point = Point::default();
    for axis in &axes {
        while let Some((at, length)) = titled(&words, axis) {
            point.set(axis.id, axis.parse(words[at + length - 1])?);
            words.drain(at..at + length);
        }
    }
    let mut words = words.into_iter().filter(|word| !FILLERS.contains(word)).peekable();
    while let Some(word) = words.next() {
        let threads = words.next_if(|next| matches!(*next, "thread" | "threads")).is_some();
        let (axis, value) = if threads { (THREADS.id, value(THREADS.id, word)?) } else { told(&axes, word)? };
        point.set(axis, value);
    }
    Ok(point)
}

/// The words without punctuation; a size is one word, however it is written.
fn words(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in text.split(|c: char| c.is_whitespace() || "(),;?".contains(c)).filter(|word| !word.is_empty())
    {
        match out.last_mut().filter(|last| last.bytes().all(|byte| byte.is_ascii_digit())) {
            Some(_) if word == "B" => {}
            Some(number) if ["KiB", "MiB", "GiB"].contains(&word) => number.push_str(word),
            _ => out.push(word.to_string()),
        }
    }
    out
}

/// Where the axis's title and a value of it stand, and in how many words: `messages per call 64`.
fn titled(words: &[&str], axis: &Axis) -> Option<(usize, usize)> {
    let title: Vec<&str> = axis.title.split(' ').collect();
    let is = |at: &[&str]| {
        at.iter().zip(&title).all(|(word, of)| word.eq_ignore_ascii_case(of))
            && axis.parse(at[title.len()]).is_ok()
    };
    words.windows(title.len() + 1).position(is).map(|at| (at, title.len() + 1))
}

/// What one word tells: `nodelay=on`, the name of a mechanism or its like, or a size.
fn told(axes: &[Axis], word: &str) -> Result<(&'static str, Value)> {
    if let Some((name, text)) = word.split_once('=') {
        let axis = axes.iter().find(|a| a.flag == name || a.id == name);
        let axis = axis.with_context(|| format!("a transfer has no axis {name}"))?;
        return Ok((axis.id, axis.parse(text)?));
    }
    // `send x64`
    if let Some(count) = word.strip_prefix('x').filter(|count| count.parse::<u64>().is_ok()) {
        return Ok((MESSAGES_PER_CALL.id, value(MESSAGES_PER_CALL.id, count)?));
    }
    let named = axes.iter().filter(|a| !a.kind.names().is_empty() && a.kind.names() != ["on", "off"]);
    if let Some(named) = named.filter_map(|a| Some((a.id, a.parse(word).ok()?))).next() {
        return Ok(named);
    }
    if word.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok((MESSAGE_BYTES.id, value(MESSAGE_BYTES.id, word)?));
    }
    let usual = axes.iter().filter(|a| [MECHANISM.id, RECEIVER.id, PATH.id].contains(&a.id));
    let names: Vec<&str> = usual.flat_map(|a| a.kind.names()).collect();
    bail!("no transfer is called {word:?}, and it is no message size: {}", suggest(word, &names, &[]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
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
        assert!(found(&run, "sendmsg").is_ok(), "size and threads may follow");
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
        assert_eq!(wanted("send to recvmsg").unwrap(), wanted("send receiver=recvmsg").unwrap());
        let alone = found(&ways, "1 KiB send").expect("tables leave out what is the default");
        assert_eq!(ways.record.plan.cases[alone].point.get("messages_per_call"), Some(&Value::Int(1)));
    }

    #[test]
    fn what_is_near_is_named_where_nothing_matches() {
        let run = recorded("default");
        let error = found(&run, "sendmsg 5K").unwrap_err();
        let near = error.split("near it: ").nth(1).expect("it says what is near");
        assert!(
            near.contains("--size") && near.split(": ").nth(1).unwrap().starts_with("sendmsg, 4 KiB"),
            "{error}"
        );
        let error = found(&run, "snd 4K").unwrap_err();
        assert!(
            error.contains("no transfer is called \"snd\"") && error.contains("did you mean send?"),
            "{error}"
        );
    }
}
