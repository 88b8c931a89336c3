//! How to repeat the run and how to rebuild this report.

use crate::material::Material;
use crate::{Block, Section};

pub fn section(m: &Material) -> Section {
    let record = &m.run.record;
    let tool = &record.tool;
    let mut command = record.command.iter().map(|w| quoted(w)).collect::<Vec<_>>().join(" ");
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
    Section { id: "reproduce".into(), title: "How to reproduce".into(), folded: None, blocks }
}

/// A word as a POSIX shell takes it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=%+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.into()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quoted("--size=64,1K"), "--size=64,1K");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's $(rm)"), "'it'\\''s $(rm)'");
        assert_eq!(quoted(""), "''");
    }
}
