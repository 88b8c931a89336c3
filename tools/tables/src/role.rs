//! What names of ways to send mean: whom a name competes with. The words are data, in `dictionary.toml`.

use crate::dictionary::{self, DICTIONARY};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use syscost_measure::mechanism::{self, Class};

/// Beyond this a text is no name.
const LONGEST_NAME: usize = 256;

/// The role that each name means: of an assignment's words (`A1`, `two-copy`), and of the mechanisms of syscost by their id
/// or title. The words of an assignment stand above the name of a system call beside them.
static ASSIGNED: LazyLock<BTreeMap<String, Class>> = LazyLock::new(|| {
    let words = |class: Class| {
        let role = DICTIONARY.roles.iter().find(|(role, _)| bare(role) == bare(class.word()));
        role.into_iter().flat_map(|(_, words)| words).map(move |word| (bare(word), class))
    };
    [Class::TwoCopy, Class::OneCopy, Class::ZeroCopy].into_iter().flat_map(words).collect()
});
static OWN: LazyLock<BTreeMap<String, Class>> = LazyLock::new(|| {
    let names =
        mechanism::ALL.iter().map(|own| own.about()).flat_map(|own| [(own.id, own.id), (own.title, own.id)]);
    names.filter_map(|(name, id)| Some((bare(name), Class::of(id)?))).collect()
});

/// Letters and digits only, in lower case: `Two-Copy`, `two_copy` and `TwoCopy` are one.
pub fn bare(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The role of a name: of its words, of the name of a mechanism, or of both together: `A1 (2-copy)`. Words that
/// contradict each other are no name, and neither is a switch: `zerocopy=no`.
pub fn of(name: &str) -> Option<Class> {
    if name.len() > LONGEST_NAME || name.contains('=') {
        return None;
    }
    if let Some(class) = meant(name) {
        return Some(class);
    }
    let tokens = dictionary::tokens(name);
    if tokens.iter().any(|word| dictionary::is_word("negations", word)) {
        return None;
    }
    let ends = |from: usize| from + 1..=tokens.len().min(from + 4);
    let runs = (0..tokens.len()).flat_map(|from| ends(from).map(move |to| (from, to)));
    let runs: Vec<String> = runs.map(|(from, to)| tokens[from..to].concat()).collect();
    let classes = |of: &BTreeMap<String, Class>| -> BTreeSet<Class> {
        runs.iter().filter_map(|run| of.get(run)).copied().collect()
    };
    let all = Some(classes(&ASSIGNED)).filter(|all| !all.is_empty()).unwrap_or_else(|| classes(&OWN));
    all.first().copied().filter(|_| all.len() == 1)
}

/// May a name mean this mechanism: as its own name, else as its role?
pub fn names(name: &str, mechanism: &str) -> bool {
    let is = |own: &str| bare(own) == bare(name);
    match mechanism::ALL.iter().map(|one| one.about()).find(|about| is(about.id) || is(about.title)) {
        Some(about) => about.id == mechanism,
        None => of(name).is_some_and(|class| class.holds(mechanism)),
    }
}

/// A role by its word or by a mechanism's name alone.
pub fn meant(text: &str) -> Option<Class> {
    ASSIGNED.get(&bare(text)).or_else(|| OWN.get(&bare(text))).copied()
}

/// Does a name speak of messages that are sent?
pub fn is_transport(name: &str) -> bool {
    dictionary::tokens(name).iter().any(|word| dictionary::is_word("transports", word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ways_to_send() {
        for name in ["A1", "TwoCopy", "two_copy", "2-copy", "pack_send", "A1 (2-copy)", "server_two_copy"] {
            assert_eq!(of(name), Some(Class::TwoCopy), "{name}");
        }
        for name in ["A3", "Zero-Copy", "sendmsg + MSG_ZEROCOPY", "zerocopy_server"] {
            assert_eq!(of(name), Some(Class::ZeroCopy), "{name}");
        }
        for name in ["carrier pigeon", "A1 (zero-copy)", "memcpy", "T1", "zerocopy=no", "without zero-copy"] {
            assert_eq!(of(name), None, "{name}");
        }
    }
}
