//! The machine, as the run recorded it.

use super::unless_empty;
use crate::report::build::Material;
use crate::report::{Block, Entry, Section, Table};

pub fn section(m: &Material) -> Option<Section> {
    let facts = &m.run.record.host;
    let known = facts.iter().filter_map(|f| {
        let value = f.value.as_ref()?;
        Some(vec![Entry::Text(f.title.clone()), Entry::Text(value.clone()), Entry::Text(f.source.clone())])
    });
    let unknown: Vec<&str> = facts.iter().filter(|f| f.value.is_none()).map(|f| f.title.as_str()).collect();
    let table = Table {
        id: "host".into(),
        columns: ["", "value", "read from"].map(String::from).to_vec(),
        rows: known.collect(),
        note: (!unknown.is_empty()).then(|| format!("This machine does not say: {}.", unknown.join(", "))),
        ..Table::default()
    };
    let blocks = if facts.is_empty() { Vec::new() } else { vec![Block::Table(table)] };
    unless_empty("machine", "The machine", "Machine", blocks)
}
