//! Short names of cases: only what tells a case from the others of its plan.

use std::collections::{BTreeMap, BTreeSet};
use syscost_core::axis::{Axis, Value};
use syscost_experiment::plan::{Case, Plan};
use syscost_measure::probe;

/// The axes of each probe that vary within a plan.
pub struct Labels {
    varying: BTreeMap<String, Vec<Axis>>,
}

impl Labels {
    pub fn of(plan: &Plan) -> Labels {
        Labels::with(plan, &[])
    }

    /// Axes of `always` are named where they do not vary, too.
    pub fn with(plan: &Plan, always: &[&str]) -> Labels {
        let mut values: BTreeMap<(&str, &str), BTreeSet<&Value>> = BTreeMap::new();
        for case in &plan.cases {
            for (axis, value) in case.point.iter() {
                values.entry((&case.probe, axis)).or_default().insert(value);
            }
        }
        let varies = |probe: &str, axis: &Axis| {
            let found = values.get(&(probe, axis.id));
            found.is_some_and(|v| v.len() > 1 || always.contains(&axis.id))
        };
        let varying = plan.cases.iter().map(|case| case.probe.as_str()).collect::<BTreeSet<_>>();
        let axes_of = |probe: &str| probe::find(probe).map(|p| p.axes()).unwrap_or_default();
        let varying = varying
            .into_iter()
            .map(|p| (p.to_string(), axes_of(p).into_iter().filter(|axis| varies(p, axis)).collect()))
            .collect();
        Labels { varying }
    }

    /// What tells a case from the others, axes in `known` left out.
    pub fn words(&self, case: &Case, known: &[&str]) -> Vec<String> {
        let axes = self.varying.get(case.probe.as_str()).map(Vec::as_slice).unwrap_or_default();
        let others = axes.iter().filter(|axis| !known.contains(&axis.id));
        others.filter_map(|axis| case.point.get(axis.id).map(|value| worded(axis, value))).collect()
    }

    /// `sendmsg 64 KiB 2 threads`, after the probe's id where the plan has several.
    pub fn case(&self, case: &Case) -> String {
        let mut words = self.words(case, &[]);
        if self.varying.len() > 1 || words.is_empty() {
            words.insert(0, case.probe.to_string());
        }
        if case.twin_of.is_some() {
            words.push("(A/A)".into());
        }
        words.join(" ")
    }
}

/// A value that says what it is: a bare number or switch carries its axis.
fn worded(axis: &Axis, value: &Value) -> String {
    match value {
        Value::Int(_) if axis.unit == syscost_core::units::Unit::Bytes => axis.show(value),
        Value::Text(text) if text != "on" && text != "off" => text.to_string(),
        value => format!("{}={value}", axis.flag),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_experiment::spec::Spec;

    #[test]
    fn a_label_names_what_varies() {
        let mut spec = Spec::named(syscost_measure::probe::ALL[0].about().id).unwrap();
        for (flag, values) in
            [("path", "loopback"), ("size", "64,64K"), ("threads", "1,2"), ("nodelay", "on")]
        {
            spec.set_axis(flag, &[values]).unwrap();
        }
        spec.set_axis("mechanism", &["pack_send"]).unwrap();
        let plan = Plan::make_within(&spec, None).unwrap();
        let labels = Labels::of(&plan);
        assert_eq!(labels.case(&plan.cases[3]), "64 KiB threads=2");
        assert_eq!(labels.case(&plan.cases[4]), "64 B threads=1 (A/A)");
        let labels = Labels::with(&plan, &["mechanism"]);
        assert_eq!(labels.case(&plan.cases[3]), "pack_send 64 KiB threads=2");
    }
}
