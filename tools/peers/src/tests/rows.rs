//! The rows that are compared with other benchmarks name probes, axes, values and metrics that exist.

use crate::os::call::Setting;
use crate::os::likewise::{self, How};
use crate::os::peer;
use crate::os::props::ReadFile;
use crate::os::row;
use std::collections::HashSet;

#[test]
fn every_compared_row_is_a_case_of_ours() {
    for row in row::ALL {
        match row.resolve(&[], ".") {
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

/// A variant explains a comparison that exists, by an axis value that exists.
#[test]
fn every_variant_is_of_a_row_and_a_peer_that_measures_it() {
    for likewise in likewise::ALL {
        let row = row::find(likewise.row).unwrap_or_else(|| panic!("no row {}", likewise.row));
        let peer = peer::ALL.iter().find(|peer| peer.id() == likewise.peer).unwrap();
        let mut figures = peer.measures().iter().flat_map(|measure| measure.figures);
        assert!(figures.any(|figure| figure.row == row.id), "{} of {}", row.id, likewise.peer);
        if let How::At(instead) = likewise.how {
            let (point, _) = row.resolve(instead, ".").unwrap();
            assert!(instead.iter().all(|(id, text)| point.text_at(id) == Some(*text)), "{}", row.id);
        }
    }
}

/// Each really does its work, on whatever machine this is.
#[test]
fn every_variant_of_its_own_gives_a_figure() {
    let file = ReadFile::make(std::path::Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    let cpus = crate::machine::two_cpus().unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let setting = Setting { cpus, file: file.path(), stop: &stop };
    for likewise in likewise::ALL {
        let How::Own(how) = likewise.how else { continue };
        if likewise.row == "core_to_core" && cpus.0 == cpus.1 {
            eprintln!("skipped: one CPU");
            continue;
        }
        match likewise::figure(how, &setting) {
            Ok(figure) => assert!(figure > 0.0 && figure.is_finite(), "{}: {figure}", likewise.row),
            // Some file systems take no O_DIRECT or fallocate.
            Err(why) if likewise.row.contains("direct") || likewise.row.starts_with("fault") => {
                eprintln!("skipped: {}: {why:#}", likewise.row);
            }
            Err(why) => panic!("{}: {why:#}", likewise.row),
        }
    }
}
