//! What the reader of a table says of it: roles of headings, a wide layout, what files' names tell, and what never changes.

use crate::TableColumn;
use crate::dictionary::{DICTIONARY, ReadAs, WrittenUnit};
use crate::role::bare;
use crate::unit;
use syscost_core::axis::suggest;
use syscost_core::units::Unit as CoreUnit;

/// Shorter names of roles.
const SHORT: [(&str, &str); 4] =
    [("size", "message_bytes"), ("run", "repetition"), ("rate", "message_rate"), ("name", "mechanism")];

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReadingOptions {
    /// By their headings.
    columns: Vec<(String, ReadAs)>,
    pub(crate) wide: Option<Wide>,
    pub(crate) name: Option<NamePattern>,
    /// For tables without such a column.
    pub threads: Option<u64>,
    pub seconds: Option<f64>,
    /// What stands before decimals: a point or a comma.
    pub decimal: Option<char>,
}

/// Headings that nothing else means are values of the first, and their cells figures of the second.
pub(crate) type Wide = (TableColumn, ReadAs);

/// `{mechanism}_{size}_{threads}`: the parts of a file's name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamePattern {
    pub text: String,
    /// What stands before the first part.
    before: String,
    parts: Vec<NamePart>,
}

/// A part, and what stands behind it.
type NamePart = (TableColumn, String);

/// A role as options call it: its name in files, or a shorter one.
fn column(text: &str) -> Result<TableColumn, String> {
    let text = text.trim();
    let id = SHORT.iter().find(|(short, _)| *short == text).map_or(text, |(_, id)| id);
    toml::Value::String(id.into()).try_into().map_err(|_| {
        let ids: Vec<String> = DICTIONARY.columns.keys().map(|column| column.id()).collect();
        let short = SHORT.iter().map(|(short, _)| *short);
        let names: Vec<&str> = short.chain(ids.iter().map(String::as_str)).collect();
        format!("{text:?} is no role: {}", suggest(text, &names, &[]))
    })
}

/// `ROLE=HEADING:UNIT`; a colon without a unit behind it is part of the heading.
fn cut<'t>(text: &'t str, form: &str) -> Result<(TableColumn, &'t str, Option<WrittenUnit>), String> {
    let (role, rest) = text.split_once('=').ok_or_else(|| format!("{text:?} is not {form}"))?;
    let with_unit = rest.rsplit_once(':').and_then(|(heading, told)| {
        let unit = unit::parse(told).ok().or_else(|| unit::count(told))?;
        Some((heading.trim(), Some((unit, told.trim().to_string()))))
    });
    let (heading, unit) = with_unit.unwrap_or((rest.trim(), None));
    Ok((column(role)?, heading, unit))
}

impl ReadingOptions {
    /// `throughput=Tput:Gbit/s`
    pub fn give_column(&mut self, text: &str) -> Result<(), String> {
        let (role, heading, unit) = cut(text, "ROLE=HEADING[:UNIT]")?;
        if bare(heading).is_empty() {
            return Err(format!("{text:?} names no heading"));
        }
        self.columns.push((heading.into(), ReadAs::mean(role, unit)));
        Ok(())
    }

    /// `threads=throughput:Gbit/s`
    pub fn give_wide(&mut self, text: &str) -> Result<(), String> {
        let (across, quantity, unit) = cut(text, "ACROSS=QUANTITY[:UNIT]")?;
        let quantity = column(quantity)?;
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
        let mut pieces = text.split('{');
        let before = pieces.next().unwrap_or_default().to_string();
        let part = |piece: &str| {
            let cut = piece.split_once('}').ok_or_else(|| format!("{text:?}: a brace is not closed"))?;
            Ok((column(cut.0)?, cut.1.to_string()))
        };
        let parts: Vec<NamePart> = pieces.map(part).collect::<Result<_, String>>()?;
        let Some((_, all_but_last)) = parts.split_last() else {
            return Err(format!("{text:?} has no part in braces: {{mechanism}}_{{size}}_{{threads}} is one"));
        };
        if all_but_last.iter().any(|(_, behind)| behind.is_empty()) {
            return Err(format!("{text:?}: nothing stands between two parts"));
        }
        self.name = Some(NamePattern { text: text.into(), before, parts });
        Ok(())
    }

    pub(crate) fn column(&self, heading: &str) -> Option<&ReadAs> {
        let exact = self.columns.iter().find(|(given, _)| given == heading.trim());
        let given = exact.or_else(|| self.columns.iter().find(|(given, _)| bare(given) == bare(heading)));
        given.map(|(_, of)| of)
    }
}

impl NamePattern {
    /// What the parts of a file's name say; `None`: it is not of this pattern.
    pub(crate) fn parts_of(&self, name: &str) -> Option<Vec<NamePart>> {
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        [stem, name].iter().find_map(|name| matched(&self.parts, name.strip_prefix(&*self.before)?))
    }
}

/// Fits the parts onto a text, the longest first.
fn matched(parts: &[NamePart], text: &str) -> Option<Vec<NamePart>> {
    let Some(((column, behind), parts)) = parts.split_first() else { return text.is_empty().then(Vec::new) };
    let mut ends = text.char_indices().map(|(at, c)| at + c.len_utf8()).rev();
    ends.find_map(|end| {
        let (own, rest) = text.split_at(end);
        let fits = column.is_text() || *column == TableColumn::Ignored || number_in(own).is_some();
        let others = matched(parts, rest.strip_prefix(&**behind).filter(|_| fits)?)?;
        Some(std::iter::once((*column, own.to_string())).chain(others).collect())
    })
}

/// `64K`, `t4`, `4threads`: the one number of a text, with its unit.
pub(crate) fn number_in(text: &str) -> Option<String> {
    let start = text.find(|c: char| c.is_ascii_digit())?;
    let digits = text[start..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |end| start + end);
    let (number, behind) = (&text[start..digits], &text[digits..]);
    let letters = |text: &str| text.chars().all(|c| c.is_alphabetic() || c == ' ' || c == '_' || c == '=');
    let behind = behind.trim_matches(['_', ' ']);
    let size = unit::parse(behind).is_ok_and(|unit| unit.base == CoreUnit::Bytes);
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
