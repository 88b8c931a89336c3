//! Text for people on a terminal: colour, wrapping, and writing that survives a closed pipe.
//!
//! Data goes to stdout; progress, warnings and errors go to stderr.

use anyhow::Context;
use rustix::termios::tcgetwinsize;
use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::os::fd::AsFd;
use syscost_report::escape;
use syscost_report::terminal::{self, TerminalLook};
use syscost_report::text::ending::EndTable;
use textwrap::WordSplitter;
use textwrap::core::display_width;

/// Columns of every text: what an 80-column terminal shows without wrapping again.
pub const WIDTH: usize = 80;

/// Why an output that somebody waits for does not come.
pub const CANNOT_WRITE: &str = "cannot write to standard output (is the disk full?)";

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb
    #[default]
    Auto,
    Always,
    Never,
}

/// Emphasis for one stream: none where it is not a terminal.
#[derive(Clone, Copy, Debug)]
pub struct Paint(bool);

impl Paint {
    pub fn stdout(color: Color) -> Paint {
        Paint(color.wanted(io::stdout().is_terminal()))
    }

    pub fn stderr(color: Color) -> Paint {
        Paint(color.wanted(io::stderr().is_terminal()))
    }

    pub fn bold(self, text: &str) -> String {
        self.code("1", text)
    }

    pub fn red(self, text: &str) -> String {
        self.code("31", text)
    }

    pub fn green(self, text: &str) -> String {
        self.code("32", text)
    }

    pub fn yellow(self, text: &str) -> String {
        self.code("33", text)
    }

    fn code(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }
}

impl Color {
    fn wanted(self, terminal: bool) -> bool {
        let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
        match self {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => {
                terminal && !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
            }
        }
    }
}

/// Columns of the terminal on this stream; where there is none, those of [`WIDTH`].
pub fn columns_of(stream: impl AsFd) -> u16 {
    let told = tcgetwinsize(stream).map(|size| size.ws_col).ok();
    told.filter(|columns| *columns > 0).unwrap_or(WIDTH as u16)
}

/// How stdout shows a table.
pub fn look(color: Color) -> TerminalLook {
    TerminalLook { width: columns_of(io::stdout()), colour: Paint::stdout(color).0 }
}

/// A table for stdout, an empty line before it.
pub fn table(table: &EndTable, color: Color) -> String {
    terminal::table(table, look(color))
}

/// Writes to stdout; a reader that went away (`| head`) is not an error.
pub fn print(text: &str) -> anyhow::Result<()> {
    write(&tame(text))
}

fn write(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    heard(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
}

/// A reader that has gone has read enough.
fn heard(written: io::Result<()>) -> anyhow::Result<()> {
    match written {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context(CANNOT_WRITE),
    }
}

/// A line to stderr. Nobody may be there to read it, and nothing ends because of that.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", tame(text));
}

/// Why a command could do nothing; where JSON was asked for, stdout has it as a document too.
pub fn fail(text: &str, paint: Paint, json: bool) {
    complain(&format!("{} {text}", paint.red("error:")));
    if json {
        // A closed or full stdout cannot be told there; the error is on stderr too.
        let _ = print_json_line(&serde_json::json!({ "event": "error", "error": text }));
    }
}

/// One JSON document to stdout, written as it is made: that of a large plan is larger than the plan.
pub fn print_json(document: &impl serde::Serialize) -> anyhow::Result<()> {
    stream(|out| serde_json::to_writer_pretty(out, document))
}

/// One JSON document on one line to stdout.
pub fn print_json_line(document: &impl serde::Serialize) -> anyhow::Result<()> {
    stream(|out| serde_json::to_writer(out, document))
}

fn stream(document: impl Fn(&mut dyn Write) -> serde_json::Result<()>) -> anyhow::Result<()> {
    let mut out = escape::PlainJson(BufWriter::with_capacity(64 << 10, io::stdout().lock()));
    let written = document(&mut out).map_err(io::Error::from).and_then(|()| out.0.write_all(b"\n"));
    heard(written.and_then(|()| out.0.flush()))
}

/// The colours that [`Paint`] and the report's text use: all that a text may do to a terminal.
const COLOURS: [&str; 5] = ["\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m"];

/// A text that can only be read: what a host, a device or a stranger's file is called may be in it.
fn tame(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(colour) = COLOURS.iter().find(|colour| rest.starts_with(**colour)) {
            out.push_str(colour);
            rest = &rest[colour.len()..];
            continue;
        }
        let (first, after) = rest.split_at(c.len_utf8());
        match c {
            '\n' | '\t' => out.push(c),
            _ => out.push_str(&escape::visible(first)),
        }
        rest = after;
    }
    out
}

/// `label` in a column of `indent`, then the text wrapped beside it.
pub fn entry(label: &str, indent: usize, text: &str) -> String {
    let mut out = String::new();
    let room = WIDTH - indent;
    let mut lines = wrap(text, room).into_iter();
    let width = display_width(label);
    // A label too long for its column stands on a line of its own.
    if width + 1 > indent {
        out.push_str(label);
        out.push('\n');
    } else {
        let first = lines.next().unwrap_or_default();
        out.push_str(format!("{label}{}{first}", " ".repeat(indent - width)).trim_end());
        out.push('\n');
    }
    for line in lines {
        out.push_str(&" ".repeat(indent));
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// Breaks at spaces into lines of at most `width` columns; a longer word stands alone.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let options = textwrap::Options::new(width).break_words(false).word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(&roomy(text.trim()), options).into_iter().map(Cow::into_owned).collect()
}

/// A list of values too long for a line of its own gets spaces behind its commas, where it may be broken.
pub fn roomy(text: &str) -> String {
    const LONG: usize = 40;
    let words = text.split(' ');
    let words =
        words.map(|word| if display_width(word) > LONG { word.replace(',', ", ") } else { word.into() });
    words.collect::<Vec<String>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn entries_hang_beside_their_label() {
        assert_eq!(entry("  a", 6, "one two"), "  a   one two\n");
        assert_eq!(entry("  label", 4, "text"), "  label\n    text\n");
        assert_eq!(entry("  a", 6, ""), "  a\n");
        let list = "of one-two-three,four-five-six,seven-eight-nine,ten";
        let wrapped = ["of one-two-three,", "four-five-six,", "seven-eight-nine,", "ten"];
        assert_eq!(wrap(list, 20), wrapped);
        let paint = Paint(true);
        assert_eq!(entry(&paint.bold("a"), 3, "x"), "\x1b[1ma\x1b[0m  x\n");
    }

    #[test]
    fn what_is_printed_can_only_be_read() {
        let evil = "a\x1b]8;;http://x\x07b\x1b[2J\u{9b}31m\u{202e}c\0\r\n\td \x1b[31mred\x1b[0m";
        let text = tame(evil);
        assert!(text.ends_with("c\\x00\\x0d\n\td \x1b[31mred\x1b[0m"), "{text:?}");
        let left: Vec<char> = text.chars().filter(|c| c.is_control() || *c == '\u{202e}').collect();
        assert_eq!(left, ['\n', '\t', '\x1b', '\x1b'], "{text:?}");
        let mut json = escape::PlainJson(Vec::new());
        serde_json::to_writer(&mut json, &[evil, "\u{e0041}"]).unwrap();
        let json = String::from_utf8(json.0).unwrap();
        assert!(!json.chars().any(escape::hidden), "{json:?}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), [evil, "\u{e0041}"]);
    }

    proptest! {
        #[test]
        fn wrapping_keeps_every_word_and_the_width(text in "[a-z ]{0,300}", width in 30usize..80) {
            let lines = wrap(&text, width);
            let words: Vec<&str> = text.split_whitespace().collect();
            let joined = lines.join(" ");
            prop_assert_eq!(joined.split_whitespace().collect::<Vec<_>>(), words.clone());
            let longest = words.iter().map(|w| w.len()).max().unwrap_or(0);
            prop_assert!(lines.iter().all(|l| l.len() <= width.max(longest)));
        }
    }
}
