//! What the reader of a table says of it: roles of headings, a wide layout, what files' names tell, and what never changes.

use crate::TableColumn;
use crate::dictionary::{ReadAs, WrittenUnit};
use crate::role::bare;
use crate::unit::{self, Dimension};
use syscost_core::axis::suggest;

/// The roles that an option most often gives, by the names that a mistake is answered with.
const ROLES: [&str; 10] = [
    "mechanism",
    "size",
    "threads",
    "throughput",
    "latency",
    "rate",
    "operation",
    "run",
    "variant",
    "ignored",
];

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadingOptions {
    /// By their headings.
    columns: Vec<(String, ReadAs)>,
    /// Headings that nothing else means are values of the first, and their cells figures of the second.
    pub(crate) wide: Option<(TableColumn, ReadAs)>,
    pub(crate) name: Option<NamePattern>,
    /// For tables without such a column.
    pub threads: Option<u64>,
    pub seconds: Option<f64>,
    /// What stands before decimals: a point or a comma.
    pub(crate) decimal: Option<char>,
}

/// `{mechanism}_{size}_{threads}`: the parts of a file's name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamePattern {
    pub text: String,
    parts: Vec<NamePart>,
}

#[derive(Clone, Debug, PartialEq)]
enum NamePart {
    Literal(String),
    Column(TableColumn),
}

/// A role as options call it: its name in files, or one of the short ones.
fn column(text: &str) -> Result<TableColumn, String> {
    let short = match text.trim() {
        "size" => "message_bytes",
        "run" => "repetition",
        "rate" => "message_rate",
        "name" => "mechanism",
        other => other,
    };
    toml::Value::String(short.into()).try_into().map_err(|_| {
        format!("{text:?} is no role: {}; docs/tables.md has all", suggest(text.trim(), &ROLES, &[]))
    })
}

/// `HEADING:UNIT`; a colon without a unit behind it is part of the heading.
fn with_unit(text: &str) -> (&str, Option<WrittenUnit>) {
    let cut = text.rsplit_once(':').and_then(|(heading, told)| {
        let unit = unit::parse(told).ok().or_else(|| unit::count(told))?;
        Some((heading, Some((unit, told.trim().to_string()))))
    });
    cut.unwrap_or((text, None))
}

impl ReadingOptions {
    /// `throughput=Tput:Gbit/s`
    pub fn give_column(&mut self, text: &str) -> Result<(), String> {
        let (role, rest) = cut(text, "ROLE=HEADING[:UNIT]")?;
        let (heading, unit) = with_unit(rest);
        if bare(heading).is_empty() {
            return Err(format!("{text:?} names no heading"));
        }
        self.columns.push((heading.trim().into(), ReadAs::mean(column(role)?, unit)));
        Ok(())
    }

    /// `threads=throughput:Gbit/s`
    pub fn give_wide(&mut self, text: &str) -> Result<(), String> {
        let (across, rest) = cut(text, "ACROSS=QUANTITY[:UNIT]")?;
        let (quantity, unit) = with_unit(rest);
        let (across, quantity) = (column(across)?, column(quantity)?);
        if !(across.is_place() || across.is_text()) || !quantity.is_measure() {
            return Err(format!(
                "{text:?}: a place comes first (size, threads, mechanism, run), then what is measured"
            ));
        }
        self.wide = Some((across, ReadAs::mean(quantity, unit)));
        Ok(())
    }

    /// `{mechanism}_{size}_{threads}`
    pub fn give_name(&mut self, text: &str) -> Result<(), String> {
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some((before, after)) = rest.split_once('{') {
            let (role, after) =
                after.split_once('}').ok_or_else(|| format!("{text:?}: a brace is not closed"))?;
            if !before.is_empty() {
                parts.push(NamePart::Literal(before.into()));
            } else if matches!(parts.last(), Some(NamePart::Column(_))) {
                return Err(format!("{text:?}: nothing stands between two parts"));
            }
            parts.push(NamePart::Column(column(role)?));
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(NamePart::Literal(rest.into()));
        }
        if !parts.iter().any(|part| matches!(part, NamePart::Column(_))) {
            return Err(format!("{text:?} has no part in braces: {{mechanism}}_{{size}}_{{threads}} is one"));
        }
        self.name = Some(NamePattern { text: text.into(), parts });
        Ok(())
    }

    /// What stands between whole and decimal digits.
    pub fn give_decimal(&mut self, text: &str) -> Result<(), String> {
        self.decimal = Some(match text {
            "." => '.',
            "," => ',',
            _ => return Err(format!("{text:?} is neither . nor ,")),
        });
        Ok(())
    }

    pub(crate) fn column(&self, heading: &str) -> Option<&ReadAs> {
        let exact = self.columns.iter().find(|(given, _)| given == heading.trim());
        let given = exact.or_else(|| self.columns.iter().find(|(given, _)| bare(given) == bare(heading)));
        given.map(|(_, of)| of)
    }
}

fn cut<'t>(text: &'t str, form: &str) -> Result<(&'t str, &'t str), String> {
    text.split_once('=').ok_or_else(|| format!("{text:?} is not {form}"))
}

impl NamePattern {
    /// What the parts of a file's name say; `None`: it is not of this pattern.
    pub(crate) fn parts_of(&self, name: &str) -> Option<Vec<(TableColumn, String)>> {
        let mut parts = Vec::new();
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let found = matched(&self.parts, stem, &mut parts) || {
            parts.clear();
            matched(&self.parts, name, &mut parts)
        };
        parts.reverse();
        found.then_some(parts)
    }
}

/// Fits the parts onto a text, the longest first; what it finds stands last part first.
fn matched(parts: &[NamePart], text: &str, found: &mut Vec<(TableColumn, String)>) -> bool {
    let Some((first, rest)) = parts.split_first() else { return text.is_empty() };
    match first {
        NamePart::Literal(literal) => {
            text.strip_prefix(literal.as_str()).is_some_and(|text| matched(rest, text, found))
        }
        NamePart::Column(column) => {
            let ends: Vec<usize> = text.char_indices().map(|(at, c)| at + c.len_utf8()).collect();
            for end in ends.into_iter().rev() {
                let own = &text[..end];
                let fits = column.is_text() || *column == TableColumn::Ignored || number_in(own).is_some();
                if fits && matched(rest, &text[end..], found) {
                    found.push((*column, own.to_string()));
                    return true;
                }
            }
            false
        }
    }
}

/// `64K`, `t4`, `4threads`: the one number of a text, with its unit.
pub(crate) fn number_in(text: &str) -> Option<String> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let digits = text[start..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |end| start + end);
    let (number, behind) = (&text[start..digits], &text[digits..]);
    let letters = |text: &str| text.chars().all(|c| c.is_alphabetic() || c == ' ' || c == '_' || c == '=');
    let behind = behind.trim_matches(['_', ' ']);
    let size = unit::parse(behind).is_ok_and(|unit| unit.dimension == Dimension::Size);
    (letters(&text[..start]) && letters(behind))
        .then(|| format!("{number}{}", if size { behind } else { "" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_reader_says_and_mistakes_in_it() {
        let mut options = ReadingOptions::default();
        options.give_column("throughput=Speed:Mbit/s").unwrap();
        let given = options.column("SPEED").unwrap();
        assert_eq!((given.column, given.unit.as_ref().unwrap().0.factor), (TableColumn::Throughput, 1e6));
        assert!(options.give_column("speed=Speed").unwrap_err().contains("is no role"));
        assert!(options.give_column("troughput=Speed").unwrap_err().contains("did you mean throughput?"));
        assert!(options.give_wide("throughput=threads").is_err());
        assert!(options.give_decimal(";").is_err());
    }

    #[test]
    fn names_of_files_are_taken_apart() {
        let mut options = ReadingOptions::default();
        options.give_name("{mechanism}_{size}_{threads}").unwrap();
        let parts = |name: &str| options.name.as_ref().unwrap().parts_of(name);
        let told = parts("two_copy_64K_t4.csv").unwrap();
        let texts: Vec<&str> = told.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["two_copy", "64K", "t4"]);
        assert_eq!(parts("results.csv"), None);
        assert!(options.clone().give_name("{mechanism}{size}").is_err());
        assert!(options.give_name("plain").is_err());
    }
}
