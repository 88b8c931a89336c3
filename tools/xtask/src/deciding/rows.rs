//! Rows of `studies.csv`: what a study said of a rival's total CPU beside what is true of it.

use super::definition::defined;
use crate::rivals::{self, RivalPair, RivalScope, RivalVerdict};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use syscost_experiment::run::SliceRow;

pub const METRIC: &str = "total_cpu_ns_per_byte";

/// One row of `studies.csv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudyRow {
    pub study: String,
    pub run: u32,
    pub metric: String,
    pub scope: RivalScope,
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
    pub verdict: RivalVerdict,
    pub minutes_needed: Option<f64>,
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
    /// Every rival beside the control, by a `comparisons.csv`.
    pub fn rows(&self, comparisons: &str) -> Result<Vec<StudyRow>> {
        rivals::beside(&defined().control, METRIC, comparisons)?
            .into_iter()
            .map(|pair| self.row(pair))
            .collect()
    }

    /// Planned points and sizes that a run said nothing of: undecided, so that no share is of what was reached alone.
    pub fn unreached(&self, planned: &[PlannedRival], rows: &[StudyRow]) -> Vec<StudyRow> {
        let points = planned
            .iter()
            .map(|one| (RivalScope::Point, one.message_bytes, Some(one.threads), one.rival.clone()));
        let sizes =
            planned.iter().map(|one| (RivalScope::OverThreads, one.message_bytes, None, one.rival.clone()));
        let asked: BTreeSet<_> = points.chain(sizes).collect();
        let place = |row: &StudyRow| (row.scope, row.message_bytes, row.threads, row.rival.clone());
        let answered: BTreeSet<_> = rows.iter().map(place).collect();
        let open = asked.into_iter().filter(|one| !answered.contains(one));
        open.map(|(scope, message_bytes, threads, rival)| {
            self.undecided(scope, message_bytes, threads, rival)
        })
        .collect()
    }

    fn undecided(
        &self,
        scope: RivalScope,
        message_bytes: u64,
        threads: Option<u64>,
        rival: String,
    ) -> StudyRow {
        StudyRow {
            study: self.study.into(),
            run: self.run,
            metric: METRIC.into(),
            scope,
            message_bytes,
            threads,
            planted_percent: self.plants.get(&rival).copied(),
            rival,
            against: defined().control.clone(),
            planted_ratio: None,
            ratio: None,
            ci_low: None,
            ci_high: None,
            rounds: 0,
            verdict: RivalVerdict::Undecided,
            minutes_needed: None,
        }
    }

    fn row(&self, pair: RivalPair) -> Result<StudyRow> {
        let share = |case: &usize| {
            self.shares.get(case).copied().with_context(|| format!("case {case} has no slices"))
        };
        let unplanted = self.undecided(pair.scope, pair.message_bytes, pair.threads, pair.rival);
        let planted_ratio = match unplanted.planted_percent {
            Some(percent) => {
                planted_ratio(percent, &pair.control_cases.iter().map(share).collect::<Result<Vec<f64>>>()?)
            }
            None => None,
        };
        Ok(StudyRow {
            planted_ratio,
            ratio: Some(pair.ratio),
            ci_low: pair.ci_low,
            ci_high: pair.ci_high,
            rounds: pair.rounds,
            verdict: pair.verdict,
            minutes_needed: pair.minutes_needed,
            ..unplanted
        })
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
        let undecided = RivalVerdict::Undecided;
        let (over, two) = ((RivalScope::OverThreads, None), (RivalScope::Point, Some(2)));
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
