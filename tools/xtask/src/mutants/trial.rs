//! One test in the scratch tree, and what it says.

use super::scratch::MutantTree;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Compiling a test has this limit, and running it has it again.
const LIMIT: Duration = Duration::from_secs(900);
/// A script compiles too, the whole program up to three times.
const SCRIPT_LIMIT: Duration = Duration::from_secs(3 * 900);
/// A test that hangs has noticed something.
const ENDLESS: &str = "it did not end";
/// The record keeps this many characters of a failure.
const LONGEST: usize = 100;
const COMPILING: &str = "it was still being compiled";

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
    pub const UNTRIED: &str = "untried";

    /// Of a test that said this without the mutant. One that is skipped only with it has noticed nothing.
    pub fn unless_skipped(self, before: &MutantFate) -> MutantFate {
        match self {
            MutantFate::Survived | MutantFate::Skipped(_) => before.clone(),
            noticed => noticed,
        }
    }

    /// Of a test that failed with these words before.
    pub fn confirming(self, before: &str) -> MutantFate {
        match self {
            MutantFate::Killed(why) => MutantFate::Killed(why),
            _ => MutantFate::Untried(format!("failed once and not again: {before}")),
        }
    }

    /// What was said, or why nothing was learnt.
    pub fn why(&self) -> &str {
        match self {
            MutantFate::Survived => "",
            MutantFate::Killed(why) | MutantFate::Skipped(why) | MutantFate::Untried(why) => why,
        }
    }

    pub fn word(&self) -> &'static str {
        match self {
            MutantFate::Killed(_) => MutantFate::KILLED,
            MutantFate::Survived => "survived",
            MutantFate::Skipped(_) => MutantFate::SKIPPED,
            MutantFate::Untried(_) => MutantFate::UNTRIED,
        }
    }
}

impl fmt::Display for MutantFate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.why() {
            "" => f.pad(self.word()),
            why => write!(f, "{} ({why})", self.word()),
        }
    }
}

/// Runs a test that the page names as `FILE::FUNCTION`.
pub fn run(scratch: &MutantTree, test: &str) -> Result<MutantFate> {
    let (file, function) = parts(test)?;
    let said_of =
        |command: &mut Command| heard(scratch, command).with_context(|| format!("cannot start {test}"));
    let Some(target) = target(scratch, file) else {
        let (status, said) = said_of(limited(SCRIPT_LIMIT).arg(scratch.tree.join(file)).arg(function))?;
        return Ok(of_script(status, &said));
    };
    let (status, said) = said_of(cargo(scratch, &target, LIMIT).arg("--no-run"))?;
    if status != Some(0) {
        return Ok(judged(status, &said));
    }
    let words = ["--quiet", "--", "--include-ignored", "--nocapture", function];
    let (status, said) = said_of(cargo(scratch, &target, LIMIT).args(words))?;
    Ok(judged(status, &said))
}

/// As `run`, of a test that passes without its mutant. A busy machine may fail it once: what fails twice has noticed.
pub fn run_twice(scratch: &MutantTree, test: &str) -> Result<MutantFate> {
    Ok(match run(scratch, test)? {
        MutantFate::Killed(why) if why != ENDLESS => run(scratch, test)?.confirming(&why),
        fate => fate,
    })
}

/// What these tests say side by side. One that is missing has to be run alone.
pub fn together<'t>(
    scratch: &MutantTree,
    tests: &[&'t str],
    limit: Duration,
) -> Result<BTreeMap<&'t str, MutantFate>> {
    let mut of_target: BTreeMap<Vec<String>, Vec<&str>> = BTreeMap::new();
    for test in tests {
        if let Some(target) = target(scratch, parts(test)?.0) {
            of_target.entry(target).or_default().push(test);
        }
    }
    let mut fates = BTreeMap::new();
    for (target, tests) in of_target {
        let mut command = cargo(scratch, &target, limit);
        command.args(["--", "--include-ignored", "--show-output"]);
        for test in &tests {
            command.arg(parts(test)?.1);
        }
        let (_, said) = heard(scratch, &mut command)?;
        for test in tests {
            fates.extend(of_several(&said, parts(test)?.1).map(|fate| (test, fate)));
        }
    }
    Ok(fates)
}

fn parts(test: &str) -> Result<(&Path, &str)> {
    let (file, function) = test.split_once("::").context("a test is FILE::FUNCTION")?;
    Ok((Path::new(file), function))
}

/// The status of a command, and all that it says.
fn heard(scratch: &MutantTree, command: &mut Command) -> Result<(Option<i32>, String)> {
    let said = scratch.target.with_file_name("said.txt");
    let output = File::create(&said)?;
    let status = command
        .current_dir(&scratch.tree)
        .env("CARGO_TARGET_DIR", &scratch.target)
        // A mutant changes one file: seconds instead of a minute.
        .env("CARGO_INCREMENTAL", "1")
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .status()?;
    Ok((status.code(), String::from_utf8_lossy(&fs::read(said)?).into_owned()))
}

/// timeout(1) ends a test with all that it started.
fn limited(limit: Duration) -> Command {
    let mut command = Command::new("timeout");
    command.arg("--kill-after=10").arg(limit.as_secs().to_string());
    command
}

fn cargo(scratch: &MutantTree, target: &[String], limit: Duration) -> Command {
    let mut command = limited(limit);
    command.arg(std::env::var_os("CARGO").unwrap_or("cargo".into())).current_dir(&scratch.tree);
    command.args(["test", "--release", "--locked"]).args(target);
    command
}

/// What cargo calls the program of tests that a file is part of; `None`: the file is a script.
fn target(scratch: &MutantTree, file: &Path) -> Option<Vec<String>> {
    if file.extension().is_none_or(|extension| extension != "rs") {
        return None;
    }
    let parts: Vec<&str> = file.iter().filter_map(|part| part.to_str()).collect();
    Some(match parts[..] {
        // A file below tests/, or a folder there, is a test of its own.
        ["tests", name, ..] => vec!["--test".into(), name.trim_end_matches(".rs").into()],
        _ => {
            let is_room = |folder: &&Path| scratch.tree.join(folder).join("Cargo.toml").is_file();
            let room = file.ancestors().find(is_room).unwrap_or(Path::new(""));
            let manifest = fs::read_to_string(scratch.tree.join(room).join("Cargo.toml")).ok()?;
            let name = manifest.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'))?;
            // Beside the program, what it stands on has the features that other tests have built it with.
            let chosen =
                [name, "syscost"].into_iter().flat_map(|package| ["--package".into(), package.into()]);
            chosen.chain(["--lib".into()]).collect()
        }
    })
}

/// What is said of a test among others.
fn of_several(said: &str, function: &str) -> Option<MutantFate> {
    let is_it = |path: &str| path.rsplit("::").next() == Some(function);
    let result = said.lines().find_map(|line| {
        let (path, result) = line.strip_prefix("test ")?.split_once(" ... ")?;
        is_it(path).then_some(result).filter(|result| matches!(*result, "ok" | "FAILED"))
    })?;
    let begins = |line: &&str| {
        line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")).is_some_and(is_it)
    };
    let own = said.lines().skip_while(|line| !begins(line)).skip(1).take_while(|l| !l.starts_with("---- "));
    if result == "FAILED" {
        return Some(MutantFate::Killed(panic_of(own)));
    }
    let skipped = own.filter_map(|line| line.strip_prefix("skipped: ")).next();
    Some(skipped.map_or(MutantFate::Survived, |why| MutantFate::Skipped(why.into())))
}

/// The first words of a panic.
fn panic_of<'l>(lines: impl Iterator<Item = &'l str>) -> String {
    let words = lines.skip_while(|line| !line.contains(" panicked at ")).nth(1);
    words.unwrap_or("no panic").chars().take(LONGEST).collect()
}

/// What cargo says while it compiles or runs a test.
fn judged(status: Option<i32>, said: &str) -> MutantFate {
    let line = |begins: &str| said.lines().find(|line| line.starts_with(begins)).map(str::to_string);
    if line("error: could not compile").is_some() {
        let mut lines = said.lines().skip_while(|line| !line.starts_with("error"));
        let error = lines.next().unwrap_or_default();
        let place = lines.find_map(|line| line.trim_start().strip_prefix("--> "));
        return MutantFate::Untried(
            [Some(error), place].into_iter().flatten().collect::<Vec<_>>().join(", "),
        );
    }
    let ran = said.lines().any(|l| l.starts_with("running ") && l != "running 0 tests");
    match status {
        Some(0) if ran => passed(said),
        Some(0) => MutantFate::Untried("no test has this name".into()),
        Some(124 | 137) if !ran => MutantFate::Untried(COMPILING.into()),
        Some(124 | 137) => MutantFate::Killed(ENDLESS.into()),
        _ if ran => MutantFate::Killed(panic_of(said.lines())),
        _ => MutantFate::Untried(line("error").unwrap_or_else(|| "it could not be started".into())),
    }
}

/// What a step of a script says. The last line repeats which step failed; the reason stands before it.
fn of_script(status: Option<i32>, said: &str) -> MutantFate {
    let last = |begins: &str| {
        let is_it = |line: &&str| line.starts_with(begins) && !line.starts_with("error: failed: ");
        said.lines().rfind(is_it)
    };
    match status {
        Some(0) => passed(said),
        // It may still have been compiling.
        Some(124 | 137) => MutantFate::Untried(ENDLESS.into()),
        _ => {
            let words = last("error").or(last("supply: ")).unwrap_or("no error");
            MutantFate::Killed(words.chars().take(LONGEST).collect())
        }
    }
}

fn passed(said: &str) -> MutantFate {
    let skipped = said.lines().find_map(|line| line.strip_prefix("skipped: "));
    skipped.map_or(MutantFate::Survived, |why| MutantFate::Skipped(why.into()))
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
        let slow = judged(Some(124), "   Compiling a v0.1.0").to_string();
        assert_eq!(slow, "untried (it was still being compiled)");
        assert_eq!(judged(Some(137), "").to_string(), slow);
    }

    #[test]
    fn what_does_not_compile_says_where() {
        let said = "warning: x\n  --> c.rs:3:4\nerror[E0425]: no y\n  --> crates/a/src/b.rs:1:2\n\
                    error: could not compile `a`";
        assert_eq!(
            judged(Some(101), said).to_string(),
            "untried (error[E0425]: no y, crates/a/src/b.rs:1:2)"
        );
    }

    #[test]
    fn a_script_that_fails_says_why() {
        let fate = |status, said: &str| of_script(Some(status), said).to_string();
        let failed = "supply: a: 3 s, failed\nerror: failed: a\n";
        assert_eq!(
            fate(1, &format!("supply: a\nerror: the tarball lacks b\n{failed}")),
            "killed (error: the tarball lacks b)"
        );
        assert_eq!(fate(1, &format!("supply: a\nrunning\n{failed}")), "killed (supply: a: 3 s, failed)");
        assert_eq!(fate(124, "supply: a"), "untried (it did not end)");
        assert_eq!(fate(0, "supply: a\nskipped: a: no root"), "skipped (a: no root)");
        assert_eq!(fate(0, "supply: a: 3 s, done"), "survived");
    }

    #[test]
    fn a_test_that_the_mutant_makes_skip_has_noticed_nothing() {
        let (skipped, killed) = (MutantFate::Skipped("no root".into()), MutantFate::Killed("bad".into()));
        let word = |with: &MutantFate, without: &MutantFate| with.clone().unless_skipped(without).word();
        assert_eq!(word(&skipped, &MutantFate::Survived), "survived");
        assert_eq!(word(&MutantFate::Survived, &skipped), "skipped");
        assert_eq!(word(&killed, &skipped), "killed");
    }

    #[test]
    fn a_test_that_fails_once_and_not_again_has_noticed_nothing() {
        let word = |again: MutantFate| again.confirming("late").word();
        assert_eq!(word(MutantFate::Killed("late again".into())), "killed");
        assert_eq!(word(MutantFate::Survived), "untried");
        assert_eq!(word(MutantFate::Skipped("no root".into())), "untried");
    }

    #[test]
    fn of_several_tests_each_has_its_own_words() {
        let said = "test a::one ... ok\ntest b::two ... FAILED\ntest b::three ... ok\ntest other_one ... ok\n\
                    successes:\n\n---- a::one stdout ----\nwords\n---- b::three stdout ----\nskipped: three: no root\n\
                    failures:\n\n---- b::two stdout ----\nthread 'b::two' panicked at b:1:2:\nbad\nat all\n";
        let fate = |function| of_several(said, function).map(|fate| fate.to_string());
        assert_eq!(fate("one").as_deref(), Some("survived"));
        assert_eq!(fate("two").as_deref(), Some("killed (bad)"));
        assert_eq!(fate("three").as_deref(), Some("skipped (three: no root)"));
        assert_eq!(fate("four"), None);
    }

    #[test]
    fn a_test_is_found_by_where_it_stands() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the root");
        let scratch = MutantTree { tree: root.into(), target: root.join("target") };
        let words = |file: &str| target(&scratch, Path::new(file)).map(|words| words.join(" "));
        assert_eq!(words("tests/live/reliability/a.rs").as_deref(), Some("--test live"));
        assert_eq!(words("tests/dependencies.rs").as_deref(), Some("--test dependencies"));
        let of_sys = words("crates/sys/src/uring/send.rs");
        assert_eq!(of_sys.as_deref(), Some("--package syscost-sys --package syscost --lib"));
        assert_eq!(words(".ci/supply"), None);
    }
}
