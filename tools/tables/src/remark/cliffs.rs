//! Cliffs along the message size: throughput that falls to a fraction while messages grow.

use super::{Remark, RemarkKind, lines, size};
use crate::{PublishedRow, PublishedTable, TableColumn};
use syscost_core::units::{Unit, significant};

/// A fall to less than this share is a cliff, rounding included.
const FALL: f64 = 1.0 / 3.0;

pub fn look(table: &PublishedTable) -> Vec<Remark> {
    lines(table, TableColumn::MessageBytes).iter().flat_map(|(name, line)| falls(name, line)).collect()
}

fn falls(name: &str, line: &[(u64, &PublishedRow)]) -> Vec<Remark> {
    let with: Vec<(u64, &PublishedRow)> =
        line.iter().filter(|(_, row)| row.figure(TableColumn::Throughput).is_some()).copied().collect();
    with.windows(2)
        .enumerate()
        .filter_map(|(i, pair)| {
            let [(small, before), (large, after)] = pair else { return None };
            let (high, low) = (before.figure(TableColumn::Throughput)?, after.figure(TableColumn::Throughput)?);
            if low.high() >= FALL * high.low() {
                return None;
            }
            let recovered = with.get(i + 2).and_then(|(at, row)| {
                let again = row.figure(TableColumn::Throughput)?;
                (again.low() > high.high()).then(|| {
                    format!(", and at {} it is {} again", size(*at), Unit::BitsPerSecond.format(again.value))
                })
            });
            Some(Remark {
                id: "cliff",
                kind: RemarkKind::Unexpected,
                text: format!(
                    "{name}: from {} to {} the throughput falls {} times, from {} to {}{}. No larger message costs \
                     less work: look for a timer (a delayed ACK, a sleep, a full ring), not for copies.",
                    size(*small),
                    size(*large),
                    significant(high.value / low.value),
                    Unit::BitsPerSecond.format(high.value),
                    Unit::BitsPerSecond.format(low.value),
                    recovered.unwrap_or_default()
                ),
                lines: vec![before.line, after.line],
            })
        })
        .collect()
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
