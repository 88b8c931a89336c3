//! What names of ways to send mean: whom a name competes with. The words are data, in `dictionary.toml`.

use crate::dictionary::{self, DICTIONARY};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use syscost_measure::mechanism::{self, Class};

/// Beyond this a text is no name.
const LONGEST_NAME: usize = 256;

/// A role as a name means it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MeantRole {
    class: Class,
    /// By an assignment's word (`A1`, `two-copy`), which stands above the name of a system call beside it.
    assigned: bool,
}

/// The role that each name means: words for roles, and the mechanisms of syscost by their id or title.
static ROLES: LazyLock<BTreeMap<String, MeantRole>> = LazyLock::new(|| {
    let own = mechanism::ALL.iter().map(|m| m.about()).flat_map(|about| {
        let class = Class::of(about.id);
        [about.id, about.title].map(|name| Some((bare(name), MeantRole { class: class?, assigned: false })))
    });
    let words = DICTIONARY.roles.iter().flat_map(|(role, words)| {
        let class = [Class::TwoCopy, Class::OneCopy, Class::ZeroCopy]
            .into_iter()
            .find(|c| bare(c.word()) == bare(role));
        words.iter().map(move |word| Some((bare(word), MeantRole { class: class?, assigned: true })))
    });
    own.chain(words).flatten().collect()
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
    if let Some(meant) = ROLES.get(&bare(name)) {
        return Some(meant.class);
    }
    let tokens = dictionary::tokens(name);
    if tokens.iter().any(|word| dictionary::is_word("negations", word)) {
        return None;
    }
    let runs =
        (0..tokens.len()).flat_map(|from| (from + 1..=tokens.len().min(from + 4)).map(move |to| (from, to)));
    let found: Vec<MeantRole> =
        runs.filter_map(|(from, to)| ROLES.get(&tokens[from..to].concat()).copied()).collect();
    let assigned = found.iter().any(|meant| meant.assigned);
    let classes: BTreeSet<Class> =
        found.iter().filter(|meant| meant.assigned == assigned).map(|meant| meant.class).collect();
    classes.first().copied().filter(|_| classes.len() == 1)
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
    ROLES.get(&bare(text)).map(|meant| meant.class)
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
