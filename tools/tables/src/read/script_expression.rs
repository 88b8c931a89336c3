//! The expressions of a script.

use super::script_syntax::{Clause, DEEPEST, Expression, Parser, ScriptStatement, Subscript};
use super::script_words::{Word, words};

/// From the loosest to the tightest.
const OPERATIONS: &[&[&str]] = &[
    &["or"],
    &["and"],
    &["in", "not in", "is", "==", "!=", "<=", ">=", "<", ">"],
    &["|", "^", "&"],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "//", "/", "%", "@"],
];
/// One alone, as between the braces of a text.
fn expression(text: &str, depth: usize) -> Expression {
    let words = words(text);
    let mut parser = Parser { words: &words, at: 0, depth };
    parser.whole().unwrap_or(Expression::Unknown)
}

impl Parser<'_> {
    /// With the commas of a list without brackets.
    pub fn whole(&mut self) -> Option<Expression> {
        let first = self.expression()?;
        if !self.is(",") {
            return Some(first);
        }
        let mut all = vec![first];
        while self.takes(",") {
            if matches!(self.peek(), None | Some(Word::End | Word::Sign("=" | ")"))) {
                break;
            }
            all.push(self.expression()?);
        }
        Some(Expression::List(all))
    }

    pub fn expression(&mut self) -> Option<Expression> {
        self.depth += 1;
        let found = if self.depth < DEEPEST { self.conditional() } else { None };
        self.depth -= 1;
        found
    }

    fn conditional(&mut self) -> Option<Expression> {
        // `zip(*points)`, `plot(x, y, **style)`
        if let Some(sign) = ["*", "**"].into_iter().find(|sign| self.is(sign)) {
            self.at += 1;
            return Some(Expression::Operation(sign, vec![self.expression()?]));
        }
        if self.takes("lambda") {
            return self.lambda();
        }
        let value = self.operation(0)?;
        if !self.takes("if") {
            return Some(value);
        }
        let condition = self.operation(0)?;
        if !self.takes("else") {
            // The condition of a loop between brackets stands there.
            return None;
        }
        Some(Expression::Operation("if", vec![condition, value, self.expression()?]))
    }

    fn lambda(&mut self) -> Option<Expression> {
        let mut parameters = Vec::new();
        while !self.takes(":") {
            let name = self.name()?;
            parameters.push((name, if self.takes("=") { Some(self.expression()?) } else { None }));
            self.takes(",");
        }
        Some(Expression::Lambda(parameters, vec![ScriptStatement::Return(self.expression()?)]))
    }

    fn operation(&mut self, level: usize) -> Option<Expression> {
        let Some(signs) = OPERATIONS.get(level) else { return self.unary() };
        let mut all = self.operation(level + 1)?;
        loop {
            let negated = self.is_word("not")
                && matches!(self.words.get(self.at + 1), Some((_, Word::Name(name))) if name == "in");
            let sign = if negated {
                "not in"
            } else {
                *signs.iter().find(|s| self.is(s) || self.is_word(s)).unwrap_or(&"")
            };
            if !signs.contains(&sign) {
                return Some(all);
            }
            self.at += 1 + usize::from(negated);
            if sign == "is" {
                self.takes("not");
            }
            all = Expression::Operation(sign, vec![all, self.operation(level + 1)?]);
        }
    }

    fn unary(&mut self) -> Option<Expression> {
        for sign in ["-", "+", "not", "~", "await"] {
            if self.takes(sign) {
                let of = self.deeper(Self::unary)?;
                let number = match (sign, of) {
                    ("-", Expression::Number(number)) => Expression::Number(format!("-{number}")),
                    ("+", of) => of,
                    (sign, of) => Expression::Operation(sign, vec![of]),
                };
                return Some(number);
            }
        }
        let base = self.postfix()?;
        Some(match self.takes("**") || self.takes("^") {
            true => Expression::Operation("**", vec![base, self.deeper(Self::unary)?]),
            false => base,
        })
    }

    fn deeper(&mut self, of: fn(&mut Self) -> Option<Expression>) -> Option<Expression> {
        self.depth += 1;
        let found = if self.depth < DEEPEST { of(self) } else { None };
        self.depth -= 1;
        found
    }

    pub fn postfix(&mut self) -> Option<Expression> {
        let mut of = self.atom()?;
        loop {
            of = if self.takes(".") {
                Expression::Attribute(of.into(), self.name()?)
            } else if self.takes("(") {
                Expression::Call(of.into(), self.arguments()?)
            } else if self.takes("[") {
                Expression::Index(of.into(), self.subscripts()?)
            } else {
                return Some(of);
            };
        }
    }

    fn arguments(&mut self) -> Option<Vec<(Option<String>, Expression)>> {
        let mut all = Vec::new();
        while !self.takes(")") {
            let named = matches!(self.words.get(self.at + 1), Some((_, Word::Sign("="))));
            let name = if named { self.name() } else { None };
            self.at += usize::from(named);
            let value = self.expression()?;
            all.push((name, self.looped(vec![value])?));
            if !self.takes(",") && !self.is(")") {
                return None;
            }
        }
        Some(all)
    }

    /// With the clauses of a loop where they stand behind it.
    fn looped(&mut self, mut of: Vec<Expression>) -> Option<Expression> {
        let mut clauses = Vec::new();
        loop {
            if self.takes("for") {
                let target = self.targets()?;
                self.takes("in").then_some(())?;
                clauses.push(Clause::For(target, self.operation(0)?));
            } else if !clauses.is_empty() && self.takes("if") {
                clauses.push(Clause::If(self.operation(0)?));
            } else {
                break;
            }
        }
        if clauses.is_empty() { of.pop() } else { Some(Expression::Loop(of, clauses)) }
    }

    fn subscripts(&mut self) -> Option<Vec<Subscript>> {
        let mut all = Vec::new();
        while !self.takes("]") {
            let mut parts: Vec<Option<Expression>> = vec![None];
            while !self.is(",") && !self.is("]") {
                if self.takes(":") {
                    parts.push(None);
                } else {
                    *parts.last_mut()? = Some(self.expression()?);
                }
            }
            all.push(match (parts.len(), parts.pop()?) {
                (1, Some(one)) => Subscript::One(one),
                (1, None) => return None,
                (_, last) => {
                    parts.push(last);
                    Subscript::Slice(parts)
                }
            });
            self.takes(",");
        }
        Some(all)
    }

    fn atom(&mut self) -> Option<Expression> {
        let atom = match self.peek()? {
            Word::Number(number) => Expression::Number(number.clone()),
            Word::Name(name) => Expression::Name(name.clone()),
            Word::Text(..) => return Some(self.text()),
            Word::Sign("(") => return self.list(")"),
            Word::Sign("[") => return self.list("]"),
            Word::Sign("{") => return self.dictionary(),
            _ => return None,
        };
        self.at += 1;
        Some(atom)
    }

    fn text(&mut self) -> Expression {
        let mut pieces = Vec::new();
        while let Some(Word::Text(text, formatted)) = self.peek() {
            let (text, formatted) = (text.clone(), *formatted);
            self.at += 1;
            if formatted && self.depth < DEEPEST {
                pieces.extend(self.formatted(&text));
            } else {
                pieces.push(Expression::Text(text));
            }
        }
        match pieces.pop() {
            Some(only @ Expression::Text(_)) if pieces.is_empty() => only,
            last => Expression::Pieces(pieces.into_iter().chain(last).collect()),
        }
    }

    /// `{size} B`: what stands in braces, without how it is to be written.
    fn formatted(&self, text: &str) -> Vec<Expression> {
        let mut all = Vec::new();
        let mut rest = text;
        while let Some((before, inside)) = rest.split_once('{') {
            all.push(Expression::Text(before.into()));
            let Some((inside, after)) = inside.split_once('}') else { break };
            let inside = inside.split([':', '!']).next().unwrap_or_default();
            all.push(expression(inside, self.depth + 1));
            rest = after;
        }
        all.push(Expression::Text(rest.into()));
        all
    }

    fn list(&mut self, close: &str) -> Option<Expression> {
        self.at += 1;
        let mut all = Vec::new();
        let mut commas = false;
        while !self.takes(close) {
            let one = self.expression()?;
            if all.is_empty() && self.is_word("for") {
                let looped = self.looped(vec![one])?;
                return self.takes(close).then_some(looped);
            }
            all.push(one);
            let comma = self.takes(",");
            commas |= comma;
            // MATLAB's lists have spaces.
            let spaced = close == "]" && matches!(self.peek(), Some(Word::Number(_)));
            if !comma && !spaced && !self.is(close) {
                return None;
            }
        }
        let alone = close == ")" && all.len() == 1 && !commas;
        if alone { all.pop() } else { Some(Expression::List(all)) }
    }

    fn dictionary(&mut self) -> Option<Expression> {
        self.at += 1;
        let (mut all, mut set) = (Vec::new(), Vec::new());
        while !self.takes("}") {
            let key = self.expression()?;
            if self.takes(":") {
                let value = self.expression()?;
                if all.is_empty() && self.is_word("for") {
                    let looped = self.looped(vec![key, value])?;
                    return self.takes("}").then_some(looped);
                }
                all.push((key, value));
            } else {
                set.push(key);
            }
            if !self.takes(",") && !self.is("}") {
                return None;
            }
        }
        Some(if set.is_empty() { Expression::Dictionary(all) } else { Expression::List(set) })
    }
}
