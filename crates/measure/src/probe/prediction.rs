//! What a case should cost, said before it is measured: a formula over named inputs.
//!
//! A probe writes its formula in [`Probe::predict`](super::Probe::predict) and asks for each input
//! by name; an input is a hardware fact or another row's earlier result, never a sample of the case
//! itself. The harness evaluates it before the case's first sample and records the answer with the
//! time. An input that is not known makes the prediction unknown, with its name: nothing is guessed.

use super::formula;
use super::guide::{Guide, PROCESSOR};
use serde::{Deserialize, Serialize};
use syscost_core::axis::{Point, Value};
use syscost_core::units::Unit;

/// One named number that a prediction was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// As in the formula: `write_1_byte`.
    pub name: String,
    /// `None`: not known here.
    pub value: Option<f64>,
    pub unit: Unit,
    /// Where it came from: a case with its coordinates, or a fact of the machine.
    pub source: String,
    /// The case whose result it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case: Option<usize>,
}

impl Input {
    /// An input that is the result of no case.
    pub fn new(name: &str, value: f64, unit: Unit, source: impl Into<String>) -> Input {
        Input { name: name.into(), value: Some(value), unit, source: source.into(), case: None }
    }
}

/// What theory says a case costs, in the unit of its headline metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictedCost {
    /// Over the inputs' names: `2 * write_1_byte + l1_miss`.
    pub formula: String,
    /// The part that the hardware alone would take.
    pub base_hardware: Option<f64>,
    /// The part that software adds.
    pub software_overhead: Option<f64>,
    /// `None`: unknown, because an input is.
    pub predicted: Option<f64>,
    pub inputs: Vec<Input>,
}

/// What a case of a plan should cost, and when it was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    pub case: usize,
    pub metric: String,
    pub unit: Unit,
    pub made_unix_ns: u64,
    /// When the case's first round began; always later. `None`: it has not been measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_round_unix_ns: Option<u64>,
    #[serde(flatten)]
    pub cost: PredictedCost,
}

/// Another row's result: the first case of a probe with these coordinates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowRef {
    pub probe: &'static str,
    pub coordinates: Vec<(&'static str, Value)>,
    pub metric: &'static str,
}

impl RowRef {
    pub fn cost<const N: usize>(probe: &'static str, coordinates: [(&'static str, Value); N]) -> RowRef {
        RowRef { probe, coordinates: coordinates.into(), metric: "cost" }
    }

    /// Is this case the row that is meant?
    pub fn means(&self, probe: &str, point: &Point) -> bool {
        self.probe == probe && self.coordinates.iter().all(|(axis, value)| point.get(axis) == Some(value))
    }
}

/// What is known so far in a run; each input is named by who asks for it. The harness implements it.
pub trait Known {
    /// A fact of the machine that is a number, by its id (`cache_l1d_bytes`, `cpu_max_hertz`).
    fn fact(&self, id: &str) -> Option<Input>;

    /// A fact that is a text.
    fn says(&self, id: &str) -> Option<String>;

    /// What other rows measured so far.
    fn row(&self, row: &RowRef) -> Option<Input>;
}

/// Looks inputs up and keeps what was asked, found or not. Ask for every input before using one:
/// the order of the first round is derived from what a probe asks for.
pub struct Inputs<'a> {
    known: &'a dyn Known,
    asked: Vec<Input>,
}

impl<'a> Inputs<'a> {
    pub fn new(known: &'a dyn Known) -> Inputs<'a> {
        Inputs { known, asked: Vec::new() }
    }

    /// A number among the machine's facts.
    pub fn fact(&mut self, name: &str, id: &str, unit: Unit) -> Option<f64> {
        let found = self.known.fact(id);
        self.note(name, found, unit, || format!("fact {id} of this machine"))
    }

    /// Another row's result so far.
    pub fn row(&mut self, name: &str, row: RowRef) -> Option<f64> {
        let found = self.known.row(&row);
        let source = || {
            let coordinates: Vec<String> = row.coordinates.iter().map(|(a, v)| format!("{a}={v}")).collect();
            format!("{} of {} {}", row.metric, row.probe, coordinates.join(" "))
        };
        self.note(name, found, Unit::Nanoseconds, source)
    }

    /// A number from a document, which `source` names.
    pub fn constant(&mut self, name: &str, value: f64, unit: Unit, source: &str) -> f64 {
        self.asked.push(Input::new(name, value, unit, source));
        value
    }

    /// A number that documents about processors give, each for its own; unknown on any other.
    pub fn guided(&mut self, name: &str, unit: Unit, figures: &[(Guide, f64)]) -> Option<f64> {
        let here = self.known.says(PROCESSOR);
        let own = figures.iter().find(|(guide, _)| here.as_deref().is_some_and(|here| guide.is_of(here)));
        let found = own.map(|(guide, value)| Input::new(name, *value, unit, guide.document));
        let source = || {
            let known: Vec<&str> = figures.iter().map(|(guide, _)| guide.document).collect();
            let here = here.as_deref().unwrap_or("a processor that does not say what it is");
            format!("not known here, because this is {here}; no guide for it among: {}", known.join("; "))
        };
        self.note(name, found, unit, source)
    }

    fn note(
        &mut self,
        name: &str,
        found: Option<Input>,
        unit: Unit,
        source: impl Fn() -> String,
    ) -> Option<f64> {
        let input = found.unwrap_or_else(|| Input {
            name: String::new(),
            value: None,
            unit,
            source: source(),
            case: None,
        });
        let value = input.value;
        self.asked.push(Input { name: name.into(), ..input });
        value
    }

    /// A number that is made of others by more than a formula says. The rows that it needs are asked for as well.
    pub fn derived(
        &mut self,
        name: &str,
        unit: Unit,
        source: &str,
        make: impl FnOnce(&mut Inputs<'a>) -> f64,
    ) -> f64 {
        let value = make(&mut Inputs::new(self.known));
        self.constant(name, value, unit, source)
    }

    /// What a formula over the inputs asked for so far gives, in nanoseconds: a rate counts as so much a nanosecond.
    pub fn value(&self, formula: &str) -> Option<f64> {
        formula::value(formula, |name| {
            let input = self.asked.iter().rfind(|input| input.name == name);
            debug_assert!(input.is_some(), "nobody asked for {name}, which is in {formula}");
            let Input { value, unit, .. } = input?;
            let per = if matches!(unit, Unit::Hertz | Unit::BytesPerSecond) { 1e9 } else { 1.0 };
            value.map(|value| value / per)
        })
    }

    /// A cost that software makes, by this formula over the inputs.
    pub fn software(self, formula: &str) -> PredictedCost {
        let software = self.value(formula);
        self.sum(formula, Some(0.0), software)
    }

    /// A cost that the hardware makes.
    pub fn hardware(self, formula: &str) -> PredictedCost {
        let hardware = self.value(formula);
        self.sum(formula, hardware, Some(0.0))
    }

    /// Their sum: the hardware's part comes first.
    pub fn hardware_and_software(self, hardware: &str, software: &str) -> PredictedCost {
        let parts = (self.value(hardware), self.value(software));
        self.sum(&format!("{hardware} + {software}"), parts.0, parts.1)
    }

    /// A cost: what the hardware takes and what software adds. Unknown where either is.
    pub fn sum(
        self,
        formula: &str,
        base_hardware: Option<f64>,
        software_overhead: Option<f64>,
    ) -> PredictedCost {
        let predicted = base_hardware.zip(software_overhead).map(|(a, b)| a + b);
        self.predicted(formula, base_hardware, software_overhead, predicted)
    }

    /// Any: a rate, say, whose parts do not add up.
    pub fn predicted(
        self,
        formula: &str,
        base_hardware: Option<f64>,
        software_overhead: Option<f64>,
        predicted: Option<f64>,
    ) -> PredictedCost {
        PredictedCost {
            formula: formula.into(),
            base_hardware,
            software_overhead,
            predicted,
            inputs: self.asked,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::guide;

    struct OneFact;
    impl Known for OneFact {
        fn fact(&self, id: &str) -> Option<Input> {
            (id == "hertz").then(|| Input::new(id, 2e9, Unit::Hertz, "a test"))
        }
        fn says(&self, id: &str) -> Option<String> {
            (id == PROCESSOR).then(|| "GenuineIntel family 6 model 85".into())
        }
        fn row(&self, _: &RowRef) -> Option<Input> {
            None
        }
    }

    #[test]
    fn an_unknown_input_makes_the_sum_unknown_and_is_named() {
        let mut inputs = Inputs::new(&OneFact);
        let hertz = inputs.fact("frequency", "hertz", Unit::Hertz);
        let call = inputs.row("call", RowRef { probe: "other", coordinates: Vec::new(), metric: "cost" });
        let cost = inputs.sum("10 / frequency + call", hertz.map(|hz| 10e9 / hz), call);
        assert_eq!((cost.base_hardware, cost.predicted), (Some(5.0), None));
        let missing: Vec<&str> =
            cost.inputs.iter().filter(|i| i.value.is_none()).map(|i| i.name.as_str()).collect();
        assert_eq!(missing, ["call"]);
    }

    #[test]
    fn the_guide_of_another_processor_says_nothing_here() {
        let mut inputs = Inputs::new(&OneFact);
        let both = [(guide::AMD_19H, 32.0), (guide::INTEL_SKYLAKE, 64.0)];
        assert_eq!(inputs.guided("filled", Unit::Bytes, &both), Some(64.0));
        assert_eq!(inputs.guided("call", Unit::Count, &[(guide::FOG_ZEN, 2.0)]), None);
        let cost = inputs.sum("call", None, None);
        let [filled, call] = &cost.inputs[..] else { panic!("two were asked for") };
        assert!(filled.source.starts_with("Intel, "), "{}", filled.source);
        assert_eq!(
            call.source,
            "not known here, because this is GenuineIntel family 6 model 85; no guide for it among: Fog, Instruction tables: AMD Zen"
        );
    }
}
