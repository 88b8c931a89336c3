//! One run of a command that nobody times: its output, and its system calls where they can be counted.

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use std::ffi::{CString, OsStr};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};
use syscost_sys::call_count::count_calls;
use syscost_sys::command::CommandEnd;

/// What a command does beside taking time.
pub struct FirstLook {
    pub end: CommandEnd,
    pub output_bytes: u64,
    pub output_sha256: [u8; 32],
    /// Of all processes of one run; or why they are not known.
    pub calls: Result<u64, String>,
}

/// Runs it once. Tracing makes each system call dearer, so whoever has many of them is not traced.
pub fn first_look(program: &Path, words: &[CString], traced: bool) -> Result<FirstLook> {
    if !traced {
        return untraced(program, words, "a run takes too long to be traced");
    }
    let (reader, writer) = syscost_sys::pipe::pipe().context("cannot make a pipe")?;
    let mut command = prepared(program, words);
    command.stdout(writer);
    let hashing = std::thread::spawn(move || hashed(reader));
    let counted = count_calls(&mut command);
    // Closes the last end that writes, so that the reader sees the end.
    drop(command);
    let output = hashing.join().expect("it only reads");
    let Ok((calls, end)) = counted else {
        return untraced(program, words, "this system lets nobody trace a process");
    };
    let (output_bytes, output_sha256) = output?;
    Ok(FirstLook { end, output_bytes, output_sha256, calls: Ok(calls) })
}

fn untraced(program: &Path, words: &[CString], why: &str) -> Result<FirstLook> {
    let mut command = prepared(program, words);
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let (output_bytes, output_sha256) = hashed(child.stdout.take().expect("piped"))?;
    let status = child.wait()?;
    let end = match status.signal() {
        Some(signal) => CommandEnd::Signal(signal),
        None => CommandEnd::Status(status.code().unwrap_or_default()),
    };
    Ok(FirstLook { end, output_bytes, output_sha256, calls: Err(why.into()) })
}

fn prepared(program: &Path, words: &[CString]) -> Command {
    let text = |word: &CString| OsStr::from_bytes(word.as_bytes()).to_os_string();
    let mut command = Command::new(program);
    command.arg0(text(&words[0])).args(words[1..].iter().map(text));
    command.stdin(Stdio::null()).stderr(Stdio::null());
    command
}

fn hashed(mut output: impl Read) -> io::Result<(u64, [u8; 32])> {
    let mut hasher = Sha256::new();
    let bytes = io::copy(&mut output, &mut hasher)?;
    Ok((bytes, hasher.finalize().into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asked;

    #[test]
    fn output_and_calls_of_a_run_are_seen() {
        let look = |text: &str, traced: bool| {
            let (program, words) = asked::words(text, None).unwrap();
            first_look(&program, &words, traced).unwrap()
        };
        let echo = look("echo abc", true);
        assert_eq!((echo.output_bytes, echo.end), (4, CommandEnd::Status(0)));
        assert_eq!(echo.output_sha256, look("echo abc", false).output_sha256);
        assert!(echo.output_sha256 != look("echo abd", true).output_sha256);
        assert_eq!(look("false", false).end, CommandEnd::Status(1));
        if let Ok(calls) = echo.calls {
            assert!(calls > 3, "{calls}");
        }
    }
}
