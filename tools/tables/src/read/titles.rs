//! What a line of words above a table says of its rows: whose they are, what their figures are, one size or thread
//! count: `## two_copy results`, `=== 4 threads ===`, `# Throughput in Gbit/s`.

use super::heading::{HeadingPlace, TableHeading};
use crate::remark::COUNTERS;
use crate::unit::{self, Dimension};
use crate::vocabulary;
use crate::{ColumnMapping, TableColumn, naming};

/// Longer lines are prose.
const LONGEST: usize = 120;
/// A heading that is cut at every place costs the square of them.
const WORDS_OF_A_HEADING: usize = 6;
const LONGEST_PART: usize = 24;
/// Words that say one thing together.
const TOGETHER: usize = 4;
/// First words of lines about the table.
pub const NOTES: &[&str] = &["note", "remark", "source", "comment"];
/// With these a number of threads or bytes is that of a machine.
const MACHINE: &[&str] = &["cpu", "core", "cores", "ram", "memory", "ghz", "kernel", "intel", "amd", "cache"];

/// Of these some are words of quantities: `CPU cycles`, `cache misses`.
const COUNTED: &[&str] = &["cpu", "core", "cache"];

pub fn is_short(line: &str) -> bool {
    line.len() <= LONGEST
}

#[derive(Default)]
pub struct TitleLine {
    pub figures: Option<TableHeading>,
    pub place: HeadingPlace,
}

/// The quantity that a file is named by: `latency_us.csv`.
pub fn of_file(name: &str, mapping: &ColumnMapping) -> Option<TableHeading> {
    let stem = std::path::Path::new(name).file_stem()?.to_str()?;
    figures(&stem.replace(['_', '-'], " "), mapping)
}

/// `None`: it says nothing of them.
pub fn of(line: &str, mapping: &ColumnMapping) -> Option<TitleLine> {
    let line = line.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '(' | ')'));
    let bare = vocabulary::bare(line);
    let is_figure = bare.bytes().all(|b| b.is_ascii_digit());
    if !is_short(line) || is_figure || NOTES.iter().any(|word| bare.starts_with(word)) {
        return None;
    }
    let mut title = TitleLine { figures: figures(line, mapping), ..Default::default() };
    title.place.mechanism = name(line);
    let is_counter = |text: &str| {
        naming::column_of(text).is_some_and(|of| naming::is_count(of.column) && !of.column.is_place())
    };
    let counted = windows(line, TOGETHER).into_iter().any(is_counter);
    let is_machine =
        |word: &String| MACHINE.contains(&word.as_str()) && !(counted && COUNTED.contains(&word.as_str()));
    let of_machine = vocabulary::tokens(line).iter().any(is_machine);
    // `CPU cycles (Threads=4)`
    let parts: Vec<&str> =
        windows(line, TOGETHER).into_iter().filter(|text| !of_machine || text.contains('=')).collect();
    if !parts.is_empty() {
        let numbered = parts
            .into_iter()
            .filter(|text| text.contains(char::is_numeric) && !is_cut_before_unit(line, text));
        let numbered: Vec<&str> = numbered.collect();
        let places: Vec<HeadingPlace> = numbered.iter().filter_map(|text| place(text, mapping)).collect();
        let listed = || if of_machine { None } else { listed_size(line, mapping) };
        let bracketed = || bracketed_size(line, mapping).filter(|_| title.figures.is_some());
        let told = only(places.iter().filter_map(|place| place.bytes));
        title.place.threads = only(places.iter().filter_map(|place| place.threads));
        // `Running A1 with 64 bytes and 4 threads`
        let whole = title.place.mechanism.is_some() && title.place.threads.is_some() && !of_machine;
        let sizes = || numbered.iter().filter_map(|text| TableHeading::of(text, mapping).place?.bytes);
        let beside = || only(sizes()).filter(|bytes| whole && *bytes <= LARGEST);
        title.place.bytes = told.or_else(listed).or_else(bracketed).or_else(beside);
    }
    (title.figures.is_some() || title.place.is_some()).then_some(title)
}

/// `size 4` of `size 4 KiB` is another size.
fn is_cut_before_unit(line: &str, part: &str) -> bool {
    let end = part.as_ptr() as usize - line.as_ptr() as usize + part.len();
    let next = line[end..].split_whitespace().next().unwrap_or_default();
    part.ends_with(|c: char| c.is_ascii_digit())
        && unit::parse(next.trim_end_matches([',', ';', ')', ':']))
            .is_ok_and(|of| of.dimension == Dimension::Size)
}

/// So many words that follow each other, the fewest first.
fn windows(line: &str, most: usize) -> Vec<&str> {
    let starts: Vec<usize> = line
        .split_whitespace()
        .map(|word| word.as_ptr() as usize - line.as_ptr() as usize)
        .chain([line.len()])
        .collect();
    let window = |from: usize, many: usize| line.get(starts[from]..*starts.get(from + many)?).map(str::trim);
    (1..=most).flat_map(|many| (0..starts.len()).filter_map(move |from| window(from, many))).collect()
}

/// The name alone, without the words about it.
fn name(line: &str) -> Option<String> {
    // `a 3 GHz CPU` is no A3.
    let plain = line.replace(" a ", " ");
    let line = plain.as_str();
    vocabulary::role(line)?;
    let whole = || vocabulary::exact_role(line).map(|_| line);
    // `impl=two_copy`
    let value = |text: &'_ str| text.rsplit_once('=').map_or(text.len(), |(_, value)| value.len());
    let parts = windows(line, TOGETHER).into_iter().map(|text| &text[text.len() - value(text)..]);
    let name = whole().or_else(|| parts.clone().find(|text| vocabulary::exact_role(text).is_some()));
    Some(name.unwrap_or(line).trim_matches([':', ',', '-']).to_string())
}

/// A quantity with its unit, or the one quantity that is named.
fn figures(line: &str, mapping: &ColumnMapping) -> Option<TableHeading> {
    let quantity = |heading: &TableHeading| {
        let named = |column: TableColumn| {
            // `q3.csv` is the third file.
            !column.is_text() && !column.is_place() && column != TableColumn::Spread
        };
        heading.is_plain() && heading.column.is_some_and(named)
    };
    let few = line.split_whitespace().count() <= WORDS_OF_A_HEADING;
    if let Some(whole) = few.then(|| TableHeading::of(line, mapping)).filter(quantity) {
        return Some(whole);
    }
    let parts = windows(line, TOGETHER);
    let found = |text: &str| {
        let text = text.trim_start_matches(['(', '[']).trim_end_matches([',', ':']);
        let named = naming::column_of(text)?;
        use TableColumn::{CyclesPerByte, Latency, MessageRate, Throughput};
        let quantities = [Throughput, Latency, MessageRate, CyclesPerByte];
        let counted = COUNTERS.contains(&named.column) && named.column != TableColumn::Instructions;
        let known = counted || quantities.contains(&named.column);
        known.then(|| {
            let heading = TableHeading::of(text, mapping);
            TableHeading { text: line.into(), ..heading }
        })
    };
    let all: Vec<TableHeading> = parts.iter().filter_map(|text| found(text)).collect();
    let with_unit = all.iter().find(|heading| heading.unit.is_some());
    let first = all.first()?;
    let alone = || all.iter().all(|heading| heading.column == first.column).then_some(first);
    let mut title = with_unit.or_else(alone).cloned()?;
    // `Throughput by threads (Gbit/s, median of 5)`
    let marks = [' ', '(', ')', '[', ']', ','];
    let unit = || line.split(marks).find_map(|word| naming::unit_for(title.column?, word).ok());
    title.unit = title.unit.or_else(unit);
    Some(title)
}

/// No message of a benchmark is larger.
const LARGEST: u64 = 16 << 20;

/// `Latency vs Thread Count (1024 Bytes)`
fn bracketed_size(line: &str, mapping: &ColumnMapping) -> Option<u64> {
    let (_, inside) = unit::bracketed(line)?;
    TableHeading::of(inside, mapping).place?.bytes.filter(|bytes| *bytes <= LARGEST)
}

/// `A1, 1024 bytes, 4 threads`: where all parts are places, a size is one, too.
fn listed_size(line: &str, mapping: &ColumnMapping) -> Option<u64> {
    let parts: Vec<&str> = line.split([',', ';', '/']).map(str::trim).collect();
    if parts.len() < 2 || parts.iter().any(|part| part.len() > LONGEST_PART) {
        return None;
    }
    let alone = |part: &&str| {
        let heading = TableHeading::of(part, mapping);
        heading.place.filter(|place| heading.column.is_none() && place.number.is_none())
    };
    let places: Option<Vec<HeadingPlace>> = parts.iter().map(alone).collect();
    only(places?.iter().filter_map(|place| place.bytes))
}

/// `4 threads`, `size=64`, `64-byte messages`
fn place(text: &str, mapping: &ColumnMapping) -> Option<HeadingPlace> {
    let text = text.trim_end_matches([',', ';', ')', '.']);
    let place = TableHeading::of(text, mapping).place?;
    let sized = vocabulary::is_message(text)
        || vocabulary::tokens(text).iter().any(|word| word == "size" || word == "bs");
    (place.bytes.is_none() || sized).then_some(place)
}

fn only(mut values: impl Iterator<Item = u64>) -> Option<u64> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

/// A later line is the one that holds, unless no row came below another that says otherwise.
pub fn said_of<T: PartialEq + Clone>(whose: &mut Option<T>, progress: &mut Option<T>, said: Option<T>) {
    let Some(said) = said else { return };
    let other = progress.as_ref().is_some_and(|known| *known != said);
    *whose = if other { None } else { Some(said.clone()) };
    *progress = Some(said);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_says_whose_what_and_where() {
        let of = |text: &str| of(text, &ColumnMapping::default());
        let place = |text: &str| of(text).map(|title| title.place).unwrap_or_default();
        for text in
            ["## two_copy results", "=== two_copy ===", "Results for two_copy:", "Running two_copy server"]
        {
            assert_eq!(place(text).mechanism.as_deref(), Some("two_copy"), "{text}");
        }
        assert_eq!(place("### 4 threads").threads, Some(4));
        assert_eq!(
            (
                place("CPU Cycles (Threads=4) of 8 cores").threads,
                place("LLC Cache Misses (1 thread)").threads
            ),
            (Some(4), Some(1))
        );
        assert_eq!(
            (place("Message size: 64 bytes, threads: 2").bytes, place("Threads: 2").threads),
            (Some(64), Some(2))
        );
        for text in ["64-Byte Messages", "64 B messages", "### 64 B messages &nbsp; (n = 5,000 round-trips)"]
        {
            assert_eq!(place(text).bytes, Some(64), "{text}");
        }
        assert_eq!(place("Latency vs Thread Count (1024 Bytes)").bytes, Some(1024));
        for text in
            ["16 GB RAM, 8 threads", "two_copy against zero_copy", "64", "Note: two_copy", "10 GB were sent"]
        {
            assert_eq!(place(text), HeadingPlace::default(), "{text}");
        }
        let figures =
            |text: &str| of(text).and_then(|title| title.figures).map(|h| (h.column, h.unit.is_some()));
        assert_eq!(
            figures("Throughput in Gb/s with 4 threads over veth"),
            Some((Some(TableColumn::Throughput), true))
        );
        assert_eq!(figures("# Results (throughput in Gbps)"), Some((Some(TableColumn::Throughput), true)));
        assert_eq!(figures("IPC Bandwidth Comparison"), Some((Some(TableColumn::Throughput), false)));
        assert_eq!(figures("Throughput and latency"), None);
    }
}
