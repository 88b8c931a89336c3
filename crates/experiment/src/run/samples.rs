//! The samples of a run: rows of `samples.csv` that are read when somebody asks for those of a case.
//!
//! A file of gigabytes is read once from end to end (every row is checked then), and only where the rows
//! of each round stand is kept; a case's samples are read again whenever they are needed. Runs that tests
//! make up hold theirs in memory. Nothing here writes; what cannot be read a second time is told by
//! [`Samples::intact`], which whoever publishes figures asks at the end.

use super::errors::{LoadError, read_error};
use super::histograms::{self, Histograms};
use super::lines::{FoundLine, KeptLines, LeftOut, RowPlace};
use super::open::SAMPLES;
use super::rows::{self, BadField, Columns};
use super::{Record, Warning};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Seek};
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use syscost_core::sample::Sample;

/// Of a sample whose probe keeps every time.
const TIMED: &str = "latency_p50_ns";

/// How many there are, and of what kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SampleTally {
    pub samples: usize,
    pub verified: usize,
    /// With a mark of disturbance.
    pub marked: usize,
}

impl SampleTally {
    fn count(&mut self, sample: &Sample) {
        self.samples += 1;
        self.verified += usize::from(sample.verified);
        self.marked += usize::from(sample.suspect());
    }
}

/// All samples of a run. As a slice it is every one of them in memory: for runs that are known to be small.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    stored: Option<Stored>,
    whole: OnceLock<Vec<Sample>>,
}

/// The samples of one case, in the order of the file.
pub struct CaseSamples<'a> {
    read: Vec<Sample>,
    held: Vec<&'a Sample>,
}

impl CaseSamples<'_> {
    pub fn iter(&self) -> impl Iterator<Item = &Sample> {
        self.read.iter().chain(self.held.iter().copied())
    }
}

/// Where the rows are.
#[derive(Clone, Debug)]
struct Stored {
    dir: PathBuf,
    file: Arc<File>,
    columns: Columns,
    /// By case, in the order of the file.
    pieces: Vec<Vec<RoundRows>>,
    histograms: Histograms,
    /// The latest time stamp.
    latest_ns: u64,
    /// The first thing that could not be read again.
    trouble: Arc<OnceLock<String>>,
}

/// Rows of one round that stand together.
#[derive(Clone, Debug)]
struct RoundRows {
    round: u32,
    offset: u64,
    bytes: u64,
    verified: u32,
    marked: u32,
    samples: u32,
    /// When the first of the samples began.
    start_ns: Option<u64>,
}

/// What was found in the file beside its samples.
pub(super) struct ReadSamples {
    pub samples: Samples,
    /// Bytes up to the end of the last whole row.
    pub whole: u64,
    /// Half a row follows.
    pub torn: bool,
    /// The quantities that it has columns for.
    pub quantities: Vec<String>,
}

impl Samples {
    /// None yet, of a file that is being written.
    pub(super) fn none_of(dir: &Path, file: File, quantities: Vec<String>) -> Samples {
        let stored = Stored {
            dir: dir.into(),
            file: Arc::new(file),
            columns: Columns::new(quantities),
            pieces: Vec::new(),
            histograms: Histograms::default(),
            latest_ns: 0,
            trouble: Arc::default(),
        };
        Samples { stored: Some(stored), whole: OnceLock::new() }
    }

    /// Those of one case.
    pub fn of_case(&self, case: usize) -> CaseSamples<'_> {
        match &self.stored {
            Some(stored) => CaseSamples { read: stored.of_case(case), held: Vec::new() },
            None => CaseSamples { read: Vec::new(), held: self.iter().filter(|s| s.case == case).collect() },
        }
    }

    pub fn tally(&self) -> SampleTally {
        let mut tally = SampleTally::default();
        match &self.stored {
            Some(stored) => stored.pieces.iter().flatten().for_each(|piece| {
                tally.samples += piece.samples as usize;
                tally.verified += piece.verified as usize;
                tally.marked += piece.marked as usize;
            }),
            None => self.iter().for_each(|sample| tally.count(sample)),
        }
        tally
    }

    /// When the last of them began, on the run's clock; 0 where none has a time stamp.
    pub fn latest_start_ns(&self) -> u64 {
        match &self.stored {
            Some(stored) => stored.latest_ns,
            None => self.iter().filter_map(|s| s.start_ns).max().unwrap_or(0),
        }
    }

    /// Cases with rounds that began from this time on, or before it.
    pub fn cases_of(&self, began_ns: u64, after: bool) -> BTreeSet<usize> {
        let wanted = |start_ns: Option<u64>| start_ns.is_some_and(|start_ns| (start_ns >= began_ns) == after);
        match &self.stored {
            Some(stored) => {
                let has = |pieces: &Vec<RoundRows>| pieces.iter().any(|piece| wanted(piece.start_ns));
                stored.pieces.iter().enumerate().filter(|(_, p)| has(p)).map(|(case, _)| case).collect()
            }
            None => self.iter().filter(|s| wanted(s.start_ns)).map(|s| s.case).collect(),
        }
    }

    /// Has the case any?
    pub fn has(&self, case: usize) -> bool {
        match &self.stored {
            Some(stored) => stored.pieces.get(case).is_some_and(|pieces| !pieces.is_empty()),
            None => self.iter().any(|s| s.case == case),
        }
    }

    /// Has the case any whose work was right?
    pub fn verified(&self, case: usize) -> bool {
        match &self.stored {
            Some(stored) => stored.pieces.get(case).is_some_and(|p| p.iter().any(|p| p.verified > 0)),
            None => self.iter().any(|s| s.case == case && s.verified),
        }
    }

    /// May samples of the case have the times of single operations?
    pub fn have_times(&self, case: usize) -> bool {
        match &self.stored {
            Some(stored) => stored.histograms.has(case),
            None => self.iter().any(|s| s.case == case && s.histogram.is_some()),
        }
    }

    /// Takes in samples that were appended to the files.
    pub fn written(&mut self, samples: &[Sample], places: WrittenRows) {
        let Some(stored) = &mut self.stored else {
            self.extend(samples.iter().cloned());
            return;
        };
        self.whole.take();
        samples.iter().zip(places.rows).for_each(|(sample, place)| stored.saw(sample, place));
        stored.histograms.extend(places.histograms);
    }

    /// Was everything that was asked for there? The file may have been changed since it was first read.
    pub fn intact(&self) -> Result<(), LoadError> {
        match self.stored.as_ref().and_then(|stored| Some((stored, stored.trouble.get()?))) {
            Some((stored, what)) => Err(LoadError::Changed { path: stored.dir.clone(), what: what.clone() }),
            None => Ok(()),
        }
    }

    /// Drops the rows of the last round in the file; where they began.
    pub(super) fn drop_last_round(&mut self) -> Option<u64> {
        let stored = self.stored.as_mut()?;
        let start = |pieces: &Vec<RoundRows>| pieces.last().map(|piece| piece.offset);
        let last = stored.pieces.iter_mut().max_by_key(|pieces| start(pieces))?;
        Some(last.pop()?.offset)
    }
}

/// Where appended samples stand.
#[derive(Debug, Default)]
pub struct WrittenRows {
    pub rows: Vec<RowPlace>,
    pub histograms: Histograms,
}

impl Stored {
    fn saw(&mut self, sample: &Sample, place: RowPlace) {
        if self.pieces.len() <= sample.case {
            self.pieces.resize_with(sample.case + 1, Vec::new);
        }
        self.latest_ns = self.latest_ns.max(sample.start_ns.unwrap_or(0));
        let pieces = &mut self.pieces[sample.case];
        let follows = |p: &&mut RoundRows| p.round == sample.round && p.offset + p.bytes == place.offset;
        let (verified, marked) = (u32::from(sample.verified), u32::from(sample.suspect()));
        match pieces.last_mut().filter(follows) {
            Some(piece) => {
                piece.bytes += place.bytes;
                piece.samples += 1;
                piece.verified += verified;
                piece.marked += marked;
            }
            None => pieces.push(RoundRows {
                round: sample.round,
                offset: place.offset,
                bytes: place.bytes,
                verified,
                marked,
                samples: 1,
                start_ns: sample.start_ns,
            }),
        }
    }

    fn of_case(&self, case: usize) -> Vec<Sample> {
        let pieces = self.pieces.get(case).into_iter().flatten();
        self.read_all(pieces.map(|piece| (case, piece)), self.histograms.has(case))
    }

    /// What cannot be read is remembered as trouble.
    fn read_all<'a>(&self, pieces: impl Iterator<Item = (usize, &'a RoundRows)>, times: bool) -> Vec<Sample> {
        let mut samples = Vec::new();
        for (case, piece) in pieces {
            if let Err(what) = self.read(case, piece, &mut samples) {
                let _ = self.trouble.set(what);
                break;
            }
        }
        if times {
            if let Err(what) = self.histograms.attach(&self.dir, &mut samples) {
                let _ = self.trouble.set(what.to_string());
            }
        }
        samples
    }

    fn read(&self, case: usize, piece: &RoundRows, into: &mut Vec<Sample>) -> Result<(), String> {
        let at = |what: String| format!("{SAMPLES}, from byte {}: {what}", piece.offset);
        let mut bytes = vec![0; piece.bytes as usize];
        self.file.read_exact_at(&mut bytes, piece.offset).map_err(|e| at(e.to_string()))?;
        let text = std::str::from_utf8(&bytes).map_err(|e| at(e.to_string()))?;
        let before = into.len();
        for line in text.lines() {
            let (sample, _) = rows::parse_fields(line, &self.columns)
                .map_err(|bad| at(format!("column {}: {}", bad.column, bad.reason)))?;
            into.push(sample);
        }
        let same = |s: &Sample| (s.case, s.round) == (case, piece.round);
        if into.len() - before != piece.samples as usize || !into[before..].iter().all(same) {
            return Err(at("other rows stand there now".into()));
        }
        Ok(())
    }

    fn whole(&self) -> Vec<Sample> {
        let mut order: Vec<(usize, &RoundRows)> = Vec::new();
        for (case, pieces) in self.pieces.iter().enumerate() {
            order.extend(pieces.iter().map(|piece| (case, piece)));
        }
        order.sort_by_key(|(_, piece)| piece.offset);
        self.read_all(order.into_iter(), true)
    }
}

fn lost_rows(recorded: u32, lost: u64) -> Warning {
    Warning {
        id: "samples_lost".into(),
        observed: format!("{SAMPLES} lacks {lost} of the {recorded} rows that this run had recorded"),
        consequence: "figures rest on the rows that are left; --resume measures what is missing".into(),
        remedy: "put the file back, or measure again: syscost run --out NEW_DIR".into(),
        cases: Vec::new(),
    }
}

/// Reads every row once, in pieces: what is wrong in one is told with its place, and the others are kept.
pub(super) fn read(dir: &Path, mut file: File, record: &mut Record) -> Result<ReadSamples, LoadError> {
    let path = dir.join(SAMPLES);
    let unread = |e| read_error(dir, SAMPLES, e);
    file.rewind().map_err(unread)?;
    let again = file.try_clone().map_err(unread)?;
    let mut lines = KeptLines::new(BufReader::with_capacity(1 << 18, file), rows::LONGEST_LINE as u64);
    let quantities = rows::quantity_columns(&record.plan);
    let samples = Samples::none_of(dir, again, quantities.clone());
    let mut found = ReadSamples { samples, whole: 0, torn: false, quantities };
    let (mut kept, mut left_out) = (0, LeftOut::none_of(SAMPLES));
    while let Some(line) = lines.find().map_err(unread)? {
        let number = lines.number;
        let Some(stored) = &mut found.samples.stored else { break };
        // A header that was cut off is short; a file of something else is not.
        let endless = number == 1 && lines.place.bytes >= rows::LONGEST_LINE as u64;
        let line = if endless { FoundLine::TooLong } else { line };
        if matches!(line, FoundLine::Torn) {
            record.warnings.push(torn_row(number));
            // Half a header leaves nothing to keep.
            found.torn = number > 1;
            break;
        }
        let text = text_of(&line, lines.text());
        if number == 1 {
            let bad = |e: BadField| LoadError::Row {
                path: path.clone(),
                line: 1,
                column: e.column,
                reason: e.reason,
            };
            found.quantities = text.and_then(rows::parse_header).map_err(bad)?;
            stored.columns = Columns::new(found.quantities.clone());
        } else {
            match text.and_then(|text| rows::check_row(text, &record.plan, &stored.columns)) {
                Ok(sample) => {
                    stored.saw(&sample, lines.place);
                    kept += 1;
                }
                Err(why) => left_out.saw(number, why),
            }
        }
        found.whole = lines.place.offset + lines.place.bytes;
    }
    left_out.refuse_if_all(path, kept)?;
    let lost = u64::from(record.sample_rows).saturating_sub(kept + left_out.rows);
    if lost > 0 {
        record.warnings.push(lost_rows(record.sample_rows, lost));
    }
    left_out.warn(&mut record.warnings);
    if let Some(stored) = &mut found.samples.stored {
        stored.histograms = histograms::index(dir, &mut record.warnings)?;
        record.warnings.retain(|warning| warning.id != histograms::LOST);
        let timed = found.quantities.iter().any(|of| of == TIMED);
        record.warnings.extend(histograms::lost(dir).filter(|_| timed && kept > 0));
    }
    Ok(found)
}

fn text_of<'l>(line: &FoundLine, bytes: &'l [u8]) -> Result<&'l str, BadField> {
    let bad = |reason: String| BadField { column: "case".into(), reason };
    if matches!(line, FoundLine::TooLong) {
        return Err(bad(format!("the line is longer than {} bytes", rows::LONGEST_LINE)));
    }
    std::str::from_utf8(bytes).map_err(|_| bad("the line is not text".into()))
}

fn torn_row(line: u64) -> Warning {
    Warning {
        id: "torn_row".into(),
        observed: format!("line {line} of {}, its last, ends in the middle", SAMPLES),
        consequence:
            "the run was cut off while writing; that row is ignored (--resume measures its round again)"
                .into(),
        remedy: "syscost run --resume DIR".into(),
        cases: Vec::new(),
    }
}

impl Deref for Samples {
    type Target = Vec<Sample>;

    fn deref(&self) -> &Vec<Sample> {
        self.whole.get_or_init(|| self.stored.as_ref().map_or_else(Vec::new, Stored::whole))
    }
}

/// What is changed is no longer what the file says.
impl DerefMut for Samples {
    fn deref_mut(&mut self) -> &mut Vec<Sample> {
        let _ = self.deref();
        self.stored = None;
        self.whole.get_mut().expect("made just now")
    }
}

impl From<Vec<Sample>> for Samples {
    fn from(samples: Vec<Sample>) -> Samples {
        Samples { stored: None, whole: OnceLock::from(samples) }
    }
}

impl PartialEq for Samples {
    fn eq(&self, other: &Samples) -> bool {
        **self == **other
    }
}

impl PartialEq<[Sample]> for Samples {
    fn eq(&self, other: &[Sample]) -> bool {
        **self == other
    }
}

impl<'a> IntoIterator for &'a Samples {
    type Item = &'a Sample;
    type IntoIter = std::slice::Iter<'a, Sample>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Samples {
    type Item = &'a mut Sample;
    type IntoIter = std::slice::IterMut<'a, Sample>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}
