//! What is in a user's object: asked of a process of its own, which may crash, hang or end as it likes.

use object::Object;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use syscost_measure::own::{OwnEntry, OwnKind, OwnObject};
use syscost_measure::worker::describe::{ObjectSays, SUBCOMMAND};
use syscost_measure::worker::protocol::{self, Deadline, Patient};
use syscost_sys::{process, program, signals};

/// Initialisers take less.
const PATIENCE: Duration = Duration::from_secs(5);

/// The object at this path, or why it is none.
pub fn describe(path: &str) -> Result<OwnObject, String> {
    let whole = fs::canonicalize(path).map_err(|error| format!("cannot open {path}: {error}"))?;
    let whole = whole.to_str().ok_or_else(|| format!("{path} is no UTF-8"))?.to_string();
    let sha256 =
        program::sha256_of(whole.as_ref()).map_err(|error| format!("cannot read {path}: {error}"))?;
    let codes = asked(&whole).map_err(|why| format!("{path} cannot be used: {why}"))?;
    if codes.is_empty() {
        return Err(format!(
            "{path} offers nothing: its syscost_object counts no operation, no mechanism and no receiver"
        ));
    }
    let build_id = build_id(whole.as_ref());
    Ok(OwnObject { path: whole, command: Vec::new(), sha256, build_id, codes })
}

/// The program of these words, as code of this kind and name: it is not started yet.
pub fn program(path: &Path, command: Vec<String>, kind: OwnKind, name: String) -> Result<OwnObject, String> {
    let cannot = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    let whole = std::path::absolute(path).map_err(cannot)?;
    let whole = whole.to_str().ok_or_else(|| format!("{} is no UTF-8", path.display()))?.to_string();
    let summary = format!("a program in turns: {}", command.join(" "));
    let entry = OwnEntry { called: name.clone(), name, kind, summary, axes: Vec::new() };
    let build_id = build_id(whole.as_ref());
    let object = OwnObject { path: whole, command, sha256: String::new(), build_id, codes: vec![entry] };
    let sha256 = object.digest().map_err(cannot)?;
    Ok(OwnObject { sha256, ..object })
}

fn build_id(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    let file = object::File::parse(&*bytes).ok()?;
    Some(file.build_id().ok()??.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn asked(path: &str) -> Result<Vec<OwnEntry>, String> {
    let start = || {
        let mut command = Command::new(program::path());
        command.args([SUBCOMMAND, path]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command
    };
    let cannot = |error: std::io::Error| format!("no process could be started to look into it: {error}");
    let mut child = process::spawn_apart(start).map_err(cannot)?;
    let mut pipe = child.stdout.take().expect("piped above");
    let mut deadline = Deadline::at(Instant::now() + PATIENCE);
    let mut patient = Patient { pipe: &mut pipe, deadline: &mut deadline, interrupted: &signals::caught };
    let said = protocol::read::<ObjectSays>(&mut patient);
    let ended = ended(&mut child);
    match said {
        Ok(Some(ObjectSays::Offers { codes })) => Ok(codes),
        Ok(Some(ObjectSays::Refused { why })) => Err(why),
        Ok(None) => Err(format!("opening it ended the process ({ended})")),
        Err(error) => Err(format!("opening it did not end: {error}")),
    }
}

/// How it ended, by itself or by us.
fn ended(child: &mut Child) -> String {
    process::ends_soon(child.id());
    process::kill_group(child.id());
    let _ = child.kill();
    child.wait().map_or_else(|error| error.to_string(), |status| status.to_string())
}
