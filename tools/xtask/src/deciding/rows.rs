//! Rows of `studies.csv`: what a study said of a rival's total CPU beside what is true of it.

use super::definition::defined;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use syscost_experiment::run::SliceRow;

pub const METRIC: &str = "total_cpu_ns_per_byte";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StudyScope {
    Point,
    OverThreads,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StudyVerdict {
    Faster,
    Slower,
    Same,
    Undecided,
}

impl StudyVerdict {
    /// Of b beside a.
    fn turned(self) -> StudyVerdict {
        match self {
            StudyVerdict::Faster => StudyVerdict::Slower,
            StudyVerdict::Slower => StudyVerdict::Faster,
            other => other,
        }
    }

    pub fn differs(self) -> bool {
        matches!(self, StudyVerdict::Faster | StudyVerdict::Slower)
    }
}

/// One row of `studies.csv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyRow {
    pub study: String,
    pub run: u32,
    pub metric: String,
    pub scope: StudyScope,
    pub message_bytes: u64,
    /// None over threads.
    pub threads: Option<u64>,
    pub rival: String,
    pub against: String,
    /// Share of the sender's CPU time that the rival spins, in per cent; none where nothing was planted.
    pub planted_percent: Option<f64>,
    /// What the spin alone makes of the ratio: the least that it can be; none where nothing was planted.
    pub planted_ratio: Option<f64>,
    /// rival / against; none where no round had both.
    pub ratio: Option<f64>,
    pub ci_low: Option<f64>,
    pub ci_high: Option<f64>,
    pub rounds: u32,
    pub verdict: StudyVerdict,
    pub minutes_needed: Option<f64>,
}

/// A row of a run's `comparisons.csv`: the columns that are read here.
#[derive(Clone, Debug, Deserialize)]
struct ComparisonRow {
    family: String,
    scope: String,
    metric: String,
    a: String,
    b: String,
    shared: String,
    a_is: String,
    b_is: String,
    ratio: f64,
    ci_low: Option<f64>,
    ci_high: Option<f64>,
    rounds: u32,
    verdict: String,
    minutes_needed: Option<f64>,
}

/// What is planted: rival -> per cent of the sender's CPU time that it spins beside playing the control.
pub type Plants = BTreeMap<String, f64>;

/// A point of a rival that a run has in its plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedRival {
    pub rival: String,
    pub message_bytes: u64,
    pub threads: u64,
}

/// The study that a run was, and what is known of it beforehand.
pub struct Recording<'a> {
    pub study: &'a str,
    pub run: u32,
    pub plants: &'a Plants,
    /// The sender's share of the CPU time of each case that is the control.
    pub shares: &'a BTreeMap<usize, f64>,
}

impl Recording<'_> {
    /// The rows of a `comparisons.csv` that are kept: every rival beside the control, and the pair that crosses.
    pub fn rows(&self, comparisons: &str) -> Result<Vec<StudyRow>> {
        let mut rows = Vec::new();
        for row in csv::Reader::from_reader(comparisons.as_bytes()).deserialize() {
            let row: StudyPair = match StudyPair::of(row?)? {
                Some(pair) => pair,
                None => continue,
            };
            let crosses = self.plants.is_empty() && defined().cross(&row.rival, &row.against);
            if row.against == defined().control || crosses {
                rows.push(self.row(row)?);
            }
        }
        Ok(rows)
    }

    /// Planned points and sizes that a run said nothing of: undecided, so that no share is of what was reached alone.
    pub fn unreached(&self, planned: &[PlannedRival], rows: &[StudyRow]) -> Vec<StudyRow> {
        let points =
            planned.iter().map(|one| (StudyScope::Point, one.message_bytes, Some(one.threads), &one.rival));
        let sizes = planned.iter().map(|one| (StudyScope::OverThreads, one.message_bytes, None, &one.rival));
        let asked: BTreeSet<_> = points.chain(sizes).collect();
        let answered: BTreeSet<_> = rows
            .iter()
            .filter(|row| row.against == defined().control)
            .map(|row| (row.scope, row.message_bytes, row.threads, &row.rival))
            .collect();
        let row =
            |(scope, message_bytes, threads, rival): &(StudyScope, u64, Option<u64>, &String)| StudyRow {
                study: self.study.into(),
                run: self.run,
                metric: METRIC.into(),
                scope: *scope,
                message_bytes: *message_bytes,
                threads: *threads,
                rival: rival.to_string(),
                against: defined().control.clone(),
                planted_percent: self.plants.get(*rival).copied(),
                planted_ratio: None,
                ratio: None,
                ci_low: None,
                ci_high: None,
                rounds: 0,
                verdict: StudyVerdict::Undecided,
                minutes_needed: None,
            };
        asked.difference(&answered).map(row).collect()
    }

    fn row(&self, pair: StudyPair) -> Result<StudyRow> {
        let planted_percent = self.plants.get(&pair.rival).copied();
        let shares = pair
            .against_cases
            .iter()
            .map(|case| self.shares.get(case).copied().with_context(|| format!("case {case} has no slices")));
        let planted_ratio = match planted_percent {
            Some(percent) => planted_ratio(percent, &shares.collect::<Result<Vec<f64>>>()?),
            None => None,
        };
        let row = pair.row;
        Ok(StudyRow {
            study: self.study.into(),
            run: self.run,
            metric: METRIC.into(),
            scope: pair.scope,
            message_bytes: pair.message_bytes,
            threads: pair.threads,
            rival: pair.rival,
            against: pair.against,
            planted_percent,
            planted_ratio,
            ratio: Some(row.ratio),
            ci_low: row.ci_low,
            ci_high: row.ci_high,
            rounds: row.rounds,
            verdict: pair.verdict,
            minutes_needed: row.minutes_needed,
        })
    }
}

/// Two mechanisms at one size; the control, or the later of the pair that crosses, is what the other is held against.
struct StudyPair {
    row: ComparisonRow,
    scope: StudyScope,
    message_bytes: u64,
    threads: Option<u64>,
    rival: String,
    against: String,
    against_cases: Vec<usize>,
    verdict: StudyVerdict,
}

impl StudyPair {
    /// `None`: another metric or another family.
    fn of(row: ComparisonRow) -> Result<Option<StudyPair>> {
        if (row.family.as_str(), row.metric.as_str()) != ("mechanism", METRIC) {
            return Ok(None);
        }
        let coordinate = |text: &str, id: &str| {
            let mut all = text.split(' ').filter_map(|word| word.split_once('='));
            all.find(|(name, _)| *name == id).map(|(_, value)| value.to_string())
        };
        let (Some(a), Some(b), Some(size)) = (
            coordinate(&row.a_is, "mechanism"),
            coordinate(&row.b_is, "mechanism"),
            coordinate(&row.shared, "message_bytes"),
        ) else {
            return Ok(None);
        };
        let turn = a == defined().control || defined().cross(&b, &a);
        let verdict: StudyVerdict = serde_json::from_value(row.verdict.clone().into())
            .with_context(|| format!("verdict {:?}", row.verdict))?;
        let cases = |text: &str| text.split(' ').map(|case| Ok(case.parse()?)).collect::<Result<_>>();
        let pair = StudyPair {
            scope: serde_json::from_value(row.scope.clone().into())?,
            message_bytes: size.parse()?,
            threads: coordinate(&row.shared, "threads").map(|threads| threads.parse()).transpose()?,
            rival: if turn { b.clone() } else { a.clone() },
            against: if turn { a } else { b },
            against_cases: cases(if turn { &row.a } else { &row.b })?,
            verdict: if turn { verdict.turned() } else { verdict },
            row: if turn { row.turned() } else { row },
        };
        Ok(Some(pair))
    }
}

impl ComparisonRow {
    /// b / a
    fn turned(self) -> ComparisonRow {
        ComparisonRow {
            ratio: 1.0 / self.ratio,
            ci_low: self.ci_high.map(|high| 1.0 / high),
            ci_high: self.ci_low.map(|low| 1.0 / low),
            ..self
        }
    }
}

/// The ratio of total CPU that a spin of this per cent of the sender's time makes: the geometric mean over points with these
/// shares of the sender; `None`: there are none.
fn planted_ratio(percent: f64, shares: &[f64]) -> Option<f64> {
    let logs: f64 = shares.iter().map(|share| (percent / 100.0 * share).ln_1p()).sum();
    (!shares.is_empty()).then(|| (logs / shares.len() as f64).exp())
}

/// The sender's share of the CPU time of each case: the median over slices. A twin's slices are those of its case.
pub fn sender_shares<'a>(
    slices: impl Iterator<Item = &'a SliceRow>,
    twin_of: impl Fn(usize) -> Option<usize>,
) -> BTreeMap<usize, f64> {
    let mut shares: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for row in slices {
        let all_ns = (row.slice.sender_cpu_ns + row.slice.receiver_cpu_ns) as f64;
        if all_ns > 0.0 {
            let case = twin_of(row.case).unwrap_or(row.case);
            shares.entry(case).or_default().push(row.slice.sender_cpu_ns as f64 / all_ns);
        }
    }
    shares.into_iter().filter_map(|(case, all)| Some((case, syscost_core::stats::median(&all)?))).collect()
}

pub fn parse(text: &str) -> Result<Vec<StudyRow>> {
    csv::Reader::from_reader(text.as_bytes()).deserialize().map(|row| Ok(row?)).collect()
}

pub fn text(rows: &[StudyRow]) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer.serialize(row)?;
    }
    Ok(String::from_utf8(writer.into_inner()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_measure::probe::Slice;

    const HEADER: &str = "family,scope,metric,a,b,shared,a_is,b_is,ratio,ci_low,ci_high,ci_level,rounds,p_adjusted,verdict,minutes_needed\n";

    fn rows(comparisons: &str, plants: &[(&str, f64)]) -> Vec<StudyRow> {
        let plants = plants.iter().map(|(rival, percent)| (rival.to_string(), *percent)).collect();
        let shares = BTreeMap::from([(2, 0.5), (6, 0.8)]);
        let recording = Recording { study: "x", run: 2, plants: &plants, shares: &shares };
        recording.rows(&format!("{HEADER}{comparisons}")).unwrap()
    }

    #[test]
    fn the_control_is_what_rivals_are_held_against_on_either_side() {
        let one = "mechanism,point,total_cpu_ns_per_byte,2,3,message_bytes=64 threads=4,mechanism=send,in_flight=0 mechanism=sendmsg,0.8,0.5,1,0.999,5,0.01,faster,\n";
        let two = "mechanism,point,total_cpu_ns_per_byte,4,2,message_bytes=64 threads=4,mechanism=pack_send,mechanism=send,0.8,,,0,1,1,undecided,2.5\n";
        let [sendmsg, pack] = &rows(&format!("{one}{two}"), &[])[..] else { panic!() };
        assert_eq!(
            (sendmsg.rival.as_str(), sendmsg.against.as_str(), sendmsg.threads),
            ("sendmsg", "send", Some(4))
        );
        assert_eq!((sendmsg.ratio, sendmsg.ci_low, sendmsg.ci_high), (Some(1.25), Some(1.0), Some(2.0)));
        assert_eq!((sendmsg.verdict, sendmsg.planted_ratio), (StudyVerdict::Slower, None));
        assert_eq!((pack.ratio, pack.ci_low, pack.verdict), (Some(0.8), None, StudyVerdict::Undecided));
        assert_eq!(pack.minutes_needed, Some(2.5));
    }

    #[test]
    fn other_metrics_families_and_pairs_are_left_out() {
        let metric = "mechanism,point,throughput,2,3,message_bytes=64 threads=4,mechanism=send,mechanism=sendmsg,1,1,1,0.9,5,1,same,\n";
        let family = "threads,point,total_cpu_ns_per_byte,2,3,message_bytes=64,threads=1,threads=2,1,1,1,0.9,5,1,same,\n";
        let pair = "mechanism,point,total_cpu_ns_per_byte,5,7,message_bytes=64 threads=4,mechanism=sendmsg,mechanism=send_fields,1,1,1,0.9,5,1,same,\n";
        assert_eq!(rows(&format!("{metric}{family}{pair}"), &[]), []);
    }

    #[test]
    fn the_pair_that_crosses_is_kept_where_nothing_is_planted() {
        let pair = "mechanism,over_threads,total_cpu_ns_per_byte,5 9,7 8,message_bytes=64,mechanism=sendmsg,mechanism=pack_send,2,1.6,2.5,0.9,5,1,slower,\n";
        let [row] = &rows(pair, &[])[..] else { panic!() };
        assert_eq!(
            (row.rival.as_str(), row.ratio, row.verdict),
            ("pack_send", Some(0.5), StudyVerdict::Faster)
        );
        assert_eq!((row.scope, row.threads), (StudyScope::OverThreads, None));
        assert_eq!(rows(pair, &[("sendmsg", 5.0)]), []);
    }

    #[test]
    fn a_planted_ratio_is_the_spin_times_the_senders_share_and_over_threads_its_geometric_mean() {
        let point = "mechanism,point,total_cpu_ns_per_byte,3,2,message_bytes=64 threads=1,mechanism=sendmsg,mechanism=send,1,0.9,1.1,0.9,5,1,same,\n";
        let over = "mechanism,over_threads,total_cpu_ns_per_byte,2 6,3 7,message_bytes=64,mechanism=send,mechanism=sendmsg,1,0.9,1.1,0.9,5,1,same,\n";
        let found = rows(&format!("{point}{over}"), &[("sendmsg", 10.0)]);
        let ratios: Vec<f64> = found.iter().filter_map(|row| row.planted_ratio).collect();
        assert!((ratios[0] - 1.05).abs() < 1e-12, "{ratios:?}");
        assert!((ratios[1] - (1.05f64 * 1.08).sqrt()).abs() < 1e-12, "{ratios:?}");
        assert_eq!(rows(point, &[("sendmsg", 0.0)])[0].planted_ratio, Some(1.0));
    }

    #[test]
    fn a_share_is_the_median_over_the_slices_of_a_case_and_its_twin() {
        let slice = |case, sender_cpu_ns| {
            let slice = Slice {
                pass: 0,
                position: 0,
                length_ns: 1_000_000,
                start_ns: 0,
                wall_ns: 1,
                messages: 1,
                sender_cpu_ns,
                receiver_cpu_ns: 100 - sender_cpu_ns,
            };
            SliceRow { block: 0, round: 0, case, slice }
        };
        let slices = [slice(0, 40), slice(9, 50), slice(9, 99), slice(1, 70)];
        let shares = sender_shares(slices.iter(), |case| (case == 9).then_some(0));
        assert_eq!(shares, BTreeMap::from([(0, 0.5), (1, 0.7)]));
    }

    #[test]
    fn what_a_run_did_not_reach_is_undecided() {
        let point = "mechanism,point,total_cpu_ns_per_byte,3,2,message_bytes=64 threads=1,mechanism=sendmsg,mechanism=send,1,0.9,1.1,0.9,5,1,same,\n";
        let planned = [1, 2]
            .map(|threads| PlannedRival { rival: "sendmsg".into(), message_bytes: 64, threads })
            .to_vec();
        let (plants, shares) = (Plants::new(), BTreeMap::new());
        let recording = Recording { study: "x", run: 1, plants: &plants, shares: &shares };
        let missing = recording.unreached(&planned, &rows(point, &[]));
        let seen: Vec<_> = missing.iter().map(|row| (row.scope, row.threads, row.verdict)).collect();
        let undecided = StudyVerdict::Undecided;
        let (over, two) = ((StudyScope::OverThreads, None), (StudyScope::Point, Some(2)));
        assert_eq!(seen, [(two.0, two.1, undecided), (over.0, over.1, undecided)]);
    }

    #[test]
    fn rows_come_back_from_the_file() {
        let point = "mechanism,point,total_cpu_ns_per_byte,3,2,message_bytes=64 threads=1,mechanism=sendmsg,mechanism=send,1,0.9,1.1,0.9,5,1,same,\n";
        let rows = [rows(point, &[("sendmsg", 3.0)]), rows(point, &[])].concat();
        let text = text(&rows).unwrap();
        assert!(text.starts_with("study,run,metric,scope,message_bytes,threads,rival,against,"), "{text}");
        assert_eq!(parse(&text).unwrap(), rows);
    }
}
