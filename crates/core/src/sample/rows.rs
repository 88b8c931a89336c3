//! The lines of `samples.csv`: one sample each, written so that they read back exactly.
//!
//! Fields are bare numbers, `true`/`false` and ids; none of them is ever quoted, so a line ends at
//! its newline and a row torn by a crash is the one without. Nothing here opens a file. A run may have millions of
//! rows, and every figure is made from them: this is compiled for speed.

use super::{Ids, Quantities, Sample};
use std::collections::HashSet;
use std::fmt::Write;
use std::str::FromStr;
use std::sync::Arc;

/// A column of every row, and what it means (for FORMAT.md).
#[derive(Clone, Copy)]
pub struct CsvColumn {
    pub id: &'static str,
    pub help: &'static str,
}

pub const fn column(id: &'static str, help: &'static str) -> CsvColumn {
    CsvColumn { id, help }
}

/// Whoever reads a file of figures alone must not take a model's counts for hardware's.
pub const COUNTED_BY: CsvColumn = column(
    "counted_by",
    "`modelled cache, emulated CPU`, or `emulated CPU`, where an emulator counted the metric (`syscost lab --count`): never a hardware counter; else empty",
);

/// The columns before the quantities of the run's probes.
pub const FIXED: &[CsvColumn] = &[
    column("case", "index of the case in `plan.cases` of `run.json`"),
    column("probe", "the probe's id; repeats the plan so that the file can be read alone"),
    column("round", "which visit of the case, from 0: a fresh worker or pair of workers"),
    column("sample", "position within the round, from 0"),
    column("elapsed_ns", "wall-clock length of the sample in nanoseconds"),
    column("ops", "operations completed: messages received, calls made"),
    column("bytes", "payload bytes moved; 0 where the operation moves none"),
    column("verified", "`true`: the work was checked (bytes, pattern, count) and was right"),
    column(
        "marks",
        "why the sample is not used, ids separated by `;`; `counting`: its round was for the hardware counters, and only they are used; empty = nothing was seen",
    ),
    column(
        "start_ns",
        "when the sample began: nanoseconds after `started_unix_ns` of `run.json`, on one clock that goes on when the run is resumed; empty where the machine that timed it has no such clock",
    ),
];

/// The names of all columns, in order.
fn names(quantities: &[String]) -> impl Iterator<Item = &str> {
    FIXED.iter().map(|c| c.id).chain(quantities.iter().map(String::as_str))
}

/// Longest line that a reader accepts: far above any real row, far below memory.
pub const LONGEST_LINE: usize = 1 << 20;

/// What is wrong with a row, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadField {
    pub column: String,
    pub reason: String,
}

/// The first line, newline included.
pub fn header(quantities: &[String]) -> String {
    let mut line = names(quantities).collect::<Vec<_>>().join(",");
    line.push('\n');
    line
}

/// All probes together have fewer; a sample holds each of them by its name.
const MOST_QUANTITIES: usize = 1000;

/// Reads the first line (without its newline): the quantities.
pub fn parse_header(line: &str) -> Result<Vec<String>, BadField> {
    let mut fields = line.split(',');
    for wanted in FIXED {
        let found = fields.next().unwrap_or("");
        if found != wanted.id {
            let reason = format!("the header has {:?} here", shorten(found));
            return Err(BadField { column: wanted.id.into(), reason });
        }
    }
    let mut quantities: Vec<String> = Vec::new();
    let mut known: HashSet<&str> = HashSet::new();
    for field in fields {
        let valid = !field.is_empty()
            && field.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if !valid || !known.insert(field) {
            return Err(BadField {
                column: shorten(field),
                reason: "a quantity is a name of its own in lower case".into(),
            });
        }
        if quantities.len() == MOST_QUANTITIES {
            let reason = format!("the header has more than {MOST_QUANTITIES} quantities");
            return Err(BadField { column: shorten(field), reason });
        }
        quantities.push(field.to_string());
    }
    Ok(quantities)
}

/// Appends one row, newline included. Refuses what could not be read back: a number that is not
/// finite, a quantity without a column, a row that is longer than a reader takes.
pub fn write_row(
    line: &mut String,
    sample: &Sample,
    probe: &str,
    quantities: &[String],
) -> Result<(), BadField> {
    let finite = |column: &str, n: f64| {
        let reason = format!("{n} is not a finite number");
        if n.is_finite() { Ok(n) } else { Err(BadField { column: column.into(), reason }) }
    };
    let stray = sample.quantities.iter().find(|(id, _)| !quantities.iter().any(|column| column == id));
    if let Some((id, _)) = stray {
        return Err(BadField { column: id.into(), reason: "the file has no column for it".into() });
    }
    let from = line.len();
    // `{}` of an f64 is the shortest text that reads back as the same number.
    let _ = write!(
        line,
        "{},{probe},{},{},{},{},{},{},{},{}",
        sample.case,
        sample.round,
        sample.index,
        finite("elapsed_ns", sample.elapsed_ns)?,
        finite("ops", sample.ops)?,
        finite("bytes", sample.bytes)?,
        sample.verified,
        marks(&sample.marks),
        sample.start_ns.map(|start| start.to_string()).unwrap_or_default(),
    );
    for id in quantities {
        line.push(',');
        if let Some(n) = sample.get(id) {
            let _ = write!(line, "{}", finite(id, n)?);
        }
    }
    line.push('\n');
    if line.len() - from > LONGEST_LINE {
        let reason = format!("a row of {} bytes, of at most {LONGEST_LINE}", line.len() - from);
        line.truncate(from);
        return Err(BadField { column: "marks".into(), reason });
    }
    Ok(())
}

/// Marks are ids; anything that would break the row becomes an underscore rather than lose it.
fn marks(marks: &[String]) -> String {
    let id = |mark: &String| -> String {
        mark.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
    };
    marks.iter().map(id).collect::<Vec<_>>().join(";")
}

/// The quantity columns of one file, which its rows share.
#[derive(Clone, Debug)]
pub struct Columns {
    quantities: Vec<String>,
    /// The same, and where in it each of the file's columns is.
    ids: Arc<Ids>,
    places: Vec<usize>,
}

impl Columns {
    /// As [`parse_header`] gives them: each quantity once.
    pub fn new(quantities: Vec<String>) -> Columns {
        let ids = Ids::new(quantities.clone());
        let places = quantities.iter().filter_map(|name| ids.place(name)).collect();
        Columns { quantities, ids: Arc::new(ids), places }
    }
}

/// Reads one row (without its newline), and its probe.
pub fn parse_fields<'l>(line: &'l str, columns: &Columns) -> Result<(Sample, &'l str), BadField> {
    let mut values = vec![None; columns.ids.len()].into_boxed_slice();
    let (sample, probe) = fields(line, columns, |place, value| values[place] = Some(value))?;
    Ok((Sample { quantities: Quantities::new(columns.ids.clone(), values), ..sample }, probe))
}

/// The same, whose quantities are read and not kept.
pub fn check_fields<'l>(line: &'l str, columns: &Columns) -> Result<(Sample, &'l str), BadField> {
    fields(line, columns, |_, _| ())
}

fn fields<'l>(
    line: &'l str,
    columns: &Columns,
    mut quantity: impl FnMut(usize, f64),
) -> Result<(Sample, &'l str), BadField> {
    let bad = |column: &str, reason: String| BadField { column: column.into(), reason };
    let found = 1 + line.bytes().filter(|byte| *byte == b',').count();
    let wanted = FIXED.len() + columns.quantities.len();
    if found != wanted {
        let column = names(&columns.quantities).take(found.min(wanted)).last().unwrap_or("case").to_string();
        return Err(bad(&column, format!("the row has {found} fields, the header {wanted}")));
    }
    let mut rest = line;
    // Most fields are empty or short: to look at each byte is quicker than to search for the next comma.
    let mut next = || {
        let end = rest.bytes().position(|byte| byte == b',');
        let (field, behind) = end.map_or((rest, ""), |end| (&rest[..end], &rest[end + 1..]));
        rest = behind;
        field
    };
    let mut sample = Sample { case: whole::<u32>("case", next())? as usize, ..Sample::default() };
    let probe = next();
    sample.round = whole("round", next())?;
    sample.index = whole("sample", next())?;
    sample.elapsed_ns = number("elapsed_ns", next())?;
    sample.ops = number("ops", next())?;
    sample.bytes = number("bytes", next())?;
    sample.verified = match next() {
        "true" => true,
        "false" => false,
        other => return Err(bad("verified", format!("{:?} is neither true nor false", shorten(other)))),
    };
    sample.marks = next().split(';').filter(|m| !m.is_empty()).map(String::from).collect();
    let start = next();
    sample.start_ns = if start.is_empty() { None } else { Some(whole("start_ns", start)?) };
    for (name, place) in columns.quantities.iter().zip(&columns.places) {
        let text = next();
        // Most runs lack dozens of counters in every row.
        if !text.is_empty() {
            quantity(*place, number(name, text)?);
        }
    }
    Ok((sample, probe))
}

fn whole<N: FromStr>(column: &str, text: &str) -> Result<N, BadField> {
    let reason = || format!("{:?} is not a whole number", shorten(text));
    text.parse().map_err(|_| BadField { column: column.into(), reason: reason() })
}

fn number(column: &str, text: &str) -> Result<f64, BadField> {
    match text.parse::<f64>() {
        Ok(n) if n.is_finite() => Ok(n),
        _ => Err(BadField { column: column.into(), reason: format!("{:?} is not a number", shorten(text)) }),
    }
}

/// A stranger's field in an error message: short.
pub fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn columns(names: &[&str]) -> Columns {
        Columns::new(names.iter().map(|name| name.to_string()).collect())
    }

    fn finite() -> impl Strategy<Value = f64> {
        any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |n| n.is_finite())
    }

    #[test]
    fn a_header_of_more_quantities_than_there_are_is_refused() {
        let fixed: Vec<&str> = FIXED.iter().map(|column| column.id).collect();
        let header = |n: usize| {
            let quantities = (0..n).map(|i| format!("q{i}"));
            fixed.iter().map(ToString::to_string).chain(quantities).collect::<Vec<_>>().join(",")
        };
        assert_eq!(parse_header(&header(MOST_QUANTITIES)).unwrap().len(), MOST_QUANTITIES);
        assert!(parse_header(&header(MOST_QUANTITIES + 1)).unwrap_err().reason.contains("more than 1000"));
    }

    proptest! {
        #[test]
        fn rows_read_back_exactly(
            numbers in proptest::collection::vec(finite(), 4),
            gap in any::<bool>(), verified in any::<bool>(), round in any::<u32>(), marked in any::<bool>(),
            start_ns in any::<Option<u64>>(),
        ) {
            let columns = vec!["a".to_string(), "b_ns".to_string()];
            prop_assert_eq!(parse_header(header(&columns).trim_end()), Ok(columns.clone()));
            let sample = Sample {
                case: 1, round, index: 3, start_ns,
                elapsed_ns: numbers[0], ops: numbers[1], bytes: numbers[2], verified,
                marks: if marked { vec!["steal".into(), "stopped".into()] } else { vec![] },
                quantities: if gap { Quantities::default() } else { BTreeMap::from([("a".into(), Some(numbers[3]))]).into() },
                histogram: None,
            };
            let mut line = String::new();
            write_row(&mut line, &sample, "transfer", &columns).unwrap();
            let (read, probe) = parse_fields(line.trim_end_matches('\n'), &Columns::new(columns.clone())).unwrap();
            prop_assert_eq!(probe, "transfer");
            prop_assert_eq!(&read, &sample);
            let mut again = String::new();
            write_row(&mut again, &read, "transfer", &columns).unwrap();
            prop_assert_eq!(again, line);
        }

        #[test]
        fn no_line_panics(line in "[0-9a-z,;.\\-\"\u{0}é]{0,80}") {
            let _ = parse_header(&line);
            let (read, checked) = (parse_fields(&line, &columns(&["a"])), check_fields(&line, &columns(&["a"])));
            prop_assert_eq!(read.err(), checked.err());
        }
    }

    #[test]
    fn a_bad_field_names_its_column() {
        let row = |text: &str| parse_fields(text, &columns(&["a"])).unwrap_err();
        assert_eq!(row("0,transfer,0,0,1,2,3,true,,,x").column, "a");
        assert_eq!(row("0,transfer,0,0,1,inf,3,true,,,1").column, "ops");
        assert_eq!(row("0,transfer,0,0,1,2,3,yes,,,1").column, "verified");
        assert_eq!(row("0,transfer,0,-1,1,2,3,true,,,1").column, "sample");
        assert!(row("0,transfer,0").reason.contains("3 fields"));
    }

    #[test]
    fn a_row_longer_than_a_reader_takes_is_not_written() {
        let marked = |bytes: usize| Sample { marks: vec!["m".repeat(bytes)], ..Sample::default() };
        let mut line = "before\n".to_string();
        let refused = write_row(&mut line, &marked(LONGEST_LINE), "transfer", &[]);
        assert_eq!((refused.unwrap_err().column.as_str(), line.as_str()), ("marks", "before\n"));
        assert_eq!(write_row(&mut line, &marked(LONGEST_LINE / 2), "transfer", &[]), Ok(()));
    }

    #[test]
    fn what_could_not_be_read_back_is_not_written() {
        let mut line = String::new();
        let sample = Sample { elapsed_ns: f64::NAN, ..Sample::default() };
        assert_eq!(write_row(&mut line, &sample, "transfer", &[]).unwrap_err().column, "elapsed_ns");
        let quantities = BTreeMap::from([("stray".to_string(), Some(1.0))]).into();
        let sample = Sample { quantities, ..Sample::default() };
        assert_eq!(write_row(&mut line, &sample, "transfer", &[]).unwrap_err().column, "stray");
    }
}
