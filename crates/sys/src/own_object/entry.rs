//! What an object says of each operation and way that it offers.

use serde::{Deserialize, Serialize};
use std::ffi::{CStr, c_char};

/// Bytes of a text: nobody reads more.
const LONGEST: usize = 400;
/// Entries of a list: nobody reads more.
pub const MOST: usize = 64;

/// What a piece of a user's code is, by the word of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnKind {
    Operation,
    /// A way to send.
    Mechanism,
    /// A way to receive.
    Receiver,
}

impl OwnKind {
    pub const ALL: [OwnKind; 3] = [OwnKind::Operation, OwnKind::Mechanism, OwnKind::Receiver];

    pub fn word(self) -> &'static str {
        match self {
            OwnKind::Operation => "operation",
            OwnKind::Mechanism => "mechanism",
            OwnKind::Receiver => "receiver",
        }
    }
}

/// One operation or way of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnEntry {
    /// What plans and records call it.
    pub name: String,
    /// What the object calls it.
    pub called: String,
    pub kind: OwnKind,
    pub summary: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub axes: Vec<OwnAxis>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnAxis {
    pub name: String,
    pub help: String,
    pub values: Vec<String>,
}

#[repr(C)]
pub struct RawAxis {
    name: *const c_char,
    help: *const c_char,
    values: *const *const c_char,
}

pub fn text(from: *const c_char, what: &str) -> Result<String, String> {
    if from.is_null() {
        return Err(format!("{what} is NULL"));
    }
    // SAFETY: not null, hence a C string by the header.
    let text = unsafe { CStr::from_ptr(from) }.to_str().map_err(|_| format!("{what} is not UTF-8"))?;
    let printable = text.len() <= LONGEST && !text.chars().any(char::is_control);
    if printable {
        Ok(text.into())
    } else {
        Err(format!("{what} is longer than {LONGEST} B or not one line"))
    }
}

pub fn axes(first: *const RawAxis, count: usize) -> Result<Vec<OwnAxis>, String> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if first.is_null() || count > MOST {
        return Err(format!("it counts {count} axes, and its list is NULL or longer than {MOST}"));
    }
    // SAFETY: not null, and the header declares so many entries.
    let all = unsafe { std::slice::from_raw_parts(first, count) };
    let axis = |raw: &RawAxis| {
        let (name, help) = (text(raw.name, "an axis's name")?, text(raw.help, "an axis's help")?);
        Ok(OwnAxis { values: values(raw.values, &name)?, name, help })
    };
    all.iter().map(axis).collect()
}

fn values(first: *const *const c_char, axis: &str) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    while !first.is_null() && all.len() <= MOST {
        // SAFETY: the header says that the list ends with NULL, which has not come yet.
        let value = unsafe { *first.add(all.len()) };
        if value.is_null() {
            break;
        }
        all.push(text(value, "a value")?);
    }
    let few = (1..=MOST).contains(&all.len());
    if few { Ok(all) } else { Err(format!("its axis {axis} has no value, or more than {MOST}")) }
}
