//! Makes recorded text harmless: a stranger's run directory must drive neither a terminal nor a page.
//!
//! Source: ECMA-48 (control sequences), Unicode TR 36 (bidirectional overrides).

use std::borrow::Cow;

/// The text with every control character and direction override written out as `\x1b`, `\u{202e}`.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if (c as u32) < 0x20 || c == '\u{7f}' => out.push_str(&format!("\\x{:02x}", c as u32)),
            '\u{80}'..='\u{9f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{61c}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}' => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

/// Would [`visible`] write this character out?
pub fn hidden(c: char) -> bool {
    let mut bytes = [0; 4];
    let text: &str = c.encode_utf8(&mut bytes);
    visible(text) != text
}

/// The text for XML content and quoted attributes.
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// The text for a cell of a table that a spreadsheet may open: what it would take for a formula is quoted as text.
/// Source: OWASP, "CSV Injection".
pub fn cell(text: &str) -> Cow<'_, str> {
    let begins = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if begins && text.parse::<f64>().is_err() { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) }
}

/// A name as a file name and an element id: lower case, digits, hyphens.
pub fn slug(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().flat_map(char::to_lowercase) {
        if c.is_ascii_alphanumeric() {
            out.push(c);
        } else if !out.ends_with('-') && !out.is_empty() {
            out.push('-');
        }
    }
    out.truncate(96);
    out.trim_end_matches('-').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn no_cell_is_a_formula_and_every_number_is_one() {
        for text in ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1"] {
            assert_eq!(cell(text), format!("'{text}"));
        }
        for text in ["-1.5", "+3", "-inf", "1e-9", "send", "a=b", ""] {
            assert_eq!(cell(text), text);
        }
    }

    #[test]
    fn controls_are_written_out() {
        assert_eq!(visible("a\x1b[31mb\n\u{9b}\u{202e}é"), "a\\x1b[31mb\\x0a\\u{9b}\\u{202e}é");
        assert_eq!(xml("<a b='\"'>&\0"), "&lt;a b=&#39;&quot;&#39;&gt;&amp;\\x00");
        assert_eq!(slug("CPU per byte by size, 1 thread (veth)"), "cpu-per-byte-by-size-1-thread-veth");
    }

    proptest! {
        #[test]
        fn nothing_harmful_is_left(text in any::<String>()) {
            prop_assert!(!visible(&text).chars().any(char::is_control));
            prop_assert!(!xml(&text).contains(['<', '>', '"', '\'']));
            prop_assert!(slug(&text).chars().all(|c| c.is_ascii_alphanumeric() || c == '-'));
        }
    }
}
