//! `slices.csv`: what each short turn of each rival of a block cost, one row a slice.
//!
//! The rows of a round of a block are appended together, before its samples. Where a round was measured again
//! after a crash, its later rows count. Ratios of rivals come from here: both had a slice in the same pass,
//! milliseconds apart, so that the machine's drift cancels.

use super::appended::{append_rows, each_row, header_of};
use super::errors::{LoadError, WriteError, write_error};
use super::rows::{BadField, CsvColumn, column};
use super::{Record, Warning};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use syscost_core::decide::Contrast;
use syscost_core::stats;
use syscost_core::units::count;
use syscost_measure::probe::Slice;

pub const SLICES: &str = "slices.csv";
/// A warning: rounds of that file are gone.
const LOST: &str = "lost_slices";

pub const COLUMNS: &[CsvColumn] = &[
    column("block", "which rivals took turns: the index of the first case that no other block has"),
    column("round", "that of the block's samples in `samples.csv`: a fresh pair of workers"),
    column("case", "index of the case in `plan.cases` of `run.json`"),
    column("pass", "each rival has one slice in a pass, in random order"),
    column("position", "the slice's place in its pass"),
    column("length_ns", "how long it was to be"),
    column("start_ns", "when it began, in nanoseconds since the run's start"),
    column(
        "wall_ns",
        "from its beginning until the last sender thread that sent something had ended it, completions included, and until all of it had arrived",
    ),
    column("messages", "messages sent in it"),
    column("sender_cpu_ns", "CPU time of the sender's threads"),
    column("receiver_cpu_ns", "CPU time of the receiver's threads until all of it had arrived"),
];

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SliceRow {
    pub block: usize,
    pub round: u32,
    pub case: usize,
    pub slice: Slice,
}

impl SliceRow {
    fn fields(&self) -> [u64; 11] {
        let SliceRow { block, round, case, slice } = *self;
        let Slice { pass, position, length_ns, start_ns, wall_ns, messages, sender_cpu_ns, receiver_cpu_ns } =
            slice;
        [
            block as u64,
            round.into(),
            case as u64,
            pass.into(),
            position.into(),
            length_ns,
            start_ns,
            wall_ns,
            messages,
            sender_cpu_ns,
            receiver_cpu_ns,
        ]
    }

    /// The column that is wrong, and why.
    fn parse(line: &str, cases: usize) -> Result<SliceRow, (&'static str, String)> {
        let mut fields = line.split(',');
        let mut n = [0u64; 11];
        for (value, column) in n.iter_mut().zip(COLUMNS) {
            let text = fields.next().ok_or((column.id, "the row ends before it".to_string()))?;
            *value = text.parse().map_err(|_| (column.id, format!("{text:?} is not a whole number")))?;
        }
        if fields.next().is_some() {
            return Err((COLUMNS[10].id, "more fields follow it".into()));
        }
        let small =
            |at: usize| u32::try_from(n[at]).map_err(|_| (COLUMNS[at].id, format!("{} is too large", n[at])));
        for at in [0, 2] {
            if n[at] >= cases as u64 {
                return Err((COLUMNS[at].id, format!("the plan has no case {}", n[at])));
            }
        }
        let (round, pass, position) = (small(1)?, small(3)?, small(4)?);
        let slice = Slice {
            pass,
            position,
            length_ns: n[5],
            start_ns: n[6],
            wall_ns: n[7],
            messages: n[8],
            sender_cpu_ns: n[9],
            receiver_cpu_ns: n[10],
        };
        Ok(SliceRow { block: n[0] as usize, round, case: n[2] as usize, slice })
    }
}

/// The ratio of two rivals in one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundRatio {
    pub round: u32,
    /// ln(figure of a / figure of b): the median over passes.
    pub log: f64,
    /// Its standard error by the scatter of passes; `None` where they are too few to say.
    pub error: Option<f64>,
    /// The two took turns in different blocks: each was held against the control of both.
    pub by_way: bool,
}

impl RoundRatio {
    /// Fewer passes say nothing of their scatter.
    const LEAST_PASSES: usize = 6;

    /// What an answer is made of: errors only where all rounds have one.
    pub fn contrast(ratios: &[RoundRatio], pool: usize) -> Contrast {
        let errors: Option<Vec<f64>> = ratios.iter().map(|ratio| ratio.error).collect();
        let logs = ratios.iter().map(|ratio| ratio.log).collect();
        Contrast { errors: errors.unwrap_or_default(), pool, ..Contrast::of(logs) }
    }

    fn of(round: u32, logs: &[f64]) -> Option<RoundRatio> {
        let log = stats::median(logs)?;
        let off: Vec<f64> = logs.iter().map(|other| (other - log).abs()).collect();
        // The standard deviation by the median of deviations, and the efficiency of a median: of a normal distribution.
        let scatter = 1.4826 * stats::median(&off)?;
        let error = 1.2533 * scatter / (logs.len() as f64).sqrt();
        let known = logs.len() >= RoundRatio::LEAST_PASSES && error > 0.0;
        Some(RoundRatio { round, log, error: known.then_some(error), by_way: false })
    }

    /// Of what whole visits measured.
    pub fn whole((round, log): (u32, f64)) -> RoundRatio {
        RoundRatio { round, log, error: None, by_way: false }
    }

    /// a / b, of a / c and b / c in different blocks of one round.
    fn by_way_of(a: RoundRatio, b: RoundRatio) -> RoundRatio {
        let error = a.error.zip(b.error).map(|(a, b)| a.hypot(b));
        RoundRatio { round: a.round, log: a.log - b.log, error, by_way: true }
    }
}

/// What a slice says of a message of its rival, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceFigure {
    TotalCpu,
    SenderCpu,
    ReceiverCpu,
    /// Wall time, from the slice's beginning until all of it had arrived.
    Wall,
}

impl SliceFigure {
    /// `None`: nothing was sent, or no time passed.
    pub fn of(self, slice: &Slice) -> Option<f64> {
        let ns = match self {
            SliceFigure::TotalCpu => slice.sender_cpu_ns + slice.receiver_cpu_ns,
            SliceFigure::SenderCpu => slice.sender_cpu_ns,
            SliceFigure::ReceiverCpu => slice.receiver_cpu_ns,
            SliceFigure::Wall => slice.wall_ns,
        };
        (slice.messages > 0 && ns > 0).then(|| ns as f64 / slice.messages as f64)
    }
}

/// All slices of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Slices {
    /// By block and round.
    rounds: BTreeMap<(usize, u32), Vec<SliceRow>>,
    /// The rounds of each case.
    of_case: HashMap<usize, Vec<(usize, u32)>>,
}

impl Slices {
    pub fn is_empty(&self) -> bool {
        self.rounds.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &SliceRow> {
        self.rounds.values().flatten()
    }

    /// How many rounds of blocks there are.
    pub fn block_rounds(&self) -> u32 {
        self.rounds.len() as u32
    }

    /// The rounds in which a case had a turn.
    pub fn rounds_of(&self, case: usize) -> impl Iterator<Item = u32> {
        self.keys(&[case]).iter().map(|(_, round)| *round)
    }

    /// Blocks and rounds in which the first of these cases had a turn.
    fn keys(&self, cases: &[usize]) -> &[(usize, u32)] {
        cases.first().and_then(|case| self.of_case.get(case)).map_or(&[], |keys| keys)
    }

    /// Takes in a round of a block, and forgets what it had measured before.
    pub fn saw(&mut self, rows: &[SliceRow]) {
        let Some(first) = rows.first() else { return };
        let key = (first.block, first.round);
        for row in rows {
            let known = self.of_case.entry(row.case).or_default();
            if !known.contains(&key) {
                known.push(key);
            }
        }
        self.rounds.insert(key, rows.to_vec());
    }

    /// A figure of each case in each pass.
    fn by_pass(&self, rows: &[SliceRow], figure: SliceFigure) -> BTreeMap<u32, Vec<(usize, f64)>> {
        let mut passes: BTreeMap<u32, Vec<(usize, f64)>> = BTreeMap::new();
        for row in rows {
            passes
                .entry(row.slice.pass)
                .or_default()
                .extend(figure.of(&row.slice).map(|value| (row.case, value)));
        }
        passes
    }

    /// Of every round in which these cases took turns the logarithm of their mean figure: the median over its passes.
    pub fn levels(&self, cases: &[usize], figure: SliceFigure) -> Vec<(u32, f64)> {
        let mut found: BTreeMap<u32, f64> = BTreeMap::new();
        for key in self.keys(cases) {
            if let Some(log) = self.level(key, cases, figure) {
                found.entry(key.1).or_insert(log);
            }
        }
        found.into_iter().collect()
    }

    /// The same of one round.
    pub fn level_in(&self, cases: &[usize], round: u32, figure: SliceFigure) -> Option<f64> {
        let mut of_round = self.keys(cases).iter().filter(|key| key.1 == round);
        of_round.find_map(|key| self.level(key, cases, figure))
    }

    fn level(&self, key: &(usize, u32), cases: &[usize], figure: SliceFigure) -> Option<f64> {
        let passes = self.by_pass(&self.rounds[key], figure);
        let logs: Vec<f64> = passes.values().filter_map(|pass| mean_log(pass, cases)).collect();
        stats::median(&logs)
    }

    /// The logarithm of a figure of these cases, by round and pass: a run beside this one has the same.
    pub fn logs(&self, cases: &[usize], figure: SliceFigure) -> BTreeMap<(u32, u32), f64> {
        let mut found = BTreeMap::new();
        for key in self.keys(cases) {
            let passes = self.by_pass(&self.rounds[key], figure);
            let of = |(pass, costs): (&u32, &Vec<_>)| Some(((key.1, *pass), mean_log(costs, cases)?));
            found.extend(passes.iter().filter_map(of));
        }
        found
    }

    /// The ratio of every round in which both took turns. Where one of them is there twice (the control has a twin), it
    /// stands for the mean of both.
    pub fn log_ratios(&self, a: &[usize], b: &[usize], figure: SliceFigure) -> Vec<RoundRatio> {
        let mut found: BTreeMap<u32, RoundRatio> = BTreeMap::new();
        for key in self.keys(a) {
            let passes = self.by_pass(&self.rounds[key], figure);
            let logs = passes.values().filter_map(|pass| Some(mean_log(pass, a)? - mean_log(pass, b)?));
            let ratio = RoundRatio::of(key.1, &logs.collect::<Vec<f64>>());
            // The control and its twin are in several blocks of a round: one of them is enough.
            found.extend(ratio.map(|ratio| (key.1, ratio)));
        }
        found.into_values().collect()
    }

    /// The same of two that took turns with this control in different blocks.
    pub fn log_ratios_by_way(
        &self,
        (a, b): (&[usize], &[usize]),
        control: &[usize],
        figure: SliceFigure,
    ) -> Vec<RoundRatio> {
        let of_b = self.log_ratios(b, control, figure);
        let both = |a: RoundRatio| {
            let b = of_b.iter().find(|b| b.round == a.round)?;
            Some(RoundRatio::by_way_of(a, *b))
        };
        self.log_ratios(a, control, figure).into_iter().filter_map(both).collect()
    }
}

/// `None`: not all of them had a slice.
fn mean_log(pass: &[(usize, f64)], cases: &[usize]) -> Option<f64> {
    let log = |case: &usize| pass.iter().find(|(other, _)| other == case).map(|(_, cost)| cost.ln());
    let logs: Option<Vec<f64>> = cases.iter().map(log).collect();
    logs.filter(|logs| !logs.is_empty()).map(|logs| logs.iter().sum::<f64>() / logs.len() as f64)
}

/// Appends the rows of a round of a block with one write.
pub(super) fn append(dir: &Path, rows: &[SliceRow]) -> Result<(), WriteError> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut text = String::new();
    for row in rows {
        let fields: Vec<String> = row.fields().iter().map(u64::to_string).collect();
        text.push_str(&fields.join(","));
        text.push('\n');
    }
    let path = dir.join(SLICES);
    append_rows(&path, &header_of(COLUMNS), text).map(drop).map_err(|error| write_error(&path, error))
}

pub(super) fn read(dir: &Path, record: &mut Record) -> Result<Slices, LoadError> {
    let slices = read_rows(dir, record.plan.cases.len(), &mut record.warnings)?;
    record.warnings.retain(|warning| warning.id != LOST);
    record.warnings.extend(lost(slices.rounds.len(), record.slice_rounds as usize));
    Ok(slices)
}

fn lost(rounds: usize, written: usize) -> Option<Warning> {
    (rounds < written).then(|| Warning {
        id: LOST.into(),
        observed: format!("{SLICES} has {} of slices, and {written} were written", count(rounds, "round")),
        consequence: "rivals are compared by the rounds that are left, or by windows: less is decided".into(),
        remedy: "put the file back, or measure again: syscost run --out NEW_DIR".into(),
        cases: Vec::new(),
    })
}

fn read_rows(dir: &Path, cases: usize, warnings: &mut Vec<Warning>) -> Result<Slices, LoadError> {
    let mut slices = Slices::default();
    let mut round: Vec<SliceRow> = Vec::new();
    each_row(dir, SLICES, COLUMNS, warnings, |row, _| {
        let bad = |(column, reason): (&str, String)| BadField { column: column.into(), reason };
        let text = std::str::from_utf8(row).map_err(|_| bad(("block", "the line is not text".into())))?;
        let row = SliceRow::parse(text, cases).map_err(bad)?;
        if round.first().is_some_and(|first| (first.block, first.round) != (row.block, row.round)) {
            slices.saw(&round);
            round.clear();
        }
        round.push(row);
        Ok(())
    })?;
    slices.saw(&round);
    Ok(slices)
}

#[cfg(test)]
mod tests {
    use super::super::open::options;
    use super::*;
    use std::io::Write;

    fn read(dir: &Path, cases: usize) -> Result<Slices, LoadError> {
        read_rows(dir, cases, &mut Vec::new())
    }

    fn row(round: u32, case: usize, pass: u32, cost: u64) -> SliceRow {
        let slice = Slice {
            pass,
            position: 0,
            length_ns: 1_000_000,
            start_ns: 7,
            wall_ns: 1_000_000,
            messages: 10,
            sender_cpu_ns: 4 * cost,
            receiver_cpu_ns: 6 * cost,
        };
        SliceRow { block: 1, round, case, slice }
    }

    #[test]
    fn rows_come_back_and_a_round_measured_again_replaces_itself() {
        let dir = tempfile::tempdir().unwrap();
        assert!(read(dir.path(), 4).unwrap().is_empty());
        append(dir.path(), &[row(0, 0, 0, 100), row(0, 1, 0, 200)]).unwrap();
        let mut file = options(true).open(dir.path().join(SLICES)).unwrap();
        file.write_all(b"1,1,0,0,0").unwrap();
        assert_eq!(read(dir.path(), 4).unwrap().iter().count(), 2, "half a row is nobody's");
        append(dir.path(), &[row(1, 0, 0, 100), row(1, 1, 0, 300)]).unwrap();
        append(dir.path(), &[row(0, 0, 0, 100), row(0, 1, 0, 400)]).unwrap();
        let slices = read(dir.path(), 4).unwrap();
        let ratios = slices.log_ratios(&[1], &[0], SliceFigure::TotalCpu);
        let logs: Vec<(u32, f64)> = ratios.iter().map(|ratio| (ratio.round, ratio.log)).collect();
        let near = |log: f64, ratio: f64| (log - ratio.ln()).abs() < 1e-9;
        assert!(
            matches!(logs[..], [(0, four), (1, three)] if near(four, 4.0) && near(three, 3.0)),
            "{logs:?}"
        );
        assert_eq!(ratios[0].error, None, "one pass says nothing of its scatter");
        let mut kept = Slices::default();
        kept.saw(&[row(0, 0, 0, 100), row(0, 1, 0, 400)]);
        kept.saw(&[row(1, 0, 0, 100), row(1, 1, 0, 300)]);
        assert_eq!(kept, slices, "in memory as in the file");
    }

    #[test]
    fn a_strange_row_is_left_out_and_said_by_line_and_column() {
        let dir = tempfile::tempdir().unwrap();
        append(dir.path(), &[row(0, 3, 0, 100)]).unwrap();
        let mut warnings = Vec::new();
        assert!(read_rows(dir.path(), 3, &mut warnings).unwrap().is_empty());
        let said = &warnings[0].observed;
        assert!(said.contains("line 2, column case: the plan has no case 3"), "{said}");
        std::fs::write(dir.path().join(SLICES), "nothing\n").unwrap();
        assert!(read_rows(dir.path(), 4, &mut warnings).unwrap().is_empty());
        assert!(warnings[0].observed.contains("line 1"), "{warnings:?}");
    }

    #[test]
    fn rivals_of_two_blocks_are_compared_by_way_of_their_control() {
        let mut slices = Slices::default();
        // The machine is half as fast again in the second block; each round has one more pass than it needs to know its error.
        let block = |block, rival, cost: u64, level: u64| {
            let pass = |pass: u32| {
                let costs = [(0, 100 * level), (rival, (cost + u64::from(pass % 3)) * level)];
                costs.map(|(case, cost)| SliceRow { block, ..row(0, case, pass, cost) })
            };
            (0..7).flat_map(pass).collect::<Vec<_>>()
        };
        slices.saw(&block(1, 1, 110, 2));
        slices.saw(&block(2, 2, 220, 3));
        assert_eq!(slices.log_ratios(&[1], &[2], SliceFigure::TotalCpu), [], "they never met");
        let [ratio] = slices.log_ratios_by_way((&[1], &[2]), &[0], SliceFigure::TotalCpu)[..] else {
            panic!("{slices:?}")
        };
        assert!(ratio.by_way && (ratio.log.exp() - 111.0 / 221.0).abs() < 1e-3, "{ratio:?}");
        let each = [1, 2].map(|rival| {
            slices.log_ratios(&[rival], &[0], SliceFigure::TotalCpu)[0].error.expect("seven passes")
        });
        assert!(ratio.error.is_some_and(|error| (error - each[0].hypot(each[1])).abs() < 1e-12));
    }

    #[test]
    fn a_ratio_is_the_median_of_passes_against_the_mean_of_the_control_and_its_twin() {
        let mut slices = Slices::default();
        let pass = |pass, drift: u64, rival: u64| {
            [row(0, 0, pass, 100 * drift), row(0, 2, pass, 400 * drift), row(0, 1, pass, rival * drift)]
        };
        let rows: Vec<SliceRow> = [pass(0, 1, 300), pass(1, 7, 300), pass(2, 3, 9000)].concat();
        slices.saw(&rows);
        let [RoundRatio { round: 0, log: ratio, .. }] =
            slices.log_ratios(&[1], &[0, 2], SliceFigure::TotalCpu)[..]
        else {
            panic!()
        };
        assert!((ratio - 1.5f64.ln()).abs() < 1e-12, "drift cancels and one odd pass does nothing: {ratio}");
        assert_eq!(slices.log_ratios(&[1], &[3], SliceFigure::TotalCpu), [], "never side by side");
        assert_eq!(slices.log_ratios(&[9], &[0], SliceFigure::TotalCpu), []);
        let idle = Slice { messages: 0, ..row(0, 1, 0, 1).slice };
        assert_eq!(SliceFigure::TotalCpu.of(&idle), None);
    }
}
