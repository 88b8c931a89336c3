//! Short texts that many points share: the names of axes, probes and mechanisms.
//!
//! A plan of a hundred thousand cases says `mechanism` a hundred thousand times: in memory it says it once.
//! What is remembered is bounded, because a file from a stranger may hold any number of names; a text that is
//! not remembered has memory of its own and is the same name all the same.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::{Borrow, Cow};
use std::collections::HashSet;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Names that are remembered: far above what all probes together have.
const MOST: usize = 4096;
/// Bytes of the longest that is.
const LONGEST: usize = 64;

static KNOWN: LazyLock<Mutex<HashSet<Arc<str>>>> = LazyLock::new(Mutex::default);

/// A text whose copies cost no memory.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(Arc<str>);

impl Name {
    /// A text of its own, which hardly anything else says: it is not remembered.
    pub fn alone(text: &str) -> Name {
        Name(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Name {
        if text.len() > LONGEST {
            return Name::alone(text);
        }
        // A panic elsewhere leaves a set of texts, which is none the worse for it.
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(name) = known.get(text) {
            return Name(name.clone());
        }
        let name: Arc<str> = text.into();
        if known.len() < MOST {
            known.insert(name.clone());
        }
        Name(name)
    }
}

impl From<String> for Name {
    fn from(text: String) -> Name {
        text.as_str().into()
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, text: &str) -> bool {
        self.as_str() == text
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, text: &&str) -> bool {
        self.as_str() == *text
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), f)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
        /// Borrowed where the text is there as it is: a record has a million of them.
        #[derive(Deserialize)]
        struct Text<'t>(#[serde(borrow)] Cow<'t, str>);
        Text::deserialize(deserializer).map(|Text(text)| (*text).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_one_and_the_memory_of_a_stranger_s_is_bounded() {
        let (a, b) = (Name::from("message_bytes"), Name::from(String::from("message_bytes")));
        assert!(Arc::ptr_eq(&a.0, &b.0) && a == "message_bytes");
        let long = "x".repeat(LONGEST + 1);
        assert!(!Arc::ptr_eq(&Name::from(&*long).0, &Name::from(&*long).0), "a long text is not remembered");
        assert_eq!(Name::from(&*long), *long);
        for i in 0..2 * MOST {
            assert_eq!(Name::from(format!("stranger {i}")), *format!("stranger {i}"));
        }
        assert!(KNOWN.lock().unwrap().len() <= MOST);
    }
}
