//! How fast the machine was over the run, in words.

use crate::text::words::percent;
use syscost_analyze::level::MachineLevel;

pub fn sentence(level: &MachineLevel) -> String {
    if !level.changed {
        return format!("The machine's speed did not change significantly (±{}).", percent(level.chance));
    }
    let (low, high) = level.range();
    let ran = format!("Costs ran {:+.0} % to {:+.0} % around their usual level.", 100.0 * low, 100.0 * high);
    match level.slow_share() {
        0.0 => ran,
        share => format!(
            "{ran} {} of the samples were taken while they were more than {} above it.",
            percent(share),
            percent(level.limit())
        ),
    }
}
