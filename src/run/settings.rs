//! Settings per case in `run.json`, and in memory each set of them once: nearly every case has the same.

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::Serializer;
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
        while let Some((case, settings)) = map.next_entry::<usize, Settings>()? {
            let settings = known.get(&settings).cloned().unwrap_or_else(|| Arc::new(settings));
            known.insert(settings.clone());
            all.insert(case, settings);
        }
        Ok(all)
    }
}

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
        assert!(serde_json::from_str::<Holder>(r#"{"settings":{"x":{}}}"#).is_err());
    }
}
