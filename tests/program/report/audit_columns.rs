//! The columns of `results.csv` that an audit fills, and the table of who pays for CPU time.

use crate::report::common;
use syscost_analyze::whole::Analysis;
use syscost_measure::ledger::Tier;
use syscost_report::{build, csv, html};

#[test]
fn what_was_not_counted_is_an_empty_field() {
    let mut run = common::small_run();
    let page = html::page(&build::report(&run, &Analysis::of(&run)));
    assert!(page.contains("Who pays for CPU time"));
    for audit in &mut run.record.audits {
        (audit.tier, audit.counts, audit.cpu) = (Tier::Told, None, None);
    }
    let page = html::page(&build::report(&run, &Analysis::of(&run)));
    assert!(!page.contains("Who pays for CPU time"), "nobody looked");
    let analysis = Analysis::of(&run);
    let text = csv::results(&run, &analysis.cells);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let header: Vec<String> = reader.headers().unwrap().iter().map(String::from).collect();
    let at = |name: &str| header.iter().position(|h| h == name).expect(name);
    let mut rows = 0;
    for row in reader.records().map(Result::unwrap) {
        let packs = &row[at("mechanism")] == "pack_send";
        assert_eq!(&row[at("user_copied")], if packs { "1" } else { "0" }, "known without tracing");
        assert_eq!(&row[at("ledger_tier")], "C");
        for column in ["copied_in", "orphan_copied", "copied_out", "uncopied", "ledger_balance"] {
            assert_eq!(&row[at(column)], "", "{column}");
        }
        rows += 1;
    }
    assert!(rows > 0);
}
