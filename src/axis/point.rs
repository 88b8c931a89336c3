//! One value per axis that applies: the coordinates of a case.
//!
//! A large run has hundreds of thousands of points, and each is copied wherever cases are told apart. So a
//! point is one piece of memory, its texts are shared ([`Name`]), and a copy costs nothing until one of both is
//! changed. It is written as the map that it is: by axis, in the order of their names.

use super::{Name, Value};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::{Serialize, Serializer};
use std::fmt;
use std::sync::Arc;

/// Sorted by axis, each once.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Point(Arc<[(Name, Value)]>);

impl Default for Point {
    fn default() -> Point {
        Point(Arc::new([]))
    }
}

impl Point {
    pub fn get(&self, axis: &str) -> Option<&Value> {
        self.place(axis).ok().map(|at| &self.0[at].1)
    }

    pub fn int(&self, axis: &str) -> Option<u64> {
        self.get(axis).and_then(Value::as_int)
    }

    pub fn text(&self, axis: &str) -> Option<&str> {
        self.get(axis).and_then(Value::as_text)
    }

    /// `on` on this switch axis.
    pub fn on(&self, axis: &str) -> bool {
        self.text(axis) == Some("on")
    }

    /// The axes that apply, in the order of their names.
    pub fn axes(&self) -> impl Iterator<Item = &Name> {
        self.0.iter().map(|(axis, _)| axis)
    }

    /// The coordinates in the order of their axes' names.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &Value)> {
        self.0.iter().map(|(axis, value)| (axis, value))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn set(&mut self, axis: &str, value: Value) {
        match self.place(axis) {
            Ok(at) => Arc::make_mut(&mut self.0)[at].1 = value,
            Err(at) => {
                let (before, after) = self.0.split_at(at);
                let (before, after) = (before.iter().cloned(), after.iter().cloned());
                self.0 = before.chain([(axis.into(), value)]).chain(after).collect();
            }
        }
    }

    /// The same point without one axis: what cases that differ only there share.
    pub fn without(&self, axis: &str) -> Point {
        let mut point = self.clone();
        point.retain(|id| id != axis);
        point
    }

    /// Keeps the coordinates of which this is true.
    pub fn retain(&mut self, kept: impl Fn(&str) -> bool) {
        let left: Vec<bool> = self.0.iter().map(|(axis, _)| kept(axis)).collect();
        if left.contains(&false) {
            let pairs = self.0.iter().zip(left).filter(|(_, kept)| *kept);
            self.0 = pairs.map(|(pair, _)| pair.clone()).collect();
        }
    }

    /// The axes that both points have, with both values.
    pub fn shared<'p>(&'p self, other: &'p Point) -> impl Iterator<Item = (&'p Name, &'p Value, &'p Value)> {
        let mut theirs = other.iter().peekable();
        self.iter().filter_map(move |(axis, ours)| {
            while theirs.next_if(|(known, _)| *known < axis).is_some() {}
            theirs.next_if(|(known, _)| *known == axis).map(|(_, their)| (axis, ours, their))
        })
    }

    fn place(&self, axis: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(known, _)| known.as_str().cmp(axis))
    }
}

/// Of two values on one axis the later counts.
impl FromIterator<(Name, Value)> for Point {
    fn from_iter<T: IntoIterator<Item = (Name, Value)>>(pairs: T) -> Point {
        let mut pairs: Vec<(Name, Value)> = pairs.into_iter().collect();
        pairs.sort_by(|a, b| a.0.cmp(&b.0));
        let mut once: Vec<(Name, Value)> = Vec::with_capacity(pairs.len());
        for pair in pairs {
            once.pop_if(|last| last.0 == pair.0);
            once.push(pair);
        }
        Point(once.into())
    }
}

impl fmt::Display for Point {
    /// `mechanism=send message_bytes=64 threads=1`, in key order.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (axis, value)) in self.iter().enumerate() {
            write!(f, "{}{axis}={value}", if i == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

impl Serialize for Point {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Point {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Point, D::Error> {
        deserializer.deserialize_map(Read)
    }
}

struct Read;

impl<'de> Visitor<'de> for Read {
    type Value = Point;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value for each axis")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Point, M::Error> {
        let mut pairs: Vec<(Name, Value)> = Vec::new();
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
        map.iter().map(|(axis, n)| (Name::from(axis), Value::Int(*n))).collect()
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
            prop_assert_eq!(point.int(&axis), Some(n));
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

    #[test]
    fn it_is_small() {
        assert_eq!(size_of::<(Name, Value)>(), 32);
    }
}
