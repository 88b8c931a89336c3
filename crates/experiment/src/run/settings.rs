//! Settings per case in `run.json`, and in memory each of them once: nearly every case has the same, or differs
//! from the case before in one or two.

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::ser::Serializer;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use syscost_core::axis::{Few, Name};

/// `sender.send_buffer_bytes` -> `87040`.
pub type Settings = Few<Name>;
pub type ByCase = BTreeMap<usize, Settings>;

/// These settings, sharing what they have in common with others.
pub fn like(others: Option<&Settings>, settings: BTreeMap<String, String>) -> Settings {
    let known = |name: &str, value: &str| others.and_then(|o| o.get(name)).filter(|v| *v == value).cloned();
    let value = |name: &str, value: &str| known(name, value).unwrap_or_else(|| Name::alone(value));
    settings.iter().map(|(n, v)| (Name::from(n), value(n, v))).collect()
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
        while let Some(case) = map.next_key::<usize>()? {
            if let Some(other) = map.next_value_seed(Like(&last))? {
                last = known.get(&other).cloned().unwrap_or(other);
                known.insert(last.clone());
            }
            all.insert(case, last.clone());
        }
        Ok(all)
    }
}

/// Settings that are mostly those of the case before: `None` where they are, and no memory is taken.
struct Like<'a>(&'a Settings);

impl<'de> DeserializeSeed<'de> for Like<'_> {
    type Value = Option<Settings>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Like<'_> {
    type Value = Option<Settings>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("texts by name")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        // Those of the case before as far as they are the same; then whatever there is.
        let (mut before, mut same) = (self.0.iter(), 0);
        let mut own: Vec<(Name, Name)> = Vec::new();
        while let Some((name, value)) = map.next_entry::<Text<'_>, Text<'_>>()? {
            let known = before.next().filter(|(known, _)| known.as_str() == name.0);
            match known {
                Some((_, v)) if *v == *value.0 && own.is_empty() => same += 1,
                _ => {
                    if own.is_empty() {
                        own.extend(self.0.iter().take(same).map(|(n, v)| (n.clone(), v.clone())));
                    }
                    let shared = known.filter(|(_, v)| **v == *value.0).map(|(_, v)| v.clone());
                    let name = known.map_or_else(|| Name::from(&*name.0), |(name, _)| name.clone());
                    own.push((name, shared.unwrap_or_else(|| Name::alone(&value.0))));
                }
            }
        }
        if own.is_empty() && same < self.0.len() {
            own.extend(self.0.iter().take(same).map(|(n, v)| (n.clone(), v.clone())));
            return Ok(Some(own.into_iter().collect()));
        }
        Ok((!own.is_empty()).then(|| own.into_iter().collect()))
    }
}

/// As it stands in the file, where nothing in it is escaped.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

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
        let one = |n: &str| like(None, BTreeMap::from([("a".to_string(), n.to_string())]));
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
