//! Classes of mechanisms by the copies that their interface asks for: two-copy, one-copy, zero-copy.
//!
//! A class is a word in a mechanism's title, so that a new mechanism belongs to one by what it calls itself.
//! It says what was asked, never what the kernel did: completions and audits say that.

use super::find;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    TwoCopy,
    OneCopy,
    ZeroCopy,
}

impl Class {
    /// The word, which the command line accepts for the class's plainest member.
    pub fn word(self) -> &'static str {
        match self {
            Class::TwoCopy => "two-copy",
            Class::OneCopy => "one-copy",
            Class::ZeroCopy => "zero-copy",
        }
    }

    /// Does the mechanism of this id call itself so?
    pub fn holds(self, id: &str) -> bool {
        find(id).is_some_and(|m| m.about().title.contains(self.word()))
    }

    /// Is it the mechanism that the word alone means?
    pub fn means(self, id: &str) -> bool {
        find(id).is_some_and(|m| m.about().aliases.contains(&self.word()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::ALL;

    #[test]
    fn every_class_has_one_plain_member_and_no_mechanism_has_two_classes() {
        let classes = [Class::TwoCopy, Class::OneCopy, Class::ZeroCopy];
        for class in classes {
            let plain: Vec<_> = ALL.iter().filter(|m| class.means(m.about().id)).collect();
            assert_eq!(plain.len(), 1, "{class:?}");
            assert!(class.holds(plain[0].about().id), "{class:?}");
        }
        for mechanism in ALL {
            let id = mechanism.about().id;
            assert!(classes.iter().filter(|c| c.holds(id)).count() <= 1, "{id}");
        }
        assert!(!Class::TwoCopy.holds("no_such_mechanism"));
    }
}
