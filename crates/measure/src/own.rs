//! A user's own code: what its shared object offers, as data that plans and records hold, and the list of what is known
//! in this process.
//!
//! Only a worker opens the object, and the process that asks what is in it. Everybody else knows its description.

use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use std::sync::{PoisonError, RwLock};
use syscost_core::axis::{Axis, DefaultValues, IntAxis, Kind, NameAxis, Point};
use syscost_sys::own_object::OwnLibrary;
pub use syscost_sys::own_object::{OwnAxis, OwnEntry, OwnKind};
use syscost_sys::program;

/// The prefix of a program's command among the values of `--mechanism`.
pub const PROGRAM: &str = "program:";

/// A shared object or a program, as `run.json` describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnObject {
    /// Absolute.
    pub path: String,
    /// The words of a program that waits for turns; none: it is a shared object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// SHA-256 of the file; for a program, of every file that its command names.
    pub sha256: String,
    /// Of its linker; `None`: it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    pub codes: Vec<OwnEntry>,
}

impl OwnObject {
    pub fn is_program(&self) -> bool {
        !self.command.is_empty()
    }

    /// A program's file and its words, in a worker; refuses another file than the one that was described.
    pub fn words(&self) -> Result<Vec<String>, String> {
        self.is_unchanged()?;
        Ok([std::slice::from_ref(&self.path), &self.command[1..]].concat())
    }

    /// As the command line names it.
    pub fn asked(&self) -> String {
        let words = self.command.get(1..).unwrap_or_default().iter();
        let words: String = words.map(|word| format!(" {word}")).collect();
        format!("{}{}{words}", if self.is_program() { PROGRAM } else { "" }, self.path)
    }

    /// What its files hold: an interpreter and a script are two.
    pub fn digest(&self) -> io::Result<String> {
        let mut whole = program::sha256_of(self.path.as_ref())?;
        for word in self.command.iter().skip(1).filter(|word| Path::new(word).is_file()) {
            whole = program::sha256_of_text(&(whole + &program::sha256_of(word.as_ref())?));
        }
        Ok(whole)
    }

    /// Is the file what it was when it was described?
    pub fn is_unchanged(&self) -> Result<(), String> {
        match self.digest() {
            Ok(now) if now == self.sha256 => Ok(()),
            Ok(_) => Err(format!(
                "{} is not the file that the run began with (its SHA-256 was {}..): figures of both would be mixed; another \
                 build is a run of its own",
                self.path,
                self.sha256.get(..12).unwrap_or(&self.sha256)
            )),
            Err(error) => Err(format!("{} cannot be read: {error}", self.path)),
        }
    }
}

/// Code that is known in this process, for the rest of its life.
#[derive(Debug)]
pub struct OwnCode {
    pub object: &'static OwnObject,
    pub entry: &'static OwnEntry,
    pub axes: &'static [Axis],
}

impl OwnCode {
    pub fn name(&self) -> &'static str {
        &self.entry.name
    }

    /// Opens the object, in a worker; refuses another file than the one that was described.
    pub fn open(&self) -> Result<OwnLibrary, String> {
        self.object.is_unchanged()?;
        OwnLibrary::open(&self.object.path).map_err(|why| format!("{}: {why}", self.object.path))
    }

    /// What its own axes say at this point.
    pub fn settings(&self, point: &Point) -> Vec<(String, String)> {
        let said = |axis: &Axis| Some((axis.id.to_string(), point.get(axis.id)?.to_string()));
        self.axes.iter().filter_map(said).collect()
    }

    /// `your mechanism mine (/home/me/mine.so)`
    pub fn told(&self) -> String {
        format!("your {} {} ({})", self.entry.kind.word(), self.entry.name, self.object.asked())
    }
}

static KNOWN: RwLock<Vec<&'static OwnCode>> = RwLock::new(Vec::new());

/// Makes everything of these objects known. Of two of one name the first stays: a comparison reads runs of several builds.
pub fn register(objects: &[OwnObject]) {
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    for object in objects {
        let is_new = |entry: &OwnEntry| !known.iter().any(|code| is(code, entry.kind, &entry.name));
        if object.codes.iter().any(is_new) {
            let object: &'static OwnObject = Box::leak(Box::new(object.clone()));
            for entry in &object.codes {
                if !known.iter().any(|code| is(code, entry.kind, &entry.name)) {
                    let axes = entry.axes.iter().map(axis_of).collect::<Vec<_>>().leak();
                    known.push(Box::leak(Box::new(OwnCode { object, entry, axes })));
                }
            }
        }
    }
}

fn is(code: &OwnCode, kind: OwnKind, name: &str) -> bool {
    code.entry.kind == kind && code.entry.name == name
}

pub fn all(kind: OwnKind) -> Vec<&'static OwnCode> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    known.iter().copied().filter(|code| code.entry.kind == kind).collect()
}

pub fn find(kind: OwnKind, name: &str) -> Option<&'static OwnCode> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    known.iter().copied().find(|code| is(code, kind, name))
}

/// Numbers where all values are, else names.
fn axis_of(own: &'static OwnAxis) -> Axis {
    let numbers: Option<Vec<u64>> = own.values.iter().map(|value| value.parse().ok()).collect();
    let axis = match numbers {
        Some(numbers) if !numbers.is_empty() => {
            let ends = numbers.iter().copied().fold((u64::MAX, 0), |(a, b), n| (a.min(n), b.max(n)));
            let axis = IntAxis { id: &own.name }.count(ends.0, ends.1);
            axis.default_on(DefaultValues::Ints(numbers.leak()))
        }
        _ => {
            let names: &'static [&'static str] =
                own.values.iter().map(String::as_str).collect::<Vec<_>>().leak();
            NameAxis { id: &own.name }.of_kind(Kind::Listed(names))
        }
    };
    let flag: &'static str = own.name.replace('_', "-").leak();
    axis.flag(flag, &own.name).help(&own.help)
}

/// A mechanism of no file, with one axis.
#[cfg(test)]
pub fn fixture(name: &str, values: &[&str]) -> OwnObject {
    let values = values.iter().map(|value| value.to_string()).collect();
    let axes = vec![OwnAxis { name: "own_depth".into(), help: "how deep".into(), values }];
    let (name, called, kind) = (name.to_string(), name.to_string(), OwnKind::Mechanism);
    let codes = vec![OwnEntry { name, called, kind, summary: "sends".into(), axes }];
    let path = "/nowhere/mine.so".into();
    OwnObject { path, command: Vec::new(), sha256: "00".repeat(32), build_id: None, codes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_core::axis::Value;

    #[test]
    fn what_is_described_is_known_with_its_axes_and_never_opened() {
        register(&[fixture("own_test_numbers", &["1", "16"]), fixture("own_test_names", &["fast", "16"])]);
        let numbers = find(OwnKind::Mechanism, "own_test_numbers").unwrap();
        assert_eq!(numbers.axes[0].default(), [Value::Int(1), Value::Int(16)]);
        assert!(numbers.axes[0].parse("17").is_err());
        let names = find(OwnKind::Mechanism, "own_test_names").unwrap().axes[0];
        assert_eq!(names.default(), [Value::text("fast"), Value::text("16")]);
        assert_eq!((names.flag, names.parse("fast")), ("own-depth", Ok(Value::text("fast"))));
        assert!(names.parse("slow").unwrap_err().to_string().contains("fast"));
        assert!(find(OwnKind::Operation, "own_test_names").is_none());
        let mut point = Point::default();
        point.set("own_depth", Value::Int(16));
        assert_eq!(numbers.settings(&point), [("own_depth".to_string(), "16".to_string())]);
        let refused = numbers.open().err().unwrap();
        assert!(refused.contains("/nowhere/mine.so cannot be read"), "{refused}");
    }
}
