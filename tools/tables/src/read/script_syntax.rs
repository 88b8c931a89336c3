//! The syntax of a script, as far as what it draws needs it: Python's, and R's arrow. A statement that is none is left
//! out; the block below it is read all the same.

use super::script_words::{Word, words};

#[derive(Debug)]
pub enum Expression {
    /// As it was written: trailing zeros say how exact it is.
    Number(String),
    Text(String),
    /// `f"{threads} threads"`, and texts that stand one behind another.
    Pieces(Vec<Expression>),
    Name(String),
    List(Vec<Expression>),
    Dictionary(Vec<(Expression, Expression)>),
    Attribute(Box<Expression>, String),
    Index(Box<Expression>, Vec<Subscript>),
    Call(Box<Expression>, Vec<(Option<String>, Expression)>),
    Operation(&'static str, Vec<Expression>),
    Lambda(Vec<(String, Option<Expression>)>, Vec<ScriptStatement>),
    /// `[2 ** i for i in range(6, 12) if i != 7]`; two make a dictionary.
    Loop(Vec<Expression>, Vec<Clause>),
    Unknown,
}

#[derive(Debug)]
pub enum Clause {
    For(Expression, Expression),
    If(Expression),
}

#[derive(Debug)]
pub enum Subscript {
    One(Expression),
    Slice(Vec<Option<Expression>>),
}

#[derive(Debug)]
pub enum ScriptStatement {
    /// With its line (from 1), and its targets.
    Assign(usize, Vec<Expression>, Expression),
    Run(Expression),
    For(Expression, Expression, Vec<ScriptStatement>),
    /// The first whose condition holds.
    If(Vec<(Expression, Vec<ScriptStatement>)>),
    Function(String, Vec<(String, Option<Expression>)>, Vec<ScriptStatement>),
    /// A value, or the names `continue` and `break`.
    Return(Expression),
    Block(Vec<ScriptStatement>),
}

/// Deeper ones are no script of figures.
pub const DEEPEST: usize = 60;
/// What the block below is run of, whatever they say.
const BLOCKS: &[&str] = &["with", "try", "finally", "class", "async"];

pub fn parse(text: &str) -> Vec<ScriptStatement> {
    let words = words(text);
    Parser { words: &words, at: 0, depth: 0 }.block()
}

pub struct Parser<'t> {
    pub words: &'t [(usize, Word)],
    pub at: usize,
    pub depth: usize,
}

impl Parser<'_> {
    pub fn peek(&self) -> Option<&Word> {
        self.words.get(self.at).map(|(_, word)| word)
    }

    fn line(&self) -> usize {
        self.words.get(self.at).map_or(0, |(line, _)| *line)
    }

    pub fn is(&self, sign: &str) -> bool {
        matches!(self.peek(), Some(Word::Sign(is)) if *is == sign)
    }

    pub fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(Word::Name(is)) if is == word)
    }

    pub fn takes(&mut self, sign: &str) -> bool {
        let takes = self.is(sign) || self.is_word(sign);
        self.at += usize::from(takes);
        takes
    }

    pub fn name(&mut self) -> Option<String> {
        let Some(Word::Name(name)) = self.peek() else { return None };
        let name = name.clone();
        self.at += 1;
        Some(name)
    }

    /// The statements up to the end of their block.
    fn block(&mut self) -> Vec<ScriptStatement> {
        let mut all = Vec::new();
        while let Some(word) = self.peek() {
            match word {
                Word::Out => break,
                Word::In => all.push(ScriptStatement::Block(self.indented())),
                Word::End => self.at += 1,
                _ => {
                    let from = self.at;
                    match self.statement() {
                        Some(statement) => all.push(statement),
                        None => self.leave_line(),
                    }
                    self.at = self.at.max(from + 1);
                }
            }
        }
        all
    }

    fn leave_line(&mut self) {
        while !matches!(self.peek(), None | Some(Word::End | Word::In | Word::Out)) {
            self.at += 1;
        }
    }

    fn indented(&mut self) -> Vec<ScriptStatement> {
        self.at += 1;
        self.depth += 1;
        let deep = self.depth < DEEPEST;
        let block = if deep { self.block() } else { Vec::new() };
        while !deep && !matches!(self.peek(), None | Some(Word::Out)) {
            self.at += 1;
        }
        self.depth -= 1;
        self.at += usize::from(matches!(self.peek(), Some(Word::Out)));
        block
    }

    /// What stands behind a colon: on its line, or below it.
    fn body(&mut self) -> Option<Vec<ScriptStatement>> {
        self.takes(":").then_some(())?;
        if !matches!(self.peek(), Some(Word::End)) {
            return Some(self.statement().into_iter().collect());
        }
        self.at += 1;
        Some(if matches!(self.peek(), Some(Word::In)) { self.indented() } else { Vec::new() })
    }

    fn statement(&mut self) -> Option<ScriptStatement> {
        if self.takes("def") {
            return self.function();
        }
        if self.takes("for") {
            let of = self.targets()?;
            self.takes("in").then_some(())?;
            let over = self.whole()?;
            return Some(ScriptStatement::For(of, over, self.body()?));
        }
        if self.takes("if") {
            return self.branches();
        }
        if self.takes("return") {
            return self.whole().map(ScriptStatement::Return);
        }
        if self.is_word("continue") || self.is_word("break") {
            return self.name().map(|name| ScriptStatement::Return(Expression::Name(name)));
        }
        if self.takes("while") {
            // How often is not known.
            self.whole()?;
            return Some(ScriptStatement::For(
                Expression::List(Vec::new()),
                Expression::Unknown,
                self.body()?,
            ));
        }
        if self.takes("except") {
            // Whether it is run is not known.
            while !self.is(":") && !matches!(self.peek(), None | Some(Word::End)) {
                self.at += 1;
            }
            return Some(ScriptStatement::If(vec![(Expression::Unknown, self.body()?)]));
        }
        if matches!(self.peek(), Some(Word::Name(name)) if BLOCKS.contains(&name.as_str())) {
            return None;
        }
        let line = self.line();
        let first = self.whole()?;
        if self.takes(":") {
            // Its type.
            self.whole()?;
        }
        let mut targets = vec![first];
        while self.takes("=") || self.takes("<-") {
            targets.push(self.whole()?);
        }
        let statement = match (targets.len(), targets.pop()?) {
            (1, alone) if matches!(self.peek(), Some(Word::Sign("+=" | "-=" | "*=" | "/="))) => {
                self.at += 1;
                self.whole()?;
                ScriptStatement::Assign(line, vec![alone], Expression::Unknown)
            }
            (1, alone) => ScriptStatement::Run(alone),
            (_, value) => ScriptStatement::Assign(line, targets, value),
        };
        (self.takes(";") || matches!(self.peek(), None | Some(Word::End | Word::Out))).then_some(statement)
    }

    fn branches(&mut self) -> Option<ScriptStatement> {
        let mut all = vec![(self.whole()?, self.body()?)];
        while self.takes("elif") {
            all.push((self.whole()?, self.body()?));
        }
        if self.takes("else") {
            all.push((Expression::Name("True".into()), self.body()?));
        }
        Some(ScriptStatement::If(all))
    }

    fn function(&mut self) -> Option<ScriptStatement> {
        let name = self.name()?;
        self.takes("(").then_some(())?;
        let mut parameters = Vec::new();
        while !self.takes(")") {
            // `*args` and `**options` are never figures by name.
            let starred = self.takes("*") || self.takes("**");
            if starred && self.takes(",") {
                continue;
            }
            let name = self.name()?;
            if self.takes(":") {
                self.expression()?;
            }
            let default = if self.takes("=") { Some(self.expression()?) } else { None };
            if !starred {
                parameters.push((name, default));
            }
            if !self.takes(",") && !self.is(")") {
                return None;
            }
        }
        if self.takes("->") {
            self.expression()?;
        }
        Some(ScriptStatement::Function(name, parameters, self.body()?))
    }

    /// Names that a loop gives values to: nothing that goes on with `in`.
    pub fn targets(&mut self) -> Option<Expression> {
        let mut all = vec![self.postfix()?];
        while self.takes(",") {
            if self.is_word("in") {
                break;
            }
            all.push(self.postfix()?);
        }
        Some(if all.len() == 1 { all.pop()? } else { Expression::List(all) })
    }
}
