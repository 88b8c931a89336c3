//! What is read of what a program prints: text in, a figure in the base unit out. Pure.
//!
//! Each entry takes the receiver's figure (goodput) where the tool prints one, and asks for an exact place: a tool that
//! changes its output fails with what was missing, never with a 0.

use anyhow::{Error, Result, anyhow, bail};
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Reading {
    /// A regular expression whose first group is the figure; the first match counts.
    find: Option<String>,
    /// The mean of this share of all matches, the smallest.
    mean_of: Option<f64>,
    /// A JSON pointer to the figure, one to what it is divided by, and one to what the tool says of its failure.
    json: Option<String>,
    per: Option<String>,
    error: Option<String>,
    /// Base units in one of the tool's.
    scale: Option<f64>,
    /// It counts events a second: nanoseconds of each.
    per_second: bool,
    /// It counts messages; or it counts bytes, and messages are wanted.
    of_messages: bool,
    in_messages: bool,
}

impl Reading {
    /// `quantile` stands for itself in the expression.
    pub fn figure(&self, output: &str, message_bytes: u64, quantile: &str) -> Result<f64> {
        let number = match (&self.find, &self.json) {
            (Some(find), _) => self.found(&find.replace("{quantile}", quantile), output)?,
            (None, pointer) => self.pointed(pointer.as_deref().unwrap_or_default(), output)?,
        };
        let messages = match (self.of_messages, self.in_messages) {
            (true, _) => message_bytes as f64,
            (_, true) => 1.0 / message_bytes as f64,
            _ => 1.0,
        };
        let number = number * self.scale.unwrap_or(1.0) * messages;
        Ok(if self.per_second { 1e9 / number } else { number })
    }

    fn found(&self, find: &str, output: &str) -> Result<f64> {
        let expression = Regex::new(find).expect("a test reads every entry");
        let all = expression.captures_iter(output).filter_map(|captures| captures.get(1));
        let mut numbers = Vec::new();
        for text in all.take(if self.mean_of.is_some() { usize::MAX } else { 1 }) {
            numbers.push(rate(find, &text.as_str().replace(',', ""))?);
        }
        numbers.sort_by(f64::total_cmp);
        numbers.truncate((numbers.len() as f64 * self.mean_of.unwrap_or(1.0)).ceil() as usize);
        match numbers.len() {
            0 => Err(missing(find, output)),
            n => Ok(numbers.iter().sum::<f64>() / n as f64),
        }
    }

    /// Notes may come before the document and after it.
    fn pointed(&self, pointer: &str, output: &str) -> Result<f64> {
        let start = output.find('{').ok_or_else(|| missing("JSON document", output))?;
        let mut documents = serde_json::Deserializer::from_str(&output[start..]).into_iter::<Value>();
        let json = documents.next().and_then(Result::ok).ok_or_else(|| missing("JSON document", output))?;
        match self.error.as_ref().and_then(|error| json.pointer(error)) {
            None | Some(Value::Null) => {}
            Some(code) if code.as_i64() == Some(0) => {}
            Some(Value::String(text)) => bail!("the tool says: {text}"),
            Some(code) => bail!("the tool says: error {code}"),
        }
        let number = |pointer: &str| {
            let value = json.pointer(pointer).ok_or_else(|| missing(pointer, output))?;
            rate(pointer, &value.to_string())
        };
        Ok(number(pointer)? / self.per.as_deref().map_or(Ok(1.0), number)?)
    }
}

fn missing(field: &str, output: &str) -> Error {
    let line = output.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("(nothing)");
    let tail: String = line.trim().chars().take(160).collect();
    anyhow!("no {field} in the output, which ends: {tail}")
}

/// A positive, finite number.
fn rate(field: &str, text: &str) -> Result<f64> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => bail!("{field} is {:?}, not a rate", text.trim()),
    }
}
