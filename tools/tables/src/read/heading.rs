//! What the headings of a table say: columns, and places along an axis where a table is wider than long
//! (sizes, thread counts or mechanisms as columns).

use crate::mapping::NameMeaning;
use crate::memo::Memo;
use crate::naming;
use crate::unit::{self, DecimalMark, Dimension, UnitScale};
use crate::vocabulary::{self, bare};
use crate::{ColumnMapping, PublishedFigure, PublishedRow, TableColumn};
use std::collections::BTreeSet;

/// Longer headings are not searched for places: every cut of the text is tried.
const LONGEST: usize = 64;
/// A number alone, as large as this, is a size: nobody has so many threads.
pub const SMALLEST_SIZE: u64 = 64;

/// What a cell that is left empty takes from the row above, as merged cells are exported.
pub const AXES: [TableColumn; 3] = [TableColumn::Mechanism, TableColumn::MessageBytes, TableColumn::Threads];

/// Where along the axes a column's figures stand.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeadingPlace {
    pub mechanism: Option<String>,
    pub bytes: Option<u64>,
    pub threads: Option<u64>,
    pub repetition: Option<u64>,
    /// A number alone: a size or a thread count.
    pub number: Option<u64>,
}

impl HeadingPlace {
    pub fn is_some(&self) -> bool {
        *self != HeadingPlace::default()
    }

    pub fn axes(&self) -> Vec<TableColumn> {
        let said = [self.mechanism.is_some(), self.bytes.is_some(), self.threads.is_some()];
        AXES.into_iter().zip(said).filter(|(_, said)| *said).map(|(axis, _)| axis).collect()
    }

    /// Its numbers, each with the column that they are of.
    pub fn numbers(&self) -> impl Iterator<Item = (TableColumn, f64)> {
        let all = [
            (TableColumn::MessageBytes, self.bytes),
            (TableColumn::Threads, self.threads),
            (TableColumn::Repetition, self.repetition),
        ];
        all.into_iter().filter_map(|(column, number)| Some((column, number? as f64)))
    }

    /// Gives a row the numbers that it does not say itself.
    pub fn fill(&self, row: &mut PublishedRow) {
        for (column, number) in self.numbers() {
            row.figures.entry(column).or_insert(PublishedFigure::exact(number));
        }
    }

    /// What it says of names, sizes and threads, each under a heading of its own.
    pub fn as_cells(&self) -> Vec<(&'static str, String)> {
        let all = [
            ("mechanism", self.mechanism.clone()),
            ("size", self.bytes.map(|n| n.to_string())),
            ("threads", self.threads.map(|n| n.to_string())),
        ];
        // A number alone may be either: `32*1024 bytes` has no 32 threads.
        if self.number.is_some() {
            return Vec::new();
        }
        all.into_iter().filter_map(|(heading, text)| Some((heading, text?))).collect()
    }
}

/// A column of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct TableHeading {
    pub text: String,
    /// `None`: figures whose quantity the heading does not name, or a heading that is not understood.
    pub column: Option<TableColumn>,
    pub unit: Option<UnitScale>,
    /// As of [`naming::NamedColumn`].
    pub rank: u8,
    pub place: Option<HeadingPlace>,
}

impl TableHeading {
    pub fn of(text: &str, mapping: &ColumnMapping) -> TableHeading {
        thread_local! {
            static KNOWN: Memo<TableHeading> = Memo::default();
        }
        let look_up = |text: &str| TableHeading::looked_up(text, mapping);
        if mapping.is_plain() { KNOWN.with(|known| known.of(text, look_up)) } else { look_up(text) }
    }

    fn looked_up(text: &str, mapping: &ColumnMapping) -> TableHeading {
        let heading =
            |column, unit, rank, place| TableHeading { text: text.into(), column, unit, rank, place };
        if let Some((column, unit)) = mapping.column(text) {
            return heading(Some(column), unit, 0, None);
        }
        // Most cells are numbers: nothing else is looked for in them.
        if let Some((value, _, None)) = unit::number(text, DecimalMark::Point) {
            let place = whole(value).map(|n| HeadingPlace { number: Some(n), ..Default::default() });
            return heading(None, None, 0, place);
        }
        let of_size = text.starts_with(|c: char| c.is_ascii_digit()).then(|| sized(text)).flatten();
        if let Some(bytes) = of_size {
            return heading(None, None, 0, Some(HeadingPlace { bytes: Some(bytes), ..Default::default() }));
        }
        // An exponent is no size.
        if bare(text).starts_with("log2") {
            return heading(None, None, 0, None);
        }
        let found = if text.len() <= LONGEST { place(text, mapping) } else { None };
        // `A1, 64 B, L1 misses`: all of it is understood as a quantity at a place.
        let whole =
            found.as_ref().is_some_and(|said| said.column.is_some() && said.place.as_cells().len() > 1);
        if let Some(named) = naming::column_of(text).filter(|_| !whole) {
            return heading(Some(named.column), named.unit, named.rank, None);
        }
        if let Some(said) = found {
            return heading(said.column, said.unit, said.rank, Some(said.place));
        }
        let alone = naming::unit_alone(text);
        let unit = alone.and_then(|named| named.unit).or_else(|| cut_unit(text).map(|(_, unit)| unit));
        heading(alone.map(|named| named.column), unit, 1, None)
    }

    /// It is none of the columns known here.
    pub fn forget(&mut self) {
        (self.column, self.place) = (None, None);
    }

    pub fn is_understood(&self) -> bool {
        self.column.is_some() || self.place.is_some()
    }

    /// Is it a column of its own, and not one of several along an axis?
    pub fn is_plain(&self) -> bool {
        self.place.is_none() && self.column.is_some()
    }

    /// A number alone may be a value of a row without headings.
    pub fn is_number(&self) -> bool {
        self.place.as_ref().is_some_and(|place| place.number.is_some())
    }
}

/// What a part of a heading says.
#[derive(Clone, Default)]
struct HeadingPart {
    column: Option<TableColumn>,
    unit: Option<UnitScale>,
    rank: u8,
    place: HeadingPlace,
}

impl HeadingPart {
    /// Two parts that say different things; one thing said twice is once.
    fn and(self, other: HeadingPart) -> Option<HeadingPart> {
        fn one<T: PartialEq>(a: Option<T>, b: Option<T>) -> Result<Option<T>, ()> {
            match (a, b) {
                (Some(a), Some(b)) => {
                    if a == b {
                        Ok(Some(a))
                    } else {
                        Err(())
                    }
                }
                (a, b) => Ok(a.or(b)),
            }
        }
        let both = || {
            Ok::<_, ()>(HeadingPart {
                column: one(self.column, other.column)?,
                unit: one(self.unit, other.unit)?,
                rank: self.rank.max(other.rank),
                place: HeadingPlace {
                    mechanism: one(self.place.mechanism, other.place.mechanism)?,
                    bytes: one(self.place.bytes, other.place.bytes)?,
                    threads: one(self.place.threads, other.place.threads)?,
                    repetition: one(self.place.repetition, other.place.repetition)?,
                    number: one(self.place.number, other.place.number)?,
                },
            })
        };
        both().ok().map(HeadingPart::named)
    }

    /// `size 64`, `threads=4`: the column is the axis of the number.
    fn named(mut self) -> HeadingPart {
        let axis = match self.column {
            Some(TableColumn::MessageBytes) => &mut self.place.bytes,
            Some(TableColumn::Threads) => &mut self.place.threads,
            Some(TableColumn::Repetition) => &mut self.place.repetition,
            _ => return self,
        };
        if let Some(number) = self.place.number.take() {
            *axis = Some(number);
        }
        if axis.is_some() {
            self.column = None;
        }
        self
    }
}

/// A place, alone or with a quantity: `64 KB`, `4 threads`, `A1 (2-copy)`, `A1 Throughput (Gbps)`.
fn place(text: &str, mapping: &ColumnMapping) -> Option<HeadingPart> {
    let found = named(text, mapping).or_else(|| cut(text, mapping, 2))?;
    found.place.is_some().then_some(found)
}

/// `splice (s)`: a name that nothing is known of, and the unit of its figures.
pub fn cut_unit(text: &str) -> Option<(&str, UnitScale)> {
    let (name, unit) = unit::bracketed(text)?;
    Some((name, unit::parse(unit).ok()?))
}

/// `splice cycles`, `splice_us`: the unit stands behind the name.
pub fn unit_behind(text: &str) -> Option<(&str, UnitScale)> {
    let (name, unit) = text.trim().rsplit_once([' ', '_', '.'])?;
    let measured = [Dimension::Cycles, Dimension::Time, Dimension::Rate];
    let unit = unit::parse(unit).ok().filter(|of| unit.len() > 1 && measured.contains(&of.dimension))?;
    Some((name.trim(), unit))
}

/// A way to send, as the table calls it or as its reader says.
fn named(text: &str, mapping: &ColumnMapping) -> Option<HeadingPart> {
    let placed = |word: &str| {
        sized(word).is_some() || word.contains(char::is_numeric) && numbered(word, THREADS).is_some()
    };
    if mapping.mechanism(text).is_none() && text.split([' ', '_', ',']).any(placed) {
        return None;
    }
    let mechanism = match mapping.mechanism(text) {
        Some(NameMeaning::Mechanism(id)) => id.to_string(),
        Some(NameMeaning::Role(_)) => text.trim().to_string(),
        None if vocabulary::exact_role(text).is_some() || vocabulary::is_control(text) => {
            text.trim().to_string()
        }
        None => return None,
    };
    // `Two-copy (A1)` in front of a quantity is cut before its bracket closes.
    let open = mechanism.contains('(') && !mechanism.contains(')');
    let mechanism = mechanism + if open { ")" } else { "" };
    Some(HeadingPart {
        place: HeadingPlace { mechanism: Some(mechanism), ..Default::default() },
        ..Default::default()
    })
}

/// One part, or parts of which each is understood.
fn cut(text: &str, mapping: &ColumnMapping, cuts: usize) -> Option<HeadingPart> {
    let text = text.trim_matches(|c: char| !c.is_alphanumeric() && c != '%');
    if let Some(part) = part(text, mapping) {
        return Some(part);
    }
    if cuts == 0 {
        return None;
    }
    // `A1 (2-copy` is no part.
    let whole = |at: usize| text[..at].matches('(').count() == text[..at].matches(')').count();
    let separators = text.char_indices().filter(|(at, c)| !c.is_alphanumeric() && whole(*at));
    separators
        .filter_map(|(at, c)| {
            part(&text[..at], mapping)?.and(cut(&text[at + c.len_utf8()..], mapping, cuts - 1)?)
        })
        .next()
}

fn part(text: &str, mapping: &ColumnMapping) -> Option<HeadingPart> {
    let said = |place| Some(HeadingPart { place, ..Default::default() });
    if let Some(named) = naming::column_of(text)
        .filter(|n| !matches!(n.column, TableColumn::Mechanism | TableColumn::Operation))
    {
        return Some(HeadingPart {
            column: Some(named.column),
            unit: named.unit,
            rank: named.rank,
            ..Default::default()
        });
    }
    let digit = text.starts_with(|c: char| c.is_ascii_digit());
    if let Some(unit) = unit::parse(text).ok().filter(|_| !digit) {
        return Some(HeadingPart { unit: Some(unit), ..Default::default() });
    }
    if let Some(part) = named(text, mapping) {
        return Some(part);
    }
    // `p50_us`
    if let Some(named) = naming::unit_alone(text).filter(|_| !digit) {
        return Some(HeadingPart {
            column: Some(named.column),
            unit: named.unit,
            rank: named.rank,
            ..Default::default()
        });
    }
    if let Some(threads) = numbered(text, THREADS) {
        return said(HeadingPlace { threads: Some(threads), ..Default::default() });
    }
    if let Some(repetition) = numbered(text, REPETITIONS) {
        return said(HeadingPlace { repetition: Some(repetition), ..Default::default() });
    }
    if let Some(bytes) = sized(text) {
        return said(HeadingPlace { bytes: Some(bytes), ..Default::default() });
    }
    let (value, _, unit) = unit::number(text, DecimalMark::Point)?;
    let number = whole(value).filter(|_| unit.is_none())?;
    said(HeadingPlace { number: Some(number), ..Default::default() })
}

fn whole(value: f64) -> Option<u64> {
    (value >= 0.0 && value.fract() == 0.0).then_some(value as u64)
}

/// `64 KB`, `64-byte messages`
pub fn sized(text: &str) -> Option<u64> {
    let text = SIZES.iter().find_map(|word| strip(text, word)).unwrap_or(text);
    let (value, _, unit) = unit::number(text, DecimalMark::Point)?;
    let unit = unit?.trim_start_matches('-').trim();
    let of_messages = unit.rsplit_once([' ', '-']).filter(|(_, last)| vocabulary::is_message(last));
    let scale = unit::parse(of_messages.map_or(unit, |(unit, _)| unit)).ok()?;
    (scale.dimension == Dimension::Size).then(|| whole(value * scale.factor)).flatten()
}

/// `SIZE512B`
const SIZES: &[&str] = &["size", "msg", "msgsize", "field"];

fn strip<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let (head, rest) = text.split_at_checked(word.len())?;
    (head.eq_ignore_ascii_case(word) && rest.starts_with(|c: char| c.is_ascii_digit())).then_some(rest)
}

const THREADS: &[&str] = &["threads", "thread", "cores", "core", "clients", "client", "streams", "thr", "t"];
const REPETITIONS: &[&str] = &["run", "trial", "rep", "repetition", "iteration", "iter"];

/// `4 threads`, `T4`, `4t`, `Run 3`
pub fn numbered(text: &str, words: &[&str]) -> Option<u64> {
    let text = bare(text);
    words.iter().find_map(|word| text.strip_prefix(word).or_else(|| text.strip_suffix(word))?.parse().ok())
}

pub fn is_number_alone(text: &str) -> bool {
    unit::number(text, DecimalMark::Point).is_some_and(|(.., unit)| unit.is_none())
}

pub fn quantity(text: &str) -> bool {
    naming::column_of(text)
        .or_else(|| naming::unit_alone(text))
        .is_some_and(|n| !n.column.is_text() && !n.column.is_place())
}

/// Numbers alone become sizes or thread counts, whichever axis the table lacks.
pub fn settle(headings: &mut [TableHeading]) -> Result<(), String> {
    forget_call(headings);
    let along = |axis: fn(&HeadingPlace) -> Option<u64>| {
        headings.iter().filter_map(|h| h.place.as_ref()).any(|p| axis(p).is_some())
    };
    let has = |column| headings.iter().any(|h| h.is_plain() && h.column == Some(column));
    let sizes = has(TableColumn::MessageBytes) || along(|p| p.bytes);
    let threads = has(TableColumn::Threads) || along(|p| p.threads);
    let Some(most) = headings.iter().filter_map(|h| h.place.as_ref()?.number).max() else { return Ok(()) };
    let are_threads = match (sizes, threads) {
        (true, false) => true,
        (false, true) => false,
        _ if most >= SMALLEST_SIZE => false,
        _ => {
            return Err(format!(
                "are headings such as \"{most}\" sizes or threads? Write \"{most} B\" or \"{most} threads\""
            ));
        }
    };
    // `64` beside `64K`
    let sized =
        headings.iter().filter_map(|h| h.place.as_ref()).any(|p| p.bytes.is_some() && p.number.is_none());
    for place in headings.iter_mut().filter_map(|h| h.place.as_mut()) {
        let Some(number) = place.number.take() else { continue };
        let are_threads = are_threads && (!sized || place.bytes.is_some());
        *(if are_threads { &mut place.threads } else { &mut place.bytes }) = Some(number);
    }
    Ok(())
}

/// `send_us` beside no other way is the time of a call.
fn forget_call(headings: &mut [TableHeading]) {
    let way = |heading: &TableHeading| heading.place.as_ref()?.mechanism.clone();
    let ways: BTreeSet<String> = headings.iter().filter_map(way).collect();
    if ways.len() == 1 && ways.iter().all(|name| vocabulary::is_control(name)) {
        headings.iter_mut().filter(|heading| way(heading).is_some()).for_each(TableHeading::forget);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_measure::mechanism::Class;

    fn of(text: &str) -> TableHeading {
        TableHeading::of(text, &ColumnMapping::default())
    }

    #[test]
    fn places_with_and_without_a_quantity() {
        let two = |name: Option<String>| vocabulary::role(&name.unwrap_or_default());
        let place = |text: &str| of(text).place.unwrap_or_else(|| panic!("{text}"));
        assert_eq!(place("64KB").bytes, Some(65536));
        assert_eq!(place("1 MiB").bytes, Some(1 << 20));
        assert_eq!(place("size=64").bytes, Some(64));
        for text in ["4 threads", "T4", "Threads=4", "4t"] {
            assert_eq!(place(text).threads, Some(4), "{text}");
        }
        for text in ["A1 (2-copy)", "Two-Copy", "A1 (baseline)", "A1_TwoCopy"] {
            assert_eq!((place(text).mechanism.as_deref(), of(text).column), (Some(text), None), "{text}");
        }
        for text in [
            "A1 Throughput (Gbps)",
            "A1_throughput_gbps",
            "Throughput A1 [Gbit/s]",
            "two-copy throughput Gbps",
        ] {
            let heading = of(text);
            assert_eq!(
                (heading.column, heading.unit.map(|u| u.factor)),
                (Some(TableColumn::Throughput), Some(1e9)),
                "{text}"
            );
            assert_eq!(two(heading.place.and_then(|p| p.mechanism)), Some(Class::TwoCopy), "{text}");
        }
        let unit = of("A1 (Gbps)");
        assert_eq!((unit.column, unit.unit.map(|u| u.factor)), (None, Some(1e9)));
        assert_eq!(of("favourite colour").place, None);
    }

    #[test]
    fn numbers_alone_are_the_axis_that_is_missing() {
        let settled = |texts: &[&str]| {
            let mut headings: Vec<TableHeading> = texts.iter().map(|t| of(t)).collect();
            settle(&mut headings).map(|()| headings.pop().and_then(|h| h.place).expect("a place"))
        };
        assert_eq!(settled(&["Impl", "64", "1024"]).unwrap().bytes, Some(1024));
        assert_eq!(settled(&["Impl", "Size", "1", "2"]).unwrap().threads, Some(2));
        assert_eq!(settled(&["Impl", "Threads", "16", "32"]).unwrap().bytes, Some(32));
        assert!(settled(&["Impl", "1", "2"]).unwrap_err().contains("sizes or threads"));
    }
}
