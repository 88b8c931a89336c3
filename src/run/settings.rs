//! Settings per case in `run.json`, and in memory each set of them once: nearly every case has the same.

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde::ser::Serializer;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::Arc;

/// `sender.send_buffer_bytes` -> `87040`.
pub type Settings = BTreeMap<String, String>;
pub type ByCase = BTreeMap<usize, Arc<Settings>>;

pub fn serialize<S: Serializer>(all: &ByCase, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(all.iter().map(|(case, settings)| (case, settings.as_ref())))
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
        let mut known: HashSet<Arc<Settings>> = HashSet::new();
        let mut last = Arc::default();
        while let Some(case) = map.next_key::<usize>()? {
            last = match map.next_value_seed(Like(&last))? {
                None => last,
                Some(other) => known.get(&other).cloned().unwrap_or_else(|| Arc::new(other)),
            };
            known.insert(last.clone());
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
        let mut same = 0;
        for (name, value) in self.0 {
            match map.next_entry::<Text, Text>()? {
                Some((n, v)) if n.0 == *name && v.0 == *value => same += 1,
                other => return self.rest(same, other, map).map(Some),
            }
        }
        match map.next_entry::<Text, Text>()? {
            None => Ok(None),
            other => self.rest(same, other, map).map(Some),
        }
    }
}

impl Like<'_> {
    /// The first entries are those of the case before; then this one, and what follows.
    fn rest<'de, M: MapAccess<'de>>(
        &self,
        same: usize,
        mut next: Option<(Text<'de>, Text<'de>)>,
        mut map: M,
    ) -> Result<Settings, M::Error> {
        let mut settings: Settings = self.0.iter().take(same).map(|(n, v)| (n.clone(), v.clone())).collect();
        while let Some((name, value)) = next {
            settings.insert(name.0.into_owned(), value.0.into_owned());
            next = map.next_entry()?;
        }
        Ok(settings)
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

    #[test]
    fn the_same_settings_are_kept_once_and_written_for_every_case() {
        let one = |n: &str| Arc::new(Settings::from([("a".to_string(), n.to_string())]));
        let holder = Holder { settings: ByCase::from([(0, one("1")), (1, one("2")), (12, one("1"))]) };
        let text = serde_json::to_string(&holder).unwrap();
        assert_eq!(text, r#"{"settings":{"0":{"a":"1"},"1":{"a":"2"},"12":{"a":"1"}}}"#);
        let read: Holder = serde_json::from_str(&text).unwrap();
        assert_eq!(read, holder);
        assert!(Arc::ptr_eq(&read.settings[&0], &read.settings[&12]));
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
            assert_eq!(*read.settings[&i], alone, "{text}");
        }
        assert!(Arc::ptr_eq(&read.settings[&0], &read.settings[&1]));
        assert!(Arc::ptr_eq(&read.settings[&0], &read.settings[&5]), "known from before");
    }
}
