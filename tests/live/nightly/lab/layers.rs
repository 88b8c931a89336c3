//! Layers of container networks on a kernel that has all of them: also where this machine's lacks some.

use super::{Lab, one_size};
use crate::common::said;
use syscost_experiment::run::files::RunDir;
use syscost_host::namespaces::layer;

#[test]
#[ignore = "nightly: .ci/nightly"]
fn every_layer_carries_every_byte_and_its_copies_are_counted() {
    let lab = Lab::alone();
    let mut arguments = vec!["transfer", "--mechanism", "send", "--time-limit", "40s", "--precision", "50%"];
    layer::ALL.iter().for_each(|layer| arguments.extend(["--path", layer.id]));
    let Some(output) = lab.run("the layers in the lab", &one_size(&arguments)) else { return };
    let run = RunDir::load(&lab.out()).unwrap_or_else(|error| panic!("{error}: {}", said(&output)));
    let (failures, skips) = (&run.record.failures, &run.record.plan.skips);
    assert!(failures.is_empty() && skips.is_empty(), "{failures:?} {skips:?}");
    for layer in layer::ALL {
        let id = layer.id;
        let on = |case: usize| run.case(case).is_some_and(|case| case.point.text_at("path") == Some(id));
        let mut samples = run.samples.iter().filter(|sample| on(sample.case)).peekable();
        assert!(samples.peek().is_some() && samples.all(|sample| sample.verified), "{id}");
        let audit = run.record.audits.iter().find(|audit| audit.point.text_at("path") == Some(id));
        let audit = audit.unwrap_or_else(|| panic!("{id} was audited"));
        assert_eq!(audit.balanced(), Some(true), "{audit:?}");
    }
}
