//! Words of other languages in English. They are data, in `words.toml`.

use super::words::WORDS;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What a word of another language is in English.
static ENGLISH: LazyLock<BTreeMap<&str, &str>> = LazyLock::new(|| {
    let words = |(english, words): (&'static String, &'static Vec<String>)| {
        words.iter().map(move |word| (word.as_str(), english.as_str()))
    };
    WORDS.english.iter().flat_map(words).collect()
});

/// Of a word of Latin letters that is made of others.
const SHORTEST_PART: usize = 4;
const LONGEST_WORD: usize = 64;

/// A text whose words of other languages are English: `Taille (octets)` is `size (bytes)`.
pub fn english(text: &str) -> Cow<'_, str> {
    let mut english = String::new();
    let mut changed = false;
    for word in words(text) {
        let plain = folded(word);
        let same = || (plain.is_ascii() && !word.is_ascii()).then(|| plain.clone());
        let found = word_in_english(&plain).or_else(same);
        if found.is_some() && english.ends_with(char::is_alphanumeric) {
            english.push(' ');
        }
        english += found.as_deref().unwrap_or(word);
        if found.is_some() {
            changed = true;
            english.push(' ');
        }
    }
    if changed { Cow::Owned(english) } else { Cow::Borrowed(text) }
}

/// What R makes of a heading has dots for what is no letter: `lat.us`, `Throughput..Gbps.`
pub fn undotted(text: &str) -> Cow<'_, str> {
    let one_word = text.starts_with(char::is_alphabetic) && !text.contains(char::is_whitespace);
    if !one_word || !text.contains('.') {
        return Cow::Borrowed(text);
    }
    // `p99.9`, and the second `cycles` of pandas: `cycles.1`.
    let before_digit = |at: usize| text[at + 1..].starts_with(|c: char| c.is_ascii_digit());
    let of = |(at, c): (usize, char)| if c == '.' && !before_digit(at) { '_' } else { c };
    let text: String = text.char_indices().map(of).collect();
    Cow::Owned(text.trim_end_matches('_').to_string())
}

/// Words of letters, of one script and without humps, and the marks between them.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut from, mut before) = (0, ' ');
    let wide = |c: char| c >= '\u{2e80}';
    for (at, c) in text.char_indices() {
        let same = before.is_alphabetic() && c.is_alphabetic() && wide(before) == wide(c);
        if !same || before.is_lowercase() && c.is_uppercase() {
            words.push(&text[from..at]);
            from = at;
        }
        before = c;
    }
    words.push(&text[from..]);
    words
}

/// One word, or the words that it is made of.
fn word_in_english(word: &str) -> Option<String> {
    if let Some(english) = ENGLISH.get(word) {
        return Some(english.to_string());
    }
    if word.len() > LONGEST_WORD {
        return None;
    }
    let shortest = if word.is_ascii() { SHORTEST_PART } else { 1 };
    let ends = word.char_indices().map(|(at, _)| at).filter(|at| *at >= shortest).rev();
    ends.filter_map(|at| Some(format!("{} {}", ENGLISH.get(&word[..at])?, word_in_english(&word[at..])?)))
        .next()
}

/// Lower case, without the marks of letters.
fn folded(word: &str) -> String {
    let mut folded = String::new();
    for c in word.chars().flat_map(char::to_lowercase) {
        match c {
            'á' | 'à' | 'â' | 'ä' | 'ã' | 'å' | 'ą' => folded.push('a'),
            'é' | 'è' | 'ê' | 'ë' | 'ę' => folded.push('e'),
            'í' | 'ì' | 'î' | 'ï' | 'ı' => folded.push('i'),
            'ó' | 'ò' | 'ô' | 'ö' | 'õ' | 'ø' => folded.push('o'),
            'ú' | 'ù' | 'û' | 'ü' => folded.push('u'),
            'ç' | 'ć' => folded.push('c'),
            'ñ' | 'ń' => folded.push('n'),
            'ş' | 'ś' => folded.push('s'),
            'ł' => folded.push('l'),
            'ß' => folded.push_str("ss"),
            // A combining mark.
            '\u{300}'..='\u{36f}' => {}
            other => folded.push(other),
        }
    }
    folded
}
