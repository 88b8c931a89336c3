//! A small map from names to values: the coordinates of a case, the settings that it was measured under.
//!
//! A large run has hundreds of thousands of them, and each is copied wherever cases are told apart. So it is one
//! piece of memory, its names are shared ([`Name`]), and a copy costs nothing until one of both is changed. It is
//! written as the map that it is, in the order of the names.

use super::{Name, Value};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::{Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Index;
use std::sync::Arc;

/// Sorted by name, each once.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Few<V>(Arc<[(Name, V)]>);

/// One value per axis that applies: the coordinates of a case.
pub type Point = Few<Value>;

impl<V> Default for Few<V> {
    fn default() -> Few<V> {
        Few(Arc::new([]))
    }
}

impl<V> Few<V> {
    pub fn get(&self, name: &str) -> Option<&V> {
        self.place(name).ok().map(|at| &self.0[at].1)
    }

    pub fn contains_key(&self, name: &str) -> bool {
        self.place(name).is_ok()
    }

    /// In the order of the names.
    pub fn names(&self) -> impl Iterator<Item = &Name> {
        self.0.iter().map(|(name, _)| name)
    }

    /// In the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &V)> {
        self.0.iter().map(|(name, value)| (name, value))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names that both have, with both values.
    pub fn shared<'p>(&'p self, other: &'p Few<V>) -> impl Iterator<Item = (&'p Name, &'p V, &'p V)> {
        let mut theirs = other.iter().peekable();
        self.iter().filter_map(move |(name, ours)| {
            while theirs.next_if(|(known, _)| *known < name).is_some() {}
            theirs.next_if(|(known, _)| *known == name).map(|(_, their)| (name, ours, their))
        })
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.as_str().cmp(name))
    }
}

impl<V: Clone> Few<V> {
    pub fn set(&mut self, name: &str, value: V) {
        match self.place(name) {
            Ok(at) => Arc::make_mut(&mut self.0)[at].1 = value,
            Err(at) => {
                let (before, after) = self.0.split_at(at);
                let (before, after) = (before.iter().cloned(), after.iter().cloned());
                self.0 = before.chain([(name.into(), value)]).chain(after).collect();
            }
        }
    }

    /// The same without one name: what cases that differ only there share.
    pub fn without(&self, name: &str) -> Few<V> {
        let mut rest = self.clone();
        rest.retain(|id| id != name);
        rest
    }

    /// Keeps those of which this is true.
    pub fn retain(&mut self, kept: impl Fn(&str) -> bool) {
        let left: Vec<bool> = self.0.iter().map(|(name, _)| kept(name)).collect();
        if left.contains(&false) {
            let pairs = self.0.iter().zip(left).filter(|(_, kept)| *kept);
            self.0 = pairs.map(|(pair, _)| pair.clone()).collect();
        }
    }
}

/// Panics where there is none of this name.
impl<Q: AsRef<str> + ?Sized, V> Index<&Q> for Few<V> {
    type Output = V;

    fn index(&self, name: &Q) -> &V {
        self.get(name.as_ref()).expect("a value of this name")
    }
}

/// Of two values of one name the later counts.
impl<V> FromIterator<(Name, V)> for Few<V> {
    fn from_iter<T: IntoIterator<Item = (Name, V)>>(pairs: T) -> Few<V> {
        let mut pairs: Vec<(Name, V)> = pairs.into_iter().collect();
        if !pairs.is_sorted_by(|a, b| a.0 < b.0) {
            pairs.sort_by(|a, b| a.0.cmp(&b.0));
            // The first of equal ones stays.
            pairs.reverse();
            pairs.dedup_by(|a, b| a.0 == b.0);
            pairs.reverse();
        }
        Few(pairs.into())
    }
}

impl<V: fmt::Display> fmt::Display for Few<V> {
    /// `mechanism=send message_bytes=64 threads=1`, in the order of the names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, value)) in self.iter().enumerate() {
            write!(f, "{}{name}={value}", if i == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

impl<V: Serialize> Serialize for Few<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Few<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Few<V>, D::Error> {
        deserializer.deserialize_map(FewVisitor(PhantomData))
    }
}

struct FewVisitor<V>(PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for FewVisitor<V> {
    type Value = Few<V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Few<V>, M::Error> {
        let mut pairs: Vec<(Name, V)> = Vec::with_capacity(map.size_hint().unwrap_or(16).min(64));
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(pairs.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn of(map: &BTreeMap<String, u64>) -> Point {
        map.iter().map(|(axis, n)| (Name::from(axis.as_str()), Value::Int(*n))).collect()
    }

    proptest! {
        /// A point is a map, whatever is done to it.
        #[test]
        fn it_does_what_a_map_does(
            mut map in prop::collection::btree_map("[a-d]{1,2}", 0u64..9, 0..6),
            other in prop::collection::btree_map("[a-d]{1,2}", 0u64..9, 0..6),
            axis in "[a-d]{1,2}", n in 0u64..9,
        ) {
            let mut point = of(&map);
            let before = point.clone();
            prop_assert_eq!(point.cmp(&of(&other)), map.cmp(&other));
            prop_assert_eq!(point == of(&other), map == other);
            prop_assert_eq!(serde_json::to_string(&point).unwrap(), serde_json::to_string(&map).unwrap());
            point.set(&axis, Value::Int(n));
            map.insert(axis.clone(), n);
            prop_assert_eq!(&point, &of(&map));
            prop_assert_eq!(point.int_at(&axis), Some(n));
            let text = serde_json::to_string(&map).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Point>(&text).unwrap(), &point);
            map.remove(&axis);
            prop_assert_eq!(point.without(&axis), of(&map));
            prop_assert_eq!((point.len(), point.is_empty()), (map.len() + 1, false));
            let both: Vec<_> = before.shared(&of(&other)).map(|(axis, a, b)| (axis.clone(), a.clone(), b.clone())).collect();
            let wanted = before.iter().filter_map(|(axis, a)| Some((axis.clone(), a.clone(), Value::Int(*other.get(axis.as_str())?))));
            prop_assert_eq!(both, wanted.collect::<Vec<_>>());
            prop_assert!(before == point || before.get(&axis) != Some(&Value::Int(n)), "a copy is not changed");
        }
    }

    #[test]
    fn of_two_values_the_later_counts_and_what_is_no_value_is_refused() {
        let point: Point = serde_json::from_str(r#"{"b":1,"a":"x","b":2}"#).unwrap();
        assert_eq!(point.to_string(), "a=x b=2");
        for bad in [r#"{"a":-1}"#, r#"{"a":1.5}"#, r#"{"a":null}"#, r#"{"a":[]}"#, r#"{"a":true}"#, "[]"] {
            assert!(serde_json::from_str::<Point>(bad).is_err(), "{bad}");
        }
    }
}
