//! The rows that are compared with other benchmarks name probes, axes, values and metrics that exist.

use crate::os::row;
use std::collections::HashSet;

#[test]
fn every_compared_row_is_a_case_of_ours() {
    for row in row::ALL {
        match row.resolve(".") {
            Ok((point, metric)) => {
                assert_eq!((metric.id, metric.unit), (row.metric, row.unit));
                assert!(row.at.iter().all(|(id, _)| point.get(id).is_some()), "{}", row.title);
            }
            // A matrix of CPUs is empty on one.
            Err(error) if error.to_string().ends_with("has no default") && row.at.is_empty() => {
                eprintln!("skipped: {}: {error} on this machine", row.title);
            }
            Err(error) => panic!("{}: {error:#}", row.title),
        }
        assert!(row.times > 0.0);
    }
}

#[test]
fn rows_are_told_apart_by_id_and_title() {
    let ids: HashSet<&str> = row::ALL.iter().map(|row| row.id).collect();
    let titles: HashSet<&str> = row::ALL.iter().map(|row| row.title).collect();
    assert_eq!((ids.len(), titles.len()), (row::ALL.len(), row::ALL.len()));
    assert!(row::ALL.iter().all(|row| row::find(row.id).is_some_and(|found| found.title == row.title)));
}
