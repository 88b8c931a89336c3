//! What a line in words says: `Two Copy (64 bytes): 1.23 Gbps`, `[A1] size=64 -> 0.21 Gbps, 12.1 us`, `Sent 1000 bytes in
//! 2.5 s`.

use super::heading::{HeadingPlace, TableHeading};
use super::titles;
use crate::unit::{self, DecimalMark, Dimension};
use crate::{ColumnMapping, TableColumn, naming, vocabulary};

/// Longer lines are prose.
const LONGEST: usize = 160;
/// Words of a unit: `us per message`.
const UNIT_WORDS: usize = 3;
/// Before what was moved in all.
const MOVED: &[&str] = &["sent", "transferred", "wrote", "read", "copied", "total", "moved"];
/// Of a time beside a rate, whose name the text does not say.
pub const UNNAMED: &str = "latency (unnamed)";
/// Before how long it took.
const TOOK: &[&str] = &["in", "took", "for", "elapsed", "duration", "time"];

/// What a part of a line says.
#[derive(Clone, Debug, PartialEq)]
pub enum WordedItem {
    /// `size`, and which.
    Place(&'static str, String),
    /// A figure with its unit under what it is called.
    Figure { heading: String, column: Option<TableColumn>, cell: String },
}

impl WordedItem {
    /// Which column it belongs to.
    pub fn key(&self) -> String {
        match self {
            WordedItem::Place(heading, _) => heading.to_string(),
            WordedItem::Figure { heading, column, .. } => match column {
                Some(column) if column.is_measure() && *column != TableColumn::Spread => column.title(),
                _ => heading.to_lowercase(),
            },
        }
    }

    pub fn is_figure(&self) -> bool {
        matches!(self, WordedItem::Figure { .. })
    }

    /// What a run is made for: no size of all that was sent, no duration.
    pub fn is_result(&self) -> bool {
        use TableColumn::{Bytes, Elapsed, Spread};
        matches!(self, WordedItem::Figure { column: Some(of), .. } if of.is_measure() && ![Bytes, Elapsed, Spread].contains(of))
    }
}

#[derive(Default)]
pub struct WordedLine<'t> {
    /// From 1.
    pub line: usize,
    pub text: &'t str,
    pub items: Vec<WordedItem>,
    /// Its other words.
    pub rest: Vec<String>,
    /// It has a figure with a unit that nothing calls by a name.
    pub lost: bool,
}

impl WordedLine<'_> {
    /// What it says, and of whom not.
    pub fn shape(&self) -> Vec<String> {
        self.items.iter().map(WordedItem::key).collect()
    }

    pub fn has_figures(&self) -> bool {
        self.items.iter().any(WordedItem::is_figure)
    }
}

pub fn lines<'t>(text: &'t str, mapping: &ColumnMapping) -> Vec<WordedLine<'t>> {
    let mut quantity = None;
    let mut all = Vec::new();
    for (index, whole) in text.lines().enumerate() {
        let text = whole.trim();
        let line = text.trim_start_matches(['-', '*', '•', '>', '#', '=', ' ']);
        if !line.contains(char::is_alphanumeric) || line.len() > LONGEST {
            continue;
        }
        let mut reading =
            WordedReading { mapping, quantity, items: Vec::new(), rest: Vec::new(), lost: false };
        reading.line(line);
        let WordedReading { items, rest, lost, .. } = reading;
        let read = WordedLine { line: index + 1, text, items, rest, lost };
        quantity = reading.quantity;
        // `Latency at 1 KB:` says what the figures below are.
        if !read.has_figures() {
            let said = titles::of(line, mapping).and_then(|title| title.figures?.column);
            quantity = said.map(TableColumn::title).or(quantity);
        }
        all.push(read);
    }
    all
}

/// A line that is being read.
struct WordedReading<'m> {
    mapping: &'m ColumnMapping,
    /// What figures are that nothing in their clause calls by a name.
    quantity: Option<String>,
    items: Vec<WordedItem>,
    rest: Vec<String>,
    lost: bool,
}

impl WordedReading<'_> {
    fn line(&mut self, line: &str) {
        for clause in clauses(line) {
            self.clause(clause);
        }
        // `Running server A1 on port 8080`
        if self.items.is_empty()
            && let Some(title) = titles::of(line, self.mapping)
        {
            self.places(&title.place);
        }
    }

    fn clause(&mut self, clause: &str) {
        let said = TableHeading::of(clause, self.mapping);
        let place = said.place.filter(|_| said.column.is_none());
        if let Some(place) = place.filter(|place| !place.as_cells().is_empty() || place.repetition.is_some())
        {
            return self.places(&place);
        }
        match clause.split_once(['=', ':']) {
            Some((key, value)) => self.pair(key.trim(), value.trim()),
            None => self.words(clause, None),
        }
    }

    fn places(&mut self, place: &HeadingPlace) {
        let mut cells = place.as_cells();
        cells.extend(place.repetition.map(|run| ("run", run.to_string())));
        // `Mode: A1`
        let value =
            |text: String| text.rsplit_once([':', '=']).map_or(text.clone(), |(_, own)| own.trim().into());
        self.items.extend(cells.into_iter().map(|(heading, text)| WordedItem::Place(heading, value(text))));
    }

    fn leave(&mut self, words: &[&str]) {
        // `4 threads sent`
        let threads = |pair: &[&str]| TableHeading::of(&pair.join(" "), self.mapping).place?.threads;
        let counted = |pair: &&[&str]| is_number(pair[0]) && !pair[1].starts_with("core");
        let said = words.windows(2).filter(counted).find_map(threads);
        self.items.extend(said.map(|threads| WordedItem::Place("threads", threads.to_string())));
        let bare = |word: &&str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_string();
        self.rest.extend(words.iter().map(bare).filter(|word| !word.is_empty()));
    }

    /// `Threads: 4`, `Mode: two_copy`, `Throughput: 3.2 Gbps`, `Two Copy: 3.2 Gbps`, `Latency: avg 12 us`
    fn pair(&mut self, key: &str, value: &str) {
        let named = TableHeading::of(key, self.mapping);
        let column = named.column.filter(|_| named.is_plain());
        let number = unit::number(value, DecimalMark::Point)
            .filter(|(.., of)| of.is_none_or(|of| unit_of(of).is_some()));
        match (column, number) {
            (Some(TableColumn::Mechanism), None) if !value.is_empty() => {
                self.items.push(WordedItem::Place("mechanism", value.into()));
            }
            (Some(TableColumn::MessageBytes), Some(_)) => {
                self.items.push(WordedItem::Place("size", value.into()));
            }
            (Some(TableColumn::Threads), Some(_)) => {
                self.items.push(WordedItem::Place("threads", value.into()));
            }
            (Some(TableColumn::Repetition), Some(_)) => {
                self.items.push(WordedItem::Place("run", value.into()));
            }
            (Some(_), Some(_)) => self.figure(key, column, value.into()),
            (Some(_), None) => self.words(value, Some(key)),
            (None, _) if key.contains(char::is_alphabetic) => {
                let (items, rest) = (self.items.len(), self.rest.len());
                self.clause(key);
                // A key that names nobody says of what its figure is.
                let label = (self.items.len() == items).then_some(key);
                if label.is_some() {
                    self.rest.truncate(rest);
                }
                self.words(value, label);
            }
            (None, _) => self.words(value, None),
        }
    }

    fn figure(&mut self, heading: &str, column: Option<TableColumn>, cell: String) {
        self.items.push(WordedItem::Figure { heading: heading.into(), column, cell });
    }

    /// Figures with a unit among words, each called by those before it.
    fn words(&mut self, clause: &str, mut label: Option<&str>) {
        let words: Vec<&str> = clause.split_whitespace().collect();
        let (mut from, mut at) = (0, 0);
        while at < words.len() {
            let Some((many, cell, dimension)) = figure(&words[at..]) else {
                at += 1;
                continue;
            };
            let (behind, end) = (&words[from..at], at + many);
            at = end;
            from = at;
            // `105 sec 898568292 ns` is one time, and no figure that is read.
            if dimension == Dimension::Time
                && let Some((more, rest, Dimension::Time)) = words.get(end..).and_then(figure)
            {
                self.lose(behind, format!("{cell} {rest}"));
                (from, at) = (end + more, end + more);
                continue;
            }
            // `sent 64 B messages`
            if dimension == Dimension::Size && words.get(end).is_some_and(|next| vocabulary::is_message(next))
            {
                self.leave(behind);
                self.items.push(WordedItem::Place("size", cell));
                continue;
            }
            self.called(behind, label.take(), cell, dimension);
        }
        self.leave(&label.map_or(Vec::new(), |label| label.split_whitespace().collect()));
        self.leave(&words[from..]);
    }

    fn called(&mut self, before: &[&str], label: Option<&str>, cell: String, dimension: Dimension) {
        let text = before.join(" ");
        let is = vocabulary::has_word;
        if dimension == Dimension::Size {
            match (is_moved(&text), text.is_empty() || vocabulary::is_message(&text)) {
                (true, _) => {
                    // `BS= 1024: Read 1000 bytes`
                    let all = label.into_iter().flat_map(str::split_whitespace).chain(before.iter().copied());
                    let others: Vec<&str> = all.filter(|word| !is_moved(word)).collect();
                    self.leave(&others);
                    self.figure("total bytes", Some(TableColumn::Bytes), cell);
                }
                (_, true) => self.items.push(WordedItem::Place("size", cell)),
                _ => self.lose(before, cell),
            }
            return;
        }
        let known = |heading: &str| {
            let said = TableHeading::of(heading, self.mapping);
            said.column.filter(|column| said.is_plain() && column.is_measure())
        };
        let whole = label.map_or(text.clone(), |label| format!("{label} {text}"));
        let whole = whole.trim();
        if let Some(column) = known(whole) {
            return self.figure(whole, Some(column), cell);
        }
        // `p99 40 us` below or behind a latency is a part of it, a deviation is one of anything.
        if is(whole, naming::SPREADS) && !is(whole, naming::MEANS) {
            let deviation = is(whole, naming::WHOLE_SPREADS).then(|| "standard deviation".to_string());
            let part = || self.quantity.as_deref().map(|quantity| format!("{quantity} {text}"));
            let heading = deviation.or_else(part).unwrap_or(whole.to_string());
            return self.figure(&heading, None, cell);
        }
        if vocabulary::exact_role(&text).is_some() {
            self.items.push(WordedItem::Place("mechanism", text.clone()));
        } else if !whole.is_empty() {
            self.leave(&whole.split_whitespace().collect::<Vec<_>>());
        }
        let quantity = self.quantity.clone().filter(|quantity| {
            let column = naming::column_of(quantity).map(|named| named.column);
            column
                .is_some_and(|column| naming::unit_for(column, cell.trim_start_matches(is_of_number)).is_ok())
        });
        match (quantity, dimension) {
            (Some(quantity), _) => self.figure(&quantity, known(&quantity), cell),
            (_, Dimension::Rate) => self.figure("throughput", Some(TableColumn::Throughput), cell),
            (_, Dimension::Calls) => self.figure("message rate", Some(TableColumn::MessageRate), cell),
            (_, Dimension::Time) if is(whole, TOOK) => {
                self.figure("duration", Some(TableColumn::Elapsed), cell);
            }
            // `0.21 Gbps, 12.1 us`
            (_, Dimension::Time) if whole.is_empty() && !self.items.is_empty() => {
                self.figure(UNNAMED, Some(TableColumn::Latency), cell);
            }
            _ => self.lose(&[], cell),
        }
    }

    fn lose(&mut self, before: &[&str], cell: String) {
        self.leave(before);
        self.lost = true;
        self.rest.push(cell);
    }
}

fn is_moved(text: &str) -> bool {
    vocabulary::has_word(text, MOVED) || vocabulary::tokens(text).iter().any(|word| word.starts_with("rec"))
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_digit())
}

fn is_of_number(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '.' | ',' | ' ')
}

/// Of a line, the parts between marks; `64 bytes, 4 threads -> 0.2 Gbps (12 us)` has four.
fn clauses(line: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut from = 0;
    let bytes = line.as_bytes();
    for (at, c) in line.char_indices() {
        let next = bytes.get(at + 1).copied().unwrap_or(b' ');
        let before = at.checked_sub(1).map_or(b' ', |at| bytes[at]);
        let splits = match c {
            // `1,024`
            ',' => !(before.is_ascii_digit() && next.is_ascii_digit()),
            '-' => before == b' ' && next == b' ' || next == b'>',
            '=' => next == b'>',
            '>' => matches!(before, b'-' | b'='),
            // `2,000 ops/s / 3 us` is apart, `Gbit/s` is not.
            '/' => before == b' ' && next == b' ',
            ';' | '|' | '(' | ')' | '[' | ']' | '{' | '}' | '\t' | '–' | '—' | '→' | '@' => true,
            _ => false,
        };
        if splits {
            all.push(&line[from..at]);
            from = at + c.len_utf8();
        }
    }
    all.push(&line[from..]);
    let whole = |clause: &&str| clause.contains(char::is_alphanumeric);
    all.into_iter().map(|clause| clause.trim().trim_end_matches([':', '.'])).filter(whole).collect()
}

/// A figure with a unit at the beginning: of how many words, and as a cell.
pub fn figure(words: &[&str]) -> Option<(usize, String, Dimension)> {
    let first = words.first()?.trim_start_matches(['~', '≈', '≥', '≤']);
    if !first.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (.., glued) = unit::number(first, DecimalMark::Point)?;
    let cut = |text: &str| text.trim_end_matches([',', ';', '.', ':', ')']).to_string();
    if let Some(glued) = glued {
        return Some((1, cut(first), unit_of(&cut(glued))?));
    }
    let unit_words = |many: usize| cut(&words[1..=many].join(" "));
    let most = UNIT_WORDS.min(words.len() - 1);
    let (many, of) = (1..=most).rev().find_map(|many| Some((many, unit_of(&unit_words(many))?)))?;
    Some((many + 1, format!("{first} {}", unit_words(many)), of))
}

fn unit_of(text: &str) -> Option<Dimension> {
    let of = unit::parse(text).ok()?.dimension;
    (of != Dimension::Count).then_some(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_places_and_figures() {
        let of = |line: &str| -> Vec<String> {
            let lines = lines(line, &ColumnMapping::default());
            let said = |item: &WordedItem| match item {
                WordedItem::Place(heading, text) => format!("{heading}={text}"),
                WordedItem::Figure { cell, .. } => format!("{}: {cell}", item.key()),
            };
            lines.iter().flat_map(|line| &line.items).map(said).collect()
        };
        assert_eq!(
            of("Two Copy (64 bytes): 1.23 Gbps"),
            ["mechanism=Two Copy", "size=64", "throughput: 1.23 Gbps"]
        );
        assert_eq!(
            of("[A1] size=64 threads=1 -> 0.21 Gbps, latency 12.1us"),
            ["mechanism=A1", "size=64", "threads=1", "throughput: 0.21 Gbps", "latency: 12.1us"]
        );
        assert_eq!(of("Sent 1000 bytes in 2.5 s"), ["total bytes: 1000 bytes", "duration: 2.5 s"]);
        assert_eq!(of("Latency: avg 12 us, p99 40 us").len(), 2);
        assert_eq!(of("we ran it on 4 cores of a 3 GHz CPU with 16 GB of memory"), Vec::<String>::new());
    }
}
