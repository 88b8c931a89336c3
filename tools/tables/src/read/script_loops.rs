//! What a comprehension makes: `[2 ** i for i in range(6, 12)]`.

use super::script_builtin;
use super::script_run::ScriptEvaluation;
use super::script_syntax::{Clause, Expression};
use super::script_value::{LONGEST, ScriptKind, ScriptValue};
use std::rc::Rc;

impl<'s> ScriptEvaluation<'s> {
    /// What a comprehension makes: of lists of figures it is computed.
    pub fn looped(&mut self, item: &'s [Expression], clauses: &'s [Clause]) -> ScriptValue {
        let mut rows = Vec::new();
        let mut over = Vec::new();
        self.clauses(item, clauses, &mut rows, &mut over);
        // What is of a list itself says more than what it is made along.
        if rows
            .iter()
            .flatten()
            .any(|value| value.from.iter().any(|source| source.name != script_builtin::COUNTED))
        {
            over.clear();
        }
        // `2 ** n` of numbers that are counted is as good as written; the numbers alone are places.
        if !matches!(item, [Expression::Name(_)]) {
            let all = rows.iter_mut().flatten().chain(&mut over);
            all.for_each(|value| value.from.retain(|source| source.name != script_builtin::COUNTED));
        }
        let is = match item {
            [_] => ScriptKind::List(Rc::new(rows.into_iter().flatten().collect())),
            _ => {
                let pair =
                    |row: Vec<ScriptValue>| Some((row.first()?.cell()?.to_string(), row.get(1)?.clone()));
                ScriptKind::Dictionary(Rc::new(rows.into_iter().filter_map(pair).collect()))
            }
        };
        ScriptValue::computed(is, &over)
    }

    fn clauses(
        &mut self,
        item: &'s [Expression],
        clauses: &'s [Clause],
        rows: &mut Vec<Vec<ScriptValue>>,
        over: &mut Vec<ScriptValue>,
    ) {
        if self.is_over() || rows.len() > LONGEST {
            return;
        }
        match clauses {
            [] => rows.push(item.iter().map(|one| self.value(one)).collect()),
            [Clause::If(condition), rest @ ..] => {
                if self.value(condition).holds() != Some(false) {
                    self.clauses(item, rest, rows, over);
                }
            }
            [Clause::For(target, list), rest @ ..] => {
                let list = self.value(list);
                for one in script_builtin::items(&list, None) {
                    self.bind(0, target, one);
                    self.clauses(item, rest, rows, over);
                }
                if over.len() < clauses.len() {
                    // What it holds is drawn itself, where it is.
                    over.push(ScriptValue { is: ScriptKind::Unknown, from: list.from });
                }
            }
        }
    }
}
