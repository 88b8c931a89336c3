//! What makes lists of lists: comprehensions, `[2 ** i for i in range(6, 12)]`, parts, functions that take functions, and
//! lists that grow.

use super::script_builtin::{self, ScriptArguments, ScriptPlace};
use super::script_run::ScriptEvaluation;
use super::script_syntax::{Clause, Expression};
use super::script_value::{LONGEST, ScriptKind, ScriptValue};
use std::collections::BTreeSet;
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

    /// A part of a flattened list, `a1[1::2]`, is a list of its own.
    pub fn part(&mut self, of: &ScriptValue, at: &[ScriptPlace], part: ScriptValue) -> ScriptValue {
        let (Some(source), [Err(slice)]) = (of.from.first().filter(|source| source.plain), at) else {
            return part;
        };
        let bare = ScriptValue { from: BTreeSet::new(), ..part.clone() };
        let line = self.out.assigned.iter().rfind(|known| known.name == source.name).map(|known| known.line);
        let (Some(line), true) = (line, source.keys.is_empty() && part.from != of.from) else { return part };
        let bounds = slice.iter().map(|bound| bound.as_ref().and_then(ScriptValue::cell).unwrap_or_default());
        let name = format!("{}[{}]", source.name, bounds.collect::<Vec<_>>().join(":"));
        if bare.is_plain() { self.assigned(line, &name, &[], bare) } else { part }
    }

    /// `*points` are all of them; `**style` are no figures.
    pub fn spread(&mut self, of: &'s Expression) -> Vec<ScriptValue> {
        match of {
            Expression::Operation("**", one) if one.len() == 1 => Vec::new(),
            Expression::Operation("*", one) if one.len() == 1 => {
                let all = self.value(&one[0]);
                if is_known(&all) { script_builtin::items(&all, None) } else { vec![all] }
            }
            of => vec![self.value(of)],
        }
    }

    /// `map(f, list)`, `filter(f, list)`, `sorted(list, key=f)`
    pub fn by_function(&mut self, name: &str, arguments: ScriptArguments) -> Option<ScriptValue> {
        let all = match (name, arguments) {
            ("map", [(_, function), (_, of)]) if is_known(of) => {
                script_builtin::items(of, None).into_iter().map(|one| self.of_one(function, one)).collect()
            }
            ("filter", [(_, function), (_, of)]) if is_known(of) => {
                let mut all = script_builtin::items(of, None);
                all.retain(|one| self.of_one(function, one.clone()).holds() != Some(false));
                all
            }
            ("sorted", [(_, of), how @ ..]) if is_known(of) => return Some(self.sorted(of, how)),
            _ => return None,
        };
        Some(ScriptValue::list(all))
    }

    fn of_one(&mut self, function: &ScriptValue, one: ScriptValue) -> ScriptValue {
        match &function.is {
            ScriptKind::Function(at) => self.call(*at, &[(None, one)]),
            ScriptKind::Object(name) if name == "None" => one,
            ScriptKind::Object(name) => {
                script_builtin::function(name, &[(None, one)]).unwrap_or(ScriptValue::unknown())
            }
            _ => ScriptValue::unknown(),
        }
    }

    fn sorted(&mut self, of: &ScriptValue, how: ScriptArguments) -> ScriptValue {
        let said = |word: &str| how.iter().find(|(name, _)| *name == Some(word)).map(|(_, value)| value);
        let mut all = Vec::new();
        for one in script_builtin::items(of, None) {
            let by = said("key").map_or(one.clone(), |function| self.of_one(function, one.clone()));
            all.push((script_builtin::sort_key(&by), one));
        }
        let reverse = said("reverse").map_or(Some(false), ScriptValue::holds);
        let (Some(reverse), true) = (reverse, all.iter().all(|(by, _)| by.is_some())) else {
            return ScriptValue::computed(ScriptKind::Unknown, [of]);
        };
        all.sort_by(|(one, _), (other, _)| if reverse { other.cmp(one) } else { one.cmp(other) });
        ScriptValue::list(all.into_iter().map(|(_, one)| one).collect())
    }

    /// `rates.append(2.5)`, `all["A1"].extend(rates)`; `None`: this is no list that grows.
    pub fn grow(&mut self, list: &'s Expression, method: &str, arguments: ScriptArguments) -> Option<()> {
        let [(None, more)] = arguments else { return None };
        if !["append", "extend"].contains(&method) {
            return None;
        }
        let mut keys = Vec::new();
        let name = self.keys_to(list, &mut keys)?;
        let known = self.value(list);
        let holder = self.get(name)?;
        let mut all = match &known.is {
            ScriptKind::List(_) => script_builtin::items(&known, None),
            // A `defaultdict` makes one.
            ScriptKind::Unknown if !keys.is_empty() && matches!(holder.is, ScriptKind::Dictionary(_)) => {
                Vec::new()
            }
            _ => return None,
        };
        match method {
            "append" => all.push(more.clone()),
            _ => all.extend(script_builtin::items(more, None)),
        }
        self.charge(&all);
        let grown = if all.len() > LONGEST { ScriptValue::unknown() } else { ScriptValue::list(all) };
        self.put(name, &keys, grown);
        Some(())
    }
}

/// Does a loop over it give all that it holds?
fn is_known(of: &ScriptValue) -> bool {
    matches!(of.is, ScriptKind::List(_) | ScriptKind::Dictionary(_))
}
