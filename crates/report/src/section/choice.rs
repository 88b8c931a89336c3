//! What to use: the answer at a few sizes, how much better it is, and how sure that is.

use super::{capital, plural};
use crate::material::Material;
use crate::{CellRef, Entry, Standing, Table};
use syscost_analyze::compare::study::{ALONG, Study};
use syscost_analyze::compare::winners::Sure;
use syscost_analyze::recommend::choice::{self, Choice, Gain, Namer};
use syscost_analyze::words::{self, Words};
use syscost_core::units::significant;

/// Rows of one table: it is to be read at once.
const ROWS: usize = 12;

/// One table for each metric that ranks.
pub fn tables(m: &Material) -> Vec<Table> {
    m.analysis.ways.iter().filter_map(|study| table(m, study)).collect()
}

fn table(m: &Material, study: &Study) -> Option<Table> {
    let metric = &study.comparisons.metric;
    let words = Words::of(m.run);
    let namer = Namer { run: m.run, words: &words };
    let choices = choice::choices(m.run, study);
    // Best of one is no answer.
    if !choices.iter().any(|c| c.sure != Sure::Alone) {
        return None;
    }
    let figure = |case: usize| m.analysis.cells.cell(case, metric.id).map(|cell| cell.estimate);
    let largest = choices.iter().filter_map(|c| Some(figure(c.best)?.value)).fold(0.0, f64::max);
    let (scale, unit) = metric.unit.scale_for(largest);
    let known = words.constant();
    let rows = choices.iter().take(ROWS).map(|choice| {
        let estimate = figure(choice.best).map_or(Entry::Missing, |estimate| Entry::Estimate {
            estimate,
            cell: Some(CellRef { case: choice.best, metric: metric.id }),
            standing: match choice.sure {
                Sure::Best => Standing::Best,
                Sure::Same => Standing::Same,
                Sure::Undecided => Standing::Undecided,
                Sure::Alone => Standing::None,
            },
        });
        // The size is what the row is looked up by, also where the run has one only.
        let known: Vec<&str> = known.iter().copied().filter(|id| *id != ALONG.id).collect();
        vec![
            Entry::Text(words.place(&choice.place, &known)),
            Entry::Text(namer.name(choice.best)),
            estimate,
            Entry::Text(over(&namer, choice.next.as_ref(), true)),
            Entry::Text(over(&namer, choice.plain.as_ref(), false)),
            Entry::Text(sure(&namer, choice)),
        ]
    });
    let columns =
        ["message", "use", unit.as_str(), "better than the next", "better than plain send", "how sure"];
    let left = choices.len().saturating_sub(ROWS);
    Some(Table {
        id: format!("use-{}", metric.id),
        title: format!("What to use for {}", metric.title),
        columns: columns.map(str::to_string).to_vec(),
        rows: rows.collect(),
        shown_in: Some((scale, unit.clone())),
        note: (left > 0).then(|| {
            format!("{} at other combinations: see the regions.", capital(&plural(left, "more answer")))
        }),
    })
}

fn over(namer: &Namer, gain: Option<&Gain>, named: bool) -> String {
    let Some(gain) = gain else { return "–".into() };
    let e = &gain.ratio;
    let factor = format!("{}x [{}, {}]", significant(e.value), significant(e.low), significant(e.high));
    match named {
        true => format!("{factor}: {}", namer.name(gain.over)),
        false => factor,
    }
}

fn sure(namer: &Namer, choice: &Choice) -> String {
    let rounds = words::count(choice.rounds as usize, "round");
    let others = || match choice.unbeaten.len() {
        1 => namer.names(&choice.unbeaten),
        // Named in the sentence above the table.
        others => format!("{others} others"),
    };
    match choice.sure {
        Sure::Best => format!("significant, {rounds}, {}", words::count(choice.ways, "way")),
        Sure::Same => format!("the same within 3 % as {}, {rounds}", others()),
        Sure::Undecided => {
            let time = choice.minutes_needed.map(|m| format!(": about {} more", words::minutes(m)));
            format!("undecided with {}{}, {rounds}", others(), time.unwrap_or_default())
        }
        Sure::Alone => "nothing to compare with".into(),
    }
}
