//! What to use as a table: a row for each range of sizes, by what a reader has to send.

use super::plural;
use crate::material::Material;
use crate::text::recommendation::AdviceRow;
use crate::text::recommendation::rows;
use crate::{Entry, Table};
use syscost_analyze::compare::study::ALONG;

/// It is to be read at once.
const ROWS: usize = 16;

/// `None`: nothing competes.
pub fn table(m: &Material) -> Option<Table> {
    let rows = rows(m.run, &m.analysis.recommendation, ALONG.id);
    let left = rows.len().saturating_sub(ROWS);
    let entries = |row: &AdviceRow| {
        let AdviceRow { payload, place, way, cost, gain, sure } = row;
        [payload, place, way, cost, gain, sure].map(|text| Entry::Text(text.clone())).to_vec()
    };
    let columns = ["what you send", "where", "use", "us a message", "how much better", "how sure"];
    (!rows.is_empty()).then(|| Table {
        id: "use".into(),
        title: "What to use".into(),
        columns: columns.map(str::to_string).to_vec(),
        rows: rows.iter().take(ROWS).map(entries).collect(),
        shown_in: None,
        note: (left > 0).then(|| format!("findings.json has {}.", plural(left, "more row"))),
    })
}
