//! One test in the scratch tree, and what it says.

use super::scratch::MutantTree;
use anyhow::{Context, Result};
use std::fmt;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Of a test and what is compiled for it. A test that hangs has noticed something.
const LIMIT: Duration = Duration::from_secs(900);

#[derive(Clone, Debug)]
pub enum MutantFate {
    /// The test failed, and where.
    Killed(String),
    Survived,
    /// The test did not run here, for this reason.
    Skipped(String),
    /// Nothing was learnt: it does not compile, or no such test was found.
    Untried(String),
}

impl MutantFate {
    pub const KILLED: &str = "killed";
    pub const SKIPPED: &str = "skipped";

    pub fn word(&self) -> &'static str {
        match self {
            MutantFate::Killed(_) => MutantFate::KILLED,
            MutantFate::Survived => "survived",
            MutantFate::Skipped(_) => MutantFate::SKIPPED,
            MutantFate::Untried(_) => "untried",
        }
    }
}

impl fmt::Display for MutantFate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MutantFate::Survived => f.pad(self.word()),
            MutantFate::Killed(why) | MutantFate::Skipped(why) | MutantFate::Untried(why) => {
                write!(f, "{} ({why})", self.word())
            }
        }
    }
}

/// Runs a test that the page names as `FILE::FUNCTION`.
pub fn run(scratch: &MutantTree, test: &str) -> Result<MutantFate> {
    let (file, function) = test.split_once("::").context("a test is FILE::FUNCTION")?;
    let said = scratch.target.with_file_name("said.txt");
    let output = File::create(&said)?;
    let status = command(scratch, Path::new(file), function)
        .current_dir(&scratch.tree)
        .env("CARGO_TARGET_DIR", &scratch.target)
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .status()
        .with_context(|| format!("cannot start {test}"))?;
    let said = String::from_utf8_lossy(&fs::read(said)?).into_owned();
    Ok(judged(status.code(), &said))
}

/// timeout(1) ends a test with all that it started.
fn command(scratch: &MutantTree, file: &Path, function: &str) -> Command {
    let mut command = Command::new("timeout");
    command.arg("--kill-after=10").arg(LIMIT.as_secs().to_string());
    if file.extension().is_none_or(|extension| extension != "rs") {
        command.arg(scratch.tree.join(file)).arg(function);
        return command;
    }
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    command.arg(cargo).args(["test", "--release", "--locked", "--quiet"]);
    let parts: Vec<&str> = file.iter().filter_map(|part| part.to_str()).collect();
    match parts[..] {
        // A file below tests/, or a folder there, is a test of its own.
        ["tests", name, ..] => command.args(["--test", name.trim_end_matches(".rs")]),
        _ => {
            let room = file.ancestors().find(|folder| scratch.tree.join(folder).join("Cargo.toml").is_file());
            command.arg("--manifest-path").arg(room.unwrap_or(Path::new("")).join("Cargo.toml")).arg("--lib")
        }
    };
    command.args(["--", "--include-ignored", "--nocapture", function]);
    command
}

fn judged(status: Option<i32>, said: &str) -> MutantFate {
    let line = |begins: &str| said.lines().find(|line| line.starts_with(begins)).map(str::to_string);
    if let Some(error) = line("error: could not compile") {
        return MutantFate::Untried(line("error[").or(line("error: ")).unwrap_or(error));
    }
    let ran = said.lines().any(|l| l.starts_with("running ") && l != "running 0 tests");
    let is_step = !said.contains("running ");
    match status {
        Some(0) if !ran && !is_step => MutantFate::Untried("no test has this name".into()),
        Some(0) => {
            line("skipped: ").map_or(MutantFate::Survived, |line| MutantFate::Skipped(line[9..].into()))
        }
        Some(124 | 137) => MutantFate::Killed("it did not end".into()),
        _ if ran || is_step => {
            let at = said.lines().position(|line| line.contains(" panicked at "));
            let words = at.and_then(|at| said.lines().nth(at + 1));
            MutantFate::Killed(words.unwrap_or("no panic").chars().take(100).collect())
        }
        _ => MutantFate::Untried(line("error").unwrap_or_else(|| "it could not be started".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_that_did_not_run_kills_nothing() {
        let words = |status, said: &str| judged(Some(status), said).word();
        assert_eq!(words(101, "running 1 test\nthread 'a' panicked at b:1:2:\nbad"), "killed");
        assert_eq!(words(124, "running 1 test"), "killed");
        assert_eq!(words(0, "running 1 test\ntest result: ok."), "survived");
        assert_eq!(words(0, "running 1 test\nskipped: no root"), "skipped");
        assert_eq!(words(0, "running 0 tests\ntest result: ok."), "untried");
        assert_eq!(words(101, "error[E0425]: no x\nerror: could not compile `a`"), "untried");
        assert_eq!(words(101, "error: no test target named `a`\nhelp: running late"), "untried");
    }

    #[test]
    fn a_test_is_found_by_where_it_stands() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the root");
        let scratch = MutantTree { tree: root.into(), target: root.join("target") };
        let words = |file: &str| {
            let command = command(&scratch, Path::new(file), "name");
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert!(words("tests/live/reliability/a.rs").contains("--test live"));
        assert!(words("tests/dependencies.rs").contains("--test dependencies"));
        assert!(
            words("crates/sys/src/uring/send.rs").contains("--manifest-path crates/sys/Cargo.toml --lib")
        );
        assert!(words(".ci/supply").ends_with(".ci/supply name"));
    }
}
