//! Text of strangers, and what has to hold whatever is in it: one file a parser.
//!
//! A target panics where a promise is broken, and says otherwise whether it understood the bytes. Two
//! things drive them: libFuzzer (`fuzz/run`), and the tests, which change the same corpus by a fixed seed
//! (`tests/live/reliability/hostile_files.rs`). Each has a folder of its name in `fuzz/corpus`.

mod fleet;
mod frames;
mod guest;
mod agent;
mod group;
mod path;
mod record;
mod samples;
mod spec;
mod table;

use std::path::Path;

/// Looks at these bytes, with a directory for the files that it wants to make of them.
pub type Look = fn(&[u8], &Path) -> Seen;

/// What the parser said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    Understood,
    Refused,
}

impl Seen {
    fn of(understood: bool) -> Seen {
        if understood { Seen::Understood } else { Seen::Refused }
    }
}

/// Several files in one text: what follows such a line is the next one.
const SAMPLES_FOLLOW: &[u8] = b"--- samples.csv\n";
const HISTOGRAMS_FOLLOW: &[u8] = b"--- histograms.csv\n";
const SLICES_FOLLOW: &[u8] = b"--- slices.csv\n";

/// What is before the line, and what is behind it where it is there.
fn cut<'a>(bytes: &'a [u8], line: &[u8]) -> (&'a [u8], Option<&'a [u8]>) {
    match bytes.windows(line.len()).position(|window| window == line) {
        Some(at) => (&bytes[..at], Some(&bytes[at + line.len()..])),
        None => (bytes, None),
    }
}

pub const ALL: &[(&str, Look)] = &[
    ("fleet", fleet::look),
    ("frames", frames::look),
    ("guest", guest::look),
    ("agent", agent::look),
    ("group", group::look),
    ("path", path::look),
    ("record", record::look),
    ("samples", samples::look),
    ("spec", spec::look),
    ("table", table::look),
];
