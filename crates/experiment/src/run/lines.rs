//! The lines of a file that may be damaged, one after the other and never the whole of it: what cannot be read is left out
//! and told by its place, and the rest is kept.
//!
//! A power cut leaves blocks of zeros, a bad disk or another program anything else.

use super::rows::BadField;
use super::{Warning, errors::LoadError};
use std::io::{self, BufRead, Read};
use std::path::PathBuf;

/// Where a row stands in its file, its newline included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowPlace {
    pub offset: u64,
    pub bytes: u64,
}

/// A line as it was found, at the reader's latest place.
pub enum FoundLine {
    /// Without its newline: see [`KeptLines::text`].
    Whole,
    /// Longer than any row: passed over.
    TooLong,
    /// The file's last, without an end.
    Torn,
}

pub struct KeptLines<R> {
    reader: R,
    longest: u64,
    bytes: Vec<u8>,
    /// Of the line found last, and its place.
    pub number: u64,
    pub place: RowPlace,
    next: u64,
}

impl<R: BufRead> KeptLines<R> {
    /// From the file's beginning; `longest` with its newline.
    pub fn new(reader: R, longest: u64) -> KeptLines<R> {
        let place = RowPlace { offset: 0, bytes: 0 };
        KeptLines { reader, longest, bytes: Vec::new(), number: 0, place, next: 0 }
    }

    /// The next line; `None` at the end.
    pub fn find(&mut self) -> io::Result<Option<FoundLine>> {
        let zeros = self.skip_zeros()?;
        self.bytes.clear();
        let mut length = (&mut self.reader).take(self.longest).read_until(b'\n', &mut self.bytes)? as u64;
        if length == 0 && !zeros {
            return Ok(None);
        }
        self.number += 1;
        let mut found = FoundLine::Whole;
        if self.bytes.ends_with(b"\n") {
            self.bytes.pop();
        } else {
            let skipped = if length == self.longest { self.skip_line()? } else { None };
            length += skipped.unwrap_or(0);
            found = if skipped.is_some() { FoundLine::TooLong } else { FoundLine::Torn };
        }
        self.place = RowPlace { offset: self.next, bytes: length };
        self.next += length;
        Ok(Some(found))
    }

    pub fn text(&self) -> &[u8] {
        &self.bytes
    }

    /// What a file system makes of blocks that a power cut kept from being written; the row behind them may be whole.
    fn skip_zeros(&mut self) -> io::Result<bool> {
        let from = self.next;
        loop {
            let ready = self.reader.fill_buf()?;
            let zeros = ready.iter().position(|byte| *byte != 0).unwrap_or(ready.len());
            if zeros == 0 {
                return Ok(self.next > from);
            }
            self.reader.consume(zeros);
            self.next += zeros as u64;
        }
    }

    /// To the end of this line; `None`: the file ends in it.
    fn skip_line(&mut self) -> io::Result<Option<u64>> {
        let mut skipped = 0;
        loop {
            let ready = self.reader.fill_buf()?;
            if ready.is_empty() {
                return Ok(None);
            }
            let end = ready.iter().position(|byte| *byte == b'\n');
            let length = end.map_or(ready.len(), |at| at + 1);
            self.reader.consume(length);
            skipped += length as u64;
            if end.is_some() {
                return Ok(Some(skipped));
            }
        }
    }
}

/// Rows that could not be read, of one file.
#[derive(Debug)]
pub struct LeftOut {
    file: &'static str,
    pub rows: u64,
    first: Option<(u64, BadField)>,
}

impl LeftOut {
    pub fn none_of(file: &'static str) -> LeftOut {
        LeftOut { file, rows: 0, first: None }
    }

    pub fn saw(&mut self, line: u64, why: BadField) {
        self.rows += 1;
        self.first.get_or_insert((line, why));
    }

    /// A file of which nothing could be read is not a damaged one but another one.
    pub fn refuse_if_all(&self, path: PathBuf, kept: u64) -> Result<(), LoadError> {
        match &self.first {
            Some((line, BadField { column, reason })) if kept == 0 => {
                Err(LoadError::Row { path, line: *line, column: column.clone(), reason: reason.clone() })
            }
            _ => Ok(()),
        }
    }

    /// Of a file beside the samples, whose loss spoils none of them.
    pub fn warn_of(self, kept: usize, warnings: &mut Vec<Warning>) {
        let (file, any) = (self.file, self.first.is_some());
        self.warn(warnings);
        if let Some(said) = warnings.last_mut().filter(|_| any && kept == 0) {
            said.consequence = format!("nothing of {file} is used; every other figure stands");
        }
    }

    /// Says it once, also in a run that was continued since.
    pub fn warn(self, warnings: &mut Vec<Warning>) {
        let Some((line, BadField { column, reason })) = self.first else { return };
        let id = format!("damaged_{}", self.file.trim_end_matches(".csv"));
        warnings.retain(|warning| warning.id != id);
        warnings.push(Warning {
            id,
            observed: format!(
                "{} of {} cannot be read; the first is line {line}, column {column}: {reason}",
                syscost_core::units::count(self.rows as usize, "row"),
                self.file
            ),
            consequence: "they are left out; every figure is of the rows that are whole".into(),
            remedy:
                "check the disk and what else writes there, then measure again: syscost run --out NEW_DIR"
                    .into(),
            cases: Vec::new(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    fn found(file: &[u8], buffer: usize) -> Vec<(String, u64, u64)> {
        let mut lines = KeptLines::new(BufReader::with_capacity(buffer, file), 8);
        let mut all = Vec::new();
        while let Some(line) = lines.find().unwrap() {
            let text = match line {
                FoundLine::Whole => String::from_utf8_lossy(lines.text()).into_owned(),
                FoundLine::TooLong => "(long)".into(),
                FoundLine::Torn => "(torn)".into(),
            };
            all.push((text, lines.place.offset, lines.place.bytes));
        }
        all
    }

    #[test]
    fn whole_lines_are_found_between_and_behind_what_is_damaged() {
        let file = b"one\n\0\0\0\0\0\0\0\0\0\0\0\0two\nfar too long for a row\n\nlast\nto";
        let wanted = [
            ("one", 0, 4),
            ("two", 16, 4),
            ("(long)", 20, 23),
            ("", 43, 1),
            ("last", 44, 5),
            ("(torn)", 49, 2),
        ];
        let wanted = wanted.map(|(text, offset, bytes)| (text.to_string(), offset, bytes));
        for buffer in [1, 3, 7, 4096] {
            assert_eq!(found(file, buffer), wanted, "read {buffer} bytes at a time");
        }
        let torn = |offset, bytes| ("(torn)".to_string(), offset, bytes);
        assert_eq!(found(b"one\n\0\0\0", 2), [wanted[0].clone(), torn(7, 0)], "cut off in zeros");
        assert_eq!(found(b"endless line", 5), [torn(0, 8)]);
    }
}
