//! Values of a script: numbers, texts, lists and dictionaries of them, and which lists of the script they are of.

use std::collections::BTreeSet;
use std::rc::Rc;

/// A step from a variable to a list in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ListKey {
    /// Of a dictionary, or a place that is known.
    Text(String),
    /// Of a list of lists: which of how many.
    At(usize, usize),
}

impl ListKey {
    /// Of one list of lists, whichever.
    pub fn stand_beside(one: &[ListKey], other: &[ListKey]) -> bool {
        let beside = |(one, other): (&ListKey, &ListKey)| {
            one == other || matches!((one, other), (ListKey::At(_, of), ListKey::At(_, all)) if of == all)
        };
        one.len() == other.len() && one.iter().zip(other).all(beside)
    }

    pub fn text(&self) -> Option<&str> {
        if let ListKey::Text(text) = self { Some(text) } else { None }
    }
}

/// A list as it stands in the script.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListSource {
    pub name: String,
    pub keys: Vec<ListKey>,
    /// As it is: nothing was computed of it.
    pub plain: bool,
    /// One figure of each of its lists: `rates[:, 3]`.
    pub across: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ScriptKind {
    Unknown,
    /// As it was written: trailing zeros say how exact it is.
    Number(String),
    Text(String),
    List(Rc<Vec<ScriptValue>>),
    Dictionary(Rc<Vec<(String, ScriptValue)>>),
    /// Of a library: `plt`, an axis of a plot, `True`.
    Object(String),
    /// Of the script's own, by its number.
    Function(usize),
}

#[derive(Clone, Debug, PartialEq)]
pub struct ScriptValue {
    pub is: ScriptKind,
    pub from: BTreeSet<ListSource>,
}

/// Deeper lists are none of figures.
const DEEPEST: usize = 12;
/// Longer texts and lists are not put together.
pub const LONGEST: usize = 10_000;
/// More values than any script of figures has in one.
const MOST_VALUES: usize = 20_000;

impl From<ScriptKind> for ScriptValue {
    fn from(is: ScriptKind) -> ScriptValue {
        ScriptValue { is, from: BTreeSet::new() }
    }
}

impl ScriptValue {
    pub fn unknown() -> ScriptValue {
        ScriptKind::Unknown.into()
    }

    pub fn text(text: impl Into<String>) -> ScriptValue {
        ScriptKind::Text(text.into()).into()
    }

    pub fn object(name: impl Into<String>) -> ScriptValue {
        ScriptKind::Object(name.into()).into()
    }

    pub fn list(all: Vec<ScriptValue>) -> ScriptValue {
        ScriptKind::List(all.into()).into()
    }

    pub fn truth(holds: Option<bool>) -> ScriptValue {
        holds.map_or(Self::unknown(), |holds| Self::object(if holds { "True" } else { "False" }))
    }

    pub fn is_object(&self, of: &str) -> bool {
        matches!(&self.is, ScriptKind::Object(name) if name == of)
    }

    /// The result of an operation on others.
    pub fn computed<'v>(is: ScriptKind, of: impl IntoIterator<Item = &'v ScriptValue>) -> ScriptValue {
        let from = of.into_iter().flat_map(ScriptValue::sources);
        ScriptValue { is, from: from.map(|source| ListSource { plain: false, ..source }).collect() }
    }

    pub fn number(&self) -> Option<f64> {
        if let ScriptKind::Number(text) = &self.is { text.parse().ok() } else { None }
    }

    /// As a cell of a table; a list is none.
    pub fn cell(&self) -> Option<&str> {
        match &self.is {
            ScriptKind::Number(text) | ScriptKind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Of a dictionary: `("A1", 64)` is both.
    pub fn key(&self) -> Option<String> {
        match &self.is {
            ScriptKind::List(all) => {
                let all: Option<Vec<&str>> = all.iter().map(ScriptValue::cell).collect();
                all.map(|all| all.join(", "))
            }
            _ => self.cell().map(String::from),
        }
    }

    /// The texts of it, or of a list.
    pub fn texts(&self) -> Vec<String> {
        let text = |value: &ScriptValue| match &value.is {
            ScriptKind::Text(text) => Some(text.clone()),
            _ => None,
        };
        match &self.is {
            ScriptKind::List(all) => all.iter().filter_map(text).collect(),
            _ => text(self).into_iter().collect(),
        }
    }

    pub fn holds(&self) -> Option<bool> {
        match &self.is {
            _ if self.is_object("True") => Some(true),
            _ if self.is_object("False") || self.is_object("None") => Some(false),
            ScriptKind::Number(_) => self.number().map(|number| number != 0.0),
            ScriptKind::Text(text) => Some(!text.is_empty()),
            ScriptKind::List(all) => Some(!all.is_empty()),
            ScriptKind::Dictionary(of) => Some(!of.is_empty()),
            _ => None,
        }
    }

    pub fn json(&self) -> serde_json::Value {
        match &self.is {
            ScriptKind::Number(number) => {
                number.parse::<f64>().map_or_else(|_| number.clone().into(), Into::into)
            }
            ScriptKind::Text(text) => text.clone().into(),
            ScriptKind::List(all) => all.iter().map(ScriptValue::json).collect(),
            ScriptKind::Dictionary(of) => of.iter().map(|(key, value)| (key.clone(), value.json())).collect(),
            _ => serde_json::Value::Null,
        }
    }

    pub fn inside(&self) -> Vec<&ScriptValue> {
        match &self.is {
            ScriptKind::List(all) => all.iter().collect(),
            ScriptKind::Dictionary(of) => of.iter().map(|(_, value)| value).collect(),
            _ => Vec::new(),
        }
    }

    /// Itself and all that it holds, up to so many.
    fn all(&self) -> Vec<&ScriptValue> {
        let mut all = vec![self];
        let mut at = 0;
        while at < all.len() && all.len() < MOST_VALUES {
            all.extend(all[at].inside());
            at += 1;
        }
        all
    }

    /// Lists in lists, more of them than figures are kept in: to let go of such takes a stack as deep.
    pub fn is_deep(&self) -> bool {
        let mut seen = BTreeSet::new();
        let mut left = vec![(self, 0)];
        while let Some((value, depth)) = left.pop() {
            let inside = value.inside();
            let Some(first) = inside.first() else { continue };
            if depth > DEEPEST || seen.len() > MOST_VALUES {
                return true;
            }
            // One list may be held many times.
            if seen.insert((std::ptr::from_ref(*first), depth)) {
                left.extend(inside.into_iter().map(|value| (value, depth + 1)));
            }
        }
        false
    }

    /// How much there is to look through.
    pub fn size(&self) -> usize {
        self.all().len()
    }

    /// Lists of the script that it holds or is computed of.
    pub fn sources(&self) -> BTreeSet<ListSource> {
        if self.from.iter().any(|source| source.plain) {
            return self.from.clone();
        }
        self.all().into_iter().flat_map(|value| value.from.iter().cloned()).collect()
    }

    /// A list or dictionary of numbers and texts alone, which is of no other list.
    pub fn is_plain(&self) -> bool {
        let plain = |value: &&ScriptValue| {
            value.from.is_empty()
                && !matches!(value.is, ScriptKind::Unknown | ScriptKind::Object(_) | ScriptKind::Function(_))
        };
        let all = self.all();
        !self.inside().is_empty() && all.len() < MOST_VALUES && all.iter().all(plain)
    }

    /// With each list in it told where it stands.
    pub fn named(self, name: &str, keys: &[ListKey]) -> ScriptValue {
        let inside = |key: ListKey, value: &ScriptValue| {
            let keys: Vec<ListKey> = keys.iter().cloned().chain([key]).collect();
            value.clone().named(name, &keys)
        };
        let is = match &self.is {
            ScriptKind::List(all) => {
                let of = |(at, value)| inside(ListKey::At(at, all.len()), value);
                ScriptKind::List(Rc::new(all.iter().enumerate().map(of).collect()))
            }
            ScriptKind::Dictionary(of) => {
                let of =
                    of.iter().map(|(key, value)| (key.clone(), inside(ListKey::Text(key.clone()), value)));
                ScriptKind::Dictionary(Rc::new(of.collect()))
            }
            _ => return self,
        };
        let source = ListSource { name: name.into(), keys: keys.to_vec(), plain: true, across: false };
        ScriptValue { is, from: [source].into() }
    }
}

/// Its first line of code imports something, in Python or R.
pub fn is_script(text: &str) -> bool {
    let mut docstring = false;
    let code = |line: &&str| {
        let marks = line.matches("\"\"\"").count();
        let inside = docstring || marks > 0;
        docstring ^= marks % 2 == 1;
        !inside && !line.is_empty() && !line.starts_with('#')
    };
    let first = text.lines().map(str::trim).find(code).unwrap_or_default();
    if first.starts_with("library(") || first.split_once(" <- ").is_some_and(|(name, _)| !name.contains(' '))
    {
        return true;
    }
    let rest = first.strip_prefix("import ").or(first.strip_prefix("from "));
    rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()) && !rest.contains('|'))
}
