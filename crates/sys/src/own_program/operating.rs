//! A user's operation that is a program: each turn is a number of iterations.

use super::TurnTaker;
use crate::own_object::OwnDone;
use std::io;
use std::process::Stdio;

/// An operation that is ready for turns, used by the thread that started it.
pub struct OperatingProgram(TurnTaker);

impl OperatingProgram {
    /// Starts it and waits until it is ready.
    pub fn start(words: &[String]) -> io::Result<OperatingProgram> {
        TurnTaker::start(words, Stdio::null(), &[], &[]).map(OperatingProgram)
    }

    /// Has it do so many iterations, and adds what it says that it did.
    pub fn run(&mut self, iterations: u64, done: &mut OwnDone) -> io::Result<()> {
        self.0.turn(iterations)?;
        let [operations, bytes, ..] = self.0.numbers(1, "OPERATIONS [BYTES]")?;
        done.operations = done.operations.saturating_add(operations);
        done.bytes = done.bytes.saturating_add(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{READY, bash};
    use super::*;

    #[test]
    fn it_says_what_it_did_or_what_went_wrong() {
        let run = |turn: &str| {
            let mut done = OwnDone::default();
            let mut program = OperatingProgram::start(&bash(&format!("{READY} {turn}; done")))?;
            program.run(3, &mut done)?;
            program.run(0, &mut done).map(|()| done)
        };
        assert_eq!(run("echo $n $((8 * n)) >&$out").unwrap(), OwnDone { operations: 3, bytes: 24 });
        assert_eq!(run("echo $n >&$out").unwrap(), OwnDone { operations: 3, bytes: 0 });
        let why = |turn: &str| run(turn).unwrap_err().to_string();
        assert!(why("echo the sum is 4 >&$out").contains("OPERATIONS [BYTES], and was \"the sum is 4\""));
        assert!(why("exit 7").contains("exit status: 7"));
    }
}
