//! The headings of a page or a log: what stands below different ones was measured apart.

/// Of a heading without a mark of its level.
const UNMARKED: usize = 7;
/// Longer lines are prose.
const LONGEST: usize = 80;
/// A line that ends with a colon and has more words is a sentence.
const MOST_WORDS: usize = 5;

/// A part of a text: the headings above it, the outermost first, and its lines.
pub struct Section<'t> {
    pub titles: Vec<&'t str>,
    /// Of its first line, from 0.
    pub line: usize,
    pub text: &'t str,
}

/// A part begins at each heading.
pub fn sections(text: &str) -> Vec<Section<'_>> {
    let mut all = Vec::new();
    let mut above: Vec<(usize, &str)> = Vec::new();
    let mut titles: Vec<&str> = Vec::new();
    let (mut fenced, mut begin, mut line, mut at) = (false, 0, 0, 0);
    let mut previous = "";
    for (index, whole) in text.split_inclusive('\n').enumerate() {
        fenced ^= whole.starts_with("```");
        if let Some((level, title)) = heading(whole.trim_end(), previous).filter(|_| !fenced) {
            all.push(Section { titles, line, text: &text[begin..at] });
            above.retain(|(known, _)| *known < level);
            above.push((level, title));
            titles = above.iter().map(|(_, title)| *title).collect();
            (begin, line) = (at, index);
        }
        previous = whole.trim();
        at += whole.len();
    }
    all.push(Section { titles, line, text: &text[begin..] });
    all
}

/// `## Before`, `=== Before ===`, `**Before**`, and `Before:` below an empty line: its level and its text.
fn heading<'t>(line: &'t str, previous: &str) -> Option<(usize, &'t str)> {
    if line.len() > LONGEST || !line.contains(char::is_alphanumeric) {
        return None;
    }
    let plain = line.trim_matches(['#', '=', '*', '-', ' ', ':']);
    // `# iperf3 -c host`: a prompt, and no heading.
    let commands = plain.contains(" -") && !plain.contains(" - ");
    let level = line.bytes().take_while(|b| *b == b'#').count();
    let framed = ["==", "**", "--"].iter().any(|mark| line.starts_with(mark) && line.ends_with(mark));
    let named = line.ends_with(':')
        && previous.is_empty()
        && !line.starts_with(char::is_whitespace)
        && line.split_whitespace().count() <= MOST_WORDS;
    match level {
        // Lines of ping and of perf.
        _ if commands || plain.ends_with(" statistics") || plain.starts_with("started on ") => None,
        0 if framed || named => Some((UNMARKED, plain)),
        0 => None,
        level => Some((level, plain)),
    }
}

/// What each is called: its last title, with outer ones where another has the same.
pub fn told_apart<T: AsRef<str>>(titles: &[Vec<T>]) -> Vec<String> {
    let called = |titles: &Vec<T>, many: usize| {
        let last = titles[titles.len().saturating_sub(many)..].iter().map(AsRef::as_ref);
        last.collect::<Vec<_>>().join(", ")
    };
    let same = |a: &Vec<T>, b: &Vec<T>| a.iter().map(AsRef::as_ref).eq(b.iter().map(AsRef::as_ref));
    let alone = |of: &Vec<T>, many: usize| {
        titles.iter().all(|other| same(of, other) || called(of, many) != called(other, many))
    };
    let name = |of: &Vec<T>| {
        let many = (1..of.len()).find(|many| alone(of, *many)).unwrap_or(of.len());
        called(of, many)
    };
    titles.iter().map(name).collect()
}
