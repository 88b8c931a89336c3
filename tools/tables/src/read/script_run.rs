//! A script, evaluated as far as its lists and what it draws go. Nothing of it is run: no file is opened, no library is
//! called. What is not known (a file's contents, a call of a library) stays unknown, and both ways of a condition that
//! hangs on it are gone.

use super::script_syntax::{Expression, ScriptStatement, Subscript, parse};
use super::script_value::{ListKey, ListSource, ScriptKind, ScriptValue};
use super::{curves, script_builtin};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A variable and its plain value.
pub struct ScriptAssignment {
    /// From 1.
    pub line: usize,
    pub name: String,
    pub value: ScriptValue,
}

pub struct ScriptArgument {
    pub keyword: Option<String>,
    pub value: ScriptValue,
    pub texts: Vec<String>,
    pub from: BTreeSet<ListSource>,
}

/// A call of a library's function.
pub struct ScriptCall {
    /// Which call it is, from 0.
    pub number: usize,
    /// `plt.plot`
    pub name: String,
    pub arguments: Vec<ScriptArgument>,
}

/// More than any script that draws takes.
const MOST_STEPS: usize = 100_000;
const VALUES_A_STEP: usize = 8;
const MOST_CALLS: usize = 4000;
const MOST_ASSIGNMENTS: usize = 2000;
const DEEPEST_CALL: usize = 8;
#[derive(Default)]
pub struct ScriptRun {
    pub assigned: Vec<ScriptAssignment>,
    pub calls: Vec<ScriptCall>,
}

struct Function<'s> {
    parameters: &'s [(String, Option<Expression>)],
    body: &'s [ScriptStatement],
    called: bool,
}

pub struct ScriptEvaluation<'s> {
    pub out: ScriptRun,
    /// The whole script's first, that of the function that runs last.
    scopes: Vec<BTreeMap<String, ScriptValue>>,
    functions: Vec<Function<'s>>,
    seen: BTreeSet<(usize, String)>,
    steps: usize,
}

pub fn run(text: &str) -> ScriptRun {
    let statements = parse(text);
    let mut run = ScriptEvaluation {
        out: ScriptRun::default(),
        scopes: vec![BTreeMap::new()],
        functions: Vec::new(),
        seen: BTreeSet::new(),
        steps: 0,
    };
    run.block(&statements);
    // What nothing calls, as in a class or behind what is unknown.
    let mut at = 0;
    while at < run.functions.len() {
        if !run.functions[at].called {
            run.call(at, &[]);
        }
        at += 1;
    }
    run.out
}

impl<'s> ScriptEvaluation<'s> {
    pub fn is_over(&mut self) -> bool {
        self.steps += 1;
        self.steps > MOST_STEPS
    }

    /// To look through a long list takes longer.
    pub fn charge(&mut self, of: &[ScriptValue]) {
        self.steps += of.iter().map(ScriptValue::size).sum::<usize>() / VALUES_A_STEP;
    }

    /// What it returns, where it does.
    fn block(&mut self, statements: &'s [ScriptStatement]) -> Option<ScriptValue> {
        statements.iter().find_map(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &'s ScriptStatement) -> Option<ScriptValue> {
        if self.is_over() {
            return None;
        }
        match statement {
            ScriptStatement::Assign(line, targets, value) => {
                let value = self.value(value);
                targets.iter().for_each(|target| self.bind(*line, target, value.clone()));
                None
            }
            ScriptStatement::Run(of) => {
                self.value(of);
                None
            }
            ScriptStatement::For(target, over, body) => {
                let over = self.value(over);
                let items = script_builtin::items(&over, None);
                let mut returned = items.into_iter().filter_map(|item| {
                    self.bind(0, target, item);
                    self.block(body).filter(|of| !of.is_object("continue"))
                });
                returned.next().filter(|of| !of.is_object("break"))
            }
            ScriptStatement::If(branches) => self.branches(branches),
            ScriptStatement::Function(name, parameters, body) => {
                let at = self.functions.len();
                self.functions.push(Function { parameters, body, called: false });
                self.set(name, ScriptKind::Function(at).into());
                None
            }
            ScriptStatement::Return(of) => Some(self.value(of)),
            ScriptStatement::Block(body) => self.block(body),
        }
    }

    /// The one that holds; where that is not known, all that may.
    fn branches(&mut self, branches: &'s [(Expression, Vec<ScriptStatement>)]) -> Option<ScriptValue> {
        let mut certain = true;
        for (condition, body) in branches {
            match self.value(condition).holds() {
                Some(false) => {}
                Some(true) => return self.block(body).filter(|_| certain),
                None => {
                    certain = false;
                    self.block(body);
                }
            }
        }
        None
    }

    fn set(&mut self, name: &str, value: ScriptValue) {
        self.set_in(self.scopes.len() - 1, name, value);
    }

    fn set_in(&mut self, scope: usize, name: &str, value: ScriptValue) {
        let value = if value.is_deep() { ScriptValue::unknown() } else { value };
        self.scopes[scope].insert(name.into(), value);
    }

    /// Its own, the whole script's, or that of a function around it.
    fn scope_of(&self, name: &str) -> Option<usize> {
        let last = self.scopes.len() - 1;
        [last, 0].into_iter().chain((1..last).rev()).find(|at| self.scopes[*at].contains_key(name))
    }

    pub fn get(&self, name: &str) -> Option<&ScriptValue> {
        self.scopes[self.scope_of(name)?].get(name)
    }

    /// `whole[keys] = value`
    pub fn put(&mut self, name: &str, keys: &[String], value: ScriptValue) {
        let scope = self.scope_of(name).unwrap_or(self.scopes.len() - 1);
        let mut whole = self.scopes[scope].remove(name).unwrap_or(ScriptValue::unknown());
        script_builtin::put(&mut whole, keys, value);
        self.set_in(scope, name, whole);
    }

    pub fn bind(&mut self, line: usize, target: &'s Expression, value: ScriptValue) {
        match target {
            Expression::Name(name) => {
                let value = self.assigned(line, name, &[], value);
                self.set(name, value);
            }
            Expression::Attribute(_, name) => {
                let value = self.assigned(line, name, &[], value);
                self.set(&format!(".{name}"), value);
            }
            Expression::List(all) => {
                let items = script_builtin::items(&value, Some(all.len()));
                all.iter().zip(items).for_each(|(target, item)| self.bind(line, target, item));
            }
            Expression::Index(..) => {
                let mut keys = Vec::new();
                if let Some(name) = self.keys_to(target, &mut keys) {
                    let path: Vec<ListKey> = keys.iter().cloned().map(ListKey::Text).collect();
                    let value = self.assigned(line, name, &path, value);
                    self.put(name, &keys, value);
                }
            }
            _ => {}
        }
    }

    /// The variable and the texts that lead into it: `data["A1"]["gbps"]`.
    pub fn keys_to(&mut self, of: &'s Expression, keys: &mut Vec<String>) -> Option<&'s str> {
        match of {
            Expression::Name(name) => Some(name),
            Expression::Index(base, at) => {
                let name = self.keys_to(base, keys)?;
                let [Subscript::One(key)] = &at[..] else { return None };
                keys.push(self.value(key).cell()?.to_string());
                Some(name)
            }
            _ => None,
        }
    }

    /// A plain list gets the name of its variable; it is read where it stands first.
    pub fn assigned(&mut self, line: usize, name: &str, keys: &[ListKey], value: ScriptValue) -> ScriptValue {
        if line == 0 || !value.is_plain() {
            return value;
        }
        let value = value.named(name, keys);
        let path = keys.iter().map(|key| format!("{key:?}")).collect::<String>();
        if self.out.assigned.len() < MOST_ASSIGNMENTS && self.seen.insert((line, format!("{name}{path}"))) {
            let outer = keys.iter().rev().fold(value.clone(), |value, key| match key {
                ListKey::Text(key) => ScriptKind::Dictionary(Rc::new(vec![(key.clone(), value)])).into(),
                ListKey::At(..) => value,
            });
            self.out.assigned.push(ScriptAssignment { line, name: name.into(), value: outer });
        }
        value
    }

    pub fn value(&mut self, of: &'s Expression) -> ScriptValue {
        if self.is_over() {
            return ScriptValue::unknown();
        }
        match of {
            Expression::Number(number) => script_builtin::number_as_written(number),
            Expression::Text(text) => ScriptValue::text(text),
            Expression::Pieces(all) => {
                let all: Vec<ScriptValue> = all.iter().map(|piece| self.value(piece)).collect();
                ScriptValue::text(all.iter().filter_map(ScriptValue::cell).collect::<String>())
            }
            Expression::Name(name) if name == "__name__" => ScriptValue::text("__main__"),
            Expression::Name(name) => self.get(name).cloned().unwrap_or_else(|| ScriptValue::object(name)),
            Expression::List(all) => ScriptValue::list(all.iter().flat_map(|one| self.spread(one)).collect()),
            Expression::Lambda(parameters, body) => {
                self.functions.push(Function { parameters, body, called: true });
                ScriptKind::Function(self.functions.len() - 1).into()
            }
            Expression::Dictionary(of) => self.dictionary(of),
            Expression::Attribute(of, name) => self.attribute(of, name),
            Expression::Index(of, at) => {
                let of = self.value(of);
                let at: Vec<script_builtin::ScriptPlace> = at.iter().map(|at| self.subscript(at)).collect();
                let found = script_builtin::index(&of, &at);
                self.part(&of, &at, found)
            }
            Expression::Call(of, arguments) => self.called(of, arguments),
            Expression::Operation("if", of) => match self.value(&of[0]).holds() {
                Some(holds) => self.value(&of[if holds { 1 } else { 2 }]),
                None => {
                    let both = [self.value(&of[1]), self.value(&of[2])];
                    ScriptValue::computed(ScriptKind::Unknown, &both)
                }
            },
            Expression::Operation(sign, parts) => {
                let of: Vec<ScriptValue> = parts.iter().map(|one| self.value(one)).collect();
                self.charge(&of);
                let joined = is_written(parts).then(|| script_builtin::joined(sign, &of)).flatten();
                joined.unwrap_or_else(|| script_builtin::operation(sign, &of))
            }
            Expression::Loop(item, clauses) => self.looped(item, clauses),
            Expression::Unknown => ScriptValue::unknown(),
        }
    }

    fn subscript(&mut self, at: &'s Subscript) -> script_builtin::ScriptPlace {
        match at {
            Subscript::One(at) => Ok(self.value(at)),
            Subscript::Slice(parts) => {
                Err(parts.iter().map(|part| part.as_ref().map(|part| self.value(part))).collect())
            }
        }
    }

    fn dictionary(&mut self, of: &'s [(Expression, Expression)]) -> ScriptValue {
        let mut all = Vec::new();
        for (key, value) in of {
            let Some(key) = self.value(key).key() else { return ScriptValue::unknown() };
            all.push((key, self.value(value)));
        }
        ScriptKind::Dictionary(all.into()).into()
    }

    fn attribute(&mut self, of: &'s Expression, name: &str) -> ScriptValue {
        let of = self.value(of);
        match &of.is {
            ScriptKind::Object(path) => {
                let own = self.get(&format!(".{name}")).cloned();
                // Axes in one row or another are the same axes.
                let same = ["flat", "T", "values"].contains(&name);
                own.unwrap_or_else(|| {
                    if same { of.clone() } else { ScriptValue::object(format!("{path}.{name}")) }
                })
            }
            ScriptKind::Unknown => self
                .get(&format!(".{name}"))
                .cloned()
                .unwrap_or(ScriptValue::computed(ScriptKind::Unknown, [&of])),
            _ => ScriptValue::computed(ScriptKind::Unknown, [&of]),
        }
    }

    fn called(&mut self, of: &'s Expression, arguments: &'s [(Option<String>, Expression)]) -> ScriptValue {
        let spread = arguments.iter().flat_map(|(name, value)| {
            let all = self.spread(value).into_iter();
            all.map(|value| (name.as_deref(), value)).collect::<Vec<_>>()
        });
        let arguments: Vec<(Option<&str>, ScriptValue)> = spread.collect();
        arguments.iter().for_each(|(_, value)| self.charge(std::slice::from_ref(value)));
        if let Expression::Attribute(base, method) = of {
            if self.grow(base, method, &arguments).is_some() {
                return ScriptValue::unknown();
            }
            let base = self.value(base);
            // A function of its own, of a class.
            let own =
                matches!(base.is, ScriptKind::Object(_) | ScriptKind::Unknown).then(|| self.get(method));
            if let Some(ScriptKind::Function(at)) = own.flatten().map(|own| own.is.clone()) {
                return self.call(at, &arguments);
            }
            if let Some(value) = script_builtin::method(&base, method, &arguments) {
                return value;
            }
            let path = if let ScriptKind::Object(path) = &base.is { path.as_str() } else { "?" };
            return self.library(&format!("{path}.{method}"), &base, &arguments);
        }
        let function = self.value(of);
        match (&function.is, of) {
            (ScriptKind::Function(at), _) => self.call(*at, &arguments),
            (_, Expression::Name(name)) => {
                let own = self.by_function(name, &arguments);
                own.or_else(|| script_builtin::function(name, &arguments))
                    .unwrap_or_else(|| self.library(name, &ScriptValue::unknown(), &arguments))
            }
            _ => self.library("?", &function, &arguments),
        }
    }

    pub fn call(&mut self, at: usize, arguments: &[(Option<&str>, ScriptValue)]) -> ScriptValue {
        let Function { parameters, body, called } = &mut self.functions[at];
        *called = true;
        let (parameters, body) = (*parameters, *body);
        if self.scopes.len() > DEEPEST_CALL {
            return ScriptValue::unknown();
        }
        let mut scope = BTreeMap::new();
        let mut unnamed = arguments.iter().filter(|(name, _)| name.is_none()).map(|(_, value)| value);
        for (name, default) in parameters.iter().filter(|(name, _)| name != "self") {
            let named = || arguments.iter().find(|(of, _)| *of == Some(name)).map(|(_, value)| value);
            let given = unnamed.next().or_else(named).cloned();
            let value = given.or_else(|| default.as_ref().map(|default| self.value(default)));
            scope.insert(name.clone(), value.unwrap_or(ScriptValue::unknown()));
        }
        self.scopes.push(scope);
        let returned = self.block(body);
        self.scopes.pop();
        returned.unwrap_or(ScriptValue::unknown())
    }

    /// Noted; what it gives back is an object, or computed of its lists.
    fn library(
        &mut self,
        name: &str,
        base: &ScriptValue,
        arguments: &[(Option<&str>, ScriptValue)],
    ) -> ScriptValue {
        // A label may have two lines; below a title stand words on the machine.
        let line = |text: String| match name.ends_with("title") {
            true => text.lines().next().unwrap_or_default().into(),
            false => curves::label(&text.replace('\n', " ")).into_owned(),
        };
        let of = |(keyword, value): &(Option<&str>, ScriptValue)| ScriptArgument {
            keyword: keyword.map(String::from),
            value: value.clone(),
            texts: value.texts().into_iter().map(line).collect(),
            from: value.sources(),
        };
        let number = self.out.calls.len();
        if number < MOST_CALLS {
            let arguments = arguments.iter().map(of).collect();
            self.out.calls.push(ScriptCall { number, name: name.into(), arguments });
        }
        let values = arguments.iter().map(|(_, value)| value).chain([base]);
        let computed = ScriptValue::computed(ScriptKind::Unknown, values);
        if computed.from.is_empty() { ScriptValue::object(format!("{name} {number}")) } else { computed }
    }
}

/// Is one of them a list as it is written? Two of numpy are added figure by figure.
fn is_written(parts: &[Expression]) -> bool {
    parts.iter().any(|part| match part {
        Expression::List(_) | Expression::Loop(..) => true,
        Expression::Operation("+" | "*", parts) => is_written(parts),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each call with its texts, and the lists that it has: `a*` is computed of `a`.
    fn calls(text: &str) -> Vec<String> {
        let source = |source: &ListSource| {
            let keys: String =
                source.keys.iter().map(|key| format!(".{}", key.text().unwrap_or("#"))).collect();
            format!("{}{keys}{}", source.name, if source.plain { "" } else { "*" })
        };
        let argument = |of: &ScriptArgument| {
            let sources = of.from.iter().map(source);
            let all: Vec<String> = sources.chain(of.texts.iter().map(|text| format!("{text:?}"))).collect();
            all.join("+")
        };
        let call = |call: &ScriptCall| {
            let arguments: Vec<String> = call.arguments.iter().map(argument).collect();
            format!("{}({})", call.name, arguments.join(", "))
        };
        run(text).calls.iter().map(call).collect()
    }

    #[test]
    fn functions_and_loops_draw_what_they_are_given() {
        let text = "x = [1, 2]\nall = {'A1': [3, 4], 'A2': [5, 6]}\n\
                    def draw(x, series, what, names={'A1': 'two'}):\n    for name, y in series.items():\n        \
                    plt.plot(x, y, label=names.get(name, name))\n    plt.ylabel(f'{what} (Gbps)')\n\
                    if __name__ == '__main__':\n    draw(x, all, what='Rate')\n";
        assert_eq!(
            calls(text),
            ["plt.plot(x, all.A1, \"two\")", "plt.plot(x, all.A2, )", "plt.ylabel(\"Rate (Gbps)\")"]
        );
    }

    #[test]
    fn what_is_computed_is_told_from_what_is_drawn_as_it_is() {
        let text = "x = [1, 2]\ny = [3, 4]\nplt.plot(x, [v / 8 for v in y])\nplt.plot(x, np.array(y) * 8)\nplt.plot(range(len(x)), y)\n";
        assert_eq!(calls(text), ["plt.plot(x, y*)", "plt.plot(x, y*)", "plt.plot(*+x*, y)"]);
    }

    #[test]
    fn both_ways_of_a_condition_that_is_not_known_are_gone_and_one_of_one_that_is() {
        let text = "y = [3, 4]\nif open('f').read():\n    plt.bar(y)\nelse:\n    plt.plot(y)\nif 2 > 3:\n    plt.step(y)\nelif 'a' in 'abc':\n    plt.scatter(y)\n";
        assert_eq!(
            calls(text),
            ["open(\"f\")", "open 0.read()", "plt.bar(y)", "plt.plot(y)", "plt.scatter(y)"]
        );
    }

    #[test]
    fn lists_are_known_by_where_they_stand_and_parts_by_what_they_are_of() {
        let of = |text: &str| -> Vec<(usize, String, String)> {
            let run = run(text);
            run.assigned.iter().map(|of| (of.line, of.name.clone(), of.value.json().to_string())).collect()
        };
        let text = "n = 3\nflat = np.array([1, 2,\n  3, 4]).reshape(2, -1)\npowers = [2 ** i for i in range(6, 9)]\nplt.plot(powers, z)\n\
                    d = {}\nd['A1'] = [1_000, 0.50]\nlong = [1, 2, 3, 4]\nplt.plot(n, long[1::2])\ncomputed = [v * 2 for v in long]\n";
        assert_eq!(
            of(text),
            [
                (2, "flat".into(), "[[1.0,2.0],[3.0,4.0]]".into()),
                (4, "powers".into(), "[64.0,128.0,256.0]".into()),
                (7, "d".into(), "{\"A1\":[1000.0,0.5]}".into()),
                (8, "long".into(), "[1.0,2.0,3.0,4.0]".into()),
                (8, "long[1::2]".into(), "[2.0,4.0]".into()),
            ]
        );
    }

    #[test]
    fn a_script_that_never_ends_is_left() {
        let long = format!("x = [{}]\n", "1, ".repeat(5000));
        let loops = "for a in range(9000):\n for b in range(9000):\n  for c in range(9000):\n   plt.plot(x, [v + 1 for v in x], max(x + x))\n";
        let itself = "def f(n):\n    f(n)\n    f(n)\n    f([n, n])\nf(1)\n";
        assert!(calls(&format!("{long}{loops}{itself}")).len() <= MOST_CALLS);
        let doubled = "x = [1, 2]\nt = 'ab'\n".to_string() + &"x = [x, x, x]\nt = t + t\n".repeat(500);
        assert_eq!(calls(&format!("{doubled}plt.plot(x, t)\n")).len(), 1);
        let nested = "x = [1, 2]\nd = {}\n".to_string()
            + &"for i in range(9000):\n    x = [x, 1]\n    d['a'] = {'b': d}\n".repeat(9);
        assert!(calls(&nested).is_empty());
        let deep = format!("{}1{}\n{}", "(".repeat(5000), ")".repeat(5000), " if x:\n".repeat(3000));
        assert!(calls(&deep).is_empty());
    }
}
