//! Rows of `studies.csv`: what a study said of a rival's CPU time and throughput beside what is true of it.

use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

pub const CPU: &str = "total_cpu_ns_per_byte";
pub const THROUGHPUT: &str = "throughput";
pub const METRICS: [&str; 2] = [CPU, THROUGHPUT];

/// The studies that are run, and whom they compare: `studies.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyDefinitions {
    pub control: String,
    #[serde(rename = "study")]
    pub studies: Vec<DecidingStudy>,
}

/// A study, as often as it is run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecidingStudy {
    pub name: String,
    pub runs: u32,
    pub time_limit: String,
    /// Rivals that play the control and spin for so many per cent of its time.
    #[serde(default)]
    pub plants: BTreeMap<String, u32>,
    /// Another process spins on a CPU meanwhile.
    #[serde(default)]
    pub busy: bool,
}

pub fn defined() -> &'static StudyDefinitions {
    static DEFINED: LazyLock<StudyDefinitions> =
        LazyLock::new(|| toml::from_str(include_str!("studies.toml")).expect("a test reads it"));
    &DEFINED
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RivalScope {
    Point,
    OverThreads,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RivalVerdict {
    Faster,
    Slower,
    Same,
    Undecided,
}

impl RivalVerdict {
    /// Of b beside a.
    fn turned(self) -> RivalVerdict {
        match self {
            RivalVerdict::Faster => RivalVerdict::Slower,
            RivalVerdict::Slower => RivalVerdict::Faster,
            other => other,
        }
    }

    pub fn differs(self) -> bool {
        matches!(self, RivalVerdict::Faster | RivalVerdict::Slower)
    }
}

/// The columns of `comparisons.csv` that are read here.
#[derive(Clone, Debug, Deserialize)]
struct ComparisonRow {
    family: String,
    scope: RivalScope,
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
    verdict: RivalVerdict,
    minutes_needed: Option<f64>,
}

impl ComparisonRow {
    /// The same, seen from the other side.
    fn turned(self) -> ComparisonRow {
        ComparisonRow {
            a: self.b,
            b: self.a,
            a_is: self.b_is,
            b_is: self.a_is,
            ratio: 1.0 / self.ratio,
            ci_low: self.ci_high.map(f64::recip),
            ci_high: self.ci_low.map(f64::recip),
            verdict: self.verdict.turned(),
            ..self
        }
    }
}

fn coordinate<'t>(text: &'t str, axis: &str) -> Option<&'t str> {
    text.split(' ').find_map(|word| word.strip_prefix(axis)?.strip_prefix('='))
}

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
}

impl Recording<'_> {
    /// Every rival beside the control, by a `comparisons.csv`.
    pub fn rows(&self, comparisons: &str) -> Result<Vec<StudyRow>> {
        let mut rows = Vec::new();
        for row in csv::Reader::from_reader(comparisons.as_bytes()).into_deserialize::<ComparisonRow>() {
            let row = row?;
            if row.family == "mechanism" && METRICS.contains(&row.metric.as_str()) {
                rows.extend(self.row(row)?);
            }
        }
        Ok(rows)
    }

    /// Planned points and sizes that a run said nothing of: undecided, so that no share is of what was reached alone.
    pub fn unreached(&self, planned: &[PlannedRival], rows: &[StudyRow]) -> Vec<StudyRow> {
        let points = planned
            .iter()
            .map(|one| (RivalScope::Point, one.message_bytes, Some(one.threads), one.rival.clone()));
        let sizes =
            planned.iter().map(|one| (RivalScope::OverThreads, one.message_bytes, None, one.rival.clone()));
        let asked: BTreeSet<_> = points.chain(sizes).collect();
        let place = |row: &StudyRow| {
            (row.metric.clone(), (row.scope, row.message_bytes, row.threads, row.rival.clone()))
        };
        let answered: BTreeSet<_> = rows.iter().map(place).collect();
        let all = METRICS.iter().flat_map(|metric| asked.iter().map(|one| (metric.to_string(), one.clone())));
        let open = all.filter(|one| !answered.contains(one));
        open.map(|(metric, (scope, message_bytes, threads, rival))| {
            self.undecided(metric, scope, message_bytes, threads, rival)
        })
        .collect()
    }

    fn undecided(
        &self,
        metric: String,
        scope: RivalScope,
        message_bytes: u64,
        threads: Option<u64>,
        rival: String,
    ) -> StudyRow {
        StudyRow {
            study: self.study.into(),
            run: self.run,
            metric,
            scope,
            message_bytes,
            threads,
            planted_percent: self.plants.get(&rival).copied(),
            rival,
            against: defined().control.clone(),
            ratio: None,
            ci_low: None,
            ci_high: None,
            rounds: 0,
            verdict: RivalVerdict::Undecided,
            minutes_needed: None,
        }
    }

    /// Turned so that the control is below; `None`: none of the two is the control, or there is no size.
    fn row(&self, row: ComparisonRow) -> Result<Option<StudyRow>> {
        let is_control = |text: &str| coordinate(text, "mechanism") == Some(&defined().control);
        let row = if is_control(&row.a_is) { row.turned() } else { row };
        let (Some(rival), Some(size)) =
            (coordinate(&row.a_is, "mechanism"), coordinate(&row.shared, "message_bytes"))
        else {
            return Ok(None);
        };
        if !is_control(&row.b_is) || is_control(&row.a_is) {
            return Ok(None);
        }
        let threads = coordinate(&row.shared, "threads").map(str::parse).transpose()?;
        let unplanted = self.undecided(row.metric.clone(), row.scope, size.parse()?, threads, rival.into());
        Ok(Some(StudyRow {
            ratio: Some(row.ratio),
            ci_low: row.ci_low,
            ci_high: row.ci_high,
            rounds: row.rounds,
            verdict: row.verdict,
            minutes_needed: row.minutes_needed,
            ..unplanted
        }))
    }
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

    const HEADER: &str = "family,scope,metric,a,b,shared,a_is,b_is,ratio,ci_low,ci_high,ci_level,rounds,p_adjusted,verdict,minutes_needed\n";

    fn rows(comparisons: &str, plants: &[(&str, f64)]) -> Vec<StudyRow> {
        let plants = plants.iter().map(|(rival, percent)| (rival.to_string(), *percent)).collect();
        let recording = Recording { study: "x", run: 2, plants: &plants };
        recording.rows(&format!("{HEADER}{comparisons}")).unwrap()
    }

    #[test]
    fn the_control_is_what_rivals_are_held_against_on_either_side() {
        let text = "mechanism,point,total_cpu_ns_per_byte,2,3,message_bytes=64 threads=4,mechanism=send,in_flight=0 mechanism=sendmsg,0.8,0.5,1,0.999,5,0.01,faster,\n\
                    mechanism,over_threads,total_cpu_ns_per_byte,4 9,2 7,message_bytes=64,mechanism=pack_send,mechanism=send,0.8,,,0,1,1,undecided,2.5\n\
                    mechanism,point,throughput,2,3,message_bytes=64 threads=4,mechanism=send,mechanism=sendmsg,1,1,1,0.9,5,1,same,\n\
                    threads,point,total_cpu_ns_per_byte,2,3,message_bytes=64,threads=1,threads=2,1,1,1,0.9,5,1,same,\n\
                    mechanism,point,total_cpu_ns_per_byte,5,7,message_bytes=64 threads=4,mechanism=sendmsg,mechanism=pack_send,1,1,1,0.9,5,1,same,\n";
        let [sendmsg, pack, speed] = &rows(text, &[])[..] else { panic!() };
        assert_eq!((speed.metric.as_str(), speed.verdict), (THROUGHPUT, RivalVerdict::Same));
        assert_eq!((sendmsg.rival.as_str(), sendmsg.threads), ("sendmsg", Some(4)));
        assert_eq!((sendmsg.ratio, sendmsg.ci_low, sendmsg.ci_high), (Some(1.25), Some(1.0), Some(2.0)));
        assert_eq!(sendmsg.verdict, RivalVerdict::Slower);
        assert_eq!((pack.ratio, pack.ci_low, pack.verdict), (Some(0.8), None, RivalVerdict::Undecided));
        assert_eq!((pack.scope, pack.minutes_needed), (RivalScope::OverThreads, Some(2.5)));
    }

    #[test]
    fn what_a_run_did_not_reach_is_undecided() {
        let point = "mechanism,point,total_cpu_ns_per_byte,3,2,message_bytes=64 threads=1,mechanism=sendmsg,mechanism=send,1,0.9,1.1,0.9,5,1,same,\n";
        let planned = [1, 2]
            .map(|threads| PlannedRival { rival: "sendmsg".into(), message_bytes: 64, threads })
            .to_vec();
        let plants = Plants::new();
        let recording = Recording { study: "x", run: 1, plants: &plants };
        let mut missing = recording.unreached(&planned, &rows(point, &[]));
        assert_eq!(missing.iter().filter(|row| row.metric == THROUGHPUT).count(), 3, "all of it");
        missing.retain(|row| row.metric == CPU);
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
