//! fio `--output-format=json`: `jobs[].read.bw_bytes` of a listening job, `jobs[].read.lat_ns` of a reader.
//!
//! fio may print notes before the document, so reading starts at the first brace.

use super::{ParseError, missing, rate};
use serde_json::Value;

const FIELD: &str = "jobs[].read.bw_bytes";

const LATENCY: &str = "jobs[0].read.lat_ns.mean";

pub fn bits_per_second(output: &str) -> Result<f64, ParseError> {
    let json = document(output)?;
    let jobs = json.get("jobs").and_then(Value::as_array).ok_or_else(|| missing("jobs", output))?;
    let mut total = 0.0;
    for job in jobs {
        let value = successful(job)?.pointer("/read/bw_bytes").ok_or_else(|| missing(FIELD, output))?;
        total += rate(FIELD, &value.to_string())?;
    }
    rate(FIELD, &(total * 8.0).to_string())
}

/// The mean time of a read of the only job.
pub fn latency_ns(output: &str) -> Result<f64, ParseError> {
    let json = document(output)?;
    let job = json.pointer("/jobs/0").ok_or_else(|| missing("jobs", output))?;
    let value = successful(job)?.pointer("/read/lat_ns/mean").ok_or_else(|| missing(LATENCY, output))?;
    rate(LATENCY, &value.to_string())
}

fn successful(job: &Value) -> Result<&Value, ParseError> {
    match job.get("error").and_then(Value::as_i64).filter(|code| *code != 0) {
        Some(code) => Err(ParseError::Tool(format!("job error {code}"))),
        None => Ok(job),
    }
}

fn document(output: &str) -> Result<Value, ParseError> {
    let start = output.find('{').ok_or_else(|| missing("JSON document", output))?;
    serde_json::from_str(&output[start..]).map_err(|_| missing("JSON document", output))
}
