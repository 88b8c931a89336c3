//! `cargo xtask TASK`: what those who work on syscost do more than once.

#![expect(clippy::print_stdout, reason = "a tool for developers: a closed pipe may end it")]

use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use xtask::conditions::ModelRecord;
use xtask::deciding::DecidingOptions;
use xtask::mutants::MutantChoice;
use xtask::{
    KINDS, Tree, conditions, deciding, documents, groups, mutants, perf as beside_perf, predictions, timings,
};

const USAGE: &str = "\
usage: cargo xtask TASK

  regenerate   write every file that the code makes: tables of FORMAT.md, results in
               README.md and docs, docs/report.html, golden files of tests; names each
               file that changed
  deciding [OPTIONS]
               run the studies that show how syscost decides, on a quiet machine (about 15 minutes),
               into docs/runs/deciding, and write what they show into docs/deciding.md
      --only NAME[,NAME]  of aa, aa_busy, planted, default, long
      --runs N            of each study, instead of 2, 1, 2, 5, 1
      --time-limit TIME   of each run, instead of 60s (long: 120s)
      --append            keep what is recorded of other studies
      --binary PATH       the program [default: target/release/syscost]
      --record FOLDER     instead of docs/runs/deciding; the page stays as it is
  mutants [--rest] [TEXT...]
               break each promise of docs/reliability.md in a copy of the tree and run the test
               that has to notice: killed, survived or skipped, into docs/runs/mutants.json (hours;
               with TEXT only those that have one of them in their promise, file or test; with --rest
               what the record does not show killed)
  conditions FOLDER [RECORD.csv] [NAME...]
               measure the conditions of docs/model.md that FOLDER lacks (or those named), on a quiet
               machine, as root, a minute each; once it has all, keep what the cost model predicts
               in RECORD.csv [default: docs/runs/model.csv]
  predictions FOLDER
               measure `run os` in the states of the machine of docs/operations.md that FOLDER lacks, and keep
               what was measured and predicted: on a quiet machine, as root (about 6 minutes)
  groups FOLDER
               measure groups of runs side by side that FOLDER lacks, with and without a planted difference, and
               keep what `syscost compare` says of each (about 25 minutes)
  perf         profile the cases of docs/runs/profile again beside `perf record`, and write the shares
               that both saw: on a quiet machine, as root (about 2 minutes)
  timings      build the program cold, in a folder of its own, and write what each dependency
               took into CONTRIBUTING.md: on a quiet machine";

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
        ["timings"] => timings(),
        ["mutants", ref rest @ ..] => broken_on_purpose(rest),
        ["perf"] => perf(),
        ["conditions", folder, record, ref wanted @ ..] if record.ends_with(".csv") => {
            model_conditions(Path::new(folder), record, wanted)
        }
        ["conditions", folder, ref wanted @ ..] => {
            model_conditions(Path::new(folder), conditions::RECORDS[0].file, wanted)
        }
        ["predictions", folder] => {
            let root = root()?;
            let (program, record) = (root.join("target/release/syscost"), root.join(predictions::RECORD));
            predictions::record(&program, Path::new(folder), &record)
        }
        ["groups", folder] => {
            let root = root()?;
            let (program, record) = (root.join("target/release/syscost"), root.join(groups::RECORD));
            groups::record(&program, Path::new(folder), &record, &|group| println!("{group}"))
        }
        ["deciding", ref options @ ..] => deciding(options),
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
        (&["os"][..], "docs/runs/operations.csv", "docs/comparison.md"),
        (&["ways"], "docs/runs/ways-peers.csv", "docs/ways-vs-peers.md"),
        (&[], "docs/runs/peers.csv", "docs/peers.md"),
    ] {
        let arguments = [&["--package", "syscost-peers", "--"][..], comparison].concat();
        let files = ["--rebuild", "--record", record, "--page", page];
        finish(cargo(&tree.root, "run").args(arguments).args(files))?;
    }
    Ok(())
}

fn broken_on_purpose(words: &[&str]) -> Result<()> {
    let (wanted, rest) = match words {
        ["--rest", wanted @ ..] => (wanted, true),
        wanted => (wanted, false),
    };
    mutants::run(root()?, MutantChoice { wanted, rest }, |line| println!("{line}"))
}

fn deciding(options: &[&str]) -> Result<()> {
    let root = root()?;
    let options = DecidingOptions::parse(options).with_context(|| USAGE.to_string())?;
    let tree = Tree { root: root.into(), program: root.join(&options.binary) };
    let record = deciding::run(&tree, &options, &|line| println!("{line}"))?;
    if options.record != deciding::FOLDER {
        println!("{}", record.page(&options.record));
        return Ok(());
    }
    for page in documents::files(&tree)? {
        if page.path == Path::new(deciding::PAGE) && page.write(&tree)? {
            println!("{}", page.path.display());
        }
    }
    Ok(())
}

fn perf() -> Result<()> {
    let root = root()?;
    let program = root.join("target/release/syscost");
    beside_perf::record(&program, &root.join(beside_perf::FOLDER), &|case| println!("{case}"))
}

fn model_conditions(folder: &Path, record: &str, wanted: &[&str]) -> Result<()> {
    let root = root()?;
    // What no page would show is not worth eight minutes.
    let record = root.join(ModelRecord::at(Path::new(record))?.file);
    let lacking = conditions::measure(&root.join("target/release/syscost"), folder, wanted)?;
    if lacking.is_empty() {
        return conditions::record(folder, &record);
    }
    println!("not measured yet: {}", lacking.join(", "));
    Ok(())
}

fn timings() -> Result<()> {
    let root = root()?;
    let target = root.join("target/timings");
    if target.exists() {
        std::fs::remove_dir_all(&target)?;
    }
    finish(cargo(root, "build").args(["--timings", "--target-dir"]).arg(&target))?;
    let page = std::fs::read_to_string(target.join("cargo-timings/cargo-timing.html"))?;
    let guide = root.join("CONTRIBUTING.md");
    std::fs::write(&guide, timings::filled(&std::fs::read_to_string(&guide)?, &page)?)?;
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
