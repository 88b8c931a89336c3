//! Plain values of a script: numbers, texts, lists and dictionaries of them.

/// A variable and its value.
pub struct ScriptAssignment {
    /// From 1.
    pub line: usize,
    pub name: String,
    pub value: ScriptValue,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ScriptValue {
    /// As it was written: trailing zeros say how exact it is.
    Number(String),
    Text(String),
    List(Vec<ScriptValue>),
    Dictionary(Vec<(String, ScriptValue)>),
}

impl ScriptValue {
    /// As a cell of a table; a list is none.
    pub fn cell(&self) -> Option<String> {
        match self {
            ScriptValue::Number(text) | ScriptValue::Text(text) => Some(text.clone()),
            _ => None,
        }
    }

    pub fn json(&self) -> serde_json::Value {
        match self {
            ScriptValue::Number(number) => {
                number.parse::<f64>().map_or_else(|_| number.clone().into(), Into::into)
            }
            ScriptValue::Text(text) => text.clone().into(),
            ScriptValue::List(all) => all.iter().map(ScriptValue::json).collect(),
            ScriptValue::Dictionary(of) => {
                of.iter().map(|(key, value)| (key.clone(), value.json())).collect()
            }
        }
    }
}

/// Deeper lists are none of figures.
const DEEPEST: usize = 6;
/// What may stand around a list.
const WRAPPERS: &[&str] =
    &["np.array", "numpy.array", "np.asarray", "array", "list", "pd.DataFrame", "DataFrame", "pd.Series"];

/// R's lists, and what holds them by name.
const LISTS: &[&str] = &["c"];
const NAMED: &[&str] = &["data.frame", "tibble", "data.table", "dict"];

/// The assignments of lists and dictionaries; those of anything else are left out.
pub fn assigned(text: &str) -> Vec<ScriptAssignment> {
    let mut found = Vec::new();
    let mut from = 0;
    for (at, line) in text.lines().enumerate() {
        let start = from;
        from += line.len() + text[from + line.len()..].find('\n').map_or(0, |end| end + 1);
        // R assigns by an arrow.
        let mark = if line.contains("<-") { "<-" } else { "=" };
        let Some((name, _)) = line.split_once(mark) else { continue };
        let begins = start + name.len() + mark.len();
        let name = name.trim();
        let plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let mut reading = ScriptReading { rest: text[begins..].trim_start_matches([' ', '\t']) };
        if plain
            && reading.begins_list()
            && let Some(value) = reading.value(DEEPEST)
        {
            let value = reading
                .rest
                .strip_prefix(".reshape(")
                .map_or(Some(value.clone()), |shape| reshaped(value, shape, &found));
            let Some(value) = value else { continue };
            found.push(ScriptAssignment { line: at + 1, name: name.into(), value });
        }
    }
    found
}

/// Rows of a flattened list: `.reshape(len(sizes), len(threads))`, `.reshape((3, -1))`. `None`: of another shape.
fn reshaped(value: ScriptValue, shape: &str, known: &[ScriptAssignment]) -> Option<ScriptValue> {
    let ScriptValue::List(all) = value else { return None };
    let length = |name: &str| match &known.iter().rfind(|of| of.name == name)?.value {
        ScriptValue::List(all) => Some(all.len()),
        _ => None,
    };
    let inside = shape.lines().next()?.trim_start_matches('(').replace(['(', ')', ' '], "");
    let (rows, columns) = inside.split_once(',').filter(|(_, columns)| !columns.contains(','))?;
    let many = |of: &str| of.parse().ok().or_else(|| length(of.strip_prefix("len")?));
    let columns = if columns == "-1" { all.len().checked_div(many(rows)?)? } else { many(columns)? };
    let all_rows = if rows == "-1" { all.len().checked_div(columns)? } else { many(rows)? };
    let even = columns > 0 && all_rows.checked_mul(columns) == Some(all.len());
    let row = |row: &[ScriptValue]| ScriptValue::List(row.to_vec());
    even.then(|| ScriptValue::List(all.chunks(columns).map(row).collect()))
}

/// Its first line of code imports something, in Python or R.
pub fn is_script(text: &str) -> bool {
    let mut docstring = false;
    let code = |line: &&str| {
        let marks = line.matches("\"\"\"").count();
        let inside = docstring || marks > 0;
        docstring ^= marks % 2 == 1;
        !inside && !line.is_empty() && !line.starts_with('#')
    };
    let first = text.lines().map(str::trim).find(code).unwrap_or_default();
    if first.starts_with("library(") || first.split_once(" <- ").is_some_and(|(name, _)| !name.contains(' '))
    {
        return true;
    }
    let rest = first.strip_prefix("import ").or(first.strip_prefix("from "));
    rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()) && !rest.contains('|'))
}

struct ScriptReading<'t> {
    rest: &'t str,
}

impl<'t> ScriptReading<'t> {
    fn begins_list(&self) -> bool {
        let wrapped = |name: &str| self.rest.strip_prefix(name).is_some_and(|rest| rest.starts_with('('));
        self.rest.starts_with(['[', '{'])
            || WRAPPERS.iter().chain(LISTS).chain(NAMED).any(|name| wrapped(name))
    }

    /// Spaces, line ends and comments.
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
        while let Some(comment) = self.rest.strip_prefix('#') {
            self.rest = comment.split_once('\n').map_or("", |(_, rest)| rest).trim_start();
        }
    }

    fn takes(&mut self, mark: char) -> bool {
        self.skip();
        let rest = self.rest.strip_prefix(mark);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn value(&mut self, deepest: usize) -> Option<ScriptValue> {
        self.skip();
        let deepest = deepest.checked_sub(1)?;
        for wrapper in WRAPPERS {
            let Some(rest) = self.rest.strip_prefix(wrapper).and_then(|rest| rest.strip_prefix('(')) else {
                continue;
            };
            self.rest = rest;
            let value = self.value(deepest)?;
            return self.takes(')').then_some(value);
        }
        if let Some(of) = LISTS.iter().find_map(|name| self.inside(name)) {
            self.rest = of;
            return self.list('(', ')', deepest).map(ScriptValue::List);
        }
        if let Some(of) = NAMED.iter().find_map(|name| self.inside(name)) {
            self.rest = of;
            return self.fields(deepest);
        }
        match self.rest.chars().next()? {
            '[' => self.list('[', ']', deepest).map(ScriptValue::List),
            '(' => self.list('(', ')', deepest).map(ScriptValue::List),
            '{' => self.dictionary(deepest),
            '"' | '\'' => self.text().map(ScriptValue::Text),
            _ => self.number().map(ScriptValue::Number),
        }
    }

    /// From the bracket behind a name.
    fn inside(&self, name: &str) -> Option<&'t str> {
        self.rest.strip_prefix(name).filter(|rest| rest.starts_with('('))
    }

    /// `(size = c(64, 1024), gbps = c(0.2, 3.1))`
    fn fields(&mut self, deepest: usize) -> Option<ScriptValue> {
        let mut all = Vec::new();
        self.takes('(');
        while !self.takes(')') {
            self.skip();
            let (name, rest) = self.rest.split_once('=')?;
            self.rest = rest;
            all.push((name.trim().to_string(), self.value(deepest)?));
            if !self.takes(',') {
                return self.takes(')').then_some(ScriptValue::Dictionary(all));
            }
        }
        Some(ScriptValue::Dictionary(all))
    }

    fn list(&mut self, open: char, close: char, deepest: usize) -> Option<Vec<ScriptValue>> {
        let mut all = Vec::new();
        self.takes(open);
        while !self.takes(close) {
            all.push(self.value(deepest)?);
            if !self.takes(',') {
                return self.takes(close).then_some(all);
            }
        }
        Some(all)
    }

    fn dictionary(&mut self, deepest: usize) -> Option<ScriptValue> {
        let mut all = Vec::new();
        self.takes('{');
        while !self.takes('}') {
            let key = self.value(deepest)?.cell()?;
            if !self.takes(':') {
                return None;
            }
            all.push((key, self.value(deepest)?));
            if !self.takes(',') {
                return self.takes('}').then_some(ScriptValue::Dictionary(all));
            }
        }
        Some(ScriptValue::Dictionary(all))
    }

    fn text(&mut self) -> Option<String> {
        let mark = self.rest.chars().next()?;
        let (text, rest) = self.rest[1..].split_once(mark)?;
        self.rest = rest;
        Some(text.to_string())
    }

    /// `1_024`, `64*1024`, `2**16`, `1 << 10`, `0.5e9`
    fn number(&mut self) -> Option<String> {
        let start = self.rest;
        let mut value = self.plain_number()?;
        let written = start[..start.len() - self.rest.len()].trim();
        let plain = written.bytes().all(|c| c.is_ascii_digit() || c == b'.');
        let mut text = if plain { written.to_string() } else { value.to_string() };
        loop {
            self.skip();
            let of = ["**", "<<", "*"].into_iter().find(|of| self.rest.starts_with(*of));
            let Some(of) = of else { return Some(text) };
            self.rest = self.rest[of.len()..].trim_start();
            let other = self.plain_number()?;
            value = match of {
                "**" => value.powf(other),
                "<<" => value * 2f64.powf(other),
                _ => value * other,
            };
            text = value.to_string();
        }
    }

    fn plain_number(&mut self) -> Option<f64> {
        let within = |(at, c): (usize, char)| {
            let exponent = matches!(c, '+' | '-') && (at == 0 || self.rest[..at].ends_with(['e', 'E']));
            c.is_ascii_digit() || matches!(c, '.' | '_' | 'e' | 'E') || exponent
        };
        let end = self.rest.char_indices().find(|at| !within(*at)).map_or(self.rest.len(), |(at, _)| at);
        let number = self.rest[..end].replace('_', "").parse().ok()?;
        self.rest = &self.rest[end..];
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_dictionaries_of_plain_values() {
        let text = "x = np.array([1_024, 2**4,  # sixteen\n  0.5e3, 2.00])\ny = {'A1': [1, 2], \"A2\": [3,\n 4,]}\nz = [f(1), 2]\nn = 4\n";
        let found = assigned(text);
        let names: Vec<_> = found.iter().map(|of| (of.line, of.name.as_str())).collect();
        assert_eq!(names, [(1, "x"), (3, "y")]);
        let numbers =
            |of: &[&str]| ScriptValue::List(of.iter().map(|n| ScriptValue::Number(n.to_string())).collect());
        assert_eq!(found[0].value, numbers(&["1024", "16", "500", "2.00"]));
        let two = [("A1", ["1", "2"]), ("A2", ["3", "4"])];
        let two = two.map(|(name, of)| (name.to_string(), numbers(&of)));
        assert_eq!(found[1].value, ScriptValue::Dictionary(two.to_vec()));
    }
}
