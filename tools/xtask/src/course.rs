//! A recorded run laid out for a course: the table, the plots and the page that goes with them.

use crate::{Generated, Tree};
use anyhow::Result;
use syscost_analyze::whole::Analysis;
use syscost_course::pa02;

/// The others are made of the same parts.
const KEPT: &[&str] = &["Results.csv", "Plots.py", "README.md"];

pub fn files(tree: &Tree) -> Result<Vec<Generated>> {
    let run = tree.load("tests/data/small-run")?;
    let artefacts = pa02::artefacts(&run, &Analysis::of(&run), "MT25999", None)?;
    let kept = artefacts.into_iter().filter(|file| KEPT.iter().any(|end| file.name.ends_with(end)));
    Ok(kept.map(|file| Generated::golden(&format!("course/{}", file.name), file.content)).collect())
}
