//! How to repeat the run and how to rebuild this report.

use crate::material::Material;
use crate::{Block, Section};
use syscost_host::remote::transport::words;

pub fn section(m: &Material) -> Section {
    let record = &m.run.record;
    let tool = &record.tool;
    let mut command = words::shown(&record.command);
    if !record.command.iter().any(|w| w == "--seed" || w.starts_with("--seed=")) {
        command.push_str(&format!(" --seed {}", record.spec.seed));
    }
    let blocks = vec![
        Block::Text("The same cases in the same order, on this or another machine:".into()),
        Block::Command(command),
        Block::Text("Every figure, plot and sentence of this page again, from the recorded samples:".into()),
        Block::Command("syscost report DIR".into()),
        Block::Text(format!(
            "Measured with syscost {} ({} build, SHA-256 of the binary {}), run {}.",
            tool.version, tool.profile, tool.binary_sha256, record.id
        )),
        Block::Text(
            "run.json holds the machine, the specification, the plan and the seed; samples.csv every timed sample; \
             results.csv every metric of every case, comparisons.csv every compared pair with its verdict. FORMAT.md documents their columns."
                .into(),
        ),
    ];
    Section::new("reproduce", "How to reproduce", blocks)
}
