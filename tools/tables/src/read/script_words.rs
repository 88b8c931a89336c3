//! The words of a script: names, numbers, texts and signs, with where blocks begin and end.

#[derive(Debug, PartialEq)]
pub enum Word {
    Name(String),
    Number(String),
    /// And whether braces in it are filled in.
    Text(String, bool),
    Sign(&'static str),
    /// Of a line, outside brackets.
    End,
    In,
    Out,
}

/// Longer ones first.
const SIGNS: &[&str] = &[
    "**=", "//=", "<<", ">>", "**", "//", "==", "!=", "<=", ">=", "->", "<-", "+=", "-=", "*=", "/=", ":=",
    "(", ")", "[", "]", "{", "}", ",", ":", ".", ";", "=", "+", "-", "*", "/", "%", "<", ">", "@", "&", "|",
    "^", "~",
];
/// In front of a text.
const PREFIXES: &[&str] = &["f", "r", "b", "u", "rf", "fr", "rb", "br"];
/// More than any script of figures has.
const MOST_WORDS: usize = 200_000;

/// Each with its line, from 1.
pub fn words(text: &str) -> Vec<(usize, Word)> {
    let mut reading = WordReading { rest: text, line: 1, depth: 0, indents: vec![0], all: Vec::new() };
    while !reading.rest.is_empty() && reading.all.len() < MOST_WORDS {
        if reading.begins_line() {
            reading.indent();
        }
        reading.word();
    }
    reading.push(Word::End);
    for _ in 1..reading.indents.len() {
        reading.push(Word::Out);
    }
    reading.all
}

struct WordReading<'t> {
    rest: &'t str,
    line: usize,
    /// Of brackets that are open.
    depth: usize,
    indents: Vec<usize>,
    all: Vec<(usize, Word)>,
}

impl WordReading<'_> {
    fn push(&mut self, word: Word) {
        self.all.push((self.line, word));
    }

    fn begins_line(&self) -> bool {
        self.depth == 0 && matches!(self.all.last(), None | Some((_, Word::End | Word::In | Word::Out)))
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }

    /// Past empty lines and comments; a deeper line begins a block.
    fn indent(&mut self) {
        loop {
            let line = self.rest.split('\n').next().unwrap_or_default();
            let code = line.trim_start();
            if !code.trim_end().is_empty() && !code.starts_with('#') {
                let depth = line.len() - code.len();
                self.skip(depth);
                self.enter(depth);
                return;
            }
            self.skip(line.len());
            if self.rest.is_empty() {
                return;
            }
            self.skip(1);
            self.line += 1;
        }
    }

    fn enter(&mut self, depth: usize) {
        let deepest = |reading: &Self| reading.indents.last().copied().unwrap_or_default();
        if depth > deepest(self) {
            self.indents.push(depth);
            self.push(Word::In);
        }
        while depth < deepest(self) {
            self.indents.pop();
            self.push(Word::Out);
        }
    }

    fn word(&mut self) {
        let Some(first) = self.rest.chars().next() else { return };
        let length = |is: fn(char) -> bool| self.rest.find(|c| !is(c)).unwrap_or(self.rest.len());
        match first {
            '\n' => {
                if self.depth == 0 {
                    self.push(Word::End);
                }
                self.skip(1);
                self.line += 1;
            }
            '\\' if self.rest[1..].starts_with('\n') => {
                self.skip(2);
                self.line += 1;
            }
            '#' => self.skip(self.rest.find('\n').unwrap_or(self.rest.len())),
            '"' | '\'' => self.text(false, false),
            c if c.is_ascii_digit()
                || c == '.' && self.rest[1..].starts_with(|c: char| c.is_ascii_digit()) =>
            {
                self.number();
            }
            c if c.is_alphabetic() || c == '_' => {
                let end = length(|c| c.is_alphanumeric() || c == '_');
                let name = &self.rest[..end];
                let prefix = name.to_ascii_lowercase();
                let texts = self.rest[end..].starts_with(['"', '\'']) && PREFIXES.contains(&prefix.as_str());
                let name = name.to_string();
                self.skip(end);
                if texts {
                    self.text(prefix.contains('f'), prefix.contains('r'))
                } else {
                    self.push(Word::Name(name))
                }
            }
            c if c.is_whitespace() => self.skip(c.len_utf8()),
            c => match SIGNS.iter().find(|sign| self.rest.starts_with(**sign)) {
                Some(sign) => self.sign(sign),
                None => {
                    self.push(Word::Sign("?"));
                    self.skip(c.len_utf8());
                }
            },
        }
    }

    fn sign(&mut self, sign: &'static str) {
        match sign {
            "(" | "[" | "{" => self.depth += 1,
            ")" | "]" | "}" => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.push(Word::Sign(sign));
        self.skip(sign.len());
    }

    /// `1_024`, `0.5e9`
    fn number(&mut self) {
        let within = |(at, c): (usize, char)| {
            let exponent = matches!(c, '+' | '-') && self.rest[..at].ends_with(['e', 'E']);
            c.is_ascii_alphanumeric() || matches!(c, '.' | '_') || exponent
        };
        let end = self.rest.char_indices().find(|at| !within(*at)).map_or(self.rest.len(), |(at, _)| at);
        let number = self.rest[..end].replace('_', "");
        self.push(Word::Number(number));
        self.skip(end);
    }

    /// Up to its closing mark; one on one line that is not closed ends with the line.
    fn text(&mut self, formatted: bool, raw: bool) {
        let line = self.line;
        let mark = &self.rest[..1];
        let long = mark.repeat(3);
        let (mark, long) = if self.rest.starts_with(&long) { (long.as_str(), true) } else { (mark, false) };
        let inside = &self.rest[mark.len()..];
        let (mut text, mut end) = (String::new(), inside.len());
        let mut characters = inside.char_indices();
        while let Some((at, c)) = characters.next() {
            if inside[at..].starts_with(mark) {
                end = at + mark.len();
                break;
            }
            if c == '\n' && !long {
                end = at;
                break;
            }
            match c {
                '\\' if !raw => match characters.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push(' '),
                    Some((_, '\n')) | None => {}
                    Some((at, 'u')) => match hexadecimal(&inside[at + 1..]) {
                        Some(c) => {
                            characters.nth(3);
                            text.push(c);
                        }
                        None => text.push('u'),
                    },
                    Some((_, c)) => text.push(c),
                },
                c => text.push(c),
            }
        }
        let whole = mark.len() + end;
        self.line += self.rest[..whole].matches('\n').count();
        self.skip(whole);
        self.all.push((line, Word::Text(text, formatted)));
    }
}

/// `\u00b5`
fn hexadecimal(text: &str) -> Option<char> {
    char::from_u32(u32::from_str_radix(text.get(..4)?, 16).ok()?)
}
