//! The child process that opens a user's object, says what is in it, and ends: its initialisers run here and in workers,
//! and nowhere else.

use super::protocol;
use crate::own::OwnEntry;
use serde::{Deserialize, Serialize};
use syscost_sys::own_object::OwnLibrary;
use syscost_sys::{capability, optional, process};

/// The hidden subcommand that makes this binary such a process; the object's path follows it.
pub const SUBCOMMAND: &str = "describe-object";

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum ObjectSays {
    Offers { codes: Vec<OwnEntry> },
    Refused { why: String },
}

pub fn main() -> i32 {
    process::die_with_parent();
    optional::SET_RIGHTS.tried(capability::keep_only([].into_iter().collect()));
    let Ok(mut line) = process::keep_output_apart() else { return 1 };
    let path = std::env::args().nth(2).unwrap_or_default();
    let says = match OwnLibrary::open(&path).and_then(|library| library.offered()) {
        Ok(codes) => ObjectSays::Offers { codes },
        Err(why) => ObjectSays::Refused { why },
    };
    i32::from(protocol::write(&mut line, &says).is_err())
}
