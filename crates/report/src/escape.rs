//! Makes recorded text harmless: a stranger's run directory must drive neither a terminal nor a page.
//!
//! One function for each kind of file: [`visible`] (terminal, and the base of all), [`xml`] (pages, drawings, JUnit), [`cell`]
//! (tables), [`markdown`], [`PlainJson`].
//!
//! Source: ECMA-48 (control sequences), Unicode TR 36 (bidirectional overrides), UAX 44 (Default_Ignorable_Code_Point).

use std::io;

/// The text with every control character and direction override written out as `\x1b`, `\u{202e}`.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if (c as u32) < 0x20 || c == '\u{7f}' => out.push_str(&format!("\\x{:02x}", c as u32)),
            '\u{80}'..='\u{9f}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}' => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
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

/// What a spreadsheet takes a text for a formula by, in full width and small forms too.
const FORMULA: [char; 12] = ['=', '+', '-', '@', '＝', '＋', '－', '＠', '﹦', '﹢', '﹣', '﹫'];

/// The text for a cell of a table that a spreadsheet may open: what it would take for a formula is quoted as text, also
/// where it divides cells at semicolons. Source: OWASP, "CSV Injection".
pub fn cell(text: &str) -> String {
    let one = |part: &str| {
        let begins = part.trim_start().starts_with(FORMULA) && part.parse::<f64>().is_err();
        format!("{}{part}", if begins { "'" } else { "" })
    };
    visible(text).split(';').map(one).collect::<Vec<_>>().join(";")
}

/// The text for a paragraph or a cell of Markdown: whatever could begin markup is a character reference.
pub fn markdown(text: &str) -> String {
    let marks = |c: char| "&<>\"'|\\`*[]~@#".contains(c);
    let one = |c: char| if marks(c) { format!("&#{};", c as u32) } else { c.to_string() };
    visible(text).chars().map(one).collect::<String>().replace("://", "&#58;//")
}

/// What a serializer writes, with what drives a terminal as JSON writes it: `\u202e`.
pub struct PlainJson<W>(pub W);

impl<W: io::Write> io::Write for PlainJson<W> {
    /// A serializer writes whole pieces of text.
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        // It has written out what is below a space; line feeds are between its values. The last ASCII character is one too.
        if piece.is_ascii() && !piece.contains(&0x7f) {
            return self.0.write_all(piece).map(|()| piece.len());
        }
        let mut rest = std::str::from_utf8(piece).map_err(io::Error::other)?;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| *c != '\n' && hidden(*c)) {
            self.0.write_all(&rest.as_bytes()[..at])?;
            c.encode_utf16(&mut [0; 2]).iter().try_for_each(|unit| write!(self.0, "\\u{unit:04x}"))?;
            rest = &rest[at + c.len_utf8()..];
        }
        self.0.write_all(rest.as_bytes())?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A document of JSON as a text that can only be read.
pub fn plain_json(document: &impl serde::Serialize) -> serde_json::Result<String> {
    let mut out = PlainJson(Vec::new());
    serde_json::to_writer_pretty(&mut out, document)?;
    out.0.push(b'\n');
    Ok(String::from_utf8_lossy(&out.0).into_owned())
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

    /// What strangers write to be run, hidden or mistaken for something else.
    const NASTY: [&str; 18] = [
        "=cmd|' /C calc'!A0",
        "+1+1",
        "-2+3",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "\u{feff}=1",
        "\u{200b}+x",
        "\u{a0}=1",
        " @x",
        "＝1+1",
        "＋x",
        "－x",
        "＠x",
        "\u{1b}]8;;http://x\u{7}\u{9b}31m",
        "a;=1",
        "\u{202e}[x](http://x)`<b>|\u{e0041}\u{ad}",
    ];

    #[test]
    fn nasty_text_is_harmless_in_every_kind_of_file() {
        for text in NASTY {
            let cell = cell(text);
            for part in cell.split(';') {
                assert!(!part.trim_start().starts_with(FORMULA), "{text:?}: {cell:?}");
            }
            let mut json = PlainJson(Vec::new());
            serde_json::to_writer(&mut json, text).unwrap();
            let json = String::from_utf8(json.0).unwrap();
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text, "still the same text");
            for (kind, shown) in [
                ("cell", cell),
                ("text", visible(text)),
                ("xml", xml(text)),
                ("md", markdown(text)),
                ("json", json),
            ] {
                assert!(!shown.chars().any(|c| hidden(c) || c.is_control()), "{kind} of {text:?}: {shown:?}");
                let marks: &[char] = match kind {
                    "xml" => &['<', '>', '"', '\''],
                    "md" => &['<', '>', '[', '`', '|', '*'],
                    _ => &[],
                };
                assert!(!shown.contains(marks), "{kind} of {text:?}: {shown:?}");
            }
        }
        for text in ["-1.5", "+3", "-inf", "1e-9", "send", "a=b", "", "1;-2"] {
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
