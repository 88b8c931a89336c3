//! A user's program that waits for its turn, does so much, and says what it did. It inherits two pipes, and what it works
//! on; `docs/own-code.md` has the protocol.
//!
//! It is one process of the worker's group, with the worker's rights, and ends with the thread that started it. Who waits
//! for an answer waits for ever: the harness ends the worker in time.

mod operating;
mod sending;

pub use operating::OperatingProgram;
pub use sending::SendingProgram;

use crate::pipe::pipe;
use crate::process;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};

/// A program that is ready for turns, used by the thread that started it.
struct TurnTaker {
    child: Child,
    /// `None`: it is to end.
    turns: Option<File>,
    answers: BufReader<File>,
    line: String,
}

impl TurnTaker {
    /// Starts it and waits until it is ready. `more` of its descriptors stay open in it, under the names of these variables.
    fn start(
        words: &[String],
        input: Stdio,
        variables: &[(&str, String)],
        more: &[(&str, &File)],
    ) -> io::Result<TurnTaker> {
        let (program, arguments) = words.split_first().ok_or_else(|| io::Error::other("an empty command"))?;
        let ((take, turns), (answers, answer)) = (pipe()?, pipe()?);
        let mut start = Command::new(program);
        start.args(arguments).stdin(input).envs(variables.iter().map(|(name, value)| (name, value)));
        for (name, file) in [("SYSCOST_TURNS", &take), ("SYSCOST_ANSWERS", &answer)].iter().chain(more) {
            start.env(name, file.as_raw_fd().to_string());
            process::inherit_on_exec(&mut start, file.as_raw_fd());
        }
        process::die_with_parent_on_exec(&mut start);
        let child = start
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), format!("cannot start {program}: {error}")))?;
        let mut program =
            TurnTaker { child, turns: Some(turns), answers: BufReader::new(answers), line: String::new() };
        // Its end of the pipe is the only one from here on: its death is the end of its answers.
        drop((start, take, answer));
        program.hear()?;
        if program.line.trim() != "ready" {
            return Err(io::Error::other(format!(
                "it has to say \"ready\" first, and said {:?}",
                program.line.trim()
            )));
        }
        Ok(program)
    }

    /// Hands it a turn of so much, and waits until it answers.
    fn turn(&mut self, amount: u64) -> io::Result<()> {
        let turns = self.turns.as_mut().expect("it is there until this is dropped");
        // One write: a line that comes in pieces would wake it twice.
        if let Err(error) = turns.write_all(format!("{amount}\n").as_bytes()) {
            return Err(self.ended(&error.to_string()));
        }
        self.hear()
    }

    /// The numbers of its answer, which has so many at least.
    fn numbers(&self, least: usize, form: &str) -> io::Result<[u64; 4]> {
        let mut numbers = [0; 4];
        let mut said = 0;
        for word in self.line.split_ascii_whitespace().take(numbers.len()) {
            let Ok(number) = word.parse() else { break };
            numbers[said] = number;
            said += 1;
        }
        if said < least {
            return Err(io::Error::other(format!(
                "its answer has to be {form}, and was {:?}",
                self.line.trim()
            )));
        }
        Ok(numbers)
    }

    /// Its next line.
    fn hear(&mut self) -> io::Result<()> {
        self.line.clear();
        match self.answers.read_line(&mut self.line)? {
            0 => Err(self.ended("it closed its answers")),
            _ => Ok(()),
        }
    }

    fn ended(&mut self, why: &str) -> io::Error {
        process::ends_soon(self.child.id());
        let how = self.child.try_wait().ok().flatten().map_or(why.to_string(), |status| status.to_string());
        io::Error::other(format!("the program ended while it was needed ({how})"))
    }
}

impl Drop for TurnTaker {
    fn drop(&mut self) {
        self.turns = None;
        process::ends_soon(self.child.id());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod fixture {
    /// The begin of a program of bash that takes turns.
    pub const READY: &str =
        "exec {in}<&$SYSCOST_TURNS {out}>&$SYSCOST_ANSWERS; echo ready >&$out; while read -u $in n; do";

    pub fn bash(script: &str) -> [String; 3] {
        ["bash", "-c", script].map(str::to_string)
    }
}
