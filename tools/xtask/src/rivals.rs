//! Rows of a run's `comparisons.csv`: each rival beside the control, turned so that the control is below.

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

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

/// The columns that are read here.
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

/// A mechanism beside the control, at one size.
pub struct RivalPair {
    pub scope: RivalScope,
    pub message_bytes: u64,
    /// `None` over threads.
    pub threads: Option<u64>,
    pub rival: String,
    /// The cases that are the control.
    pub control_cases: Vec<usize>,
    /// rival / control
    pub ratio: f64,
    pub ci_low: Option<f64>,
    pub ci_high: Option<f64>,
    pub rounds: u32,
    pub verdict: RivalVerdict,
    pub minutes_needed: Option<f64>,
}

/// Every mechanism that the text holds against the control by this metric.
pub fn beside(control: &str, metric: &str, comparisons: &str) -> Result<Vec<RivalPair>> {
    let mut pairs = Vec::new();
    let rows = csv::Reader::from_reader(comparisons.as_bytes());
    for row in rows.into_deserialize::<ComparisonRow>() {
        let row = row?;
        if row.family == "mechanism" && row.metric == metric {
            pairs.extend(RivalPair::of(row, control)?);
        }
    }
    Ok(pairs)
}

impl RivalPair {
    /// `None`: none of the two is the control, or there is no size.
    fn of(row: ComparisonRow, control: &str) -> Result<Option<RivalPair>> {
        let (Some(a), Some(b), Some(size)) = (
            coordinate(&row.a_is, "mechanism"),
            coordinate(&row.b_is, "mechanism"),
            coordinate(&row.shared, "message_bytes"),
        ) else {
            return Ok(None);
        };
        if (a == control) == (b == control) {
            return Ok(None);
        }
        let cases = |text: &str| text.split(' ').map(|case| Ok(case.parse()?)).collect::<Result<_>>();
        let pair = RivalPair {
            scope: row.scope,
            message_bytes: size.parse()?,
            threads: coordinate(&row.shared, "threads").map(str::parse).transpose()?,
            rival: a.into(),
            control_cases: cases(&row.b).context("cases")?,
            ratio: row.ratio,
            ci_low: row.ci_low,
            ci_high: row.ci_high,
            rounds: row.rounds,
            verdict: row.verdict,
            minutes_needed: row.minutes_needed,
        };
        if b == control {
            return Ok(Some(pair));
        }
        Ok(Some(RivalPair {
            rival: b.into(),
            control_cases: cases(&row.a).context("cases")?,
            ratio: 1.0 / row.ratio,
            ci_low: row.ci_high.map(|high| 1.0 / high),
            ci_high: row.ci_low.map(|low| 1.0 / low),
            verdict: row.verdict.turned(),
            ..pair
        }))
    }
}

fn coordinate<'t>(text: &'t str, axis: &str) -> Option<&'t str> {
    text.split(' ').filter_map(|word| word.split_once('=')).find(|(name, _)| *name == axis).map(|(_, v)| v)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "family,scope,metric,a,b,shared,a_is,b_is,ratio,ci_low,ci_high,ci_level,rounds,p_adjusted,verdict,minutes_needed\n";

    #[test]
    fn the_control_is_what_rivals_are_held_against_on_either_side() {
        let rows = "mechanism,point,m,2,3,message_bytes=64 threads=4,mechanism=send,in_flight=0 mechanism=sendmsg,0.8,0.5,1,0.999,5,0.01,faster,\n\
                    mechanism,over_threads,m,4 9,2 7,message_bytes=64,mechanism=pack_send,mechanism=send,0.8,,,0,1,1,undecided,2.5\n\
                    mechanism,point,throughput,2,3,message_bytes=64 threads=4,mechanism=send,mechanism=sendmsg,1,1,1,0.9,5,1,same,\n\
                    threads,point,m,2,3,message_bytes=64,threads=1,threads=2,1,1,1,0.9,5,1,same,\n\
                    mechanism,point,m,5,7,message_bytes=64 threads=4,mechanism=sendmsg,mechanism=pack_send,1,1,1,0.9,5,1,same,\n";
        let [sendmsg, pack] = &beside("send", "m", &format!("{HEADER}{rows}")).unwrap()[..] else { panic!() };
        assert_eq!(
            (sendmsg.rival.as_str(), sendmsg.threads, &sendmsg.control_cases[..]),
            ("sendmsg", Some(4), &[2][..])
        );
        assert_eq!((sendmsg.ratio, sendmsg.ci_low, sendmsg.ci_high), (1.25, Some(1.0), Some(2.0)));
        assert_eq!(sendmsg.verdict, RivalVerdict::Slower);
        assert_eq!((pack.ratio, pack.ci_low, pack.verdict), (0.8, None, RivalVerdict::Undecided));
        assert_eq!(
            (pack.scope, pack.control_cases.as_slice(), pack.minutes_needed),
            (RivalScope::OverThreads, &[2, 7][..], Some(2.5))
        );
    }
}
