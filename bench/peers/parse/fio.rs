//! fio `--output-format=json` of the listening job: `jobs[].read.bw_bytes`.
//!
//! fio may print notes before the document, so reading starts at the first brace.

use super::{ParseError, missing, rate};
use serde_json::Value;

const FIELD: &str = "jobs[].read.bw_bytes";

pub fn bits_per_second(output: &str) -> Result<f64, ParseError> {
    let start = output.find('{').ok_or_else(|| missing("JSON document", output))?;
    let json: Value = serde_json::from_str(&output[start..]).map_err(|_| missing("JSON document", output))?;
    let jobs = json.get("jobs").and_then(Value::as_array).ok_or_else(|| missing("jobs", output))?;
    let mut total = 0.0;
    for job in jobs {
        if let Some(code) = job.get("error").and_then(Value::as_i64).filter(|code| *code != 0) {
            return Err(ParseError::Tool(format!("job error {code}")));
        }
        let value = job.pointer("/read/bw_bytes").ok_or_else(|| missing(FIELD, output))?;
        total += rate(FIELD, &value.to_string())?;
    }
    rate(FIELD, &(total * 8.0).to_string())
}
