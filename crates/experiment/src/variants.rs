//! Variants: what alternates within one group, a whole run each. A variant is a build, an environment, or a setting of the
//! machine that commands make before a run and undo after it.
//!
//! Variants take turns in the order A B B A: a steady drift of the machine then adds the same to each of them.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syscost_host::remote::transport::words;

/// More would be a study: give it an axis.
const MOST: usize = 8;
const LONGEST_LABEL: usize = 80;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Its runs are in a directory of this name.
    pub label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Another build of this program; by itself, this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binary: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// More options of the run: another build of the user's own code, for one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// Shell commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl Variant {
    /// Commands that the variant starts beside this program, and settings that change what is started.
    pub fn commands(&self) -> Vec<String> {
        let env = self.env.iter().map(|(name, value)| words::shown(&[format!("{name}={value}")]));
        let binary = self.binary.iter().map(|binary| words::shown(&[binary.display().to_string()]));
        let arguments = self.arguments.iter().cloned();
        env.chain(binary).chain(arguments).chain(self.before.clone()).chain(self.after.clone()).collect()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VariantsFile {
    variant: Vec<Variant>,
}

/// The variants of a TOML file. A relative binary lies beside the file.
pub fn read(text: &str, beside: &Path) -> Result<Vec<Variant>, String> {
    let VariantsFile { mut variant } = toml::from_str(text).map_err(|error| error.to_string())?;
    check(variant.iter().map(|one| one.label.as_str()))?;
    for one in &mut variant {
        one.binary = one.binary.take().map(|binary| beside.join(binary));
    }
    Ok(variant)
}

/// Labels that can stand beside each other in a directory.
pub(crate) fn check<'a>(labels: impl ExactSizeIterator<Item = &'a str>) -> Result<(), String> {
    if !(2..=MOST).contains(&labels.len()) {
        return Err(format!("a comparison needs 2 to {MOST} variants, written as [[variant]]"));
    }
    let mut seen = BTreeSet::new();
    for label in labels {
        let printable = label.chars().all(|c| !c.is_control() && c != '/');
        if label.trim().is_empty() || label.len() > LONGEST_LABEL || !printable || label.starts_with('.') {
            return Err(format!("the label {label:?} cannot name a directory: use letters and digits"));
        }
        if !seen.insert(label) {
            return Err(format!("two variants have the label {label:?}: give each its own"));
        }
    }
    Ok(())
}

/// Who runs when: the number of the turn, from 1, and the index of the variant.
pub fn order(variants: usize, turns: u32) -> Vec<(u32, usize)> {
    let of_turn = |turn: u32| {
        let there = (0..variants).map(move |variant| (turn, variant));
        if turn % 2 == 1 { there.collect::<Vec<_>>() } else { there.rev().collect() }
    };
    (1..=turns).flat_map(of_turn).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_take_turns_so_that_a_steady_drift_cancels() {
        let turns = order(2, 4);
        assert_eq!(turns.iter().map(|(_, variant)| *variant).collect::<Vec<_>>(), [0, 1, 1, 0, 0, 1, 1, 0]);
        let sum = |of: usize| {
            turns.iter().enumerate().filter(|(_, turn)| turn.1 == of).map(|(time, _)| time).sum::<usize>()
        };
        assert_eq!(sum(0), sum(1));
        assert_eq!(order(3, 2), [(1, 0), (1, 1), (1, 2), (2, 2), (2, 1), (2, 0)]);
    }

    #[test]
    fn a_file_names_what_alternates() {
        let text = "[[variant]]\nlabel = \"old\"\nbinary = \"old/syscost\"\n\n[[variant]]\nlabel = \"new\"\nenv = { A = \"1\" }\n\
                    before = \"true\"\n";
        let variants = read(text, Path::new("/builds")).unwrap();
        assert_eq!(variants[0].binary.as_deref(), Some(Path::new("/builds/old/syscost")));
        assert_eq!((variants[1].env["A"].as_str(), variants[1].before.as_deref()), ("1", Some("true")));
    }

    #[test]
    fn what_cannot_alternate_is_refused_with_the_reason() {
        let of = |labels: &[&str]| {
            let text: String =
                labels.iter().map(|label| format!("[[variant]]\nlabel = {label:?}\n")).collect();
            read(&text, Path::new("")).unwrap_err()
        };
        assert!(of(&["one"]).contains("2 to 8"));
        assert!(of(&["a", "a"]).contains("two variants"));
        for bad in ["", "..", "a/b", "\n", ".hidden"] {
            assert!(of(&["a", bad]).contains("cannot name a directory"), "{bad:?}");
        }
        assert!(
            read("[[variant]]\nlabel = \"a\"\nbinaries = \"b\"\n", Path::new(""))
                .unwrap_err()
                .contains("binaries")
        );
    }
}
