//! Settings per case in `run.json`, and in memory each of them once: nearly every case has the same, or differs
//! from the case before in one or two.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::Serializer;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use syscost_core::axis::{Few, Name};

/// `sender.send_buffer_bytes` -> `87040`.
pub type Settings = Few<Name>;
pub type ByCase = BTreeMap<usize, Settings>;

/// These settings, sharing what they have in common with others.
pub fn like<N: AsRef<str>, V: AsRef<str>>(
    others: Option<&Settings>,
    settings: impl IntoIterator<Item = (N, V)>,
) -> Settings {
    let known = |name: &str, value: &str| others?.get(name).filter(|v| *v == value).cloned();
    let shared = |(name, value): (N, V)| {
        let (name, value) = (name.as_ref(), value.as_ref());
        (Name::from(name), known(name, value).unwrap_or_else(|| Name::alone(value)))
    };
    settings.into_iter().map(shared).collect()
}

pub fn serialize<S: Serializer>(all: &ByCase, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(all)
}

pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ByCase, D::Error> {
    deserializer.deserialize_map(Shared)
}

struct Shared;

impl<'de> Visitor<'de> for Shared {
    type Value = ByCase;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("settings by the index of their case")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<ByCase, M::Error> {
        let mut all = ByCase::new();
        let mut known: HashSet<Settings> = HashSet::new();
        let mut last = Settings::default();
        while let Some((case, texts)) =
            map.next_entry::<usize, BTreeMap<BorrowedText<'_>, BorrowedText<'_>>>()?
        {
            let own = like(Some(&last), texts.into_iter().map(|(name, value)| (name.0, value.0)));
            last = known.get(&own).cloned().unwrap_or(own);
            known.insert(last.clone());
            all.insert(case, last.clone());
        }
        Ok(all)
    }
}

/// As it stands in the file, where nothing in it is escaped.
#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
struct BorrowedText<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;
    use serde::{Deserialize, Serialize};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Holder {
        #[serde(with = "super")]
        settings: ByCase,
    }

    fn one_memory(one: &Settings, other: &Settings) -> bool {
        one.iter().zip(other.iter()).all(|(a, b)| std::ptr::eq(a.1, b.1))
    }

    #[test]
    fn the_same_settings_are_kept_once_and_written_for_every_case() {
        let one = |n: &str| like(None, [("a", n)]);
        let holder = Holder { settings: ByCase::from([(0, one("1")), (1, one("2")), (12, one("1"))]) };
        let text = serde_json::to_string(&holder).unwrap();
        assert_eq!(text, r#"{"settings":{"0":{"a":"1"},"1":{"a":"2"},"12":{"a":"1"}}}"#);
        let read: Holder = serde_json::from_str(&text).unwrap();
        assert_eq!(read, holder);
        assert!(one_memory(&read.settings[&0], &read.settings[&12]));
        for bad in [r#"{"x":{}}"#, r#"{"0":{"a":1}}"#, r#"{"0":[]}"#] {
            assert!(serde_json::from_str::<Holder>(&format!(r#"{{"settings":{bad}}}"#)).is_err(), "{bad}");
        }
    }

    #[test]
    fn settings_like_those_of_the_case_before_are_told_from_them() {
        let cases = [
            r#"{"b":"1","d":"2"}"#,
            r#"{"b":"1","d":"2"}"#,
            r#"{"b":"1"}"#,
            r#"{"b":"1","d":"2","e":"3"}"#,
            r#"{"b":"1","d":"\u0033"}"#,
            r#"{"d":"2","b":"1"}"#,
            r#"{"b":"1","b":"2"}"#,
            r#"{}"#,
            r#"{"a":"\n"}"#,
        ];
        let all: Vec<String> = cases.iter().enumerate().map(|(i, text)| format!(r#""{i}":{text}"#)).collect();
        let read: Holder = serde_json::from_str(&format!(r#"{{"settings":{{{}}}}}"#, all.join(","))).unwrap();
        for (i, text) in cases.iter().enumerate() {
            let alone: Settings = serde_json::from_str(text).unwrap();
            assert_eq!(read.settings[&i], alone, "{text}");
        }
        assert!(one_memory(&read.settings[&0], &read.settings[&1]));
        assert!(one_memory(&read.settings[&0], &read.settings[&5]), "known from before");
        let text = |case: usize, name: &str| read.settings[&case].get(name).unwrap().as_ptr();
        assert_eq!(text(0, "b"), text(4, "b"), "what is the same is shared");
    }
}
