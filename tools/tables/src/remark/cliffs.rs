//! Cliffs along the message size: throughput that falls to a fraction while messages grow.

use super::{Remark, RemarkKind, TableStep, shown, size, steps};
use crate::{PublishedTable, TableColumn};
use syscost_core::units::{Unit, significant};

/// A fall to less than this share is a cliff, rounding included.
const FALL: f64 = 1.0 / 3.0;

pub fn look(table: &PublishedTable) -> Vec<Remark> {
    let cliff = |step: &TableStep| step.to.2.high() < FALL * step.from.2.low();
    let mut cliffs: Vec<TableStep> =
        steps(table, TableColumn::MessageBytes).into_iter().filter(cliff).collect();
    if cliffs.is_empty() {
        return Vec::new();
    }
    cliffs.sort_by(|a, b| fall(b).total_cmp(&fall(a)));
    let text = format!(
        "Throughput falls to less than a third while sizes grow: {}. The table does not show the cause.",
        shown(cliffs.iter().map(told))
    );
    vec![Remark { id: "cliff", kind: RemarkKind::Unexpected, text, lines: TableStep::lines(&cliffs) }]
}

fn fall(step: &TableStep) -> f64 {
    step.from.2.value / step.to.2.value
}

/// `A3 with 4 threads, 256 B to 1 KiB, 50x (10 Mbit/s to 200 kbit/s, 24.2 Gbit/s at 4 KiB)`
fn told(step: &TableStep) -> String {
    let rate = |value| Unit::BitsPerSecond.format(value);
    let again = step.next.filter(|(.., again)| again.low() > step.from.2.high());
    let recovered = again.map(|(at, _, again)| format!(", {} at {}", rate(again.value), size(at)));
    format!(
        "{}, {} to {}, {}x ({} to {}{})",
        step.line,
        size(step.from.0),
        size(step.to.0),
        significant(fall(step)),
        rate(step.from.2.value),
        rate(step.to.2.value),
        recovered.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    #[test]
    fn a_pit_is_found_and_a_gentle_fall_is_not() {
        let told = look(&table(
            "mechanism,size,threads,throughput_gbps\nA3,256,4,0.01\nA3,1024,4,0.0002\nA3,4096,4,24.17\n\
             A3,16384,4,20\nA1,256,4,2\nA1,1024,4,1\n",
        ));
        assert_eq!(told.len(), 1, "{told:?}");
        let fall = "A3 with 4 threads, 256 B to 1 KiB, 50x (10 Mbit/s to 200 kbit/s, 24.2 Gbit/s at 4 KiB)";
        assert!(told[0].text.contains(fall), "{}", told[0].text);
        assert_eq!(told[0].lines, [2, 3]);
        // Sessions of several machines, one below the other.
        let sessions = "mechanism,size,throughput_gbps\nnetperf,16384,0.02\nnetperf,16384,5\nnetperf,16384,1.8\nnetperf,131072,0.03\n";
        assert!(look(&table(sessions)).is_empty());
    }
}
