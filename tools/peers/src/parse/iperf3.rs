//! iperf3 `-J`: `end.sum_received.bits_per_second`, what the server got from all streams.

use super::{ParseError, missing, rate};
use serde_json::Value;

const FIELD: &str = "end.sum_received.bits_per_second";

pub fn bits_per_second(output: &str) -> Result<f64, ParseError> {
    let json: Value = serde_json::from_str(output).map_err(|_| missing("JSON document", output))?;
    if let Some(error) = json.get("error").and_then(Value::as_str) {
        return Err(ParseError::Tool(error.to_string()));
    }
    let value = json.pointer("/end/sum_received/bits_per_second").ok_or_else(|| missing(FIELD, output))?;
    rate(FIELD, &value.to_string())
}
