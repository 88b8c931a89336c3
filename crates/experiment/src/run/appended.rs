//! Files that grow by whole rows beside `samples.csv`: half a row that a crash left is cut off before the next.

use super::Warning;
use super::errors::{LoadError, read_error};
use super::lines::{FoundLine, KeptLines, LeftOut, RowPlace};
use super::open::{is_there, one_name, open_file, options};
use super::rows::{BadField, CsvColumn};
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use syscost_sys::place;

/// No row is longer: a histogram of 30,000 buckets, which is all that a minute has, is shorter.
pub const LONGEST_APPENDED: u64 = 2 << 20;

/// The first line, newline included.
pub fn header_of(columns: &[CsvColumn]) -> String {
    let mut line = columns.iter().map(|c| c.id).collect::<Vec<_>>().join(",");
    line.push('\n');
    line
}

/// Shows every row of a file once, without its newline, with its place; one in which something is wrong is left out, and
/// said with its line. No file has no rows, and half a row at the end is a crash's.
pub fn each_row(
    dir: &Path,
    name: &'static str,
    columns: &[CsvColumn],
    warnings: &mut Vec<Warning>,
    mut row: impl FnMut(&[u8], RowPlace) -> Result<(), BadField>,
) -> Result<(), LoadError> {
    if !is_there(dir, name) {
        return Ok(());
    }
    let file = BufReader::with_capacity(1 << 18, open_file(dir, name)?);
    let mut lines = KeptLines::new(file, LONGEST_APPENDED);
    let (first, last) = (columns[0].id, columns[columns.len() - 1].id);
    let (mut kept, mut left_out) = (0, LeftOut::none_of(name));
    while let Some(found) = lines.find().map_err(|e| read_error(dir, name, e))? {
        let read = match found {
            FoundLine::Torn => break,
            FoundLine::TooLong => {
                let reason = format!("the line is longer than {LONGEST_APPENDED} bytes");
                Err(BadField { column: last.into(), reason })
            }
            FoundLine::Whole if lines.number > 1 => row(lines.text(), lines.place),
            FoundLine::Whole if lines.text() == header_of(columns).trim_end().as_bytes() => continue,
            // The names are damaged, or gone with what stood above: rows are judged one by one.
            FoundLine::Whole => {
                kept += usize::from(row(lines.text(), lines.place).is_ok());
                let reason = "the file does not begin with the names of its columns".into();
                Err(BadField { column: first.into(), reason })
            }
        };
        match read {
            Ok(()) => kept += 1,
            Err(why) => left_out.saw(lines.number, why),
        }
    }
    left_out.warn_of(kept, warnings);
    Ok(())
}

/// Returns where the first of the rows stands.
pub fn append_rows(path: &Path, header: &str, mut rows: String) -> io::Result<u64> {
    let mut file = options(true).create(true).open(path)?;
    one_name(&file)?;
    let length = whole_rows(&file)?;
    file.set_len(length)?;
    let mut start = length;
    if length == 0 {
        place::hand_over(&file, File::open(path.parent().unwrap_or(path))?)?;
        rows.insert_str(0, header);
        start = header.len() as u64;
    }
    let written = file.write_all(rows.as_bytes());
    if written.is_err() {
        // A full disk may have taken half a row: leave the file as it was.
        let _ = file.set_len(length);
    }
    written.map(|()| start)
}

/// Bytes up to the end of the last whole row: a crash may have left half of one behind it.
fn whole_rows(file: &File) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let from = length.saturating_sub(LONGEST_APPENDED);
    let last = length.checked_sub(1).map_or(Ok(b'\n'), |at| {
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).map(|()| byte[0])
    })?;
    if last == b'\n' {
        return Ok(length);
    }
    let mut end = vec![0; (length - from) as usize];
    file.read_exact_at(&mut end, from)?;
    Ok(end.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| from + at as u64 + 1))
}
