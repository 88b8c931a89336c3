//! `cargo xtask TASK`: what those who work on syscost do more than once.

#![expect(clippy::print_stdout, reason = "a tool for developers: a closed pipe may end it")]

use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use xtask::{KINDS, Tree, deciding, documents};

const USAGE: &str = "\
usage: cargo xtask TASK

  regenerate   write every file that the code makes: tables of FORMAT.md, results in
               README.md and docs, docs/report.html, golden files of tests; names each
               file that changed
  deciding [STUDY...]
               run the studies that show how syscost decides, on a quiet machine (about 15 minutes),
               into docs/runs/deciding, and write what they show into docs/deciding.md; STUDY is one of
               aa, aa_busy, planted, default, long: what is recorded of others stays";

fn main() -> ExitCode {
    match run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["regenerate"] => regenerate(),
        ["deciding", ref only @ ..] => run_studies(only),
        _ => bail!("{USAGE}"),
    }
}

fn regenerate() -> Result<()> {
    let tree = built()?;
    for files in KINDS {
        for file in files(&tree)? {
            if file.write(&tree)? {
                println!("{}", file.path.display());
            }
        }
    }
    // The comparisons with other programs are tables of their records.
    for (comparison, record, page) in [
        (&["os"][..], "docs/runs/operations.csv", "docs/operations.md"),
        (&["ways"], "docs/runs/ways-peers.csv", "docs/peers.md"),
        (&[], "docs/runs/peers.csv", "docs/peers.md"),
        (&["datagrams"], "docs/runs/datagrams-peers.csv", "docs/peers.md"),
        (&["commands"], "docs/runs/commands-peers.csv", "docs/peers.md"),
        (&["functions"], "docs/runs/functions-peers.csv", "docs/peers.md"),
    ] {
        if !tree.root.join(record).exists() {
            println!("{page}: {comparison:?} is not recorded yet: {record} is missing");
            continue;
        }
        let arguments = [&["--package", "syscost-peers", "--"][..], comparison].concat();
        let files = ["--rebuild", "--record", record, "--page", page];
        finish(cargo(&tree.root, "run").args(arguments).args(files))?;
    }
    Ok(())
}

fn run_studies(only: &[&str]) -> Result<()> {
    let root = root()?;
    let tree = Tree { root: root.into(), program: root.join("target/release/syscost") };
    deciding::run(&tree, only, &|line| println!("{line}"))?;
    for page in documents::files(&tree)? {
        if page.path == Path::new(deciding::PAGE) && page.write(&tree)? {
            println!("{}", page.path.display());
        }
    }
    Ok(())
}

fn root() -> Result<&'static Path> {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("tools/xtask has a root")
}

/// The program of this tree, built by the profile that built this task.
fn built() -> Result<Tree> {
    let root = root()?;
    finish(cargo(root, "build").args(["--bin", "syscost"]))?;
    let program: PathBuf = std::env::current_exe()?.with_file_name("syscost");
    Ok(Tree { root: root.into(), program })
}

fn cargo(root: &Path, task: &str) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.current_dir(root).args([task, "--release", "--locked", "--quiet"]);
    cargo
}

fn finish(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}
