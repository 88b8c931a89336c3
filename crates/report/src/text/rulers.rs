//! What a run of named values leaves out, and the command that measures it.

use syscost_core::axis::{Axis, Kind, Value};
use syscost_core::units::short_bytes;
use syscost_experiment::run::Run;
use syscost_experiment::spec::{DEFAULT, ProbeSpec, Spec};
use syscost_measure::probe::{self, Probe, tcp_path, transfer};

/// `None`: the run planned steps or rulers, or has no transfers with times that they would be held against.
pub fn left_out(run: &Run) -> Option<String> {
    if run.record.emulator().is_some() {
        return None;
    }
    let planned = |wanted: &dyn Fn(&dyn Probe) -> bool| {
        let cases = run.record.plan.cases.iter().map(|case| &case.probe);
        let skips = run.record.plan.skips.iter().map(|skip| &skip.probe);
        cases.chain(skips).any(|id| probe::find(id).is_some_and(wanted))
    };
    let (subject, steps) = (transfer::Transfer.about().id, tcp_path::TcpPath.about().id);
    let beside = |probe: &dyn Probe| probe.about().ruler.is_some() || probe.about().id == steps;
    if !planned(&|probe| probe.about().id == subject) || planned(&beside) {
        return None;
    }
    let command = command(&run.record.spec);
    Some(format!("The cost model and the rulers were not measured in this run. Measure them: {command}"))
}

/// The default study, with the values that were named.
fn command(spec: &Spec) -> String {
    let mut command = format!("syscost run {DEFAULT}");
    let entry = spec.probes.first().filter(|_| spec.name == DEFAULT);
    entry.iter().flat_map(|entry| flags(entry)).for_each(|flag| command.push_str(&flag));
    command
}

fn flags(entry: &ProbeSpec) -> Vec<String> {
    let axes = probe::find(&entry.probe).map(|probe| probe.axes()).unwrap_or_default();
    let flag = |axis: &Axis| {
        let values = entry.axes.get(axis.id)?.iter().map(|value| typed(axis, value)).collect::<Vec<_>>();
        Some(format!(" --{} {}", axis.flag, values.join(",")))
    };
    axes.iter().filter_map(flag).collect()
}

/// As on the command line.
pub fn typed(axis: &Axis, value: &Value) -> String {
    match (axis.kind, value) {
        (Kind::Bytes { .. }, Value::Int(bytes)) => short_bytes(*bytes),
        _ => value.to_string(),
    }
}
