//! Files that grow by whole rows beside `samples.csv`: half a row that a crash left is cut off before the next.

use super::directory::one_name;
use super::files::options;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use syscost_core::sample::rows::CsvColumn;

/// No row is longer: a histogram of 30,000 buckets, which is all that a minute has, is shorter.
pub const LONGEST_APPENDED: u64 = 2 << 20;

/// The first line, newline included.
pub fn header_of(columns: &[CsvColumn]) -> String {
    let mut line = columns.iter().map(|c| c.id).collect::<Vec<_>>().join(",");
    line.push('\n');
    line
}

/// Returns where the first of the rows stands.
pub fn append_rows(path: &Path, header: &str, mut rows: String) -> io::Result<u64> {
    let mut file = options(true).create(true).open(path)?;
    one_name(&file)?;
    let length = whole_rows(&file)?;
    file.set_len(length)?;
    let mut start = length;
    if length == 0 {
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
