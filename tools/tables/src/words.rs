//! The words of `words.toml`, read once.

use super::TableColumn;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

#[derive(Deserialize)]
pub struct TableWords {
    pub columns: BTreeMap<TableColumn, Vec<String>>,
    pub roles: BTreeMap<String, Vec<String>>,
    /// Words of other languages by what they are in English.
    pub english: BTreeMap<String, Vec<String>>,
}

pub static WORDS: LazyLock<TableWords> =
    LazyLock::new(|| toml::from_str(include_str!("words.toml")).expect("a test reads it"));
