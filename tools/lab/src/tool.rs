//! Programs of the system that the lab calls: they die with us, and say why they failed.

use super::missing;
use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::io;
use std::process::{Command, Stdio};
use syscost_sys::process;

/// What a failed program may say.
const LONGEST_WORDS: usize = 600;

/// A command without a terminal that ends when we do.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    process::die_with_parent_on_exec(&mut command);
    command
}

/// Runs it to its end; its standard output. `package` has it where it is missing.
pub fn output(command: &mut Command, package: &str) -> Result<Vec<u8>> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = match command.output() {
        Ok(output) => output,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(missing(
                format!("the program {name} is not there"),
                format!("install it: apt-get install {package}"),
            )
            .into());
        }
        Err(error) => return Err(error).with_context(|| format!("cannot start {name}")),
    };
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        let words: String = words.trim().chars().take(LONGEST_WORDS).collect();
        bail!("{name} failed ({}): {words}", output.status);
    }
    Ok(output.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_host::Unavailable;

    #[test]
    fn a_missing_program_names_its_package_and_a_failing_one_its_words() {
        let error = output(&mut command("no-such-program"), "some-package").unwrap_err();
        let why = error.downcast::<Unavailable>().expect("an answer with a remedy");
        assert!(why.remedy.contains("some-package"), "{why:?}");
        let error = output(command("sh").args(["-c", "echo words >&2; exit 3"]), "dash").unwrap_err();
        assert!(error.to_string().contains("words"), "{error}");
        assert_eq!(output(command("sh").args(["-c", "echo yes"]), "dash").unwrap(), b"yes\n");
    }
}
