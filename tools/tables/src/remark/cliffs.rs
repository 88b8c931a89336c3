//! Cliffs along the message size: throughput that falls to a fraction while messages grow.

use super::{LineEnd, Remark, RemarkKind, neighbours, size};
use crate::{PublishedTable, TableColumn};
use syscost_core::units::{Unit, significant};

/// A fall to less than this share is a cliff, rounding included.
const FALL: f64 = 1.0 / 3.0;

pub fn look(table: &PublishedTable) -> Vec<Remark> {
    let falls = neighbours(table, TableColumn::MessageBytes).into_iter();
    let falls = falls.filter(|(_, (.., high), (.., low), _)| low.high() < FALL * high.low());
    let remark = |(name, (small, before, high), (large, after, low), next): (
        String,
        LineEnd,
        LineEnd,
        Option<LineEnd>,
    )| {
        let recovered =
            next.filter(|(.., again): &LineEnd| again.low() > high.high()).map(|(at, _, again)| {
                format!(", and at {} it is {} again", size(at), Unit::BitsPerSecond.format(again.value))
            });
        Remark {
            id: "cliff",
            kind: RemarkKind::Unexpected,
            text: format!(
                "{name}: from {} to {} the throughput falls {} times, from {} to {}{}. No larger message costs \
                 less work: look for a timer (a delayed ACK, a sleep, a full ring), not for copies.",
                size(small),
                size(large),
                significant(high.value / low.value),
                Unit::BitsPerSecond.format(high.value),
                Unit::BitsPerSecond.format(low.value),
                recovered.unwrap_or_default()
            ),
            lines: vec![before.line, after.line],
        }
    };
    falls.map(remark).collect()
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
        assert!(
            told[0].text.contains("with 4 threads: from 256 B to 1 KiB the throughput falls 50 times"),
            "{told:?}"
        );
        assert!(told[0].text.contains("at 4 KiB it is 24.2 Gbit/s again"), "{}", told[0].text);
        assert_eq!(told[0].lines, [2, 3]);
    }
}
