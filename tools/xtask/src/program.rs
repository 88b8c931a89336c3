//! What the program prints: its help, a plan, and what it says of published tables.

use crate::{Generated, Tree};
use anyhow::{Context, Result, ensure};
use std::process::Command;

const PUBLISHED: &str = "tests/data/published";
/// Tables as students write them, beside it.
const HAND_INS: &str = "../hand-ins";

pub fn files(tree: &Tree) -> Result<Vec<Generated>> {
    let print = |arguments: &[&str]| {
        let mut command = Command::new(&tree.program);
        command.args(arguments).current_dir(tree.root.join(PUBLISHED));
        let output = command.env_remove("CLICOLOR_FORCE").env("NO_COLOR", "1").output()?;
        // A table that contradicts itself ends with 1, a file that is no table with 2.
        ensure!(
            output.status.success() || arguments[0] == "analyse",
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8(output.stdout)?)
    };
    let mut files = vec![
        Generated::golden("help.txt", print(&["--help"])?),
        Generated::golden("help-report.txt", print(&["report", "-h"])?),
        Generated::golden("help-run.txt", print(&["run", "-h"])?),
        Generated::golden("plan.txt", without(&print(&["plan", "../small.toml"])?, "  fixed ", "Rounds ")?),
    ];
    for entry in tree.root.join(PUBLISHED).read_dir()? {
        let name = entry?.file_name().into_string().ok().context("a name in UTF-8")?;
        let golden = format!("analyse-{}.txt", name.trim_end_matches(".csv"));
        files.push(Generated::golden(&golden, print(&["analyse", &name])?));
    }
    let mut hand_ins: Vec<String> = Vec::new();
    for entry in tree.root.join(PUBLISHED).join(HAND_INS).read_dir()? {
        let name = entry?.file_name().into_string().ok().context("a name in UTF-8")?;
        hand_ins.push(format!("{HAND_INS}/{name}"));
    }
    hand_ins.sort_unstable();
    let arguments: Vec<&str> =
        std::iter::once("analyse").chain(hand_ins.iter().map(String::as_str)).collect();
    files.push(Generated::golden("analyse-hand-ins.txt", print(&arguments)?));
    Ok(files)
}

/// The text without what stands between two others.
fn without(text: &str, from: &str, to: &str) -> Result<String> {
    let (before, after) = text.split_once(from).with_context(|| format!("{from:?} is missing"))?;
    let (_, after) = after.split_once(to).with_context(|| format!("{to:?} is missing"))?;
    Ok(format!("{before}{from}...\n\n{to}{after}"))
}
