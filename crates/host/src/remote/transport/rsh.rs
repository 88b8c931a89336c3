//! rsh: any command that starts a process at a place, as rsync's `-e` takes it. `{host}` in it stands for the place;
//! where it has none, the place is its last word. What starts there may be given to a shell, as ssh does, or executed,
//! as srun does: the words of syscost are the same for both.

use super::{ALL, RSH, Transport, find, words};
use std::sync::{Mutex, PoisonError};

/// Stands for the place.
const HOST: &str = "{host}";
/// More is no command of a person.
const LONGEST: usize = 4096;

/// What `rsh:` means in this process.
static COMMAND: Mutex<Option<String>> = Mutex::new(None);

/// What `rsh:` means, where it is no default.
pub fn command() -> Option<String> {
    COMMAND.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// From now on paths that begin with `rsh:` start processes by this command, or by the transport of this name.
pub fn set(command: Option<&str>) {
    *COMMAND.lock().unwrap_or_else(PoisonError::into_inner) = command.map(String::from);
}

/// Can it be such a command?
pub fn check(command: &str) -> Result<(), String> {
    if ready(command).is_some() {
        return Ok(());
    }
    if let Some((name, _)) = command.split_once(':').filter(|(name, _)| find(name).is_some()) {
        return Err(format!("{command} is a path: write --path {command}, or --rsh {name} --path rsh:PLACE"));
    }
    let split = words::split(command)?;
    let Some(program) = split.first() else { return Err("write the command, such as 'ssh {host}'".into()) };
    if command.len() > LONGEST || program.is_empty() || program.contains(HOST) || program.starts_with('-') {
        return Err(format!("{program:?} is no program: write the command, such as 'ssh {HOST}'"));
    }
    Ok(())
}

/// The transport that it names, if it names one and is no command.
fn ready(command: &str) -> Option<&'static Transport> {
    find(command.trim()).filter(|transport| **transport != RSH)
}

/// What this transport is where a process is started: `rsh` may be another one.
pub fn meant(transport: &'static Transport) -> &'static Transport {
    match command() {
        _ if *transport != RSH => transport,
        None => &ALL[0],
        Some(command) => ready(&command).unwrap_or(transport),
    }
}

/// The words of the user's own command that start a process there.
pub fn words_to(place: &str) -> Vec<String> {
    filled(&words::split(&command().unwrap_or_default()).unwrap_or_default(), place)
}

fn filled(command: &[String], place: &str) -> Vec<String> {
    let mut words: Vec<String> = command.iter().map(|word| word.replace(HOST, place)).collect();
    if command.iter().all(|word| !word.contains(HOST)) {
        words.push(place.to_string());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_where_the_command_has_it_or_its_last_word() {
        let of = |command: &str| filled(&words::split(command).unwrap(), "n1").join(" ");
        assert_eq!(of("srun --node={host} -n1"), "srun --node=n1 -n1");
        assert_eq!(of("'my wrapper' -q"), "my wrapper -q n1");
    }

    #[test]
    fn what_is_no_command_is_refused() {
        assert!(check("srun").is_ok() && check("ssh -J jump {host}").is_ok());
        for wrong in ["", "  ", "{host}", "-x {host}", "srun:n1", "ssh {host} | tee log", "a 'b"] {
            assert!(check(wrong).is_err(), "{wrong}");
        }
        assert!(check("srun:n1").unwrap_err().contains("--path srun:n1"));
    }
}
