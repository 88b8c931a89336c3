//! How a run ends on a terminal: whether to believe it, then the numbers that were asked for.

mod cases;
pub mod figure;
mod latency;
mod operations;

use crate::Statement;
use crate::material::Material;

/// What a terminal shows, before it is laid out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ending {
    /// The first line.
    pub trust: String,
    /// What to use, where ways were compared; then how latency changes, and what another placement would change.
    pub answer: Vec<String>,
    /// The most wanted first.
    pub tables: Vec<EndTable>,
    /// What the run left out, and the command that measures it.
    pub left_out: Vec<String>,
}

/// Rows of text; the first column is a name, the others are figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EndTable {
    /// Of a table whose columns alone do not say what it shows.
    pub title: Option<String>,
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
    pub note: Option<String>,
}

/// Sentences of the answer where there are only rows of operations.
const OF_ROWS: usize = 2;

pub fn ending(m: &Material, verdict: &[Statement]) -> Ending {
    let mut tables = cases::tables(m);
    tables.extend(latency::tables(m));
    tables.extend(operations::table(m));
    if tables.is_empty() {
        tables = cases::single(m);
    }
    // Of an emulated machine no figure of a transfer is left.
    let has_figures = |row: &Vec<String>| row[1..].iter().any(|entry| entry != "-");
    tables.retain(|table| table.rows.iter().any(has_figures));
    let analysis = m.analysis;
    let compared = analysis.studies.iter().any(|study| !study.comparisons.pairs.is_empty());
    let of_layers =
        analysis.answers.iter().any(|answer| answer.question == super::LAYERS && answer.lacks.is_none());
    let answers =
        compared || of_layers || !analysis.latency.cases.is_empty() || !analysis.operations.is_empty();
    // Of rows that nobody compares: what is dear, and what would change it.
    let dear = if compared { Vec::new() } else { super::dear(m) };
    let told = dear.iter().take(OF_ROWS).chain(verdict.iter().take(usize::from(dear.is_empty())));
    let told: Vec<&str> = told.map(|statement| statement.text.as_str()).collect();
    let answer = (answers && !told.is_empty()).then(|| told.join(" "));
    let joined = |said: Vec<Statement>| {
        let said: Vec<String> = said.into_iter().map(|statement| statement.text).collect();
        (!said.is_empty()).then(|| said.join(" "))
    };
    let own = joined(super::own_operations::opening(m));
    let answer = answer.filter(|said| own.as_ref().is_none_or(|own| !own.contains(said)));
    let changes = joined(super::latency_along::opening(m));
    let placement = super::placement::statement(m);
    Ending {
        trust: super::trust::headline(&analysis.trust),
        answer: own
            .into_iter()
            .chain(answer)
            .chain(changes)
            .chain(placement.into_iter().chain(super::beside_tcp::statements(m)).map(|said| said.text))
            .collect(),
        tables,
        left_out: [super::late::late_sentence(m), super::late::no_time(m), super::rulers::left_out(m.run)]
            .into_iter()
            .flatten()
            .collect(),
    }
}
